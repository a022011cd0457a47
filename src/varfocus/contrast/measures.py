"""How sharp each pixel of a frame is.

The paper's measure is the modified Laplacian [1]_, summed over the colour channels:

    MLAP(i, j) = Σ_l |∂xx I_l| + |∂yy I_l|,  second differences [1, −2, 1], border replicated.

Contrast curves are divided by their own maximum over focus, so that one α serves textured and
faint pixels alike:

    C_k = MLAP_k / (max_k MLAP_k + ε).

A small ε trusts faint pixels; a large one leaves them to their neighbours.

References
----------
.. [1] S. K. Nayar, Y. Nakagawa, "Shape from focus", IEEE TPAMI 16(8), 1994.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from varfocus import engine
from varfocus.arrays import Array, is_numpy, namespace, zeros
from varfocus.errors import NoContrastError
from varfocus.params import ContrastParams, RobustParams

Float = NDArray[np.float32]


def mlap(image: Array) -> Array:
    """Return the modified Laplacian of one frame.

    Parameters
    ----------
    image : array of shape (H, W) or (H, W, C), floating point
        Frame; in [0, 1] if ε is absolute.

    Returns
    -------
    array of shape (H, W)
        Contrast, not negative, in the unit of the image.
    """
    xp = namespace(image)
    # With a replicated border the outermost second difference reduces to a first difference.
    across = zeros(tuple(image.shape), like=image)
    across[:, :-1, ...] += image[:, 1:, ...] - image[:, :-1, ...]
    across[:, 1:, ...] -= image[:, 1:, ...] - image[:, :-1, ...]
    down = zeros(tuple(image.shape), like=image)
    down[:-1, ...] += image[1:, ...] - image[:-1, ...]
    down[1:, ...] -= image[1:, ...] - image[:-1, ...]
    contrast = xp.abs(across) + xp.abs(down)
    return contrast if contrast.ndim == 2 else xp.sum(contrast, axis=2)


def normaliser(peak: Array, params: ContrastParams, typical: float | None = None) -> Array:
    """Return what to divide contrast curves by: ``max_k MLAP_k + ε``.

    Parameters
    ----------
    peak : array of shape (H, W)
        Maximum over the frames of each pixel's contrast.
    params : ContrastParams
        ``relative``: ε = epsilon · median of `peak` over the pixels that show any contrast, which
        makes the depth independent of the gain of the images; ``absolute``: ε = epsilon, for
        images in [0, 1], as in the paper's published code; ``none``: no division at all.
    typical : float, optional
        That median over the whole image, if this is a part of it; 0 if none of it has contrast.

    Returns
    -------
    array of shape (H, W)
        Positive divisor.

    Raises
    ------
    NoContrastError
        If no pixel shows any contrast in any frame.
    """
    xp = namespace(peak)
    if typical is None:
        alive = peak[peak > 0]
        typical = _median(alive) if alive.shape[0] else 0.0
    if typical == 0.0:
        raise NoContrastError()
    if params.normalisation == "none":
        return xp.ones_like(peak)
    scale = 1.0 if params.normalisation == "absolute" else typical
    return peak + params.resolved_epsilon * scale


def _median(values: Array) -> float:
    middle = (values.shape[0] - 1) // 2
    if is_numpy(values):
        return float(np.partition(values, middle)[middle])
    # The array-API standard has sort but no median.
    return float(namespace(values).sort(values)[middle])


def box_mean(image: Array, size: int) -> Array:
    """Return the mean over a ``size × size`` window, border replicated.

    Parameters
    ----------
    image : array of shape (H, W)
        Image.
    size : int
        Odd side of the window in pixels; 1 returns the image itself.

    Returns
    -------
    array of shape (H, W)
        Filtered image.
    """
    if size == 1:
        return image
    if engine.accepts(image) and size <= engine.WIDEST_WINDOW:
        return engine.box_mean(image, size)
    if is_numpy(image):
        return ndimage.uniform_filter(image, size, mode="nearest")
    xp = namespace(image)
    means = xp.astype(image, xp.float64)
    for axis in (0, 1):
        means = _window_sum(means, size, axis) / size
    return xp.astype(means, image.dtype)


def _window_sum(image: Array, size: int, axis: int) -> Array:
    """Sum over `size` neighbours along an axis as a difference of cumulative sums."""
    xp = namespace(image)
    first, last = (image[:1, :], image[-1:, :]) if axis == 0 else (image[:, :1], image[:, -1:])
    half = size // 2
    padded = xp.concat([xp.zeros_like(first), *[first] * half, image, *[last] * half], axis=axis)
    sums = xp.cumulative_sum(padded, axis=axis)
    return sums[size:, :] - sums[:-size, :] if axis == 0 else sums[:, size:] - sums[:, :-size]


def gaussian(image: Array, sigma: float) -> Array:
    """Return an ``(H, W)`` or ``(H, W, C)`` image smoothed by a Gaussian of `sigma` pixels."""
    if sigma == 0:
        return image
    sigmas = (sigma, sigma) + (0.0,) * (image.ndim - 2)
    return ndimage.gaussian_filter(np.asarray(image), sigmas, mode="nearest")


def gradient_energy(image: Array) -> Array:
    """Return the squared length of the brightness gradient, summed over the channels.

    Parameters
    ----------
    image : ndarray of shape (H, W) or (H, W, C), floating point
        Frame, smoothed to the scale of interest.

    Returns
    -------
    ndarray of shape (H, W)
        Squared central differences in the squared unit of the image.
    """
    across, down = (
        ndimage.correlate1d(image, [-1.0, 0.0, 1.0], axis=axis, mode="nearest") for axis in (1, 0)
    )
    energy = across * across + down * down
    return energy if energy.ndim == 2 else energy.sum(axis=2)


PLAIN_SHARE = 30.0
"""Percentile of the gradient over the image below which a picture counts as plain."""


def jump_weight(
    gradient: Array,
    strongest: float = 4.0,
    weakest: float = 0.2,
    reference: float | None = None,
) -> Array:
    r"""Return the cost of a depth jump at each pixel, highest where the picture is plain.

    .. math:: w = \max\Bigl(\frac{w_{max}}{1 + |\nabla I|^2 / q^2},\; w_{min}\Bigr),

    q² the 30th percentile of \|∇I\|² over the image: objects end at edges of the picture, so what
    lies in a plain area belongs together. Where texture is everywhere, it hardly matters.

    Parameters
    ----------
    gradient : ndarray of shape (H, W)
        Largest `gradient_energy` over the frames: that of the sharp picture.
    strongest, weakest : float
        w_max and w_min.
    reference : float, optional
        q² of the whole image, if this is a part of it; 0 if all of that is plain.

    Returns
    -------
    ndarray of shape (H, W)
        Weight.
    """
    if reference is None:
        alive = gradient[gradient > 0]
        reference = float(np.percentile(alive, PLAIN_SHARE)) if alive.size else 0.0
    if reference == 0.0:
        return np.full_like(gradient, strongest)
    q2 = gradient.dtype.type(reference)
    return np.maximum(strongest / (1.0 + gradient / q2), weakest).astype(gradient.dtype)


def frame_contrast(
    frame: NDArray[Any],
    scale: float,
    params: RobustParams,
    measure: Callable[[NDArray[Any]], NDArray[Any]],
) -> tuple[Float, Float, Float]:
    """Return fine contrast, coarse contrast and squared brightness gradient of a frame.

    Parameters
    ----------
    frame : ndarray of shape (H, W) or (H, W, C)
        As stored.
    scale : float
        Maps pixel values to [0, 1].
    params : RobustParams
        Blur and support.
    measure : callable
        Function of a focus measure.

    Returns
    -------
    tuple of three ndarrays of shape (H, W), float32
        In the unit of the measure, and in squared units of the image.
    """
    image = frame.astype(np.float32) * np.float32(scale)
    smooth = gaussian(image, params.coarse_blur)
    fine, coarse = (gaussian(measure(picture), params.support) for picture in (image, smooth))
    return fine, coarse, gradient_energy(smooth)
