r"""From a height map to a closed body that can be printed.

The map is cut into squares between neighbouring vertices. A square belongs to the body if its four
heights are known, or if it lies in a hole of known ones, where the nearest known height stands in.
The body has a roof of two triangles per square, a flat floor below it, and walls along every edge
where a square has no neighbour. Each edge then belongs to exactly two triangles, which run along it
in opposite ways: the body is closed and has an inside. Squares that meet in a corner alone would
share one upright edge among four walls; the squares between them are added.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from varfocus.surface.mesh import Mesh, coarsened, coarsening

SPECK = 0.01
"""Pieces smaller than this share of the largest are left out: they would fall off the printer."""


def solid_mesh(
    height: NDArray[np.float32], pitch: tuple[float, float], *, base: float, triangles: int
) -> Mesh:
    """Return the body between a height map and a flat floor.

    Parameters
    ----------
    height : ndarray of shape (H, W), float32
        Height towards the lens; NaN where unknown.
    pitch : tuple of float
        Distance of neighbouring columns, and of rows, in the unit of `height`.
    base : float
        Thickness of the body where it is lowest, above 0, in the unit of `height`.
    triangles : int
        About the largest number of triangles: the map is coarsened until they suffice.

    Returns
    -------
    Mesh
        The floor at z = 0, triangles counter-clockwise seen from outside; without any if no four
        neighbouring pixels are known.
    """
    rows, columns = height.shape
    step = coarsening(height.shape, max(triangles // 2 - 2 * (rows + columns), triangles // 4))
    coarse = coarsened(height, step)
    squares = _squares(np.isfinite(coarse))
    z = _filled(coarse)
    faces, used = _closed(squares, z)
    i, j = np.divmod(used, coarse.shape[1])
    x = (np.minimum((j + 0.5) * step, columns) - columns / 2) * pitch[0]
    y = (rows / 2 - np.minimum((i + 0.5) * step, rows)) * pitch[1]
    top = z.ravel()[used]
    roof = top - (top.min() if top.size else 0.0) + base
    places = np.stack([x / (columns * pitch[0]) + 0.5, 0.5 - y / (rows * pitch[1])], axis=1)
    vertices = np.concatenate(
        [np.stack([x, y, roof], axis=1), np.stack([x, y, np.zeros_like(x)], axis=1)]
    )
    return Mesh(
        vertices.astype(np.float32),
        faces.astype(np.int32),
        np.concatenate([places, places]).astype(np.float32),
    )


def _squares(known: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return which squares between neighbouring vertices belong to the body."""
    if min(known.shape) < 2:
        return np.zeros((max(known.shape[0] - 1, 0), max(known.shape[1] - 1, 0)), bool)
    inside: NDArray[np.bool_] = known[:-1, :-1] & known[1:, :-1] & known[:-1, 1:] & known[1:, 1:]
    inside = ndimage.binary_fill_holes(inside)
    number, count = ndimage.label(inside)
    if count > 1:
        sizes = np.bincount(number.ravel())
        sizes[0] = 0
        inside = (sizes >= SPECK * sizes.max())[number] & inside
    while True:
        a, b, c, d = inside[:-1, :-1], inside[:-1, 1:], inside[1:, :-1], inside[1:, 1:]
        falling, rising = a & d & ~b & ~c, b & c & ~a & ~d
        if not (falling.any() or rising.any()):
            return inside
        inside = inside.copy()
        inside[:-1, 1:] |= falling
        inside[:-1, :-1] |= rising


def _filled(coarse: NDArray[np.float32]) -> NDArray[np.float32]:
    known = np.isfinite(coarse)
    if known.all() or not known.any():
        return np.where(known, coarse, np.float32(0.0))
    nearest = ndimage.distance_transform_edt(~known, return_distances=False, return_indices=True)
    filled: NDArray[np.float32] = coarse[tuple(nearest)]
    return filled


def _closed(
    squares: NDArray[np.bool_], z: NDArray[np.float32]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return triangles over the vertices in use, roof first and then floor, and which these are."""
    columns = z.shape[1]
    i, j = np.nonzero(squares)
    a = i * columns + j  # upper left, upper right, lower left, lower right
    b, c, d = a + 1, a + columns, a + columns + 1
    flat = z.ravel()
    falling = (np.abs(flat[a] - flat[d]) <= np.abs(flat[b] - flat[c]))[:, None]
    first = np.where(falling, np.stack([a, c, d], 1), np.stack([a, c, b], 1))
    second = np.where(falling, np.stack([a, d, b], 1), np.stack([b, c, d], 1))
    roof = np.concatenate([first, second])
    around = np.pad(squares, 1)
    edges = []
    for start, end, (up, left) in (
        (a, c, (0, -1)),
        (c, d, (1, 0)),
        (d, b, (0, 1)),
        (b, a, (-1, 0)),
    ):
        open_side = ~around[i + 1 + up, j + 1 + left]
        edges.append(np.stack([start[open_side], end[open_side]], axis=1))
    edge = np.concatenate(edges)
    used, numbered = np.unique(np.concatenate([roof.ravel(), edge.ravel()]), return_inverse=True)
    roof = numbered[: roof.size].reshape(-1, 3)
    u, v = numbered[roof.size :].reshape(-1, 2).T
    n = used.size
    walls = [np.stack([v, u, u + n], axis=1), np.stack([v, u + n, v + n], axis=1)]
    faces: NDArray[np.int64] = np.concatenate([roof, roof[:, ::-1] + n, *walls])
    return faces, used
