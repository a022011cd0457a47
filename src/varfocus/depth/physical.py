r"""From the minimiser's answer to numbers a user can use: physical depth and confidence.

Confidence reads as the probability that the depth is right to within one frame,

.. math:: \frac{1}{1 + \exp(-(w_M M + w_f f + w_0))},

from two observations that predict errors, unlike the height or the smoothness of the curve (a
blurred foreground edge that bleeds over its background has the cleanest curve of all):

M
    how far the windowed contrast at the chosen depth exceeds the best contrast more than 1.5
    frames away, relative to the curve's range: a rival peak makes it small;
f
    1 / (1 + range of the depth in frames over 7×7 pixels): jumps make it small.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.polynomial import chebyshev
from numpy.typing import NDArray
from scipy import ndimage

from varfocus import curve, engine

RIVAL_DISTANCE = 1.5
"""Contrast further away than this many frames counts as a rival."""

SURE = 0.9
"""Confidence from which a pixel is called sure."""

FLATNESS_WINDOW = 7
"""Side in pixels of the window over which the range of the depth is taken."""

LOST, QUIET = 0.46, 0.18
"""Share of the confidence that is lost where nothing speaks, and the evidence at which a third of
that remains: see `heard`."""

UNSUPPORTED = 0.89
"""Confidence of a depth that is called unknown, at most: it is not called sure besides."""


def index_to_depth(
    index: NDArray[np.float32], focus: NDArray[np.float64] | None
) -> NDArray[np.float32]:
    """Return the physical depth at fractional frame numbers.

    Parameters
    ----------
    index : ndarray of shape (H, W), float32
        Fractional 0-based frame number.
    focus : ndarray of shape (n,) or None
        Focus position of each frame; None keeps frames as the unit.

    Returns
    -------
    ndarray of shape (H, W), float32
        Depth in the unit of `focus`, linear between frames.
    """
    if focus is None:
        return index.astype(np.float32)
    return np.interp(index, np.arange(focus.size), focus).astype(np.float32)


def physical_error(
    index: NDArray[np.float32], sigma: NDArray[np.float32], focus: NDArray[np.float64] | None
) -> NDArray[np.float32]:
    """Return a standard error in frames as one of the physical depth.

    Parameters
    ----------
    index, sigma : ndarray of shape (H, W), float32
        Depth and its standard error in frames.
    focus : ndarray of shape (n,) or None
        Focus position of each frame; None keeps frames as the unit.

    Returns
    -------
    ndarray of shape (H, W), float32
        Half the distance of the depths one σ before and after, which follows uneven steps.
    """
    if focus is None:
        return sigma
    last = np.float32(focus.size - 1)
    low, high = np.clip(index - sigma, 0, last), np.clip(index + sigma, 0, last)
    span = np.abs(index_to_depth(high, focus) - index_to_depth(low, focus))
    # At the ends of the range one side is cut off; the other stands for both.
    error: NDArray[np.float32] = span * sigma / np.maximum(high - low, np.float32(1e-6))
    return error


def margin(
    curve_at: Callable[[Any], NDArray[Any]], index: NDArray[np.float32], n: int
) -> NDArray[np.float32]:
    """Return M: the lead of the chosen depth over its best rival.

    Parameters
    ----------
    curve_at : callable
        Maps a frame number (or an ``(H, W)`` array of them) to the windowed contrast there.
    index : ndarray of shape (H, W), float32
        The chosen depth in frames.
    n : int
        Number of frames.

    Returns
    -------
    ndarray of shape (H, W), float32
        In [−1, 1]: 1 where everything further away is at the bottom of the curve, 0 at a draw,
        negative where a rival is sharper.
    """
    chosen = curve_at(index)
    rival = np.full(index.shape, -np.inf, np.float32)
    lowest, highest = chosen.copy(), chosen.copy()
    for k in range(n):
        value = curve_at(k)
        lowest, highest = np.minimum(lowest, value), np.maximum(highest, value)
        rival = np.where(np.abs(index - k) > RIVAL_DISTANCE, np.maximum(rival, value), rival)
    spread = highest - lowest
    lead = np.where(np.isfinite(rival), chosen - rival, 0.0)
    return np.where(spread > 0, lead / np.where(spread > 0, spread, 1.0), 0.0).astype(np.float32)


def curve_margin(a: NDArray[np.float32], index: NDArray[np.float32], n: int) -> NDArray[np.float32]:
    """Return the `margin` of polynomial contrast curves.

    Parameters
    ----------
    a : ndarray of shape (degree + 1, H, W), float32
        Chebyshev coefficients of the windowed curves.
    index : ndarray of shape (H, W), float32
        The chosen depth in frames.
    n : int
        Number of frames.

    Returns
    -------
    ndarray of shape (H, W), float32
        M.
    """
    if engine.accepts(a, index):
        t = curve.focus_axis(n) / curve.X_MAX
        basis = chebyshev.chebvander(t, a.shape[0] - 1).astype(np.float32)
        return engine.margin(a, basis, RIVAL_DISTANCE, index)
    return margin(lambda k: curve.evaluate(a, curve.index_to_x(k, n)), index, n)


def flatness(index: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return f = 1 / (1 + range of the depth over 7×7 pixels, in frames)."""
    high = ndimage.maximum_filter(index, FLATNESS_WINDOW, mode="nearest")
    low = ndimage.minimum_filter(index, FLATNESS_WINDOW, mode="nearest")
    flat: NDArray[np.float32] = 1.0 / (1.0 + high - low)
    return flat


def confidence(
    M: NDArray[np.float32], f: NDArray[np.float32], weights: tuple[float, float, float]
) -> NDArray[np.float32]:
    """Return the probability that the depth is right to within one frame.

    Parameters
    ----------
    M, f : ndarray of shape (H, W), float32
        `margin` and `flatness`.
    weights : tuple of float
        w_M, w_f, w_0.

    Returns
    -------
    ndarray of shape (H, W), float32
        In [0, 1].
    """
    w_margin, w_flat, w_constant = weights
    score = w_margin * M + w_flat * f + w_constant
    return (1.0 / (1.0 + np.exp(-score))).astype(np.float32)


def heard(evidence: NDArray[np.float32]) -> NDArray[np.float32]:
    r"""Return what is left of the confidence where little speaks.

    .. math:: 1 - 0.46\,e^{-E/0.18}, \quad\text{at most } 0.89 \text{ if } E < 1,

    for an evidence E in units of what noise gives: what a run calls unknown is never called sure
    besides. A clear lead over all rivals that noise made is as clear as any: only the evidence
    tells. Fitted to how often depths are right on light fields and on pictures by another renderer
    than ours, on which ghosts are stronger: ours would ask for 0.15 and 0.17
    (``benchmarks/fit_confidence.py --evidence FOLDER``).

    Parameters
    ----------
    evidence : ndarray of shape (H, W), float32
        E; depth is called known from 1 on.

    Returns
    -------
    ndarray of shape (H, W), float32
        In [0.54, 1].
    """
    E = np.maximum(evidence, np.float32(0.0))
    left: NDArray[np.float32] = 1.0 - np.float32(LOST) * np.exp(E * np.float32(-1.0 / QUIET))
    return np.where(E < 1.0, np.minimum(left, np.float32(UNSUPPORTED)), left)


def sure_share(confidence: NDArray[np.float32]) -> float:
    """Return the share of sure pixels among those that count.

    Parameters
    ----------
    confidence : ndarray of shape (H, W), float32
        0 where a pixel does not count, because a mask or the alignment leaves it out; `confidence`
        itself is never 0.

    Returns
    -------
    float
        Pixels of confidence ≥ 0.9 over pixels that count; 0 if none does.
    """
    counting = int(np.count_nonzero(confidence > 0))
    return int(np.count_nonzero(confidence >= SURE)) / counting if counting else 0.0
