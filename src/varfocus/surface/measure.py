r"""Measuring a height map: levelling, profiles, step heights, ISO 25178-2 height parameters.

Everything is NaN-aware: unknown pixels are left out.

**Uncertainty.** A quantity q of the heights z_i is given the standard error

.. math:: u(q) = \sqrt{A \sum_i (∂q/∂z_i)^2 σ_i^2},

σ_i the standard error of the height of each pixel. Errors of neighbours are not independent: depth
is estimated from windows and smoothed. A is the correlation area in pixels, the number of pixels
that err together. This holds where q depends on many pixels that each matter little. Errors that
all pixels share (a wrong frame distance, a tilted stage) are not in it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from varfocus.arrays import unmasked
from varfocus.errors import InputError, ParameterError
from varfocus.geometry import Rectangle
from varfocus.ranges import Range, real, whole
from varfocus.text import shown
from varfocus.units import METRES, PixelSize

Map = NDArray[np.float64]

CORRELATION_AREA = 150.0
"""Pixels that err together where nothing is known about the stack: n times the variance of the mean
over n pixels, over that of one pixel."""

AREA_OF_A_NAT = 630.0
"""The same at a well of one nat in an image of 320×320 pixels, for method robust; fitted by
benchmarks/fit_uncertainty.py."""

AREA_SIDE = 320.0

FIT_PIXELS = 200_000
"""A polynomial is fitted to no more pixels than this, spread evenly."""

TUKEY = 4.685
"""Residuals beyond this many standard deviations have no weight (95 % efficient on noise)."""

FIT_ROUNDS = 30


def expected_area(shape: tuple[int, int], well: float | None) -> float:
    r"""Return how many pixels err together in a result of method robust.

    .. math:: A = A_1 \frac{\sqrt{HW}}{320} \frac1W.

    Where the cost bends by c and the regulariser weighs slopes by β, an error spreads over
    4πβ/c pixels. β grows with the side of the image, and c, in nats, with the depth W of wells.

    Parameters
    ----------
    shape : (int, int)
        H and W of the map.
    well : float or None
        W in nats, `well_nats` of the findings in run.json; None if the method has none.

    Returns
    -------
    float
        A in pixels.
    """
    if well is None:
        return CORRELATION_AREA
    side = float(np.sqrt(shape[0] * shape[1]))
    return AREA_OF_A_NAT * side / AREA_SIDE / max(well, 0.1)


class Quantity(NamedTuple):
    """A number and its standard error, None where unknown."""

    value: float
    error: float | None

    def words(self, unit: str = "") -> str:
        """Return the value with its error and unit, for people."""
        error = "" if self.error is None else f" ± {self.error:.2g}"
        return f"{self.value:.4g}{error} {unit}".rstrip()


Region = Rectangle
"""What is measured: left, top, width and height in pixels."""


@dataclass(frozen=True)
class Profile:
    """Heights along a line.

    Attributes
    ----------
    x, y : ndarray of shape (n,)
        Places in pixels; the centre of the first pixel is (0, 0).
    height : ndarray of shape (n,)
        In the unit of the map; NaN where nothing around is known.
    error : ndarray of shape (n,) or None
        Standard error of `height`.
    """

    x: Map
    y: Map
    height: Map
    error: Map | None


@dataclass(frozen=True)
class Step:
    """The height of one region above another.

    Attributes
    ----------
    height : Quantity
        Mean height of the second region above the first, at equal tilt.
    tilt : tuple of float
        Common slope per column, and per row, that was removed.
    pixels : tuple of int
        Known pixels of each region.
    """

    height: Quantity
    tilt: tuple[float, float]
    pixels: tuple[int, int]


def level(height: NDArray[np.floating], degree: int) -> Map:
    r"""Return the height less a robust polynomial of its own.

    The polynomial Σ c_pq x^p y^q, p + q ≤ degree, minimises Tukey's biweight of the residuals by
    iteratively reweighted least squares, so dust and holes do not tilt it: 0 subtracts a constant,
    1 a plane, 2 a paraboloid.

    Parameters
    ----------
    height : ndarray of shape (H, W)
        NaN where unknown.
    degree : int
        At least 0.

    Returns
    -------
    ndarray of shape (H, W), float64
        Residuals; NaN where the height is.
    """
    degree = whole("level", degree, Range(0, 20))
    height = _checked_map(height)
    known = np.flatnonzero(np.isfinite(height))
    terms = (degree + 1) * (degree + 2) // 2
    if known.size < max(terms, 3):
        raise _too_few(known.size, max(terms, 3))
    sample = known[:: -(-known.size // FIT_PIXELS)]
    z = height.ravel()[sample].astype(np.float64)
    coefficients = robust_fit(_monomials(sample, height.shape, degree), z)
    levelled = np.full(height.size, np.nan)
    for first in range(0, known.size, FIT_PIXELS):  # all terms of all pixels would need much memory
        part = known[first : first + FIT_PIXELS]
        form = _monomials(part, height.shape, degree) @ coefficients
        levelled[part] = height.ravel()[part] - form
    levelled[np.abs(levelled) < 1e-12 * np.abs(z).max()] = 0.0  # rounding is not roughness
    return levelled.reshape(height.shape)


def _checked_map(height: NDArray[np.floating]) -> NDArray[np.floating]:
    """Return a map of heights, or raise `ParameterError`."""
    found = np.asarray(unmasked(height))
    if found.ndim != 2 or not found.size or found.dtype.kind not in "fiu":
        raise ParameterError(
            f"received heights of {shown(height)}", "expected one real number per pixel, (H, W)"
        )
    return found


def _checked_place(what: str, place: object, height: NDArray[Any]) -> tuple[float, float]:
    """Return x and y of a place in a map, or raise `ParameterError`."""
    rows, columns = height.shape
    bounds = Range(0.0, columns - 1.0), Range(0.0, rows - 1.0)
    try:
        x, y = (real("place", n, within) for n, within in zip(place, bounds, strict=True))  # type: ignore[call-overload]
    except (TypeError, ValueError) as error:  # which `ParameterError` is
        raise ParameterError(
            f"received {what} {shown(place)}",
            f"expected places from (0, 0) to ({columns - 1}, {rows - 1})",
        ) from error
    return x, y


def level_by_points(
    height: NDArray[np.floating], points: Sequence[tuple[float, float]], reach: int = 2
) -> Map:
    """Return the height less the plane through three points.

    Parameters
    ----------
    height : ndarray of shape (H, W)
        NaN where unknown.
    points : sequence of three (float, float)
        x, y in pixels; the centre of the first pixel is (0, 0).
    reach : int
        The height at a point is the median of what is known up to this many pixels around it.

    Returns
    -------
    ndarray of shape (H, W), float64
        Height above the plane; NaN where the height is.
    """
    height = _checked_map(height)
    if len(points) != 3:
        raise ParameterError(f"received {len(points)} points", "expected three")
    heights = []
    for x, y in (_checked_place("a point at", point, height) for point in points):
        i, j = round(y), round(x)
        part = height[max(i - reach, 0) : i + reach + 1, max(j - reach, 0) : j + reach + 1]
        known = part[np.isfinite(part)]
        if not known.size:
            raise InputError(
                f"nothing is known around ({x:g}, {y:g})", "expected points of known height"
            )
        heights.append(float(np.median(known)))
    (x_0, y_0), *others = points
    sides = np.array([[x - x_0, y - y_0] for x, y in others])
    if abs(np.linalg.det(sides)) < 1.0:
        raise ParameterError(
            "received three points on one line", "expected the corners of a triangle"
        )
    a, b = np.linalg.solve(sides, np.array(heights[1:]) - heights[0])
    rows, columns = height.shape
    along, down = np.arange(columns) - x_0, np.arange(rows)[:, None] - y_0
    plane: Map = heights[0] + a * along + b * down
    return height - plane


def _monomials(pixels: NDArray[np.intp], shape: tuple[int, ...], degree: int) -> Map:
    """Return x^p y^q of these pixels, one column each, x and y in [−1, 1]."""
    rows, columns = shape
    y, x = np.divmod(pixels, columns)
    u = 2.0 * x / max(columns - 1, 1) - 1.0
    v = 2.0 * y / max(rows - 1, 1) - 1.0
    return np.stack([u**p * v**q for p in range(degree + 1) for q in range(degree + 1 - p)], axis=1)


def robust_fit(terms: Map, z: Map) -> NDArray[np.floating[Any]]:
    """Return coefficients c that minimise Tukey's biweight of z − terms c, by reweighting.

    Parameters
    ----------
    terms : ndarray of shape (n, m)
        One row per sample.
    z : ndarray of shape (n,)
        Samples; outliers among them have no weight.
    """
    coefficients: NDArray[np.floating[Any]] = np.linalg.lstsq(terms, z, rcond=None)[0]
    for _ in range(FIT_ROUNDS):
        residual = z - terms @ coefficients
        scale = 1.4826 * float(np.median(np.abs(residual - np.median(residual))))
        if scale <= 1e-12 * max(float(np.abs(z).max()), 1e-300):
            break  # a perfect fit
        weight = np.clip(1.0 - (residual / (TUKEY * scale)) ** 2, 0.0, None) ** 2
        root = np.sqrt(weight)[:, None]
        new = np.linalg.lstsq(terms * root, z * root[:, 0], rcond=None)[0]
        done = np.abs(new - coefficients).max() <= 1e-9 * np.abs(new).max()
        coefficients = new
        if done:
            break
    return coefficients


def height_parameters(
    height: NDArray[np.floating],
    sigma: NDArray[np.floating] | None = None,
    correlation_area: float = CORRELATION_AREA,
) -> Mapping[str, Quantity]:
    r"""Return the height parameters of ISO 25178-2 of a levelled surface.

    With z the height less its mean over the N known pixels:

    .. math::

        Sa = \tfrac1N \sum |z|, \quad Sq = \sqrt{\tfrac1N \sum z^2}, \quad
        Ssk = \frac{\sum z^3}{N\,Sq^3}, \quad Sku = \frac{\sum z^4}{N\,Sq^4},

    Sp the highest peak, Sv the depth of the deepest valley, Sz = Sp + Sv. Noise of variance σ² adds
    σ² to Sq²; it is not subtracted.

    Parameters
    ----------
    height : ndarray of shape (H, W)
        Levelled; NaN where unknown.
    sigma : ndarray of shape (H, W), optional
        Standard error of each height.
    correlation_area : float
        A in pixels.

    Returns
    -------
    dict of str to Quantity
        Sa, Sq, Sz, Sp, Sv in the unit of `height`; Ssk and Sku are numbers.
    """
    known = np.isfinite(height)
    if sigma is not None:
        known &= np.isfinite(sigma)
    if known.sum() < 3:
        raise _too_few(int(known.sum()), 3)
    z = height[known].astype(np.float64)
    z -= z.mean()
    N = z.size
    error = None if sigma is None else sigma[known].astype(np.float64)
    m2, m3, m4 = (float(np.mean(z**k)) for k in (2, 3, 4))
    Sq = float(np.sqrt(m2))
    flat = Sq <= 1e-12 * float(np.abs(height[known]).max() or 1.0)
    Ssk, Sku = (np.nan, np.nan) if flat else (m3 / Sq**3, m4 / m2**2)
    # ∂q/∂z_i; the mean that was subtracted depends on z_i as well.
    slopes = {"Sa": (np.sign(z) - np.sign(z).mean()) / N}
    if not flat:
        slopes["Sq"] = z / (N * Sq)
        slopes["Ssk"] = 3.0 * (z**2 - m2 - Ssk * Sq * z) / (N * Sq**3)
        slopes["Sku"] = 4.0 * (z**3 - m3 - Sku * m2 * z) / (N * m2**2)
    values = {
        "Sa": float(np.abs(z).mean()),
        "Sq": Sq,
        "Sz": float(np.ptp(z)),
        "Sp": float(z.max()),
        "Sv": float(-z.min()),
        "Ssk": Ssk,
        "Sku": Sku,
    }
    found = {}
    for name, value in values.items():
        spread = None
        if error is not None and name in slopes:
            spread = float(np.sqrt(correlation_area * np.sum((slopes[name] * error) ** 2)))
        elif error is not None and name in ("Sz", "Sp", "Sv"):
            top, bottom = error[z.argmax()], error[z.argmin()]  # one pixel decides
            spread = float({"Sz": np.hypot(top, bottom), "Sp": top, "Sv": bottom}[name])
        found[name] = Quantity(value, spread)
    return found


def profile(
    height: NDArray[np.floating],
    start: tuple[float, float],
    end: tuple[float, float],
    *,
    width: int = 1,
    sigma: NDArray[np.floating] | None = None,
    correlation_area: float = CORRELATION_AREA,
) -> Profile:
    """Return the height along a line, about one sample per pixel, interpolated bilinearly.

    Unknown pixels are left out of the interpolation, and of the mean across the line.

    Parameters
    ----------
    height : ndarray of shape (H, W)
        NaN where unknown.
    start, end : tuple of float
        (x, y) in pixels; the centre of the first pixel is (0, 0).
    width : int
        Lines a pixel apart, across the line and centred on it, that are averaged.
    sigma : ndarray of shape (H, W), optional
        Standard error of each height.
    correlation_area : float
        Pixels that err together; a mean over fewer is no more certain than one of them.

    Returns
    -------
    Profile
        From start to end.
    """
    height = _checked_map(height)
    start, end = (_checked_place("a line through", place, height) for place in (start, end))
    width = whole("width", width, Range(1, sum(height.shape)))
    delta = np.subtract(end, start)
    length = float(np.hypot(*delta))
    if length == 0.0:
        raise ParameterError(
            f"received a line from ({start[0]:g}, {start[1]:g}) to itself",
            "expected two different places",
        )
    share = np.linspace(0.0, 1.0, max(round(length), 1) + 1)
    x, y = start[0] + share * delta[0], start[1] + share * delta[1]
    across = np.arange(width) - 0.5 * (width - 1)
    normal = np.array([-delta[1], delta[0]]) / length
    places = (y + across[:, None] * normal[1], x + across[:, None] * normal[0])
    known = np.isfinite(height)
    weight = _bilinear(known.astype(np.float64), places)
    total = weight.sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = _bilinear(np.where(known, height, 0.0), places).sum(axis=0) / total
        error = None
        if sigma is not None:
            variance = np.where(known & np.isfinite(sigma), sigma, 0.0) ** 2
            spread = np.sqrt(_bilinear(variance, places).sum(axis=0) / total)
            # Across the line, errors are alike over the side of the correlation area.
            error = spread * np.sqrt(np.clip(np.sqrt(correlation_area) / total, None, 1.0))
            error = np.where(total > 0.0, error, np.nan)
    return Profile(x, y, np.where(total > 0.0, mean, np.nan), error)


def distance_along(along: Profile, pixel_size: PixelSize | None, unit: str) -> tuple[Map, str]:
    """Return how far each sample of a profile is from the first.

    Parameters
    ----------
    along : Profile
        Places in pixels.
    pixel_size : PixelSize or None
        Size of a pixel in the scene.
    unit : str
        Unit of the heights, in which distances are given too where both are lengths.

    Returns
    -------
    tuple of ndarray of shape (n,) and str
        Distances and their unit; "pixels" where the size of a pixel is unknown.
    """
    x, y = along.x - along.x[0], along.y - along.y[0]
    if pixel_size is None:
        return np.hypot(x, y), "pixels"
    size = pixel_size.to(unit) if unit in METRES else pixel_size
    return np.hypot(x * size.x, y * size.y), size.unit


def _bilinear(image: Map, places: tuple[Map, Map]) -> Map:
    value: Map = ndimage.map_coordinates(image, places, order=1, mode="constant", cval=0.0)
    return value


def step_height(
    height: NDArray[np.floating],
    first: Region,
    second: Region,
    *,
    sigma: NDArray[np.floating] | None = None,
    correlation_area: float = CORRELATION_AREA,
) -> Step:
    r"""Return the height of the second region above the first.

    As ISO 5436-1 does for grooves, two parallel planes are fitted at once:
    z = a x + b y + c₁ on the first region, a x + b y + c₂ on the second, by least squares; the
    step is c₂ − c₁. So a tilt of the whole surface has no effect. The means of the regions carry
    the error √(A/N) σ each, and the common tilt, over the distance of the regions, its own.

    Parameters
    ----------
    height : ndarray of shape (H, W)
        NaN where unknown; need not be levelled.
    first, second : Region
        Rectangles that do not overlap.
    sigma : ndarray of shape (H, W), optional
        Standard error of each height.
    correlation_area : float
        A in pixels.

    Returns
    -------
    Step
        With error.
    """
    pixels = [_inside(height, region) for region in (first, second)]
    if np.intersect1d(pixels[0], pixels[1]).size:
        raise ParameterError(
            f"received the regions {tuple(first)} and {tuple(second)}",
            "expected regions that do not overlap",
        )
    both = np.concatenate(pixels)
    y, x = np.divmod(both, height.shape[1])
    second_one = np.repeat([0.0, 1.0], [p.size for p in pixels])
    terms = np.stack([second_one, np.ones(both.size), x - x.mean(), y - y.mean()], axis=1)
    # Regions of one row or column say nothing about the tilt across: pinv then takes none out.
    solve = np.linalg.pinv(terms)
    answer = solve @ height.ravel()[both].astype(np.float64)
    error = None
    if sigma is not None:
        spread = np.nan_to_num(sigma.ravel()[both].astype(np.float64))
        error = float(np.sqrt(correlation_area * np.sum((solve[0] * spread) ** 2)))
    return Step(
        Quantity(float(answer[0]), error),
        (float(answer[2]), float(answer[3])),
        (pixels[0].size, pixels[1].size),
    )


def _inside(height: NDArray[np.floating], region: Region) -> NDArray[np.intp]:
    """Return the flat numbers of the known pixels in a region."""
    if not region.lies_in(height.shape):
        raise ParameterError(
            f"received the region {region}",
            f"expected x,y,width,height inside {height.shape[1]} × {height.shape[0]} pixels",
        )
    number = np.arange(height.size).reshape(height.shape)[region.window].ravel()
    known: NDArray[np.intp] = number[np.isfinite(height.ravel()[number])]
    if known.size < 3:
        raise _too_few(int(known.size), 3)
    return known


def _too_few(found: int, needed: int) -> InputError:
    return InputError(
        f"received {found} pixels of known height",
        f"expected at least {needed}",
        "Choose another region, or lower --min-confidence.",
    )
