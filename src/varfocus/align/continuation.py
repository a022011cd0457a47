r"""Where frames lie that say nothing about it themselves: on the way of those around them.

Blur may leave so little of a frame that it fits everywhere. Breathing goes on all the same, so its
map is taken from the frames that are known: on the straight line between the two next to it, and
beyond the last of them either where that one is or on the line through the last few,

.. math:: A(r) = A(r_0) \quad\text{or}\quad A(r) = \bar A + (r - \bar r)\, A',

r the place in the order of focus. Breathing is steady, a hand is not: which of the two holds is
asked of the known frames, each predicted from those on one side of it, for the linear part of the
maps and for the shift of the centre by themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from varfocus.align.models import normaliser, unit

Maps = NDArray[np.float64]

LAST_FEW = 4
"""Known frames through which a line is laid."""

FEWEST = 5
"""Fewer known frames do not tell whether motion is steady."""

STEADIER = 0.7
"""The line is followed if its error on known frames is below this share of that of staying."""


def continued(maps: Maps, places: Sequence[int], shape: tuple[int, int]) -> Maps:
    """Return the maps with those of all other frames filled in.

    Parameters
    ----------
    maps : ndarray of shape (n, 3, 3)
        From the reference to each frame, in the order of focus.
    places : sequence of int
        Those of them that are known, at least one, rising.
    shape : (int, int)
        Height and width of the frames.

    Returns
    -------
    ndarray of shape (n, 3, 3)
        Known maps as they were.
    """
    N = normaliser(shape)
    inverse = np.linalg.inv(N)
    # Around the centre, scale and rotation do not shift.
    normal = np.stack([unit(N @ m @ inverse) for m in maps]).reshape(len(maps), 9)
    known, rank = np.asarray(places), np.arange(len(maps))
    filled = np.stack([np.interp(rank, known, normal[known, i]) for i in range(9)], axis=1)
    shift = [2, 5]
    for part in ([i for i in range(9) if i not in shift], shift):
        values = normal[known][:, part]
        if _steady(known, values):
            for r in rank[rank < known[0]]:
                filled[r, part] = _line(known, values, r)
            for r in rank[rank > known[-1]]:
                filled[r, part] = _line(known[::-1], values[::-1], r)
    result = maps.copy()
    for r in np.setdiff1d(rank, known):
        result[r] = unit(inverse @ filled[r].reshape(3, 3) @ N)
    return result


def _line(places: NDArray[np.int_], values: Maps, at: int) -> Maps:
    """Return the value at a place before the first ones, by a line through these."""
    r, v = places[:LAST_FEW].astype(np.float64), values[:LAST_FEW]
    centred = r - r.mean()
    slope = centred @ v / float(centred @ centred)
    predicted: Maps = v.mean(axis=0) + (at - r.mean()) * slope
    return predicted


def _steady(places: NDArray[np.int_], values: Maps) -> bool:
    """Tell whether known frames are better predicted by a line than by the frame next to them."""
    if len(places) < FEWEST:
        return False

    def error(predict: Callable[[NDArray[np.int_], Maps, int], Maps]) -> float:
        off = [
            np.linalg.norm(predict(r[i + 1 :], v[i + 1 :], int(r[i])) - v[i])
            for r, v in ((places, values), (places[::-1], values[::-1]))
            for i in range(len(r) - LAST_FEW)
        ]
        return float(np.median(off))

    return error(_line) < STEADIER * error(lambda _, v, __: v[0])
