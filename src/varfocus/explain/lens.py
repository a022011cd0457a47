r"""How a lens blurs what is out of focus, learnt from the stack: how widely, and with what rim.

A surface in focus at the coordinate u_l is blurred in frame k by a point spread of radius

.. math:: r(k, l) = c\,|u_k - u_l| \text{ pixels},

u the focus coordinate scaled so that the stack spans [0, 1]. Two point spreads are tried: a
Gaussian (σ = r/2), whose light fades, and a square of the area of the disc of radius r, whose light
ends at once. Disc, hexagon and bubble are told as the latter: what counts is whether there is a
rim, and both are products of two one-dimensional kernels.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from varfocus import engine
from varfocus.curve.coordinate import Coordinate
from varfocus.curve.likelihood import grid
from varfocus.edges.render import convolved
from varfocus.engine import explain as kernels

Float = NDArray[np.float32]
Rim = Literal["soft", "hard"]

RIMS: tuple[Rim, ...] = ("soft", "hard")
"""Gaussian and square."""

RADII = np.concatenate([[0.0, 0.35], np.geomspace(0.6, 26.0, 34)])
"""Radii in pixels at which the picture is blurred; linear between."""

RANGES = np.geomspace(1.5, 40.0, 40)
"""Candidates of c, the radius in pixels of one end of the stack when the other is in focus."""

COARSE = 4
"""Every so many of them are tried first."""

SAMPLES = 10000
"""Pixels among which the reliable ones are used to learn."""

FEWEST = 50
"""Reliable pixels without which nothing is learnt."""

OUTLIER = 0.17
"""A difference of brightness beyond this counts no more than this."""


@dataclass(frozen=True)
class Lens:
    """What a stack teaches about its lens.

    Attributes
    ----------
    rim : {"soft", "hard"}
        Whether blur fades or ends at once.
    radius : float
        c: blur radius in pixels of one end of the stack when the other is in focus.
    """

    rim: Rim
    radius: float


def unit_coordinate(axis: Coordinate, index: NDArray[np.float64] | Float) -> NDArray[np.float64]:
    """Return the focus coordinate u at fractional frames: 0 at the first frame, 1 at the last."""
    x = axis.x
    away = np.abs(axis.at(np.asarray(index, np.float64)) - x[0])
    unit: NDArray[np.float64] = away / abs(x[-1] - x[0])
    return unit


def taps(rim: Rim, radius: float) -> Float:
    """Return the kernel that blurs by a radius in pixels along one axis; its sum is 1.

    Each tap is the share of the point spread that falls on that pixel.
    """
    if rim == "soft":
        sigma = max(0.5 * radius, 1e-3)
        edges = np.arange(int(np.ceil(3.0 * sigma)) + 1) + 0.5
        whole = np.concatenate([-edges[::-1], edges])
        share = np.diff(ndtr(whole / sigma))
    else:
        half = max(0.5 * np.sqrt(np.pi) * radius, 1e-3)
        edges = np.arange(int(np.ceil(half - 0.5)) + 1) + 0.5
        whole = np.concatenate([-edges[::-1], edges])
        share = np.diff(np.clip(whole, -half, half))
    return np.asarray(share / share.sum(), np.float32)


def blurred(
    picture: Float, rim: Rim, radii: NDArray[np.float64], out: Float | None = None
) -> Float:
    """Return a picture ``(H, W)`` blurred by every radius, ``(R, H, W)``, border replicated."""
    if out is None:
        out = np.empty((len(radii), *picture.shape), np.float32)
    for plane, radius in zip(out, radii, strict=True):
        plane[:] = convolved(picture[None], taps(rim, float(radius)))[0]
    return out


def compared(
    measured: Float, pictures: Float, radius: NDArray[np.float64], radii: NDArray[np.float64]
) -> tuple[Float, NDArray[np.int32]]:
    """Return frames less the sharp picture blurred by a radius, and the number of that radius.

    Parameters
    ----------
    measured : ndarray of shape (n, P), float32
        Frames at some pixels.
    pictures : ndarray of shape (R, P), float32
        The picture blurred by each of some radii; linear between them.
    radius : ndarray of shape (n, P)
        In pixels, not negative; beyond the last radius it is that.
    radii : ndarray of shape (R,)
        Growing, from 0.

    Returns
    -------
    tuple of two ndarrays of shape (n, P), float32 and int32
        Differences, and which radius is closest in number.
    """
    if engine.accepts(measured, pictures):
        return kernels.compare(measured, pictures, radius, radii)
    place = np.interp(radius, radii, np.arange(radii.size))
    lower = np.minimum(place.astype(np.intp), radii.size - 2)
    share = (place - lower).astype(np.float32)
    column = np.arange(measured.shape[1])[None]
    low, high = pictures[lower, column], pictures[lower + 1, column]
    off: Float = measured - (low + share * (high - low))
    return off, np.rint(lower + share).astype(np.int32)


def learn_lens(
    frames: Float, index: Float, reliable: NDArray[np.bool_], axis: Coordinate
) -> Lens | None:
    r"""Return the lens that blurs the sharp picture into the frames best.

    .. math:: (h, c) = \arg\min \operatorname{mean}_{p, k}
              \min\bigl(|I_k(p) - (h_{c|u_k - u_{d(p)}|} * A)(p)|,\; t\bigr)

    over the reliable ones of a grid of pixels, A interpolated between the two frames around d; c
    on every fourth candidate first, then around the best, at last on a parabola.

    Parameters
    ----------
    frames : ndarray of shape (n, H, W), float32
        Brightness in [0, 1].
    index : ndarray of shape (H, W), float32
        Depth in frames.
    reliable : ndarray of shape (H, W), bool
        Pixels whose depth can be believed.
    axis : Coordinate
        Focus coordinate.

    Returns
    -------
    Lens or None
        None if there are too few reliable pixels.
    """
    n = len(frames)
    rows, columns = grid(index.shape, SAMPLES)
    chosen = np.zeros(index.shape, bool)
    chosen[rows, columns] = reliable[rows, columns]
    if chosen.sum() < FEWEST:
        return None
    low = np.clip(np.floor(index), 0, n - 2).astype(np.intp)
    share = index - low.astype(np.float32)
    near, far = (np.take_along_axis(frames, (low + i)[None], axis=0)[0] for i in (0, 1))
    picture = near + share * (far - near)
    at = unit_coordinate(axis, index[chosen])
    distance = np.abs(unit_coordinate(axis, np.arange(float(n)))[:, None] - at[None])
    measured = np.ascontiguousarray(frames[:, chosen])
    fits = []
    for rim in RIMS:
        bank = np.ascontiguousarray(blurred(picture, rim, RADII)[:, chosen])

        def misfit(i: int, bank: Float = bank) -> float:
            off, _ = compared(measured, bank, RANGES[i] * distance, RADII)
            return float(np.minimum(np.abs(off), np.float32(OUTLIER)).mean(dtype=np.float64))

        values = {i: misfit(i) for i in range(0, RANGES.size, COARSE)}
        centre = min(values, key=lambda i: values[i])
        around = range(max(centre - COARSE + 1, 0), min(centre + COARSE, RANGES.size))
        values |= {i: misfit(i) for i in around if i not in values}
        best = min(values, key=lambda i: values[i])
        fits.append((values[best], rim, _vertex(values, best)))
    _, rim, radius = min(fits, key=lambda fit: fit[0])
    return Lens(rim, radius)


def _vertex(values: dict[int, float], best: int) -> float:
    """Return c at the vertex of the parabola through the best candidate and its neighbours."""
    offset = 0.0
    if best - 1 in values and best + 1 in values:
        left, centre, right = (values[best + i] for i in (-1, 0, 1))
        bend = left - 2.0 * centre + right
        offset = 0.5 * (left - right) / bend if bend > 0 else 0.0
    return float(RANGES[best] * (RANGES[1] / RANGES[0]) ** offset)
