"""The classical method against brute force and against curves that are known exactly."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import ndimage

from varfocus.contrast import box_mean
from varfocus.contrast.peak import PeakSearch
from varfocus.errors import ParameterError
from varfocus.methods.classic import (
    classic_index,
    default_gauss_step,
    gauss_peak,
    reliability,
)
from varfocus.minimise import rof
from varfocus.params import ClassicParams

N = 15


def gaussians(centre, width, amplitude, n=N):
    k = np.arange(n)[:, None, None]
    return (amplitude * np.exp(-0.5 * ((k - centre) / width) ** 2)).astype(np.float32)


@pytest.fixture
def truth(rng):
    """Centre, width and amplitude of the Gaussian of every pixel."""
    shape = (12, 13)
    return rng.uniform(2.6, 11.4, shape), rng.uniform(1.5, 3, shape), rng.uniform(0.1, 9, shape)


@given(window=st.sampled_from([1, 3, 7]), n=st.integers(1, 6), seed=st.integers(0, 99))
def test_peak_search_is_the_argmax_of_the_filtered_volume(window, n, seed):
    volume = np.random.default_rng(seed).random((n, 8, 9))
    search = PeakSearch(window)
    for k, contrast in enumerate(volume):
        search.add(k, contrast.copy())
    expected = np.stack([box_mean(contrast, window) for contrast in volume]).argmax(axis=0)
    np.testing.assert_array_equal(search.index, expected)
    assert search.index.dtype == volume.dtype


def test_peak_search_breaks_ties_to_the_earlier_frame():
    search = PeakSearch(1)
    for k, value in enumerate([1.0, 3.0, 2.0, 3.0]):
        search.add(k, np.full((2, 2), value))
    np.testing.assert_array_equal(search.index, 1)


def test_peak_search_leaves_the_contrast_it_is_given_alone(rng):
    volume = rng.random((5, 6, 7))
    untouched = volume.copy()
    search = PeakSearch(3)
    for k, contrast in enumerate(volume):
        search.add(k, contrast)
    np.testing.assert_array_equal(volume, untouched)


@pytest.mark.parametrize("step", [1, 2])
def test_three_points_are_exact_on_a_gaussian(truth, step):
    centre, width, amplitude = truth
    peak = gauss_peak(gaussians(*truth), step)
    np.testing.assert_allclose(peak.centre, centre, atol=1e-4)
    np.testing.assert_allclose(peak.width, width, rtol=1e-4)
    np.testing.assert_allclose(peak.amplitude, amplitude, rtol=1e-4)


@pytest.mark.parametrize(("index", "inside"), [(0.0, 0.3), (14.0, 13.7)])
def test_peaks_close_to_an_end_are_found_from_the_nearest_three_points(index, inside):
    for centre in (index, inside):
        peak = gauss_peak(gaussians(np.full((2, 3), centre), 2.5, 1.0), 2)
        np.testing.assert_allclose(peak.centre, centre, atol=1e-4)


def test_the_centre_never_leaves_the_stack():
    beyond = gauss_peak(gaussians(np.array([[-3.0, 18.0]]), 2.5, 1.0), 1)
    np.testing.assert_array_equal(beyond.centre, [[0.0, 14.0]])


def test_curves_without_a_maximum_lead_uphill():
    rising = np.exp(np.arange(5.0) ** 2 / 10).astype(np.float32)[:, None, None]
    peak = gauss_peak(rising, 1)
    assert peak.centre > 3
    assert np.isinf(peak.width).all()
    assert gauss_peak(rising[::-1], 1).centre < 1


@pytest.mark.parametrize("step", [1, 2])
def test_reversing_the_frames_mirrors_the_peak(rng, step):
    volume = rng.random((N, 9, 10), dtype=np.float32)
    there, back = gauss_peak(volume, step), gauss_peak(volume[::-1], step)
    np.testing.assert_allclose(N - 1 - back.centre, there.centre, atol=1e-4)


def test_a_dead_pixel_is_harmless():
    peak = gauss_peak(np.zeros((5, 2, 2), np.float32), 1)
    assert np.isfinite(peak.centre).all()
    assert np.isfinite(peak.amplitude).all()


def test_reliability_falls_with_noise(rng, truth):
    clean = gaussians(*truth)
    decibels = []
    for noise in (0.0, 0.01, 0.1, 0.5):
        volume = (clean + noise * truth[2] * rng.random(clean.shape)).astype(np.float32)
        decibels.append(float(reliability(volume, gauss_peak(volume, 2)).mean()))
    assert decibels == sorted(decibels, reverse=True)
    assert decibels[0] > decibels[1] + 20


def test_reliability_by_hand():
    """One Gaussian, lifted by a tenth in the two frames that the fit does not see."""
    volume = gaussians(np.full((3, 3), 4.0), 1.5, 2.0, n=9)
    volume[[0, 8]] += 0.1
    found = reliability(volume, gauss_peak(volume, 1))
    np.testing.assert_allclose(found, 20 * np.log10(9 * 2.0 / 0.2), rtol=1e-3)


def test_reliability_uses_the_focus_value_and_not_its_position():
    """The public toolbox rates the same curve better the later its peak comes."""
    found = []
    for centre in (4.0, 10.0):
        volume = gaussians(np.full((3, 3), centre), 1.5, 1.0)
        volume += np.float32(0.05)
        found.append(reliability(volume, gauss_peak(volume, 1)))
    np.testing.assert_allclose(found[0], found[1], atol=0.05)


def test_reliability_is_independent_of_gain(rng):
    volume = rng.random((N, 6, 7), dtype=np.float32)
    one, other = (reliability(v, gauss_peak(v, 2)) for v in (volume, 64 * volume))
    np.testing.assert_allclose(one, other, atol=1e-3)


def test_classic_index_is_peak_then_median_then_tv(truth):
    volume = gaussians(*truth)
    peak = gauss_peak(volume, 2).centre
    np.testing.assert_array_equal(classic_index(volume, ClassicParams()), peak)
    filtered = classic_index(volume, ClassicParams(median=5))
    np.testing.assert_array_equal(filtered, ndimage.median_filter(peak, 5, mode="nearest"))
    smooth = classic_index(volume, ClassicParams(median=5, tv_weight=0.5))
    np.testing.assert_array_equal(smooth, rof(filtered, 0.5).d)
    assert np.ptp(smooth) < np.ptp(filtered)


def test_the_default_step_depends_on_the_number_of_frames(truth):
    assert [default_gauss_step(n) for n in (3, 11, 12, 15)] == [1, 1, 2, 2]
    volume = gaussians(*truth) + np.float32(0.3)
    np.testing.assert_array_equal(
        classic_index(volume, ClassicParams()), classic_index(volume, ClassicParams(gauss_step=2))
    )
    assert np.any(
        classic_index(volume, ClassicParams()) != classic_index(volume, ClassicParams(gauss_step=1))
    )


def test_the_step_must_fit_the_stack():
    with pytest.raises(ParameterError, match=r"gauss_step = 3 for 6 frames.*\n.*at least 7"):
        classic_index(np.ones((6, 2, 2), np.float32), ClassicParams(gauss_step=3))
