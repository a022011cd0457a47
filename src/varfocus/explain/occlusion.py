r"""What frames show where surfaces hide one another, and so which end of the stack is near.

From the farthest layer j to the nearest, each drawn over what lies behind it,

.. math:: R_k ← R_k\,(1 - h_{r(k,j)} * M_j) + h_{r(k,j)} * (M_j A_j),

M_j the pixels at the depth j or nearer, A_j the sharp picture of those at j, continued to where
nearer ones hide it. As every layer goes on beneath the nearer ones, a slanted surface has no seams
between its layers.

The wrong order explains the frames worse: beside a jump the blur of what is near covers what is
far, and never the other way round.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from varfocus.canvas.tiles import spans
from varfocus.curve.coordinate import Coordinate
from varfocus.edges import End
from varfocus.edges.render import convolved
from varfocus.edges.sides import closest, extent
from varfocus.explain.fill import halved
from varfocus.explain.lens import Lens, taps, unit_coordinate

Float = NDArray[np.float32]

COMPARED_FRAMES = 8
"""Frames, spread evenly over the stack, that are drawn."""

SHARP = 0.3
"""Radii in pixels below this blur nothing."""

DOUBT, MATERIAL = 2.5, 0.05
"""Standard errors, and share of the misfit, by which one order must be better to be clear: on
11 rendered pictures with objects the wrong order left 7 to 41 % more; on photographs of a ring and
of a circuit board, which no order explains well, 2 and 0 %."""

CELL = 2.0
"""Side, in blur radii, of the cells whose differences count as independent; 8 px at least."""


def drawn(
    picture: Float, index: Float, u: NDArray[np.float64], numbers: list[int], lens: Lens
) -> Float:
    """Return some frames as they look if the first one is focused on what is nearest.

    Parameters
    ----------
    picture : ndarray of shape (H, W), float32
        Sharp picture.
    index : ndarray of shape (H, W), float32
        Depth in frames; its layers are the whole numbers.
    u : ndarray of shape (n,), float64
        Focus coordinate of the frames, over a range of 1.
    numbers : list of int
        Frames to draw.
    lens : Lens
        Blur.

    Returns
    -------
    ndarray of shape (m, H, W), float32
        R.
    """
    layer = np.clip(np.rint(index), 0, u.size - 1).astype(np.intp)
    frames = np.zeros((len(numbers), *picture.shape), np.float32)
    for j in np.unique(layer)[::-1].tolist():
        # Of equally close ones the brightest, however the image is turned.
        at = closest(layer == j, max(layer.shape), picture)[1]
        mask = (layer <= j).astype(np.float32)
        sheet = np.stack([mask, mask * picture.take(at)])
        for frame, k in zip(frames, numbers, strict=True):
            radius = lens.radius * abs(float(u[k] - u[j]))
            cover, light = sheet if radius < SHARP else convolved(sheet, taps(lens.rim, radius))
            frame *= np.float32(1.0) - cover
            frame += light
    return frames


class Order(NamedTuple):
    """How much better the frames look with the first end as the near one.

    Attributes
    ----------
    errors : float
        In standard errors; negative if the last end seems near, 0 without jumps.
    share : float
        By what share of the smaller misfit the two differ.
    """

    errors: float
    share: float

    @property
    def clear(self) -> bool:
        """Whether the difference is beyond doubt, and more than a flaw of the model makes."""
        return abs(self.errors) >= DOUBT and self.share >= MATERIAL

    @property
    def nearest(self) -> End | None:
        """The end that seems near, however clearly."""
        if self.errors == 0.0:
            return None
        return "first" if self.errors > 0 else "last"


def order_of(
    frames: Float,
    picture: Float,
    index: Float,
    axis: Coordinate,
    lens: Lens,
    noise: float,
    height: float,
) -> Order:
    r"""Return which end of a stack seems to be near, and how clearly.

    The frames are halved in size and drawn in either order; with e the misfit
    Σ_k log(1 + (I_k − R_k)²/3v) and s its difference (last near − first near), added up over the
    cells beside jumps, it is the first end by :math:`\sum s / \sqrt{\sum s^2}` standard errors.

    Parameters
    ----------
    frames : ndarray of shape (n, H, W), float32
        Brightness in [0, 1].
    picture : ndarray of shape (H, W), float32
        Sharp picture of the depth map.
    index : ndarray of shape (H, W), float32
        Depth in frames.
    axis : Coordinate
        Focus coordinate.
    lens : Lens
        Blur.
    noise : float
        v.
    height : float
        Least height of a jump in frames.

    Returns
    -------
    Order
        Of the two misfits beside jumps.
    """
    index, picture = thinned(index), halved(picture)
    low, high = extent(index, 1)
    jump = high - low > np.float32(height)
    if not jump.any():
        return Order(0.0, 0.0)
    lens = replace(lens, radius=0.5 * lens.radius)
    beside = ndimage.maximum_filter(jump, 2 * int(np.ceil(0.5 * lens.radius)) + 3, mode="nearest")
    n = len(frames)
    u = unit_coordinate(axis, np.arange(float(n)))
    numbers = np.unique(np.rint(np.linspace(0, n - 1, min(n, COMPARED_FRAMES)))).astype(int)
    measured = np.stack([halved(frames[k]) for k in numbers])
    first = drawn(picture, index, u, numbers.tolist(), lens)
    last = drawn(picture, n - 1 - index, 1.0 - u[::-1], (n - 1 - numbers).tolist(), lens)
    worth = np.float32(1.0 / (3.0 * noise))
    e_first, e_last = (
        np.log1p(np.square(measured - each) * worth).sum(axis=0) for each in (first, last)
    )
    side = max(4, int(np.ceil(CELL * lens.radius)))
    starts = [[part.start for part in spans(size, side)] for size in index.shape]
    cells = np.where(beside, e_last - e_first, 0.0).astype(np.float64)
    for along, start in enumerate(starts):
        cells = np.add.reduceat(cells, start, axis=along)
    error = float(np.sqrt(np.square(cells).sum()))
    if error == 0:
        return Order(0.0, 0.0)
    totals = [float(e[beside].sum(dtype=np.float64)) for e in (e_first, e_last)]
    return Order(float(cells.sum()) / error, max(totals) / max(min(totals), 1e-12) - 1.0)


def thinned(index: Float) -> Float:
    """Return depth at half the size, where `halve` puts the pixels; never between two surfaces.

    Along an odd side that is every other pixel. Of two or four that lie around a place it is the
    one closest to their mean: a surface that has most of them wins. Of equally close ones it is the
    lowest, whichever way the image is turned.
    """
    height, width = index.shape
    rows = [index[::2]] if height % 2 else [index[::2], index[1::2]]
    parts = [part[:, first::2] for part in rows for first in range(2 - width % 2)]
    around = np.sort(np.stack(parts), axis=0)
    nearest = np.abs(around - around.mean(axis=0)).argmin(axis=0)
    found: Float = np.take_along_axis(around, nearest[None], axis=0)[0]
    return found
