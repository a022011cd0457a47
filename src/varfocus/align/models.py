r"""Maps of the plane that alignment may use, as 3×3 matrices on pixel coordinates (x, y, 1).

Small changes of a map are written Δ(δ)(p) ≈ p + B(p) δ with p = (u, v) in coordinates that are
zero at the centre and one at the corners of a frame; the columns of B are

- shift: (1, 0), (0, 1);
- similarity: those and (u, v) for scale, (−v, u) for rotation;
- affine: those of a shift and (u, 0), (v, 0), (0, u), (0, v);
- homography: those of affine and (u², uv), (uv, v²).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]

LEAST_OVERLAP = 0.3
"""Share of the width and height that two frames must have in common."""


def basis(model: str, u: Any, v: Any) -> list[tuple[Any, Any]]:
    """Return the columns of B at normalised positions, each as its x and y part."""
    shift: list[tuple[Any, Any]] = [(1.0, 0.0), (0.0, 1.0)]
    if model == "shift":
        return shift
    if model == "similarity":
        return [*shift, (u, v), (-v, u)]
    affine = [*shift, (u, 0.0), (v, 0.0), (0.0, u), (0.0, v)]
    if model == "affine":
        return affine
    return [*affine, (u * u, u * v), (u * v, v * v)]


def step(model: str, delta: NDArray[np.float64]) -> Matrix:
    """Return Δ(δ) as a matrix on normalised coordinates."""
    change = np.eye(3)
    change[:2, 2] = delta[:2]
    if model == "similarity":
        scale, turn = delta[2:]
        change[:2, :2] += [[scale, -turn], [turn, scale]]
    elif model in ("affine", "homography"):
        change[:2, :2] += delta[2:6].reshape(2, 2)
    if model == "homography":
        change[2, :2] = -delta[6:]
    return change


def parameters(model: str, matrix: Matrix) -> NDArray[np.float64]:
    """Return the δ nearest to a matrix on normalised coordinates: the inverse of `step`."""
    shift, linear = matrix[:2, 2], matrix[:2, :2] - np.eye(2)
    if model == "shift":
        return np.array(shift)
    if model == "similarity":
        scale, turn = (linear[0, 0] + linear[1, 1]) / 2, (linear[1, 0] - linear[0, 1]) / 2
        return np.array([*shift, scale, turn])
    affine = np.concatenate([shift, linear.ravel()])
    return affine if model == "affine" else np.concatenate([affine, -matrix[2, :2]])


def normaliser(shape: tuple[int, int]) -> Matrix:
    """Return the matrix from pixel to normalised coordinates of frames of a shape (H, W)."""
    height, width = shape
    x, y = (width - 1) / 2, (height - 1) / 2
    radius = max(np.hypot(x, y), 1.0)
    return np.array([[1 / radius, 0, -x / radius], [0, 1 / radius, -y / radius], [0, 0, 1.0]])


def scaling(factor: float) -> Matrix:
    """Return the matrix from coordinates of an image shrunk by `factor` to those of the image."""
    offset = (factor - 1) / 2
    return np.array([[factor, 0, offset], [0, factor, offset], [0, 0, 1.0]])


def zoomed(matrix: Matrix, zoom: float) -> Matrix:
    """Return a map between images as one between the same images `zoom` times larger."""
    S = scaling(zoom)
    return unit(S @ matrix @ np.linalg.inv(S))


def moved(matrix: Matrix, points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return points ``(m, 2)`` under the map."""
    homogeneous = points @ matrix[:, :2].T + matrix[:, 2]
    result: NDArray[np.float64] = homogeneous[:, :2] / homogeneous[:, 2:]
    return result


def unit(matrix: Matrix) -> Matrix:
    """Return the same map with 1 in the last corner."""
    scaled: Matrix = matrix / matrix[2, 2]
    return scaled


def grid(shape: tuple[int, int], across: int = 5) -> NDArray[np.float64]:
    """Return ``across²`` points (x, y) over a frame of a shape (H, W), corners included."""
    x, y = np.meshgrid(np.linspace(0, shape[1] - 1, across), np.linspace(0, shape[0] - 1, across))
    return np.stack([x.ravel(), y.ravel()], axis=1)


def displacement(matrix: Matrix, shape: tuple[int, int]) -> NDArray[np.float64]:
    """Return by how many pixels each point of the `grid` of a frame moves."""
    points = grid(shape)
    distances: NDArray[np.float64] = np.linalg.norm(moved(matrix, points) - points, axis=1)
    return distances


def overlap(matrix: Matrix, shape: tuple[int, ...]) -> tuple[slice, slice] | None:
    """Return a box of pixels whose maps lie inside a frame; None if there is not enough.

    The frame is drawn in on each side by as much as its corners there lie outside.
    """
    height, width = shape[:2]
    corners = np.array([[0, 0], [width - 1, 0], [0, height - 1], [width - 1, height - 1]], float)
    with np.errstate(all="ignore"):
        x, y = moved(matrix, corners).T
    if not (np.isfinite(x).all() and np.isfinite(y).all()):
        return None
    left, right = max(0.0, -x[0], -x[2]), max(0.0, x[1] - (width - 1), x[3] - (width - 1))
    top, bottom = max(0.0, -y[0], -y[1]), max(0.0, y[2] - (height - 1), y[3] - (height - 1))
    x_0, x_1 = int(np.ceil(left)) + 1, width - int(np.ceil(right)) - 1
    y_0, y_1 = int(np.ceil(top)) + 1, height - int(np.ceil(bottom)) - 1
    if x_1 - x_0 < max(LEAST_OVERLAP * width, 8) or y_1 - y_0 < max(LEAST_OVERLAP * height, 8):
        return None
    return slice(y_0, y_1), slice(x_0, x_1)
