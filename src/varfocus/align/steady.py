r"""Did the camera move at all? A cheap question, asked of thumbnails before any registration.

Each thumbnail is compared with the next one, cell by cell, as in `varfocus.align.cells`; the
displacements of the pairs add up along the stack to those of the frames,

.. math:: δ_k = \sum_{ref ≤ i < k} δ_{i,i+1}, \qquad Σ_k = \sum Σ_{i,i+1}, \qquad
          β_k = \sum \frac{25}{R} \bar{|b_1|}_{i,i+1},

Σ from how much the cells contradict each other, β what defocus may pretend (R half the diagonal).
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass
from functools import reduce

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from varfocus import engine
from varfocus.align.cells import (
    BIAS,
    EDGE,
    SMALLEST_SIDE,
    Grey,
    cell_side,
    fitted,
    measured,
    root_mean_square,
)
from varfocus.align.models import normaliser

MODEL = "similarity"
SMOOTHING = 1.0
"""σ in pixels of the Gaussian on the thumbnails."""

LEAST_CELLS = 3
"""Cells across the shorter side that a similarity can be told from."""

SURER = 0.5
"""A coarser level is believed where its error is below this share of the finer one's."""


@dataclass(frozen=True)
class Steadiness:
    """How far frames seem to have moved, all in pixels of the frames, root mean square.

    Attributes
    ----------
    motion : ndarray of shape (n,)
        Distance of each frame from the reference.
    error : ndarray of shape (n,)
        Its standard error.
    doubt : ndarray of shape (n,)
        What defocus alone may have caused.
    correlation : ndarray of shape (n,)
        Correlation of each thumbnail with the more similar of its neighbours.
    """

    motion: NDArray[np.float64]
    error: NDArray[np.float64]
    doubt: NDArray[np.float64]
    correlation: NDArray[np.float64]


def steadiness(thumbs: Grey, factor: int, reference: int) -> Steadiness | None:
    """Compare each thumbnail with the next one; None if they are too small.

    Parameters
    ----------
    thumbs : ndarray of shape (n, h, w), float32
        Grey frames in the order of focus, shrunk.
    factor : int
        By how much.
    reference : int
        The frame that stands still.
    """
    correlation = _alike(thumbs)
    levels = []
    while min(thumbs.shape[1:]) >= LEAST_CELLS * SMALLEST_SIDE + 2 * EDGE and len(thumbs) > 1:
        levels.append((thumbs, factor))
        thumbs, factor = _halved(thumbs), 2 * factor
    if not levels:
        return None
    with ThreadPoolExecutor(min(engine.thread_count(), len(levels))) as pool:
        futures = [pool.submit(copy_context().run, _steps, images, by) for images, by in levels]
        steps = reduce(_surer, (future.result() for future in futures))
    delta = _from(steps.delta, reference)
    side_of = np.sign(np.arange(len(delta)) - reference)[:, None, None]
    covariance = side_of * _from(steps.covariance, reference)
    return Steadiness(
        root_mean_square(delta[:, :, None] * delta[:, None, :], MODEL, steps.shape),
        root_mean_square(covariance, MODEL, steps.shape),
        np.abs(_from(steps.bias, reference)),
        correlation,
    )


def _alike(thumbs: Grey) -> NDArray[np.float64]:
    flat = thumbs.reshape(len(thumbs), -1)
    flat = flat - flat.mean(axis=1, keepdims=True)
    size = np.sqrt(np.maximum(np.einsum("np,np->n", flat, flat), 1e-12))
    pairs = np.einsum("np,np->n", flat[:-1], flat[1:]) / (size[:-1] * size[1:])
    before, after = np.append(-1.0, pairs), np.append(pairs, -1.0)
    return np.asarray(np.maximum(before, after), np.float64)


@dataclass(frozen=True)
class Steps:
    """Motion from each frame to the next in pixels of the frames, as in `cells.Fit`."""

    delta: NDArray[np.float64]
    covariance: NDArray[np.float64]
    bias: NDArray[np.float64]
    shape: tuple[int, int]


def _steps(thumbs: Grey, factor: int) -> Steps:
    shape = (thumbs.shape[1], thumbs.shape[2])
    smooth = ndimage.gaussian_filter(thumbs, (0.0, SMOOTHING, SMOOTHING), truncate=3.0)
    fit = fitted(measured(smooth[:-1], smooth[1:], cell_side(shape)), MODEL, shape)
    bias = BIAS * normaliser(shape)[0, 0] * fit.blur
    return Steps(factor * fit.delta, factor**2 * fit.covariance, factor * bias, shape)


def _surer(fine: Steps, coarse: Steps) -> Steps:
    """Return, for each step, the one with the smaller error: blurred frames say more when small."""
    errors = [root_mean_square(s.covariance, MODEL, s.shape) for s in (fine, coarse)]
    better = errors[1] < SURER * errors[0]
    return Steps(
        np.where(better[:, None], coarse.delta, fine.delta),
        np.where(better[:, None, None], coarse.covariance, fine.covariance),
        np.where(better, coarse.bias, fine.bias),
        fine.shape,
    )


def _halved(images: Grey) -> Grey:
    h, w = images.shape[1] // 2 * 2, images.shape[2] // 2 * 2
    rows = images[:, 0:h:2, :w] + images[:, 1:h:2, :w]
    return np.float32(0.25) * (rows[:, :, 0::2] + rows[:, :, 1::2])


def _from(steps: NDArray[np.float64], reference: int) -> NDArray[np.float64]:
    """Return sums of steps from the reference on, and negative ones back from it."""
    path = np.concatenate([np.zeros((1, *steps.shape[1:])), np.cumsum(steps, axis=0)])
    return np.asarray(path - path[reference])
