r"""How strongly the camera blurs what is out of focus, measured on the stack itself.

A surface that is in focus at the coordinate x_l is blurred in frame k by

.. math:: σ(k, l) = c\, |x_k - x_l| \text{ pixels}.

c is the one number for which the frame in focus, blurred, looks most like the other frames, on
contrasty pixels away from depth jumps: the minimum of mean |I_k − h_σ * I_l|.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from varfocus import engine
from varfocus.canvas.tiles import Box
from varfocus.edges.constants import BLURS, FEW_WINDOW, RANGES, SAMPLE_WINDOW, SAMPLES
from varfocus.edges.render import Float, convolved, kernel


@dataclass(frozen=True)
class BlurScale:
    """The blur of a stack.

    Attributes
    ----------
    position : ndarray of shape (n,), float64
        c·x of every frame, rising from 0: |difference| of two is a blur σ in pixels.
    noise : float
        Median over pixels of the mean squared residual of a frame, all channels together.
    """

    position: NDArray[np.float64]
    noise: float


@dataclass(frozen=True)
class Part:
    """A part of a stack in which blur is measured.

    Attributes
    ----------
    frames : list of n ndarrays of shape (h, w, C)
        Frames in any number type.
    index : ndarray of shape (h, w), float32
        Depth in frames.
    clear : ndarray of shape (h, w), bool
        Pixels that may be looked at.
    """

    frames: list[NDArray[Any]]
    index: Float
    clear: NDArray[np.bool_]


def blur_scale(
    parts: Sequence[Part], scale: float, x: NDArray[np.float64], count: int = SAMPLES
) -> BlurScale | None:
    """Measure the blur of a stack.

    Parameters
    ----------
    parts : sequence of Part
        Parts that represent all of it, such as `sample_windows`.
    scale : float
        What maps pixel values to [0, 1].
    x : ndarray of shape (n,)
        Focus coordinate of the frames, monotone.
    count : int
        Pixels to look at, or up to twice as many.

    Returns
    -------
    BlurScale or None
        None if there are too few pixels.
    """
    unit = np.abs(x - x[0]) / abs(x[-1] - x[0])

    def sampled(part: Part) -> tuple[Float, Float, NDArray[np.intp]]:
        label = np.clip(np.rint(part.index), 0, len(part.frames) - 1).astype(np.intp)
        return _sampled(part.frames, scale, label, part.clear, count // len(parts))

    samples = engine.side_by_side(sampled, parts)
    blurred, measured = (
        np.concatenate(each, axis=1) for each in list(zip(*samples, strict=True))[:2]
    )
    own = np.concatenate([sample[2] for sample in samples])
    if own.size < count // 10:
        return None
    # Pixels of one label are blurred alike: by the σ of a frame and a label.
    distance = np.abs(unit[:, None] - unit[None])
    levels, frames = (np.moveaxis(each, 2, 0).copy() for each in (blurred, measured))
    levels, column = levels.reshape(len(levels), -1), np.arange(own.size)

    def residual(c: float) -> Float:
        place = np.interp(np.minimum(c * distance, 0.999 * BLURS[-1]), BLURS, np.arange(BLURS.size))
        lower = place.astype(np.intp)
        share = (place - lower).astype(np.float32).take(own, axis=1)
        first = (lower * own.size).take(own, axis=1) + column
        low, high = levels.take(first, axis=1), levels.take(first + own.size, axis=1)
        difference: Float = frames - (low + share * (high - low))
        return difference

    def mean(i: int) -> float:
        return float(np.abs(residual(RANGES[i])).mean())

    # Every fifth candidate first, then those between the best of them and its neighbours.
    start = min(range(0, RANGES.size, 5), key=mean)
    best = RANGES[min(range(max(start - 4, 0), min(start + 5, RANGES.size)), key=mean)]
    square = np.sum(residual(best) ** 2, axis=0).mean(axis=0)
    # Frames without noise still do not follow the model to the last digit.
    contrast = float(measured.var(axis=(0, 1)).sum())
    return BlurScale(best * unit, max(float(np.median(square)), 1e-3 * contrast, 1e-8))


def sample_windows(shape: tuple[int, ...]) -> list[Box]:
    """Return up to 3×4 windows spread over the picture, or all of a small one."""
    counts = [4 if side > min(shape) else 3 for side in shape]
    down, across = (
        evenly(side, SAMPLE_WINDOW, count) if side > count * SAMPLE_WINDOW else [slice(0, side)]
        for side, count in zip(shape, counts, strict=True)
    )
    return [(rows, columns) for rows in down for columns in across]


def few_windows(shape: tuple[int, ...]) -> list[Box]:
    """Return five windows, that in the middle of the picture and those around it."""
    down, across = (evenly(side, min(side, FEW_WINDOW), 5)[1:4] for side in shape)
    return [(down[i], across[j]) for i, j in ((0, 0), (0, 2), (1, 1), (2, 0), (2, 2))]


def evenly(length: int, side: int, count: int) -> list[slice]:
    """Return so many windows from end to end, symmetric; the middle one may be a pixel longer."""
    starts = [i * (length - side) // (count - 1) for i in range((count + 1) // 2)]
    first = [slice(start, start + side) for start in starts]
    if count % 2:
        first[-1] = slice(starts[-1], length - starts[-1])
    return first + [slice(length - s.stop, length - s.start) for s in first[: count // 2][::-1]]


def thinned(mask: NDArray[np.bool_], count: int) -> NDArray[np.intp]:
    """Return the flat indices of about so many pixels of a mask, spread over it.

    A pixel is chosen by how far it is from the middle, its rows and columns in either order: of the
    picture turned over, the same ones are.
    """
    down, across = (np.abs(2 * np.arange(side) - (side - 1)) // 2 for side in mask.shape)
    low, high = np.minimum.outer(down, across), np.maximum.outer(down, across)
    # Multiples of these two fractions of 2³² fill it evenly (Roberts 2018).
    place = (low * 3242174889 + high * 2447445414) % 2**32
    return np.flatnonzero(mask & (place * max(np.count_nonzero(mask), 1) < count * 2**32))


def _sampled(
    frames: list[NDArray[Any]],
    scale: float,
    label: NDArray[np.intp],
    clear: NDArray[np.bool_],
    count: int,
) -> tuple[Float, Float, NDArray[np.intp]]:
    """Return sharp colours at every blur, measured ones in every frame, and labels of pixels.

    The first two are of shapes ``(blurs, pixels, C)`` and ``(n, pixels, C)``.
    """
    factor = np.float32(scale)
    channels = frames[0].shape[2]
    own = np.take_along_axis(np.stack(frames), label[None, ..., None], axis=0)[0]
    sharp = np.moveaxis(own, 2, 0).astype(np.float32) * factor
    contrast = ndimage.gaussian_gradient_magnitude(sharp.sum(axis=0), 1.0)
    chosen = thinned(clear & (contrast > np.median(contrast)), count)
    blurred = [convolved(sharp, kernel(s)).reshape(channels, -1)[:, chosen].T for s in BLURS]
    measured = [frame.reshape(-1, channels)[chosen] * factor for frame in frames]
    return np.stack(blurred), np.stack(measured).astype(np.float32), label.ravel()[chosen]
