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
from varfocus.edges.constants import BLURS, RANGES, SAMPLE_WINDOW, SAMPLES
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
    spans = []
    for side, count in zip(shape, (3, 4), strict=True):
        if side <= count * SAMPLE_WINDOW:
            spans.append([slice(0, side)])
        else:
            starts = np.linspace(0, side - SAMPLE_WINDOW, count).astype(int).tolist()
            spans.append([slice(start, start + SAMPLE_WINDOW) for start in starts])
    return [(rows, columns) for rows in spans[0] for columns in spans[1]]


def few_windows(shape: tuple[int, ...]) -> list[Box]:
    """Return three windows along the diagonal of the picture."""
    sides = [min(side, SAMPLE_WINDOW) for side in shape]
    places = [
        np.linspace(0, whole - side, 5).astype(int)
        for whole, side in zip(shape, sides, strict=True)
    ]
    starts = [[int(place[k]) for place in places] for k in (1, 2, 3)]
    return [(slice(top, top + sides[0]), slice(left, left + sides[1])) for top, left in starts]


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
    chosen = np.flatnonzero(clear & (contrast > np.median(contrast)))
    chosen = chosen[:: max(chosen.size // count, 1)]
    blurred = [convolved(sharp, kernel(s)).reshape(channels, -1)[:, chosen].T for s in BLURS]
    measured = [frame.reshape(-1, channels)[chosen] * factor for frame in frames]
    return np.stack(blurred), np.stack(measured).astype(np.float32), label.ravel()[chosen]
