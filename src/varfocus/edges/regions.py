r"""Depth beside jumps from the regions of the picture.

One pixel beside a jump does not know its side: its contrast is that of the outline, and behind the
outline little may speak. The part of the picture that it belongs to does. So the picture g of
`varfocus.edges.consensus`, in which outlines are sharp, is cut into regions, and each region takes
the plane that most of its pixels lie on, those well inside counting most:

.. math:: \min_{a, b} \sum_{p ∈ R} w_p\, t^2 \log\Bigl(1 + \frac{(d_p - a - b·p)^2}{t^2}\Bigr)
          + s|b|^2, \qquad w_p = \min\Bigl(\frac{ρ_p - 1}{3}, 1\Bigr)^2 + 10^{-3},

ρ the distance to the closest pixel of another region. Where a region ends is never sure, so it is
cut six times, finer and coarser, and the mean of the planes counts: it changes at once where all of
them end, and gradually where they disagree. Only pixels close to a jump, or to a ramp that may be
one, change.

A picture of textures is cut, too, but at random, into pieces about as small as they may be. By that
it is told where regions are worth more than what rendering says, and where not.

The cut is that of Felzenszwalb and Huttenlocher (Efficient Graph-Based Image Segmentation, 2004):
pairs of neighbours in the order of how much they differ; two regions become one if they differ no
more than inside either, k/|R| added to that; at last small ones join what they resemble most.
Windows of the image that overlap are cut by themselves, so that tiles give the bits of the whole,
and mixed where they overlap, so that no seam shows where a region is larger than a window.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from varfocus import engine
from varfocus.edges.consensus import outlines_sharp
from varfocus.edges.outline import End
from varfocus.edges.render import Float, convolved, kernel
from varfocus.edges.sides import Mask, closest, extent
from varfocus.engine import edges as kernels

ROUNDS = 2

STRIDE, OVERLAP = 128, 64
"""Pixels from a window to the next at most, and in which they overlap."""

ZONE, RAMP = 8, 2
"""Pixels from a jump up to which depth may change, and within which a ramp counts as one."""

BLURS = (0.4, 0.7)
"""σ in pixels by which the picture is smoothed before it is cut."""

GRAINS, SMALLEST = (10 / 255, 20 / 255, 40 / 255), (20, 30, 40)
"""k in brightness, and pixels of a region at least, of the cuts of either picture."""

WELL_INSIDE, ON_BORDER = 3.0, 1e-3
"""Pixels from the border of a region from which on weights do not grow, and the weight on it."""

TOLERANCE = 0.25
"""t in heights of a jump."""

STIFF, REWEIGHTED = 5.0, 4
"""s in square pixels, and how often weights are renewed."""

MIDDLE = 1e-9
"""So much less than half the weight is half of it, however sums were rounded."""

REGION_REACH = STRIDE + OVERLAP + ZONE + RAMP
"""Pixels around a pixel that decide on its depth, and on whether a window is needed."""


TEXTURE, OBJECTS = 105.0, 150.0
"""Pixels of a region, on geometric average over the cuts, that a quarter of the pixels beside jumps
stay below: a texture is cut into pieces little larger than the least, objects into parts."""


class Window(NamedTuple):
    """A part of an image that is cut by itself.

    Attributes
    ----------
    box : tuple of two slices
        Rows and columns.
    weight : ndarray of the shape of the box, float32
        What it counts where it overlaps with others: all of them add up to 1.
    """

    box: tuple[slice, slice]
    weight: Float


def windows(
    inner: tuple[slice, slice], outer: tuple[slice, slice], shape: tuple[int, int]
) -> list[Window]:
    """Return the windows that part of an image needs; they lie where they do in the whole image.

    Parameters
    ----------
    inner, outer : tuple of two slices
        The part, and what is known of the image around it, at least `REGION_REACH` pixels.
    shape : (int, int)
        Height and width of the image.

    Returns
    -------
    list of Window
        Boxes in pixels of `outer`, row by row.
    """
    down, across = (_along(*axis) for axis in zip(inner, outer, shape, strict=True))
    return [
        Window((rows, columns), one[:, None] * other[None])
        for rows, one in down
        for columns, other in across
    ]


def _along(inner: slice, outer: slice, length: int) -> list[tuple[slice, Float]]:
    """Return the windows along an axis: where they lie in the outer part, and their weights.

    They are equally long, so that those of the image turned over are the same; between pixels, too.
    """
    half, count = OVERLAP / 2, -(-length // STRIDE)
    found = []
    for number in range(count):
        start, stop = number * length / count, (number + 1) * length / count
        low = max(math.floor(start - half + 0.5), 0)
        high = min(math.ceil(stop + half - 0.5), length)
        if low >= inner.stop or high <= inner.start:
            continue
        place, weight = np.arange(low, high) + 0.5, np.ones(high - low)
        if number > 0:
            weight = np.minimum(weight, (place - start + half) / OVERLAP)
        if number < count - 1:
            weight = np.minimum(weight, (stop + half - place) / OVERLAP)
        here = slice(low - outer.start, high - outer.start)
        found.append((here, weight.astype(np.float32)))
    return found


def beside_jumps(index: Float, height: float) -> Mask:
    """Return the pixels whose depth may change: those close to a jump, or to a ramp.

    Parameters
    ----------
    index : ndarray of shape (H, W), float32
        Depth in frames.
    height : float
        Least height of a jump in frames; half of it counts.
    """
    low, high = extent(index, RAMP)
    jump = high - low > np.float32(0.5 * height)
    return np.asarray(closest(jump, ZONE)[0] <= np.float32(ZONE))


def regional(
    frames: list[NDArray[Any]],
    scale: float,
    place: NDArray[np.float64],
    index: Float,
    near: End | None,
    height: float,
    asked: Mask,
) -> tuple[Float, float]:
    """Return the depth of the regions that pixels belong to, and how much regions tell.

    Parameters
    ----------
    frames, scale, place, index, near, height
        As for `varfocus.edges.consensus.consensus`.
    asked : ndarray of shape (H, W), bool
        Pixels whose depth may change, at least one.

    Returns
    -------
    depth : ndarray of shape (H, W), float32
        In frames, everywhere.
    telling : float
        From 0, where regions are pieces of texture, to 1, where they are parts of objects: by
        their size.
    """
    everywhere = np.ones(index.shape, bool)
    picture = outlines_sharp(frames, scale, place, index, near, everywhere)
    total, sizes, count = np.zeros(index.shape, np.float32), np.zeros(asked.sum()), 0
    for blur in BLURS:
        smooth = convolved(np.moveaxis(picture, 2, 0), kernel(blur))
        for label in segments(np.moveaxis(smooth, 0, 2), GRAINS, SMALLEST):
            planes(index, label, TOLERANCE * height, total)
            sizes += np.log(np.bincount(label.ravel()))[label[asked]]
            count += 1
    mean: Float = np.clip(total / np.float32(count), np.float32(0.0), np.float32(place[-1]))
    telling = (np.quantile(sizes / count, 0.25) - np.log(TEXTURE)) / np.log(OBJECTS / TEXTURE)
    return mean, float(np.clip(telling, 0.0, 1.0))


def segments(
    picture: Float, grains: tuple[float, ...], smallest: tuple[int, ...]
) -> NDArray[np.int32]:
    """Cut a picture into regions, several times.

    Parameters
    ----------
    picture : ndarray of shape (H, W, C), float32
        In brightness; differences are those of three channels.
    grains : tuple of float
        k of each cut: the larger, the larger the regions.
    smallest : tuple of int
        Pixels of a region at least, of each cut.

    Returns
    -------
    ndarray of shape (len(grains), H, W), int32
        Numbers of the regions from 0, in the order in which their first pixels come.
    """
    if engine.accepts(picture):
        return kernels.segments(picture, np.array(grains), np.array(smallest, np.int32))
    one, other, apart = _pairs(picture)
    order = np.argsort(apart, kind="stable")
    pairs = list(zip(*(each[order].tolist() for each in (one, other, apart)), strict=True))
    pixels = picture.shape[0] * picture.shape[1]
    labels = [_cut(pairs, pixels, *how) for how in zip(grains, smallest, strict=True)]
    return np.array(labels, np.int32).reshape(len(grains), *picture.shape[:2])


def _pairs(picture: Float) -> tuple[NDArray[np.intp], NDArray[np.intp], Float]:
    """Return the numbers of neighbours, and how much they differ."""
    height, width, channels = picture.shape
    number = np.arange(height * width).reshape(height, width)
    found = []
    for down, right in ((0, 1), (1, 0), (1, 1), (1, -1)):
        rows = (slice(0, height - down), slice(down, height))
        columns = [slice(max(0, -right), width - max(0, right))]
        columns.append(slice(columns[0].start + right, columns[0].stop + right))
        here, there = (picture[part] for part in zip(rows, columns, strict=True))
        square = np.zeros(here.shape[:2], np.float32)
        for c in range(channels):
            off = here[..., c] - there[..., c]
            square += off * off
        apart = np.sqrt(square * np.float32(np.float32(3.0) / np.float32(channels)))
        one, other = (number[part] for part in zip(rows, columns, strict=True))
        found.append((one.ravel(), other.ravel(), apart.ravel()))
    one, other, apart = (np.concatenate(parts) for parts in zip(*found, strict=True))
    return one, other, apart


def _cut(
    pairs: list[tuple[int, int, float]], pixels: int, grain: float, smallest: int
) -> list[int]:
    """Return the number of the region of every pixel."""
    parent, size, inside = list(range(pixels)), [1] * pixels, [0.0] * pixels

    def root(i: int) -> int:
        while parent[i] != i:
            parent[i] = parent[parent[i]]
            i = parent[i]
        return i

    def join(a: int, b: int, apart: float) -> None:
        a, b = (a, b) if size[a] >= size[b] else (b, a)
        parent[b], inside[a] = a, apart
        size[a] += size[b]

    for one, other, apart in pairs:
        a, b = root(one), root(other)
        if a != b and all(apart <= inside[i] + grain / size[i] for i in (a, b)):
            join(a, b, apart)
    for one, other, apart in pairs:
        a, b = root(one), root(other)
        if a != b and min(size[a], size[b]) < smallest:
            join(a, b, apart)
    names: dict[int, int] = {}
    return [names.setdefault(root(i), len(names)) for i in range(pixels)]


def planes(index: Float, label: NDArray[np.int32], tolerance: float, total: Float) -> None:
    """Add the plane of every region to a map, in place.

    Parameters
    ----------
    index : ndarray of shape (H, W), float32
        Depth in frames.
    label : ndarray of shape (H, W), int32
        Numbers of the regions, from 0.
    tolerance : float
        t in frames.
    total : ndarray of shape (H, W), float32
        Receives a + b·p.
    """
    offset, away = _around()
    if engine.accepts(index, total):
        kernels.region_planes(
            index,
            label,
            offset,
            away,
            WELL_INSIDE + 1.0,
            ON_BORDER,
            tolerance,
            STIFF,
            REWEIGHTED,
            total,
        )
        return
    weight = _inside(label, offset, away).ravel()
    number, d = label.ravel(), index.ravel().astype(np.float64)
    count = int(number.max()) + 1

    def sums(values: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.bincount(number, values, count).astype(np.float64, copy=False)

    y, x = (each.ravel().astype(np.float64) for each in np.indices(index.shape))
    mass = sums(weight)
    y -= (sums(weight * y) / mass)[number]
    x -= (sums(weight * x) / mass)[number]
    at = np.zeros((count, 3))
    at[:, 0] = _medians(d, number, weight, mass)
    for _ in range(REWEIGHTED):
        off = (d - (at[number, 0] + at[number, 1] * y + at[number, 2] * x)) / tolerance
        w = weight / (1.0 + off * off)
        basis = (np.ones_like(d), y, x)
        left = np.array([[sums(w * one * other) for other in basis] for one in basis])
        left[1, 1] += STIFF
        left[2, 2] += STIFF
        right = np.array([sums(w * one * d) for one in basis])
        at = np.linalg.solve(np.moveaxis(left, 2, 0), right.T[..., None])[..., 0]
    total += (at[number, 0] + at[number, 1] * y + at[number, 2] * x).reshape(index.shape)


def _around() -> tuple[NDArray[np.int32], Float]:
    """Return the pixels around a pixel up to where weights do not grow, the closest first."""
    reach = int(WELL_INSIDE) + 1
    y, x = (each.ravel() for each in np.mgrid[-reach : reach + 1, -reach : reach + 1])
    away = np.hypot(y, x)
    order = np.argsort(away, kind="stable")
    order = order[(away[order] > 0) & (away[order] < WELL_INSIDE + 1.0)]
    offset = np.ascontiguousarray(np.stack([y, x], axis=1)[order].astype(np.int32))
    return offset, away[order].astype(np.float32)


def _inside(
    label: NDArray[np.int32], offset: NDArray[np.int32], away: Float
) -> NDArray[np.float64]:
    """Return w, how far inside its region a pixel lies."""
    height, width = label.shape
    distance = np.full(label.shape, np.float32(WELL_INSIDE + 1.0))
    rows, columns = np.indices(label.shape)
    for (down, right), far in zip(offset.tolist(), away, strict=True):
        v, u = rows + down, columns + right
        there = (v >= 0) & (v < height) & (u >= 0) & (u < width)
        v, u = np.clip(v, 0, height - 1), np.clip(u, 0, width - 1)
        differs = there & (label[v, u] != label)
        distance[differs] = np.minimum(distance[differs], far)
    share = ((distance - np.float32(1.0)) / np.float32(WELL_INSIDE)).astype(np.float64)
    weight: NDArray[np.float64] = share * share + ON_BORDER
    return weight


def _medians(
    d: NDArray[np.float64],
    number: NDArray[np.int32],
    weight: NDArray[np.float64],
    mass: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return the weighted median of the depths of every region."""
    order = np.lexsort((d, number))
    first = np.searchsorted(number[order], np.arange(mass.size))
    counted = np.cumsum(weight[order])
    before = np.concatenate([[0.0], counted])[first]
    middle = np.searchsorted(counted, before + (0.5 - MIDDLE) * mass)
    last = np.append(first[1:], number.size) - 1
    return np.asarray(d[order][np.clip(middle, first, last)])
