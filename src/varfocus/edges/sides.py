r"""The two sides of every depth jump, and which pixels are tested for the side they belong to."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from varfocus import engine
from varfocus.edges.constants import FAR_ENOUGH, FITTED, JUMP_WINDOW, EdgeConstants
from varfocus.edges.render import Float
from varfocus.engine import edges as kernels

Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Sides:
    """The jumps of a depth map.

    Attributes
    ----------
    near, far : ndarray of shape (H, W), float32
        Depth of either side of the closest jump, in pixels of blur σ.
    is_near : ndarray of shape (H, W), bool
        Whether a pixel is on the near side at present.
    asks : ndarray of shape (H, W), bool
        Pixels that may change sides.
    zone : ndarray of shape (H, W), bool
        Pixels close enough to a jump that one side continues under the other.
    """

    near: Float
    far: Float
    is_near: Mask
    asks: Mask
    zone: Mask

    def turned(self, most: np.float32) -> Sides:
        """Return the same jumps with depth counted from the other end, at `most`."""
        return Sides(most - self.far, most - self.near, ~self.is_near, self.asks, self.zone)


def find_sides(blur: Float, constants: EdgeConstants = FITTED) -> Sides | None:
    """Find the jumps of a depth map.

    Parameters
    ----------
    blur : ndarray of shape (H, W), float32
        Depth from near to far in pixels of blur σ, as `varfocus.edges.scale` measures it.
    constants : EdgeConstants
        What counts as a jump, and which pixels are tested.

    Returns
    -------
    Sides or None
        None if there is no jump.
    """
    steep = np.zeros(blur.shape, bool)
    for axis in (0, 1):
        steep |= np.abs(_rise(blur, axis)) > constants.steep
    if not steep.any():
        return None
    low, high = extent(blur, JUMP_WINDOW)
    jump = steep & (high - low > constants.high)
    if not jump.any():
        return None
    near, far = _end_means(blur, low, high, jump, constants.side_range)
    distance, nearest = closest(jump, FAR_ENOUGH, near - far)  # of equals the lowest
    near, far = near.take(nearest), far.take(nearest)
    del low, high, nearest
    is_near = np.abs(blur - near) < np.abs(blur - far)
    # Where three surfaces meet, a pixel of the third one has nothing to do with this jump.
    off = np.minimum(np.abs(blur - near), np.abs(blur - far))
    strange = off > constants.side_range * (far - near)
    close = distance <= constants.continues + JUMP_WINDOW
    close &= ~(strange & (distance > constants.ramp))
    # How close the other side is.
    asks, zone = (
        close & np.where(is_near, within(~is_near, reach), within(is_near, reach))
        for reach in (constants.asked, constants.continues)
    )
    return Sides(near, far, is_near, asks, zone)


def _rise(blur: Float, axis: int) -> Float:
    """Return how much higher the next pixel along an axis is than the one before; ends repeat."""
    along = np.moveaxis(blur, axis, 0)
    rise = np.empty_like(blur)
    out = np.moveaxis(rise, axis, 0)
    np.subtract(along[2:], along[:-2], out=out[1:-1])
    out[0], out[-1] = along[1 % len(along)] - along[0], along[-1] - along[-min(2, len(along))]
    return rise


def hopeful(blur: Float, rival: Float, constants: EdgeConstants = FITTED) -> Sides:
    """Select for testing the pixels that may show something nearer than is known yet.

    Parameters
    ----------
    blur, rival : ndarray of shape (H, W), float32
        Depth, and a depth that a pixel by itself would prefer, in pixels of blur σ.
    constants : EdgeConstants
        How much nearer is nearer, and how far neighbours follow.

    Returns
    -------
    Sides
        All on the far side; the pixels beside a rival may follow it.
    """
    nearer = blur - rival > constants.high
    asks = nearer
    near = rival
    if nearer.any():
        distance, nearest = closest(nearer, FAR_ENOUGH, rival - blur)
        near = rival.take(nearest)
        asks = (distance <= constants.beside) & (blur - near > constants.high)
    return Sides(near, blur, np.zeros(blur.shape, bool), asks, asks)


def extent(values: Float, reach: int) -> tuple[Float, Float]:
    """Return the lowest and the highest value within so many rows and columns of each pixel."""
    low = high = values
    for axis in (0, 1):
        below, above = low, high
        low, high = below.copy(), above.copy()
        for step in range(1, min(reach, values.shape[axis] - 1) + 1):
            here = (slice(None),) * axis
            start, rest = (*here, slice(None, -step)), (*here, slice(step, None))
            for one, other in ((start, rest), (rest, start)):
                np.minimum(low[one], below[other], out=low[one])
                np.maximum(high[one], above[other], out=high[one])
    return low, high


def within(mask: Mask, reach: float) -> Mask:
    """Return the pixels that have a pixel of a mask within so many pixels, as the crow flies."""
    height, width = mask.shape
    out, across = mask.copy(), mask.copy()
    # Rows far above and below see little to the left and right, those close by see more.
    breadth = 0
    for row in range(int(reach), -1, -1):
        while breadth + 1 <= np.sqrt(reach * reach - row * row):
            breadth += 1
            if breadth < width:
                across[:, breadth:] |= mask[:, :-breadth]
                across[:, :-breadth] |= mask[:, breadth:]
        if row == 0:
            out |= across
        elif row < height:
            out[row:] |= across[:-row]
            out[:-row] |= across[row:]
    return out


def closest(mask: Mask, reach: int, rank: Float | None = None) -> tuple[Float, NDArray[np.int64]]:
    """Find the closest pixel of a mask.

    Parameters
    ----------
    mask : ndarray of shape (H, W), bool
        Pixels to look for.
    reach : int
        How many pixels away they are looked for.
    rank : ndarray of shape (H, W), float32, optional
        Of several that are equally close, that of the highest rank is found: the answer is that of
        the image turned over, turned back.

    Returns
    -------
    distance : ndarray of shape (H, W), float32
        Distance in pixels; infinite beyond `reach`.
    place : ndarray of shape (H, W), int64
        Flat index of that pixel; of the pixel itself where none is within reach.
    """
    order = np.zeros(mask.shape, np.float32) if rank is None else rank
    if engine.accepts(order):
        return kernels.closest(mask, order, reach)
    place = np.arange(mask.size).reshape(mask.shape)
    square = np.where(mask, np.int64(0), np.int64(reach * reach + 1))
    height, width = mask.shape
    # In every column first, then along the rows: what is closest is closest in its own column.
    for axis, length in ((0, height), (1, width)):
        away, at = square.copy(), place.copy()
        first = np.moveaxis(square, axis, 0), np.moveaxis(place, axis, 0)
        best = np.moveaxis(away, axis, 0), np.moveaxis(at, axis, 0)
        for step in range(1, min(reach, length - 1) + 1):
            for here, there in ((np.s_[step:], np.s_[:-step]), (np.s_[:-step], np.s_[step:])):
                far, found = first[0][there] + step * step, first[1][there]
                own, held = best[0][here], best[1][here]
                higher = order.take(found) > order.take(held)
                closer = (far <= reach * reach) & ((far < own) | ((far == own) & higher))
                own[closer], held[closer] = far[closer], found[closer]
        square, place = away, at
    seen, itself = square <= reach * reach, np.arange(mask.size).reshape(mask.shape)
    distance = np.where(seen, np.sqrt(square), np.inf).astype(np.float32)
    return distance, np.where(seen, place, itself)


def _end_means(
    blur: Float, low: Float, high: Float, jump: Mask, share: float
) -> tuple[Float, Float]:
    """Return the mean of the nearest and of the farthest share of the range at a jump."""
    rows, columns = np.nonzero(jump)
    offset = np.arange(-JUMP_WINDOW, JUMP_WINDOW + 1)
    y = np.clip(rows[:, None, None] + offset[:, None], 0, blur.shape[0] - 1)
    x = np.clip(columns[:, None, None] + offset, 0, blur.shape[1] - 1)
    window, least, most = blur[y, x], low[jump][:, None, None], high[jump][:, None, None]
    sides = []
    for chosen in (
        window <= least + share * (most - least),
        window >= most - share * (most - least),
    ):
        side = np.zeros(blur.shape, np.float32)
        side[jump] = (window * chosen).sum(axis=(1, 2)) / chosen.sum(axis=(1, 2))
        sides.append(side)
    return sides[0], sides[1]
