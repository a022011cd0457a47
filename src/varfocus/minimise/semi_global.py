r"""A global first guess: semi-global matching over depth labels.

Along a straight path through the image, the least cost of reaching pixel p with label l is

.. math:: L(p, l) = C(p, l) + \min\bigl(L(q, l),\; L(q, l ± 1) + P_1,\;
          \min_i L(q, i) + P_2\bigr) - \min_i L(q, i),

q the pixel before p on the path: P₁ for a slope, P₂ at most, however high the jump; P₂ may differ
from pixel to pixel, and the larger one of q and p counts. The sum over
the eight paths that end in p, A(p, l) = Σ L(p, l), is low where p and everything it can see agree
on l. On a one-pixel-wide image the sum over the two paths less C is the exact minimum over all
labellings that pass through (p, l): dynamic programming. Path costs are added in multiples of
2⁻¹⁴, without rounding: an image turned over, in which paths come in another order, has the same
sums.

References
----------
.. [1] H. Hirschmüller, "Stereo processing by semiglobal matching and mutual information", IEEE
   TPAMI 30(2), 2008.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Float: TypeAlias = NDArray[np.float32]

PATHS = 8

COARSE = np.float32(768.0)
"""Added and taken off again it leaves a multiple of 2⁻¹⁴."""


def semi_global(cost: Float, p1: float, p2: float | Float) -> Float:
    """Aggregate costs over eight paths.

    Parameters
    ----------
    cost : ndarray of shape (L, H, W), float32
        Cost of every label at every pixel.
    p1 : float
        Penalty of a step by one label, P₁ ≥ 0.
    p2 : float or ndarray of shape (H, W), float32
        Penalty of any step, P₂ ≥ P₁.

    Returns
    -------
    ndarray of shape (L, H, W), float32
        Sum A of the path costs. It takes as much memory as `cost`, and for a while twice that.
    """
    total = np.zeros_like(cost)
    jump = np.broadcast_to(np.asarray(p2, np.float32), cost.shape[1:])
    _add_downward(cost, total, p1, jump, (-1, 0, 1))
    _add_downward(cost[:, ::-1], total[:, ::-1], p1, jump[::-1], (-1, 0, 1))
    # Sideways paths run down the transposed image, where each step reads contiguous memory.
    turned = np.ascontiguousarray(cost.transpose(0, 2, 1))
    sideways = np.zeros_like(turned)
    _add_downward(turned, sideways, p1, jump.T, (0,))
    _add_downward(turned[:, ::-1], sideways[:, ::-1], p1, jump.T[::-1], (0,))
    total += sideways.transpose(0, 2, 1)
    return total


def lowest(total: Float) -> Float:
    """Return the label at which each curve is lowest, refined by a parabola through three labels.

    Parameters
    ----------
    total : ndarray of shape (L, H, W), float32
        Aggregated cost, L ≥ 3.

    Returns
    -------
    ndarray of shape (H, W), float32
        Fractional label in [0, L − 1].
    """
    label = total.argmin(axis=0)
    middle = np.clip(label, 1, total.shape[0] - 2)
    left, centre, right = (_at(total, middle + s) for s in (-1, 0, 1))
    bend = left - 2.0 * centre + right
    offset = 0.5 * (left - right) / np.where(bend > 0, bend, 1.0)
    refined = np.where(bend > 0, middle + np.clip(offset, -1.0, 1.0), label)
    return np.asarray(refined, np.float32)


def second_well(total: Float, label: Float, distance: float) -> Float:
    """Return by how much the chosen label beats the best one that is further away.

    Parameters
    ----------
    total : ndarray of shape (L, H, W), float32
        Aggregated cost.
    label : ndarray of shape (H, W), float32
        Chosen depth in labels.
    distance : float
        Labels closer than this are not rivals.

    Returns
    -------
    ndarray of shape (H, W), float32
        Lead per path; negative where a rival is cheaper, 0 where there can be none.
    """
    chosen = _at(total, np.rint(label).astype(np.intp))
    rival = np.full(label.shape, np.inf, np.float32)
    for number, cost in enumerate(total):
        far = np.abs(label - np.float32(number)) > distance
        np.minimum(rival, cost, out=rival, where=far)
    lead: Float = np.where(np.isfinite(rival), (rival - chosen) / PATHS, 0.0).astype(np.float32)
    return lead


def _at(volume: Float, label: NDArray[np.intp]) -> Float:
    value: Float = np.take_along_axis(volume, label[None], axis=0)[0]
    return value


def _add_downward(cost: Float, total: Float, p1: float, p2: Float, shifts: tuple[int, ...]) -> None:
    """Add to `total` the costs of the paths that come from the row above, shifted by columns."""
    last = [cost[:, 0]] * len(shifts)
    total[:, 0] += np.float32(len(shifts)) * _coarse(cost[:, 0])
    for i in range(1, cost.shape[1]):
        for s, shift in enumerate(shifts):
            # The path into column j comes from column j − shift; at the border it begins.
            source = slice(max(-shift, 0), cost.shape[2] - max(shift, 0))
            target = slice(max(shift, 0), cost.shape[2] - max(-shift, 0))
            new = cost[:, i].copy()
            jump = np.maximum(p2[i, target], p2[i - 1, source])
            new[:, target] += _transition(last[s][:, source], p1, jump)
            last[s] = new
            total[:, i] += _coarse(new)


def _coarse(costs: Float) -> Float:
    """Return costs as multiples of 2⁻¹⁴, of which sums are exact."""
    rounded: Float = (costs + COARSE) - COARSE
    return rounded


def _transition(last: Float, p1: float, p2: Float) -> Float:
    """Return min(L, L(l ± 1) + P₁, min L + P₂) − min L for ``(L, W)`` path costs."""
    floor = last.min(axis=0)
    best: Float = np.minimum(last, floor + p2)
    stepped = last + np.float32(p1)
    np.minimum(best[1:], stepped[:-1], out=best[1:])
    np.minimum(best[:-1], stepped[1:], out=best[:-1])
    best -= floor
    return best
