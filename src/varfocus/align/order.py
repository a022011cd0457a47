"""Are the frames in the order of focus? A short way through all of them knows.

The signature of a frame is the logarithm of its contrast relative to its brightness in each cell
of a grid. From one focus to the next it changes little, so the given order should be about the
shortest open path through all signatures. Which end is near cannot be seen.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

CELLS = 10
"""Cells of a signature along each side."""

FAINT = 0.002
"""Contrast relative to brightness that noise may have."""

DOUBTFUL, WRONG = 0.92, 0.85
"""Ratios of the shortest path to the given one below which the order is doubtful, and wrong."""

FEWEST = 4
"""Fewer frames have no order to speak of."""

STARTS, FEW_STARTS = 24, 4
"""Paths that are tried, and how many if the given one cannot be shortened by small changes."""

STRANGE = 4.0
"""A frame is no part of the path if its nearest neighbour is farther than this many usual steps."""

DIP = float(np.log(1.4))
"""Loss of contrast against both neighbours, in three of four cells, that defocus cannot cause."""


def signature(grey: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the log-contrast of every cell.

    Parameters
    ----------
    grey : ndarray of shape (b, h, W), float32
        b bands of h ≥ 3 rows, from top to bottom, of a working image in [0, 1].

    Returns
    -------
    ndarray of shape (CELLS², ), float32
        Natural logarithms.
    """
    middle = grey[:, 1:-1, 1:-1]
    if middle.size == 0:
        return np.zeros(CELLS * CELLS, np.float32)
    laplacian = np.abs(
        4.0 * middle
        - grey[:, :-2, 1:-1]
        - grey[:, 2:, 1:-1]
        - grey[:, 1:-1, :-2]
        - grey[:, 1:-1, 2:]
    )
    width = middle.shape[2]
    contrast, brightness = (_cells(x.reshape(-1, width)) for x in (laplacian, middle))
    log: NDArray[np.float32] = np.log(
        contrast / (np.maximum(brightness, 0.0) + 0.01) + FAINT  # noise may lie below black
    ).ravel()
    return log


@cache
def _ends(side: int) -> NDArray[np.intp]:
    """Return where the cells along a side begin, and where the last one ends."""
    return np.linspace(0, side, CELLS + 1).astype(np.intp)


def _cells(image: NDArray[np.float32]) -> NDArray[np.float32]:
    rows, columns = (_ends(side) for side in image.shape)
    sums = np.add.reduceat(np.add.reduceat(image, rows[:-1], axis=0), columns[:-1], axis=1)
    # Where there are more cells than pixels, a cell is one pixel.
    counts = np.outer(*(np.maximum(np.diff(ends), 1) for ends in (rows, columns)))
    means: NDArray[np.float32] = (sums / counts).astype(np.float32)
    return means


def best_order(signatures: NDArray[np.float32]) -> tuple[list[int], float]:
    """Return the frames along a short path, and its length relative to the given order.

    Parameters
    ----------
    signatures : ndarray of shape (n, m)
        One per frame.

    Returns
    -------
    order : list of int
        All frame numbers; frames that resemble none of the others come last.
    ratio : float
        Below `DOUBTFUL` the given order is doubtful. 1 if it is as short as any path found.
    """
    n, odd = len(signatures), set(strange(signatures))
    usual = [k for k in range(n) if k not in odd]
    if len(usual) < FEWEST:
        return list(range(n)), 1.0
    D = _distances(signatures[usual])
    given = list(range(len(usual)))
    length = _length(D, given)
    settled = _improved(D, given)
    # A shuffled stack is far from the shortest path nearby; one in order need not be searched far.
    starts = FEW_STARTS if settled == given else STARTS
    paths = [settled, *(_improved(D, path) for path in _greedy(D, starts))]
    path = min(paths, key=lambda p: _length(D, p))
    ratio = _length(D, path) / length if length > 0 else 1.0
    # Both ends may be defocused alike; a path that joins them and breaks in one place elsewhere is
    # the given order, gone round.
    breaks = int(np.count_nonzero(np.abs(np.diff(path)) != 1))
    if ratio >= 1.0 - 1e-9 or breaks <= 1:
        path, ratio = given, 1.0
    if np.corrcoef(path, given)[0, 1] < 0:
        path = path[::-1]
    return [usual[k] for k in path] + sorted(odd), float(ratio)


def strange(signatures: NDArray[np.float32]) -> list[int]:
    """Return the frames that resemble none of the others."""
    if len(signatures) <= FEWEST:
        return []
    D = _distances(signatures)
    np.fill_diagonal(D, np.inf)
    nearest = D.min(axis=1)
    return [int(k) for k in np.flatnonzero(nearest > STRANGE * np.median(nearest))]


def dips(signatures: NDArray[np.float32]) -> list[int]:
    """Return the frames that are less sharp than both neighbours nearly everywhere.

    Contrast over focus has one peak, so a frame in order is at least as sharp as one of its
    neighbours; one that is not moved or was out of hand while it was taken.

    Parameters
    ----------
    signatures : ndarray of shape (n, m)
        One per frame, in the order of focus.
    """
    loss = np.minimum(signatures[:-2], signatures[2:]) - signatures[1:-1]
    typical = np.quantile(loss, 0.25, axis=1)
    return [int(k) + 1 for k in np.flatnonzero(typical > DIP)]


def _distances(signatures: NDArray[np.float32]) -> NDArray[np.float64]:
    s = signatures.astype(np.float64)
    squares = (s**2).sum(1)
    D2 = squares[:, None] + squares[None, :] - 2.0 * s @ s.T
    distances: NDArray[np.float64] = np.sqrt(np.maximum(D2, 0.0))
    np.fill_diagonal(distances, 0.0)
    return distances


def _length(D: NDArray[np.float64], path: list[int]) -> float:
    return float(D[path[:-1], path[1:]].sum())


def _greedy(D: NDArray[np.float64], starts: int) -> list[list[int]]:
    """Return paths that always go to the nearest frame left, from frames far from the others."""
    paths = []
    for start in np.argsort(-D.sum(1))[:starts]:
        path, left = [int(start)], set(range(len(D))) - {int(start)}
        while left:
            here = path[-1]
            path.append(min(left, key=lambda k: D[here, k]))
            left.remove(path[-1])
        paths.append(path)
    return paths


def _improved(D: NDArray[np.float64], path: list[int]) -> list[int]:
    """Shorten a path by turning parts around (2-opt) and moving single frames, while that helps."""
    n = len(path)
    for _ in range(10 * n):
        p = np.array(path)
        # Edges to the frame before i and after j; beyond the ends they cost nothing.
        before = np.zeros((n, n))
        before[1:] = D[p[:-1]][:, p]  # [i, j]: from the frame before i to frame j
        after = np.zeros((n, n))
        after[:, :-1] = D[p][:, p[1:]]  # [i, j]: from frame i to the one after j
        own_before = np.diagonal(before)[:, None]
        own_after = np.diagonal(after)[None, :]
        turned = np.triu(before + after - own_before - own_after, 1)
        i, j = np.unravel_index(int(np.argmin(turned)), turned.shape)
        if turned[i, j] < -1e-9:
            path = [*path[:i], *path[i : j + 1][::-1], *path[j + 1 :]]
            continue
        moved = _moved_one(D, path)
        if moved is None:
            return path
        path = moved
    return path


def _moved_one(D: NDArray[np.float64], path: list[int]) -> list[int] | None:
    """Return the path with one frame put elsewhere, if that shortens it."""
    length = _length(D, path)
    for k in _worth_moving(D, np.array(path), length):
        rest = np.array(path[:k] + path[k + 1 :])
        here = path[k]
        joins = np.empty(len(path))
        joins[0], joins[-1] = D[here, rest[0]], D[here, rest[-1]]
        joins[1:-1] = D[here, rest[:-1]] + D[here, rest[1:]] - D[rest[:-1], rest[1:]]
        place = int(np.argmin(joins))
        if _length(D, rest.tolist()) + joins[place] < length - 1e-9:
            return [*rest[:place].tolist(), here, *rest[place:].tolist()]
    return None


def _worth_moving(
    D: NDArray[np.float64], path: NDArray[np.intp], length: float
) -> NDArray[np.intp]:
    """Return which frames of a path may be better off elsewhere, all of them looked at at once."""
    n = len(path)
    own = D[path][:, path]
    steps = np.diagonal(own, 1)
    # Removing frame k saves the steps to and from it, and costs one past it.
    saved = np.append(steps, 0.0) + np.append(0.0, steps)
    saved[1:-1] -= np.diagonal(own, 2)
    # [k, i]: frame k put before the first one, between i − 1 and i, after the last one.
    joins = np.empty((n, n + 1))
    joins[:, 0], joins[:, -1] = own[:, 0], own[:, -1]
    joins[:, 1:-1] = own[:, :-1] + own[:, 1:] - steps
    k = np.arange(n)
    joins[k, k] = joins[k, k + 1] = np.inf  # where it is
    slack = 1e-12 * length  # of rounding
    return np.flatnonzero(joins.min(axis=1) - saved < slack - 1e-9)
