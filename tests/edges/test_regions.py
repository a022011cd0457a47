"""Regions: beside a jump a pixel takes the depth of the part of the picture that it belongs to."""

import numpy as np
import pytest
from scipy import ndimage

from varfocus import engine
from varfocus.edges import beside_jumps, jump_height, regional, windows
from varfocus.edges.regions import GRAINS, REGION_REACH, SMALLEST, STRIDE, planes, segments

N, NEAR, FAR = 9, 2.0, 7.0
HEIGHT, WIDTH = 96, 112


def evened(picture, index, near="first"):
    """All frames look alike: only what is said about depth matters."""
    return looked_at(picture, index, near)[0]


def looked_at(picture, index, near="first"):
    height, place = jump_height(N), np.arange(float(N))
    asked = beside_jumps(index, height)
    asked |= not asked.any()
    return regional([picture] * N, 1.0, place, index, near, height, asked)


@pytest.fixture
def card():
    """A bright card before a grey wall, both with a grain: picture, and where the card is."""
    rng = np.random.default_rng(3)
    on_card = np.zeros((HEIGHT, WIDTH), bool)
    on_card[28:70, 30:84] = True
    grain = 0.003 * rng.standard_normal((HEIGHT, WIDTH, 3))
    light = np.where(on_card, 0.8, 0.35)[..., None] + grain
    return light.astype(np.float32), on_card


@pytest.mark.parametrize("near", ["first", "last", None])
@pytest.mark.parametrize("wider", [-4, 4])
def test_an_object_that_came_out_too_large_or_too_small_ends_at_its_outline(card, near, wider):
    picture, on_card = card
    truth = np.where(on_card, NEAR, FAR).astype(np.float32)
    grown = ndimage.distance_transform_edt(~on_card) - ndimage.distance_transform_edt(on_card)
    index = np.where(grown <= wider, NEAR, FAR).astype(np.float32)
    assert (index != truth).mean() > 0.05
    found = evened(picture, index, near)
    # The smoothed edge itself, two pixels wide, may be a region of its own.
    beyond = np.abs(grown) >= 3.0
    assert (index != truth)[beyond].mean() > 0.01
    assert (np.abs(found - truth)[beyond] > 0.1 * (FAR - NEAR)).mean() < 0.008
    assert np.sqrt(np.mean((found - truth) ** 2)) < 0.7 * np.sqrt(np.mean((index - truth) ** 2))


def test_regions_tell_in_a_picture_of_objects_and_not_of_texture(card, rng):
    picture, on_card = card
    index = np.where(on_card, NEAR, FAR).astype(np.float32)
    texture = ndimage.gaussian_filter(rng.standard_normal(picture.shape), (1.0, 1.0, 0.0))
    texture = (0.5 + 0.2 * texture / texture.std()).astype(np.float32)
    assert looked_at(picture, index)[1] == 1.0
    assert looked_at(texture, index)[1] == 0.0
    half = np.where(np.arange(WIDTH)[:, None] < WIDTH // 2, picture, texture).astype(np.float32)
    assert looked_at(half, index)[1] == 0.0  # more than a quarter of the border is texture


def test_slanted_surfaces_keep_their_slopes(card):
    picture, on_card = card
    y, x = np.mgrid[:HEIGHT, :WIDTH]
    truth = np.where(on_card, 2.0 + 0.02 * (y - 50), 5.0 + 0.015 * (x - 60)).astype(np.float32)
    index = np.where(ndimage.binary_dilation(on_card, iterations=3), 2.0 + 0.02 * (y - 50), truth)
    found = evened(picture, index.astype(np.float32))
    inside, outside = (ndimage.binary_erosion(part, iterations=3) for part in (on_card, ~on_card))
    assert np.abs(found - truth)[inside].max() < 0.1
    assert np.sqrt(np.mean((found - truth)[outside] ** 2)) < 0.1


def test_a_picture_without_regions_is_one_and_a_plane_stays_a_plane():
    picture = np.full((40, 50, 3), 0.5, np.float32)
    (label,) = segments(picture, GRAINS[:1], SMALLEST[:1])
    assert label.max() == 0
    y, x = np.mgrid[:40, :50]
    index = (1.0 + 0.05 * y + 0.03 * x).astype(np.float32)
    total = np.zeros_like(index)
    planes(index, label, 0.25, total)
    np.testing.assert_allclose(total, index, atol=1e-3)


def test_regions_are_at_least_as_large_as_asked_for_and_hang_together(rng):
    picture = ndimage.gaussian_filter(rng.random((70, 80, 3)), (2, 2, 0)).astype(np.float32)
    for label, least in zip(segments(3 * picture, GRAINS, SMALLEST), SMALLEST, strict=True):
        assert np.bincount(label.ravel()).min() >= least
        for number in range(label.max() + 1):
            assert ndimage.label(label == number, np.ones((3, 3)))[1] == 1


def test_coarser_grains_give_fewer_regions(rng):
    picture = ndimage.gaussian_filter(rng.random((70, 80, 3)), (2, 2, 0)).astype(np.float32)
    counts = [label.max() for label in segments(3 * picture, (0.01, 0.1, 1.0), (1, 1, 1))]
    assert counts == sorted(counts, reverse=True)
    assert counts[0] > 2 * counts[2]


@pytest.mark.parametrize(
    "turn", [lambda a: a[::-1], lambda a: a[:, ::-1], lambda a: np.swapaxes(a, 0, 1)]
)
def test_a_turned_picture_gives_the_turned_depth(card, turn):
    picture, on_card = card
    index = np.where(ndimage.binary_dilation(on_card, iterations=3), NEAR, FAR).astype(np.float32)
    found = evened(picture, index)
    turned = evened(np.ascontiguousarray(turn(picture)), np.ascontiguousarray(turn(index)))
    np.testing.assert_allclose(turned, turn(found), atol=1e-3)


def test_only_what_is_close_to_a_jump_or_a_ramp_is_asked():
    index = np.full((40, 60), 2.0, np.float32)
    index[:, 30:] = 5.0
    asked = beside_jumps(index, 1.0)
    assert asked[:, 22:38].all()
    assert not asked[:, :20].any()
    assert not asked[:, 40:].any()
    assert not beside_jumps(np.linspace(0, 4, 2400, dtype=np.float32).reshape(40, 60), 1.0).any()


@pytest.mark.parametrize("shape", [(40, 500), (128, 129), (300, 191), (1, 1)])
def test_windows_of_the_whole_add_up_to_one(shape):
    whole = tuple(slice(0, side) for side in shape)
    total = np.zeros(shape)
    for window in windows(whole, whole, shape):
        assert window.weight.shape == total[window.box].shape
        assert window.weight.min() > 0
        total[window.box] += window.weight
    np.testing.assert_allclose(total, 1.0, rtol=1e-6)


def test_a_part_has_the_windows_of_the_whole_that_touch_it():
    shape = (700, 900)
    whole = tuple(slice(0, side) for side in shape)
    inner = slice(256, 320), slice(STRIDE, 2 * STRIDE)
    outer = tuple(
        slice(max(s.start - REGION_REACH, 0), min(s.stop + REGION_REACH, side))
        for s, side in zip(inner, shape, strict=True)
    )
    touching = [
        window
        for window in windows(whole, whole, shape)
        if all(
            b.start < i.stop and b.stop > i.start for b, i in zip(window.box, inner, strict=True)
        )
    ]
    found = windows(inner, outer, shape)
    assert len(found) == len(touching)
    for one, other in zip(found, touching, strict=True):
        for here, o, there in zip(one.box, outer, other.box, strict=True):
            assert slice(here.start + o.start, here.stop + o.start) == there
        np.testing.assert_array_equal(one.weight, other.weight)


@pytest.mark.skipif(not engine.in_use(), reason="needs the engine")
@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("shape", [(1, 1), (1, 9), (7, 1), (2, 2), (31, 47)])
def test_the_kernels_compute_what_the_array_code_says(shape, channels, rng):
    picture = ndimage.gaussian_filter(rng.random((*shape, channels)), (1, 1, 0)).astype(np.float32)
    picture[: shape[0] // 2] = np.round(picture[: shape[0] // 2], 1)  # pairs that differ alike
    index = (8 * ndimage.gaussian_filter(rng.random(shape), 2) - 2).astype(np.float32)
    fast = segments(picture, GRAINS, (1, 5, 30))
    with engine.switched_off():
        slow = segments(picture, GRAINS, (1, 5, 30))
    np.testing.assert_array_equal(fast, slow)
    for label in fast:
        quick, plain = np.ones((2, *shape), np.float32)
        planes(index, label, 0.3, quick)
        with engine.switched_off():
            planes(index, label, 0.3, plain)
        np.testing.assert_allclose(quick, plain, atol=1e-5)
