r"""Subjects that moved while the frames were taken: found, and shown from one frame.

Defocus, whatever the shape of the blur and whatever hides what, mixes colours of the neighbourhood:
with weights that are not negative and sum to 1, a frame stays within

.. math:: \min_{|q - p| \le ρ_k(p)} R(q) \le I_k(p) \le \max_{|q - p| \le ρ_k(p)} R(q)

of the all-in-focus image R, channel by channel, where ρ is the radius of the blur. Where it does
not, something else was there when frame k was taken. ρ grows with the distance in frames from the
depth, that of the farthest surface near by. Both are smoothed first (σ = `COARSE`), or a texture of
black and white would admit every grey. Where a subject is found, it reaches as far as frames
disagree with their immediate surroundings.

Subjects smaller than the blur of the frames they move in, or as bright as what they move over, are
not found.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from varfocus.fuse.blend import Fused
from varfocus.stack import FocusStack

Float = NDArray[np.float32]

RADII = (2, 4, 8, 16)
"""Radii in pixels for which the range of the neighbourhood is kept."""

COARSE = 3.0
"""σ in pixels of the Gaussian that frames and image are compared after."""

REACH = 24
"""Pixels by which a subject may reach beyond where it is proven to have moved."""

GROWTH = 2.5
"""Radius of the blur in pixels, one width of the contrast peak away from focus."""

DOUBT = 0.06
"""Share of the range by which a frame disagrees."""

LEAST_AREA = 40
"""Pixels of a subject, at least."""

MARGIN = 5
"""Pixels by which subjects are extended: their blurred outlines."""

MOST = 0.5
"""If more than this share of the picture seems to move, the frames are not aligned."""


def moving(
    stack: FocusStack, image: NDArray[np.generic], index: Float, width: float
) -> NDArray[np.bool_]:
    """Return where frames disagree by more than defocus explains.

    Parameters
    ----------
    stack : FocusStack
        Aligned frames.
    image : ndarray of shape (H, W) or (H, W, C)
        All-in-focus image of them.
    index : ndarray of shape (H, W), float32
        Depth as a fractional 0-based frame number.
    width : float
        Width of a contrast peak in frames: how fast things go out of focus.

    Returns
    -------
    ndarray of shape (H, W), bool
        True where something moved, and a few pixels around.
    """
    sharp = _coarse(stack.as_unit(np.asarray(image)).reshape(*index.shape, -1))
    windows = [(2 * radius + 1, 2 * radius + 1, 1) for radius in RADII]
    low = [ndimage.minimum_filter(sharp, size, mode="nearest") for size in windows]
    high = [ndimage.maximum_filter(sharp, size, mode="nearest") for size in windows]
    window = 2 * RADII[-1] + 1
    nearest = ndimage.minimum_filter(index, window, mode="nearest")
    farthest = ndimage.maximum_filter(index, window, mode="nearest")
    found, suspected = np.zeros(index.shape, bool), np.zeros(index.shape, bool)
    for k in range(len(stack)):
        frame = _coarse(stack.read_unit(k).reshape(sharp.shape))
        distance = np.maximum(np.abs(k - nearest), np.abs(k - farthest))
        radius = RADII[0] + GROWTH * distance / max(width, 0.5)
        level = np.minimum(np.searchsorted(RADII, radius), len(RADII) - 1)
        for number in range(len(RADII)):
            beyond = np.maximum(frame - high[number], low[number] - frame).max(axis=2) > DOUBT
            found |= beyond & (level == number)
            if number == 0:
                suspected |= beyond
    near = ndimage.distance_transform_edt(~found) <= REACH if found.any() else found
    found = ndimage.binary_propagation(found, mask=found | (suspected & near))
    labels, count = ndimage.label(ndimage.binary_dilation(found, iterations=2))
    sizes = ndimage.sum_labels(found, labels, np.arange(count + 1))
    kept = found & (sizes >= LEAST_AREA)[labels]
    kept = ndimage.binary_dilation(kept, iterations=MARGIN)
    kept = ndimage.binary_fill_holes(kept)
    return np.asarray(kept if kept.mean() <= MOST else np.zeros_like(kept))


def _coarse(planes: Float) -> Float:
    return np.asarray(ndimage.gaussian_filter(planes, (COARSE, COARSE, 0.0), mode="nearest"))


def from_one_frame(stack: FocusStack, fused: Fused, where: NDArray[np.bool_]) -> Fused:
    """Return the all-in-focus image with everything that moved taken from one and the same frame.

    Several frames would show a subject several times. It is the frame that is sharpest there.

    Parameters
    ----------
    stack : FocusStack
        Aligned frames.
    fused : Fused
        Image and source map.
    where : ndarray of shape (H, W), bool
        From `moving`.

    Returns
    -------
    Fused
        The same where nothing moved; borders are blended over a few pixels inside the area.
    """
    if not where.any():
        return fused
    detail = []
    for k in range(len(stack)):
        frame = stack.read_unit(k).reshape(*where.shape, -1).mean(axis=2)
        detail.append(float(np.abs(ndimage.laplace(frame))[where].sum()))
    best = int(np.argmax(detail))
    frame = stack.read(best)
    inside = ndimage.distance_transform_edt(where)
    weight = np.clip(inside / MARGIN, 0.0, 1.0).astype(np.float32)
    weight = weight.reshape(*where.shape, *([1] * (frame.ndim - 2)))
    mixed = fused.image + weight * (frame.astype(np.float32) - fused.image)
    if np.issubdtype(frame.dtype, np.integer):
        mixed = np.rint(mixed)
    image = np.where(weight > 0, mixed, fused.image).astype(frame.dtype)
    return Fused(image, np.where(where, np.uint16(best), fused.source))
