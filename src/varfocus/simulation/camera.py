"""The camera: focus distances, defocus blur, light, noise, quantisation, compression.

The thin lens gives σ_px = κ|1/z − 1/F| for a point at z in a frame focused at F, with
κ = pitch·f²/N in px·m (pixels per metre on the sensor, focal length, f-number).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from varfocus.errors import ParameterError
from varfocus.ranges import Range, one_of, real, whole
from varfocus.simulation.aperture import Aperture, checked_aperture
from varfocus.simulation.checks import (
    FRAMES,
    NOISE,
    checked_focus,
    checked_seed,
    checked_span,
)
from varfocus.simulation.jpeg import checked_quality, compressed

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
    n = whole("n", n, FRAMES)
    near, far = checked_span(near, far)
    one_of("spacing", spacing, get_args(Spacing))
    if spacing == "distance":
        return np.linspace(near, far, n)
    distances = 1.0 / np.linspace(1.0 / near, 1.0 / far, n)
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
    level = real("noise", level, NOISE)
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
    one_of("dtype", dtype, get_args(PixelType))
    if dtype == "float32":
        return np.asarray(image, dtype=np.float32)
    white = np.iinfo(dtype).max
    counts: NDArray[Any] = np.rint(np.clip(image, 0, 1) * np.float32(white)).astype(dtype)
    return counts


@dataclass(frozen=True)
class Camera:
    """What a photograph goes through: the lens, the sensor, the file.

    In this order: defocus, vignetting, noise, tone curve, rounding, compression. The default is
    Pertuz's camera, which has a Gaussian blur, linear light, and the noise of `add_noise`.

    Parameters
    ----------
    aperture : str
        Shape of the blur: one of `varfocus.simulation.aperture.APERTURES`.
    grain : float
        Standard deviation of the noise at mid-grey, as a share of white. Its variance is 0.2 parts
        electronics and 0.8 parts light, v(I) = grain² (0.2 + 0.8 I/0.5).
    vignetting : float
        Share of the light that is lost in the corners, in [0, 1); it grows with the square of the
        distance from the middle.
    gamma : float
        Pictures are stored as light to the power of 1/gamma; 2.2 is common. Blur, vignetting and
        noise act on light. 1: what is stored is light.
    jpeg : int, optional
        Quality of JPEG compression, 1 to 100; needs frames of 8 bit. None: none.
    """

    aperture: Aperture = "gauss"
    grain: float = 0.0
    vignetting: float = 0.0
    gamma: float = 1.0
    jpeg: int | None = None

    def __post_init__(self) -> None:
        checked_aperture(self.aperture)
        real("grain", self.grain, Range(0.0, 10.0))
        real("gamma", self.gamma, Range(0.01, 100.0))
        real("vignetting", self.vignetting, Range(0.0, 0.999))
        if self.jpeg is not None:
            checked_quality(self.jpeg)

    def light(self, stored: Array) -> Array:
        """Return the light, in [0, 1], of stored pixels in [0, 1]."""
        return stored if self.gamma == 1 else stored ** np.float32(self.gamma)

    def stored(self, light: Array) -> Array:
        """Return stored pixels, in [0, 1], of light in [0, 1]."""
        return light if self.gamma == 1 else np.clip(light, 0, 1) ** np.float32(1 / self.gamma)


PERTUZ = Camera()
"""The camera of Pertuz's simulator."""

DARK_SHARE, MIDDLE = 0.2, 0.5
"""Share of the grain's variance that does not depend on light, and the light of mid-grey."""


def grainy(light: Array, grain: float, rng: np.random.Generator) -> Array:
    """Add noise whose variance grows with the light, v(I) = grain² (0.2 + 0.8 I/0.5)."""
    if grain == 0:
        return light
    variance = DARK_SHARE + (1 - DARK_SHARE) / MIDDLE * np.clip(light, 0, 1)
    deviation = np.float32(grain) * np.sqrt(variance, dtype=np.float32)
    noisy = light + deviation * rng.standard_normal(light.shape, dtype=np.float32)
    result: Array = np.clip(noisy, 0, 1)
    return result


def falloff(shape: tuple[int, ...], vignetting: float) -> Array:
    """Return the share of light that arrives, shape (H, W): 1 in the middle, least at corners."""
    rows, columns = ((2 * np.arange(side) + 1) / side - 1 for side in shape[:2])
    distance2 = (rows[:, None] ** 2 + columns[None, :] ** 2) / 2
    return (1 - vignetting * distance2).astype(np.float32)


def expose(
    clean: Array,
    noise: float,
    seed: int,
    dtype: PixelType = "uint8",
    camera: Camera = PERTUZ,
) -> NDArray[Any]:
    """Return clean frames as the camera stores them.

    Parameters
    ----------
    clean : ndarray of float32, shape (n, H, W) or (n, H, W, 3)
        Light in [0, 1].
    noise : float
        Level q of Pertuz's noise, see `add_noise`; the camera's own grain comes after it.
    seed : int
        The noise depends on it alone, not on the scene.
    dtype : {"uint8", "uint16", "float32"}
        Number type of the frames.
    camera : Camera
        What else happens to them.

    Returns
    -------
    ndarray, shape of `clean`
        With noise, quantised.
    """
    if camera.jpeg is not None and dtype != "uint8":
        raise ParameterError(
            f"jpeg: received {camera.jpeg} for frames of {dtype}",
            "expected frames of 8 bit, uint8",
            "Leave out jpeg or dtype.",
        )
    rng = np.random.default_rng([checked_seed(seed), 0x6E6F697365])
    arriving = falloff(clean.shape[1:], camera.vignetting)
    arriving = arriving if clean.ndim == 3 else arriving[..., None]
    frames = []
    for frame in clean:
        light = frame * arriving if camera.vignetting else frame
        light = grainy(add_noise(light, noise, rng), camera.grain, rng)
        pixels = quantise(camera.stored(light), dtype)
        frames.append(pixels if camera.jpeg is None else compressed(pixels, camera.jpeg))
    return np.stack(frames)
