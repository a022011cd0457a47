"""What hides what: frames drawn from a depth map, and which end of a stack they tell is near."""

import numpy as np
import pytest

from ghosts import ghostly_scene
from varfocus import explain
from varfocus.curve import coordinate
from varfocus.explain import Lens
from varfocus.explain.lens import blurred
from varfocus.explain.occlusion import drawn, thinned
from varfocus.methods.second_look import agreed

N = 9
U = np.arange(N) / (N - 1)
LENS = Lens("hard", 8.0)
EVERY = list(range(N))


@pytest.fixture(scope="module")
def texture():
    return np.random.default_rng(5).random((36, 48), np.float32)


def test_one_surface_is_drawn_as_it_is_blurred(texture):
    index = np.full(texture.shape, 3.2, np.float32)  # of the layer 3
    expected = blurred(texture, "hard", LENS.radius * np.abs(U - 3 / 8))
    np.testing.assert_allclose(drawn(texture, index, U, EVERY, LENS), expected, atol=2e-6)


def test_in_its_own_frame_a_surface_looks_as_it_is_unless_something_nearer_covers_it(texture):
    index = np.full(texture.shape, 6.0, np.float32)
    index[:, :20] = 1.0
    frames = drawn(texture, index, U, [1, 6], LENS)
    np.testing.assert_allclose(frames[0][:, :20], texture[:, :20], atol=1e-6)
    reach = 6  # a little more than the blur of the near one in frame 6: half √π · 5 px
    np.testing.assert_allclose(frames[1][:, 20 + reach :], texture[:, 20 + reach :], atol=1e-6)
    assert np.abs(frames[1][:, 20:22] - texture[:, 20:22]).mean() > 0.05


def test_the_edge_of_what_is_near_is_sharp_in_its_own_frame():
    """No light of a bright wall reaches a black card that is in focus, whatever the wall's blur."""
    index = np.full((30, 40), 8.0, np.float32)
    index[:, :20] = 0.0
    picture = (index > 4).astype(np.float32)
    frame = drawn(picture, index, U, [0], LENS)[0]
    np.testing.assert_allclose(frame, picture, atol=1e-6)


def test_mirrors_and_turns_draw_the_same(texture):
    index = np.full(texture.shape, 7.0, np.float32)
    index[:, :20], index[:, 33:] = 2.0, 4.0  # every hidden pixel has one closest that is seen
    frames = drawn(texture, index, U, [2, 7], LENS)
    turned = drawn(texture.T.copy(), index.T.copy(), U, [2, 7], LENS)
    np.testing.assert_allclose(turned, frames.transpose(0, 2, 1), atol=1e-5)


@pytest.fixture(scope="module")
def ghostly():
    scene = ghostly_scene((200, 96))
    return scene.frames.astype(np.float32) / 255, scene.truth_index, coordinate.frames(11)


def lean(frames, index, axis):
    lens = explain.learn_lens(frames, index, np.ones(index.shape, bool), axis)
    picture = explain.sharp_picture(frames, index, axis, lens)
    return explain.order_of(frames, picture, index, axis, lens, 3e-5, 1.0)


def test_the_order_that_hides_rightly_is_found_from_either_side(ghostly):
    frames, truth, axis = ghostly
    forward = lean(frames, truth, axis)
    backward = lean(frames[::-1].copy(), len(frames) - 1 - truth, axis)
    assert forward.clear
    assert backward.clear
    assert (forward.nearest, backward.nearest) == ("first", "last")


def test_odd_sides_tell_the_same(ghostly):
    frames, truth, axis = ghostly
    found = lean(frames[:, :-1, :-1].copy(), truth[:-1, :-1].copy(), axis)
    assert found.clear
    assert found.nearest == "first"


def test_without_a_jump_nothing_is_told(texture):
    slope = np.tile(np.linspace(0, 8, 48, dtype=np.float32), (36, 1))
    frames = drawn(texture, slope, U, EVERY, LENS)
    found = explain.order_of(frames, texture, slope, coordinate.frames(N), LENS, 1e-4, 1.0)
    assert found.nearest is None
    assert not found.clear


@pytest.mark.parametrize(
    ("errors", "share", "outlines", "near"),
    [
        (3.0, 0.2, None, "first"),
        (-3.0, 0.2, "first", "last"),
        (-3.0, 0.02, None, None),
        (1.0, 0.2, "first", "first"),
        (1.0, 0.2, "last", None),
        (-1.0, 0.2, None, None),
        (0.0, 0.0, "last", None),
    ],
)
def test_in_doubt_both_signs_must_agree(errors, share, outlines, near):
    assert agreed(explain.Order(errors, share), outlines) == near


@pytest.mark.parametrize("shape", [(12, 16), (11, 16), (12, 15), (11, 13)])
@pytest.mark.parametrize("turn", [np.flipud, np.fliplr, np.transpose])
def test_half_of_the_pixels_have_depths_that_there_are_however_turned(shape, turn, rng):
    index = rng.integers(0, 4, shape).astype(np.float32)  # many alike
    small = thinned(index)
    assert small.shape == tuple((side + 1) // 2 for side in shape)
    assert np.isin(small, index).all()
    np.testing.assert_array_equal(turn(thinned(turn(index))), small)
