"""Where the error of a depth map lies: beside jumps, where nothing speaks, or elsewhere."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from varfocus.contrast import box_mean, contrast_function
from varfocus.stack import FocusStack
from varfocus.studies import metrics

Mask: TypeAlias = NDArray[np.bool_]

PLACES = ("at", "near", "plain", "rest")
"""Up to 3 px from a depth jump; from there to 8 px; beyond, where nothing speaks; all else."""

INNER, OUTER = 3.0, 8.0
"""Limits of the bands beside jumps, in pixels."""

GHOST = 4.0
"""An error of more frames than this is no inaccuracy: the depth is that of something else."""

WINDOW = 9
"""Side in pixels of the window in which contrast is looked for."""

SPEAKS = 1.6
"""Contrast in focus over that out of focus, below which it is no more than noise."""


@dataclass(frozen=True)
class Place:
    """Errors in one place; NaN without pixels.

    Attributes
    ----------
    share : float
        Share of the pixels with known truth.
    rmse : float
        Root mean square error in frames.
    bad : float
        Share of its pixels off by more than a frame, or without a depth.
    squared : float
        Share that it has in the sum of all squared errors.
    """

    share: float
    rmse: float
    bad: float
    squared: float


def jump_size(n: int) -> float:
    """Return the least jump of the depth in frames: one, or 1/14 of the range if that is more.

    With hundreds of frames a gentle slope rises by more than one from pixel to pixel.
    """
    return max(1.0, (n - 1) / 14.0)


def nothing_speaks(stack: FocusStack, truth: NDArray[np.float32]) -> Mask:
    """Return the pixels at which no contrast tells that they are in focus where they are.

    By the truth, whatever a method says: the larger mean MLAP over 9×9 pixels of the two frames
    beside the true depth, divided by the least of all frames (which the noise makes, and what stays
    of the texture out of focus), is at most `SPEAKS`.

    Parameters
    ----------
    stack : FocusStack
        Frames.
    truth : ndarray of shape (H, W), float32
        True frame; NaN where unknown.

    Returns
    -------
    ndarray of shape (H, W), bool
        False where the truth is unknown.
    """
    measure = contrast_function("mlap")
    contrast = np.stack([box_mean(measure(stack.as_unit(frame)), WINDOW) for frame in stack])
    known = np.isfinite(truth)
    below = np.clip(np.floor(np.where(known, truth, 0)).astype(np.intp), 0, len(stack) - 2)
    focused = np.maximum(
        *(np.take_along_axis(contrast, (below + k)[None], axis=0)[0] for k in (0, 1))
    )
    least = contrast.min(axis=0)
    return np.asarray(known & (focused <= SPEAKS * least))


def areas(truth: NDArray[np.float32], n: int, plain: Mask) -> dict[str, Mask]:
    """Return the pixels of every place, of which each pixel with known truth has one.

    Parameters
    ----------
    truth : ndarray of shape (H, W), float32
        True frame; NaN where unknown.
    n : int
        Number of frames.
    plain : ndarray of shape (H, W), bool
        Where nothing speaks.

    Returns
    -------
    dict of str to ndarray of bool
        By the names in `PLACES`.
    """
    known = np.isfinite(truth)
    distance = metrics.jump_distance(truth, jump_size(n))
    beyond = known & (distance > OUTER)
    return {
        "at": known & (distance <= INNER),
        "near": known & (distance > INNER) & (distance <= OUTER),
        "plain": beyond & plain,
        "rest": beyond & ~plain,
    }


def places(
    index: NDArray[np.float32], truth: NDArray[np.float32], where: dict[str, Mask]
) -> dict[str, Place]:
    """Return the errors of a depth map in every place.

    Parameters
    ----------
    index, truth : ndarray of shape (H, W), float32
        In frames.
    where : dict of str to ndarray of bool
        Of `areas`.

    Returns
    -------
    dict of str to Place
        By the same names.
    """
    known = np.isfinite(truth)
    error = np.where(known & np.isfinite(index), index - truth, 0.0).astype(np.float64)
    total = float(np.square(error).sum())
    result = {}
    for name, here in where.items():
        squares = float(np.square(error[here]).sum())
        result[name] = Place(
            share=here.sum() / max(known.sum(), 1),
            rmse=metrics.rmse(index[here], truth[here]),
            bad=metrics.bad_pixels(index[here], truth[here]),
            squared=squares / total if total > 0 else 0.0,
        )
    return result
