"""Which files make a stack, and in what order."""

import os
from pathlib import Path

import numpy as np
import pytest
import tifffile
from hypothesis import given
from hypothesis import strategies as st

from image_samples import SAMPLES, by_pillow, noise
from varfocus.cli import main
from varfocus.errors import (
    FocusPositionsError,
    InputError,
    MixedFramesError,
    NoFramesError,
    ParameterError,
    TooFewFramesError,
    UnreadableFrameError,
)
from varfocus.io import read_stack
from varfocus.io.discover import find_files, natural_order

PNG = SAMPLES["PNG-grey8"].data


def fill(folder, *names):
    for name in names:
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(PNG)
    return folder


def test_natural_order_in_a_folder(tmp_path):
    fill(tmp_path, "img10.png", "IMG2.png", "img1.png", "img02.png")
    assert read_stack(tmp_path).names == ("img1.png", "IMG2.png", "img02.png", "img10.png")


def test_natural_order_of_a_pattern_over_folders(tmp_path):
    fill(tmp_path, "s10/a1.png", "s2/a10.png", "s2/a9.png", "s2/notes.txt")
    files = read_stack(f"{tmp_path}/s*/*.png").files
    assert [str(path.relative_to(tmp_path)) for path in files] == [
        "s2/a9.png",
        "s2/a10.png",
        "s10/a1.png",
    ]


@given(st.permutations([f"z{k}.tif" for k in range(12)] + ["Z3.TIF", "z03.tif"]))
def test_order_does_not_depend_on_the_directory(names):
    paths = [Path(name) for name in names]
    ordered = natural_order(paths)
    assert ordered == natural_order(reversed(paths))
    plain = [path.name for path in ordered if path.name in {f"z{k}.tif" for k in range(12)}]
    assert plain == [f"z{k}.tif" for k in range(12)]


def test_lists_keep_their_order(tmp_path):
    fill(tmp_path, "a.png", "b.png", "c.png")
    given_order = [str(tmp_path / "c.png"), tmp_path / "a.png", tmp_path / "b.png"]
    assert read_stack(given_order).names == ("c.png", "a.png", "b.png")
    assert read_stack(path for path in given_order).names == ("c.png", "a.png", "b.png")


def test_files_are_told_by_content(tmp_path):
    fill(tmp_path, "a.jpg", "b", "c.xyz")
    assert {frame.format for frame in read_stack(tmp_path).frames} == {"PNG"}


def test_what_a_folder_passes_over(tmp_path):
    fill(tmp_path, "a.png", "b.png", "d.png", "sub/c.png", ".hidden.png", "._a.png")
    for name in ("LICENSE", "notes.json", "Thumbs.db", "empty"):
        (tmp_path / name).write_bytes(b"" if name == "empty" else b"BM text")
    (tmp_path / "folder.png").mkdir()
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe")
    assert read_stack(tmp_path).names == ("a.png", "b.png", "d.png")


def test_broken_link_with_the_name_of_an_image(tmp_path):
    fill(tmp_path, "a.png", "b.png")
    (tmp_path / "c.png").symlink_to(tmp_path / "gone.png")
    with pytest.raises(UnreadableFrameError, match=r"c\.png: no such file"):
        read_stack(tmp_path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes here")
def test_pipe_with_the_name_of_an_image(tmp_path):
    os.mkfifo(tmp_path / "pipe.png")
    with pytest.raises(UnreadableFrameError, match="not a regular file"):
        read_stack(tmp_path)


def test_patterns_and_lists_pass_over_nothing(tmp_path):
    fill(tmp_path, "a.png", "b.png")
    (tmp_path / "notes.txt").write_text("notes")
    for source in (f"{tmp_path}/*", sorted(tmp_path.iterdir())):
        with pytest.raises(UnreadableFrameError, match=r"notes\.txt: is not an image"):
            read_stack(source)


def test_patterns_pass_over_folders(tmp_path):
    fill(tmp_path, "a.png", "b.png", "d.png", "sub/c.png")
    assert len(read_stack(tmp_path / "*")) == 3


def test_name_with_brackets_is_no_pattern(tmp_path):
    folder = tmp_path / "stack[1]"
    folder.mkdir()
    assert len(read_stack(fill(folder, "a.png", "b.png", "c.png"))) == 3


@pytest.mark.parametrize(
    ("source", "error", "text"),
    [
        ("missing", UnreadableFrameError, "missing: no such file or folder"),
        ("missing/*.png", NoFramesError, "matches nothing"),
        ("*", NoFramesError, "matches only folders"),
        ("empty", NoFramesError, "empty: no files"),
        ("texts", NoFramesError, "no image among 2 files"),
        ("x" * 5000, InputError, "cannot be opened"),
        (["missing.png"], UnreadableFrameError, r"missing\.png: no such file"),
        (["empty"], UnreadableFrameError, "empty: is a folder"),
        ([], NoFramesError, "empty list"),
        ("", ParameterError, "received ''"),
        ("a\0b", ParameterError, "received"),
        ("\ud800", ParameterError, "received"),
        ("https://example.org/a.tif", ParameterError, "received an address"),
        (["http://example.org/a?.tif"], ParameterError, "received an address"),
        (7, ParameterError, "type int"),
        ([7], ParameterError, "type int"),
        (b"frames", ParameterError, "type int"),
        (None, ParameterError, "type NoneType"),
    ],
)
def test_bad_sources(source, error, text, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    (tmp_path / "texts").mkdir()
    for name in ("a.txt", "b.txt"):
        (tmp_path / "texts" / name).write_text("text")
    with pytest.raises(error, match=text) as caught:
        read_stack(source)
    assert caught.value.expected


def test_unreadable_folder(tmp_path, monkeypatch):
    def denied(self):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(type(tmp_path), "iterdir", denied)
    with pytest.raises(UnreadableFrameError, match="permission denied"):
        read_stack(tmp_path)


def test_one_frame_is_no_stack(tmp_path):
    fill(tmp_path, "a.png")
    for source in (tmp_path, tmp_path / "a.png", [tmp_path / "a.png"]):
        with pytest.raises(TooFewFramesError, match=r"a\.png"):
            read_stack(source)


def test_one_multi_page_file_in_a_folder(tmp_path):
    tifffile.imwrite(tmp_path / "a.tif", noise((5, 11, 19)))
    (tmp_path / "README").write_text("text")
    for source in (tmp_path, f"{tmp_path}/*.tif", [tmp_path / "a.tif"]):
        assert len(read_stack(source)) == 5


@pytest.mark.parametrize("other", [(5, 11, 19), (11, 19)])
def test_multi_page_file_among_others(other, tmp_path):
    tifffile.imwrite(tmp_path / "a.tif", noise((5, 11, 19)))
    tifffile.imwrite(tmp_path / "b.tif", noise(other))
    with pytest.raises(InputError, match=r"a\.tif: has 5 pages and is one of 2 files"):
        read_stack(tmp_path)


def test_mixed_frames(tmp_path):
    fill(tmp_path, "a.png", "c.png")
    (tmp_path / "b.png").write_bytes(by_pillow(noise((11, 20)), "PNG"))
    with pytest.raises(MixedFramesError, match=r"b\.png is 20×11"):
        read_stack(tmp_path)


def test_formats_may_be_mixed(tmp_path):
    pixels = noise((11, 19))
    for kind in ("PNG", "BMP", "TIFF"):
        (tmp_path / kind).write_bytes(by_pillow(pixels, kind))
    for read in read_stack(tmp_path):
        np.testing.assert_array_equal(read, pixels)


def test_reverse_turns_files_and_focus(tmp_path):
    fill(tmp_path, "a.png", "b.png", "c.png")
    stack = read_stack(tmp_path, reverse=True, focus=[1, 2, 4], unit="mm")
    assert stack.names == ("c.png", "b.png", "a.png")
    assert [path.name for path in stack.files] == ["c.png", "b.png", "a.png"]
    assert stack.focus.tolist() == [4, 2, 1]
    assert stack.unit == "mm"


@pytest.mark.parametrize("focus", [[1, 2], [1, 1, 2], ["x", "y", "z"], [1, 2, None]])
def test_bad_focus(focus, tmp_path):
    fill(tmp_path, "a.png", "b.png", "c.png")
    with pytest.raises(FocusPositionsError):
        read_stack(tmp_path, focus=focus)


def test_relative_paths_stay_relative(tmp_path, monkeypatch):
    fill(tmp_path, "a.png", "b.png")
    monkeypatch.chdir(tmp_path)
    assert find_files(".") == [Path("a.png"), Path("b.png")]


def test_of_a_simulated_folder_the_frames_are_read(tmp_path, capsys):
    """What `varfocus simulate` writes can be given as it is: the truth is no frame."""
    arguments = ["cone", "--size", "24", "20", "--frames", "4", "-o", str(tmp_path / "s")]
    assert main(["simulate", *arguments]) == 0
    capsys.readouterr()
    assert find_files(tmp_path / "s") == find_files(tmp_path / "s" / "frames")
