"""`varfocus.minimise.admm` on the kernels: one pass over the image between cosine transforms."""

from __future__ import annotations

import numpy as np
import scipy.fft
from numpy.typing import NDArray

from varfocus import engine
from varfocus.energy.operators import laplacian_eigenvalues
from varfocus.minimise.split import State
from varfocus.minimise.trace import Callback, Solution, Trace, check_finite
from varfocus.params import SolverParams

THREADED_PIXELS = 100_000
"""Below this, starting threads takes longer than they save."""


def linearised_admm(
    a: NDArray[np.float32],
    start: NDArray[np.float32],
    params: SolverParams,
    callback: Callback | None,
    multipliers: bool,
    lam_max: float,
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
    params, callback, multipliers
        As in the array code.
    lam_max : float
        Bound of λ.

    Returns
    -------
    Solution
        With the last state.
    """
    threads = engine.thread_count() if start.size >= THREADED_PIXELS else 1
    a, d = np.ascontiguousarray(a), np.array(start, np.float32, order="C")
    data, tv = engine.energy_terms(a, d)
    trace = Trace(data + params.alpha * tv)
    e_x = laplacian_eigenvalues(d.shape[1]).astype(np.float32)
    g = np.zeros((2, *d.shape), np.float32)
    b, lam = np.zeros_like(g), params.lam
    r = d + np.float32(params.tau) * engine.slope(a, d)
    last_good, nothing = np.empty_like(d), np.broadcast_to(np.float32(0.0), g.shape)
    for k in range(params.iterations):
        np.copyto(last_good, d)  # the update overwrites it
        u = _solve(r, e_x, lam, threads)
        grows = lam * params.growth <= lam_max
        factor = params.growth if grows else 1.0
        data, tv, constraint, change = engine.kernels.admm_update(
            a, u, d, g, b, r,
            params.alpha, params.tau, lam, lam * factor, factor, multipliers, threads,
        )  # fmt: skip
        lam *= factor
        trace.record(data + params.alpha * tv, constraint, change)
        state = State(d, g, b, lam)
        check_finite(trace, State(last_good, nothing, nothing, params.lam))
        if callback is not None:
            callback(k + 1, state, trace)
        if change < params.tolerance**2 * d.size:
            break
    return Solution(d, trace, state)


def _solve(
    r: NDArray[np.float32], e_x: NDArray[np.float32], lam: float, threads: int
) -> NDArray[np.float32]:
    """Return ``(I + λKᵀK)⁻¹ r``; `r` is overwritten, but not returned.

    Only the rows are transformed. That leaves a tridiagonal system in each column, which costs
    less than two more transforms.
    """
    spectrum = scipy.fft.dct(r, axis=1, norm="ortho", overwrite_x=True, workers=threads)
    engine.kernels.solve_columns(spectrum, e_x, lam, threads)
    # Not in place: the update reads u beyond the rows of r that it writes.
    u: NDArray[np.float32] = scipy.fft.idct(spectrum, axis=1, norm="ortho", workers=threads)
    return u
