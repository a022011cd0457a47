"""The camera: focus distances, defocus blur, noise, quantisation.

The thin lens gives σ_px = κ|1/z − 1/F| for a point at z in a frame focused at F, with
κ = pitch·f²/N in px·m (pixels per metre on the sensor, focal length, f-number).
"""

from __future__ import annotations

from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from varfocus.errors import ParameterError
from varfocus.simulation.checks import checked_focus, checked_number, checked_seed

Spacing = Literal["distance", "dioptre"]
PixelType = Literal["uint8", "uint16", "float32"]
Array = NDArray[np.float32]

KAPPA = 1.5e5 * 3e-3**2 / 1.6
"""Pertuz's camera: 0.84375 px·m."""


def focus_distances(
    near: float, far: float, n: int, spacing: Spacing = "distance"
) -> NDArray[np.float64]:
    """Return `n` focus distances from near to far.

    Parameters
    ----------
    near, far : float
        First and last distance in metres, 0 < near < far.
    n : int
        Number of frames, at least 2.
    spacing : {"distance", "dioptre"}
        Even steps of F, or of 1/F as a camera's focus motor makes them.

    Returns
    -------
    ndarray of float64, shape (n,)
        Distances in metres, increasing.
    """
    if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 2:
        raise ParameterError(
            f"n: received {n!r}", "expected a number of frames of at least 2", "Try n=15."
        )
    near = checked_number("near", near, 0.0, strict=True)
    far = checked_number("far", far, near, strict=True)
    if spacing not in get_args(Spacing):
        raise ParameterError(
            f"spacing: received {spacing!r}", f"expected one of {', '.join(get_args(Spacing))}"
        )
    if spacing == "distance":
        return np.linspace(near, far, int(n))
    distances = 1.0 / np.linspace(1.0 / near, 1.0 / far, int(n))
    # 1/(1/x) may differ from x in the last bit; the ends must be exact.
    distances[[0, -1]] = near, far
    return distances


def chosen_focus(
    focus: ArrayLike | None, near: float, far: float, n: int | None, spacing: Spacing
) -> NDArray[np.float64]:
    """Return the given distances, checked, or else `n` (15) of them from near to far."""
    if focus is None:
        return focus_distances(near, far, 15 if n is None else n, spacing)
    distances = checked_focus(focus)
    if n is not None and n != len(distances):
        raise ParameterError(
            f"n: received {n} along with {len(distances)} focus distances",
            "expected one focus distance per frame",
            "Leave out n.",
        )
    return distances


def blur_sigma(depth: ArrayLike, focus: NDArray[np.float64], kappa: float) -> Array:
    """Return the blur σ = κ|1/z − 1/F| in pixels.

    Parameters
    ----------
    depth : array_like of shape (H, W) or (1, 1)
        Distance z in metres.
    focus : ndarray of shape (n,)
        Focus distances F in metres.
    kappa : float
        Camera constant κ in px·m.

    Returns
    -------
    ndarray of float32, shape (n, H, W) or (n, 1, 1)
        Standard deviation of the Gaussian blur in pixels.
    """
    z = np.asarray(depth, dtype=np.float64)
    sigma = kappa * np.abs(1.0 / z - 1.0 / focus[:, None, None])
    return sigma.astype(np.float32)


def noise_power(level: float) -> float:
    """Return p = (0.00722 (q − 0.1) + 0.0005)/255 for the noise level q.

    The law crosses zero at q ≈ 0.031; below that, and for q = 0, there is no noise.
    """
    level = checked_number("noise", level, 0.0)
    return max((0.00722 * (level - 0.1) + 0.0005) / 255, 0.0)


def add_noise(image: Array, level: float, rng: np.random.Generator) -> Array:
    """Add the noise of Pertuz's camera.

    First N(0, √p·I), the shot noise of a pixel of brightness I, then N(0, p), that of the
    electronics; second arguments are *variances*, and the result is clipped to [0, 1] each time.

    Parameters
    ----------
    image : ndarray of float32, any shape
        Brightness in [0, 1].
    level : float
        Noise level q ≥ 0.
    rng : numpy.random.Generator
        Where the noise comes from.

    Returns
    -------
    ndarray of float32, shape of `image`
        The noisy image in [0, 1].

    References
    ----------
    Pertuz, Puig, Garcia: Analysis of focus measure operators for shape-from-focus, Pattern
    Recognition 46, 2013. That the arguments are variances was found by measurement: with them
    9×9 MLAP has the errors of Moeller et al., Table 1; read as deviations, a third of them.
    """
    power = noise_power(level)
    clean: Array = np.clip(image, 0, 1, dtype=np.float32)
    if power == 0:
        return clean
    shot = np.sqrt(np.sqrt(np.float32(power)) * clean)
    noisy = clean + shot * rng.standard_normal(clean.shape, dtype=np.float32)
    noisy = np.clip(noisy, 0, 1)
    noisy += np.float32(np.sqrt(power)) * rng.standard_normal(clean.shape, dtype=np.float32)
    result: Array = np.clip(noisy, 0, 1)
    return result


def quantise(image: Array, dtype: PixelType = "uint8") -> NDArray[Any]:
    """Return [0, 1] brightness as 8-bit or 16-bit integers, rounded, or float32 as it is."""
    if dtype not in get_args(PixelType):
        raise ParameterError(
            f"dtype: received {dtype!r}", f"expected one of {', '.join(get_args(PixelType))}"
        )
    if dtype == "float32":
        return np.asarray(image, dtype=np.float32)
    white = np.iinfo(dtype).max
    counts: NDArray[Any] = np.rint(np.clip(image, 0, 1) * np.float32(white)).astype(dtype)
    return counts


def expose(clean: Array, noise: float, seed: int, dtype: PixelType = "uint8") -> NDArray[Any]:
    """Return clean frames, shape (n, ...), as the camera stores them: with noise, quantised.

    The noise depends on the seed alone, not on the scene.
    """
    rng = np.random.default_rng([checked_seed(seed), 0x6E6F697365])
    return np.stack([quantise(add_noise(frame, noise, rng), dtype) for frame in clean])
