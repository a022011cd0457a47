r"""The paper's minimiser: ADMM with a linearised data term.

Problem
    min over d, g of D(d) + α‖g‖₂,₁ subject to g = Kd.

Iteration
    1. :math:`d \leftarrow (I + λK^TK)^{-1}\,(d + λK^T(g - b) - τ∇D(d))`, clipped to D's domain;
    2. :math:`g \leftarrow \mathrm{shrink}(Kd + b,\; ατ/λ)`;
    3. :math:`b \leftarrow b + Kd - g`;
    4. :math:`λ \leftarrow 1.02\,λ`, :math:`b \leftarrow b / 1.02`, for b is the scaled multiplier.

The paper prints z = Kd − b in step 2 and Kd − d in step 3; with those signs the iteration
diverges. The clipping is not in the paper either: without it d leaves the range of the stack,
where the polynomial grows without bound.

With b ≡ 0 this is the quadratic-penalty scheme the paper compares with.

Two generalisations, both off by default: another regulariser than ‖·‖₂,₁, and a warm start
g = Kd₀, without which the jumps of a good first guess are blurred before the data can hold them.
The regulariser's proximal map then stands in step 2. If it is of second order (TGV), step 1 solves
for d and the slope v at once, (Kd − v, Ev) stands for Kd, and g and b have five components.

The residuals fall because λ grows and freezes the iterate; they do not certify a good minimum.
The energy is not monotone, and the last iterate need not be the best one: see ``Trace.best``.

References
----------
.. [1] M. Moeller, M. Benning, C. Schönlieb, D. Cremers, "Variational Depth from Focus
   Reconstruction", IEEE Transactions on Image Processing 24(12), 2015, section III.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from varfocus import engine
from varfocus.arrays import Array, namespace, total
from varfocus.energy import ContrastTerm, DataTerm
from varfocus.energy.operators import K_adjoint
from varfocus.energy.regulariser import TV, Coupling, Regulariser
from varfocus.minimise import kernel_admm
from varfocus.minimise.split import State
from varfocus.minimise.trace import Callback, Solution, Trace, check_finite
from varfocus.params import SolverParams


def linearised_admm(
    data: DataTerm,
    d: Array,
    params: SolverParams,
    callback: Callback | None = None,
    multipliers: bool = True,
    *,
    regulariser: Regulariser = TV,
    warm: bool = False,
    traced: bool = True,
) -> Solution:
    """Minimise D(d) + α R(d), by default α‖Kd‖₂,₁, by the linearised ADMM.

    Parameters
    ----------
    data : DataTerm
        D.
    d : array of shape (H, W)
        First guess; its dtype is the working precision.
    params : SolverParams
        α, τ, λ, growth, iterations, tolerance.
    callback : callable, optional
        Called as ``callback(iterations_done, state, trace)``.
    multipliers : bool
        False keeps b at zero: the quadratic-penalty method.
    regulariser : Regulariser
        R.
    warm : bool
        Start with g = Kd, not 0.
    traced : bool
        False leaves the trace empty, which saves the time of computing it: every iteration asked
        for is done then, the callback is not called, and nobody looks whether the energy is finite.

    Returns
    -------
    Solution
        With the last `State`.

    Raises
    ------
    SolverError
        If the energy ceases to be finite; its ``state`` is the last good one.
    """
    xp = namespace(d)
    # Beyond this, λKᵀK swallows the data in single precision.
    lam_max = 1e4 if d.dtype == xp.float32 else float("inf")
    plain = regulariser is TV and not warm
    if plain and isinstance(data, ContrastTerm) and engine.accepts(data.a, d):
        return kernel_admm.linearised_admm(
            data.a, d, params, callback, multipliers, lam_max, traced
        )
    operator = regulariser.operator(d)
    v = operator.start(d)
    g = operator.apply(d, v)
    trace = Trace(data.value(d) + params.alpha * regulariser.value(g))
    g = g if warm else xp.zeros_like(g)
    state = State(d, g, xp.zeros_like(g), params.lam, v)
    for k in range(params.iterations):
        with np.errstate(over="ignore", invalid="ignore"):  # check_finite reports it better
            new, kd = _step(data, state, params, operator, multipliers, regulariser)
            if traced:
                trace.record(
                    data.value(new.d) + params.alpha * regulariser.value(kd),
                    total((kd - new.g) ** 2),
                    total((new.d - state.d) ** 2) + total((new.g - state.g) ** 2),
                )
        if traced:
            check_finite(trace, state)
        if new.lam * params.growth <= lam_max:
            new = replace(new, b=new.b / params.growth, lam=new.lam * params.growth)
        state = new
        if not traced:
            continue
        if callback is not None:
            callback(k + 1, state, trace)
        if trace.change[-1] < params.tolerance**2 * d.shape[0] * d.shape[1]:
            break
    return Solution(state.d, trace, state)


def quadratic_penalty(
    data: DataTerm, d: Array, params: SolverParams, callback: Callback | None = None
) -> Solution:
    """Minimise D(d) + α‖Kd‖₂,₁ by the quadratic-penalty scheme: `linearised_admm` with b ≡ 0."""
    return linearised_admm(data, d, params, callback, multipliers=False)


def _step(
    data: DataTerm,
    state: State,
    params: SolverParams,
    operator: Coupling,
    multipliers: bool,
    regulariser: Regulariser,
) -> tuple[State, Array]:
    d, b, lam = state.d, state.b, state.lam
    target = state.g - b
    r = d + lam * K_adjoint(target[:2, ...]) - params.tau * data.gradient(d)
    d, v = operator.solve(r, target, state.v, lam)
    d = data.clip(d)
    kd = operator.apply(d, v)
    g = regulariser.prox(kd + b, params.alpha * params.tau / lam)
    if multipliers:
        b = b + kd - g
    return State(d, g, b, lam, v), kd
