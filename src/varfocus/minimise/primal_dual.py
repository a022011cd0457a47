r"""A primal-dual method on an image pyramid: the default minimiser.

Problem
    min over d of −Σ c(d) + α‖Kd‖₂,₁ = min over d, max over \|p_ij\| ≤ α of −Σ c(d) + ⟨p, Kd⟩.

Iteration
    1. :math:`d' = \mathrm{clip}(d + (c'(d) - K^Tp) / (8σ + |c''(d)|))`;
    2. :math:`p \leftarrow \mathrm{project}(p + σK(2d' - d),\; α)`; :math:`d \leftarrow d'`.

No linear system is solved. 8σ ≥ σ‖K‖² makes the steps of [1]_ safe for a linear data term, and
\|c″\| shortens them to a Newton step's where the curve is bent. A small σ moves d far in every
iteration and finds its way around small maxima; a large one settles. Coarse levels do first the
one, then the other; the finest one settles.

Pyramid
    Coefficients are averaged over 2×2 pixels. The same scene at half the width wants half the α,
    so α/2 on the coarser level states nearly the same problem at a quarter of the cost. Its
    solution d, and 2p, start the finer level. α also tells how far pixels influence each other,
    so the coarsest level is where α is about 1/32, whatever the size of the image.

Starts
    The energy is not convex. On the coarsest level, where it costs little, the iteration starts
    twice: from the first guess, and from the constant depth of largest total contrast, which a
    strong α may prefer. The lower energy goes on. The answer is never worse than that constant.

References
----------
.. [1] A. Chambolle, T. Pock, "A first-order primal-dual algorithm for convex problems with
   applications to imaging", Journal of Mathematical Imaging and Vision 40, 2011.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from varfocus import curve, native
from varfocus.arrays import Array, from_host, namespace, total, zeros
from varfocus.energy import ContrastTerm, DataTerm, energy
from varfocus.errors import ParameterError
from varfocus.minimise.trace import Callback, Solution, Trace, check_finite
from varfocus.operators import K, K_adjoint, project
from varfocus.params import SolverParams

STANDARD_ITERATIONS = 400
"""The value of ``SolverParams.iterations`` that stands for the schedule below."""

SCHEDULE = {
    "finest": ((0.07, 80), (0.2, 40)),
    "between": ((0.02, 240), (0.1, 40)),
    "coarsest": ((0.02, 160), (0.1, 80)),
}
"""σ and number of iterations of the two phases of a level.

The iterations are those of ``iterations = 400`` and scale with it."""

AT_A_TIME = 70
"""Iterations that a kernel does in one call; between calls an interruption is noticed."""

COARSEST_ALPHA = 1 / 32
"""α of the coarsest level, to within a factor of √2."""

COARSEST_SIDE = 30
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
        α and iterations; τ, λ, growth and tolerance play no part.
    callback : callable, optional
        Called as ``callback(iterations_done, state, trace)`` after each phase of each level;
        the state is that of the level, the count goes up to ``params.iterations``.

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
    for _ in range(level_count(params.alpha, d.shape)):
        curves.append(halve(curves[-1]))
        starts.append(halve(starts[-1][None])[0])
    clock = _Clock(len(curves), params.iterations)

    state = None
    for level in reversed(range(len(curves))):
        a, alpha = curves.pop(), params.alpha / 2**level
        start = _no_flow(starts[level]) if state is None else finer(state, starts[level].shape)
        for after in _level(a, start, alpha, clock, level, first=state is None):
            state = after
            if level == 0:
                change = total((after.d - start.d) ** 2)
                trace.record(energy(data, alpha, after.d), 0.0, change, clock.done)
                check_finite(trace, start)
            if callback is not None:
                callback(clock.done, after, trace)
            start = after
    assert state is not None
    flat = _flat(data.a, d)
    if energy(data, params.alpha, flat) < trace.energy[-1]:
        state = _no_flow(flat)
        trace.record(energy(data, params.alpha, flat), 0.0, 0.0, clock.done)
    return Solution(state.d, trace, state)


def _level(
    a: Array, state: State, alpha: float, clock: _Clock, level: int, first: bool
) -> Iterator[State]:
    """Yield the state after each phase of a level; on the first, only that of the best start."""
    phases = clock.phases(level)
    if first:
        state = _best_start(a, state.d, alpha, phases)
        clock.passed(level, sum(iterations for _, iterations in phases))
        yield state
        return
    for sigma, iterations in phases:
        state = iterate(a, state, alpha, sigma, iterations)
        clock.passed(level, iterations)
        yield state


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
    if native.accepts(a, d, p) and alpha > 0:
        d, p = np.array(d, order="C"), np.array(p, order="C")
        for done in range(0, iterations, AT_A_TIME):
            count = min(AT_A_TIME, iterations - done)
            native.primal_dual(a, d, p, alpha=alpha, sigma=sigma, iterations=count)
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


def level_count(alpha: float, shape: tuple[int, ...]) -> int:
    """Return how many coarser levels an image of this shape gets for this α."""
    wanted = max(1, round(math.log2(alpha / COARSEST_ALPHA))) if alpha > 0 else 1
    possible = int(math.log2(max(min(shape) / COARSEST_SIDE, 1.0)))
    return min(wanted, possible)


def halve(planes: Array) -> Array:
    """Return means over 2×2 pixels; an odd last row or column is its own partner.

    Parameters
    ----------
    planes : array of shape (M, H, W)
        Images.

    Returns
    -------
    array of shape (M, ⌈H/2⌉, ⌈W/2⌉)
        The images at half the size.
    """
    if native.accepts(planes):
        return native.halve(planes)
    xp = namespace(planes)
    if planes.shape[1] % 2:
        planes = xp.concat([planes, planes[:, -1:, :]], axis=1)
    if planes.shape[2] % 2:
        planes = xp.concat([planes, planes[:, :, -1:]], axis=2)
    rows = planes[:, ::2, :] + planes[:, 1::2, :]
    return 0.25 * (rows[:, :, ::2] + rows[:, :, 1::2])


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
    d = _interpolated(_interpolated(state.d, 0)[:height, :], 1)[:, :width]
    p = zeros((2, height, width), like=state.d)
    for row in (0, 1):
        for column in (0, 1):
            part = p[:, row::2, column::2]
            part[...] = 2.0 * state.p[:, : part.shape[1], : part.shape[2]]
    p[0, :, -1] = 0.0
    p[1, -1, :] = 0.0
    return State(d, p)


def _interpolated(image: Array, axis: int) -> Array:
    """Return the image at twice the size along an axis, linear between pixel centres."""
    xp = namespace(image)
    first, last = (image[:1, :], image[-1:, :]) if axis == 0 else (image[:, :1], image[:, -1:])
    rest = (image[:-1, :], image[1:, :]) if axis == 0 else (image[:, :-1], image[:, 1:])
    before, after = xp.concat([first, rest[0]], axis=axis), xp.concat([rest[1], last], axis=axis)
    pair = xp.stack([0.75 * image + 0.25 * before, 0.75 * image + 0.25 * after], axis=axis + 1)
    return xp.reshape(
        pair, (2 * image.shape[0], image.shape[1]) if axis == 0 else (image.shape[0], -1)
    )


def _best_start(a: Array, d: Array, alpha: float, phases: list[tuple[float, int]]) -> State:
    """Return the first guess or a constant depth, whichever leads to the lower energy."""
    best, lowest = None, math.inf
    for start in (d, _flat(a, d)):
        state = _no_flow(start)
        for sigma, iterations in phases:
            state = iterate(a, state, alpha, sigma, iterations)
        reached = energy(ContrastTerm(a), alpha, state.d)
        if best is None or reached < lowest:
            best, lowest = state, reached
    assert best is not None
    return best


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
    """Tells how many of the iterations asked for the work done so far amounts to."""

    def __init__(self, levels: int, iterations: int) -> None:
        self._levels, self._iterations = levels, iterations
        self._work = 0.0
        self._all = sum(
            count / 4**level for level in range(levels) for _, count in self.phases(level)
        )

    def phases(self, level: int) -> list[tuple[float, int]]:
        """Return σ and iterations of each phase of a level; 0 is the finest."""
        role = "coarsest" if level == self._levels - 1 else "between" if level else "finest"
        scale = self._iterations / STANDARD_ITERATIONS
        return [(sigma, max(1, round(scale * count))) for sigma, count in SCHEDULE[role]]

    def passed(self, level: int, iterations: int) -> None:
        """Note that a phase is done; an iteration costs a quarter on each coarser level."""
        self._work += iterations / 4**level

    @property
    def done(self) -> int:
        """How many of the iterations asked for are done."""
        share: float = self._work / self._all
        return round(self._iterations * share)
