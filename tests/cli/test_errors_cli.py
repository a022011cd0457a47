"""Everything that can go wrong for a user: message, exit code, and nothing left behind."""

import numpy as np
import pytest
import tifffile
from PIL import Image

from command_line import RESULTS, files_below, varfocus, varfocus_process, write_frames
from varfocus import errors, simulate
from varfocus.errors import VarfocusError

N = 15


@pytest.fixture(scope="module")
def images():
    return simulate("cone", shape=(24, 31), n=N).frames


@pytest.fixture
def frames(images, tmp_path):
    """A good stack of PNG files, for a test to spoil."""
    folder = tmp_path / "frames"
    folder.mkdir()
    for k, image in enumerate(images):
        Image.fromarray(image).save(folder / f"frame_{k:02d}.png")
    return folder


def assert_refused(said, code, *words):
    """One to three lines: received, expected, remedy."""
    assert said.code == code
    assert said.out == ""
    assert "Traceback" not in said.err
    assert "bug" not in said.err
    lines = said.err[said.err.index("error: ") :].splitlines()
    assert 2 <= len(lines) <= 3
    for word in words:
        assert word in said.err


def refused(capsys, tmp_path, source, code, *words):
    """Run ``depth`` on what cannot be used and check that it says so and leaves nothing."""
    out = tmp_path / "out"
    before = files_below(tmp_path)
    source = [source] if isinstance(source, str) or not isinstance(source, list) else source
    said = varfocus(capsys, "depth", *source, "-o", out)
    assert_refused(said, code, *words)
    assert files_below(tmp_path) == before
    return said


# Input


def test_no_frames(capsys, tmp_path):
    (tmp_path / "empty").mkdir()
    refused(capsys, tmp_path, tmp_path / "empty", 3, "no files", "expected a folder of PNG", "give")


def test_no_images_among_the_files(capsys, tmp_path):
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "a.txt").write_text("a")
    refused(capsys, tmp_path, tmp_path / "notes", 3, "no image among 1 files", "expected", "Sub-")


def test_no_such_place(capsys, tmp_path):
    refused(capsys, tmp_path, tmp_path / "nowhere", 3, "nowhere", "expected", "Check the name")


def test_a_pattern_that_matches_nothing(capsys, tmp_path):
    source = str(tmp_path / "*.png")
    refused(capsys, tmp_path, source, 3, "*.png: matches nothing", "expected a pattern", "quotes")


def test_one_frame(capsys, frames, tmp_path):
    source = frames / "frame_03.png"
    refused(
        *(capsys, tmp_path, source, 3, "received 1 frame", "frame_03.png"),
        *("expected a focus stack: at least 3 frames", "multi-page"),
    )


def test_two_frames(capsys, frames, tmp_path):
    source = sorted(frames.iterdir())[:2]
    refused(
        *(capsys, tmp_path, source, 3, "received 2 frames: frame_00.png, frame_01.png"),
        *("at least 3 frames", "Give the folder with all frames"),
    )


@pytest.mark.parametrize(("n", "degree"), [(3, 2), (7, 4), (14, 7)])
def test_fewer_frames_than_the_degree_needs_is_a_warning(capsys, frames, tmp_path, n, degree):
    source = sorted(frames.iterdir())[:n]
    said = varfocus(capsys, "depth", *source, "-o", tmp_path / "out", "-q", "--iterations", 3)
    assert said.code == 0
    assert said.out == ""
    assert said.err.startswith(f"warning: {n} frames support a contrast curve of degree {degree}")
    assert "not 8" in said.err
    assert files_below(tmp_path / "out") == RESULTS


def test_mixed_sizes(capsys, images, frames, tmp_path):
    Image.fromarray(images[4][:-1]).save(frames / "frame_04.png")
    refused(
        *(capsys, tmp_path, frames, 3, "frame_04.png is 31×23 grey uint8"),
        *("frame_00.png is 31×24", "expected frames of equal size", "same settings"),
    )


def test_mixed_channels(capsys, images, frames, tmp_path):
    Image.fromarray(images[4]).convert("RGB").save(frames / "frame_04.png")
    refused(
        *(capsys, tmp_path, frames, 3, "frame_04.png is 31×24 colour uint8"),
        *("expected frames of equal size, channels", "leave out the odd one"),
    )


def test_mixed_number_types(capsys, images, frames, tmp_path):
    Image.fromarray(images[4].astype(np.uint16)).save(frames / "frame_04.png")
    refused(
        *(capsys, tmp_path, frames, 3, "frame_04.png is 31×24 grey uint16"),
        *("expected frames of equal size, channels and number type", "same settings"),
    )


@pytest.mark.parametrize("share", [0.02, 0.5, 0.99])
def test_truncated_file(capsys, frames, tmp_path, share):
    path = frames / "frame_04.png"
    data = path.read_bytes()
    path.write_bytes(data[: int(share * len(data))])
    refused(capsys, tmp_path, frames, 3, "frame_04.png", "expected a complete", "again")


def test_truncated_jpeg(capsys, images, tmp_path):
    folder = tmp_path / "frames"
    folder.mkdir()
    for k, image in enumerate(images):
        Image.fromarray(image).save(folder / f"frame_{k:02d}.jpg")
    path = folder / "frame_07.jpg"
    path.write_bytes(path.read_bytes()[:-200])
    refused(capsys, tmp_path, folder, 3, "frame_07.jpg", "expected a complete", "again")


def test_truncated_multi_page_file(capsys, images, tmp_path):
    path = tmp_path / "stack.tif"
    tifffile.imwrite(path, images)
    path.write_bytes(path.read_bytes()[:-1000])
    refused(capsys, tmp_path, path, 3, "stack.tif", "expected a complete", "again")


@pytest.mark.parametrize("content", [b"", b"hello, this is text\n" * 20, b"GIF89a" + bytes(50)])
def test_not_an_image(capsys, frames, tmp_path, content):
    (frames / "frame_04.png").write_bytes(content)
    refused(capsys, tmp_path, frames, 3, "frame_04.png", "expected PNG, JPEG, TIFF, BMP", "leave")


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("method", ["paper", "classic"])
def test_not_a_number(capsys, images, tmp_path, value, method):
    floats = images.astype(np.float32)
    floats[5, 3, 2] = value
    source = write_frames(tmp_path / "frames", floats)
    before = files_below(tmp_path)
    said = varfocus(capsys, "depth", source, "-o", tmp_path / "out", "--method", method)
    assert_refused(
        *(said, 3, "frame_05.tif: 1 of 744 values are NaN or infinite"),
        *("expected finite numbers", "leave the frame out"),
    )
    assert files_below(tmp_path) == before


@pytest.mark.parametrize("method", ["paper", "classic"])
def test_constant_images(capsys, tmp_path, method):
    source = write_frames(tmp_path / "frames", np.full((N, 24, 31), 128, np.uint8))
    before = files_below(tmp_path)
    said = varfocus(capsys, "depth", source, "-o", tmp_path / "out", "--method", method)
    assert_refused(said, 3, "constant", "expected frames that show some structure", "saturated")
    assert files_below(tmp_path) == before


def test_a_job_that_does_not_fit(capsys, frames, tmp_path):
    before = files_below(tmp_path)
    said = varfocus(capsys, "depth", frames, "-o", tmp_path / "out", "--max-memory", "1kB")
    assert_refused(
        said, 4, "15 frames of 31×24 need about", "expected at most 1 kB", "--max-memory"
    )
    assert files_below(tmp_path) == before


def test_running_out_of_memory_on_the_way(capsys, frames, tmp_path, monkeypatch):
    def exhaust(*_):
        raise MemoryError("Unable to allocate 9.31 TiB")

    monkeypatch.setattr("varfocus.pipeline.estimate", exhaust)
    refused(
        capsys, tmp_path, frames, 4, "ran out of memory: Unable to allocate", "smaller or fewer"
    )


# Focus positions


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("1\n2\n3\n", "(3,) for 15 frames"),
        ("\n".join(["distance", *map(str, range(15)), "x"]), "line 17"),
        ("\n".join(map(str, [*range(14), 5])), "frames 13 and 14 are 13 and 5"),
        ("\n".join(["1", "nan", *map(str, range(2, 15))]), "NaN or infinite"),
        ("", "for 15 frames"),
    ],
)
def test_focus_distances_that_do_not_fit(capsys, frames, tmp_path, content, words):
    (tmp_path / "focus.csv").write_text(content)
    said = varfocus(
        *(capsys, "depth", frames, "-o", tmp_path / "out"),
        *("--focus-distances", tmp_path / "focus.csv"),
    )
    assert_refused(said, 3, words, "expected")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("content", [None, b"\xff\xfe\x00\x81"])
def test_focus_distances_that_cannot_be_read(capsys, frames, tmp_path, content):
    if content is not None:
        (tmp_path / "focus.csv").write_bytes(content)
    said = varfocus(
        *(capsys, "depth", frames, "-o", tmp_path / "out"),
        *("--focus-distances", tmp_path / "focus.csv"),
    )
    assert_refused(said, 3, "focus.csv cannot be read", "expected a text file")


@pytest.mark.parametrize("table", ["{z}", "{k};{z}", "{k},frame_{k},{z}", "{z}\n"])
def test_focus_distances_in_the_last_column(capsys, frames, tmp_path, table):
    heading = {"{k};{z}": "k;z", "{k},frame_{k},{z}": "k,name,z"}.get(table, "z")
    rows = [heading, *(table.format(k=k, z=0.5 * k**2) for k in range(N))]
    (tmp_path / "focus.csv").write_bytes(b"\xef\xbb\xbf" + "\r\n".join(rows).encode())
    said = varfocus(capsys, "info", frames, "--focus-distances", tmp_path / "focus.csv", "--json")
    assert said.code == 0
    assert '"focus": 98.0' in said.out


@pytest.mark.parametrize("table", ["0,{k}", "{k},frame_{k},{z}", "z\n0,{k}"])
def test_decimal_commas_and_unnamed_columns_are_refused(capsys, frames, tmp_path, table):
    rows = [table.format(k=k, z=0.5 * k**2) for k in range(N)]
    (tmp_path / "focus.csv").write_text("\n".join(rows))
    said = varfocus(capsys, "info", frames, "--focus-distances", tmp_path / "focus.csv")
    assert_refused(said, 3, "focus.csv, line", "expected one number per line", "0.5 rather than")


def test_a_unit_without_positions_is_refused(capsys, frames, tmp_path):
    said = varfocus(capsys, "depth", frames, "-o", tmp_path / "out", "--unit", "mm")
    assert_refused(said, 3, "received the unit 'mm' without focus positions", "expected")


def test_the_folder_of_the_frames_is_no_output(capsys, frames):
    before = files_below(frames)
    said = varfocus(capsys, "depth", frames, "-o", frames)
    assert_refused(said, 2, "received the folder of the frames as output", "expected another")
    assert files_below(frames) == before


def test_fractions_are_numbers_but_not_whole_numbers(capsys, frames, tmp_path):
    said = varfocus(capsys, "depth", frames, "-o", tmp_path / "out", "--degree", "5.5")
    assert_refused(said, 2, "received --degree 5.5", "expected a whole number")


# Output


@pytest.mark.parametrize("place", ["file", "file/below", "/proc/nowhere/out"])
def test_an_output_folder_that_cannot_be_written(capsys, frames, tmp_path, place):
    (tmp_path / "file").write_text("mine")
    before = files_below(tmp_path)
    said = varfocus(capsys, "depth", frames, "-o", tmp_path / place)
    assert_refused(said, 2, "cannot be written", "expected a folder with write permission", "-o")
    assert files_below(tmp_path) == before
    assert (tmp_path / "file").read_text() == "mine"


@pytest.mark.parametrize(
    "command",
    [
        ["compare", "FRAMES", "-o", "file/below/a.png"],
        ["simulate", "cone", "--size", "24", "20", "--frames", "3", "-o", "file/below"],
        ["reproduce", "curves", "--quick", "-o", "file/below"],
        ["demo", "-o", "file/below"],
    ],
)
def test_every_command_refuses_such_a_folder(capsys, frames, tmp_path, command, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("mine")
    before = files_below(tmp_path)
    said = varfocus(capsys, *[frames if word == "FRAMES" else word for word in command])
    assert_refused(said, 2, "cannot be written", "expected", "-o")
    assert files_below(tmp_path) == before


# Usage


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["depth", "FRAMES", "-o", "out", "--bogus", "3"], ["--bogus", "--help"]),
        (["depth", "FRAMES", "-o", "out", "--alhpa", "3"], ["--alhpa", "Did you mean --alpha?"]),
        (["depth", "FRAMES"], ["--output", "--help"]),
        (["depth", "-o", "out"], ["FRAMES", "--help"]),
        (["depth", "FRAMES", "-o", "out", "--alpha", "much"], ["--alpha", "much", "float"]),
        (["depth", "FRAMES", "-o", "out", "--alpha", "1/0"], ["--alpha", "1/0"]),
        (
            ["depth", "FRAMES", "-o", "out", "--alpha", "-1"],
            ["alpha = -1.0", "0, or a number from 1e-09"],
        ),
        (["depth", "FRAMES", "-o", "out", "--alpha", "nan"], ["alpha = nan", "expected"]),
        (["depth", "FRAMES", "-o", "out", "--degree", "1"], ["degree = 1", "from 2 to"]),
        (["depth", "FRAMES", "-o", "out", "--degree", "x"], ["--degree", "x"]),
        (["depth", "FRAMES", "-o", "out", "--start-blur", "4"], ["start_blur = 4", "odd"]),
        (["depth", "FRAMES", "-o", "out", "--method", "magic"], ["magic", "paper", "classic"]),
        (
            ["depth", "FRAMES", "-o", "out", "--method", "paper", "--median", "3"],
            ["median", "classic"],
        ),
        (["depth", "FRAMES", "-o", "out", "--method", "classic", "--alpha", "1"], ["alpha"]),
        (["depth", "FRAMES", "-o", "out", "--z-step", "2"], ["--z-step '2'", "2um"]),
        (["depth", "FRAMES", "-o", "out", "--z-step", "0um"], ["--z-step '0um'", "2um"]),
        (["depth", "FRAMES", "-o", "out", "--z-step", "1.2.3m"], ["'1.2.3m'", "2um"]),
        (
            ["depth", "FRAMES", "-o", "out", "--z-step", "2um", "--focus-distances", "a.csv"],
            ["both --z-step and --focus-distances", "only one"],
        ),
        (["depth", "FRAMES", "-o", "out", "--max-memory", "much"], ["'much'", "4GB"]),
        (["depth", "https://example.org/a.png", "-o", "out"], ["address", "Download"]),
        (["depth", "", "-o", "out"], ["expected the name of a file or folder"]),
        (["dept", "FRAMES", "-o", "out"], ['"dept"', 'Did you mean "depth"?']),
        (["bogus"], ['"bogus"', "depth, fuse, app"]),
        (["--bogus"], ["--bogus"]),
        (["simulate", "cube", "-o", "out"], ["cube", "cone"]),
        (["simulate", "cone", "-o", "out", "--frames", "1"], ["n = 1", "from 2 to"]),
        (["simulate", "cone", "-o", "out", "--size", "0", "5"], ["(5, 0)", "expected"]),
        (["simulate", "cone", "-o", "out", "--noise", "-1"], ["-1", "expected"]),
        (["reproduce", "everything"], ["everything", "table1"]),
        (["info"], ["FRAMES"]),
        (["compare", "FRAMES", "--alpha", "-1"], ["alpha = -1.0"]),
    ],
    ids=lambda value: " ".join(value[-2:]) if isinstance(value, list) else None,
)
def test_usage(capsys, frames, tmp_path, monkeypatch, arguments, words):
    monkeypatch.chdir(tmp_path)
    before = files_below(tmp_path)
    said = varfocus(capsys, *[frames if word == "FRAMES" else word for word in arguments])
    assert_refused(said, 2, *words)
    assert files_below(tmp_path) == before


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "cannot be used"),
        ("no json", "cannot be used"),
        ("{}", "cannot be used"),
        ("[1]", "cannot be used"),
        ('{"parameters": {"alpha": -1}}', "alpha = -1"),
        ('{"parameters": {"alhpa": 1}}', "Did you mean 'alpha'"),
        ('{"parameters": {"alpha": "much"}}', "alpha = 'much'"),
    ],
)
def test_a_record_that_cannot_be_used(capsys, frames, tmp_path, content, words):
    if content is not None:
        (tmp_path / "run.json").write_text(content)
    before = files_below(tmp_path)
    said = varfocus(
        capsys, "depth", frames, "-o", tmp_path / "out", "--params", tmp_path / "run.json"
    )
    assert_refused(said, 2, words, "expected")
    assert files_below(tmp_path) == before


def test_a_record_and_other_parameters(capsys, frames, tmp_path):
    (tmp_path / "run.json").write_text('{"parameters": {"alpha": 0.5}}')
    said = varfocus(
        *(capsys, "depth", frames, "-o", tmp_path / "out"),
        *("--params", tmp_path / "run.json", "--alpha", "1/4"),
    )
    assert_refused(said, 2, "--params together with other parameters", "expected either")


# In a process of its own


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["depth", "nothing/*.png", "-o", "out"], 3, "matches nothing"),
        (["depth", "frames", "-o", "out", "--bogus"], 2, "Unknown option"),
        (["depth", "frames/frame_00.png", "-o", "out"], 3, "received 1 frame"),
    ],
)
def test_the_process_exits_with_the_code(frames, tmp_path, arguments, code, words):
    said = varfocus_process(*arguments, cwd=tmp_path)
    assert_refused(said, code, words)
    assert not (tmp_path / "out").exists()


def test_a_bug_of_ours_says_so(capsys, frames, tmp_path, monkeypatch):
    monkeypatch.setattr("varfocus.pipeline.estimate", lambda *_: 1 / 0)
    said = varfocus(capsys, "depth", frames, "-o", tmp_path / "out")
    assert said.code == 1
    assert "ZeroDivisionError" in said.err
    assert "This is a bug in varfocus" in said.err
    assert files_below(tmp_path / "out") == set()


def test_a_diverging_solver(capsys, frames, tmp_path, monkeypatch):
    def diverge(*_):
        raise errors.SolverError(
            "diverged in iteration 3", "expected a finite energy", "Lower tau."
        )

    monkeypatch.setattr("varfocus.pipeline.estimate", diverge)
    refused(capsys, tmp_path, frames, 5, "diverged in iteration 3", "Lower tau.")


def test_markup_in_names_is_shown_as_it_is(capsys, tmp_path):
    source = tmp_path / "a [red]b[/red] [c].png"
    refused(capsys, tmp_path, source, 3, "a [red]b[/red] [c].png")


# The tree of errors


def test_every_error_has_a_documented_exit_code():
    codes = {
        error: error.exit_code
        for error in vars(errors).values()
        if isinstance(error, type) and issubclass(error, VarfocusError)
    }
    assert codes.pop(VarfocusError) == codes.pop(errors.InternalError) == 1
    assert set(codes.values()) == {2, 3, 4, 5, 6}
    assert codes[errors.NoFramesError] == 3
    assert codes[errors.TooLargeError] == 4
    assert codes[errors.SolverError] == 5
    assert codes[errors.BatchError] == 6
    assert codes[errors.OutputExistsError] == 2


def test_an_error_reads_as_its_lines():
    error = errors.InputError("a is bad", "expected good", "Mend a.")
    assert str(error) == "a is bad\nexpected good\nMend a."
    assert str(errors.InputError("a is bad")) == "a is bad"
    assert (error.received, error.expected, error.remedy) == tuple(error.args)
