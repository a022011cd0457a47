"""Rectangles of whole pixels, and what an outline encloses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Rectangle(NamedTuple):
    """A rectangle of whole pixels of an image; pixel (0, 0) is in the upper left corner.

    Attributes
    ----------
    left, top : int
        Column and row of its first pixel.
    width, height : int
        Sides in pixels; 0 for an empty one.
    """

    left: int
    top: int
    width: int
    height: int

    @classmethod
    def whole(cls, shape: tuple[int, ...]) -> Rectangle:
        """Return all of an image of shape ``(H, W, …)``."""
        return cls(0, 0, shape[1], shape[0])

    @property
    def right(self) -> int:
        """Column beyond the last one."""
        return self.left + self.width

    @property
    def bottom(self) -> int:
        """Row beyond the last one."""
        return self.top + self.height

    @property
    def shape(self) -> tuple[int, int]:
        """Height and width, as arrays count them."""
        return self.height, self.width

    @property
    def window(self) -> tuple[slice, slice]:
        """Rows and columns, to index arrays of shape ``(H, W, …)`` with."""
        return slice(self.top, self.bottom), slice(self.left, self.right)

    def lies_in(self, shape: tuple[int, ...]) -> bool:
        """Tell whether it has pixels, and all of them belong to an image of shape ``(H, W, …)``."""
        inside = 0 <= self.left < self.right <= shape[1] and self.top >= 0
        return inside and self.top < self.bottom <= shape[0]

    def common(self, other: Rectangle) -> Rectangle:
        """Return the intersection of two rectangles; width or height is 0 if it is empty."""
        left, top = max(self.left, other.left), max(self.top, other.top)
        right, bottom = min(self.right, other.right), min(self.bottom, other.bottom)
        return Rectangle(left, top, max(right - left, 0), max(bottom - top, 0))

    def __str__(self) -> str:
        return f"{self.left},{self.top},{self.width},{self.height}"


def inside(shape: tuple[int, int], corners: Sequence[tuple[float, float]]) -> NDArray[np.bool_]:
    """Return the pixels whose centres an outline winds around.

    Parameters
    ----------
    shape : (int, int)
        Height and width of the picture.
    corners : sequence of (float, float)
        x, y of the corners; the last is joined to the first.

    Returns
    -------
    ndarray of shape (H, W), bool
        True where the winding number is not zero.
    """
    height, width = shape
    points = np.asarray(corners, np.float64)
    turns = np.zeros((height, width + 1), np.int16)
    for (x_0, y_0), (x_1, y_1) in zip(points, np.roll(points, -1, axis=0), strict=True):
        way, low, high = (1, y_0, y_1) if y_0 < y_1 else (-1, y_1, y_0)
        # Rows whose centres j + ½ the edge crosses, and the first centre right of the crossing.
        top, bottom = np.clip(np.ceil(np.array([low, high]) - 0.5), 0, height).astype(int)
        rows = np.arange(top, bottom)
        if rows.size:
            x = x_0 + (rows + 0.5 - y_0) * (x_1 - x_0) / (y_1 - y_0)
            turns[rows, np.clip(np.ceil(x - 0.5), 0, width).astype(int)] += way
    wound: NDArray[np.bool_] = np.cumsum(turns[:, :width], axis=1, dtype=np.int16) != 0
    return wound
