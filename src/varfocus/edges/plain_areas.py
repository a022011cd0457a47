r"""Plain areas of the picture, inside which no depth can jump.

Where a picture is plain, only the surroundings determine the depth: the semi-global paths that
arrive from different sides meet somewhere in the middle, and the blur of a near object beside it
makes its depth reach too far. But a surface ends where the picture has an edge. So all of a plain
area belongs to one surface, the one that most of it has already, and the rest takes the depth of
the closest pixel of that surface on the rim.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from varfocus.edges import sides

Float = NDArray[np.float32]
Mask = NDArray[np.bool_]

PLAIN = 2.5
"""Weight of a jump, see `varfocus.contrast.jump_weight`, above which a pixel is plain."""

LEAST, REFERENCE = 150, 320 * 320
"""Pixels of the smallest area considered: less is a gap in the texture; more in larger pictures."""

RIM = 2
"""Width in pixels of the rim around an area."""

MAJORITY = 0.5
"""Share of an area that must belong to one surface already."""

LARGEST = 2**20
"""Pixels of a box in which the closest rim is looked for; larger ones are thinned out."""

WIDEST = 2**22
"""Pixels of the largest box around an area that is settled: what it takes must fit into memory."""

BAND = 2**22
"""Pixels among which areas are looked for at a time: the maps may lie on a disk."""


Moves = tuple[NDArray[np.intp], NDArray[np.intp], Float]
"""Rows and columns of pixels, and the depth in frames that each takes."""


def settle(index: Float, weight: Float, jump: float) -> None:
    """Move jumps out of plain areas.

    Parameters
    ----------
    index : ndarray of shape (H, W), float32
        Depth in frames; changed in place on the smaller side of jumps inside plain areas.
    weight : ndarray of shape (H, W), float32
        Cost of a jump at each pixel; high where the picture is plain.
    jump : float
        Surfaces are distinct if no depth on the rim lies between them over this many frames.
    """
    least = LEAST * max(index.size / REFERENCE, 1.0)
    moves: list[Moves] = []  # all before the first is made: areas see one another's rims
    for area in plain_areas(weight, least):
        (top, left), (bottom, right) = area.first, area.last
        if (bottom - top) * (right - left) > WIDEST:
            continue
        above, before = max(top - RIM, 0), max(left - RIM, 0)
        grown = np.s_[above : bottom + RIM, before : right + RIM]
        labels, _ = ndimage.label(weight[grown] > PLAIN)
        inside = labels == labels[area.member[0] - above, area.member[1] - before]
        rows, columns, depths = _settled(index[grown], inside, jump)
        if depths.size:
            moves.append((rows + above, columns + before, depths))
    for rows, columns, depths in moves:
        index[rows, columns] = depths


@dataclass
class Area:
    """Plain pixels that touch one another.

    Attributes
    ----------
    pixels : int
        How many.
    first, last : tuple of int
        Row and column of the upper left corner of the box around it, and those beyond the other.
    member : tuple of int
        Row and column of one of them.
    """

    pixels: int
    first: tuple[int, int]
    last: tuple[int, int]
    member: tuple[int, int]


def plain_areas(weight: Float, least: float, rows: int | None = None) -> list[Area]:
    """Return the connected plain areas, found in bands of rows.

    Parameters
    ----------
    weight : ndarray of shape (H, W), float32
        As for `settle`.
    least : float
        Smaller areas, in pixels, are left out.
    rows : int, optional
        Height of a band, by default as many as make `BAND` pixels; the areas do not depend on it.

    Returns
    -------
    list of Area
        In no particular order.
    """
    if rows is None:
        rows = max(BAND // weight.shape[1], 1)
    pieces: list[Area] = []
    touching: list[NDArray[np.intp]] = []
    above = np.full(weight.shape[1], -1)
    for top in range(0, weight.shape[0], rows):
        labels, count = ndimage.label(weight[top : top + rows] > PLAIN)
        # In texture there are many small gaps: only what is large, or may be, gets a number.
        counts = np.bincount(labels.ravel(), minlength=count + 1) >= least
        counts[labels[0]] = counts[labels[-1]] = True
        counts[0] = False
        labels = np.where(counts, np.cumsum(counts), 0)[labels]
        numbers = np.where(labels[0] > 0, labels[0] + len(pieces) - 1, -1)
        both = (numbers >= 0) & (above >= 0)
        touching.append(np.unique(np.stack([above[both], numbers[both]]), axis=1))
        above = np.where(labels[-1] > 0, labels[-1] + len(pieces) - 1, -1)
        pixels = np.bincount(labels.ravel())
        for number, (y, x) in enumerate(ndimage.find_objects(labels), start=1):
            column = x.start + int((labels[y.start, x] == number).argmax())
            pieces.append(
                Area(
                    int(pixels[number]),
                    (top + y.start, x.start),
                    (top + y.stop, x.stop),
                    (top + y.start, column),
                )
            )
    areas = _joined(pieces, np.concatenate(touching, axis=1))
    return [area for area in areas if area.pixels >= least]


def _joined(pieces: list[Area], touching: NDArray[np.intp]) -> list[Area]:
    """Join the pieces of areas that bands have cut."""
    if touching.size == 0:
        return pieces
    size = len(pieces)
    graph = coo_array((np.ones(touching.shape[1]), tuple(touching)), shape=(size, size))
    joined: dict[int, Area] = {}
    for number, piece in zip(connected_components(graph)[1], pieces, strict=True):
        area = joined.setdefault(number, piece)
        if area is piece:
            continue
        area.pixels += piece.pixels
        area.first = min(area.first[0], piece.first[0]), min(area.first[1], piece.first[1])
        area.last = max(area.last[0], piece.last[0]), max(area.last[1], piece.last[1])
    return list(joined.values())


def _settled(index: Float, inside: Mask, jump: float) -> Moves:
    """Settle one area."""
    none = np.empty(0, np.intp), np.empty(0, np.intp), np.empty(0, np.float32)
    rim = ndimage.maximum_filter(inside, 2 * RIM + 1, mode="nearest") & ~inside
    depths = np.sort(index[rim])
    gaps = np.flatnonzero(np.diff(depths) > jump)
    if gaps.size == 0:
        return none
    surface = np.searchsorted(0.5 * (depths[gaps] + depths[gaps + 1]), index)
    shares = np.bincount(surface[inside])
    main = int(shares.argmax())
    source, strays = rim & (surface == main), inside & (surface != main)
    if shares[main] < MAJORITY * inside.sum() or not source.any():
        return none
    rows, columns = np.nonzero(strays)
    # Between the lowest and the highest of several that are equally close: none is preferred.
    low, high = (index[closest(source, strays, rank)] for rank in (-index, index))
    return rows, columns, np.float32(0.5) * (low + high)


def closest(source: Mask, wanted: Mask, rank: Float) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return row and column of the closest pixel of `source` to each pixel of `wanted`.

    Of several that are equally close it is that of the highest rank. In masks larger than `LARGEST`
    only every s-th row and column is compared, so the answer may be further away by some s pixels.
    """
    step = int(np.ceil(np.sqrt(source.size / LARGEST)))
    rows, columns = (np.arange(0, side, step) for side in source.shape)
    # A cell holds a source if any of its pixels is one: its place stands for the cell.
    flat = np.flatnonzero(source)
    place = np.full((rows.size, columns.size), -1, np.intp)
    y, x = np.divmod(flat, source.shape[1])
    place[y // step, x // step] = flat
    _, nearest = sides.closest(place >= 0, max(place.shape), rank.take(np.maximum(place, 0)))
    y, x = np.nonzero(wanted)
    found = place.take(nearest[y // step, x // step])
    return found // source.shape[1], found % source.shape[1]
