r"""All frames brought to one: maps of pairs combined by least squares.

A_k maps pixels of the reference to pixels of frame k. A pair (i, j) measured P_ij, which should be
A_j A_i⁻¹; what is left over, A_j⁻¹ P_ij A_i, moves the reference by B(p) c_ij to first order
(`varfocus.align.models`), so changes A_k ← A_k Δ(δ_k) solve

.. math:: \min_δ \sum_{ij} w_{ij} \lVert δ_j - δ_i - c_{ij} \rVert^2, \qquad δ_{\text{ref}} = 0,

one linear system with the Laplacian of the graph, repeated until nothing moves. The weights are the
inverse variances of the pairs, and fall for those that contradict the others. The inverse of the
Laplacian has the variances of the frames.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from varfocus.align.models import Matrix, basis, grid, moved, normaliser, step, unit
from varfocus.align.register import Pair

ROUNDS = 20
LEAST_ERROR = 0.02
"""Standard errors in pixels below this are all the same: other errors dominate."""

CONTRADICTION = 0.3
"""Pairs off by more pixels than this from what the others say count less."""


def absolute(
    pairs: Sequence[Pair], n: int, reference: int, model: str, shape: tuple[int, int]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the map from the reference to every frame, and how sure it is.

    Parameters
    ----------
    pairs : sequence of Pair
        Those that do not connect to the reference say nothing about it, and are passed over.
    n : int
        Number of frames.
    reference : int
        The frame that stays where it is.
    model : str
        What the maps may be.
    shape : (int, int)
        Height and width of the frames.

    Returns
    -------
    maps : ndarray of shape (n, 3, 3)
        The identity for frames that no pair connects.
    errors : ndarray of shape (n,)
        Standard errors of positions in pixels; infinite for those.
    """
    near = reachable(pairs, n, reference)
    pairs = [pair for pair in pairs if pair.i in near]
    if not pairs:
        return np.tile(np.eye(3), (n, 1, 1)), np.where(np.arange(n) == reference, 0.0, np.inf)
    A = _chained(pairs, n, reference)
    N = normaliser(shape)
    inverse = np.linalg.inv(N)
    points = moved(N, grid(shape))
    B = np.stack(
        [
            np.stack([np.broadcast_to(part, len(points)) for part in column], axis=1).ravel()
            for column in basis(model, points[:, 0], points[:, 1])
        ],
        axis=1,
    )
    to_parameters = np.linalg.pinv(B)
    certainty = np.array([1.0 / max(pair.error, LEAST_ERROR) ** 2 for pair in pairs])
    weights = certainty
    for _ in range(ROUNDS):
        left_over = np.empty((len(pairs), 2 * len(points)))
        for row, pair in enumerate(pairs):
            loop = N @ np.linalg.solve(A[pair.j], pair.matrix @ A[pair.i]) @ inverse
            left_over[row] = (moved(loop, points) - points).ravel()
        rms = np.sqrt((left_over**2).sum(1) / len(points)) / N[0, 0]
        weights = certainty / (1.0 + (rms / CONTRADICTION) ** 2)
        delta = _least_squares(pairs, weights, left_over @ to_parameters.T, n, reference)
        for k in range(n):
            A[k] = unit(A[k] @ inverse @ step(model, delta[k]) @ N)
        if np.abs(delta).max() / N[0, 0] < 1e-4:
            break
    L, fixed = _laplacian(pairs, weights, n, reference)
    errors = np.sqrt(np.maximum(np.diag(np.linalg.inv(L)), 0.0))
    errors[fixed] = np.inf
    errors[reference] = 0.0
    return A, errors


def doubts(pairs: Iterable[Pair], n: int, reference: int) -> NDArray[np.float64]:
    """Return what defocus may have added to the motion of each frame, in pixels.

    Biases of pairs have the same sign along a stack, so they are summed, along the chain of pairs
    that has least of it.
    """
    neighbours: list[list[tuple[int, float]]] = [[] for _ in range(n)]
    for pair in pairs:
        neighbours[pair.i].append((pair.j, pair.bias))
        neighbours[pair.j].append((pair.i, pair.bias))
    least = np.full(n, np.inf)
    queue = [(0.0, reference)]
    while queue:
        sum_, k = heapq.heappop(queue)
        if sum_ < least[k]:
            least[k] = sum_
            for other, bias in neighbours[k]:
                heapq.heappush(queue, (sum_ + bias, other))
    return least


def reachable(pairs: Iterable[Pair], n: int, start: int) -> set[int]:
    """Return the frames that pairs connect with a frame."""
    return set(_steps(pairs, n, start))


def _steps(pairs: Iterable[Pair], n: int, start: int) -> dict[int, tuple[int, Matrix]]:
    """Return by which frame and map each frame is first reached from a frame."""
    neighbours: list[list[tuple[int, Matrix]]] = [[] for _ in range(n)]
    for pair in pairs:
        neighbours[pair.i].append((pair.j, pair.matrix))
        back: Matrix = np.asarray(np.linalg.inv(pair.matrix), np.float64)
        neighbours[pair.j].append((pair.i, back))
    reached: dict[int, tuple[int, Matrix]] = {start: (start, np.eye(3))}
    queue = deque([start])
    while queue:
        k = queue.popleft()
        for other, matrix in neighbours[k]:
            if other not in reached:
                reached[other] = (k, matrix)
                queue.append(other)
    return reached


def _chained(pairs: Sequence[Pair], n: int, reference: int) -> NDArray[np.float64]:
    A = np.tile(np.eye(3), (n, 1, 1))
    for k, (before, matrix) in _steps(pairs, n, reference).items():
        if k != reference:
            A[k] = unit(matrix @ A[before])
    return A


def _least_squares(
    pairs: Sequence[Pair],
    weights: NDArray[np.float64],
    c: NDArray[np.float64],
    n: int,
    reference: int,
) -> NDArray[np.float64]:
    L, fixed = _laplacian(pairs, weights, n, reference)
    right = np.zeros((n, c.shape[1]))
    for pair, w, c_ij in zip(pairs, weights, c, strict=True):
        right[pair.j] += w * c_ij
        right[pair.i] -= w * c_ij
    right[fixed] = 0.0
    return np.asarray(np.linalg.solve(L, right), np.float64)


def _laplacian(
    pairs: Sequence[Pair], weights: NDArray[np.float64], n: int, reference: int
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return the Laplacian with ones for frames that stay, and which these are."""
    L = np.zeros((n, n))
    for pair, w in zip(pairs, weights, strict=True):
        i, j = pair.i, pair.j
        L[i, i] += w
        L[j, j] += w
        L[i, j] -= w
        L[j, i] -= w
    fixed = (np.diag(L) == 0.0) | (np.arange(n) == reference)
    L[fixed] = 0.0
    L[fixed, fixed] = 1.0
    return L, fixed
