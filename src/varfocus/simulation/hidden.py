"""What a picture does not show: the background behind the borders of near objects.

A lens looks around corners: in a frame focused on the background, some of it shines through the
blurred border of an object in front, from places that the picture itself does not show. Here the
background goes on behind the object as its mirror image: a pixel p of the object, whose closest
pixel of the background beside the jump is s, hides the depth of s and the colour of the background
at 2s − p, or that of s where there is something else.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

Array = NDArray[np.float32]
Positions = NDArray[np.float64]


def hidden_background(
    colour: Array, position: Positions, jump: float, reach: float
) -> tuple[Array, Positions]:
    """Return the surface behind the visible one.

    Parameters
    ----------
    colour : ndarray of float32, shape (H, W, C)
        The picture.
    position : ndarray of float64, shape (H, W)
        Inverse depth 1/z: larger is nearer.
    jump : float
        Neighbours whose positions differ by more belong to different objects.
    reach : float
        Pixels that a lens can look behind a border.

    Returns
    -------
    colour : ndarray of float32, shape (H, W, C)
        What is hidden at each pixel.
    position : ndarray of float64, shape (H, W)
        Its inverse depth; NaN where nothing is hidden within reach.
    """
    beside = _far_sides(position, jump)
    nothing = np.full(position.shape, np.nan)
    if not beside.any():
        return colour, nothing
    distance, (row, column) = ndimage.distance_transform_edt(~beside, return_indices=True)
    found = position[row, column]
    inside = (distance <= reach) & (position > found + jump)
    height, width = position.shape
    rows, columns = np.indices(position.shape)
    mirrored = (
        np.clip(2 * row - rows, 0, height - 1),
        np.clip(2 * column - columns, 0, width - 1),
    )
    same = np.abs(position[mirrored] - found) <= jump
    behind = np.where(same[..., None], colour[mirrored], colour[row, column])
    return behind, np.where(inside, found, nothing)


def _far_sides(position: Positions, jump: float) -> NDArray[np.bool_]:
    """Return the pixels with a neighbour that is nearer by more than a jump."""
    far = np.zeros(position.shape, dtype=bool)
    for axis in (0, 1):
        step = np.diff(position, axis=axis)
        first = [slice(None)] * 2
        second = [slice(None)] * 2
        first[axis], second[axis] = slice(None, -1), slice(1, None)
        far[tuple(first)] |= step > jump
        far[tuple(second)] |= step < -jump
    return far
