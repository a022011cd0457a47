"""Consensus: a pixel that stands alone takes the depth of those around that look like it."""

import numpy as np
import pytest

from varfocus import engine
from varfocus.edges import consensus, jump_height
from varfocus.edges.consensus import agreed, slopes

N, NEAR, FAR = 9, 2.0, 7.0
HEIGHT, WIDTH = 60, 80


def settled(picture, index, near="first"):
    """All frames look alike: only what is said about depth matters."""
    frames = [picture] * N
    return consensus(frames, 1.0, np.arange(float(N)), index, near, jump_height(N))


@pytest.fixture
def card():
    """A bright card before a grey wall, both with a grain: picture and depth."""
    rng = np.random.default_rng(3)
    on_card = np.zeros((HEIGHT, WIDTH), bool)
    on_card[18:44, 22:56] = True
    light = np.where(on_card, 0.8, 0.35)[..., None] + 0.02 * rng.standard_normal((HEIGHT, WIDTH, 3))
    return light.astype(np.float32), np.where(on_card, NEAR, FAR).astype(np.float32)


@pytest.mark.parametrize("near", ["first", "last", None])
def test_islands_take_the_depth_around_and_nothing_else_changes(card, near):
    picture, truth = card
    index = truth.copy()
    index[28:32, 30:35] = 5.0
    index[8:11, 60:62] = 0.0
    found = settled(picture, index, near)
    np.testing.assert_array_equal(found.moved, index != truth)
    np.testing.assert_allclose(found.index, truth, atol=1e-3)
    np.testing.assert_array_equal(found.index[~found.moved], index[~found.moved])


def test_teeth_along_an_outline_go_to_the_side_that_they_look_like(card):
    picture, truth = card
    index = truth.copy()
    index[18:44:4, 56:60] = NEAR
    index[18:44:5, 20:26] = FAR
    found = settled(picture, index)
    assert np.abs(index - truth).max() == FAR - NEAR
    np.testing.assert_allclose(found.index, truth, atol=1e-3)


def test_a_wire_keeps_its_depth(card):
    picture, index = (each.copy() for each in card)
    picture[:, 68:70], index[:, 68:70] = 0.1, 1.0
    found = settled(picture, index)
    assert not found.moved[:, 68:70].any()


@pytest.mark.parametrize("steep", [0.4, 1.5])
def test_slopes_and_bends_are_no_disagreement(steep):
    """Half a frame per pixel is as steep as many a jump is high."""
    rng = np.random.default_rng(4)
    picture = rng.random((HEIGHT, WIDTH, 1), np.float32)
    y, x = np.mgrid[:HEIGHT, :WIDTH]
    for shape in (x + 0.5 * y, np.hypot(x - 40, y - 30), 0.01 * (x - 40) ** 2):
        index = np.clip(steep * 0.1 * (shape - shape.min()), 0, N - 1).astype(np.float32)
        assert not settled(picture, index).moved.any()


@pytest.mark.parametrize(
    "turn", [lambda a: a[::-1], lambda a: a[:, ::-1], lambda a: np.swapaxes(a, 0, 1)]
)
def test_a_turned_picture_gives_the_turned_depth(card, turn):
    picture, index = card
    rng = np.random.default_rng(5)
    index = np.where(rng.random(index.shape) < 0.1, 8 * rng.random(index.shape), index)
    index = index.astype(np.float32)
    found = settled(picture, index).index
    turned = settled(np.ascontiguousarray(turn(picture)), np.ascontiguousarray(turn(index))).index
    np.testing.assert_allclose(turned, turn(found), atol=1e-4)


@pytest.mark.skipif(not engine.in_use(), reason="needs the engine")
@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("shape", [(1, 1), (1, 9), (2, 2), (23, 37)])
def test_the_kernel_computes_what_the_array_code_says(shape, channels, rng):
    index = (8 * rng.random(shape)).astype(np.float32)
    picture = 0.1 * rng.random((*shape, channels), np.float32)
    asked = rng.random(shape) < 0.7
    given = index, slopes(index), picture, asked, 8.0, 1.0
    fast = agreed(*given)
    with engine.switched_off():
        slow = agreed(*given)
    np.testing.assert_allclose(fast, slow, rtol=1e-6)
    np.testing.assert_array_equal(fast[~asked], index[~asked])
    assert shape[0] < 20 or (fast != index).any()
