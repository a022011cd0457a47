r"""Second derivatives on a staggered grid: E, its adjoint, and the linear system of TGV's ADMM.

v = (v_x, v_y) lives where Kd does: v_x between a pixel and its right neighbour, v_y between a pixel
and the one below. Its symmetrised derivative

.. math:: Ev = \tfrac12(∇v + ∇v^T) = (∂_x v_x,\; ∂_y v_y,\; \tfrac12(∂_y v_x + ∂_x v_y))

has the first two components at pixels, where both neighbours of v exist, and the third at the
corners between four pixels. The third is stored times √2, so that the length of the stored vector
is the Frobenius norm of the symmetric matrix. EKd = 0 exactly if d is affine, up to the border.

System
    The d and v of ½‖d − r‖² + ½λ‖Kd − v − g‖² + ½λ‖Ev − h‖². Under cosine transforms of d and mixed
    sine and cosine transforms of v, K is multiplication by −k, k = (2 sin πi/2W, 2 sin πj/2H).
    E would be diagonal too if v were zero beyond the border; the differences across it, which E
    leaves out, are added as a proximal term ½λ‖(Ẽ − E)(v − v_old)‖², Ẽ being E with them. What
    remains, three unknowns per frequency, has the solution

    .. math:: d̂ &= \frac{r̂ - λ\, k·(ĝ + q̂/s)}{1 + λ|k|^4/s}, \qquad s = 1 + |k|^2, \\
              v̂ &= \frac{q̂ - k\,(k·q̂)/2s}{1 + |k|^2/2} - \frac{k\,d̂}{s},
              \qquad q = -g + E^Th + (Ẽ^TẼ - E^TE)\,v_{old}.
"""

from __future__ import annotations

import math

import numpy as np
import scipy.fft
from numpy.typing import NDArray

from varfocus import engine
from varfocus.arrays import Array, from_host, is_numpy, namespace, zeros
from varfocus.energy.operators import K, dct_matrix, laplacian_eigenvalues

ROOT_HALF = math.sqrt(0.5)


def E(v: Array) -> Array:
    """Apply the symmetrised derivative.

    Parameters
    ----------
    v : array of shape (2, H, W)
        Vector field on the grid of Kd; what it holds in the last column of v_x and the last row
        of v_y is ignored.

    Returns
    -------
    array of shape (3, H, W)
        ∂_x v_x, ∂_y v_y, (∂_y v_x + ∂_x v_y)/√2; zero where a neighbour is missing.
    """
    h = zeros((3, *v.shape[1:]), like=v)
    h[0, :, 1:-1] = v[0, :, 1:-1] - v[0, :, :-2]
    h[1, 1:-1, :] = v[1, 1:-1, :] - v[1, :-2, :]
    down, across = v[0, 1:, :-1] - v[0, :-1, :-1], v[1, :-1, 1:] - v[1, :-1, :-1]
    h[2, :-1, :-1] = ROOT_HALF * (down + across)
    return h


def E_adjoint(h: Array) -> Array:
    """Apply Eᵀ.

    Parameters
    ----------
    h : array of shape (3, H, W)
        Field of symmetric matrices.

    Returns
    -------
    array of shape (2, H, W)
        ``Eᵀh``.
    """
    v = zeros((2, *h.shape[1:]), like=h)
    v[0, :, 1:-1] += h[0, :, 1:-1]
    v[0, :, :-2] -= h[0, :, 1:-1]
    v[1, 1:-1, :] += h[1, 1:-1, :]
    v[1, :-2, :] -= h[1, 1:-1, :]
    shear = ROOT_HALF * h[2, :-1, :-1]
    v[0, 1:, :-1] += shear
    v[0, :-1, :-1] -= shear
    v[1, :-1, 1:] += shear
    v[1, :-1, :-1] -= shear
    return v


def across_border(v: Array) -> Array:
    """Return (ẼᵀẼ − EᵀE)v: what differences of v across the border would add to EᵀE."""
    out = zeros(tuple(v.shape), like=v)
    if v.shape[2] > 1:
        out[0, :, 0] += v[0, :, 0]
        out[0, :, -2] += v[0, :, -2]
    if v.shape[1] > 1:
        out[1, 0, :] += v[1, 0, :]
        out[1, -2, :] += v[1, -2, :]
    return out


class SecondOrder:
    """The operator (d, v) ↦ (Kd − v, Ev) of TGV, and its linear system.

    Parameters
    ----------
    like : array of shape (H, W)
        Gives shape, dtype and device.
    """

    def __init__(self, like: Array) -> None:
        height, width = like.shape
        self._k_x = from_host(np.sqrt(laplacian_eigenvalues(width))[None, :], like)
        self._k_y = from_host(np.sqrt(laplacian_eigenvalues(height))[:, None], like)
        self._square = self._k_x**2 + self._k_y**2

    def start(self, d: Array) -> Array:
        """Return the first v: zero, as if there were no slope."""
        return zeros((2, *d.shape), like=d)

    def apply(self, d: Array, v: Array) -> Array:
        """Return Kd − v and Ev as one field of shape ``(5, H, W)``."""
        return namespace(d).concat([K(d) - v, E(v)], axis=0)

    def solve(self, r: Array, target: Array, v: Array, lam: float) -> tuple[Array, Array]:
        """Return the new d and v.

        Parameters
        ----------
        r : array of shape (H, W)
            Right-hand side of d, λKᵀg included.
        target : array of shape (5, H, W)
            g and h: targets of Kd − v and Ev.
        v : array of shape (2, H, W)
            The last v.
        lam : float
            λ > 0.

        Returns
        -------
        d : array of shape (H, W)
        v : array of shape (2, H, W)
        """
        k_x, k_y, s = self._k_x, self._k_y, 1.0 + self._square
        q = E_adjoint(target[2:, ...]) - target[:2, ...] + across_border(v)
        q_x, q_y = zeros(tuple(r.shape), like=r), zeros(tuple(r.shape), like=r)
        q_x[:, 1:] = _sine(_cosine(q[0, :, :-1], 0), 1)
        q_y[1:, :] = _cosine(_sine(q[1, :-1, :], 0), 1)
        kq = (k_x * q_x + k_y * q_y) / s
        d = _cosine(_cosine(r, 0), 1)
        d = (d - lam * kq) / (1.0 + lam * self._square**2 / s)
        a = 1.0 / (1.0 + 0.5 * self._square)
        v = zeros(tuple(v.shape), like=v)
        v_x, v_y = (q_c * a - k_c * (0.5 * kq * a + d / s) for q_c, k_c in ((q_x, k_x), (q_y, k_y)))
        v[0, :, :-1] = _sine(_cosine(v_x[:, 1:], 0, inverse=True), 1)
        v[1, :-1, :] = _cosine(_sine(v_y[1:, :], 0), 1, inverse=True)
        return _cosine(_cosine(d, 0, inverse=True), 1, inverse=True), v


def _cosine(x: Array, axis: int, inverse: bool = False) -> Array:
    """Return the orthonormal DCT-II along an axis, or its inverse."""
    if x.shape[0] == 0 or x.shape[1] == 0:
        return x
    if is_numpy(x):
        transform = scipy.fft.idct if inverse else scipy.fft.dct
        return transform(x, 2, axis=axis, norm="ortho", workers=engine.thread_count())
    basis = from_host(dct_matrix(x.shape[axis]), x)
    basis = basis.T if inverse else basis
    return basis @ x if axis == 0 else x @ basis.T


def _sine(x: Array, axis: int) -> Array:
    """Return the orthonormal DST-I along an axis, which is its own inverse."""
    if x.shape[0] == 0 or x.shape[1] == 0:
        return x
    if is_numpy(x):
        return scipy.fft.dst(x, 1, axis=axis, norm="ortho", workers=engine.thread_count())
    basis = from_host(sine_matrix(x.shape[axis]), x)
    return basis @ x if axis == 0 else x @ basis


def sine_matrix(n: int) -> NDArray[np.float64]:
    """Return the orthonormal DST-I of length n as an ``(n, n)`` matrix."""
    i = np.arange(1, n + 1)
    basis: NDArray[np.float64] = math.sqrt(2.0 / (n + 1)) * np.sin(
        np.pi * i[:, None] * i[None, :] / (n + 1)
    )
    return basis
