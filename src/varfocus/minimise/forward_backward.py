r"""Forward–backward splitting: the provably convergent, costlier alternative in the paper.

Problem
    min over d of D(d) + α‖Kd‖₂,₁.
Iteration
    :math:`d \leftarrow \arg\min_d ½‖d - (d_k - τ∇D(d_k))‖² + τα‖Kd‖_{2,1}`,
    a whole TV denoising in every step, warm-started from the last one's dual variable.

Converges to a critical point if τ is at most the reciprocal of the Lipschitz constant of ∇D.

References
----------
.. [1] H. Attouch, J. Bolte, B. Svaiter, "Convergence of descent methods for semi-algebraic and
   tame problems", Mathematical Programming 137, 2013.
"""

from __future__ import annotations

from dataclasses import dataclass

from varfocus.arrays import Array, namespace, total
from varfocus.energy import DataTerm, energy
from varfocus.energy.operators import K
from varfocus.minimise.rof import rof
from varfocus.minimise.trace import Callback, Solution, Trace, check_finite
from varfocus.params import SolverParams


@dataclass(frozen=True)
class State:
    """The variables of the iteration.

    Attributes
    ----------
    d : array of shape (H, W)
        Depth.
    p : array of shape (2, H, W)
        Dual variable of the inner denoising problem.
    inner_iterations : int
        Total number of inner iterations so far.
    """

    d: Array
    p: Array
    inner_iterations: int


def forward_backward(
    data: DataTerm,
    d: Array,
    params: SolverParams,
    callback: Callback | None = None,
    inner_accuracy: float = 1e-3,
    inner_iterations: int = 200,
) -> Solution:
    """Minimise D(d) + α‖Kd‖₂,₁ by forward–backward splitting.

    Parameters
    ----------
    data : DataTerm
        D.
    d : array of shape (H, W)
        First guess.
    params : SolverParams
        α, τ, iterations and tolerance; λ and growth have no effect.
    callback : callable, optional
        Called as ``callback(iterations_done, state, trace)``.
    inner_accuracy : float
        Root-mean-square accuracy of the inner denoising, in the unit of d.
    inner_iterations : int
        Limit of inner iterations per step.

    Returns
    -------
    Solution
        Its ``constraint`` trace is zero throughout: there is no split variable.
    """
    trace = Trace(energy(data, params.alpha, d))
    state = State(d, namespace(d).zeros_like(K(d)), 0)
    weight = params.tau * params.alpha
    for k in range(params.iterations):
        forward = state.d - params.tau * data.gradient(state.d)
        inner = rof(
            forward, weight, accuracy=inner_accuracy, iterations=inner_iterations, p=state.p
        )
        new = State(data.clip(inner.d), inner.p, state.inner_iterations + inner.iterations)
        change = total((new.d - state.d) ** 2)
        trace.record(energy(data, params.alpha, new.d), 0.0, change)
        check_finite(trace, state)
        state = new
        if callback is not None:
            callback(k + 1, state, trace)
        if change < params.tolerance**2 * d.shape[0] * d.shape[1]:
            break
    return Solution(state.d, trace, state)
