"""The lens's aperture: the shape that a point out of focus is spread to.

Every shape has the same standard deviation σ along both axes, so that "blur" means the same with
each: with ρ = |(x, y)| and lengths in units of σ,

| name | light of a point | |
|---|---|---|
| gauss | exp(−ρ²/2) | what Pertuz's simulator assumes; no rim |
| disc | 1 for ρ ≤ 2 | a lens wide open |
| square | 1 for max(|x|, |y|) ≤ √3 | views averaged over a square, as in light fields |
| hexagon | 1 inside a circumscribed radius of √4.8 | six blades, stopped down |
| bubble | 1 + 2 (ρ/R)⁶ for ρ ≤ R = 1/√0.3 | spherical aberration: a rim thrice as bright |
| cats-eye | a disc cut by another, towards the corners | the barrel of the lens is in the way |

A real lens turns the shape upside down on the other side of focus; all of these look the same then.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal, TypeAlias, get_args

import numpy as np
import scipy.fft
from numpy.typing import NDArray

from varfocus.errors import ParameterError

Aperture: TypeAlias = Literal["gauss", "disc", "square", "hexagon", "bubble", "cats-eye"]
APERTURES: tuple[Aperture, ...] = get_args(Aperture)

Array = NDArray[np.float32]

REACH: dict[Aperture, float] = {
    "gauss": 4.0,
    "disc": 2.0,
    "square": np.sqrt(3.0),
    "hexagon": np.sqrt(4.8),
    "bubble": 1 / np.sqrt(0.3),
    "cats-eye": 2.0,
}
"""Farthest light from the middle along an axis, in units of σ."""

CUT = 0.7
"""How far, in radii, the two discs of the cat's eye lie apart at the corners of the picture."""

CELLS = 4
"""The cat's eye is computed at the corners of CELLS × CELLS parts of the picture."""

_FINE = 9
"""Points per pixel, along each axis, at which a shape is sampled."""


def checked_aperture(aperture: str) -> Aperture:
    """Return the name of an aperture, or raise `ParameterError`."""
    for name in APERTURES:
        if aperture == name:
            return name
    raise ParameterError(
        f"aperture: received {aperture!r}", f"expected one of {', '.join(APERTURES)}"
    )


def point_spread(
    aperture: Aperture, sigma: float, field: tuple[float, float] = (0.0, 0.0)
) -> Array:
    """Return the image of a point.

    Parameters
    ----------
    aperture : str
        One of `APERTURES`.
    sigma : float
        Standard deviation in pixels; 0 for a point in focus.
    field : (float, float)
        Where the point lies in the picture: row and column from −1 to 1, 0 in the middle. Only the
        cat's eye depends on it.

    Returns
    -------
    ndarray of float32, shape (2m + 1, 2m + 1)
        Light per pixel; the sum is 1.
    """
    if sigma <= 0:
        return np.ones((1, 1), np.float32)
    m = max(int(np.ceil(REACH[aperture] * sigma - 0.5)), 0)
    count = (2 * m + 1) * _FINE  # odd, so that the points are the same on either side of 0
    points = (np.arange(count) - count // 2) / (_FINE * sigma)
    light = _light(aperture, points[:, None], points[None, :], field)
    sums = light.reshape(2 * m + 1, _FINE, 2 * m + 1, _FINE).sum(axis=(1, 3))
    if sums.sum() == 0:  # a shape finer than the points: all of it in the middle
        return np.ones((1, 1), np.float32)
    kernel: Array = (sums / sums.sum()).astype(np.float32)
    return kernel


def _light(
    aperture: Aperture,
    y: NDArray[np.float64],
    x: NDArray[np.float64],
    field: tuple[float, float],
) -> NDArray[np.float64]:
    """Return the light at points (y, x) in units of σ, up to a factor."""
    rho2 = y**2 + x**2
    radius = REACH[aperture]
    match aperture:
        case "gauss":
            return np.asarray(np.exp(-0.5 * rho2))
        case "square":
            return (np.maximum(np.abs(y), np.abs(x)) <= radius).astype(np.float64)
        case "hexagon":
            turns = np.deg2rad([30.0, 90.0, 150.0])
            across = [np.abs(x * np.cos(t) + y * np.sin(t)) for t in turns]
            inside = np.max(across, axis=0) <= radius * np.cos(np.pi / 6)
            return np.asarray(inside, dtype=np.float64)
        case "bubble":
            return np.asarray(np.where(rho2 <= radius**2, 1 + 2 * (rho2 / radius**2) ** 3, 0.0))
        case _:
            off = 0.5 * CUT * radius * np.array(field) / np.sqrt(2.0)
            if aperture == "disc":
                off = np.zeros(2)
            one = (y - off[0]) ** 2 + (x - off[1]) ** 2 <= radius**2
            other = (y + off[0]) ** 2 + (x + off[1]) ** 2 <= radius**2
            return np.asarray(one & other, dtype=np.float64)


def spread(image: Array, sigmas: Sequence[float], aperture: Aperture) -> Iterator[Array]:
    """Blur a picture with every σ of a list, mirrored at its border.

    Parameters
    ----------
    image : ndarray of float32, shape (H, W) or (H, W, C)
        The whole picture: the cat's eye depends on the place in it.
    sigmas : sequence of float
        Standard deviations in pixels.
    aperture : str
        One of `APERTURES`.

    Yields
    ------
    ndarray of float32, shape of `image`
        h * image for each σ; the image itself for σ = 0.
    """
    planes = image[..., None] if image.ndim == 2 else image
    blurred = _blended if aperture == "cats-eye" else _filtered
    for result in blurred(planes.astype(np.float32), sigmas, aperture):
        yield result.reshape(image.shape)


def _filtered(
    planes: Array,
    sigmas: Sequence[float],
    aperture: Aperture,
    field: tuple[float, float] = (0.0, 0.0),
) -> Iterator[Array]:
    """Convolve planes (H, W, C) by way of one Fourier transform for all σ."""
    kernels = [point_spread(aperture, sigma, field) for sigma in sigmas]
    m = max(len(kernel) for kernel in kernels) // 2
    height, width = planes.shape[:2]
    size = [scipy.fft.next_fast_len(side + 2 * m, real=True) for side in (height, width)]
    padded = np.pad(planes.transpose(2, 0, 1), [(0, 0), (m, m), (m, m)], mode="symmetric")
    spectrum = scipy.fft.rfft2(padded, size) if m else None
    for kernel in kernels:
        if kernel.size == 1:
            yield planes.copy()
            continue
        product = spectrum * scipy.fft.rfft2(kernel, size)
        whole = scipy.fft.irfft2(product, size)
        start = m + len(kernel) // 2  # the middle of the kernel is not at its first pixel
        part = whole[:, start : start + height, start : start + width]
        yield np.ascontiguousarray(part.transpose(1, 2, 0), dtype=np.float32)


def _blended(planes: Array, sigmas: Sequence[float], aperture: Aperture) -> Iterator[Array]:
    """Blur with kernels at the corners of cells, interpolated linearly between them."""
    results = np.zeros((len(sigmas), *planes.shape), np.float32)
    reach = int(np.ceil(REACH[aperture] * max(sigmas))) + 1
    for v in range(CELLS + 1):
        rows, up = _hat(v, planes.shape[0])
        for u in range(CELLS + 1):
            columns, across = _hat(u, planes.shape[1])
            if not len(up) or not len(across):
                continue
            part, inner = _grown(planes, rows, columns, reach)
            weight = np.outer(up, across).astype(np.float32)[..., None]
            field = (2 * v / CELLS - 1, 2 * u / CELLS - 1)
            for result, blurred in zip(
                results, _filtered(part, sigmas, aperture, field), strict=True
            ):
                result[rows, columns] += weight * blurred[inner]
    for sigma, result in zip(sigmas, results, strict=True):
        yield result if sigma > 0 else planes.copy()


def _hat(node: int, length: int) -> tuple[slice, NDArray[np.float64]]:
    """Return the pixels on which a corner has weight, and that weight; all weights sum to 1."""
    position = (np.arange(length) + 0.5) / length * CELLS
    weight = np.maximum(1 - np.abs(position - node), 0)
    inside = np.flatnonzero(weight)
    if len(inside) == 0:
        return slice(0, 0), weight[:0]
    span = slice(int(inside[0]), int(inside[-1]) + 1)
    return span, weight[span]


def _grown(
    image: Array, rows: slice, columns: slice, reach: int
) -> tuple[Array, tuple[slice, slice]]:
    """Return a part with what lies around it, and where in that it is."""
    grown, inner = [], []
    for span, length in zip((rows, columns), image.shape[:2], strict=True):
        low, high = max(span.start - reach, 0), min(span.stop + reach, length)
        grown.append(slice(low, high))
        inner.append(slice(span.start - low, span.stop - low))
    return image[grown[0], grown[1]], (inner[0], inner[1])
