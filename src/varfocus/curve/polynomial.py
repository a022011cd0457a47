r"""The contrast curve c_ij(x) of every pixel: a least-squares polynomial over focus.

Frame k of n sits at ``x_k = 20 (k/(n−1) − ½) ∈ [−10, 10]``, which makes α independent of the
number of frames. The polynomial is written in Chebyshev's basis on t = x/10,

.. math:: c_{ij}(x) = \sum_m a_m T_m(x / 10),

because powers of x would have a condition number of 1e16 at degree 8. The coefficients are
linear in the data, so they are accumulated frame by frame and the focus volume is never stored.
"""

from __future__ import annotations

import numpy as np
from numpy.polynomial import chebyshev
from numpy.typing import NDArray

from varfocus.arrays import Array, from_host, namespace, zeros

X_MAX = 10.0
"""Half the length of the paper's depth axis."""


def focus_axis(n: int) -> NDArray[np.float64]:
    """Return the position x_k ∈ [−10, 10] of each of n frames."""
    return 2.0 * X_MAX * (np.arange(n) / (n - 1) - 0.5)


def index_to_x(index: Array, n: int) -> Array:
    """Map a fractional 0-based frame number to the depth axis."""
    return (index / (n - 1) - 0.5) * (2.0 * X_MAX)


def x_to_index(x: Array, n: int) -> Array:
    """Map the depth axis to a fractional 0-based frame number."""
    return (x / (2.0 * X_MAX) + 0.5) * (n - 1)


def largest_degree(n: int) -> int:
    """Return the highest degree that n frames support without curling at the ends.

    ``(n + 1) // 2``: the paper's own ratio (degree 8 on 15 frames), and below the 2√n beyond
    which least squares on evenly spaced points oscillates (Runge).
    """
    return (n + 1) // 2


def fit_matrix(n: int, degree: int) -> NDArray[np.float64]:
    """Return the ``(degree + 1, n)`` matrix that maps contrast values to coefficients."""
    vandermonde = chebyshev.chebvander(focus_axis(n) / X_MAX, degree)
    return np.linalg.pinv(vandermonde).astype(np.float64)


class CurveFit:
    """Accumulates the coefficients of all pixels, one frame at a time.

    Parameters
    ----------
    n : int
        Number of frames.
    degree : int
        Degree of the polynomial, at most ``n − 1``.

    Attributes
    ----------
    coefficients : array of shape (degree + 1, H, W)
        Chebyshev coefficients of what has been added so far.
    """

    def __init__(self, n: int, degree: int) -> None:
        self._matrix = fit_matrix(n, degree)
        self.coefficients: Array = None

    def add(self, k: int, contrast: Array) -> None:
        """Add the contrast of frame `k`, an array of shape ``(H, W)``."""
        if self.coefficients is None:
            self.coefficients = zeros((self._matrix.shape[0], *contrast.shape), like=contrast)
        for m, weight in enumerate(self._matrix[:, k]):
            self.coefficients[m, ...] += float(weight) * contrast


def fit(contrast: Array, degree: int) -> Array:
    """Fit all curves of a focus volume at once.

    Parameters
    ----------
    contrast : array of shape (n, H, W)
        Contrast of every pixel in every frame.
    degree : int
        Degree of the polynomial.

    Returns
    -------
    array of shape (degree + 1, H, W)
        Chebyshev coefficients a_m.
    """
    matrix = from_host(fit_matrix(contrast.shape[0], degree), contrast)
    return namespace(contrast).tensordot(matrix, contrast, axes=1)


def evaluate(a: Array, x: Array) -> Array:
    """Return c(x) by Clenshaw's recurrence.

    Parameters
    ----------
    a : array of shape (degree + 1, H, W)
        Coefficients.
    x : array of shape (H, W), or float
        Position on the depth axis.

    Returns
    -------
    array of shape (H, W)
        The value of every curve at its x.
    """
    two_t = x * (2.0 / X_MAX)
    later = namespace(a).zeros_like(a[0, ...])
    latest = later
    for m in range(a.shape[0] - 1, 0, -1):
        latest, later = a[m, ...] + two_t * latest - later, latest
    return a[0, ...] + 0.5 * two_t * latest - later


def derivative(a: Array) -> Array:
    """Return the coefficients of c′(x).

    Parameters
    ----------
    a : array of shape (degree + 1, H, W)
        Coefficients of c.

    Returns
    -------
    array of shape (max(degree, 1), H, W)
        Coefficients of the derivative with respect to x.
    """
    degree = a.shape[0] - 1
    if degree == 0:
        return namespace(a).zeros_like(a)
    slope = zeros((degree, *a.shape[1:]), like=a)
    # T_m′ = 2m (T_{m−1} + T_{m−3} + …), the last term halved when it is T_0.
    for m in range(degree, 0, -1):
        slope[m - 1, ...] = (2.0 * m / X_MAX) * a[m, ...]
        if m + 1 < degree:
            slope[m - 1, ...] += slope[m + 1, ...]
    slope[0, ...] *= 0.5
    return slope


def argmax(a: Array, samples: int = 129) -> Array:
    """Return the x ∈ [−10, 10] at which each curve is largest.

    The best of evenly spaced samples, refined by Newton steps that may not leave the two
    neighbouring intervals. Exact to float precision when no two maxima lie within one interval.

    Parameters
    ----------
    a : array of shape (degree + 1, H, W)
        Coefficients.
    samples : int
        Number of samples over the axis.

    Returns
    -------
    array of shape (H, W)
        Position of the global maximum.
    """
    xp = namespace(a)
    best = evaluate(a, -X_MAX)
    x = xp.full_like(best, -X_MAX)
    step = 2.0 * X_MAX / (samples - 1)
    for s in range(1, samples):
        value = evaluate(a, -X_MAX + s * step)
        better = value > best
        best = xp.where(better, value, best)
        x = xp.where(better, xp.full_like(x, -X_MAX + s * step), x)
    low, high = xp.clip(x - step, -X_MAX, None), xp.clip(x + step, None, X_MAX)
    first, second = derivative(a), derivative(derivative(a))
    for _ in range(6):
        curvature = evaluate(second, x)
        newton = evaluate(first, x) / xp.where(curvature < 0, curvature, -xp.ones_like(x))
        refined = xp.where(curvature < 0, xp.clip(x - newton, low, high), x)
        x = xp.where(evaluate(a, refined) >= evaluate(a, x), refined, x)
    return x
