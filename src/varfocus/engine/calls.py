"""Calls of the kernels, one for each definition of the same name in array code.

Outputs are allocated here, and arrays that are only read are made contiguous; everything else is
checked by the kernels themselves (`varfocus.engine.extension`). Results agree with the array code
to float precision, whatever the number of threads.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from varfocus.engine.extension import kernels
from varfocus.engine.threads import thread_count

Float = NDArray[np.float32]

# What is only read may lie anywhere in memory.
_read = np.ascontiguousarray


def box_mean(image: Float, size: int) -> Float:
    """Return the mean over a ``size × size`` window: `varfocus.contrast.box_mean`."""
    out = np.empty(image.shape, np.float32)
    kernels.box_mean(_read(image), out, size, thread_count())
    return out


def halve(planes: Float) -> Float:
    """Return means over 2×2 pixels: `varfocus.minimise.primal_dual.halve`."""
    m, height, width = planes.shape
    out = np.empty((m, (height + 1) // 2, (width + 1) // 2), np.float32)
    kernels.halve(_read(planes), out, thread_count())
    return out


def reduce(image: Float) -> Float:
    """Return an image (H, W, C) at half its size: `varfocus.fuse.pyramid.reduce`."""
    height, width, channels = image.shape
    out = np.empty(((height + 1) // 2, (width + 1) // 2, channels), np.float32)
    kernels.reduce(_read(image), out, thread_count())
    return out


def add_expanded(fine: Float, coarse: Float, sign: float) -> None:
    """Add a coarse image to a fine one in place: `varfocus.fuse.pyramid.add_expanded`."""
    kernels.add_expanded(_read(coarse), fine, sign, thread_count())


def fusion_level(
    coefficients: Float,
    weight: Float,
    number: int,
    doubt: float,
    suggested: tuple[NDArray[np.uint16], NDArray[np.uint16]],
    kept: tuple[Float, Float, Float, Float],
    chosen: NDArray[np.uint16],
) -> None:
    """Take in one frame's coefficients in place: `varfocus.fuse.Level.add`.

    Parameters
    ----------
    coefficients, weight : ndarray of shape (h, w, C) and (h, w), float32
        Of frame `number`.
    number : int
        0-based frame number.
    doubt : float
        1/ρ of frames that are not suggested.
    suggested : two ndarrays of shape (h, w), uint16
        First and last frame that are.
    kept : four ndarrays of float32
        Blended and sharpest coefficients (h, w, C), best and least energy (h, w); overwritten.
    chosen : ndarray of shape (h, w), uint16
        Frame of the sharpest coefficients; overwritten.
    """
    kernels.fusion_level(
        _read(coefficients),
        _read(weight),
        number,
        doubt,
        *suggested,
        *kept,
        chosen,
        thread_count(),
    )


def energy_terms(a: Float, d: Float) -> tuple[float, float]:
    """Return −Σ c(d) and ‖Kd‖₂,₁: the two parts of `varfocus.energy.energy`."""
    return kernels.energy_terms(_read(a), _read(d), thread_count())


def slope(a: Float, d: Float) -> Float:
    """Return c′(d): `varfocus.curve.evaluate` of `varfocus.curve.derivative`."""
    out = np.empty(d.shape, np.float32)
    kernels.slope(_read(a), _read(d), out, thread_count())
    return out


def margin(a: Float, basis: Float, rival_distance: float, index: Float) -> Float:
    """Return the lead of the chosen depth: `varfocus.depth.curve_margin`.

    Parameters
    ----------
    a : ndarray of shape (degree + 1, H, W), float32
        Coefficients of the windowed curves.
    basis : ndarray of shape (n, degree + 1), float32
        Chebyshev polynomials at the frames, at least two.
    rival_distance : float
        In frames.
    index : ndarray of shape (H, W), float32
        The chosen depth in frames.

    Returns
    -------
    ndarray of shape (H, W), float32
        In [−1, 1].
    """
    out = np.empty(index.shape, np.float32)
    kernels.margin(_read(a), _read(basis), rival_distance, _read(index), out, thread_count())
    return out


def primal_dual(
    a: Float, d: Float, p: Float, *, alpha: float, sigma: float, iterations: int
) -> None:
    """Run primal-dual iterations on `d` and `p` in place: `minimise.primal_dual.iterate`.

    Parameters
    ----------
    a : ndarray of shape (degree + 1, H, W), float32
        Coefficients of the contrast curves.
    d : ndarray of shape (H, W), float32, contiguous
        Depth, overwritten.
    p : ndarray of shape (2, H, W), float32, contiguous
        Dual variable, overwritten; zero in the last column of p[0] and the last row of p[1].
    alpha, sigma : float
        Weight of the total variation and dual step size, both positive.
    iterations : int
        How many.
    """
    kernels.primal_dual(_read(a), d, p, alpha, sigma, iterations, thread_count())


def best_match(templates: Float, v: Float, even: int = 0) -> tuple[Float, NDArray[np.int32]]:
    """Return the largest product of each curve and its number: `curve.templates.best_match`.

    Parameters
    ----------
    templates : ndarray of shape (W, L, n), float32
        Templates.
    v : ndarray of shape (n, P), float32
        Curves.
    even : int
        If not 0: both are folded (`varfocus.curve.templates.folded`), and this many of their n
        numbers are those of the even halves.

    Returns
    -------
    best, number : ndarray of shape (1 or 2, P)
        Of the templates; if folded, then also of all of them seen backwards.
    """
    rows = 2 if even else 1
    best = np.empty((rows, v.shape[1]), np.float32)
    number = np.empty(best.shape, np.int32)
    kernels.best_match(_read(templates), even, _read(v), best, number, thread_count())
    return best, number


def explained(templates: Float, v: Float) -> Float:
    """Return what templates explain of curves: `varfocus.curve.templates.explained`."""
    out = np.empty((templates.shape[1], v.shape[1]), np.float32)
    kernels.explained(_read(templates), _read(v), out, thread_count())
    return out


def warp(
    frame: NDArray[Any], out: NDArray[Any], matrix: NDArray[np.float64], table: Float, gains: Float
) -> None:
    """Resample a frame ``(H, W, 1 or 3)`` into `out`: `varfocus.align.warp.warp`."""
    kernels.warp(frame, out, np.ascontiguousarray(matrix, np.float64), table, gains, thread_count())


def shrink(frame: NDArray[Any], out: Float, factor: int, scale: float) -> None:
    """Write block means of a frame ``(H, W, C)`` into `out`: `varfocus.align.warp.shrink`."""
    kernels.shrink(frame, out, factor, scale, thread_count())


def cell_products(F: Float, M: Float, side: int) -> NDArray[np.float64]:
    """Return products of the features of all cells: `varfocus.align.cells.products`."""
    down, across = ((length - 4) // side for length in F.shape[1:])
    out = np.empty((len(F), down * across, 8, 8), np.float64)
    kernels.cell_products(_read(F), _read(M), side, out, thread_count())
    return out


def tgv_iterate(
    m: Float,
    h: Float,
    held: Float,
    bent: Float,
    d: Float,
    v: Float,
    p: Float,
    q: Float,
    sigma: float,
    iterations: int,
) -> tuple[Float, Float, Float, Float]:
    """Return d, v, p and q after some iterations: `varfocus.minimise.tgv.iterate`."""
    d, v, p, q = (np.array(each, np.float32, order="C") for each in (d, v, p, q))
    read = _read(m), _read(h), _read(held), _read(bent)
    kernels.tgv_iterate(*read, d, v, p, q, sigma, iterations, thread_count())
    return d, v, p, q


def parabolas(
    samples: NDArray[np.uint16],
    scale: Float,
    base: NDArray[np.int16],
    offsets: NDArray[np.float64],
    step: float,
    d: Float,
    reach: float,
    least: float,
) -> tuple[Float, Float]:
    """Return m and h of windows of samples: `varfocus.minimise.tgv.parabolas`."""
    m, h = np.empty((2, *d.shape), np.float32)
    read = _read(samples), _read(scale), _read(base), _read(offsets)
    kernels.parabolas(*read, step, _read(d), reach, least, m, h, thread_count())
    return m, h
