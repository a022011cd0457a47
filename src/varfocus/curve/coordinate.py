r"""The focus coordinate: the axis on which contrast profiles are symmetric.

A thin lens focused at distance F blurs a point at distance z by σ = κ·\|1/z − 1/F\|, so the
contrast of a pixel, seen over the frames of a camera, is symmetric in 1/F and in nothing else.
A microscope moves in z at constant magnification: there it is symmetric in z. With neither known,
a family of axes that interpolates between the two is tried on the stack itself,

.. math:: x(k) = k \quad\text{or}\quad x(k) = \frac{-1}{k + κ(n-1)}
          \quad\text{or}\quad x(k) = \frac{1}{(n-1-k) + κ(n-1)},

which are frames at equal steps of 1/F, and frames at equal steps of F with the first (last)
frame the nearest, focused at F = κ/(1+κ) of the farthest one.

Depth stays a fractional frame number k everywhere; a coordinate only says where k lies on x.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

KAPPAS = (2.0, 1.0, 0.5, 0.35, 0.25, 0.18, 0.12, 0.09, 0.06)
"""Candidates for κ; beyond them the axis is straight, or no lens is that close."""

ESTIMATED = "estimated κ="
"""Beginning of the name of an axis that was estimated from the stack."""

LABELS_PER_PEAK = 15.0
"""Depth labels per half width of a contrast peak; what 15 frames of Table 1's shapes have."""


@dataclass(frozen=True)
class Coordinate:
    """One focus axis.

    Parameters
    ----------
    name : str
        For people: "frames", "position", "reciprocal" or "estimated κ=…".
    n : int
        Number of frames.
    at : callable
        Maps fractional 0-based frame numbers to x, strictly monotone.
    bend : float, optional
        How unequal the steps of an axis of the family are: half the logarithm of the ratio of the
        first to the last, 0 for `frames`. None for axes that are known.
    """

    name: str
    n: int
    at: Callable[[NDArray[np.float64]], NDArray[np.float64]]
    bend: float | None = None

    @property
    def x(self) -> NDArray[np.float64]:
        """Position of each frame, shape ``(n,)``."""
        return self.at(np.arange(self.n, dtype=np.float64))

    def among(self, numbers: Sequence[int]) -> Coordinate:
        """Return the same axis for some of the frames, counted anew; linear in k between them."""
        m = len(numbers)
        return Coordinate(self.name, m, lambda k: self.at(np.interp(k, np.arange(m), numbers)))


def bent(n: int, bend: float) -> Coordinate:
    """Return the axis of the family whose steps are so unequal, κ rounded to three digits.

    Parameters
    ----------
    n : int
        Number of frames.
    bend : float
        ±log(1 + 1/κ), negative if the last frame is the nearest; 0 for frames at equal steps.
    """
    if bend == 0.0:
        return frames(n)
    return hyperbolic(n, float(f"{1.0 / np.expm1(abs(bend)):.3g}"), mirrored=bend < 0)


def frames(n: int) -> Coordinate:
    """Return x(k) = k: frames at equal steps of blur."""
    return Coordinate("frames", n, lambda k: k, 0.0)


def position(focus: NDArray[np.float64]) -> Coordinate:
    """Return x(k) = z(k), the focus positions themselves, linear between frames."""
    n = len(focus)
    return Coordinate("position", n, lambda k: np.interp(k, np.arange(n), focus))


def reciprocal(focus: NDArray[np.float64]) -> Coordinate:
    """Return x(k) = 1/F(k) for focus distances of one sign, F linear between frames."""
    n = len(focus)
    return Coordinate("reciprocal", n, lambda k: 1.0 / np.interp(k, np.arange(n), focus))


def hyperbolic(n: int, kappa: float, *, mirrored: bool = False) -> Coordinate:
    """Return equal steps of distance with the nearest frame at κ of the range from the lens.

    Parameters
    ----------
    n : int
        Number of frames.
    kappa : float
        κ > 0: distance of the nearest frame in units of the range of distances.
    mirrored : bool
        The last frame, not the first, is the nearest.
    """
    offset = kappa * (n - 1)

    def at(k: NDArray[np.float64]) -> NDArray[Any]:
        return 1.0 / ((n - 1 - k) + offset) if mirrored else -1.0 / (k + offset)

    name = f"{ESTIMATED}{kappa:.3g}{' mirrored' if mirrored else ''}"
    return Coordinate(name, n, at, float(np.log1p(1.0 / kappa)) * (-1.0 if mirrored else 1.0))


def one_sign(focus: NDArray[np.float64]) -> bool:
    """Tell whether focus positions can be distances: none zero, all of one sign."""
    return bool((focus > 0).all() or (focus < 0).all())


def label_count(n: int, peak_width: float = 0.0) -> int:
    """Return the number L of depth labels.

    L = clip(4(n−1) + 1, 41, 129), but no more than `LABELS_PER_PEAK` to the half width of a
    contrast peak: finer ones add no accuracy, and make a slope look like a jump to the
    semi-global search, which allows a step of one label per pixel.

    Parameters
    ----------
    n : int
        Number of frames.
    peak_width : float
        Half width of a peak in frames; by default unknown, which gives the largest number.
    """
    labels = 4.0 * (n - 1)
    if peak_width > 0.0:
        labels = min(labels, LABELS_PER_PEAK * (n - 1) / peak_width)
    return int(np.clip(round(labels) + 1, 41, 129))


def label_frames(n: int, labels: int) -> NDArray[np.float64]:
    """Return the fractional frame number of each label, shape ``(L,)``, evenly spaced."""
    return np.linspace(0.0, n - 1.0, labels)


def by_name(name: str, n: int, focus: NDArray[np.float64] | None) -> Coordinate:
    """Return the axis that a `Coordinate.name` stands for.

    Parameters
    ----------
    name : str
        As found in the record of a run.
    n : int
        Number of frames.
    focus : ndarray of shape (n,) or None
        Focus positions, for "position" and "reciprocal".

    Returns
    -------
    Coordinate
        The axis.

    Examples
    --------
    >>> by_name(hyperbolic(9, 0.5, mirrored=True).name, 9, None).name
    'estimated κ=0.5 mirrored'
    """
    if name.startswith(ESTIMATED):
        kappa, *mirrored = name.removeprefix(ESTIMATED).split()
        return hyperbolic(n, float(kappa), mirrored=bool(mirrored))
    if name == "frames" or focus is None:
        return frames(n)
    return {"position": position, "reciprocal": reciprocal}[name](focus)
