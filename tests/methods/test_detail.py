"""Which strength of smoothing is best, told by what it leaves."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import ndimage

from varfocus.methods import detail
from varfocus.minimise.tgv import Parabolas

UNIT = 2.0
WIDTHS = (0.7, 2.0, 4.0, 8.0)


def texture(rng, shape, sigma, height):
    noise = ndimage.gaussian_filter(rng.standard_normal(shape), sigma)
    return (height * noise / noise.std()).astype(np.float32)


def smoothed(m):
    return [ndimage.gaussian_filter(m, sigma) for sigma in WIDTHS]


def data(m):
    return Parabolas(m, np.full_like(m, 30.0 / UNIT**2))


def errors(maps, truth, inside):
    return [float(np.sqrt(np.mean((d - truth)[inside] ** 2))) for d in maps]


@pytest.mark.parametrize(("rough", "best"), [(0.0, 3), (0.3, 0)])
def test_a_smooth_surface_is_smoothed_and_a_rough_one_is_not(rng, rough, best):
    shape = (160, 160)
    truth = texture(rng, shape, 5.0, rough) if rough else np.zeros(shape, np.float32)
    m = truth + texture(rng, shape, 1.1, 0.06)
    maps = smoothed(m)
    number = detail.strength(data(m), maps, UNIT)
    assert number.shape == shape
    assert abs(float(np.median(number)) - best) <= 1.0
    middle = np.s_[16:-16, 16:-16]
    found = errors([detail.mixed(maps, number)], truth, middle)[0]
    assert found <= 1.15 * min(errors(maps, truth, middle))


def test_half_of_it_rough_half_of_it_smooth(rng):
    shape = (160, 320)
    truth = texture(rng, shape, 5.0, 0.3)
    truth[:, 160:] = 0.0
    m = truth + texture(rng, shape, 1.1, 0.06)
    maps = smoothed(m)
    number = detail.strength(data(m), maps, UNIT)
    assert np.median(number[:, :100]) < 1.0
    assert np.median(number[:, 220:]) > 2.0
    mixed = detail.mixed(maps, number)
    away = np.ones(shape, bool)
    away[:, 120:200] = False
    assert errors([mixed], truth, away)[0] < 0.92 * min(errors(maps, truth, away))


def test_more_smoothness_asks_for_more(rng):
    truth = texture(rng, (160, 160), 5.0, 0.05)
    m = truth + texture(rng, (160, 160), 1.1, 0.06)
    numbers = [
        detail.strength(data(m), smoothed(m), UNIT, smoothness).mean()
        for smoothness in (0.25, 1.0, 4.0)
    ]
    assert numbers == sorted(numbers)
    assert numbers[0] < numbers[-1]


def test_what_says_nothing_has_no_detail(rng):
    m = texture(rng, (80, 96), 1.0, 0.3)
    silent = Parabolas(m, np.zeros_like(m))
    assert (detail.strength(silent, smoothed(m), UNIT) == len(WIDTHS) - 1).all()


def test_neither_gain_nor_unit_of_depth_matters(rng):
    m = texture(rng, (96, 96), 2.0, 0.1)
    maps = smoothed(m)
    straight = detail.strength(data(m), maps, UNIT)
    wider = Parabolas(3 * m, data(m).h / 9)
    np.testing.assert_allclose(
        detail.strength(wider, [3 * d for d in maps], 3 * UNIT), straight, atol=1e-4
    )


@pytest.mark.parametrize("shape", [(80, 96), (77, 95), (82, 99), (84, 93)])
@pytest.mark.parametrize("turn", [np.flipud, np.fliplr, np.transpose])
def test_flips_and_transposition_change_nothing(rng, shape, turn):
    m = texture(rng, shape, 2.0, 0.1)
    parts, maps = data(m), smoothed(m)
    turned = Parabolas(*(np.ascontiguousarray(turn(each)) for each in (parts.m, parts.h)))
    found = detail.strength(turned, [turn(each) for each in maps], UNIT)
    np.testing.assert_allclose(turn(found), detail.strength(parts, maps, UNIT), atol=1e-4)


def test_a_fractional_number_lies_between_two_maps():
    maps = [np.full((2, 3), value, np.float32) for value in (1.0, 3.0, 9.0)]
    number = np.array([[0.0, 0.5, 1.0], [1.5, 2.0, 0.25]], np.float32)
    expected = [[1.0, 2.0, 3.0], [6.0, 9.0, 1.5]]
    np.testing.assert_allclose(detail.mixed(maps, number), expected)


def test_no_pixel_beyond_its_reach_matters(rng):
    m = texture(rng, (32, 3 * detail.REACH), 2.0, 0.1)
    other = m.copy()
    other[:, :64] += texture(rng, (32, 64), 5.0, 0.2)
    one, two = (detail.strength(data(each), smoothed(m), UNIT) for each in (m, other))
    np.testing.assert_array_equal(one[:, 64 + detail.REACH :], two[:, 64 + detail.REACH :])
