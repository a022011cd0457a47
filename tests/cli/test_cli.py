"""Every command, as users call it."""

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
import tifffile
from PIL import Image

from command_line import RESULTS, files_below, read_png, varfocus, varfocus_process, write_frames
from varfocus import __version__, read_stack, reconstruct
from varfocus.cli import COMMANDS
from varfocus.contrast import mlap
from varfocus.params import STAGES, Params
from varfocus.studies.metrics import rmse

N = 15
WIDTH, HEIGHT = 61, 48


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A stack made by the real command."""
    folder = tmp_path_factory.mktemp("made") / "cone"
    done = varfocus_process("simulate", "cone", "-o", folder, "--size", WIDTH, HEIGHT)
    assert done.code == 0, done.err
    return folder, done


@pytest.fixture(scope="module")
def frames(made):
    return made[0] / "frames"


@pytest.fixture(scope="module")
def focus_file(made):
    return made[0] / "focus.csv"


@pytest.fixture(scope="module")
def done(frames, tmp_path_factory):
    """A reconstruction by the real command, and what it said."""
    folder = tmp_path_factory.mktemp("done") / "out"
    return folder, varfocus_process("depth", frames, "-o", folder, "--alpha", "1/16")


# depth


def test_depth_says_what_it_does_and_what_it_made(done):
    folder, said = done
    assert said.code == 0
    assert files_below(folder) == RESULTS
    assert "15 frames, 61×48 grey uint8, in this order:" in said.err
    assert "frame_00.png, frame_01.png" in said.err
    assert "depth is in frames" in said.err
    for name in RESULTS:
        assert str(folder / name) in said.out
    assert "\x1b" not in said.out + said.err  # no colours off a terminal


def test_depth_is_that_of_the_python_interface(done, frames):
    result = reconstruct(read_stack(frames), alpha=1 / 16)
    np.testing.assert_array_equal(tifffile.imread(done[0] / "depth.tif"), result.depth)
    np.testing.assert_array_equal(tifffile.imread(done[0] / "confidence.tif"), result.confidence)
    np.testing.assert_array_equal(read_png(done[0] / "fused.png"), result.fused)


def test_depth_is_about_right(done, made):
    truth = tifffile.imread(made[0] / "truth_index.tif")
    assert rmse(tifffile.imread(done[0] / "depth.tif"), truth) < 1.0


def test_depth_in_metres(capsys, frames, focus_file, made, tmp_path):
    said = varfocus(
        capsys, "depth", frames, "-o", tmp_path, "--focus-distances", focus_file, "--unit", "m"
    )
    assert said.code == 0
    assert "Focus from 0.05 to 0.5 m (--focus-distances)." in said.err
    depth = tifffile.imread(tmp_path / "depth.tif")
    assert depth.min() >= 0.05
    assert depth.max() <= 0.5
    assert rmse(depth, tifffile.imread(made[0] / "truth_depth.tif")) < 0.04
    record = json.loads((tmp_path / "run.json").read_text())
    assert record["depth"]["unit"] == "m"
    np.testing.assert_allclose(record["input"]["focus"], np.linspace(0.05, 0.5, N))


@pytest.mark.parametrize(
    ("text", "step", "unit"),
    [("2um", 2, "um"), ("2µm", 2, "um"), ("0.5 mm", 0.5, "mm"), ("1e-3m", 1e-3, "m")],
)
def test_depth_with_a_constant_step(capsys, frames, tmp_path, text, step, unit):
    options = ("--method", "classic", "-q")
    assert varfocus(capsys, "depth", frames, "-o", tmp_path / "plain", *options).code == 0
    said = varfocus(capsys, "depth", frames, "-o", tmp_path / "z", "--z-step", text, *options)
    assert said.code == 0
    index = tifffile.imread(tmp_path / "plain" / "depth.tif")
    np.testing.assert_allclose(
        tifffile.imread(tmp_path / "z" / "depth.tif"), step * index, rtol=1e-5
    )
    assert json.loads((tmp_path / "z" / "run.json").read_text())["depth"]["unit"] == unit


def test_depth_in_reverse(capsys, frames, focus_file, tmp_path):
    """The order of the frames turns around, and the distances with it."""
    options = ("--focus-distances", focus_file, "--method", "classic", "-q", "--gauss-step", "1")
    assert varfocus(capsys, "depth", frames, "-o", tmp_path / "there", *options).code == 0
    assert (
        varfocus(capsys, "depth", frames, "-o", tmp_path / "back", "--reverse", *options).code == 0
    )
    there, back = (tifffile.imread(tmp_path / name / "depth.tif") for name in ("there", "back"))
    assert np.mean(np.abs(there - back) > 1e-4) < 0.01  # but for ties in 8 bit
    record = json.loads((tmp_path / "back" / "run.json").read_text())
    assert record["input"]["frames"][0] == "frame_14.png"
    assert record["input"]["focus"][0] == 0.5


def test_depth_can_be_repeated_from_its_record(capsys, done, frames, tmp_path):
    again = varfocus(
        capsys, "depth", frames, "-o", tmp_path, "--params", done[0] / "run.json", "-q"
    )
    assert again.code == 0
    for name in ("depth.tif", "confidence.tif"):
        np.testing.assert_array_equal(
            tifffile.imread(tmp_path / name), tifffile.imread(done[0] / name)
        )
    first, second = (
        json.loads((folder / "run.json").read_text()) for folder in (done[0], tmp_path)
    )
    assert first["parameters"] == second["parameters"]
    assert first["parameters"]["alpha"] == 1 / 16
    assert first["input"]["files"] == second["input"]["files"]


def test_depth_by_another_method_can_be_repeated_too(capsys, frames, tmp_path):
    options = ("--method", "classic", "--window", "21", "--median", "5", "--tv-weight", "1/4")
    assert varfocus(capsys, "depth", frames, "-o", tmp_path / "a", *options, "-q").code == 0
    record = tmp_path / "a" / "run.json"
    assert varfocus(capsys, "depth", frames, "-o", tmp_path / "b", "--params", record).code == 0
    one, two = (tifffile.imread(tmp_path / name / "depth.tif") for name in "ab")
    np.testing.assert_array_equal(one, two)
    recorded = Params.from_keywords(**json.loads(record.read_text())["parameters"])
    assert recorded == Params.from_keywords("classic", window=21, median=5, tv_weight=0.25)


def test_depth_as_json(frames, tmp_path):
    said = varfocus_process(
        "depth", frames, "-o", tmp_path, "--json", "--z-step", "2um", "--iterations", 5
    )
    assert said.code == 0
    record = json.loads(said.out)
    assert record == json.loads((tmp_path / "run.json").read_text())
    assert record["depth"]["unit"] == "um"
    assert "--z-step 2um" in record["command"]
    assert "15 frames" in said.err


def test_quiet_says_nothing(frames, tmp_path):
    said = varfocus_process("depth", frames, "-o", tmp_path, "-q", "--iterations", 5)
    assert said == (0, "", "")
    assert files_below(tmp_path) == RESULTS


def test_quiet_json_is_only_json(capsys, frames, tmp_path):
    said = varfocus(capsys, "depth", frames, "-o", tmp_path, "-q", "--json", "--iterations", 5)
    assert said.code == 0
    assert json.loads(said.out)["parameters"]["iterations"] == 5
    assert said.err == ""


@pytest.mark.parametrize("kind", ["pattern", "files", "pages"])
def test_depth_of_other_sources(capsys, frames, tmp_path, kind):
    sources = {
        "pattern": [f"{frames}/frame_*.png"],
        "files": sorted(frames.iterdir()),
        "pages": [tmp_path / "stack.tif"],
    }
    tifffile.imwrite(tmp_path / "stack.tif", np.stack(list(read_stack(frames))))
    out = tmp_path / "out"
    assert varfocus(capsys, "depth", *sources[kind], "-o", out, "--method", "classic").code == 0
    expected = reconstruct(read_stack(frames), "classic").depth
    np.testing.assert_array_equal(tifffile.imread(out / "depth.tif"), expected)


@pytest.mark.parametrize("dtype", ["uint16", "float32"])
def test_the_fused_picture_has_the_bit_depth_of_the_frames(capsys, rng, tmp_path, dtype):
    images = rng.random((5, 20, 24)) * (60_000 if dtype == "uint16" else 1)
    source = write_frames(tmp_path / "frames", images.astype(dtype))
    out = tmp_path / "out"
    assert varfocus(capsys, "depth", source, "-o", out, "--method", "classic").code == 0
    fused = read_png(out / "fused.png") if dtype == "uint16" else tifffile.imread(out / "fused.tif")
    assert fused.dtype == dtype
    assert fused.max() > images.max() / 2


def test_nothing_is_overwritten_unasked(capsys, done, frames):
    folder, _ = done
    before = {name: (folder / name).read_bytes() for name in RESULTS}
    said = varfocus(capsys, "depth", frames, "-o", folder)
    assert said.code == 2
    assert "already" in said.err
    assert "--overwrite" in said.err
    assert {name: (folder / name).read_bytes() for name in RESULTS} == before


def test_overwriting_when_asked(capsys, frames, tmp_path):
    options = ("-o", tmp_path, "-q", "--method", "classic")
    assert varfocus(capsys, "depth", frames, *options).code == 0
    first = (tmp_path / "depth.tif").read_bytes()
    assert varfocus(capsys, "depth", frames, *options, "--window", 21, "--overwrite").code == 0
    assert (tmp_path / "depth.tif").read_bytes() != first


def test_every_parameter_is_a_flag(capsys):
    said = varfocus(capsys, "depth", "--help")
    assert said.code == 0
    for stage in STAGES.values():
        for name in stage.__dataclass_fields__:
            assert f"--{name.replace('_', '-')} " in said.out


# info, compare, simulate, doctor, demo, reproduce


def test_info(frames, focus_file):
    said = varfocus_process("info", frames, "--focus-distances", focus_file, "--unit", "m")
    assert said.code == 0
    assert "15 frames of 61 × 48, grey, uint8" in said.out
    assert "degree 8, steps of 0.03214 m" in said.out
    assert "frame_14.png  0.5 m" in said.out


def test_info_as_json(capsys, frames):
    facts = json.loads(varfocus(capsys, "info", frames, "--json", "--z-step", "2um").out)
    assert (facts["frames"], facts["width"], facts["height"]) == (N, WIDTH, HEIGHT)
    assert (facts["channels"], facts["dtype"], facts["unit"]) == (1, "uint8", "um")
    assert facts["order"][3] == {"name": "frame_03.png", "focus": 6.0}


def test_info_decodes_nothing(capsys, frames, tmp_path):
    """Damage behind the header goes unnoticed."""
    for path in frames.iterdir():
        data = path.read_bytes()
        (tmp_path / path.name).write_bytes(data[:200] + b"\0" * 40 + data[240:])
    assert varfocus(capsys, "info", tmp_path).code == 0
    assert varfocus(capsys, "depth", tmp_path, "-o", tmp_path / "out").code == 3


def test_compare(frames, tmp_path):
    said = varfocus_process("compare", frames, cwd=tmp_path)
    assert said.code == 0
    assert "10 depth maps" in said.out
    assert files_below(tmp_path) == {"comparison.png"}
    assert read_png(tmp_path / "comparison.png").shape[1] == 1800


def test_compare_with_other_weights(capsys, frames, tmp_path):
    out = tmp_path / "a.png"
    said = varfocus(
        capsys, "compare", frames, "-o", out, "--json", "-q", "--alpha", "1/32", "--tv-weight", "1"
    )
    assert said.code == 0
    assert json.loads(said.out) == {
        "picture": str(out),
        "maps": [
            "MLAP 9×9",
            "MLAP 41×41, median 11×11",
            "variational, α = 1/32",
            "MLAP 41×41, then TV 1",
            "MLAP, guided filter",
            "ring difference, guided filter",
            "robust",
        ],
    }
    again = varfocus(capsys, "compare", frames, "-o", out)
    assert again.code == 2
    assert "a.png already" in again.err


def test_simulate_writes_frames_and_truth(made):
    folder, said = made
    assert "15 frames of 61×48" in said.out
    assert f"depth {folder / 'frames'} -o result" in said.out
    assert files_below(folder) == {
        "focus.csv",
        "sharp.png",
        "truth_depth.tif",
        "truth_index.tif",
        *(f"frames/frame_{k:02d}.png" for k in range(N)),
    }
    index = tifffile.imread(folder / "truth_index.tif")
    depth = tifffile.imread(folder / "truth_depth.tif")
    distances = np.loadtxt(folder / "focus.csv", skiprows=1)
    assert index.shape == depth.shape == (HEIGHT, WIDTH)
    np.testing.assert_allclose(np.interp(index, np.arange(N), distances), depth, rtol=1e-5)


def test_simulate_takes_a_texture_and_a_number_type(capsys, rng, tmp_path):
    texture = rng.integers(0, 256, (40, 50, 4), dtype=np.uint8)
    Image.fromarray(texture).save(tmp_path / "photo.png")
    out = tmp_path / "stack"
    said = varfocus(
        *(capsys, "simulate", "plane", "-o", out, "--texture", tmp_path / "photo.png"),
        *("--frames", 5, "--noise", 0, "--dtype", "uint16", "--json"),
    )
    assert said.code == 0
    assert len(json.loads(said.out)["frames"]) == 5
    stack = read_stack(out / "frames")
    assert (len(stack), stack.shape, stack.channels) == (5, (40, 50), 3)
    assert stack.dtype == np.uint16
    np.testing.assert_allclose(read_png(out / "sharp.png"), texture[..., :3], atol=1)


def test_simulate_repeats_itself_and_overwrites_nothing(capsys, tmp_path):
    def make(folder, *options):
        return varfocus(
            *(capsys, "simulate", "steps", "-o", tmp_path / folder, "--size", 40, 30),
            *("--frames", 4, *options),
        )

    for folder, seed in (("a", 1), ("b", 1), ("c", 2)):
        assert make(folder, "--seed", seed).code == 0
    a, b, c = (np.stack(list(read_stack(tmp_path / f / "frames"))) for f in "abc")
    np.testing.assert_array_equal(a, b)
    assert (a != c).any()
    assert make("a", "--seed", 2).code == 2
    np.testing.assert_array_equal(np.stack(list(read_stack(tmp_path / "a" / "frames"))), a)
    assert make("a", "--seed", 2, "--overwrite").code == 0
    np.testing.assert_array_equal(np.stack(list(read_stack(tmp_path / "a" / "frames"))), c)


def test_doctor():
    said = varfocus_process("doctor")
    assert said.code == 0
    assert __version__ in said.out
    assert "Everything is in order." in said.out


def test_doctor_as_json(capsys):
    facts = json.loads(varfocus(capsys, "doctor", "--json").out)
    assert facts["varfocus"] == __version__
    assert facts["libraries"]["numpy"] == np.__version__
    assert 0 < facts["self_test_rmse_frames"] < 2


def test_doctor_notices_a_broken_installation(capsys, monkeypatch):
    monkeypatch.setattr("varfocus.studies.metrics.rmse", lambda *_: 3.0)
    said = varfocus(capsys, "doctor")
    assert said.code == 1
    assert "only to 3.00 frames" in said.err
    assert "Reinstall" in said.err
    assert "Traceback" not in said.err


def test_demo(capsys, tmp_path):
    said = varfocus_process("demo", cwd=tmp_path)
    assert said.code == 0
    demo = tmp_path / "demo"
    made = {path.name for path in demo.iterdir() if path.is_file()}
    assert made == RESULTS | {"comparison.png", "uncertainty.tif"}
    for path in demo.iterdir():
        assert path.name in said.out
    assert "depth shots/ -o out/" in said.out
    assert json.loads((demo / "run.json").read_text())["depth"]["unit"] == "m"
    depth = tifffile.imread(demo / "depth.tif")
    truth = tifffile.imread(demo / "stack" / "truth_depth.tif")
    assert np.nanmedian(np.abs(depth - truth) / truth) < 0.05
    assert len(read_stack(demo / "stack" / "frames")) == 21
    again = varfocus(capsys, "demo", "-o", demo)
    assert again.code == 2
    assert "already" in again.err


def test_reproduce_curves(capsys, tmp_path):
    said = varfocus_process("reproduce", "curves", "--quick", cwd=tmp_path)
    assert said.code == 0
    folder = tmp_path / "reproduction"
    assert files_below(folder) == {"index.html", "index.md", "curves.md", "curves.png"}
    assert "polynomial of degree 8" in said.out
    page = (folder / "index.html").read_text(encoding="utf-8")
    assert '<img src="curves.png"' in page
    again = varfocus(capsys, "reproduce", "curves", "--quick", "-o", folder)
    assert again.code == 2
    assert "already" in again.err


# Help, version, streams


@pytest.mark.parametrize(
    ("command", "options"),
    [
        ("depth", ["FRAMES", "--output", "-o", "--method", "--alpha", "--z-step", "--overwrite"]),
        ("compare", ["FRAMES", "--output", "--alpha", "--tv-weight"]),
        ("simulate", ["cone", "table", "--texture", "--frames", "--size", "--noise", "--seed"]),
        ("reproduce", ["table1", "curves", "convergence", "certificate", "all", "--quick"]),
        ("info", ["FRAMES", "--json", "--focus-distances"]),
        ("demo", ["--output", "--overwrite"]),
        ("doctor", ["--json", "--quiet"]),
    ],
)
def test_help_of_every_command(capsys, command, options):
    assert command in COMMANDS
    said = varfocus(capsys, command, "--help")
    assert said.code == 0
    assert f"varfocus {command}" in said.out
    for option in options:
        assert option in said.out


@pytest.mark.parametrize("arguments", [["--help"], []])
def test_help(capsys, arguments):
    said = varfocus(capsys, *arguments)
    assert said.code == 0
    for name, summary in COMMANDS.items():
        assert name in said.out
        assert summary[:40] in said.out


def test_version():
    assert varfocus_process("--version") == (0, f"{__version__}\n", "")


def test_a_reader_that_goes_away_is_no_error(frames):
    with subprocess.Popen(
        [sys.executable, "-m", "varfocus", "info", frames, "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(60) == 0


def test_a_terminal_gets_a_progress_bar(frames, tmp_path):
    pty = pytest.importorskip("pty")
    main_end, other_end = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "varfocus", "depth", frames, "-o", tmp_path, "--iterations", "20"],
        stdout=subprocess.DEVNULL,
        stderr=other_end,
        env=os.environ | {"TERM": "xterm-256color", "COLUMNS": "100"},
    ) as process:
        os.close(other_end)
        shown = bytearray()
        while True:
            try:
                part = os.read(main_end, 4096)
            except OSError:  # the other end is closed
                break
            if not part:
                break
            shown += part
        assert process.wait(60) == 0
    os.close(main_end)
    for stage in (b"contrast", b"minimising", b"fusing", b"20/20", b"15/15"):
        assert stage in shown


# Interruption


@pytest.mark.skipif(os.name == "nt", reason="there is no SIGINT to send on Windows")
def test_control_c_leaves_no_half_files(frames, tmp_path):
    """Interrupted while it minimises for ever."""
    out = tmp_path / "out"
    arguments = ("depth", frames, "-o", out, "--solver", "admm", "--iterations", "100000")
    with subprocess.Popen(
        [sys.executable, "-m", "varfocus", *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            # The last words before the work begins.
            while "No focus distances known" not in (line := process.stderr.readline()):
                assert line, "it ended by itself"
            time.sleep(0.3)
            assert process.poll() is None
            process.send_signal(signal.SIGINT)
            out_text, err_text = process.communicate(timeout=200)
        finally:
            process.kill()
    assert process.returncode == 130
    assert out_text == ""
    assert "Traceback" not in err_text
    assert files_below(tmp_path) == set()


def test_an_interrupted_rerun_leaves_the_earlier_results_alone(
    capsys, frames, tmp_path, monkeypatch
):
    options = ("-o", tmp_path, "-q", "--method", "classic")
    assert varfocus(capsys, "depth", frames, *options).code == 0
    before = {name: (tmp_path / name).read_bytes() for name in RESULTS}

    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("varfocus.products.fuse", interrupt)
    said = varfocus(capsys, "depth", frames, *options, "--overwrite")
    assert said.code == 130
    assert {name: (tmp_path / name).read_bytes() for name in RESULTS} == before


# Real stacks


def test_real_leaf(real_data, tmp_path):
    """Six frames: the degree is lowered, and said so, though quiet."""
    said = varfocus_process(
        "depth", real_data("leaf"), "-o", tmp_path, "-q", "--iterations", 20, "--align", "none"
    )
    assert said.code == 0
    assert said.out == ""
    assert "6 frames support a contrast curve of degree 3, not 8" in said.err
    depth = tifffile.imread(tmp_path / "depth.tif")
    assert depth.shape == (480, 637)
    assert np.isfinite(depth).all()
    assert 0 <= depth.min() < depth.max() <= 5
    assert read_png(tmp_path / "fused.png").shape == (480, 637, 3)
    frames = [mlap(frame / 255.0).mean() for frame in read_stack(real_data("leaf"))]
    fused = mlap(read_png(tmp_path / "fused.png") / 255.0).mean()
    assert frames[0] < frames[4] / 3
    assert fused > 0.9 * max(frames)


def test_real_stack_with_truth(real_data, tmp_path):
    """Every second frame of another group's synthetic ramp, cropped."""
    stack = read_stack(real_data("gt_1/frames"))
    assert stack.names[:2] == ("image_1.jpg", "image_2.jpg")
    assert stack.names[9] == "image_10.jpg"
    truth = np.load(real_data("gt_1/truth.npy"))[100:260, 100:260]
    crop = np.s_[120:280, 120:280]
    source = write_frames(tmp_path / "crop", [stack.read(k)[crop] for k in range(0, 41, 2)])
    errors = {}
    for method in ("paper", "classic"):
        out = tmp_path / method
        said = varfocus_process("depth", source, "-o", out, "--method", method, "-q")
        assert said == (0, "", "")
        errors[method] = rmse(2 * tifffile.imread(out / "depth.tif"), truth)
    assert errors["paper"] < 1.5
    assert errors["classic"] < 1.5
