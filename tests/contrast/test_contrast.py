"""The modified Laplacian and its normalisation against independent computations."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import ndimage

from varfocus.contrast import box_mean, mlap, normaliser
from varfocus.errors import NoContrastError
from varfocus.params import ContrastParams

SECOND = np.array([1.0, -2.0, 1.0])


def reference(image):
    """MLAP by general convolution."""
    planes = image[..., None] if image.ndim == 2 else image
    total = np.zeros(image.shape[:2])
    for channel in np.moveaxis(planes.astype(np.float64), -1, 0):
        for axis in (0, 1):
            total += np.abs(ndimage.correlate1d(channel, SECOND, axis, mode="nearest"))
    return total


@given(
    height=st.integers(1, 12),
    width=st.integers(1, 12),
    colour=st.booleans(),
    seed=st.integers(0, 99),
)
def test_mlap_is_a_convolution_with_replicated_border(height, width, colour, seed):
    shape = (height, width, 3) if colour else (height, width)
    image = np.random.default_rng(seed).random(shape)
    np.testing.assert_allclose(mlap(image), reference(image), atol=1e-12)


def test_mlap_by_hand():
    image = np.zeros((5, 5))
    image[2, 2] = 1.0
    expected = np.zeros((5, 5))
    expected[2, 2] = 4.0
    expected[[1, 3, 2, 2], [2, 2, 1, 3]] = 1.0
    np.testing.assert_array_equal(mlap(image), expected)


def test_mlap_sums_over_colours(rng):
    image = rng.random((6, 8, 3), dtype=np.float32)
    channels = sum(mlap(image[..., c]) for c in range(3))
    np.testing.assert_allclose(mlap(image), channels, rtol=1e-6)
    assert mlap(image).dtype == np.float32


def test_mlap_is_blind_to_ramps_away_from_the_border():
    y, x = np.mgrid[0:9.0, 0:9.0]
    np.testing.assert_allclose(mlap(2 * x - 3 * y + 1)[1:-1, 1:-1], 0.0, atol=1e-12)


def test_mlap_scales_with_the_gain(rng):
    image = rng.random((6, 8))
    np.testing.assert_array_equal(mlap(4 * image), 4 * mlap(image))
    np.testing.assert_allclose(mlap(image + 7), mlap(image), atol=1e-12)


def test_relative_normalisation_is_independent_of_gain(rng):
    peak = rng.random((6, 8))
    params = ContrastParams("relative")
    np.testing.assert_allclose(
        (255 * peak) / normaliser(255 * peak, params), peak / normaliser(peak, params), rtol=1e-12
    )


def test_relative_normalisation_uses_the_median_of_the_pixels_that_show_contrast():
    peak = np.array([[0.0, 0.0, 1.0], [2.0, 10.0, 0.0]])
    found = normaliser(peak, ContrastParams("relative", 0.5))
    np.testing.assert_allclose(found, peak + 0.5 * 2.0)


def test_absolute_and_no_normalisation(rng):
    peak = rng.random((6, 8))
    np.testing.assert_allclose(normaliser(peak, ContrastParams("absolute")), peak + 0.3)
    np.testing.assert_allclose(normaliser(peak, ContrastParams("absolute", 0.1)), peak + 0.1)
    np.testing.assert_array_equal(normaliser(peak, ContrastParams("none")), 1.0)


@pytest.mark.parametrize("normalisation", ["relative", "absolute", "none"])
def test_no_contrast_at_all(normalisation):
    with pytest.raises(NoContrastError, match="constant"):
        normaliser(np.zeros((3, 4)), ContrastParams(normalisation))


@given(
    height=st.integers(1, 9),
    width=st.integers(1, 9),
    size=st.sampled_from([1, 3, 5, 11]),
    seed=st.integers(0, 99),
)
def test_box_mean_against_brute_force(height, width, size, seed):
    image = np.random.default_rng(seed).random((height, width))
    padded = np.pad(image, size // 2, mode="edge")
    windows = np.lib.stride_tricks.sliding_window_view(padded, (size, size))
    np.testing.assert_allclose(box_mean(image, size), windows.mean(axis=(2, 3)), rtol=1e-12)
