r"""The energy E(d) = D(d) + α R(d).

.. math:: D(d) = -\sum_{ij} c_{ij}(d_{ij}), \qquad R(d) = \|Kd\|_{2,1}.

D does not couple pixels, is smooth and not convex; R couples pixels, is convex and not smooth.
Other choices of R are in `varfocus.regulariser`.
"""

from __future__ import annotations

from functools import cached_property
from typing import Protocol

from varfocus import curve, native
from varfocus.arrays import Array, namespace, total
from varfocus.operators import K
from varfocus.regulariser import TV, Regulariser
from varfocus.volume import catmull_rom


class DataTerm(Protocol):
    """A differentiable data fidelity term on a box."""

    def value(self, d: Array) -> float:
        """Return D(d)."""

    def gradient(self, d: Array) -> Array:
        """Return ∇D(d)."""

    def clip(self, d: Array) -> Array:
        """Return the nearest point at which D is defined."""


class ContrastTerm:
    """The paper's data term, D(d) = −Σ c_ij(d_ij), on d ∈ [−10, 10].

    Parameters
    ----------
    a : array of shape (degree + 1, H, W)
        Chebyshev coefficients of the contrast curves.
    """

    def __init__(self, a: Array) -> None:
        self.a = a

    @cached_property
    def _slope(self) -> Array:
        return curve.derivative(self.a)

    def value(self, d: Array) -> float:
        """Return −Σ c(d)."""
        return -total(curve.evaluate(self.a, d))

    def gradient(self, d: Array) -> Array:
        """Return −c′(d), of the shape of `d`."""
        return -curve.evaluate(self._slope, d)

    def clip(self, d: Array) -> Array:
        """Return `d` clipped to the range of the stack; a polynomial means nothing beyond."""
        return namespace(d).clip(d, -curve.X_MAX, curve.X_MAX)


class QuadraticTerm:
    """A convex data term, D(d) = ½ ‖d − f‖², which makes E the problem of Rudin, Osher, Fatemi.

    Parameters
    ----------
    f : array of shape (H, W)
        Data.
    """

    def __init__(self, f: Array) -> None:
        self.f = f

    def value(self, d: Array) -> float:
        """Return ½ ‖d − f‖²."""
        return 0.5 * total((d - self.f) ** 2)

    def gradient(self, d: Array) -> Array:
        """Return d − f."""
        return d - self.f

    def clip(self, d: Array) -> Array:
        """Return `d`: the term is defined everywhere."""
        return d


class VolumeTerm:
    """A sampled data term, D(d) = Σ C_ij(d_ij), with cubics between the samples.

    Parameters
    ----------
    cost : array of shape (L, H, W)
        Cost at L evenly spaced depths.
    step : float
        Their distance; d ∈ [0, (L − 1)·step].
    """

    def __init__(self, cost: Array, step: float) -> None:
        self.cost, self.step = cost, step
        self._last: tuple[Array, Array, Array] | None = None

    def _evaluate(self, d: Array) -> tuple[Array, Array]:
        # Minimisers ask for the value of a new iterate and then for its gradient.
        if self._last is None or self._last[0] is not d:
            self._last = (d, *catmull_rom(self.cost, d * (1.0 / self.step)))
        return self._last[1], self._last[2]

    def value(self, d: Array) -> float:
        """Return Σ C(d)."""
        return total(self._evaluate(d)[0])

    def gradient(self, d: Array) -> Array:
        """Return C′(d), of the shape of `d`."""
        return self._evaluate(d)[1] * (1.0 / self.step)

    def clip(self, d: Array) -> Array:
        """Return `d` clipped to the sampled range."""
        return namespace(d).clip(d, 0.0, (self.cost.shape[0] - 1) * self.step)


def energy(data: DataTerm, alpha: float, d: Array, regulariser: Regulariser = TV) -> float:
    """Return E(d) = D(d) + α R(Kd), R total variation unless told."""
    if isinstance(data, ContrastTerm) and regulariser is TV and native.accepts(data.a, d):
        data_value, variation = native.energy_terms(data.a, d)
        return data_value + alpha * variation
    return data.value(d) + alpha * regulariser.value(K(d))
