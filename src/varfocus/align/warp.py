r"""Frames resampled once, and frames shrunk to block means.

A warped frame takes each pixel p from the position q = M p of the original,

.. math:: \tilde I(p) = g \sum_{ij} w_i(q_x) w_j(q_y) I_{ij},

with g a gain per channel and w a windowed sinc over six neighbours (Lanczos-3), normalised to sum
one: unlike bicubic weights it keeps detail up to half the sampling frequency at its strength,
wherever between two pixels q falls, so that contrast does not depend on it.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from varfocus import engine

PHASES = 1024
"""Positions between two pixels for which weights are tabulated."""

BAND = 64
"""Rows that the array code warps at a time."""


@cache
def lanczos() -> NDArray[np.float32]:
    """Return the weights of six neighbours by sub-pixel position, ``(PHASES + 1, 6)``."""
    t = np.arange(PHASES + 1)[:, None] / PHASES - np.arange(-2, 4)
    weights = np.sinc(t) * np.sinc(t / 3.0)
    weights[np.abs(weights) < 1e-9] = 0.0  # whole positions are copied to the bit
    table: NDArray[np.float32] = (weights / weights.sum(1, keepdims=True)).astype(np.float32)
    return table


@cache
def linear() -> NDArray[np.float32]:
    """Return the weights of two neighbours by sub-pixel position, ``(PHASES + 1, 2)``."""
    t = np.arange(PHASES + 1) / PHASES
    return np.stack([1.0 - t, t], axis=1).astype(np.float32)


def warp(
    frame: NDArray[Any],
    matrix: NDArray[np.float64],
    shape: tuple[int, int],
    *,
    gains: NDArray[np.float64] | None = None,
    table: NDArray[np.float32] | None = None,
) -> NDArray[Any]:
    """Resample a frame.

    Parameters
    ----------
    frame : ndarray of shape (H, W) or (H, W, 3)
        uint8, uint16 or float32.
    matrix : ndarray of shape (3, 3), float64
        Maps homogeneous pixel coordinates (x, y, 1) of the result to those of `frame`; pixel
        centres are whole numbers.
    shape : (int, int)
        Height H′ and width W′ of the result.
    gains : ndarray of shape (channels,), optional
        Factor on each channel.
    table : ndarray of shape (phases + 1, taps), optional
        Weights of the neighbours; by default `lanczos`.

    Returns
    -------
    ndarray of shape (H′, W′) or (H′, W′, 3)
        In the dtype of `frame`, rounded and clipped to its range. Positions outside of the frame
        see its border.
    """
    table = lanczos() if table is None else table
    pixels = np.ascontiguousarray(frame if frame.ndim == 3 else frame[:, :, None])
    factors = np.ones(pixels.shape[2], np.float32)
    if gains is not None:
        factors[:] = gains
    out = np.empty((*shape, pixels.shape[2]), pixels.dtype)
    if engine.in_use():
        engine.warp(pixels, out, matrix, table, factors)
    else:
        for top in range(0, shape[0], BAND):
            rows = np.arange(top, min(top + BAND, shape[0]))
            out[rows] = _warped_rows(pixels, matrix, rows, shape[1], table, factors)
    return out if frame.ndim == 3 else out[:, :, 0]


def _warped_rows(
    pixels: NDArray[Any],
    matrix: NDArray[np.float64],
    rows: NDArray[np.intp],
    width: int,
    table: NDArray[np.float32],
    gains: NDArray[np.float32],
) -> NDArray[Any]:
    x, y = np.meshgrid(np.arange(width), rows)
    height, breadth = pixels.shape[:2]
    depth = matrix[2, 0] * x + matrix[2, 1] * y + matrix[2, 2]
    with np.errstate(divide="ignore", invalid="ignore"):
        scale = np.where(depth > 1e-9, 1.0 / depth, np.inf)
        q_x = (matrix[0, 0] * x + matrix[0, 1] * y + matrix[0, 2]) * scale
        q_y = (matrix[1, 0] * x + matrix[1, 1] * y + matrix[1, 2]) * scale
    i, w_x = _neighbours(q_x, breadth, table)
    j, w_y = _neighbours(q_y, height, table)
    taps = table.shape[1]
    total = np.zeros((*x.shape, pixels.shape[2]), np.float32)
    for a in range(taps):
        column = np.clip(i + a, 0, breadth - 1)
        part = np.zeros_like(total)
        for b in range(taps):
            row = np.clip(j + b, 0, height - 1)
            part += w_y[..., b, None] * pixels[row, column].astype(np.float32)
        total += w_x[..., a, None] * part
    total *= gains
    if np.issubdtype(pixels.dtype, np.integer):
        total = np.clip(np.rint(total), 0, np.iinfo(pixels.dtype).max)
    return total.astype(pixels.dtype)


def _neighbours(
    position: NDArray[np.float64], length: int, table: NDArray[np.float32]
) -> tuple[NDArray[np.intp], NDArray[np.float32]]:
    """Return the first neighbour of each position and the weights of all."""
    position = np.where(position > -1.0, position, -1.0)  # also catches NaN
    position = np.where(position < length, position, float(length))
    below = np.floor(position)
    phase = ((position - below) * (len(table) - 1) + 0.5).astype(np.intp)
    return below.astype(np.intp) - table.shape[1] // 2 + 1, table[phase]


def shrink(frame: NDArray[Any], factor: int, scale: float) -> NDArray[np.float32]:
    """Return means over ``factor × factor`` pixels times `scale`.

    Parameters
    ----------
    frame : ndarray of shape (H, W) or (H, W, C)
        uint8, uint16 or float32.
    factor : int
        Side of the blocks; rows and columns left over are dropped. The centre of block x lies at
        ``factor · x + (factor − 1) / 2``.
    scale : float
        Factor on the values.

    Returns
    -------
    ndarray of shape (H // factor, W // factor, C), float32
        With C = 1 for a grey frame.
    """
    pixels = np.ascontiguousarray(frame if frame.ndim == 3 else frame[:, :, None])
    height, width = pixels.shape[0] // factor, pixels.shape[1] // factor
    if engine.in_use():
        out = np.empty((height, width, pixels.shape[2]), np.float32)
        engine.shrink(pixels, out, factor, scale)
        return out
    blocks = pixels[: height * factor, : width * factor]
    blocks = blocks.reshape(height, factor, width, factor, -1)
    means: NDArray[np.float32] = (scale * blocks.mean(axis=(1, 3), dtype=np.float64)).astype(
        np.float32
    )
    return means
