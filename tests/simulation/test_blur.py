"""The blur is the Gaussian it claims to be, at every pixel and at the border."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import ndimage

from varfocus.simulation.blur import RADIUS, blur, gather_blur, gaussian_weights, uniform_blur


def noise(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).random(shape, dtype=np.float32)


def truncated(image: np.ndarray, sigma: float) -> np.ndarray:
    m = np.arange(-RADIUS, RADIUS + 1)
    kernel = np.exp(-(m**2) / (2 * sigma**2))
    kernel /= kernel.sum()
    window = np.outer(kernel, kernel)
    return ndimage.convolve(image.astype(np.float64), window, mode="reflect")


@pytest.mark.parametrize("sigma", [0.3, 1.0, 2.5, 7.0, 15.0])
def test_constant_sigma_is_a_truncated_gaussian(sigma: float) -> None:
    image = noise(45, 52)
    expected = truncated(image, sigma)
    gathered = gather_blur(image[..., None], np.full((1, 45, 52), sigma, np.float32))[0, ..., 0]
    np.testing.assert_allclose(gathered, expected, atol=3e-6)
    np.testing.assert_allclose(uniform_blur(image, sigma), expected, atol=3e-6)


def test_every_pixel_has_its_own_sigma() -> None:
    image, sigma = noise(30, 41), np.zeros((1, 30, 41), np.float32)
    sigma[0, :, 20:] = 4.0
    sigma[0, 10] = 1.5
    result = blur(image, sigma)[0]
    for value in (0.0, 1.5, 4.0):
        expected = truncated(image, value) if value else image
        np.testing.assert_allclose(
            result[sigma[0] == value], expected[sigma[0] == value], atol=3e-6
        )


@pytest.mark.parametrize("shape", [(5, 7), (2, 300), (40, 3)])
def test_small_and_long_images_are_mirrored_as_often_as_needed(shape: tuple[int, int]) -> None:
    image = noise(*shape)
    sigma = np.full((1, *shape), 6.0, np.float32)
    padded = np.pad(image, 2 * RADIUS, mode="symmetric")
    inside = (slice(2 * RADIUS, -2 * RADIUS),) * 2
    np.testing.assert_allclose(blur(image, sigma)[0], truncated(padded, 6.0)[inside], atol=3e-6)


@given(sigma=st.floats(0, 1e-3), seed=st.integers(0, 99))
@settings(max_examples=20, deadline=None)
def test_vanishing_sigma_returns_the_image_itself(sigma: float, seed: int) -> None:
    image = noise(11, 13, 3, seed=seed)
    for widths in (np.full((2, 11, 13), sigma), np.full((2, 1, 1), sigma)):
        result = blur(image, widths.astype(np.float32))
        assert np.array_equal(result, np.stack([image, image]))


def test_a_constant_stays_constant_and_values_stay_in_range() -> None:
    sigma = 15 * noise(3, 25, 31)
    flat = blur(np.full((25, 31), 0.7, np.float32), sigma)
    np.testing.assert_allclose(flat, 0.7, atol=1e-6)
    image = noise(25, 31)
    result = blur(image, sigma)
    assert result.min() >= image.min() - 1e-6
    assert result.max() <= image.max() + 1e-6


def test_constant_sigma_keeps_the_mean() -> None:
    image = noise(64, 48)
    assert uniform_blur(image, 5.0).mean() == pytest.approx(image.mean(), abs=1e-5)


def test_channels_are_blurred_alike() -> None:
    image, sigma = noise(20, 22, 3), 5 * noise(2, 20, 22, seed=1)
    result = blur(image, sigma)
    for c in range(3):
        assert np.array_equal(result[..., c], blur(image[..., c], sigma))


def test_one_sigma_everywhere_and_sigma_maps_agree() -> None:
    image = noise(33, 29)
    widths = np.array([0.0, 0.8, 6.5], np.float32)[:, None, None]
    full = np.broadcast_to(widths, (3, 33, 29))
    np.testing.assert_allclose(blur(image, widths), blur(image, full), atol=2e-6)


def test_weights_add_up_to_one() -> None:
    weights = gaussian_weights(np.array([0.0, 0.5, 3.0, 100.0], np.float32), 19)
    np.testing.assert_allclose(2 * weights.sum(axis=1) - weights[:, 0], 1, atol=1e-6)
    assert np.array_equal(weights[0], np.eye(20, dtype=np.float32)[0])
