r"""The paper's ADMM on a small image, a primal-dual method from there on: the default minimiser.

Problem
    min over d of −Σ c(d) + α‖Kd‖₂,₁ = min over d, max over \|p_ij\| ≤ α of −Σ c(d) + ⟨p, Kd⟩.

Iteration
    1. :math:`d' = \mathrm{clip}(d + (c'(d) - K^Tp) / (8σ + |c''(d)|))`;
    2. :math:`p \leftarrow \mathrm{project}(p + σK(2d' - d),\; α)`; :math:`d \leftarrow d'`.

No linear system is solved. 8σ ≥ σ‖K‖² makes the steps of [1]_ safe for a linear data term, and
\|c″\| shortens them to a Newton step's where the curve is bent. A small σ moves d far in every
iteration, a large one settles.

Pyramid
    Coefficients are averaged over 2×2 pixels (`halve`). The same scene at half the width needs half
    the α, so α/2 on the coarser level states nearly the same problem at a quarter of the cost. Its
    solution d, and 2p, start the finer level.

Why
    The energy is not convex, and this iteration stays in the basin it starts in. The paper's
    ADMM does not: its growing λ spreads the force c′ over ever larger neighbourhoods, which
    carries whole regions out of the basins of a wrong first guess, many of them to an end of
    the range. So the coarsest level, whose shorter side has 120 to 240 pixels unless the image
    itself is smaller, is solved by `linearised_admm`. K doubles per level, so λ/4 makes its prox
    reach equally far in the scene. The primal-dual iteration does the rest: it follows a good
    start to its minimum at about an eighth of the cost of an ADMM iteration.

    A strong α may prefer a constant depth. The answer is never worse than the best constant.

References
----------
.. [1] A. Chambolle, T. Pock, "A first-order primal-dual algorithm for convex problems with
   applications to imaging", Journal of Mathematical Imaging and Vision 40, 2011.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from varfocus import curve, engine
from varfocus.arrays import Array, from_host, namespace, total, zeros
from varfocus.energy import ContrastTerm, DataTerm, energy
from varfocus.energy.operators import K, K_adjoint, project
from varfocus.errors import ParameterError
from varfocus.minimise.admm import linearised_admm
from varfocus.minimise.trace import Callback, Solution, Trace, check_finite
from varfocus.params import GROWTH, STEP, WEIGHT, SolverParams

STANDARD_ITERATIONS = 400
"""The value of ``SolverParams.iterations`` that stands for the schedule below."""

COARSEST_ITERATIONS = 240
"""ADMM iterations on the coarsest level; λ grows as far in them as it would in 400."""

SCHEDULE = ((0.1, 60), (0.3, 40))
"""σ and number of iterations of the two phases of every finer level, or of the only one.

All numbers of iterations are those of ``iterations = 400`` and scale with it."""

ADMM_COST = 8
"""Time of an ADMM iteration in iterations of this method, for reports of progress only."""

AT_A_TIME = 70
"""Iterations that a kernel does in one call; between calls an interruption is noticed."""

COARSEST_SIDE = 120
"""Shortest side in pixels that a coarse level may have."""


@dataclass(frozen=True)
class State:
    """The variables of the iteration.

    Attributes
    ----------
    d : array of shape (H, W)
        Depth.
    p : array of shape (2, H, W)
        Dual variable, of length at most α.
    """

    d: Array
    p: Array


def pyramid(
    data: DataTerm, d: Array, params: SolverParams, callback: Callback | None = None
) -> Solution:
    """Minimise −Σ c(d) + α‖Kd‖₂,₁ from coarse to fine.

    Parameters
    ----------
    data : ContrastTerm
        −Σ c(d).
    d : array of shape (H, W)
        First guess; its dtype is the working precision.
    params : SolverParams
        α and iterations; τ, λ and growth are those of the coarsest level.
    callback : callable, optional
        Called as ``callback(iterations_done, state, trace)`` after the coarsest level and each
        phase of each finer one; the state is that of the level, the count goes up to
        ``params.iterations``.

    Returns
    -------
    Solution
        Its trace has an entry for each phase of the finest level, and a ``constraint`` of zero:
        there is no split variable.

    Raises
    ------
    ParameterError
        If `data` is not made of contrast curves.
    SolverError
        If the energy ceases to be finite.
    """
    if not isinstance(data, ContrastTerm):
        raise ParameterError(
            f"received a data term of type {type(data).__name__}",
            "expected a ContrastTerm: the pyramid averages contrast curves",
            "Choose the solver 'admm' for other data terms.",
        )
    trace = Trace(energy(data, params.alpha, d))
    curves, starts = [data.a], [d]
    for _ in range(level_count(d.shape)):
        curves.append(halve(curves[-1]))
        starts.append(halve(starts[-1][None, ...])[0, ...])
    coarsest = len(curves) - 1
    clock = _Clock(coarsest, params.iterations)

    state = coarse(curves[-1], starts[-1], params, coarsest)
    clock.passed(coarsest, clock.coarse_work)
    if callback is not None:
        callback(clock.done, state, trace)
    for level in reversed(range(max(coarsest, 1))):
        if level < coarsest:
            curves.pop()  # memory that the finer level needs
            starts.pop()
            state = finer(state, starts[-1].shape)
        alpha = params.alpha / 2**level
        for sigma, iterations in clock.phases:
            before, state = state, iterate(curves[-1], state, alpha, sigma, iterations)
            clock.passed(level, iterations)
            if level == 0:
                change = total((state.d - before.d) ** 2)
                trace.record(energy(data, alpha, state.d), 0.0, change, clock.done)
                check_finite(trace, before)
            if callback is not None:
                callback(clock.done, state, trace)
    flat = _flat(data.a, d)
    if energy(data, params.alpha, flat) < trace.energy[-1]:
        state = _no_flow(flat)
        trace.record(energy(data, params.alpha, flat), 0.0, 0.0, clock.done)
    return Solution(state.d, trace, state)


def coarse(a: Array, d: Array, params: SolverParams, level: int) -> State:
    """Solve the coarsest level by the paper's ADMM.

    Parameters
    ----------
    a : array of shape (degree + 1, H, W)
        Coefficients of the contrast curves of the level.
    d : array of shape (H, W)
        First guess.
    params : SolverParams
        Those of the finest level.
    level : int
        How often the image was halved.

    Returns
    -------
    State
        d, and the multiplier of g = Kd as p.
    """
    alpha, share = params.alpha / 2**level, COARSEST_ITERATIONS / STANDARD_ITERATIONS
    found = linearised_admm(
        ContrastTerm(a),
        d,
        replace(
            params,
            alpha=WEIGHT.nearest(alpha),
            lam=STEP.nearest(params.lam / 4**level),
            growth=GROWTH.nearest(params.growth ** (1 / share)),
            iterations=max(1, round(share * params.iterations)),
            tolerance=0.0,
        ),
        traced=False,  # the finest level looks whether the energy is finite
    ).state
    return State(found.d, project(found.b * (found.lam / params.tau), alpha))


def iterate(a: Array, state: State, alpha: float, sigma: float, iterations: int) -> State:
    """Run the iteration on one level.

    Parameters
    ----------
    a : array of shape (degree + 1, H, W)
        Coefficients of the contrast curves.
    state : State
        Where to begin.
    alpha : float
        Weight of the total variation on this level.
    sigma : float
        Dual step size σ > 0.
    iterations : int
        How many.

    Returns
    -------
    State
        New arrays.
    """
    d, p = state.d, state.p
    if engine.accepts(a, d, p) and alpha > 0:
        d, p = np.array(d, order="C"), np.array(p, order="C")
        for done in range(0, iterations, AT_A_TIME):
            count = min(AT_A_TIME, iterations - done)
            engine.primal_dual(a, d, p, alpha=alpha, sigma=sigma, iterations=count)
        return State(d, p)
    xp = namespace(d)
    slope = curve.derivative(a)
    bend = curve.derivative(slope)
    for _ in range(iterations):
        step = 1.0 / (8.0 * sigma + xp.abs(curve.evaluate(bend, d)))
        moved = d + (curve.evaluate(slope, d) - K_adjoint(p)) * step
        moved = xp.clip(moved, -curve.X_MAX, curve.X_MAX)
        p = project(p + sigma * K(2.0 * moved - d), alpha)
        d = moved
    return State(d, p)


def level_count(shape: tuple[int, ...]) -> int:
    """Return how many coarser levels an image of this shape gets."""
    return int(math.log2(max(min(shape) / COARSEST_SIDE, 1.0)))


def halve(planes: Array) -> Array:
    r"""Return the images at half the size: pixels that lie symmetric about the middle.

    Along an even side a pixel is the mean of two. An odd side cannot be cut in twos from either
    end alike; there it is :math:`(I_{2i-1} + 2I_{2i} + I_{2i+1})/4`, around every other one, the
    border replicated.

    Parameters
    ----------
    planes : array of shape (M, H, W)
        Images.

    Returns
    -------
    array of shape (M, ⌈H/2⌉, ⌈W/2⌉)
        The images at half the size.
    """
    if engine.accepts(planes):
        return engine.halve(planes)
    return _halved(_halved(planes, 1), 2)


def _halved(planes: Array, axis: int) -> Array:
    """Return the images at half the size along an axis."""
    xp = namespace(planes)
    side = planes.shape[axis]

    def every_other(first: int, stop: int) -> Array:
        return planes[:, first:stop:2, :] if axis == 1 else planes[:, :, first:stop:2]

    if side % 2 == 0:
        return 0.5 * (every_other(0, side) + every_other(1, side))
    between = every_other(1, side)
    before = xp.concat([every_other(0, 1), between], axis=axis)
    after = xp.concat([between, every_other(side - 1, side)], axis=axis)
    return 0.25 * ((before + after) + 2.0 * every_other(0, side))


def finer(state: State, shape: tuple[int, ...]) -> State:
    """Return the start of a level from the solution of the next coarser one.

    Parameters
    ----------
    state : State
        d and p of the coarser level.
    shape : tuple of int
        Height and width of the finer level.

    Returns
    -------
    State
        d interpolated linearly; p repeated and doubled, for α doubles too, and zero across the
        border as Kd is.
    """
    height, width = shape
    d = _interpolated(_interpolated(state.d, 0, height), 1, width)
    p = zeros((2, height, width), like=state.d)
    for row in (0, 1):
        for column in (0, 1):
            rows, columns = (height - row + 1) // 2, (width - column + 1) // 2
            p[:, row::2, column::2] = 2.0 * state.p[:, :rows, :columns]
    p[0, :, -1] = 0.0
    p[1, -1, :] = 0.0
    return State(d, p)


def _interpolated(image: Array, axis: int, side: int) -> Array:
    """Return the image at twice the size along an axis, linear between where `halve` puts pixels.

    Along an odd side they lie in the middle of every other one.
    """
    xp = namespace(image)
    first, last = (image[:1, :], image[-1:, :]) if axis == 0 else (image[:, :1], image[:, -1:])
    rest = (image[:-1, :], image[1:, :]) if axis == 0 else (image[:, :-1], image[:, 1:])
    before, after = xp.concat([first, rest[0]], axis=axis), xp.concat([rest[1], last], axis=axis)
    if side % 2:
        parts = [image, 0.5 * (image + after)]
    else:
        parts = [0.75 * image + 0.25 * before, 0.75 * image + 0.25 * after]
    pair = xp.stack(parts, axis=axis + 1)
    if axis == 0:
        return xp.reshape(pair, (2 * image.shape[0], image.shape[1]))[:side, :]
    return xp.reshape(pair, (image.shape[0], -1))[:, :side]


def _no_flow(d: Array) -> State:
    return State(d, zeros((2, *d.shape), like=d))


def _flat(a: Array, d: Array) -> Array:
    """Return the one depth, at every pixel, at which the contrast summed over all is largest."""
    xp = namespace(a)
    mean = xp.mean(a, axis=(1, 2), keepdims=True)
    samples = np.linspace(-curve.X_MAX, curve.X_MAX, 201)
    values = curve.evaluate(mean, from_host(samples[None, :], a))
    return xp.full_like(d, float(samples[int(xp.argmax(values))]))


class _Clock:
    """Converts the work done so far into a number of the iterations asked for."""

    def __init__(self, coarsest: int, iterations: int) -> None:
        scale = iterations / STANDARD_ITERATIONS
        self.phases = [(sigma, max(1, round(scale * count))) for sigma, count in SCHEDULE]
        self.coarse_work = round(ADMM_COST * scale * COARSEST_ITERATIONS)
        self._iterations, self._work = iterations, 0.0
        level_work = sum(count for _, count in self.phases)
        self._all = self.coarse_work / 4**coarsest + sum(
            level_work / 4**level for level in range(max(coarsest, 1))
        )

    def passed(self, level: int, iterations: int) -> None:
        """Note work done; an iteration costs a quarter on each coarser level."""
        self._work += iterations / 4**level

    @property
    def done(self) -> int:
        """How many of the iterations asked for are done."""
        share: float = self._work / self._all
        return round(self._iterations * share)
