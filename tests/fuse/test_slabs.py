"""Slabs: a stack fused a few frames at a time."""

import json
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import varfocus as vf
from command_line import files_below, read_png, varfocus, write_pictures
from varfocus.errors import ParameterError
from varfocus.fuse import fuse, fuse_slabs, slab_ranges


@given(n=st.integers(3, 60), data=st.data())
def test_slabs_have_their_size_share_what_they_should_and_miss_no_frame(n, data):
    size = data.draw(st.integers(3, n))
    overlap = data.draw(st.integers(0, size - 1))
    ranges = slab_ranges(n, size, overlap)
    assert all(len(frames) == size for frames in ranges)
    assert set().union(*ranges) == set(range(n))
    for one, other in pairwise(ranges):
        assert one.start < other.start
        assert len(set(one) & set(other)) >= overlap


@pytest.mark.parametrize(("size", "overlap"), [(2, 0), (11, 0), (5, 5), (5, -1)])
def test_slabs_that_make_no_sense_are_refused(size, overlap):
    with pytest.raises(ParameterError, match="slab"):
        slab_ranges(10, size, overlap)


def test_a_slab_of_all_frames_is_the_all_in_focus_image():
    scene = vf.simulate("slants", shape=(40, 50), n=6)
    index = scene.truth_index.astype(np.float32)
    (slab,) = fuse_slabs(scene.stack, index, slab_ranges(6, 6))
    expected = fuse(scene.stack, index)
    np.testing.assert_array_equal(slab.fused.image, expected.image)
    np.testing.assert_array_equal(slab.fused.source, expected.source)


def test_a_slab_shows_its_own_frames_alone():
    scene = vf.simulate("slants", shape=(40, 50), n=9)
    index = scene.truth_index.astype(np.float32)
    for frames, fused in fuse_slabs(scene.stack, index, slab_ranges(9, 4, 1)):
        pixels = scene.frames[frames.start : frames.stop]
        assert (fused.image >= pixels.min(axis=0)).all()
        assert (fused.image <= pixels.max(axis=0)).all()
        assert fused.source.min() >= frames.start
        assert fused.source.max() < frames.stop


def test_the_command_line_writes_slabs_that_can_be_fused_again(capsys, tmp_path):
    scene = vf.simulate("slants", shape=(40, 50), n=9)
    shots = write_pictures(tmp_path / "shots", scene.frames, "img")
    fast = ["--method", "classic", "--align", "none", "-q"]
    slabs = ["--slab-size", "4", "--slab-overlap", "1", *fast, "--json"]
    done = varfocus(capsys, "fuse", shots, "-o", tmp_path / "slabs", *slabs)
    assert done.code == 0, done.err
    assert files_below(tmp_path / "slabs") == {f"slab_0{k}.png" for k in (1, 2, 3)}
    told = json.loads(done.out)["slabs"]
    assert told[1]["frames"] == ["img3.png", "img4.png", "img5.png", "img6.png"]
    assert varfocus(capsys, "fuse", shots, "-o", tmp_path / "slabs", *slabs).code != 0  # not over
    again = varfocus(capsys, "fuse", tmp_path / "slabs", "-o", tmp_path / "one.png", *fast)
    assert again.code == 0, again.err
    assert read_png(tmp_path / "one.png").shape == (40, 50, 3)
    bad = varfocus(capsys, "fuse", shots, "-o", tmp_path / "x", "--slab-size", "2", *fast)
    assert bad.code == 2
    assert "slab size of 2" in bad.err


def test_frames_are_left_out_by_number_and_keep_their_positions(capsys, tmp_path):
    scene = vf.simulate("slants", shape=(40, 50), n=9)
    shots = write_pictures(tmp_path / "shots", scene.frames, "img")
    options = ["--leave-out", "0,3-4", "--z-step", "2um", "--method", "classic", "-q"]
    assert varfocus(capsys, "depth", shots, "-o", tmp_path / "out", *options).code == 0
    record = vf.load_result(tmp_path / "out").record
    assert record["input"]["frames"] == [f"img{k}.png" for k in (1, 2, 5, 6, 7, 8)]
    assert record["input"]["focus"] == [2, 4, 10, 12, 14, 16]
    for wrong, words in (("9", "frame 9"), ("4-2", "0,5-7"), ("a", "0,5-7")):
        done = varfocus(capsys, "info", shots, "--leave-out", wrong)
        assert done.code == 2
        assert words in done.err
