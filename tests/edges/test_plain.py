"""Plain areas: no depth jumps inside them, and nothing else changes."""

import numpy as np
import pytest

from varfocus.edges import plain_areas as plain
from varfocus.edges.plain_areas import Area, closest, plain_areas

NEAR, FAR, JUMP = 3.0, 10.0, 1.5


def scene():
    """Return a depth map with a jump at column 30, and weights with a plain area around it."""
    index = np.full((60, 80), FAR, np.float32)
    index[:, :30] = NEAR
    weight = np.ones((60, 80), np.float32)
    weight[20:40, 22:62] = 4.0  # its edge towards the near side is at column 22
    return index, weight


def settle(index, weight, jump):
    """Return the settled map."""
    settled = index.copy()
    plain.settle(settled, weight, jump)
    return settled


def test_the_smaller_side_of_a_plain_area_joins_the_larger():
    index, weight = scene()
    settled = settle(index, weight, JUMP)
    assert (settled[20:40, 22:] == FAR).all()
    untouched = np.ones(index.shape, bool)
    untouched[20:40, 22:30] = False
    np.testing.assert_array_equal(settled[untouched], index[untouched])


def test_near_may_be_the_larger_side():
    index, weight = scene()
    settled = settle(np.float32(FAR + NEAR) - index, weight, JUMP)
    assert (settled[20:40, 22:62] == NEAR).all()


def test_strays_follow_a_slope():
    index, weight = scene()
    slope = np.broadcast_to(0.05 * np.arange(60, dtype=np.float32)[:, None], (60, 80))
    index = np.where(index == FAR, index + slope, index).astype(np.float32)
    settled = settle(index, weight, JUMP)
    assert np.abs(settled - (FAR + slope))[20:40, 22:].max() < 0.7  # half the height of the area


@pytest.mark.parametrize("frames", [0.0, 1.4])
def test_without_a_gap_on_the_rim_nothing_moves(frames):
    index, weight = scene()
    index = np.where(index == FAR, np.float32(NEAR + frames), index).astype(np.float32)
    np.testing.assert_array_equal(settle(index, weight, JUMP), index)


def test_slopes_are_no_jumps():
    index, weight = scene()
    index[:] = np.linspace(0.0, 14.0, 80, dtype=np.float32)
    np.testing.assert_array_equal(settle(index, weight, JUMP), index)


def test_small_areas_and_texture_are_left_alone():
    index, weight = scene()
    weight[:] = 1.0
    weight[25:35, 25:35] = 4.0
    assert weight[weight > plain.PLAIN].size < plain.LEAST
    np.testing.assert_array_equal(settle(index, weight, JUMP), index)


def test_the_order_of_rows_columns_and_depths_does_not_matter():
    index, weight = scene()
    rng = np.random.default_rng(0)
    index += rng.normal(0.0, 0.1, index.shape).astype(np.float32)  # no two distances tie twice
    plainly = settle(index, weight, JUMP)
    assert (plainly != index).any()
    np.testing.assert_array_equal(settle(-index, weight, JUMP), -plainly)
    turned = settle(np.ascontiguousarray(index.T), np.ascontiguousarray(weight.T), JUMP).T
    np.testing.assert_array_equal(turned != index, plainly != index)


@pytest.mark.parametrize("largest", [2**20, 500])
def test_the_closest_pixel_is_found(monkeypatch, largest):
    monkeypatch.setattr(plain, "LARGEST", largest)
    rng = np.random.default_rng(1)
    source, wanted = rng.random((50, 70)) < 0.01, rng.random((50, 70)) < 0.3
    rows, columns = closest(source, wanted, np.zeros(source.shape, np.float32))
    assert source[rows, columns].all()
    y, x = np.nonzero(wanted)
    sources = np.argwhere(source)
    least = np.hypot(sources[:, :1] - y, sources[:, 1:] - x).min(axis=0)
    found = np.hypot(rows - y, columns - x)
    step = np.ceil(np.sqrt(source.size / largest))
    assert (found <= least + (0 if step == 1 else 3 * step)).all()


def as_set(areas: list[Area]) -> set[tuple]:
    return {(a.pixels, a.first, a.last) for a in areas}


@pytest.mark.parametrize("rows", [1, 3, 7, 40])
def test_areas_do_not_depend_on_the_bands_they_are_found_in(rows):
    rng = np.random.default_rng(2)
    weight = np.where(rng.random((40, 50)) < 0.6, 4.0, 1.0).astype(np.float32)
    assert as_set(plain_areas(weight, 9, rows)) == as_set(plain_areas(weight, 9, 1000))
    areas = plain_areas(weight, 1, rows)
    assert as_set(areas) == as_set(plain_areas(weight, 1, 1000))
    assert sum(area.pixels for area in areas) == (weight > plain.PLAIN).sum()
    assert len(areas) > 3
    for area in areas:
        assert weight[area.member] > plain.PLAIN
        assert all(area.first[k] <= area.member[k] < area.last[k] for k in (0, 1))


def test_a_picture_with_no_plain_area():
    assert plain_areas(np.ones((5, 6), np.float32), 1, 2) == []


def test_an_area_too_wide_for_memory_is_left_alone(monkeypatch):
    index, weight = scene()
    monkeypatch.setattr(plain, "WIDEST", 20 * 40 - 1)
    np.testing.assert_array_equal(settle(index, weight, JUMP), index)
