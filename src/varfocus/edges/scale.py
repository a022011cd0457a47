r"""How strongly the camera blurs what is out of focus, measured on the stack itself.

A surface that is in focus at the coordinate x_l is blurred in frame k by

.. math:: σ(k, l) = c\, |x_k - x_l| \text{ pixels}.

c is the one number for which the frame in focus, blurred, looks most like the other frames, on
contrasty pixels away from depth jumps: the minimum of mean |I_k − h_σ * I_l|.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from varfocus.edges.render import Float, convolved, kernel

SAMPLES = 4000
"""Pixels looked at."""

WINDOW = 128
"""Side in pixels of the windows in which a large picture is looked at."""

CLEAR = 8
"""Distance in pixels from jumps at which a surface is taken to be alone."""

BLURS = np.concatenate([[0.0], np.geomspace(0.25, 16.0, 19)])
"""σ in pixels at which the picture is blurred; linear between."""

RANGES = np.geomspace(0.5, 32.0, 61)
"""Candidates of c times the range of x: blur of one end when the other is in focus, in pixels."""


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


def blur_scale(
    frames: list[NDArray[Any]],
    scale: float,
    index: Float,
    x: NDArray[np.float64],
    clear: NDArray[np.bool_],
) -> BlurScale | None:
    """Measure the blur of a stack.

    Parameters
    ----------
    frames : list of n ndarrays of shape (H, W, C)
        Frames in any number type.
    scale : float
        What maps it to [0, 1].
    index : ndarray of shape (H, W), float32
        Depth in frames.
    x : ndarray of shape (n,)
        Focus coordinate of the frames, monotone.
    clear : ndarray of shape (H, W), bool
        Pixels that may be looked at.

    Returns
    -------
    BlurScale or None
        None if there are too few pixels to tell.
    """
    unit = np.abs(x - x[0]) / abs(x[-1] - x[0])
    label = np.clip(np.rint(index), 0, len(frames) - 1).astype(np.intp)
    parts = [
        _sampled([f[box] for f in frames], scale, label[box], unit, clear[box])
        for box in _windows(index.shape)
    ]
    blurred, measured, distance = (
        np.concatenate(part, axis=-1) for part in zip(*parts, strict=True)
    )
    if distance.shape[1] < SAMPLES // 10:
        return None
    column = np.arange(distance.shape[1])[None]

    def residual(c: float) -> Float:
        sigma = np.minimum(c * distance, 0.999 * BLURS[-1])
        lower = np.searchsorted(BLURS, sigma, side="right") - 1
        share = ((sigma - BLURS[lower]) / (BLURS[lower + 1] - BLURS[lower])).astype(np.float32)
        low, high = (np.moveaxis(blurred[i, :, column], 2, 1) for i in (lower, lower + 1))
        difference: Float = measured - (low + share[:, None] * (high - low))
        return difference

    mean = [float(np.abs(residual(c)).mean()) for c in RANGES]
    best = float(RANGES[int(np.argmin(mean))])
    square = np.sum(residual(best) ** 2, axis=1).mean(axis=0)
    # Frames without noise still do not follow the model to the last digit.
    contrast = float(measured.var(axis=(0, 2)).sum())
    return BlurScale(best * unit, max(float(np.median(square)), 1e-3 * contrast, 1e-8))


def _windows(shape: tuple[int, ...]) -> list[tuple[slice, slice]]:
    """Return up to 3×4 windows spread over the picture, or all of a small one."""
    spans = []
    for side, count in zip(shape, (3, 4), strict=True):
        if side <= count * WINDOW:
            spans.append([slice(0, side)])
        else:
            starts = np.linspace(0, side - WINDOW, count).astype(int).tolist()
            spans.append([slice(start, start + WINDOW) for start in starts])
    return [(rows, columns) for rows in spans[0] for columns in spans[1]]


def _sampled(
    frames: list[NDArray[Any]],
    scale: float,
    label: NDArray[np.intp],
    unit: NDArray[np.float64],
    clear: NDArray[np.bool_],
) -> tuple[Float, Float, NDArray[np.float64]]:
    """Return sharp colours at every blur, measured ones in every frame, and focus distances."""
    stack = np.stack([np.moveaxis(f, 2, 0) for f in frames]).astype(np.float32) * np.float32(scale)
    sharp = np.take_along_axis(stack, label[None, None], axis=0)[0]
    contrast = ndimage.gaussian_gradient_magnitude(sharp.sum(axis=0), 1.0)
    chosen = np.flatnonzero(clear & (contrast > np.median(contrast)))
    chosen = chosen[:: max(chosen.size // SAMPLES, 1)]
    channels = len(sharp)
    blurred = [convolved(sharp, kernel(s)).reshape(channels, -1)[:, chosen] for s in BLURS]
    distance = np.abs(unit[:, None] - unit[label.ravel()[chosen]][None])
    return np.stack(blurred), stack.reshape(len(stack), channels, -1)[:, :, chosen], distance
