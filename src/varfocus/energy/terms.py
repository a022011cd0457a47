r"""The energy E(d) = D(d) + α R(d).

.. math:: D(d) = -\sum_{ij} c_{ij}(d_{ij}), \qquad R(d) = \|Kd\|_{2,1}.

D does not couple pixels, is smooth and not convex; R couples pixels, is convex and not smooth.
Other choices of R are in `varfocus.energy.regulariser`.
"""

from __future__ import annotations

from functools import cached_property
from typing import Protocol

import numpy as np

from varfocus import curve, engine
from varfocus.arrays import Array, namespace, total
from varfocus.curve.cubic import catmull_rom, cubic
from varfocus.energy.operators import K
from varfocus.energy.regulariser import TV, Regulariser


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
        self._last: tuple[Array, tuple[Array, Array, Array]] | None = None

    def _evaluate(self, d: Array) -> tuple[Array, Array, Array]:
        # Minimisers ask for the value of a new iterate and then for its derivatives.
        if self._last is None or self._last[0] is not d:
            self._last = (d, catmull_rom(self.cost, d * (1.0 / self.step)))
        return self._last[1]

    def value(self, d: Array) -> float:
        """Return Σ C(d)."""
        return total(self._evaluate(d)[0])

    def gradient(self, d: Array) -> Array:
        """Return C′(d), of the shape of `d`."""
        return self._evaluate(d)[1] * (1.0 / self.step)

    def bend(self, d: Array) -> Array:
        """Return C″(d), of the shape of `d`."""
        return self._evaluate(d)[2] * (1.0 / self.step**2)

    def clip(self, d: Array) -> Array:
        """Return `d` clipped to the sampled range."""
        return namespace(d).clip(d, 0.0, (self.cost.shape[0] - 1) * self.step)


class WindowTerm:
    """A `VolumeTerm` of which only the samples around a first guess are kept.

    The engine's form: 16 samples of 16 bit per pixel instead of a volume of all labels. d can move
    by six labels at least in either direction, unless the range ends there.

    Parameters
    ----------
    samples : ndarray of shape (H, W, 16), uint16
        C at labels base − 1 … base + 14, less a pixel's offset, in units of its `scale`.
    scale : ndarray of shape (H, W), float32
        Unit of each pixel.
    base : ndarray of shape (H, W), int16
        d stays between labels base and base + 13.
    offsets : ndarray of shape (H,), float64
        Sum of the offsets of each row.
    step : float
        Distance of labels.
    """

    def __init__(self, samples: Array, scale: Array, base: Array, offsets: Array, step: float):
        self.samples, self.scale, self.base, self.offsets = samples, scale, base, offsets
        self.step = step

    def _evaluate(self, d: Array) -> tuple[Array, Array, Array]:
        u = d * np.float32(1.0 / self.step) - self.base
        i = np.clip(u.astype(np.intp), 0, self.samples.shape[2] - 4)
        a, b, c, e = (
            np.take_along_axis(self.samples, (i + s)[..., None], axis=2)[..., 0].astype(np.float32)
            for s in range(4)
        )
        return cubic(a, b, c, e, u - i.astype(np.float32))

    def value(self, d: Array) -> float:
        """Return Σ C(d)."""
        return float(self.offsets.sum()) + total(self.scale * self._evaluate(d)[0])

    def gradient(self, d: Array) -> Array:
        """Return C′(d), of the shape of `d`."""
        return self.scale * self._evaluate(d)[1] * np.float32(1.0 / self.step)

    def bend(self, d: Array) -> Array:
        """Return C″(d), of the shape of `d`."""
        return self.scale * self._evaluate(d)[2] * np.float32(1.0 / self.step**2)

    def clip(self, d: Array) -> Array:
        """Return `d` clipped to where samples are."""
        low = self.base * np.float32(self.step)
        high = (self.base + (self.samples.shape[2] - 3)) * np.float32(self.step)
        return np.clip(d, low, high)


def energy(data: DataTerm, alpha: float, d: Array, regulariser: Regulariser = TV) -> float:
    """Return E(d) = D(d) + α R(Kd), by default R is the total variation."""
    if isinstance(data, ContrastTerm) and regulariser is TV and engine.accepts(data.a, d):
        data_value, variation = engine.energy_terms(data.a, d)
        return data_value + alpha * variation
    return data.value(d) + alpha * regulariser.value(K(d))
