"""Blur whose width may change from pixel to pixel, as defocus does.

With a Gaussian:

out(p) = Σ_q w_σ(p)(q_y) w_σ(p)(q_x) image(p + q),  |q_y|, |q_x| ≤ radius,
w_σ(m) = exp(−m²/2σ²) / Σ_{|j| ≤ radius} exp(−j²/2σ²),

with the σ of the *receiving* pixel and a mirrored border (edge pixel repeated). The window is
square and the weights are even, so a pixel needs only the (radius + 1)² sums of its four mirror
images, S(p): out = wᵀ S w. S does not depend on σ, hence all frames of a stack share it.

Other apertures are computed for σ_j = j/4 px, and between the two next ones a pixel takes a mean
with weights that give it exactly its σ².
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from varfocus.simulation.aperture import Aperture, spread

RADIUS = 19
"""Half width of Pertuz's 39×39 window, in pixels."""

STEP = 0.25
"""Pixels between the σ for which apertures other than the Gaussian are computed."""

_CHUNK = 192
"""Pixels handled at once: S then takes 0.3 MB and stays in the second-level cache."""

Array = NDArray[np.float32]


def gaussian_weights(sigma: Array, radius: int = RADIUS) -> Array:
    """Return one half of the normalised Gaussian, w(0), …, w(radius), for every σ.

    Parameters
    ----------
    sigma : ndarray of float32, any shape
        Standard deviations ≥ 0 in pixels; 0 gives the unit impulse.
    radius : int
        Half width of the window in pixels.

    Returns
    -------
    ndarray of float32, shape ``sigma.shape + (radius + 1,)``
        w(0) + 2 Σ_{m ≥ 1} w(m) = 1.
    """
    m = np.arange(radius + 1, dtype=np.float32)
    # The floor keeps σ = 0 finite; exp(−1/2e-12) is exactly zero in float32.
    precision = 0.5 / np.maximum(np.square(sigma, dtype=np.float32), np.float32(1e-12))
    weights: Array = np.exp(-precision[..., None] * m**2)
    total = 2 * weights.sum(axis=-1) - 1
    weights /= total[..., None]
    return weights


def blur(image: Array, sigma: Array, radius: int = RADIUS, aperture: Aperture = "gauss") -> Array:
    """Blur an image with the standard deviation of every receiving pixel.

    Parameters
    ----------
    image : ndarray of float32, shape (H, W) or (H, W, C)
        What is blurred.
    sigma : ndarray of float32, shape (n, H, W) or (n, 1, 1)
        Standard deviation in pixels for each of n results; ``(n, 1, 1)`` means the same width
        everywhere, which is separable and faster.
    radius : int
        Half width in pixels of the window in which the Gaussian is cut off.
    aperture : str
        Shape of the blur, see `varfocus.simulation.aperture`.

    Returns
    -------
    ndarray of float32, shape (n, H, W) or (n, H, W, C)
        The n blurred images.
    """
    image = np.asarray(image, dtype=np.float32)
    sigma = np.asarray(sigma, dtype=np.float32)
    if aperture != "gauss":
        if sigma.shape[1:] == (1, 1):
            return np.stack(list(spread(image, [float(s) for s in sigma[:, 0, 0]], aperture)))
        return _between(image, sigma, aperture)
    if sigma.shape[1:] == (1, 1):
        return np.stack([uniform_blur(image, float(s), radius) for s in sigma[:, 0, 0]])
    if image.ndim == 2:
        return gather_blur(image[..., None], sigma, radius)[..., 0]
    return gather_blur(image, sigma, radius)


def uniform_blur(image: Array, sigma: float, radius: int = RADIUS) -> Array:
    """Blur an image of shape (H, W) or (H, W, C) with one σ, truncated at `radius` pixels."""
    if sigma <= 0:
        return np.array(image, dtype=np.float32)
    # As in `gather_blur`: what is below float32 precision need not be summed.
    radius = min(radius, int(np.ceil(6 * sigma)))
    half = gaussian_weights(np.array([sigma], dtype=np.float32), radius)[0].astype(np.float64)
    kernel = np.concatenate([half[:0:-1], half])
    kernel /= kernel.sum()
    rows = ndimage.correlate1d(image, kernel, axis=0, output=np.float32, mode="reflect")
    result: Array = ndimage.correlate1d(rows, kernel, axis=1, output=np.float32, mode="reflect")
    return result


def _between(image: Array, sigma: Array, aperture: Aperture) -> Array:
    """Blur with ``sigma`` of shape (n, H, W), from images blurred with σ_j = j · STEP."""
    last = int(np.ceil(sigma.max() / STEP))
    levels = [STEP * j for j in range(last + 2)]
    position = np.interp(np.square(sigma), np.square(levels), np.arange(len(levels)))
    result = np.zeros((*sigma.shape, *image.shape[2:]), np.float32)
    for j, blurred in enumerate(spread(image, levels, aperture)):
        weight = np.maximum(1 - np.abs(position - j), 0).astype(np.float32)
        result += (weight if image.ndim == 2 else weight[..., None]) * blurred
    return result


def gather_blur(image: Array, sigma: Array, radius: int = RADIUS) -> Array:
    """Blur an image of shape (H, W, C) with ``sigma`` of shape (n, H, W), pixel by pixel."""
    height, width, channels = image.shape
    padded = np.stack(
        [np.pad(image[..., c], radius, mode="symmetric") for c in range(channels)]
    ).astype(np.float32)
    result = np.empty((*sigma.shape, channels), dtype=np.float32)
    for y in range(height):
        for x in range(0, width, _CHUNK):
            part = slice(x, min(x + _CHUNK, width))
            local = np.ascontiguousarray(sigma[:, y, part].T)
            # Beyond 6σ a weight is below 2e-8 of the largest: below float32 precision.
            reach = min(radius, max(1, int(np.ceil(6 * local.max()))))
            weights = gaussian_weights(local, reach)
            for c, plane in enumerate(padded):
                sums = _mirror_sums(plane, y + radius, x + radius, len(local), reach)
                result[:, y, part, c] = np.einsum("pkm,pkm->kp", weights @ sums, weights)
    return result


def _mirror_sums(padded: Array, y: int, x: int, count: int, reach: int) -> Array:
    """S for `count` pixels of row `y` from column `x` on, shape (count, reach+1, reach+1).

    S[i, a, b] is the sum of the pixels at (±a, ±b) from pixel i, without repetition.
    """
    span = slice(x - reach, x + count + reach)
    folded = padded[y : y + reach + 1, span] + padded[y - reach : y + 1, span][::-1]
    folded[0] = padded[y, span]
    windows = np.lib.stride_tricks.sliding_window_view(folded, 2 * reach + 1, axis=1)
    sums: Array = (windows[..., reach:] + windows[..., reach::-1]).transpose(1, 0, 2)
    sums[..., 0] = windows[..., reach].T
    return sums
