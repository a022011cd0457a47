r"""A lower bound of the energy by convex lifting: how far a found minimum can be from the best.

Problem
    E(d) = Σ f(d) + α Σ \|Kd\|, f = −c, d ∈ [−10, 10]. Not convex in d, but nearly so in the
    indicator u(t) = 1 where d > t [1]_.

Bound
    Let p(t) = (p_x, p_y)(t), t ∈ [−10, 10], be vector fields with, at every pixel,

    .. math:: \sup_t p_x(t)^2 + \sup_t p_y(t)^2 ≤ α^2.

    For any d, :math:`∫⟨p(t), K1_{d>t}⟩dt` is at one pixel the integral of p_x between its d and its
    right neighbour's, plus that of p_y between its d and the lower neighbour's. That is at most
    \|(Kd)_x\| sup\|p_x\| + \|(Kd)_y\| sup\|p_y\| ≤ α\|Kd\|. Hence, with
    :math:`P(s) = ∫_{-10}^s (K^Tp)(t)\,dt`,

    .. math:: E(d) ≥ \sum f(d) + P(d) ≥ B(p) = \sum_{ij} \min_s f_{ij}(s) + P_{ij}(s).

    This holds for every such p, however it was found. The usual constraint \|p(t)\| ≤ α for each t
    alone would not suffice: with it the bound can exceed the energy, because differences of pixels,
    other than gradients of functions, do not obey the coarea formula.

    p is constant between L + 1 labels, so P is linear there. The minimum over s is taken over all
    of [−10, 10], not over labels only: each interval is cut into cells, and in a cell of width η a
    function lies at most η²/8·max f″ below its ends, with max f″ bounded by its values at the ends
    and the largest fourth derivative a polynomial with these coefficients can have. So B is a
    bound of the continuous problem, up to rounding in double precision.

Maximisation of B
    By the primal-dual method of [2]_ on the lifted problem with labels t_l, width h:

    .. math:: \min_{0≤u≤1}\; \max_{p,\,q_l ≤ f_l}\; \sum_l q_l (u_{l-1} - u_l) + h⟨p_l, Ku_l⟩,
              \qquad u_{-1} = 1,\; u_L = 0,

    started at 0 or, if better, at the dual variable of the problem itself, constant over t, which
    is optimal if f is convex.

On a chain (an image one pixel wide), for convex f, α = 0 and α → ∞ the bound is tight up to the
width of the labels. Else it may not be: a gap does not show whether the bound is low or the energy
high.

References
----------
.. [1] T. Pock, D. Cremers, H. Bischof, A. Chambolle, "Global solutions of variational models with
   convex regularization", SIAM Journal on Imaging Sciences 3(4), 2010.
.. [2] A. Chambolle, T. Pock, "A first-order primal-dual algorithm for convex problems with
   applications to imaging", Journal of Mathematical Imaging and Vision 40, 2011.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from varfocus import curve
from varfocus.energy import ContrastTerm, energy
from varfocus.minimise.primal_dual import State, iterate

Float: TypeAlias = NDArray[np.float64]

CELLS = 8
"""Into how many cells each label interval is cut when the bound is evaluated."""

STEP_RATIO = 2.0
"""Primal over dual step size, in units of the range of the curves."""

CHECK = 50
"""Iterations between two evaluations of the bound."""

DESCENT = ((0.1, 100), (0.3, 100))
"""σ and iterations of the descent to a minimum nearby, before and after."""


@dataclass(frozen=True)
class Certificate:
    """What is known about the least energy.

    Attributes
    ----------
    bound : float
        No d has an energy below this.
    energy : float
        E of `d`.
    d : ndarray of shape (H, W), float64
        The lifted solution, rounded and followed to a minimum nearby, or the start if it is better:
        the best d known.
    history : list of float
        The bound over labels alone, every 50 iterations, of the last tile.
    """

    bound: float
    energy: float
    d: Float
    history: list[float] = field(repr=False)

    def gap(self, energy: float | None = None) -> float:
        """Return (E − B) / |B|: how far an energy, by default that of `d`, can be off."""
        return ((self.energy if energy is None else energy) - self.bound) / abs(self.bound)


def certificate(
    a: NDArray[np.floating],
    alpha: float,
    start: NDArray[np.floating] | None = None,
    *,
    labels: int = 96,
    iterations: int = 600,
    tile: int = 64,
) -> Certificate:
    """Bound the least value of E(d) = −Σ c(d) + α‖Kd‖₂,₁ from below.

    Parameters
    ----------
    a : ndarray of shape (degree + 1, H, W)
        Chebyshev coefficients of the contrast curves.
    alpha : float
        α ≥ 0.
    start : ndarray of shape (H, W), optional
        A depth to start from, such as a solver's answer; the bound holds whatever it is.
    labels : int
        Number L of label intervals; more are tighter and cost in proportion.
    iterations : int
        Of the primal-dual method; more are tighter.
    tile : int
        Side in pixels of the tiles that are bounded one by one. Links between tiles cannot be
        negative and are left out, so the sum of the bounds is a bound. Memory is that of one tile,
        about 120 bytes per pixel and label; time is proportional to pixels × labels × iterations.

    Returns
    -------
    Certificate
        Bound and rounded solution.
    """
    exact: Float = a.astype(np.float64)
    height, width = exact.shape[1:]
    first = curve.argmax(exact) if start is None else np.asarray(start, np.float64)
    d, bound, history = np.empty((height, width)), 0.0, [0.0]
    for top in range(0, height, tile):
        for left in range(0, width, tile):
            part = (slice(top, top + tile), slice(left, left + tile))
            d[part], value, history = _lifted(
                exact[(slice(None), *part)], alpha, first[part], labels, iterations
            )
            bound += value
    data = ContrastTerm(exact)
    d = min((first, d, _descend(exact, alpha, d).d), key=lambda found: energy(data, alpha, found))
    return Certificate(bound, energy(data, alpha, d), d, history)


def bound_of(a: Float, p: Float) -> float:
    """Return B(p) = Σ min_s f(s) + P(s), never above the true minimum over s.

    Parameters
    ----------
    a : ndarray of shape (degree + 1, H, W)
        Coefficients of c = −f.
    p : ndarray of shape (2, L, H, W)
        Field, constant on each of L intervals of [−10, 10]. B is a bound of the energy if
        sup p_x² + sup p_y² ≤ α².

    Returns
    -------
    float
        B.
    """
    count = p.shape[1]
    width = 2.0 * curve.X_MAX / count
    cell = width / CELLS
    bend = curve.derivative(curve.derivative(a))
    fourth = _largest_fourth_derivative(a)
    slope = _adjoint(p)
    lowest = np.full(a.shape[1:], np.inf)
    at = rise = np.zeros(a.shape[1:])
    value, bent = -curve.evaluate(a, -curve.X_MAX), -curve.evaluate(bend, -curve.X_MAX)
    for l in range(count):  # noqa: E741
        for c in range(1, CELLS + 1):
            x = -curve.X_MAX + l * width + c * cell
            new_value, new_bent = -curve.evaluate(a, x), -curve.evaluate(bend, x)
            rise = at + c * cell * slope[l]
            sharpest = np.maximum(bent, new_bent) + cell**2 / 8 * fourth
            sag = cell**2 / 8 * np.maximum(sharpest, 0.0)
            start = at + (c - 1) * cell * slope[l]
            np.minimum(lowest, np.minimum(value + start, new_value + rise) - sag, out=lowest)
            value, bent = new_value, new_bent
        at = rise
    return float(lowest.sum())


def project_pair(p: Float, radius: float, angle: Float, steps: int = 2) -> Float:
    r"""Project onto sup p_x² + sup p_y² ≤ radius² at each pixel, nearly; feasible in any case.

    The projection clips \|p_x\| at r cos θ and \|p_y\| at r sin θ with θ the zero of the increasing
    G(θ) = F_x sin θ − F_y cos θ, F the sum over labels of what is clipped. Newton steps from the
    last θ find it as the iteration goes on.

    Parameters
    ----------
    p : ndarray of shape (2, L, H, W)
        Changed in place.
    radius : float
        r.
    angle : ndarray of shape (H, W)
        θ of the last call, in [0, π/2]; changed in place.
    steps : int
        Newton steps.

    Returns
    -------
    ndarray of shape (2, L, H, W)
        `p`.
    """
    length = np.abs(p)
    for _ in range(steps):
        m = radius * np.stack([np.cos(angle), np.sin(angle)])
        over = length - m[:, None]
        n_x, n_y = np.count_nonzero(over > 0, axis=1)
        f_x, f_y = np.maximum(over, 0.0, out=over).sum(axis=1)
        m_x, m_y = m
        g = f_x * m_y - f_y * m_x
        rate = n_x * m_y**2 + f_x * m_x + n_y * m_x**2 + f_y * m_y
        angle -= np.divide(g, rate, out=np.zeros_like(g), where=rate > 0)
        np.clip(angle, 0.0, 0.5 * math.pi, out=angle)
    m_x, m_y = radius * np.cos(angle), radius * np.sin(angle)
    np.clip(p[0], -m_x, m_x, out=p[0])
    np.clip(p[1], -m_y, m_y, out=p[1])
    return p


def _lifted(
    a: Float, alpha: float, d: Float, labels: int, iterations: int
) -> tuple[Float, float, list[float]]:
    """Return the rounded solution of one tile, its bound, and the bounds over labels on the way."""
    h = 2.0 * curve.X_MAX / labels
    nodes = -curve.X_MAX + h * np.arange(labels + 1)
    f = np.stack([-curve.evaluate(a, x) for x in nodes])
    u = np.clip((d[None] - nodes[:-1, None, None]) / h, 0.0, 1.0)
    # h·p is what is iterated on, and q the highest it allows.
    flow = np.repeat(h * _descend(a, alpha, d).p[:, None], labels, axis=1)
    p = max((np.zeros_like(flow), flow), key=lambda start: _over_labels(f, _adjoint(start)))
    angle = np.where(p.any(axis=(0, 1)), np.arctan2(*np.abs(p[::-1, 0])), 0.25 * math.pi)
    q = np.zeros_like(f)
    q[1:] = -np.cumsum(_adjoint(p), axis=0)
    q += (f - q).min(axis=0)
    ratio = STEP_RATIO / max(float(np.ptp(f, axis=0).mean()), 1e-12)
    sigma = 1.0 / math.sqrt(12.0 * ratio)  # ‖K‖² + ‖∂_l‖² ≤ 8 + 4
    tau = ratio * sigma
    best, best_p, history = -math.inf, p.copy(), []
    for k in range(iterations + 1):
        force = _adjoint(p)
        if k % CHECK == 0 or k == iterations:
            value = _over_labels(f, force)
            history.append(value)
            if value > best:
                best, best_p = value, p.copy()
        force += q[1:] - q[:-1]
        new = np.clip(u - tau * force, 0.0, 1.0)
        ahead, u = 2.0 * new - u, new
        q[0] += sigma * (1.0 - ahead[0])
        q[1:-1] += sigma * (ahead[:-1] - ahead[1:])
        q[-1] += sigma * ahead[-1]
        np.minimum(q, f, out=q)
        p[0, :, :, :-1] += sigma * (ahead[:, :, 1:] - ahead[:, :, :-1])
        p[1, :, :-1, :] += sigma * (ahead[:, 1:, :] - ahead[:, :-1, :])
        project_pair(p, alpha * h, angle)
    rounded = -curve.X_MAX + h * np.count_nonzero(u > 0.5, axis=0)
    return rounded, bound_of(a, best_p / h), history


def _descend(a: Float, alpha: float, d: Float) -> State:
    """Return the minimum near d and its dual variable, of length at most α."""
    state = State(d, np.zeros((2, *d.shape)))
    for sigma, count in DESCENT:
        state = iterate(a, state, alpha, sigma, count)
    return state


def _adjoint(p: Float) -> Float:
    """Return Kᵀp label by label."""
    out = np.zeros(p.shape[1:])
    out[:, :, :-1] -= p[0, :, :, :-1]
    out[:, :, 1:] += p[0, :, :, :-1]
    out[:, :-1, :] -= p[1, :, :-1, :]
    out[:, 1:, :] += p[1, :, :-1, :]
    return out


def _over_labels(f: Float, force: Float) -> float:
    """Return Σ min_l f_l + Σ_{k<l} force_k, the bound of the problem restricted to labels."""
    tilted = f.copy()
    tilted[1:] += np.cumsum(force, axis=0)
    return float(tilted.min(axis=0).sum())


def _largest_fourth_derivative(a: Float) -> Float:
    """Return a bound of |c⁗| on [−10, 10]: |T_m⁗| ≤ T_m⁗(1) = m²(m²−1)(m²−4)(m²−9)/105."""
    m = np.arange(a.shape[0], dtype=np.float64) ** 2
    largest = m * (m - 1) * (m - 4) * (m - 9) / 105.0 / curve.X_MAX**4
    bound: Float = np.tensordot(largest, np.abs(a), axes=1)
    return bound
