"""Stacks: what makes one, what does not, and pixels only when asked for."""

from pathlib import Path

import numpy as np
import pytest

from varfocus.errors import (
    FocusPositionsError,
    InputError,
    MixedFramesError,
    NotFiniteError,
    TooFewFramesError,
    UnreadableFrameError,
)
from varfocus.stack import ArrayFrame, FocusStack


@pytest.fixture
def images(rng):
    return rng.integers(0, 256, (4, 7, 9), dtype=np.uint8)


class LyingFrame:
    """Promises a frame it does not have, and counts how often it is asked for it."""

    name = "liar.png"
    shape = (7, 9)
    dtype = np.dtype(np.uint8)

    def __init__(self, pixels):
        self.pixels = pixels
        self.reads = 0

    def read(self):
        self.reads += 1
        return self.pixels


@pytest.mark.parametrize(
    ("dtype", "kept", "scale"),
    [
        (np.uint8, np.uint8, 1 / 255),
        (np.uint16, np.uint16, 1 / 65535),
        (np.dtype(">u2"), np.uint16, 1 / 65535),
        (np.float16, np.float32, 1),
        (np.float32, np.float32, 1),
        (np.float64, np.float32, 1),
        (np.dtype(">f8"), np.float32, 1),
    ],
)
def test_number_types(images, dtype, kept, scale):
    stack = FocusStack.from_array(images.astype(dtype))
    assert stack.dtype == kept
    assert stack.dtype.isnative
    assert stack.scale == scale
    np.testing.assert_array_equal(stack.read(2), images[2])
    unit = stack.read_unit(2)
    assert unit.dtype == np.float32
    np.testing.assert_allclose(unit, images[2] * scale, rtol=1e-6)


def test_bilevel_frames_become_black_and_white(images):
    stack = FocusStack.from_array(images > 100)
    assert stack.dtype == np.uint8
    np.testing.assert_array_equal(stack.read(0), np.where(images[0] > 100, 255, 0))


@pytest.mark.parametrize(("channels", "kept"), [(1, 1), (2, 1), (3, 3), (4, 3)])
def test_alpha_and_lone_grey_axis_are_dropped(rng, channels, kept):
    images = rng.integers(0, 256, (4, 7, 9, channels), dtype=np.uint8)
    stack = FocusStack.from_array(images)
    assert stack.channels == kept
    assert stack.shape == (7, 9)
    expected = images[1, ..., 0] if kept == 1 else images[1, ..., :3]
    np.testing.assert_array_equal(stack.read(1), expected)


def test_frames_are_views_where_possible(images):
    stack = FocusStack.from_array(images)
    assert all(np.shares_memory(frame, images) for frame in stack)
    assert len(stack) == len(list(stack)) == 4


@pytest.mark.parametrize("shape", [(4,), (7, 9), (4, 7, 9, 5), (2, 4, 7, 9, 3)])
def test_other_shapes_are_refused(shape):
    with pytest.raises(InputError, match=r"expected \(frames, height, width\)"):
        FocusStack.from_array(np.zeros(shape, np.uint8))


@pytest.mark.parametrize("dtype", [np.int64, np.int8, np.uint32, np.complex64, object])
def test_other_number_types_are_refused(images, dtype):
    with pytest.raises(InputError, match="expected uint8, uint16 or floating point"):
        FocusStack.from_array(images.astype(dtype))


@pytest.mark.parametrize("n", [0, 1])
def test_one_frame_is_no_stack(images, n):
    with pytest.raises(TooFewFramesError, match=f"received {n} frame"):
        FocusStack.from_array(images[:n])


@pytest.mark.parametrize(
    ("odd", "words"),
    [
        (np.zeros((7, 8), np.uint8), "b is 8×7 grey uint8, but a is 9×7 grey uint8"),
        (np.zeros((7, 9), np.uint16), "b is 9×7 grey uint16"),
        (np.zeros((7, 9, 3), np.uint8), "b is 9×7 colour uint8"),
    ],
)
def test_frames_must_agree_before_any_is_decoded(images, odd, words):
    first = LyingFrame(images[0])
    first.name = "a"
    with pytest.raises(MixedFramesError, match=words):
        FocusStack([first, ArrayFrame("b", odd), first])
    assert first.reads == 0


def test_frames_are_decoded_when_asked_for_and_only_then(images):
    frames = [LyingFrame(pixels) for pixels in images]
    stack = FocusStack(frames).with_focus([1, 2, 3, 4], "mm").reversed()
    assert [frame.reads for frame in frames] == [0, 0, 0, 0]
    stack.read(0)
    assert [frame.reads for frame in frames] == [0, 0, 0, 1]


@pytest.mark.parametrize("workers", [1, 2, 9])
def test_decoding_ahead_keeps_the_order(images, workers):
    stack = FocusStack([LyingFrame(pixels) for pixels in images])
    for pixels, expected in zip(stack.ahead(workers), images, strict=True):
        np.testing.assert_array_equal(pixels, expected)
    np.testing.assert_array_equal(list(FocusStack.from_array(images).ahead()), images)


def test_decoding_ahead_passes_errors_on_and_stops_with_its_caller(images):
    frames = [LyingFrame(pixels) for pixels in (*images, *images, *images)]
    ahead = FocusStack(frames).ahead(2)
    next(ahead)
    ahead.close()
    assert sum(frame.reads for frame in frames) <= 4
    frames[2].pixels = np.zeros((9, 7), np.uint8)
    with pytest.raises(UnreadableFrameError, match=r"liar\.png"):
        list(FocusStack(frames).ahead(2))


@pytest.mark.parametrize("pixels", [np.zeros((9, 7), np.uint8), np.zeros((7, 9), np.uint16)])
def test_a_frame_must_be_what_it_promised(images, pixels):
    stack = FocusStack([ArrayFrame("a", images[0]), LyingFrame(pixels), ArrayFrame("c", images[0])])
    with pytest.raises(UnreadableFrameError, match=r"liar\.png: decoded to"):
        stack.read(1)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_pixels_must_be_finite(images, bad):
    images = images.astype(np.float32)
    images[1, 2, 3] = bad
    stack = FocusStack.from_array(images)
    stack.read(0)
    with pytest.raises(NotFiniteError, match="frame 1: 1 of 63 values"):
        stack.read(1)


@pytest.mark.parametrize(
    ("focus", "words"),
    [
        ([1, 2, 3], r"shape \(3,\) for 4 frames"),
        ([[1, 2, 3, 4]], r"shape \(1, 4\) for 4 frames"),
        ([1, 2, np.nan, 4], "NaN or infinite"),
        ([1, 2, 2, 4], "frames 1 and 2 are 2 and 2"),
        ([4, 3, 3.5, 1], "frames 1 and 2 are 3 and 3.5"),
        (["near", "2", "3", "far"], "not numbers"),
    ],
)
def test_focus_positions_must_fit(images, focus, words):
    with pytest.raises(FocusPositionsError, match=words):
        FocusStack.from_array(images, focus)


def test_focus_and_its_unit(images):
    plain = FocusStack.from_array(images)
    assert plain.focus is None
    assert plain.unit == "frames"
    placed = plain.with_focus([4, 3, 1, 0], "mm")
    np.testing.assert_array_equal(placed.focus, [4, 3, 1, 0])
    assert placed.unit == "mm"
    assert plain.with_focus([4, 3, 1, 0]).unit == "units"
    assert placed.with_focus(None).focus is placed.focus


def test_reversed_turns_everything_around(images):
    frames = [ArrayFrame(f"{k}", pixels) for k, pixels in enumerate(images)]
    files = tuple(Path(f"{k}.png") for k in range(4))
    stack = FocusStack(frames, np.array([1.0, 2, 4, 8]), "mm", files)
    back = stack.reversed()
    assert back.names == ("3", "2", "1", "0")
    assert back.files == files[::-1]
    assert back.unit == "mm"
    np.testing.assert_array_equal(back.focus, [8, 4, 2, 1])
    np.testing.assert_array_equal(back.read(0), images[3])
    assert back.reversed().names == stack.names
