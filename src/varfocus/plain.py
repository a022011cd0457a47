r"""Plain areas of the picture, inside which no depth can jump.

Where a picture is plain, nothing tells the depth but what is around: the semi-global paths that
arrive from different sides meet somewhere in the middle, and the blur of a near object beside it
makes its depth reach too far. But a surface ends where the picture has an edge. So all of a plain
area belongs to one surface, the one that most of it has already, and the rest takes the depth of
the closest pixel of that surface on the rim.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

Float = NDArray[np.float32]
Mask = NDArray[np.bool_]

PLAIN = 2.5
"""Weight of a jump, see `varfocus.contrast.jump_weight`, above which a pixel is plain."""

LEAST, REFERENCE = 150, 320 * 320
"""Pixels of the smallest area looked at, less is a gap in the texture; more in larger pictures."""

RIM = 2
"""Width in pixels of the rim around an area."""

MAJORITY = 0.5
"""Share of an area that must have one surface already."""

LARGEST = 2**20
"""Pixels of a box in which the closest rim is looked for; larger ones are thinned out."""


def settle(index: Float, weight: Float, jump: float) -> Float:
    """Move jumps out of plain areas.

    Parameters
    ----------
    index : ndarray of shape (H, W), float32
        Depth in frames.
    weight : ndarray of shape (H, W), float32
        How dear jumps are at each pixel; high where the picture is plain.
    jump : float
        Surfaces are told apart if no depth on the rim lies between them over so many frames.

    Returns
    -------
    ndarray of shape (H, W), float32
        Depth in frames; unchanged but for the smaller side of jumps inside plain areas.
    """
    area, count = ndimage.label(weight > PLAIN)
    least = LEAST * max(index.size / REFERENCE, 1.0)
    large = np.bincount(area.ravel(), minlength=count + 1) >= least
    large[0] = False
    # In texture there are many small gaps: only what is large gets a number.
    area = np.where(large, np.cumsum(large, dtype=np.int32), np.int32(0))[area]
    settled = index.copy()
    for number, box in enumerate(ndimage.find_objects(area), start=1):
        grown = tuple(slice(max(s.start - RIM, 0), s.stop + RIM) for s in box)
        _settle(index[grown], area[grown] == number, jump, settled[grown])
    return settled


def _settle(index: Float, inside: Mask, jump: float, settled: Float) -> None:
    """Settle one area, in place."""
    rim = ndimage.maximum_filter(inside, 2 * RIM + 1, mode="nearest") & ~inside
    depths = np.sort(index[rim])
    gaps = np.flatnonzero(np.diff(depths) > jump)
    if gaps.size == 0:
        return
    surface = np.searchsorted(0.5 * (depths[gaps] + depths[gaps + 1]), index)
    shares = np.bincount(surface[inside])
    main = int(shares.argmax())
    source, strays = rim & (surface == main), inside & (surface != main)
    if shares[main] < MAJORITY * inside.sum() or not source.any():
        return
    settled[strays] = index[closest(source, strays)]


def closest(source: Mask, wanted: Mask) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return row and column of the closest pixel of `source` to each pixel of `wanted`.

    In masks larger than `LARGEST` only every s-th row and column is compared, so the answer may be
    further away by some s pixels.
    """
    step = int(np.ceil(np.sqrt(source.size / LARGEST)))
    rows, columns = (np.arange(0, side, step) for side in source.shape)
    # A cell holds a source if any of its pixels is one: its place stands for the cell.
    flat = np.flatnonzero(source)
    place = np.full((rows.size, columns.size), -1, np.intp)
    y, x = np.divmod(flat, source.shape[1])
    place[y // step, x // step] = flat
    nearest = ndimage.distance_transform_edt(place < 0, return_distances=False, return_indices=True)
    y, x = np.nonzero(wanted)
    cell = nearest[:, y // step, x // step]
    found = place[cell[0], cell[1]]
    return found // source.shape[1], found % source.shape[1]
