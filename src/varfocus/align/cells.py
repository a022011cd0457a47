r"""Motion told apart from defocus: displacements of cells, each with a defocus of its own.

In a cell the moving image M, mapped to the fixed one F, differs from it by

.. math:: M - F = -u·∇S + b_1 ∇^2 S + b_2 ∇^4 S + v·∇∇^2 S + a S + c + \text{noise},
          \qquad S = (F + M)/2,

u the displacement in pixels, b₁ half the difference of the variances of both blurs in px², b₂ what
else an even aperture does, a and c gain and bias of the light. The third derivatives are what a
change of blur does where blur is uneven: with half the variance β(p) of the blur of S,
v = −2 b₁ ∇β. They look so much like motion that a tilted or curved surface seems to grow without
them. Defocus is thus explained by blur, whatever it is next door, and only what remains counts as
motion. Each cell gives u with a
covariance from its own residual. The map of the frame is fitted to all of them, robustly, and how
much they contradict each other tells how sure it is: cells, not pixels, are what is independent.

Some bias remains where blur changes much, at outlines for example. `Fit.blur` tells how much it
changed where the answer comes from.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from varfocus import engine
from varfocus.align.models import basis, grid, moved, normaliser

Grey = NDArray[np.float32]
Array = NDArray[np.float64]

SMALLEST_SIDE, LARGEST_SIDE = 8, 40
"""Bounds of the side of a cell in pixels."""

ACROSS = 20
"""Cells along the shorter side of a frame, where the bounds allow it."""

EDGE = 2
"""Pixels at the border that have no derivatives."""

INDEPENDENT = 0.2
"""Share of the pixels that are independent once smoothed by a Gaussian of σ = 1 px."""

LEAST_VARIANCE = 1e-8
"""Mean square of what is not explained, white being 1, that rounding may cause."""

LEAST_SCATTER = 0.02
"""Displacements in pixels by which cells differ even without noise."""

BIAS = 25.0
"""Apparent displacement by defocus in units of b₁ over half the diagonal of the frame."""

CAUCHY = 2.385
ROUNDS = 6
UNKNOWN = 1e6
"""Standard deviation in pixels of what is not known at all."""


@dataclass(frozen=True)
class Cells:
    """What the cells of q pairs of images say.

    Attributes
    ----------
    positions : ndarray of shape (m, 2)
        Centres (x, y) in pixels of the fixed images.
    shifts : ndarray of shape (q, m, 2)
        Displacements u in pixels.
    covariances : ndarray of shape (q, m, 2, 2)
        Of `shifts`, in px².
    blurs : ndarray of shape (q, m)
        Changes of blur b₁ in px².
    residuals : ndarray of shape (q, m)
        Mean squares that neither motion nor defocus explains.
    """

    positions: Array
    shifts: Array
    covariances: Array
    blurs: Array
    residuals: Array


@dataclass(frozen=True)
class Fit:
    """Maps fitted to the cells of q pairs.

    Attributes
    ----------
    delta : ndarray of shape (q, p)
        Parameters of `varfocus.align.models.step` times half the diagonal: pixels at the corners.
    covariance : ndarray of shape (q, p, p)
        Of `delta`, from how much the cells contradict each other.
    ratio : ndarray of shape (q,)
        Fisher's ratio: χ² of standing still less that of the map, per parameter, over χ² of the map
        per degree of freedom.
    blur : ndarray of shape (q,)
        Mean |b₁| in px² where the answer comes from.
    told : ndarray of shape (q,), bool
        Whether there were enough cells to tell; if not, `delta` is 0 and its covariance immense.
    """

    delta: Array
    covariance: Array
    ratio: Array
    blur: Array
    told: NDArray[np.bool_]


def cell_side(shape: tuple[int, ...]) -> int:
    """Return the side in pixels of the cells of a frame."""
    return min(max(min(shape[:2]) // ACROSS, SMALLEST_SIDE), LARGEST_SIDE)


def measured(F: Grey, M: Grey, side: int, corner: tuple[int, int] = (0, 0)) -> Cells:
    """Return what the cells of pairs of images say.

    Parameters
    ----------
    F, M : ndarray of shape (q, H, W), float32
        Fixed and moving images, smoothed by σ ≈ 1 px; at least ``side + 2·EDGE`` pixels wide.
    side : int
        Side of a cell in pixels.
    corner : (int, int)
        Position (x, y) of the first pixel.
    """
    products = feature_products(F, M, side)
    size = np.sqrt(np.maximum(np.diagonal(products, axis1=2, axis2=3), 1e-20))
    products /= size[..., :, None] * size[..., None, :]
    share, inverse = _solved(products)
    answer = share * size[..., -1:] / size[..., :-1]
    left_over = 1.0 - (share * products[..., :-1, -1]).sum(axis=2)
    pixels = side * side
    residuals = np.maximum(left_over * size[..., -1] ** 2 / pixels, LEAST_VARIANCE)
    freedom = max(INDEPENDENT * pixels - 8.0, 1.0)
    scale = (residuals * pixels / freedom)[..., None, None] / (
        size[..., :2, None] * size[..., None, :2]
    )
    down, across = ((s - 2 * EDGE) // side for s in F.shape[1:])
    y, x = np.mgrid[:down, :across]
    first = np.asarray(corner) + EDGE + (side - 1) / 2
    positions = first + side * np.stack([x.ravel(), y.ravel()], axis=1)
    return Cells(positions, -answer[..., :2], inverse * scale, answer[..., 2], residuals)


def _solved(products: Array) -> tuple[Array, Array]:
    """Solve the normal equations of all cells at once.

    Parameters
    ----------
    products : ndarray of shape (q, m, 8, 8)
        Correlations of seven features and, last, of what they should explain.

    Returns
    -------
    share : ndarray of shape (q, m, 7)
        Of each feature.
    inverse : ndarray of shape (q, m, 2, 2)
        First rows and columns of the inverse.
    """
    # Gauss and Jordan, a cell per column: many small systems cost LAPACK more than they weigh.
    # Correlations with a ridge need no pivots.
    systems = np.empty((7, 10, *products.shape[:2]))
    systems[:, :8] = np.moveaxis(products[..., :-1, :], (2, 3), (0, 1))
    systems[:, 8:] = np.eye(7)[:, :2, None, None]
    systems[range(7), range(7)] += 1e-4
    for k in range(7):
        rest = systems[:, k + 1 :]
        rest[k] /= systems[k, k]
        for i in range(7):
            if i != k:
                rest[i] -= systems[i, k] * rest[k]
    return np.moveaxis(systems[:, 7], 0, 2), np.moveaxis(systems[:2, 8:], (0, 1), (2, 3))


def feature_products(F: Grey, M: Grey, side: int) -> Array:
    """Return the products of the features of each cell, less their means, summed over its pixels.

    Parameters
    ----------
    F, M, side
        As for `measured`.

    Returns
    -------
    ndarray of shape (q, m, 8, 8), float64
        Of ∂S/∂x, ∂S/∂y, ∇²S, ∇⁴S, ∂∇²S/∂x, ∂∇²S/∂y, S and M − F.
    """
    if engine.accepts(F, M) and min(F.shape[1:]) >= side + 2 * EDGE:
        return engine.cell_products(F, M, side)
    S = np.float32(0.5) * (F + M)
    bend = _laplacian(S)
    features = np.stack(
        [
            cut(np.float32(0.5) * (S[:, 2:-2, 3:-1] - S[:, 2:-2, 1:-3]), side),
            cut(np.float32(0.5) * (S[:, 3:-1, 2:-2] - S[:, 1:-3, 2:-2]), side),
            cut(bend[:, 1:-1, 1:-1], side),
            cut(_laplacian(bend), side),
            cut(np.float32(0.5) * (bend[:, 1:-1, 2:] - bend[:, 1:-1, :-2]), side),
            cut(np.float32(0.5) * (bend[:, 2:, 1:-1] - bend[:, :-2, 1:-1]), side),
            cut(S[:, 2:-2, 2:-2], side),
            cut((M - F)[:, 2:-2, 2:-2], side),
        ],
        axis=2,
    )
    features -= features.mean(axis=3, keepdims=True)
    products: Array = np.matmul(features, features.swapaxes(2, 3)).astype(np.float64)
    return products


def fitted(cells: Cells, model: str, shape: tuple[int, int]) -> Fit:
    """Fit a map to the cells of each pair, robustly.

    Parameters
    ----------
    cells : Cells
        What they say.
    model : str
        What the maps may be.
    shape : (int, int)
        Height and width of the fixed images.
    """
    B = columns_at(cells.positions, model, shape)
    count = B.shape[2]
    u, radius = cells.shifts, 1.0 / normaliser(shape)[0, 0]
    spread = LEAST_SCATTER**2 + (BIAS / radius * cells.blurs) ** 2
    W = _inverse(cells.covariances + spread[..., None, None] * np.eye(2))
    trust = np.ones(u.shape[:2])
    for _ in range(ROUNDS):
        weighted = W * trust[..., None, None]
        BW = _applied(B, weighted).reshape(len(u), count, -1)
        A = BW @ B.reshape(-1, count)
        diagonal = np.sqrt(np.maximum(np.einsum("qaa->qa", A), 1e-30))
        inverse = np.linalg.inv(
            A / (diagonal[:, :, None] * diagonal[:, None, :]) + 1e-9 * np.eye(count)
        )
        inverse /= diagonal[:, :, None] * diagonal[:, None, :]
        delta = (inverse @ (BW @ u.reshape(len(u), -1, 1)))[..., 0]
        chi = _squares(u - np.einsum("mia,qa->qmi", B, delta), W)
        usual = np.maximum(np.median(chi, axis=1, keepdims=True) / 1.386, 1e-9)
        trust = 1.0 / (1.0 + chi / (CAUCHY**2 * usual))
    weight = trust * (W[..., 0, 0] + W[..., 1, 1])
    total = np.maximum(weight.sum(axis=1), 1e-30)
    effective = total**2 / np.maximum((weight**2).sum(axis=1), 1e-30)
    freedom = 2.0 * np.minimum(effective, trust.sum(axis=1)) - count
    remains = (trust * chi).sum(axis=1) / np.maximum(2.0 * trust.sum(axis=1) - count, 1.0)
    gained = (trust * (_squares(u, W) - chi)).sum(axis=1) / count
    inflation = np.maximum(remains, 1.0) * freedom / np.maximum(freedom - 2.0, 1.0)
    covariance = inverse * inflation[:, None, None]
    told = np.isfinite(delta).all(axis=1) & np.isfinite(covariance).all(axis=(1, 2))
    told &= freedom >= count
    return Fit(
        np.where(told[:, None], delta, 0.0),
        np.where(told[:, None, None], covariance, UNKNOWN**2 * np.eye(count)),
        np.where(told, gained / np.maximum(remains, 1e-9), 0.0),
        (weight * np.abs(cells.blurs)).sum(axis=1) / total,
        told,
    )


def _applied(B: Array, W: Array) -> Array:
    """Return Bᵀ W of each cell, ``(q, p, m, 2)``."""
    first, second = (B[:, i].T[None] for i in (0, 1))
    columns = [first * W[:, None, :, 0, j] + second * W[:, None, :, 1, j] for j in (0, 1)]
    return np.stack(columns, axis=3)


def columns_at(positions: Array, model: str, shape: tuple[int, int]) -> Array:
    """Return B of `varfocus.align.models` at positions in pixels, ``(m, 2, p)``."""
    u, v = moved(normaliser(shape), positions).T
    return np.stack(
        [
            np.stack([np.broadcast_to(c, u.shape) for c in part], axis=1)
            for part in basis(model, u, v)
        ],
        axis=2,
    )


def root_mean_square(moment: Array, model: str, shape: tuple[int, int]) -> Array:
    """Return √mean |B δ|² over a frame, in pixels, from E δδᵀ of shape ``(…, p, p)``."""
    B = columns_at(grid(shape), model, shape)
    mean = np.einsum("mia,mib->ab", B, B) / len(B)
    return np.asarray(np.sqrt(np.maximum(np.einsum("...ab,ab->...", moment, mean), 0.0)))


def cut(images: Grey, side: int) -> Grey:
    """Return the pixels of the cells of images, ``(q, m, side²)``."""
    count, height, width = images.shape
    down, across = height // side, width // side
    whole = images[:, : down * side, : across * side]
    parts = whole.reshape(count, down, side, across, side).swapaxes(2, 3)
    return parts.reshape(count, down * across, side * side)


def _laplacian(S: Grey) -> Grey:
    return (
        S[:, 1:-1, 2:]
        + S[:, 1:-1, :-2]
        + S[:, 2:, 1:-1]
        + S[:, :-2, 1:-1]
        - np.float32(4.0) * S[:, 1:-1, 1:-1]
    )


def _inverse(C: Array) -> Array:
    """Return the inverses of symmetric 2×2 matrices."""
    a, b, d = C[..., 0, 0], C[..., 0, 1], C[..., 1, 1]
    swapped = np.stack([np.stack([d, -b], axis=-1), np.stack([-b, a], axis=-1)], axis=-2)
    return np.asarray(swapped / np.maximum(a * d - b * b, 1e-60)[..., None, None])


def _squares(u: Array, W: Array) -> Array:
    """Return uᵀ W u."""
    x, y = u[..., 0], u[..., 1]
    return np.asarray(
        W[..., 0, 0] * x * x + 2.0 * W[..., 0, 1] * x * y + W[..., 1, 1] * y * y, np.float64
    )
