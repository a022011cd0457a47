"""Near things that a depth map overlooks, found in what it leaves unexplained."""

import numpy as np
import pytest

from varfocus import engine, explain
from varfocus.curve import coordinate
from varfocus.explain import Lens
from varfocus.explain.occlusion import drawn

N, SHAPE = 9, (48, 64)
AXIS = coordinate.frames(N)
LENS = Lens("hard", 9.0)
WIRE = np.s_[22:25]
NEAR, FAR = 2.0, 7.0


@pytest.fixture(scope="module")
def texture():
    return np.random.default_rng(2).random(SHAPE, np.float32)


@pytest.fixture(scope="module")
def truth():
    index = np.full(SHAPE, FAR, np.float32)
    index[WIRE] = NEAR
    return index


def frames_of(texture, truth):
    picture = np.where(truth == NEAR, np.float32(0.95), 0.7 * texture).astype(np.float32)
    return drawn(picture, truth, np.arange(N) / (N - 1), list(range(N)), LENS)


def found(frames, index, near="first", contrast=None):
    left = explain.unexplained([frames], index, AXIS, LENS)
    contrast = index if contrast is None else contrast
    return explain.overlooked(left, index, contrast, AXIS, LENS, near)


def test_a_true_map_leaves_nothing_of_one_surface(texture):
    wall = np.full(SHAPE, 3.0, np.float32)
    left = explain.unexplained([frames_of(texture, wall)], wall, AXIS, LENS)
    assert np.abs(left).max() < 0.02  # pictures are linear between radii


def test_a_wire_is_found_where_it_is_and_at_its_depth(texture, truth):
    wall = np.full(SHAPE, FAR, np.float32)
    depth, things = found(frames_of(texture, truth), wall)
    assert things[WIRE].mean() > 0.95
    assert not things[:18].any()  # what its veil leaves beside it is cut off by the outlines
    assert not things[29:].any()
    np.testing.assert_array_equal(depth[WIRE][things[WIRE]], NEAR)
    np.testing.assert_array_equal(depth[~things], FAR)


def test_the_depth_of_a_thing_is_that_of_contrast_if_that_shows_it(texture, truth):
    wall = np.full(SHAPE, FAR, np.float32)
    contrast = wall.copy()
    contrast[20:27] = 2.25  # as wide as the window of contrast
    depth, things = found(frames_of(texture, truth), wall, contrast=contrast)
    assert things[WIRE].mean() > 0.95
    np.testing.assert_array_equal(depth[WIRE][things[WIRE]], 2.25)


def test_it_does_not_matter_at_which_end_a_stack_begins(texture, truth):
    frames, wall = frames_of(texture, truth), np.full(SHAPE, FAR, np.float32)
    depth, things = found(frames, wall)
    for near in ("last", None):
        turned, same = found(np.ascontiguousarray(frames[::-1]), N - 1 - wall, near)
        np.testing.assert_array_equal(same, things)
        np.testing.assert_array_equal(N - 1 - turned, depth)


def test_nothing_changes_where_nothing_is_overlooked(texture, truth, rng):
    for index in (np.full(SHAPE, FAR, np.float32), truth):
        frames = frames_of(texture, index)
        noisy = frames + rng.normal(0.0, 0.01, frames.shape).astype(np.float32)
        depth, things = found(noisy, index, None)
        assert not things.any()
        np.testing.assert_array_equal(depth, index)


def test_what_a_single_frame_shows_is_no_thing(texture, truth):
    """Other frames would show it blurred: it is a fault of that frame."""
    wall = np.full(SHAPE, FAR, np.float32)
    frames = frames_of(texture, wall)
    frames[2][WIRE] = 0.95
    assert not found(frames, wall, contrast=truth)[1].any()


def test_colours_show_what_brightness_does_not(texture, truth):
    """A green wire before a wall of red, as bright in the mean."""
    wall = np.full(SHAPE, FAR, np.float32)
    wire = frames_of(np.full(SHAPE, 0.2 / 0.7, np.float32), truth)
    red, green = wire, 1.15 - wire
    for channels, seen in (([red, green], True), ([0.5 * (red + green)], False)):
        left = explain.unexplained(channels, wall, AXIS, LENS)
        things = explain.overlooked(left, wall, truth, AXIS, LENS, "first")[1]
        assert things[WIRE].any() == seen


@pytest.mark.skipif(not engine.in_use(), reason="needs the engine")
def test_the_array_code_finds_the_same(texture, truth):
    frames, wall = frames_of(texture, truth), np.full(SHAPE, FAR, np.float32)
    fast = found(frames, wall)
    with engine.switched_off():
        slow = found(frames, wall)
    for one, other in zip(fast, slow, strict=True):
        np.testing.assert_array_equal(one, other)
