r"""Total generalised variation from coarse to fine: surfaces that bend little, and their jumps.

Problem
    Near a depth d₀ every C is a parabola, ½h(d − m)². The minimum over d and its slope v of

    .. math:: \sum ½ h (d - m)^2 + α \sum w\, |Kd - v|_1 + αβ \sum w' |Ev|_1

    is the maximum over \|p\| ≤ αw, \|q\| ≤ αβw' of its saddle point form. Planes cost nothing.
    Lengths are sums over the components, each of which belongs to one link between two pixels or
    one corner between four: mirrored or transposed data give the mirrored or transposed answer.

Iteration
    1. :math:`d' = d - (h(d - m) + K^Tp) / (11σ + h)`, :math:`v' = v + (p - E^Tq) / 12σ`;
    2. :math:`p \leftarrow \mathrm{clip}(p + σ(K(2d' - d) - (2v' - v)),\; αw)`,
       :math:`q \leftarrow \mathrm{clip}(q + σE(2v' - v),\; αβw')`; d ← d′, v ← v′.

    With these steps the norm of the scaled operator (K, −1; 0, E) stays below one, ‖K‖² and ‖E‖²
    being at most 8 [1]_.

Pyramid
    Parabolas are averaged over 2×2 pixels, along an odd side over three around every other one
    (`halve`): either way pixels and links lie symmetric about the middle. The same surface at half
    the width has half the length of links and a quarter of the corners: α/2 and αβ/4. What changes
    on a level is added to the next finer one. Links are torn across the jumps of d₀ on every level,
    so nothing leaks over.

References
----------
.. [1] T. Pock, A. Chambolle, "Diagonal preconditioning for first order primal-dual algorithms in
   convex optimization", ICCV 2011.
.. [2] K. Bredies, K. Kunisch, T. Pock, "Total generalized variation", SIAM Journal on Imaging
   Sciences 3(3), 2010.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from varfocus import engine
from varfocus.energy import VolumeTerm, WindowTerm
from varfocus.energy.operators import K, K_adjoint
from varfocus.energy.second_order import E, E_adjoint
from varfocus.minimise.primal_dual import halve

Float = NDArray[np.float32]

ITERATIONS = (20, 20, 30)
"""On the finest level, the next, and the coarsest."""

BETA = 2.0
"""β in pixels: what a kink costs in units of what a jump costs."""

SIGMA = 2.0
"""σ in units of α per unit of depth."""

NEWTON, FLATTEST = 0.15, 0.5
"""Units of depth up to which a parabola is believed, and its least h, per square unit, there."""

REACH = sum(2**level * (count + 2) for level, count in enumerate(ITERATIONS))
"""Pixels around a pixel that its answer depends on."""


@dataclass(frozen=True)
class Parabolas:
    """½h(d − m)² of every pixel.

    Attributes
    ----------
    m, h : ndarray of shape (H, W), float32
        Where it is lowest, in frames, and its curvature.
    """

    m: Float
    h: Float

    def halved(self) -> Parabolas:
        """Return means over 2×2 pixels or so: `halve`."""
        h, hm = halve(np.stack([self.h, self.h * self.m]))
        return Parabolas(hm / np.maximum(h, np.float32(1e-20)), h)


@dataclass(frozen=True)
class State:
    """The variables of the iteration.

    Attributes
    ----------
    d, v, p, q : ndarray of shape (H, W), (2, H, W), (2, H, W) and (3, H, W), float32
        Depth and slope, and what holds them together.
    """

    d: Float
    v: Float
    p: Float
    q: Float

    @classmethod
    def at(cls, d: Float, tear: Float) -> State:
        """Return the state of a depth without tension: its slope is that of d where links hold."""
        p, q = (np.zeros((count, *d.shape), np.float32) for count in (2, 3))
        return cls(d, K(d) * (tear > np.float32(0.5)), p, q)

    def bounded(self, held: Float, bent: Float) -> State:
        """Return the state with p and q within their bounds: none where there is no link."""
        p, q = np.clip(self.p, -held, held), np.clip(self.q, -bent, bent)
        return State(self.d, self.v, p, q)

    def finer(self, d: Float) -> State:
        """Return the state of a depth at twice the width, where α is doubled and αβ fourfold."""
        size = d.shape
        links, corners = (
            ((False, True), (True, False)),
            ((False, False), (False, False), (True, True)),
        )
        v, p = (
            np.stack([grown(plane, size, on) for plane, on in zip(planes, links, strict=True)])
            for planes in (self.v, self.p)
        )
        q = np.stack([grown(plane, size, on) for plane, on in zip(self.q, corners, strict=True)])
        return State(d, v * np.float32(0.5), p * np.float32(2.0), q * np.float32(4.0))


def grown(plane: Float, size: tuple[int, ...], on_links: tuple[bool, bool]) -> Float:
    """Return numbers of pixels, or of links along an axis, at twice the size.

    Linear between where they lie, which is symmetric about the middle of the image. Pixels of an
    even side lie between two finer ones each, those of an odd side on every other one (`halve`).
    A link lies between two pixels, so for links it is the other way round.

    Parameters
    ----------
    plane : ndarray of shape (H, W), float32
        What it holds in place of a last link is ignored.
    size : tuple of int
        Height and width, twice those of the plane or one less.
    on_links : tuple of two bool
        Whether the numbers belong to links, along rows' axis and along columns'.
    """
    for axis, linked in enumerate(on_links):
        shape = [*plane.shape]
        shape[axis] = size[axis]
        out = np.empty(shape, np.float32)
        a, fine = np.moveaxis(plane, axis, 0), np.moveaxis(out, axis, 0)
        if linked:
            a = a[: max(len(a) - 1, 1)]
        if linked == (len(fine) % 2 == 0):
            _grown_onto(a, fine[1:] if linked else fine)
            fine[:1] = a[0]
        else:
            _grown_between(a, fine)
        plane = out
    return plane


def _grown_onto(a: Float, fine: Float) -> None:
    """Fill numbers of which every other one, the first included, lies where one of `a` does."""
    last = 2 * len(a) - 2
    fine[: last + 1 : 2] = a
    fine[1:last:2] = np.float32(0.5) * (a[:-1] + a[1:])
    fine[last + 1 :] = a[-1]


def _grown_between(a: Float, fine: Float) -> None:
    """Fill numbers of which two lie around each of `a`."""
    near, far = np.float32(0.75) * a, np.float32(0.25) * a
    fine[2 * len(a) :] = a[-1]
    fine = fine[: 2 * len(a)]
    fine[::2] = near
    fine[2::2] += far[:-1]
    fine[0] += far[0]
    second = len(fine) // 2
    fine[1::2] = near[:second]
    fine[1::2] += np.concatenate([far[1:], far[-1:]])[:second]


def parabolas(data: VolumeTerm | WindowTerm, d: Float, unit: float) -> Parabolas:
    """Return what C is like around a depth.

    Parameters
    ----------
    data : VolumeTerm or WindowTerm
        Σ C(d).
    d : ndarray of shape (H, W), float32
        Depth in frames.
    unit : float
        Natural unit of depth.

    Returns
    -------
    Parabolas
        Lowest a Newton step away, if that is short; h = 0 where C bends downwards.
    """
    reach, least = np.float32(NEWTON * unit), np.float32(FLATTEST / unit**2)
    if isinstance(data, WindowTerm) and engine.accepts(d):
        windows = data.samples, data.scale, data.base, data.offsets, data.step
        return Parabolas(*engine.parabolas(*windows, d, float(reach), float(least)))
    h = np.maximum(data.bend(d), np.float32(0.0))
    step = np.clip(data.gradient(d) / np.maximum(h, least), -reach, reach)
    return Parabolas(d - step, h)


def smoothed(
    data: VolumeTerm | WindowTerm,
    d: Float,
    weight: Float,
    tear: Float,
    alpha: float,
    unit: float,
) -> tuple[Float, Float]:
    """Return the depth after one pass from coarse to fine, and how far it leaves its slope.

    Parameters
    ----------
    data : VolumeTerm or WindowTerm
        Σ C(d).
    d : ndarray of shape (H, W), float32
        First guess in frames.
    weight : ndarray of shape (H, W), float32
        What jumps cost at each pixel.
    tear : ndarray of shape (2, H, W), float32
        In (0, 1] of each link to the right and downwards: how far it holds.
    alpha : float
        α per frame.
    unit : float
        Natural unit of depth in frames, by which σ is measured.

    Returns
    -------
    d : ndarray of shape (H, W), float32
        In frames.
    jump : ndarray of shape (2, H, W), float32
        Kd − v, zero where there is no link.
    """
    levels = [(parabolas(data, d, unit), d, weight, tear)]
    for _ in ITERATIONS[1:]:
        parts, guess, price, links = levels[-1]
        guess, price = halve(np.stack([guess, price]))
        levels.append((parts.halved(), guess, price, halved_links(links)))
    state, correction = State.at(levels[-1][1], levels[-1][3]), None
    for level in reversed(range(len(levels))):
        parts, guess, price, links = levels.pop()
        if correction is not None:
            state = state.finer(guess + grown(correction, guess.shape, (False, False)))
        held, bent = prices(price, links)
        held *= np.float32(alpha / 2**level)
        bent *= np.float32(alpha * BETA / 4**level)
        sigma = SIGMA * alpha / (unit * 4**level)
        state = state.bounded(held, bent)
        state = iterate(parts, held, bent, state, sigma, ITERATIONS[level])
        correction = state.d - guess
    jump = K(state.d) - state.v
    jump[0, :, -1] = jump[1, -1] = 0.0
    return data.clip(state.d), jump


def prices(weight: Float, tear: Float) -> tuple[Float, Float]:
    """Return w of every link and w′ of every component of E.

    Parameters
    ----------
    weight : ndarray of shape (H, W), float32
        What jumps cost at each pixel; of a link the mean of its two.
    tear : ndarray of shape (2, H, W), float32
        How far links hold.

    Returns
    -------
    held : ndarray of shape (2, H, W), float32
        w, zero where there is no link.
    bent : ndarray of shape (3, H, W), float32
        w′: the weakest of the links between which a component of Ev lies.
    """
    held, bent = np.zeros_like(tear), np.zeros((3, *weight.shape), np.float32)
    half = np.float32(0.5)
    held[0, :, :-1] = (weight[:, :-1] + weight[:, 1:]) * half * tear[0, :, :-1]
    held[1, :-1] = (weight[:-1] + weight[1:]) * half * tear[1, :-1]
    across, down = tear
    bent[0, :, 1:-1] = np.minimum(across[:, :-2], across[:, 1:-1])
    bent[1, 1:-1] = np.minimum(down[:-2], down[1:-1])
    bent[2, :-1, :-1] = np.minimum(
        np.minimum(across[:-1, :-1], across[1:, :-1]), np.minimum(down[:-1, :-1], down[:-1, 1:])
    )
    return held, bent


def halved_links(tear: Float) -> Float:
    """Return how far links hold at half the width: the least of those in and between two pixels."""
    across, down = tear
    return np.stack([_halved_across(across), _halved_across(down.T).T])


def _halved_across(tear: Float) -> Float:
    (height, width), (tall, wide) = tear.shape, (side % 2 for side in tear.shape)
    # A pixel is made of two along an even side, of three along an odd one.
    padded = np.pad(tear[:, :-1], ((tall, tall), (wide, 3)), constant_values=1.0)
    rows = _least(padded, 2 + tall, (height + 1) // 2)
    return _least(rows.T, 3 + wide, (width + 1) // 2).T


def _least(values: Float, among: int, count: int) -> Float:
    """Return the least of so many rows in a row, from every other one on."""
    each = (values[first : first + 2 * count - 1 : 2] for first in range(among))
    return functools.reduce(np.minimum, each)


def iterate(
    parts: Parabolas, held: Float, bent: Float, state: State, sigma: float, iterations: int
) -> State:
    """Return the state after some iterations on one level.

    Parameters
    ----------
    parts : Parabolas
        The data.
    held, bent : ndarray of shape (2, H, W) and (3, H, W), float32
        Bounds of p and q, not negative; zero where K and E are.
    state : State
        Start, within the bounds.
    sigma : float
        σ > 0.
    iterations : int
        How many.
    """
    d, v, p, q = state.d, state.v, state.p, state.q
    if engine.accepts(d, v, p, q):
        found = engine.tgv_iterate(parts.m, parts.h, held, bent, d, v, p, q, sigma, iterations)
        return State(*found)
    s = np.float32(sigma)
    short, slant = np.float32(1.0) / (np.float32(11.0) * s + parts.h), np.float32(1.0) / (12 * s)
    for _ in range(iterations):
        d_new = d - (parts.h * (d - parts.m) + K_adjoint(p)) * short
        v_new = v + (p - E_adjoint(q)) * slant
        v_ahead = 2 * v_new - v
        p = np.clip(p + s * (K(2 * d_new - d) - v_ahead), -held, held)
        q = np.clip(q + s * E(v_ahead), -bent, bent)
        d, v = d_new, v_new
    return State(d, v, p, q)
