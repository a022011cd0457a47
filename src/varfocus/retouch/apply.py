r"""Strokes applied to maps and pictures, in place, a block of pixels at a time.

With s the distance in pixels of a pixel's centre from the edge of a stroke, positive inside, and f
its feather, the stroke covers the pixel by

.. math:: w = 3t^2 - 2t^3, \quad t = \operatorname{clip}(s / f, 0, 1),

or 0 and 1 for f = 0, and a value v becomes (1 − w) v + w v', v' being what the tool puts there.
Depth that was put there by hand is not measured: its confidence is (1 − w) times what it was, and
where w ≥ ½ its standard error is unknown.

No pixel depends on how the image is cut, so maps on disk are retouched like maps in memory.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from varfocus.errors import ParameterError
from varfocus.geometry import Rectangle, inside
from varfocus.retouch.strokes import Stroke
from varfocus.surface.measure import robust_fit

Float = NDArray[np.float32]

BLOCK = 1024
"""Side in pixels of the blocks that are worked on."""

HARD = 1e-3
"""Pixels of feather below which an edge is hard."""

RING = 8.0
"""Pixels around an outline to which the plane is fitted."""

RING_PIXELS = 20_000
"""The plane is fitted to no more pixels than about this."""

LARGEST_SMOOTHED = 1 << 26
"""Pixels that one stroke may smooth: all new depths are made before the first is written."""


def signed_distance(stroke: Stroke, box: Rectangle, beyond: float = 0.0) -> Float:
    """Return how far pixel centres lie inside of a stroke.

    Parameters
    ----------
    stroke : Stroke
        In pixels of the image that `box` is a part of.
    box : Rectangle
        Which pixels.
    beyond : float
        Distances outside are exact up to this.

    Returns
    -------
    ndarray of shape (h, w), float32
        Pixels to the nearest edge, negative outside: at most the feather, at least −`beyond` − 1.
    """
    points = np.asarray(stroke.points, np.float64)
    outline = stroke.radius is None
    far = max(stroke.feather, beyond) + 1.0 if outline else (stroke.radius or 0.0) + beyond + 1.0
    # Squared distance to the nearest segment, up to `far`.
    nearest = np.full(box.shape, far * far, np.float32)
    ends = np.roll(points, -1, axis=0) if outline else points[1:]
    starts = points if outline else points[: max(len(points) - 1, 1)]
    for a, b in zip(starts, ends if len(ends) else points, strict=True):
        _approach(nearest, box, a, b, far)
    distance = np.sqrt(nearest)
    if not outline:
        return np.minimum(np.float32(stroke.radius or 0.0) - distance, np.float32(far))
    corners = [(float(x) - box.left, float(y) - box.top) for x, y in points]
    within = inside(box.shape, corners)
    return np.where(within, distance, -distance)


def _approach(
    nearest: Float, box: Rectangle, a: NDArray[np.float64], b: NDArray[np.float64], far: float
) -> None:
    """Lower squared distances to those from the segment ab, where these are below far²."""
    low = np.floor(np.minimum(a, b) - far - 0.5).astype(int)
    high = np.ceil(np.maximum(a, b) + far + 0.5).astype(int)
    x_0, x_1 = max(low[0], box.left), min(high[0], box.right)
    y_0, y_1 = max(low[1], box.top), min(high[1], box.bottom)
    if x_0 >= x_1 or y_0 >= y_1:
        return
    # Rounded after the subtraction: the same wherever the block begins.
    x = (np.arange(x_0, x_1) + (0.5 - a[0])).astype(np.float32)[None, :]
    y = (np.arange(y_0, y_1) + (0.5 - a[1])).astype(np.float32)[:, None]
    along = (b - a).astype(np.float32)
    length = float(along @ along)
    if length > 0.0:
        share = np.clip((x * along[0] + y * along[1]) / np.float32(length), 0.0, 1.0)
        x, y = x - share * along[0], y - share * along[1]
    part = nearest[y_0 - box.top : y_1 - box.top, x_0 - box.left : x_1 - box.left]
    np.minimum(part, x * x + y * y, out=part)


def coverage(distance: Float, feather: float) -> Float:
    """Return w in [0, 1] from distances inside of the edge."""
    if feather < HARD:
        return (distance > 0.0).astype(np.float32)
    t = np.clip(distance / np.float32(feather), 0.0, 1.0)
    w: Float = t * t * (3.0 - 2.0 * t)
    return w


def touched(stroke: Stroke, extent: Rectangle, margin: float = 0.0) -> Rectangle:
    """Return the pixels of `extent` that a stroke may change; without any if it lies outside."""
    x, y = np.asarray(stroke.points, np.float64).T
    reach = (stroke.radius or 0.0) + margin
    left, top = math.floor(x.min() - reach), math.floor(y.min() - reach)
    right, bottom = math.ceil(x.max() + reach), math.ceil(y.max() + reach)
    return Rectangle(left, top, right - left, bottom - top).common(extent)


def blocks(box: Rectangle) -> Iterator[Rectangle]:
    """Cut a rectangle into blocks; those of a rectangle without pixels are none."""
    for top in range(box.top, box.bottom, BLOCK):
        for left in range(box.left, box.right, BLOCK):
            width, height = min(BLOCK, box.right - left), min(BLOCK, box.bottom - top)
            yield Rectangle(left, top, width, height)


def retouch_picture(
    image: NDArray[Any],
    source: NDArray[np.uint16] | None,
    extent: Rectangle,
    stroke: Stroke,
    read: Callable[[Rectangle], NDArray[Any]],
    number: int | None = None,
) -> None:
    """Paint another picture into the all-in-focus image, in place.

    Parameters
    ----------
    image : ndarray of shape (H, W) or (H, W, 3)
        All-in-focus image.
    source : ndarray of shape (H, W), uint16, or None
        Frame that each pixel comes from, changed too where the stroke covers more than half.
    extent : Rectangle
        Where the image lies in the frames.
    stroke : Stroke
        In pixels of the frames.
    read : callable
        Returns pixels of the other picture, like those of `image`, in a rectangle of the frames.
    number : int, optional
        What to write into `source`; by default it is left.
    """
    for block in blocks(touched(stroke, extent)):
        w = coverage(signed_distance(stroke, block), stroke.feather)
        if not w.any():
            continue
        window = _shifted(block, extent).window
        share = w if image.ndim == 2 else w[..., None]
        mixed = image[window].astype(np.float32)
        mixed += share * (read(block).astype(np.float32) - mixed)
        if np.issubdtype(image.dtype, np.integer):
            np.rint(mixed, out=mixed)
        image[window] = np.where(share > 0.0, mixed.astype(image.dtype), image[window])
        if source is not None and number is not None:
            source[window] = np.where(w >= 0.5, np.uint16(number), source[window])


@dataclass(frozen=True)
class DepthMaps:
    """The maps that strokes on the depth change, all of one shape.

    Attributes
    ----------
    depth, confidence : ndarray of shape (H, W), float32
        As in `varfocus.Result`.
    uncertainty : ndarray of shape (H, W), float32, or None
        Standard error of the depth.
    """

    depth: Float
    confidence: Float
    uncertainty: Float | None = None


def retouch_depth(
    maps: DepthMaps, extent: Rectangle, stroke: Stroke, depth_at: Callable[[float], float]
) -> Rectangle:
    """Apply a stroke to the depth, in place.

    Parameters
    ----------
    maps : DepthMaps
        Depth and what is known about it.
    extent : Rectangle
        Where the maps lie in the frames.
    stroke : Stroke
        In pixels of the frames.
    depth_at : callable
        Returns the depth, in the unit of the map, of a fractional frame number.

    Returns
    -------
    Rectangle
        Pixels of the maps that may have changed.
    """
    area = touched(stroke, extent)
    if stroke.tool == "smooth-depth":
        _smooth(maps, extent, stroke, area)
        return _shifted(area, extent)
    plane = np.zeros(3)
    if stroke.tool == "set-depth":
        assert isinstance(stroke.frame, int | float)
        plane[0] = depth_at(float(stroke.frame))
    elif stroke.tool == "fill-depth":
        plane = _plane_around(maps.depth, extent, stroke)
    for block in blocks(area):
        w = coverage(signed_distance(stroke, block), stroke.feather)
        window = _shifted(block, extent).window
        old = maps.depth[window]
        if stroke.tool == "erase-depth":
            new = np.where(w >= 0.5, np.float32(np.nan), old)
        else:
            x = np.arange(block.left, block.right) + 0.5
            y = np.arange(block.top, block.bottom)[:, None] + 0.5
            value = (plane[0] + plane[1] * x + plane[2] * y).astype(np.float32)
            mixed = np.where(w < 1.0, old + w * (value - old), value)
            new = np.where(np.isfinite(old), mixed, np.where(w >= 0.5, value, old))
        maps.depth[window] = np.where(w > 0.0, new, old)
        maps.confidence[window] *= np.float32(1.0) - w
        if maps.uncertainty is not None:
            error = maps.uncertainty[window]
            maps.uncertainty[window] = np.where(w >= 0.5, np.float32(np.nan), error)
    return _shifted(area, extent)


def _plane_around(depth: Float, extent: Rectangle, stroke: Stroke) -> NDArray[np.float64]:
    """Return c, a, b of the plane c + a x + b y through what is known around a stroke."""
    parts = []
    for block in blocks(touched(stroke, extent, RING)):
        distance = signed_distance(stroke, block, RING)
        known = np.isfinite(depth[_shifted(block, extent).window])
        y, x = np.nonzero((distance < 0.0) & (distance >= -RING) & known)
        z = depth[_shifted(block, extent).window][y, x]
        parts.append(np.stack([x + block.left + 0.5, y + block.top + 0.5, z], axis=1))
    ring = np.concatenate(parts) if parts else np.zeros((0, 3))
    ring = ring[:: max(len(ring) // RING_PIXELS, 1)]
    if len(ring) < 3:
        left, top = stroke.points[0]
        raise ParameterError(
            f"received a fill-depth at {left:g}, {top:g} with nothing known around it",
            f"expected known depth within {RING:g} pixels of its edge",
            "Draw it larger or elsewhere, or set the depth.",
        )
    middle = ring[:, :2].mean(axis=0)
    terms = np.concatenate([np.ones((len(ring), 1)), ring[:, :2] - middle], axis=1)
    c, a, b = robust_fit(terms, ring[:, 2])
    return np.array([c - a * middle[0] - b * middle[1], a, b], np.float64)


def _smooth(maps: DepthMaps, extent: Rectangle, stroke: Stroke, area: Rectangle) -> None:
    if area.width * area.height > LARGEST_SMOOTHED:
        raise ParameterError(
            f"received a smooth-depth over {area.width}×{area.height} pixels",
            f"expected at most {LARGEST_SMOOTHED >> 20} megapixels",
            "Draw several smaller ones, or raise --smoothness.",
        )
    sigma = float(stroke.sigma or 1.0)
    reach = math.ceil(4.0 * sigma)
    made: list[tuple[tuple[slice, slice], Float]] = []
    for block in blocks(area):
        w = coverage(signed_distance(stroke, block), stroke.feather)
        wide = Rectangle(
            block.left - reach, block.top - reach, block.width + 2 * reach, block.height + 2 * reach
        ).common(extent)
        around = maps.depth[_shifted(wide, extent).window]
        known = np.isfinite(around)
        options: dict[str, Any] = {"sigma": sigma, "mode": "constant", "truncate": 4.0}
        weight = ndimage.gaussian_filter(known.astype(np.float32), **options)
        total = ndimage.gaussian_filter(np.where(known, around, np.float32(0.0)), **options)
        mean = total / np.where(known, weight, np.float32(1.0))
        mean = mean[_shifted(block, wide).window]
        window = _shifted(block, extent).window
        old = maps.depth[window]
        made.append((window, np.where(w > 0.0, old + w * (mean - old), old)))
    for window, values in made:
        maps.depth[window] = values


def _shifted(box: Rectangle, extent: Rectangle) -> Rectangle:
    """Return a rectangle of the frames in pixels of what covers `extent` of them."""
    return box._replace(left=box.left - extent.left, top=box.top - extent.top)
