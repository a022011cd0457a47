"""Contrast peaks that something brighter beside them may have caused count less."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from varfocus.contrast import box_mean
from varfocus.curve.likelihood import Model

Float = NDArray[np.float32]

VETO_WINDOW = 21
"""Side in pixels of the window in which `overshadowed` looks for something stronger."""

VETO_RATIO = 4.0
"""Pixels weaker than their surroundings by more than this factor are distrusted."""

VETO_REACH, VETO_INSIDE = 1.0, 0.9
"""Within this many frames of an end of the range entirely, and further inside to this share."""

REFERENCE_SIZE = 320.0
"""Side in pixels of the square image for which the weight of the refinement is meant."""

MOST_MAGNIFIED = 16.0
"""Images wider than this many times that are mosaics, whose blur grows no further."""


def overshadowed(strength: Float, size: int | None = None) -> Float:
    r"""Return the share of a pixel's evidence to discount because of its surroundings, 0 … 1.

    Beside something bright, a plain pixel has a contrast peak of its own in the frame whose blur
    just reaches it: a ghost. 1 − f² with f = min(1, 4·strength / strongest around): a peak counts
    if it is a quarter as strong as what is around it. Around means 21×21 pixels in an image of
    320×320, and more in proportion in a larger image, as is its blur: `veto_windows`.

    Parameters
    ----------
    strength : ndarray of shape (H, W), float32
        Range over focus of each pixel's contrast.
    size : int, optional
        Pixels of the whole image, if this is a part of it.

    Returns
    -------
    ndarray of shape (H, W), float32
        What C loses: see `end_labels`.
    """
    widest, mean = veto_windows(size or strength.size)
    around = ndimage.maximum_filter(strength, widest, mode="nearest")
    around = box_mean(around, mean)
    ratio = strength / np.maximum(around, np.finfo(np.float32).tiny)
    lost: Float = (1.0 - np.minimum(VETO_RATIO * ratio, 1.0) ** 2).astype(np.float32, copy=False)
    return lost


def veto_windows(size: int) -> tuple[int, int]:
    """Return the sides in pixels over which `overshadowed` takes the maximum, and its mean.

    They grow with the side of an image of `size` pixels, up to 26 megapixels: what is larger is not
    one picture at a higher magnification but many beside each other.
    """
    side = VETO_WINDOW * float(np.clip(np.sqrt(size) / REFERENCE_SIZE, 1.0, MOST_MAGNIFIED))
    # Windows of an even side have no middle: they lean to one side.
    return round(side) // 2 * 2 + 1, round(side / 2) // 2 * 2 + 1


def end_labels(model: Model) -> Float:
    """Return the share of `overshadowed` that C loses at each label, shape ``(L,)``.

    All of it at the ends of the range, where ghosts are most frequent; a tenth is spared elsewhere,
    so that faint surfaces still count.
    """
    label = np.arange(model.labels, dtype=np.float64)
    distance = model.step * np.minimum(label, model.labels - 1 - label)
    return np.maximum(1.0 - distance / VETO_REACH, VETO_INSIDE).astype(np.float32)
