r"""Pixels beside depth jumps take the depth of the trusted pixels that look like them.

.. math:: w_{pq} = \Bigl(1 + \frac{(A_p - A_q)^2}{16σ_c^2}\Bigr)^{-8}
          \exp\Bigl(-\frac{|p-q|^2}{2σ_s^2}\Bigr),

a histogram over depth of the pixels q around p, each with weight w·V_q, V how well its depth
explains the frames: what no depth explains has no vote. If the mode of the histogram, smoothed by
a tent of one frame, is more than a frame from d_p and has four times as many votes as d_p itself,
the mean of the d_q around the mode replaces it: in a texture everything looks like everything, and
a majority says no more than which side has more pixels.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from varfocus import engine
from varfocus.engine import explain as kernels

Float = NDArray[np.float32]

REACH, NEAR, COLOUR = 10, 6.0, 0.06
"""Half the window in pixels, σ_s in pixels, σ_c in brightness."""

ALIKE = 1.0
"""Depths within so many frames of a mode belong to it."""

CLEAR = 4.0
"""Times as many votes as its own depth has, with which another one wins."""


def vote(
    index: Float,
    trust: Float,
    picture: Float,
    asked: NDArray[np.bool_],
    step: float,
    labels: int,
) -> Float:
    """Return the depth after one round.

    Parameters
    ----------
    index, trust, picture : ndarray of shape (H, W), float32
        Depth in frames, V, and the sharp picture.
    asked : ndarray of shape (H, W), bool
        Pixels that may change.
    step : float
        Distance of labels in frames.
    labels : int
        Bins of the histogram.

    Returns
    -------
    ndarray of shape (H, W), float32
        Depth in frames.
    """
    away = np.arange(-REACH, REACH + 1)
    squares = away[:, None] ** 2 + away[None] ** 2
    closeness = np.exp(-squares / (2.0 * NEAR**2)).astype(np.float32)
    kin = max(1, int(ALIKE / step))
    precision = 1.0 / (16.0 * COLOUR**2)
    if engine.accepts(index, trust, picture):
        return kernels.vote(
            index,
            trust,
            picture,
            asked,
            closeness,
            labels,
            kin,
            1.0 / step,
            precision,
            ALIKE,
            CLEAR,
        )
    out = index.copy()
    tent = (1.0 - np.abs(np.arange(-kin, kin + 1)) / (kin + 1)).astype(np.float32)
    for y, x in zip(*np.nonzero(asked), strict=True):
        rows = slice(max(0, y - REACH), y + REACH + 1)
        columns = slice(max(0, x - REACH), x + REACH + 1)
        there = index[rows, columns]
        part = np.s_[
            rows.start - y + REACH : rows.start - y + REACH + there.shape[0],
            columns.start - x + REACH : columns.start - x + REACH + there.shape[1],
        ]
        off = picture[rows, columns] - picture[y, x]
        weight = (1.0 + off * off * np.float32(precision)) ** -8 * closeness[part]
        bins = np.clip((there / np.float32(step) + 0.5).astype(np.intp), 0, labels - 1)
        votes = (weight * trust[rows, columns]).ravel()
        histogram = np.bincount(bins.ravel(), votes, labels)
        full = np.convolve(histogram, tent)[kin : kin + labels]
        mode = np.float32(full.argmax() * step)
        own = min(max(int(index[y, x] / np.float32(step) + 0.5), 0), labels - 1)
        if abs(mode - index[y, x]) <= ALIKE or full.max() < CLEAR * full[own]:
            continue
        share = weight * (trust[rows, columns] + np.float32(1e-4)) / (1.0 + squares[part])
        share = share * (np.abs(there - mode) <= ALIKE)
        if share.sum() > 0:
            out[y, x] = (share * there).sum() / share.sum()
    return out
