"""What counts: a rectangle and a mask, in the library, on the command line, back from a folder."""

from __future__ import annotations

import json

import numpy as np
import pytest
import tifffile
from PIL import Image

import varfocus as package
from command_line import read_png, varfocus, write_frames
from varfocus.align import align
from varfocus.errors import InputError, ParameterError
from varfocus.geometry import inside
from varfocus.io.mask import drawn_mask, read_mask
from varfocus.params import AlignParams, AreaParams, Params
from varfocus.plan import needed_bytes
from varfocus.stack import FocusStack

FAST = ("--method", "classic", "--no-report", "-q")


@pytest.fixture(scope="module")
def scene():
    return package.simulate("slants", shape=(48, 64), n=7)


@pytest.fixture(scope="module")
def shots(scene, tmp_path_factory):
    return write_frames(tmp_path_factory.mktemp("stack") / "shots", scene.frames)


# The rectangle


@pytest.mark.parametrize("method", [{"window": 5}, {"degree": 3}, {"smoothness": 2.0}])
def test_a_crop_is_the_same_as_cropped_frames(scene, method):
    part = package.reconstruct(scene.stack, crop="12,8,40,30", **method)
    alone = package.reconstruct(scene.frames[:, 8:38, 12:52], focus=scene.focus, unit="m", **method)
    np.testing.assert_array_equal(part.depth, alone.depth)
    np.testing.assert_array_equal(part.fused, alone.fused)
    assert part.extent == (12, 8, 40, 30)
    assert part.unit == "m"


def test_a_crop_is_written_like_one_whatever_it_was_given_as():
    given = ("12,8,40,30", " 12, 8,40 ,30", (12, 8, 40, 30), [12, 8, 40, 30])
    assert {AreaParams(crop).crop for crop in given} == {"12,8,40,30"}
    assert AreaParams("12,8,40,30").box == (12, 8, 40, 30)
    assert AreaParams().box is None


@pytest.mark.parametrize("crop", ["", "1,2,3", "1,2,3,x", "-1,0,5,5", "0,0,0,5", 7, "1.5,0,5,5"])
def test_no_crop_at_all_is_refused(crop):
    with pytest.raises(ParameterError, match="x,y,width,height"):
        AreaParams(crop)


def test_a_crop_outside_the_frames_is_refused_with_their_size(scene):
    with pytest.raises(ParameterError, match="frames of 64×48"):
        package.reconstruct(scene.stack, "classic", crop="30,0,40,48")


def test_a_crop_needs_less_memory(scene):
    part = scene.stack.cropped((0, 0, 32, 24))
    assert needed_bytes(part, Params("paper")) * 4 == needed_bytes(scene.stack, Params("paper"))


def test_aligned_frames_are_cropped_where_the_reference_is(scene):
    """Frames are aligned as a whole: the rectangle of the result is that of the whole result."""
    rng = np.random.default_rng(0)
    big = package.simulate("slants", shape=(150, 190), n=7)
    shifts = rng.integers(-4, 5, (7, 2))
    shifts[3] = 0
    moved = np.stack([np.roll(f, s, (0, 1)) for f, s in zip(big.frames, shifts, strict=True)])
    stack = FocusStack.from_array(moved[:, 6:-6, 6:-6])
    whole = package.reconstruct(stack, "classic", align="shift")
    left, top, _, _ = whole.extent
    assert (left, top) != (0, 0)
    part = package.reconstruct(stack, "classic", align="shift", crop="40,30,60,50")
    assert part.extent == (40, 30, 60, 50)
    window = np.s_[30 - top : 80 - top, 40 - left : 100 - left]
    for k in range(7):
        np.testing.assert_array_equal(part.stack.read(k), whole.stack.read(k)[window])
    inside = whole.index[window]
    np.testing.assert_array_equal(part.index[6:-6, 6:-6], inside[6:-6, 6:-6])
    marked = package.reconstruct(stack, "classic", align="shift", border="mask", crop="0,0,60,50")
    assert marked.extent == (0, 0, 60, 50)
    assert np.isnan(marked.depth[:top]).all()
    assert np.isfinite(marked.depth[top:, left:]).all()


def test_an_alignment_reads_no_more_than_is_asked_for(scene):
    _, found = align(scene.stack, AlignParams("none"))
    part = found.apply(scene.stack, (5, 6, 7, 8))
    assert part.shape == (8, 7)
    np.testing.assert_array_equal(part.read(2), scene.frames[2, 6:14, 5:12])
    with pytest.raises(ParameterError, match="all frames show"):
        found.extent((64, 0, 4, 4))


# The mask


def test_what_does_not_count_is_unknown_and_nothing_else_changes(scene, tmp_path):
    counts = np.zeros((48, 64), bool)
    counts[10:40, 20:50] = True
    path = tmp_path / "mask.png"
    Image.fromarray(counts.astype(np.uint8)).save(path)  # 0 and 1
    masked = package.reconstruct(scene.stack, "classic", mask=path)
    whole = package.reconstruct(scene.stack, "classic")
    np.testing.assert_array_equal(np.isnan(masked.depth), ~counts)
    np.testing.assert_array_equal(masked.depth[counts], whole.depth[counts])
    np.testing.assert_array_equal(masked.confidence, np.where(counts, whole.confidence, 0))
    np.testing.assert_array_equal(masked.fused, whole.fused)
    both = package.reconstruct(scene.stack, "classic", mask=path, crop="16,4,40,40")
    np.testing.assert_array_equal(np.isnan(both.depth), ~counts[4:44, 16:56])


@pytest.mark.parametrize(
    ("mask", "words"),
    [
        (np.full((48, 63), 255, np.uint8), "63×48"),
        (np.zeros((48, 64), np.uint8), "black everywhere"),
        (None, "is not a file"),
    ],
)
def test_masks_that_cannot_be_are_refused(tmp_path, mask, words):
    path = tmp_path / "mask.png"
    if mask is not None:
        Image.fromarray(mask).save(path)
    with pytest.raises(InputError, match=words):
        read_mask(path, (48, 64))


def test_a_mask_and_a_crop_that_leave_nothing_are_refused(scene, tmp_path):
    counts = np.zeros((48, 64), np.uint8)
    counts[:5, :5] = 255
    Image.fromarray(counts).save(tmp_path / "mask.png")
    with pytest.raises(ParameterError, match="leaves no pixel"):
        package.reconstruct(scene.stack, "classic", mask=tmp_path / "mask.png", crop="20,20,20,20")


def test_outlines_are_drawn_one_over_the_other():
    square = [(10.0, 10.0), (30.0, 10.0), (30.0, 30.0), (10.0, 30.0)]
    hole = [(15.0, 15.0), (25.0, 15.0), (25.0, 25.0), (15.0, 25.0)]
    counts = drawn_mask((40, 50), [(True, square), (False, hole)])
    assert counts[12, 12]
    assert not counts[20, 20]
    assert not counts[5, 5]
    exact = np.zeros((40, 50), bool)
    exact[10:30, 10:30] = True
    np.testing.assert_array_equal(drawn_mask((40, 50), [(True, square)]), exact)
    np.testing.assert_array_equal(drawn_mask((40, 50), [(True, square[::-1])]), exact)
    all_but = drawn_mask((40, 50), [(False, hole)])
    assert all_but[5, 5]
    assert not all_but[20, 20]
    more = drawn_mask((40, 50), [(True, hole)], base=~all_but)
    np.testing.assert_array_equal(more, ~all_but)
    with pytest.raises(InputError, match="none of 50×40"):
        drawn_mask((40, 50), [(True, square), (False, square)])


def test_pixels_count_where_their_centres_are_inside():
    angle = np.linspace(0, 2 * np.pi, 200, endpoint=False)
    circle = [(30 + 18 * np.cos(t), 20 + 18 * np.sin(t)) for t in angle]
    y, x = np.mgrid[:40, :50] + 0.5
    distance = np.hypot(x - 30, y - 20)
    found = inside((40, 50), circle)
    clear = np.abs(distance - 18) > 0.05
    np.testing.assert_array_equal(found[clear], distance[clear] < 18)
    # What crosses itself, as lines drawn by hand do, is inside all the same.
    assert inside((40, 50), [(5, 5), (45, 5), (45, 35), (5, 35), (5, 5), (45, 5), (45, 35)])[20, 20]
    np.testing.assert_array_equal(
        inside((40, 50), [(-9, -9), (99, -9), (99, 99), (-9, 99)]), np.ones((40, 50), bool)
    )


# The command line, and back


def test_crop_and_mask_on_the_command_line_are_recorded_and_repeated(capsys, shots, tmp_path):
    counts = np.zeros((48, 64), np.uint8)
    counts[10:40, 20:50] = 255
    Image.fromarray(counts).save(tmp_path / "what.png")
    area = ("--crop", "16,4,40,40", "--mask", tmp_path / "what.png")
    assert varfocus(capsys, "depth", shots, "-o", tmp_path / "a", *area, *FAST).code == 0
    depth = tifffile.imread(tmp_path / "a" / "depth.tif")
    assert depth.shape == (40, 40)
    np.testing.assert_array_equal(np.isnan(depth), counts[4:44, 16:56] == 0)
    record = json.loads((tmp_path / "a" / "run.json").read_text())
    assert record["parameters"]["crop"] == "16,4,40,40"
    assert record["parameters"]["mask"] == str(tmp_path / "what.png")
    assert record["extent"] == {"left": 16, "top": 4, "width": 40, "height": 40}
    np.testing.assert_array_equal(read_png(tmp_path / "a" / "mask.png"), counts)
    saved = package.load_result(tmp_path / "a")
    assert saved.origin == (16, 4)
    again = ("depth", shots, "-o", tmp_path / "b", "--params", tmp_path / "a" / "run.json")
    assert varfocus(capsys, *again, "--no-report", "-q").code == 0
    for name in ("depth.tif", "confidence.tif", "fused.png", "mask.png"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
    fused = tmp_path / "fused.png"
    assert varfocus(capsys, "fuse", shots, "-o", fused, "--apply-depth", tmp_path / "a").code == 0
    assert read_png(fused).shape[:2] == (40, 40)


def test_a_mask_of_an_earlier_run_does_not_stay(capsys, shots, tmp_path):
    Image.fromarray(np.full((48, 64), 255, np.uint8)).save(tmp_path / "all.png")
    run = ("depth", shots, "-o", tmp_path / "out", "--overwrite", *FAST)
    assert varfocus(capsys, *run, "--mask", tmp_path / "all.png").code == 0
    assert (tmp_path / "out" / "mask.png").exists()
    assert varfocus(capsys, *run).code == 0
    assert not (tmp_path / "out" / "mask.png").exists()


@pytest.mark.parametrize(
    ("option", "value", "code"),
    [("--crop", "1,2,3", 2), ("--crop", "60,0,10,10", 2), ("--mask", "nothing.png", 3)],
)
def test_wrong_areas_are_refused_before_anything_is_written(
    capsys, shots, tmp_path, option, value, code
):
    outcome = varfocus(capsys, "depth", shots, "-o", tmp_path / "out", option, value, *FAST)
    assert outcome.code == code
    assert "expected" in outcome.err
    assert "Traceback" not in outcome.err
    assert not list(tmp_path.glob("out/*"))
