"""An image cut into tiles, each with as much around it as its pixels depend on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, TypeAlias

Box: TypeAlias = tuple[slice, slice]
"""Rows and columns, each with a start and a stop."""

GRID = 64
"""Tiles with their surroundings begin at multiples of this many pixels, and end at as many before
the end of the image: filters that work in blocks of rows, pyramids, and the tiles of the edge stage
then divide them as they divide the whole image, so that every pixel gets the same value."""


class Tile(NamedTuple):
    """A part of an image.

    Attributes
    ----------
    inner : tuple of two slices
        What is computed, in pixels of the image.
    outer : tuple of two slices
        What is looked at, in pixels of the image.
    """

    inner: Box
    outer: Box

    @property
    def within(self) -> Box:
        """Where the inner part lies in the outer one."""
        rows, columns = (
            slice(i.start - o.start, i.stop - o.start)
            for i, o in zip(self.inner, self.outer, strict=True)
        )
        return rows, columns


def tiles(shape: tuple[int, ...], side: int, reach: int = 0) -> list[Tile]:
    """Cut an image into tiles, row by row.

    Parameters
    ----------
    shape : tuple of int
        Height and width of the image; further axes do not matter.
    side : int
        Side of the tiles in pixels, a multiple of `GRID`; the last ones are what is left.
    reach : int
        Pixels around a tile that it depends on, at least.

    Returns
    -------
    list of Tile
        Their inner parts cover the image once.
    """
    down, across = (list(_spans(length, side, reach)) for length in shape[:2])
    return [
        Tile((rows[0], columns[0]), (rows[1], columns[1])) for rows in down for columns in across
    ]


def _spans(length: int, side: int, reach: int) -> Iterator[tuple[slice, slice]]:
    for start in range(0, length, side):
        stop = min(start + side, length)
        first = max(start - reach, 0) // GRID * GRID if reach else start
        beyond = max(length - stop - reach, 0) // GRID * GRID if reach else length - stop
        yield slice(start, stop), slice(first, length - beyond)
