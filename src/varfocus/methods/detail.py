r"""How much of the fine detail of a depth map is noise, place by place, told by what it leaves.

The same data are smoothed ever more strongly, d₀, d₁, …. Smoothing takes noise away, and detail
with it. What it took shows in the residual r = m − d, m the depth that each pixel would have by
itself: noise of contrast is alike only over the few pixels that its support covers, the surface
over many. So of the residual's autocovariance a(s) at a distance of s pixels, beyond that
support, only detail that was lost remains; carried on linearly to s = 0 it is its mean square b².
What was taken altogether is g = |d − d₀|², of which b² is detail, and the rest noise. Compared with
d₀, the mean square error has changed by

.. math:: R = b^2 - (g - b^2) = 2b^2 - g,

both averaged over a Gaussian window. The strength of the least R is taken, so a rough surface keeps
what a smooth one is rid of, and nothing is tuned to either.

References
----------
.. [1] C. Stein, "Estimation of the mean of a multivariate normal distribution", Annals of
   Statistics 9, 1981: the same estimate where the noise is white and its variance known.
.. [2] M. Almeida, M. Figueiredo, "Parameter estimation for blind and non-blind deblurring using
   residual whiteness measures", IEEE Transactions on Image Processing 22, 2013.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from varfocus.minimise.semi_global import lowest
from varfocus.minimise.tgv import Parabolas

Float = NDArray[np.float32]
Blocks = NDArray[np.float64]

NEAR, FAR = 6, 10
"""Distances in pixels at which the autocovariance is taken: noise of contrast is alike up to 5."""

BLOCK = 8
"""Side in pixels of the blocks over which sums are taken."""

WINDOW, CALM = 16.0, 16.0 / 3.0
"""σ in pixels of the window, and over which the answer is averaged."""

OUTLIER, FAINT = 0.3, 4.0
"""Units of depth from which on a residual is a gross error, and the h, per square unit, at which a
pixel counts half."""

TRUNCATE = 4.0
"""Half the width of a Gaussian in σ."""

REACH = FAR + int(TRUNCATE * (WINDOW + CALM)) + 3 * BLOCK
"""Pixels around a pixel that decide."""


def strength(
    parts: Parabolas, maps: Sequence[Float], unit: float, smoothness: float = 1.0
) -> Float:
    """Return which of several smoothed maps is best, place by place.

    Parameters
    ----------
    parts : Parabolas
        The data, around the first map.
    maps : sequence of ndarray of shape (H, W), float32
        Depth in frames, the least smooth first.
    unit : float
        Natural unit of depth in frames.
    smoothness : float
        What noise costs in units of lost detail.

    Returns
    -------
    ndarray of shape (H, W), float32
        Number of the map, fractional.
    """
    shape = parts.m.shape
    per_unit = np.float32(1.0 / unit)
    heard: Float = parts.h / (parts.h + np.float32(FAINT / unit**2))
    for d in (maps[0], maps[-1]):
        heard *= np.abs(parts.m - d) < np.float32(OUTLIER * unit)
    pairs = [_windowed(_pairs(heard, away)) for away in (NEAR, FAR)]
    alone = _windowed(_sums(heard * heard))
    first: Blocks | None = None
    risks = []
    for d in maps:
        residual = (parts.m - d) * (heard * per_unit)
        near, far = (
            _windowed(_pairs(residual, away)) / np.maximum(count, 1e-9)
            for away, count in zip((NEAR, FAR), pairs, strict=True)
        )
        lost = near + np.maximum(near - far, 0.0) * (NEAR / (FAR - NEAR))
        first = lost if first is None else first
        taken = _windowed(_sums(np.square((d - maps[0]) * (heard * per_unit))))
        taken = taken / np.maximum(alone, 1e-9)
        risks.append(2.0 / smoothness * np.maximum(lost - first, 0.0) - taken)
    # Where nothing speaks there is no detail.
    best = np.where(alone > 1e-9, lowest(np.array(risks, np.float32)), len(maps) - 1.0)
    return _between(_smooth(best, CALM, "nearest"), shape)


def mixed(maps: Sequence[Float], number: Float) -> Float:
    """Return the map of a fractional number, pixel by pixel, linear between two."""
    out = np.array(maps[0])
    for k, (low, high) in enumerate(itertools.pairwise(maps)):
        share = number - np.float32(k)
        here = share > 0
        out[here] = (low + np.minimum(share, np.float32(1.0)) * (high - low))[here]
    return out


def _pairs(values: Float, away: int) -> Blocks:
    """Return sums over blocks of products of pixels so far apart, along both axes."""
    half = away // 2
    products = np.zeros_like(values)
    products[:, half:-half] += values[:, away:] * values[:, :-away]
    products[half:-half] += values[away:] * values[:-away]
    return _sums(products)


def _sums(values: Float) -> Blocks:
    """Return sums over blocks, which lie symmetric about the middle of the image.

    A pixel between two of them, as there is where a side is odd, counts half in either.
    """
    sums = _sums_of_rows(values)
    return _sums_of_rows(sums.T).T


def _sums_of_rows(values: NDArray[np.floating]) -> Blocks:
    height = values.shape[0]
    missing = -height % BLOCK
    sums = np.zeros(((height + missing) // BLOCK, values.shape[1]))
    starts = {missing // 2, missing - missing // 2}
    for before in starts:
        padded = np.pad(values, ((before, missing - before), (0, 0)))
        sums += padded.reshape(-1, BLOCK, values.shape[1]).sum(axis=1, dtype=np.float64)
    sums /= len(starts)
    return sums


def _windowed(sums: Blocks) -> Blocks:
    return _smooth(sums, WINDOW, "constant")


def _smooth(blocks: Blocks, sigma: float, mode: str) -> Blocks:
    smooth: Blocks = ndimage.gaussian_filter(blocks, sigma / BLOCK, mode=mode, truncate=TRUNCATE)
    return smooth


def _between(blocks: Blocks, shape: tuple[int, ...]) -> Float:
    """Return values of blocks as those of pixels, linear between the middles of blocks."""
    for axis, side in enumerate(shape):
        first = 0.5 * (side - BLOCK * blocks.shape[axis])  # where blocks begin
        place = (np.arange(side) + 0.5 - first) / BLOCK - 0.5
        place = np.clip(place, 0.0, blocks.shape[axis] - 1)
        low = place.astype(np.intp)
        high = np.minimum(low + 1, blocks.shape[axis] - 1)
        share = (place - low).reshape((-1, 1) if axis == 0 else (1, -1))
        near, far = blocks.take(low, axis=axis), blocks.take(high, axis=axis)
        blocks = near + share * (far - near)
    return blocks.astype(np.float32)
