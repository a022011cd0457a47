"""Pictures and maps at half their size, for looking at them from afar."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def halved(image: NDArray[Any], numbers: bool = False) -> NDArray[Any]:
    """Return a picture at half its size: means over 2×2 pixels of what is known.

    Parameters
    ----------
    image : ndarray of shape (H, W) or (H, W, C)
        NaN where unknown; an odd last row or column counts twice.
    numbers : bool
        Take every other pixel instead: frame numbers have no mean.

    Returns
    -------
    ndarray of shape (⌈H/2⌉, ⌈W/2⌉) or (⌈H/2⌉, ⌈W/2⌉, C)
        Of the same dtype, integers rounded; NaN where all four are.
    """
    if numbers:
        return image[::2, ::2]
    edge = [(0, n % 2) for n in image.shape[:2]] + [(0, 0)] * (image.ndim - 2)
    even = np.pad(image, edge, mode="edge")
    corners = [even[i::2, j::2].astype(np.float32) for i in (0, 1) for j in (0, 1)]
    if np.issubdtype(image.dtype, np.integer):
        mean = sum(corners[1:], corners[0]) * np.float32(0.25)
        return np.asarray(np.rint(mean), image.dtype)
    known = sum(np.isfinite(c).astype(np.float32) for c in corners)
    total = sum(np.nan_to_num(c, nan=0.0) for c in corners)
    with np.errstate(invalid="ignore"):
        return np.asarray(np.divide(total, known), image.dtype)


def sampled(image: NDArray[Any], step: int) -> NDArray[Any]:
    """Return one pixel of every ``step × step``, the middle one; at least one, however narrow.

    Parameters
    ----------
    image : ndarray of shape (H, W) or (H, W, C)
        Not empty.
    step : int
        At least 1.

    Returns
    -------
    ndarray of shape (about H/step, about W/step) or (…, …, C)
        A view.
    """
    rows, columns = (slice(min(step, n) // 2, None, step) for n in image.shape[:2])
    return image[rows, columns]
