"""The linear operators and proximal maps of the energy.

K
    forward differences, ``(Kd)_x = d[i, j+1] − d[i, j]``, ``(Kd)_y = d[i+1, j] − d[i, j]``,
    zero in the last column and row respectively.
Kᵀ
    its adjoint, ⟨Kd, g⟩ = ⟨d, Kᵀg⟩: a negative divergence.
‖g‖₂,₁
    sum over pixels of the Euclidean length of ``(g_x, g_y)``.

KᵀK is diagonal under the orthonormal two-dimensional DCT-II, with eigenvalues
4 sin²(πi / 2H) + 4 sin²(πj / 2W), so ``(I + λKᵀK)⁻¹`` needs no iteration and no padding.
"""

from __future__ import annotations

import numpy as np
import scipy.fft
from numpy.typing import NDArray

from varfocus import engine
from varfocus.arrays import Array, from_host, is_numpy, namespace, total, zeros

K_NORM_SQUARED = 8.0
"""Upper bound of ‖K‖² in two dimensions."""


def K(d: Array) -> Array:
    """Apply forward differences.

    Parameters
    ----------
    d : array of shape (H, W)
        Image.

    Returns
    -------
    array of shape (2, H, W)
        Differences along x (columns), then along y (rows).
    """
    g = zeros((2, *d.shape), like=d)
    g[0, :, :-1] = d[:, 1:] - d[:, :-1]
    g[1, :-1, :] = d[1:, :] - d[:-1, :]
    return g


def K_adjoint(g: Array) -> Array:
    """Apply Kᵀ.

    Parameters
    ----------
    g : array of shape (2, H, W)
        Vector field.

    Returns
    -------
    array of shape (H, W)
        ``Kᵀg``.
    """
    d = zeros(tuple(g.shape[1:]), like=g)
    d[:, :-1] -= g[0, :, :-1]
    d[:, 1:] += g[0, :, :-1]
    d[:-1, :] -= g[1, :-1, :]
    d[1:, :] += g[1, :-1, :]
    return d


def magnitude(g: Array) -> Array:
    """Return the Euclidean length of the vectors of a ``(2, H, W)`` or ``(3, H, W)`` field."""
    square = g[0, ...] * g[0, ...] + g[1, ...] * g[1, ...]
    if g.shape[0] == 3:
        square = square + g[2, ...] * g[2, ...]
    return namespace(g).sqrt(square)


def norm_21(g: Array) -> float:
    """Return ‖g‖₂,₁ of a field, the sum of its `magnitude`."""
    return total(magnitude(g))


def shrink(z: Array, threshold: float | Array) -> Array:
    r"""Shorten each vector by `threshold`: the proximal map of ``threshold · ‖·‖₂,₁``.

    .. math:: g = z \, \max(|z| - t, 0) / |z|, \qquad g = 0 \text{ where } z = 0.

    Parameters
    ----------
    z : array of shape (2, H, W) or (3, H, W)
        Vector field.
    threshold : float or array of shape (H, W)
        Length t ≥ 0 to subtract.

    Returns
    -------
    array of the shape of z
        Shrunken field.
    """
    xp = namespace(z)
    length = magnitude(z)
    kept = xp.clip(length - threshold, 0.0, None)
    return z * (kept / xp.where(length > 0, length, xp.ones_like(length)))


def huber_shrink(z: Array, threshold: float | Array, epsilon: float) -> Array:
    r"""Apply the proximal map of ``threshold · Σ φ_ε(|·|)``, φ_ε quadratic below ε, |·| beyond.

    .. math:: g = z \frac{ε}{ε + t} \text{ where } |z| ≤ t + ε, \qquad g = z (1 - t/|z|)
              \text{ elsewhere}.

    Parameters
    ----------
    z : array of shape (2, H, W)
        Vector field.
    threshold : float or array of shape (H, W)
        t ≥ 0.
    epsilon : float
        ε ≥ 0; 0 is `shrink`.

    Returns
    -------
    array of shape (2, H, W)
        Shrunken field.
    """
    xp = namespace(z)
    length = magnitude(z)
    long = length > threshold + epsilon
    kept = 1.0 - threshold / xp.where(long, length, xp.ones_like(length))
    small = epsilon / (epsilon + threshold) if epsilon > 0 else 0.0
    return z * xp.where(long, kept, small * xp.ones_like(length))


def project(p: Array, radius: float) -> Array:
    """Project each vector of a ``(2, H, W)`` field onto the disc of that radius (α‖·‖₂,₁'s dual).

    By Moreau's identity ``shrink(z, t) + project(z, t) = z``.
    """
    if radius == 0.0:
        return namespace(p).zeros_like(p)
    return p * (radius / namespace(p).clip(magnitude(p), radius, None))


class ScreenedPoisson:
    """Solves ``(I + λKᵀK) d = r`` exactly in the cosine domain.

    Parameters
    ----------
    like : array of shape (H, W)
        Gives shape, dtype and device.
    """

    def __init__(self, like: Array) -> None:
        height, width = like.shape
        self._eigenvalues = from_host(
            laplacian_eigenvalues(height)[:, None] + laplacian_eigenvalues(width)[None, :], like
        )
        self._bases = (
            None
            if is_numpy(like)
            else (from_host(dct_matrix(height), like), from_host(dct_matrix(width), like))
        )

    def solve(self, r: Array, lam: float) -> Array:
        """Return ``(I + λKᵀK)⁻¹ r``.

        Parameters
        ----------
        r : array of shape (H, W)
            Right-hand side.
        lam : float
            λ ≥ 0.

        Returns
        -------
        array of shape (H, W)
            The solution, in the dtype of `r`.
        """
        filtered = 1.0 / (1.0 + lam * self._eigenvalues)
        if self._bases is None:
            threads = engine.thread_count()
            spectrum = scipy.fft.dctn(r, type=2, norm="ortho", overwrite_x=False, workers=threads)
            spectrum *= filtered
            return scipy.fft.idctn(
                spectrum, type=2, norm="ortho", overwrite_x=True, workers=threads
            )
        # Other array libraries have no DCT; two matrix products suit an accelerator well.
        rows, columns = self._bases
        spectrum = (rows @ r @ columns.T) * filtered
        return rows.T @ spectrum @ columns


class FirstOrder:
    """The operator d ↦ Kd of regularisers of the gradient, and its linear system.

    Parameters
    ----------
    like : array of shape (H, W)
        Gives shape, dtype and device.
    """

    def __init__(self, like: Array) -> None:
        self._poisson = ScreenedPoisson(like)

    def start(self, d: Array) -> Array:  # noqa: ARG002
        """Return None: there is no other unknown than d."""
        return None

    def apply(self, d: Array, v: Array) -> Array:  # noqa: ARG002
        """Return Kd."""
        return K(d)

    def solve(self, r: Array, target: Array, v: Array, lam: float) -> tuple[Array, Array]:  # noqa: ARG002
        """Return ``(I + λKᵀK)⁻¹ r`` and None."""
        return self._poisson.solve(r, lam), None


def laplacian_eigenvalues(n: int) -> NDArray[np.float64]:
    """Return the n eigenvalues 4 sin²(πi / 2n) of one-dimensional KᵀK."""
    values: NDArray[np.float64] = 4.0 * np.sin(np.pi * np.arange(n) / (2 * n)) ** 2
    return values


def dct_matrix(n: int) -> NDArray[np.float64]:
    """Return the orthonormal DCT-II of length n as an ``(n, n)`` matrix."""
    i, j = np.arange(n)[:, None], np.arange(n)[None, :]
    basis: NDArray[np.float64] = np.sqrt(2.0 / n) * np.cos(np.pi * i * (2 * j + 1) / (2 * n))
    basis[0] /= np.sqrt(2.0)
    return basis
