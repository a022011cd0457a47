r"""Regularisers R of the depth, by value and proximal map of the field they measure.

===========  =====================================================  ===============================
TV           Σ \|Kd\|                                               jumps cost no more than slopes
Huber-TV     Σ φ(\|Kd\|), φ(r) = r²/2ε for r ≤ ε, r − ε/2 beyond    and gentle slopes have no stairs
weighted TV  Σ w \|Kd\|                                             jumps are cheap where w is small
TGV²         min_v Σ \|Kd − v\| + β Σ \|Ev\|                        slopes are free, kinks cost
===========  =====================================================  ===============================

All have the same slope at infinity (where w = 1), so α has the same meaning for jumps.

The first three measure g = Kd. TGV has a second unknown, the slope v that costs nothing, and
measures Kd − v and Ev. A regulariser names its operator, `FirstOrder` or `SecondOrder`; its value
and proximal map are those of a field, pixel by pixel. See docs/regularisers.md for when each helps.

References
----------
.. [1] K. Bredies, K. Kunisch, T. Pock, "Total generalized variation", SIAM Journal on Imaging
   Sciences 3(3), 2010.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from varfocus.arrays import Array, namespace, total
from varfocus.energy.operators import FirstOrder, huber_shrink, magnitude, norm_21, shrink
from varfocus.energy.second_order import SecondOrder


class Coupling(Protocol):
    """A linear operator A on the depth d and, for second order, the slope v."""

    def start(self, d: Array) -> Array:
        """Return the first v, or None."""

    def apply(self, d: Array, v: Array) -> Array:
        """Return the field A(d, v)."""

    def solve(self, r: Array, target: Array, v: Array, lam: float) -> tuple[Array, Array]:
        """Return d and v of ½‖d − f‖² + ½λ‖A(d, v) − target‖², given r = f + λKᵀ target[:2]."""


class Regulariser(Protocol):
    """A convex function of a field A(d, v) that does not couple pixels."""

    def operator(self, like: Array) -> Coupling:
        """Return A for depth maps like this one."""

    def value(self, g: Array) -> float:
        """Return R(g)."""

    def prox(self, z: Array, t: float) -> Array:
        """Return argmin_g t·R(g) + ½‖g − z‖²."""


@dataclass(frozen=True)
class TotalVariation:
    """R(g) = ‖g‖₂,₁, the paper's choice."""

    def operator(self, like: Array) -> Coupling:
        """Return K."""
        return FirstOrder(like)

    def value(self, g: Array) -> float:
        """Return ‖g‖₂,₁."""
        return norm_21(g)

    def prox(self, z: Array, t: float) -> Array:
        """Shorten each vector by `t`."""
        return shrink(z, t)


@dataclass(frozen=True)
class HuberTV:
    """R(g) = Σ w φ_ε(|g|): quadratic up to ε, total variation beyond; ε = 0 is weighted TV.

    Parameters
    ----------
    epsilon : float
        ε ≥ 0, in the unit of d per pixel: slopes up to this are smooth. 0 is total variation.
    weight : array of shape (H, W), optional
        w ≥ 0 of each pixel; default 1.
    """

    epsilon: float
    weight: Array | None = None

    def operator(self, like: Array) -> Coupling:
        """Return K."""
        return FirstOrder(like)

    def value(self, g: Array) -> float:
        """Return Σ w φ_ε(|g|)."""
        r = magnitude(g)
        if self.epsilon > 0:
            gentle = r * r / (2 * self.epsilon)
            r = namespace(g).where(r <= self.epsilon, gentle, r - 0.5 * self.epsilon)
        return total(r if self.weight is None else self.weight * r)

    def prox(self, z: Array, t: float) -> Array:
        """Return `varfocus.energy.operators.huber_shrink` with threshold t·w."""
        return huber_shrink(z, t if self.weight is None else t * self.weight, self.epsilon)


@dataclass(frozen=True)
class TGV:
    """R(g, h) = Σ w |g| + β Σ |h| of g = Kd − v, h = Ev: second-order total generalised variation.

    Zero for affine d, with v = Kd. As β → ∞, v becomes one linear field a + (−cy, cx) for the whole
    image, that is TV of d less its best plane (and rotation, which no d has); as β → 0 all d are
    free. With v = 0 it is TV, so it is never above it.

    Parameters
    ----------
    ratio : float
        β > 0 in pixels: what a kink costs in units of what a jump costs. Features narrower than
        about β pixels are seen as jumps, wider ones as slopes.
    weight : array of shape (H, W), optional
        w ≥ 0 of each pixel; default 1.
    """

    ratio: float
    weight: Array | None = None

    def operator(self, like: Array) -> Coupling:
        """Return (d, v) ↦ (Kd − v, Ev)."""
        return SecondOrder(like)

    def value(self, g: Array) -> float:
        """Return Σ w |g| + β Σ |h| of a ``(5, H, W)`` field."""
        r = magnitude(g[:2, ...])
        return total(r if self.weight is None else self.weight * r) + self.ratio * norm_21(
            g[2:, ...]
        )

    def prox(self, z: Array, t: float) -> Array:
        """Shorten the first two components by t·w, the other three by t·β."""
        first = shrink(z[:2, ...], t if self.weight is None else t * self.weight)
        return namespace(z).concat([first, shrink(z[2:, ...], t * self.ratio)], axis=0)


TV = TotalVariation()
