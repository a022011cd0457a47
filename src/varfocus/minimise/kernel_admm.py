"""`varfocus.minimise.admm` on the kernels: one pass over the image between two linear systems."""

from __future__ import annotations

import numpy as np
import scipy.fft
from numpy.typing import NDArray

from varfocus import engine
from varfocus.energy.operators import laplacian_eigenvalues
from varfocus.minimise.banded_search import aligned
from varfocus.minimise.split import State
from varfocus.minimise.trace import Callback, Solution, Trace, check_finite
from varfocus.params import SolverParams

THREADED_PIXELS = 100_000
"""Below this, starting threads takes longer than they save."""

D, BEFORE, G, B, R, U = range(8, 56, 8)
"""Cache lines of a memory page at which the arrays of the iteration start. A picture is often a
whole number of pages: where all arrays begin alike, a pixel of each falls into the same few places
of the cache, and they push each other out; an iteration then takes half as long again."""


def linearised_admm(
    a: NDArray[np.float32],
    start: NDArray[np.float32],
    params: SolverParams,
    callback: Callback | None,
    multipliers: bool,
    lam_max: float,
    traced: bool,
) -> Solution:
    """Minimise −Σ c(d) + α‖Kd‖₂,₁; see `varfocus.minimise.admm.linearised_admm`.

    The arrays of the state handed to the callback are overwritten by the next iteration: copy
    what is to be kept.

    Parameters
    ----------
    a : ndarray of shape (degree + 1, H, W), float32
        Coefficients of the contrast curves.
    start : ndarray of shape (H, W), float32
        First guess.
    params, callback, multipliers, traced
        As in the array code.
    lam_max : float
        Bound of λ.

    Returns
    -------
    Solution
        With the last state.
    """
    threads = engine.thread_count() if start.size >= THREADED_PIXELS else 1
    a, d = np.ascontiguousarray(a), aligned(start.shape, D)
    d[:] = start
    data, tv = engine.energy_terms(a, d)
    trace = Trace(data + params.alpha * tv)
    solve = LinearSystem(d.shape)
    g, b = (aligned((2, *d.shape), line) for line in (G, B))
    g[:], b[:], lam = 0.0, 0.0, params.lam
    r = aligned(d.shape, R)
    np.add(d, np.float32(params.tau) * engine.slope(a, d), out=r)
    before, nothing = aligned(d.shape, BEFORE), np.broadcast_to(np.float32(0.0), g.shape)
    state = State(d, g, b, lam)
    for k in range(params.iterations):
        u = solve(r, lam, threads)
        grows = lam * params.growth <= lam_max
        factor = params.growth if grows else 1.0
        before, d = d, before
        data, tv, constraint, change = engine.kernels.admm_update(
            a, u, before, d, g, b, r,
            params.alpha, params.tau, lam, lam * factor, factor, multipliers, traced, threads,
        )  # fmt: skip
        lam *= factor
        state = State(d, g, b, lam)
        if not traced:
            continue
        trace.record(data + params.alpha * tv, constraint, change)
        check_finite(trace, State(before, nothing, nothing, params.lam))
        if callback is not None:
            callback(k + 1, state, trace)
        if change < params.tolerance**2 * d.size:
            break
    return Solution(d, trace, state)


class LinearSystem:
    """``(I + λKᵀK)⁻¹ r`` for images of one shape.

    Only the rows are transformed. That leaves a tridiagonal system in each column, which costs less
    than two more transforms. The kernels transform rows whose length has no large prime factor,
    SciPy all others.

    Parameters
    ----------
    shape : (int, int)
        Height and width.
    """

    def __init__(self, shape: tuple[int, int]) -> None:
        width = shape[1]
        self._e_x = laplacian_eigenvalues(width).astype(np.float32)
        self._tables = (
            cosine_tables(width) if largest_factor(width) <= engine.LARGEST_FACTOR else None
        )
        self._u = aligned(shape, U)

    def __call__(self, r: NDArray[np.float32], lam: float, threads: int) -> NDArray[np.float32]:
        """Return the solution, in an array that the next call overwrites; `r` is overwritten."""
        if self._tables is not None:
            engine.kernels.screened_poisson(r, self._u, self._tables, self._e_x, lam, threads)
            return self._u
        spectrum = scipy.fft.dct(r, axis=1, norm="ortho", overwrite_x=True, workers=threads)
        engine.kernels.solve_columns(spectrum, self._e_x, lam, threads)
        # Not in place: the update reads u beyond the rows of r that it writes.
        u: NDArray[np.float32] = scipy.fft.idct(spectrum, axis=1, norm="ortho", workers=threads)
        return u


def cosine_tables(n: int) -> NDArray[np.float32]:
    """Return what the kernels' cosine transform of n numbers needs.

    Returns
    -------
    ndarray of shape (4, n), float32
        √(2/n) cos(πk/2n), √(2/n) sin(πk/2n), cos(2πk/n) and sin(2πk/n).
    """
    half, whole = np.pi * np.arange(n) / (2 * n), 2.0 * np.pi * np.arange(n) / n
    size = np.sqrt(2.0 / n)
    rows = [size * np.cos(half), size * np.sin(half), np.cos(whole), np.sin(whole)]
    return np.stack(rows).astype(np.float32)


def largest_factor(n: int) -> int:
    """Return the largest prime factor of n ≥ 1.

    >>> [largest_factor(n) for n in (1, 640, 641, 2 * 17)]
    [1, 5, 641, 17]
    """
    largest, factor = 1, 2
    while factor * factor <= n:
        if n % factor:
            factor += 1
        else:
            largest, n = factor, n // factor
    return max(largest, n)
