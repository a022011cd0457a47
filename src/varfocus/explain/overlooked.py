r"""Near things that a depth map overlooks: what it leaves unexplained in frames focused nearer.

The re-blur cost does not know that surfaces hide one another. In all frames but the few around its
own depth a thin thing is a veil over a sharp background, so the background's depth explains more
frames than its own. But what a depth map d leaves of frame k,

.. math:: R_k = I_k - h_{r(k, d)} * A,

shows the thing by itself, as if nothing were behind it: sharp at its own depth x, blurred
elsewhere. What is left of edges whose blur is not modelled exactly is as strong in single frames.
The *others* tell them apart: they must look as S does, what is left of frame x where there may be
a thing, when it is blurred again. Of what is left around a pixel this explains the share

.. math:: Q = 1 - \frac{g * \sum_k |R_k - h_{r(k, x)} * S|^2}{g * \sum_k |R_k|^2}, \qquad
          0.7 ≤ r(k, x) ≤ 4 \text{ px}.

Frames in which it is sharp are left out, for there everything explains itself. With D the root mean
square of R_x over the channels (of different colours, as the brightness is often the same), a thing
is an area of pixels in which D and Q are large, some of them clear of all that is nearer in the
map itself, whose outlines are never exact. Its depth is that of contrast, or else where what is
left has most detail.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from varfocus.curve.coordinate import Coordinate
from varfocus.edges import End
from varfocus.edges.render import convolved, kernel
from varfocus.edges.sides import extent
from varfocus.explain.lens import Lens, compared, taps, unit_coordinate
from varfocus.explain.reblur import pictures, sharp_picture

Float = NDArray[np.float32]
Mask = NDArray[np.bool_]

NEARER = 1.5
"""Frames by which a thing is nearer than the map, at least."""

MAYBE, SURE = (0.07, 0.3), (0.1, 0.7)
"""D in brightness, and Q: of the pixels of a thing, and of `ENOUGH` among them."""

ENOUGH, CLEAR = 10, 4
"""Pixels of a thing that are sure, and clear of all that is nearer by so many pixels."""

SMOOTH = 0.7
"""σ in pixels over which D² is averaged."""

DETAIL = 1.0
"""σ in pixels: what is sharp differs from its mean over so much."""

INSIDE = 0.5
"""A depth is seen in what is left only if the frame at the near end has less than this share of
its detail: what is not modelled grows towards there."""

BLURRED = (0.7, 4.0)
"""Blur in pixels of the frames that Q compares."""

AROUND = 1.5
"""σ in pixels over which Q is taken."""

REACH = 12
"""Pixels around a thing that its blur and the mean of Q reach."""

ALIKE = 1.0
"""Depths within so many frames of each other are one thing."""


def unexplained(channels: list[Float], index: Float, axis: Coordinate, lens: Lens) -> Float:
    """Return R ``(n, C, H, W)``: what a depth map leaves of the frames.

    Parameters
    ----------
    channels : list of C ndarrays of shape (n, H, W), float32
        Frames in [0, 1].
    index : ndarray of shape (H, W), float32
        Depth in frames.
    axis, lens
        Focus coordinate and blur.
    """
    n = len(channels[0])
    u = unit_coordinate(axis, np.arange(float(n)))
    radius = lens.radius * np.abs(u[:, None] - unit_coordinate(axis, index.ravel())[None])
    left = np.empty((n, len(channels), *index.shape), np.float32)
    for c, frames in enumerate(channels):
        radii, planes = pictures(sharp_picture(frames, index, axis, lens), lens)
        flat = planes.reshape(len(planes), -1)
        left[:, c] = compared(frames.reshape(n, -1), flat, radius, radii)[0].reshape(frames.shape)
    return left


def overlooked(
    left: Float, index: Float, contrast: Float, axis: Coordinate, lens: Lens, near: End | None
) -> tuple[Float, Mask]:
    """Return a depth map with the near things that it overlooks, and the pixels of these.

    Parameters
    ----------
    left : ndarray of shape (n, C, H, W), float32
        R.
    index : ndarray of shape (H, W), float32
        Depth in frames.
    contrast : ndarray of shape (H, W), float32
        Depth in frames that contrast tells: x, or else where what is left is sharpest.
    axis, lens
        Focus coordinate and blur.
    near : {"first", "last"} or None
        Which end of the stack is near; if nobody knows, the one that shows more things.
    """
    power = convolved(np.square(left).mean(axis=1), kernel(SMOOTH))
    detail = _detail(left.mean(axis=1))
    u = unit_coordinate(axis, np.arange(float(len(left))))
    ends: tuple[End, ...] = ("first", "last") if near is None else (near,)
    found = []
    for end in ends:
        clear = _clear(index, end)
        depth, things = index.copy(), np.zeros(index.shape, bool)
        for x in (contrast, _sharpest(detail, index, end)):
            maybe = _nearer(index, x, end) & ~things
            here = _things(left, power, x, maybe, clear, lens, u)
            depth[here] = x[here]
            things |= here
        found.append((depth, things))
    return max(found, key=lambda each: int(np.count_nonzero(each[1])))


def _nearer(index: Float, x: Float | np.float32, near: End) -> Mask:
    """Return where a depth x is nearer than the map."""
    ahead = index - x if near == "first" else x - index
    return ahead > np.float32(NEARER)


def _clear(index: Float, near: End) -> Mask:
    """Return the pixels that have nothing nearer within `CLEAR` rows and columns."""
    nearest = extent(index, CLEAR)[0 if near == "first" else 1]
    return ~_nearer(index, nearest, near)


def _detail(bright: Float) -> Float:
    """Return the energy ``(n, H, W)`` of what differs from its surroundings."""
    off = bright - convolved(bright, kernel(DETAIL))
    return convolved(np.square(off, out=off), kernel(DETAIL))


def _sharpest(detail: Float, index: Float, near: End) -> Float:
    """Return the nearer frame with most detail, unless the near end has as much; else the map."""
    allowed = np.stack([_nearer(index, np.float32(k), near) for k in range(len(detail))])
    nearer = np.where(allowed, detail, np.float32(-1.0))
    x = nearer.argmax(axis=0)
    most = np.take_along_axis(nearer, x[None], axis=0)[0]
    inside = detail[0 if near == "first" else -1] < np.float32(INSIDE) * most
    return np.where(inside, x, index).astype(np.float32)


def _things(
    left: Float,
    power: Float,
    x: Float,
    maybe: Mask,
    clear: Mask,
    lens: Lens,
    u: NDArray[np.float64],
) -> Mask:
    """Return the pixels of things at a depth x, of those that may be."""
    at = np.clip(np.rint(x), 0, len(left) - 1).astype(np.intp)
    strength = np.sqrt(np.take_along_axis(power, at[None], axis=0)[0])
    maybe = maybe & (strength > np.float32(MAYBE[0]))
    sure = clear & (strength > np.float32(SURE[0]))
    maybe = _joined(maybe, maybe & sure)
    share = np.zeros_like(strength)
    for level in np.unique(at[maybe]).tolist():
        here = maybe & (at == level)
        thing = maybe & (np.abs(x - np.float32(level)) <= np.float32(ALIKE))
        share[here] = _explained(left, thing, level, lens, u)[here]
    maybe &= share > np.float32(MAYBE[1])
    return _joined(maybe, maybe & sure & (share > np.float32(SURE[1])))


def _explained(left: Float, thing: Mask, level: int, lens: Lens, u: NDArray[np.float64]) -> Float:
    """Return Q of a thing at a frame; 0 further than `REACH` from it."""
    share = np.zeros(thing.shape, np.float32)
    radius = lens.radius * np.abs(u - u[level])
    compared = np.flatnonzero((radius >= BLURRED[0]) & (radius <= BLURRED[1])).tolist()
    rows, columns = box = _around(thing)
    pieces = left[:, :, rows, columns]
    S = pieces[level] * thing[box]
    sums = np.zeros((2, *S.shape[1:]), np.float32)
    for k in compared:
        sums[0] += np.square(pieces[k] - convolved(S, taps(lens.rim, float(radius[k])))).sum(axis=0)
        sums[1] += np.square(pieces[k]).sum(axis=0)
    error, whole = convolved(sums, kernel(AROUND))
    share[box] = 1.0 - error / np.maximum(whole, np.float32(1e-9))
    return share


def _around(mask: Mask) -> tuple[slice, slice]:
    """Return the rows and columns of a mask, and `REACH` more on all sides."""
    rows, columns = (
        slice(max(int(each[0]) - REACH, 0), int(each[-1]) + REACH + 1)
        for each in (np.flatnonzero(mask.any(axis=axis)) for axis in (1, 0))
    )
    return rows, columns


def _joined(maybe: Mask, sure: Mask) -> Mask:
    """Return the areas of a mask that have enough sure pixels."""
    label, count = ndimage.label(maybe, np.ones((3, 3)))
    if not count:
        return maybe
    enough = np.bincount(label[sure], minlength=count + 1) >= ENOUGH
    enough[0] = False
    areas: Mask = enough[label]
    return areas
