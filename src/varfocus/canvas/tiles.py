"""An image cut into tiles, each with as much around it as its pixels depend on."""

from __future__ import annotations

import itertools
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


def tiles(shape: tuple[int, ...], side: int, reach: int = 0, grid: int = GRID) -> list[Tile]:
    """Cut an image into tiles, row by row.

    Parameters
    ----------
    shape : tuple of int
        Height and width of the image; further axes do not matter.
    side : int
        Side of the tiles in pixels, a multiple of `GRID`; the last ones are what is left.
    reach : int
        Pixels around a tile that it depends on, at least.
    grid : int
        What tiles with their surroundings begin at multiples of.

    Returns
    -------
    list of Tile
        Their inner parts cover the image once.
    """
    down, across = (
        [slice(start, min(start + side, length)) for start in range(0, length, side)]
        for length in shape[:2]
    )
    return [grown((rows, columns), shape, reach, grid) for rows in down for columns in across]


def spans(length: int, most: int) -> list[slice]:
    """Cut a length into as few parts as are no longer than `most`, symmetric about its middle.

    An odd length cannot be halved: then the number of parts is odd, too.
    """
    count = -(-length // most)
    count += count % 2 == 0 and length % 2 == 1
    cuts = [-(-i * length // count) for i in range(count // 2 + 1)]
    cuts += [length - cut for cut in cuts[: (count + 1) // 2][::-1]]
    return [slice(start, stop) for start, stop in itertools.pairwise(cuts)]


def grown(inner: Box, shape: tuple[int, ...], reach: int, grid: int = GRID) -> Tile:
    """Return a part of an image with its surroundings; parameters as for `tiles`."""
    if not reach:
        return Tile(inner, inner)
    rows, columns = (
        slice(
            max(s.start - reach, 0) // grid * grid,
            length - max(length - s.stop - reach, 0) // grid * grid,
        )
        for s, length in zip(inner, shape, strict=False)
    )
    return Tile(inner, (rows, columns))
