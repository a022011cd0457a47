"""Mirrored, upside down, transposed: the borders of a stack stay where they are."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import ndimage

from varfocus import engine, simulate
from varfocus.canvas.tiles import spans
from varfocus.edges import Occlusion, plain_areas, sharpen, survey
from varfocus.edges.constants import FITTED, TILE
from varfocus.edges.patches import tile_grid
from varfocus.edges.regions import regional, windows
from varfocus.edges.scale import few_windows, sample_windows, thinned
from varfocus.edges.sides import closest
from varfocus.edges.stage import doubt
from varfocus.studies.metrics import rmse

TURNS = {
    "mirrored": lambda image: image[:, ::-1],
    "upside down": lambda image: image[::-1],
    "transposed": lambda image: np.swapaxes(image, 0, 1),
}
each_turn = pytest.mark.parametrize("turn", TURNS.values(), ids=TURNS.keys())


def covered(boxes, shape):
    """How often boxes cover every pixel."""
    count = np.zeros(shape, int)
    for box in boxes:
        count[box] += 1
    return count


@pytest.mark.parametrize("most", [1, 7, 64])
@pytest.mark.parametrize("length", [1, 2, 63, 64, 65, 128, 129, 187, 191, 250, 1000])
def test_a_length_is_cut_the_same_way_from_either_end(length, most):
    cut = spans(length, most)
    assert [s.start for s in cut] == [0, *(s.stop for s in cut[:-1])]
    assert cut[-1].stop == length
    assert all(0 < s.stop - s.start <= most for s in cut)
    assert [slice(length - s.stop, length - s.start) for s in reversed(cut)] == cut


def test_a_part_has_the_tiles_of_the_image():
    shape, part = (301, 200), (slice(60, 250), slice(0, 130))
    numbers = np.zeros(shape, int)
    for number, tile in enumerate(tile_grid(shape)):
        numbers[tile] = number
    cut_out = numbers[part]
    for tile in tile_grid(shape, part):
        assert len(np.unique(cut_out[tile])) == 1
    assert (covered(tile_grid(shape, part), cut_out.shape) == 1).all()
    assert max(s.stop - s.start for tile in tile_grid(shape) for s in tile) <= TILE


@each_turn
@pytest.mark.parametrize("shape", [(90, 70), (401, 600), (700, 700)])
def test_blur_is_measured_in_the_same_places(turn, shape, rng):
    turned = turn(np.zeros(shape)).shape
    for some in (few_windows, sample_windows):
        np.testing.assert_array_equal(
            turn(covered(some(shape), shape)), covered(some(turned), turned)
        )
    mask = rng.random(shape) < 0.3
    chosen, other = np.zeros(shape, bool), np.zeros(turned, bool)
    chosen.ravel()[thinned(mask, 400)] = True
    other.ravel()[thinned(np.ascontiguousarray(turn(mask)), 400)] = True
    np.testing.assert_array_equal(turn(chosen), other)
    assert not (chosen & ~mask).any()
    assert 300 < chosen.sum() < 500


def nearest_by_trying(mask, reach, rank):
    """Distance to the closest pixel, and the highest rank of those that close."""
    points = np.argwhere(mask)
    distance, best = np.full(mask.shape, np.inf), np.full(mask.shape, np.nan)
    for pixel in np.ndindex(mask.shape) if len(points) else ():
        away = ((points - pixel) ** 2).sum(axis=1)
        if away.min() <= reach**2:
            distance[pixel] = np.sqrt(away.min())
            best[pixel] = max(rank[tuple(points[i])] for i in np.flatnonzero(away == away.min()))
    return distance, best


@pytest.mark.parametrize("share", [0.0, 0.004, 0.1])
@pytest.mark.parametrize("reach", [0, 3, 50])
def test_of_the_closest_pixels_the_highest_is_found(share, reach, rng):
    mask = rng.random((23, 31)) < share
    rank = rng.integers(0, 3, mask.shape).astype(np.float32)
    distance, place = closest(mask, reach, rank)
    expected, best = nearest_by_trying(mask, reach, rank)
    np.testing.assert_allclose(distance, expected, rtol=1e-6)
    found = np.isfinite(expected)
    assert mask.ravel()[place[found]].all()
    np.testing.assert_array_equal(rank.ravel()[place[found]], best[found])
    np.testing.assert_array_equal(place[~found], np.flatnonzero(~found))


@pytest.mark.skipif(not engine.in_use(), reason="needs the engine")
@pytest.mark.parametrize("shape", [(1, 1), (1, 40), (40, 1), (33, 70)])
@pytest.mark.parametrize("reach", [0, 1, 5, 100])
def test_the_kernel_finds_what_the_array_code_does(shape, reach, rng):
    for share in (0.0, 0.02, 0.3):
        mask, rank = rng.random(shape) < share, rng.integers(0, 3, shape).astype(np.float32)
        fast = closest(mask, reach, rank)
        with engine.switched_off():
            slow = closest(mask, reach, rank)
        for one, other in zip(fast, slow, strict=True):
            np.testing.assert_array_equal(one, other)


@pytest.fixture(scope="module", params=[(128, 128), (101, 149)], ids=["whole tiles", "odd"])
def scene(request):
    """Some frames, the truth, and the truth with every foreground a pixel too wide."""
    made = simulate("steps", shape=request.param, seed=1)
    return made.frames, made.truth_index, ndimage.minimum_filter(made.truth_index, 3)


def turned_frames(frames, turn):
    return [np.ascontiguousarray(turn(frame)) for frame in frames]


@each_turn
def test_rendering_puts_borders_in_the_same_places(scene, turn):
    frames, truth, fat = scene
    # Depths are not round numbers: else many pixels are exactly as far from either side.
    fat = (fat + 0.2 * np.sin(np.arange(fat.size).reshape(fat.shape))).astype(np.float32)
    x = np.arange(len(frames), dtype=np.float64)
    plainly = sharpen(list(frames), 1 / 255, fat, x)
    other = sharpen(turned_frames(frames, turn), 1 / 255, np.ascontiguousarray(turn(fat)), x)
    assert plainly is not None
    assert other is not None
    assert other.ratio == pytest.approx(plainly.ratio, abs=1e-3)
    off = np.sqrt(np.mean((turn(plainly.index) - other.index) ** 2))
    assert off < 0.02 * rmse(plainly.index, truth)
    np.testing.assert_allclose(turn(plainly.doubt), other.doubt, atol=0.05)


@each_turn
def test_regions_are_cut_in_the_same_places(scene, turn):
    frames, truth, fat = scene
    place = np.arange(len(frames), dtype=np.float64)

    def whole(some, index):
        total = np.zeros(index.shape, np.float32)
        everything = tuple(slice(0, side) for side in index.shape)
        for window in windows(everything, everything, index.shape):
            cut = [np.ascontiguousarray(frame[window.box]) for frame in some]
            part = np.ascontiguousarray(index[window.box])
            asked = np.ones(part.shape, bool)
            depth, _ = regional(cut, 1 / 255, place, part, "first", 1.0, asked)
            total[window.box] += window.weight * depth
        return total

    fat = fat.astype(np.float32)
    plainly = whole(list(frames), fat)
    other = whole(turned_frames(frames, turn), np.ascontiguousarray(turn(fat)))
    assert np.sqrt(np.mean((turn(plainly) - other) ** 2)) < 0.02 * rmse(plainly, truth)


@each_turn
def test_plain_areas_are_settled_alike(turn, rng):
    index = np.full((60, 71), 3.0, np.float32) + rng.normal(0, 0.2, (60, 71)).astype(np.float32)
    index[:, :20] += 5.0
    weight = np.ones(index.shape, np.float32)
    weight[10:50, 10:60] = 4.0
    turned = np.ascontiguousarray(turn(index))
    before = index.copy()
    plain_areas.settle(index, weight, 1.5)
    plain_areas.settle(turned, np.ascontiguousarray(turn(weight)), 1.5)
    assert (index != before).sum() > 100
    np.testing.assert_array_equal(turn(index), turned)


def test_noise_does_not_close_the_stage():
    ratios = []
    for noise in (0.05, 1.0):
        made = simulate("steps", shape=(128, 160), seed=1, noise=noise)
        fat = ndimage.minimum_filter(made.truth_index, 3).astype(np.float32)
        frames = list(made.frames)
        x = np.arange(len(frames), dtype=np.float64)
        found = survey(
            lambda box, frames=frames, fat=fat: ([f[box] for f in frames], fat[box]),
            fat.shape,
            1 / 255,
            x,
        )
        assert isinstance(found, Occlusion)
        ratios.append(found.ratio)
    assert abs(ratios[1] - ratios[0]) < 0.1, ratios


def test_rendering_is_doubted_where_it_does_not_explain_the_frames():
    asks, noise = np.zeros((40, 120), bool), 1e-3
    asks[:, 5:115] = True
    residue = np.full(asks.shape, FITTED.explained * noise, np.float32)
    residue[:, 60:] = 100.0 * FITTED.unexplained * noise
    found = doubt(residue, asks, noise)
    assert not found[:, :45].any()
    assert (found[:, 70:115] > 0.99).all()
    assert not doubt(residue, np.zeros_like(asks), noise).any()
    assert (np.diff(doubt(np.sort(residue), asks, noise)[20, 5:115]) >= -1e-6).all()
