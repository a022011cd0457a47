"""Outlines: pixels beside a jump go to the side that they look like."""

import numpy as np
import pytest
from scipy import ndimage

from varfocus import engine
from varfocus.edges import jump_height, near_end, outlined

N, NEAR, FAR = 9, 2.0, 7.0

needs_engine = pytest.mark.skipif(not engine.in_use(), reason="needs the engine")


def card(height=60, width=80, too_large=3, colours=1, seed=0):
    """A bright card before a grey wall: frames, depth in which it is too large, and the truth."""
    rng = np.random.default_rng(seed)
    on_card = np.zeros((height, width), bool)
    on_card[18:44, 22:56] = True
    grain = 0.03 * rng.standard_normal((2, height, width, colours))
    front, wall = 0.8 + grain[0], 0.35 + grain[1]
    frames = []
    for k in range(N):

        def blurred(image, depth, k=k):
            return ndimage.gaussian_filter(image, (0.8 * abs(k - depth) + 1e-3,) * 2 + (0,))

        cover = blurred(on_card[..., None].astype(float), NEAR)
        light = blurred(on_card[..., None] * front, NEAR) + (1 - cover) * blurred(wall, FAR)
        frames.append(light.astype(np.float32))
    truth = np.where(on_card, NEAR, FAR).astype(np.float32)
    fat = np.where(ndimage.binary_dilation(on_card, iterations=too_large), NEAR, FAR)
    return frames, fat.astype(np.float32), truth


def drawn(frames, index, near="first"):
    return outlined(frames, 1.0, np.arange(float(len(frames))), index, near, jump_height(N))


@pytest.mark.parametrize("too_large", [1, 2, 3])
def test_what_is_too_large_shrinks_to_its_outline(too_large):
    frames, fat, truth = card(too_large=too_large)
    wrong = np.mean(fat != truth)
    found = drawn(frames, fat)
    assert np.mean(np.abs(found.index - truth) > 0.5) < 0.1 * wrong
    np.testing.assert_array_equal(found.index[~found.moved], fat[~found.moved])


def test_a_right_outline_stays():
    frames, _, truth = card()
    assert drawn(frames, truth).moved.sum() == 0


def test_without_jumps_nothing_is_asked():
    frames, _, _ = card()
    slope = np.tile(np.linspace(2, 6, 80, dtype=np.float32), (60, 1))
    found = drawn(frames, slope)
    assert not found.asked.any()
    assert found.index is slope


@pytest.mark.parametrize("turn", [np.fliplr, np.flipud, lambda a: np.swapaxes(a, 0, 1)])
def test_mirrored_pictures_have_mirrored_outlines(turn):
    frames, fat, _ = card()
    plain = drawn(frames, fat)
    turned = drawn([np.ascontiguousarray(turn(f)) for f in frames], np.ascontiguousarray(turn(fat)))
    np.testing.assert_array_equal(turned.moved, turn(plain.moved))
    np.testing.assert_allclose(turned.index, turn(plain.index), rtol=1e-5)


def test_a_reversed_stack_has_the_same_outlines():
    frames, fat, _ = card()
    plain, turned = drawn(frames, fat), drawn(frames[::-1], N - 1 - fat, "last")
    np.testing.assert_array_equal(turned.moved, plain.moved)
    np.testing.assert_allclose(N - 1 - turned.index, plain.index, rtol=1e-5)


def test_the_near_end_is_the_one_whose_side_is_too_large():
    frames, fat, truth = card(too_large=3)
    place = np.arange(float(N))
    assert near_end(frames, 1.0, place, [fat], jump_height(N)) == "first"
    assert near_end(frames[::-1], 1.0, place, [N - 1 - fat], jump_height(N)) == "last"
    assert near_end(frames, 1.0, place, [truth], jump_height(N)) is None


@needs_engine
@pytest.mark.parametrize("colours", [1, 3])
def test_kernel_and_array_code_agree(colours):
    frames, fat, _ = card(colours=colours, seed=3)
    fast = drawn(frames, fat)
    with engine.switched_off():
        slow = drawn(frames, fat)
    assert fast.moved.any()
    np.testing.assert_array_equal(fast.moved, slow.moved)
    np.testing.assert_allclose(fast.index, slow.index, rtol=1e-6)
