"""Rectangles of whole pixels."""

from __future__ import annotations

from typing import NamedTuple


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
