r"""Bregman iterations: restore the contrast that a regulariser removes.

Problem
    The minimiser of D(d) + αR(d) has its jumps lowered, on a convex problem by an amount that is
    the same whatever their height. The subgradient p of R shows where and by how much.
Iteration
    1. :math:`d_{k+1} = \arg\min_d D(d) + α(R(d) - ⟨p_k, d⟩)`, p_0 = 0, started at d_k;
    2. :math:`p_{k+1} ∈ ∂R(d_{k+1})`: the multiplier of the ADMM, αp = (λ/τ) Kᵀb.

Each round is the problem with R replaced by its Bregman distance to the last solution, which
penalises what is new and not what is there. D falls from round to round, and the energy
D + αR may rise: with an α too large at first, early rounds are too smooth and late ones too rough.
The count of rounds is the parameter.

References
----------
.. [1] S. Osher, M. Burger, D. Goldfarb, J. Xu, W. Yin, "An iterative regularization method for
   total variation-based image restoration", Multiscale Modeling and Simulation 4(2), 2005.
"""

from __future__ import annotations

from varfocus.arrays import Array, total
from varfocus.energy import DataTerm
from varfocus.energy.operators import K_adjoint
from varfocus.energy.regulariser import TV, Regulariser
from varfocus.minimise.admm import linearised_admm
from varfocus.minimise.split import State
from varfocus.minimise.trace import Callback, Solution, Trace
from varfocus.params import SolverParams


class TiltedTerm:
    """D(d) − ⟨tilt, d⟩.

    Parameters
    ----------
    data : DataTerm
        D.
    tilt : array of shape (H, W)
        αp.
    """

    def __init__(self, data: DataTerm, tilt: Array) -> None:
        self.data, self.tilt = data, tilt

    def value(self, d: Array) -> float:
        """Return D(d) − ⟨tilt, d⟩."""
        return self.data.value(d) - total(self.tilt * d)

    def gradient(self, d: Array) -> Array:
        """Return ∇D(d) − tilt."""
        return self.data.gradient(d) - self.tilt

    def clip(self, d: Array) -> Array:
        """Return the nearest point at which D is defined."""
        return self.data.clip(d)


def bregman(
    data: DataTerm,
    d: Array,
    params: SolverParams,
    callback: Callback | None = None,
    *,
    regulariser: Regulariser = TV,
) -> Solution:
    """Minimise D(d) + α R(d), then restore contrast ``params.bregman`` times.

    Parameters
    ----------
    data : DataTerm
        D.
    d : array of shape (H, W)
        First guess; its dtype is the working precision.
    params : SolverParams
        Those of `linearised_admm`, and the number of rounds; 0 is `linearised_admm` itself.
    callback : callable, optional
        Called as ``callback(iterations_done, state, trace)`` with the trace of the round, and the
        count of all rounds scaled to ``params.iterations``.
    regulariser : Regulariser
        R.

    Returns
    -------
    Solution
        The trace has an entry per round, with E = D + αR of its solution, which may well rise.
    """
    rounds = params.bregman + 1
    found = linearised_admm(
        data, d, params, _share(callback, 0, rounds, params), regulariser=regulariser
    )
    if rounds == 1:
        return found
    operator = regulariser.operator(d)
    trace = Trace(found.trace.start_energy)
    for k in range(1, rounds + 1):
        state: State = found.state
        field = operator.apply(state.d, state.v)
        value = data.value(state.d) + params.alpha * regulariser.value(field)
        change = total((state.d - d) ** 2)
        trace.record(value, total((field - state.g) ** 2), change, k * params.iterations)
        if k == rounds:
            break
        d = state.d
        tilt = K_adjoint(state.b[:2, ...]) * (state.lam / params.tau)
        report = _share(callback, k, rounds, params)
        found = linearised_admm(TiltedTerm(data, tilt), d, params, report, regulariser=regulariser)
    return Solution(found.d, trace, found.state)


def _share(callback: Callback | None, k: int, rounds: int, params: SolverParams) -> Callback | None:
    """Return a callback that counts iterations of round k as a share of the whole."""
    if callback is None or rounds == 1:
        return callback
    return lambda done, *rest: callback((k * params.iterations + done) // rounds, *rest)
