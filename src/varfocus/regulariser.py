r"""Regularisers R of the gradient field g = Kd, by value and proximal map.

========  ===========================================================  =======================
TV        Σ \|g\|                                                      jumps are free of charge
Huber-TV  Σ φ(\|g\|), φ(r) = r²/2ε for r ≤ ε, r − ε/2 beyond           and slopes have no stairs
========  ===========================================================  =======================

Both have the same slope at infinity, so the weight α means the same for jumps.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from varfocus.arrays import Array, namespace, total
from varfocus.operators import huber_shrink, magnitude, norm_21, shrink


class Regulariser(Protocol):
    """A convex function of a ``(2, H, W)`` field that does not couple pixels."""

    def value(self, g: Array) -> float:
        """Return R(g)."""

    def prox(self, z: Array, t: float) -> Array:
        """Return argmin_g t·R(g) + ½‖g − z‖²."""


@dataclass(frozen=True)
class TotalVariation:
    """R(g) = ‖g‖₂,₁, the paper's choice."""

    def value(self, g: Array) -> float:
        """Return ‖g‖₂,₁."""
        return norm_21(g)

    def prox(self, z: Array, t: float) -> Array:
        """Shorten each vector by `t`."""
        return shrink(z, t)


@dataclass(frozen=True)
class HuberTV:
    """R(g) = Σ w φ_ε(|g|): quadratic up to ε, total variation beyond.

    Parameters
    ----------
    epsilon : float
        ε ≥ 0, in the unit of d per pixel: slopes up to this are smooth. 0 is total variation.
    weight : array of shape (H, W), optional
        w ≥ 0 of each pixel; 1 unless told.
    """

    epsilon: float
    weight: Array | None = None

    def value(self, g: Array) -> float:
        """Return Σ w φ_ε(|g|)."""
        r = magnitude(g)
        if self.epsilon > 0:
            gentle = r * r / (2 * self.epsilon)
            r = namespace(g).where(r <= self.epsilon, gentle, r - 0.5 * self.epsilon)
        return total(r if self.weight is None else self.weight * r)

    def prox(self, z: Array, t: float) -> Array:
        """Return `varfocus.operators.huber_shrink` with threshold t·w."""
        return huber_shrink(z, t if self.weight is None else t * self.weight, self.epsilon)


TV = TotalVariation()
