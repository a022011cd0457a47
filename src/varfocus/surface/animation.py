r"""Moving pictures of a result: a view that rocks from side to side, or a sweep through focus.

Seen from a direction tilted by a few degrees, a surface of height h shows at column x the point

.. math:: x' = x - a\,h(x'),

a the parallax. Where there are several, the highest hides the others. For every whole number
s of pixels between −|a| and |a|, the surface shifted by s is compared with the plane h = s/a; the
frontmost crossing, interpolated between two planes, is what is seen.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from varfocus.stack import FocusStack

Picture = NDArray[np.uint8]
Float = NDArray[np.float32]

WALL = 0.15
"""Relief per pixel, of a range of 2, from which on a slope counts as a jump."""


def rocking(picture: Picture, height: Float, *, frames: int, swing: float) -> Iterator[Picture]:
    """Yield views of a surface that swing to the left and to the right, ready to loop.

    Parameters
    ----------
    picture : ndarray of shape (H, W, 3), uint8
        All-in-focus image.
    height : ndarray of shape (H, W), float32
        Height towards the viewer in any unit; unknown pixels take that of the nearest known one.
    frames : int
        Views of one full swing.
    swing : float
        Largest shift of the highest and lowest points, as a share of the width.

    Yields
    ------
    ndarray of shape (H, W', 3), uint8
        Views, without the columns at the sides that some of them do not show.
    """
    relief = unit_relief(height)
    largest = swing * picture.shape[1]
    margin = min(int(np.ceil(largest)), (picture.shape[1] - 1) // 2)
    inside = slice(margin, picture.shape[1] - margin)
    for k in range(frames):
        shift = largest * float(np.sin(2.0 * np.pi * k / frames))
        yield tilted(picture, relief, shift)[:, inside]


def unit_relief(height: Float) -> Float:
    """Return the height stretched to [−1, 1] between its 1st and 99th percentile, without NaN."""
    known = np.isfinite(height)
    if not known.any():
        return np.zeros(height.shape, np.float32)
    filled = height
    if not known.all():
        nearest = ndimage.distance_transform_edt(
            ~known, return_distances=False, return_indices=True
        )
        filled = height[tuple(nearest)]
    low, high = np.percentile(height[known], [1, 99])
    if high <= low:
        return np.zeros(height.shape, np.float32)
    share = (filled - low) / (high - low)
    relief: Float = np.clip(2.0 * share - 1.0, -1.0, 1.0).astype(np.float32)
    return relief


def tilted(picture: Picture, relief: Float, shift: float) -> Picture:
    """Return the view in which points of relief 1 have moved by `shift` pixels to the right.

    Parameters
    ----------
    picture : ndarray of shape (H, W, 3), uint8
        Seen from straight above.
    relief : ndarray of shape (H, W), float32
        In [−1, 1].
    shift : float
        Parallax a in pixels; negative to the left.

    Returns
    -------
    ndarray of shape (H, W, 3), uint8
        The view.
    """
    if abs(shift) < 1e-3:
        return picture
    columns = np.arange(relief.shape[1], dtype=np.float32)
    reach = int(np.ceil(abs(shift)))
    # From the top plane down; the first that the surface reaches is in front.
    planes = np.arange(reach, -reach - 1, -1) * np.sign(shift)
    source = np.broadcast_to(columns + np.float32(shift), relief.shape).copy()
    seen = np.zeros(relief.shape, bool)
    before: Float | None = None
    for s in planes:
        above = _shifted(relief, int(s)) - np.float32(s / shift)  # ≥ 0: surface at or above it
        hit = ~seen & (above >= 0.0)
        place = columns - np.float32(s)
        if before is not None:
            # Between this plane and the one above, both differences are linear in the shift.
            gap = np.maximum(above - before, np.float32(1e-9))
            exact = place - np.float32(np.sign(shift)) * above / gap
            # What a jump uncovers was never photographed: mirror what is behind.
            edge = columns - np.float32(s + np.sign(shift))
            behind = before + np.float32((s + np.sign(shift)) / shift)
            mirrored = edge - (columns - edge - np.float32(shift) * behind)
            place = np.where(gap > WALL + 1.0 / abs(shift), mirrored, exact)
        np.copyto(source, place, where=hit)
        seen |= hit
        before = above
        if seen.all():
            break
    return _resampled(picture, source)


def _shifted(image: Float, s: int) -> Float:
    """Return the image moved s columns to the right, its border repeated."""
    columns = np.clip(np.arange(image.shape[1]) - s, 0, image.shape[1] - 1)
    return image[:, columns]


def _resampled(picture: Picture, source: Float) -> Picture:
    """Return the picture at fractional columns, row by row, interpolated linearly."""
    last = picture.shape[1] - 1
    source = np.clip(source, 0.0, last)
    left = np.minimum(source.astype(np.intp), max(last - 1, 0))
    share = (source - left)[..., None].astype(np.float32)
    rows = np.arange(picture.shape[0])[:, None]
    right = np.minimum(left + 1, last)
    blend = (1.0 - share) * picture[rows, left] + share * picture[rows, right]
    mixed: Picture = np.rint(blend).astype(np.uint8)
    return mixed


def sweeping(stack: FocusStack) -> Iterator[NDArray[np.generic]]:
    """Yield the frames from first to last and back again, ready to loop.

    Yields
    ------
    ndarray of shape (H, W) or (H, W, 3)
        2n − 2 frames in their own dtype.
    """
    yield from stack.ahead()
    yield from (stack.read(k) for k in range(len(stack) - 2, 0, -1))
