r"""From a height map to a triangle mesh: coarsened, torn at depth jumps, unknown pixels left out.

Every 2×2 block of known pixels becomes two triangles, split along the diagonal over which the
height changes less. A triangle whose corners differ in height by more than

.. math:: J + 4 \operatorname{median}_{9×9} r

is left out: it would hang like a curtain between two objects. J is the least jump (by default one
frame distance) and r the range of heights in each block, so a steep but even slope stays whole,
even where a jump is smeared over a few pixels.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

SLOPE_FACTOR = 4.0
"""How many times the usual height range around it a triangle may span, beyond the least jump."""

LARGEST = 1e30
"""A jump above this tears nothing."""

SLOPE_WINDOW = 9
"""Side in blocks of the window over which the usual range is taken."""


@dataclass(frozen=True)
class Mesh:
    """Triangles, counter-clockwise when seen from above the surface.

    Attributes
    ----------
    vertices : ndarray of shape (N, 3), float32
        x to the right, y up the picture, z towards the lens, centred on the origin.
    faces : ndarray of shape (M, 3), int32
        Corners of each triangle.
    places : ndarray of shape (N, 2), float32
        Column and row of each vertex in the picture, as a share of its width and height in [0, 1].
    """

    vertices: NDArray[np.float32]
    faces: NDArray[np.int32]
    places: NDArray[np.float32]


def height_mesh(
    height: NDArray[np.float32], pitch: tuple[float, float], *, jump: float, triangles: int
) -> Mesh:
    """Return the surface of a height map.

    Parameters
    ----------
    height : ndarray of shape (H, W), float32
        Height towards the lens; NaN where unknown.
    pitch : tuple of float
        Distance of neighbouring columns, and of rows, in the unit of `height`.
    jump : float
        Least jump J in the unit of `height`; infinite tears nothing.
    triangles : int
        Largest number of triangles: the map is coarsened by a whole number of pixels until it fits.

    Returns
    -------
    Mesh
        In the unit of `height`; without triangles if fewer than three pixels are known.
    """
    rows, columns = height.shape
    step = coarsening(height.shape, triangles)
    coarse = coarsened(height, step)
    faces = torn_triangles(coarse, jump)
    used, corners = np.unique(faces, return_inverse=True)
    row, column = np.divmod(used, coarse.shape[1])
    # The last block may hang over the border; its middle must not.
    x = np.minimum((column + 0.5) * step, columns)
    y = np.minimum((row + 0.5) * step, rows)
    z = coarse.ravel()[used]
    middle = 0.5 * (z.min() + z.max()) if z.size else 0.0
    vertices = np.stack(
        [(x - columns / 2) * pitch[0], (rows / 2 - y) * pitch[1], z - middle], axis=1
    )
    return Mesh(
        vertices=vertices.astype(np.float32),
        faces=corners.reshape(-1, 3).astype(np.int32),
        places=np.stack([x / columns, y / rows], axis=1).astype(np.float32),
    )


def height_points(height: NDArray[np.float32], pitch: tuple[float, float]) -> NDArray[np.float32]:
    """Return one point ``(x, y, z)`` per known pixel, row by row, placed as in `height_mesh`."""
    rows, columns = height.shape
    row, column = np.nonzero(np.isfinite(height))
    z = height[row, column]
    middle = 0.5 * (z.min() + z.max()) if z.size else 0.0
    x, y = (column + 0.5 - columns / 2) * pitch[0], (rows / 2 - row - 0.5) * pitch[1]
    return np.stack([x, y, z - middle], axis=1).astype(np.float32)


def coarsening(shape: tuple[int, ...], triangles: int) -> int:
    """Return the least block side for which a grid of `shape` has no more triangles than asked."""
    rows, columns = shape
    step = 1
    while 2 * (-(-rows // step) - 1) * (-(-columns // step) - 1) > triangles:
        step += 1
    return step


def coarsened(height: NDArray[np.float32], step: int) -> NDArray[np.float32]:
    """Return the lower median of the known heights in blocks of `step` × `step` pixels.

    The median is one of the heights that were measured: unlike a mean, it invents none between
    two objects.

    Parameters
    ----------
    height : ndarray of shape (H, W), float32
        NaN where unknown.
    step : int
        Side of a block.

    Returns
    -------
    ndarray of shape (⌈H/step⌉, ⌈W/step⌉), float32
        NaN where nothing in the block is known.
    """
    if step == 1:
        return height
    rows, columns = (-(-size // step) for size in height.shape)
    padded = np.full((rows * step, columns * step), np.nan, np.float32)
    padded[: height.shape[0], : height.shape[1]] = height
    blocks = padded.reshape(rows, step, columns, step).swapaxes(1, 2).reshape(rows, columns, -1)
    blocks = np.sort(blocks, axis=2)  # NaN last
    known = np.isfinite(blocks).sum(axis=2, keepdims=True)
    middle = np.maximum(known - 1, 0) // 2
    median: NDArray[np.float32] = np.take_along_axis(blocks, middle, axis=2)[..., 0]
    return median


def torn_triangles(height: NDArray[np.float32], jump: float) -> NDArray[np.int64]:
    """Return the triangles of a grid of heights as flat pixel numbers, jumps and NaN left out.

    Parameters
    ----------
    height : ndarray of shape (H, W), float32
        NaN where unknown.
    jump : float
        Least jump J.

    Returns
    -------
    ndarray of shape (M, 3), int64
        Counter-clockwise with y up.
    """
    rows, columns = height.shape
    number = np.arange(rows * columns).reshape(rows, columns)
    first, second = slice(None, -1), slice(1, None)
    corners = np.stack([number[i, j].ravel() for i in (first, second) for j in (first, second)])
    z = height.ravel()[corners]
    known = np.isfinite(z)
    falling = np.abs(z[0] - z[3]) <= np.abs(z[1] - z[2])  # over the diagonal ╲
    falling = np.where(known[0] & known[3], falling | ~(known[1] & known[2]), False)
    chosen = np.where(
        falling[None, None],
        np.array([[0, 2, 3], [0, 3, 1]])[:, :, None],
        np.array([[0, 2, 1], [1, 2, 3]])[:, :, None],
    )  # (2 triangles, 3 corners, blocks)
    z_of = np.take_along_axis(z[None], chosen, axis=1)
    span = z_of.max(axis=1) - z_of.min(axis=1)  # NaN if a corner is unknown
    most = jump if jump < LARGEST else np.inf
    keep = span <= most + SLOPE_FACTOR * _usual_range(z, (rows - 1, columns - 1))[None]
    faces = np.take_along_axis(corners[None], chosen, axis=1)
    # Triangle pairs stay together, so that neighbours in the picture are neighbours in the file.
    both: NDArray[np.int64] = faces.transpose(2, 0, 1)[keep.T]
    return both


def _usual_range(z: NDArray[np.float32], shape: tuple[int, int]) -> NDArray[np.float32]:
    """Return the median over a window of the height range of each block of four pixels."""
    span = z.max(axis=0) - z.min(axis=0)
    known = np.isfinite(span)
    if not known.any():
        return np.zeros(span.size, np.float32)
    span = np.where(known, span, np.median(span[known])).reshape(shape)
    usual: NDArray[np.float32] = ndimage.median_filter(span, SLOPE_WINDOW, mode="nearest")
    return usual.ravel()


def vertex_normals(mesh: Mesh) -> NDArray[np.float32]:
    """Return unit normals ``(N, 3)``: the mean of the triangles at a vertex, weighted by area."""
    corner = mesh.vertices[mesh.faces].astype(np.float64)
    normal = np.cross(corner[:, 1] - corner[:, 0], corner[:, 2] - corner[:, 0])
    vertex = mesh.faces.T.ravel()
    total = np.stack(
        [
            np.bincount(vertex, np.tile(normal[:, axis], 3), minlength=len(mesh.vertices))
            for axis in range(3)
        ],
        axis=1,
    )
    length = np.linalg.norm(total, axis=1, keepdims=True)
    return (total / np.where(length > 0.0, length, 1.0)).astype(np.float32)
