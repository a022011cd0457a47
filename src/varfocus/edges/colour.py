"""The all-in-focus image without the veil of blurred foregrounds."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from varfocus.edges.render import Float


def unveiled(
    fused: NDArray[Any], colour: Float, seen: NDArray[np.bool_], scale: float
) -> NDArray[Any]:
    """Put un-mixed colours into an all-in-focus image.

    Where the background is in focus, a foreground beside it is not, and lays its blur over it: no
    frame shows these pixels clean. The edge stage removes the blur.

    Parameters
    ----------
    fused : ndarray of shape (H, W) or (H, W, C)
        All-in-focus image in the number type of the frames.
    colour : ndarray of shape (H, W, C), float32
        Un-mixed colours, in units in which the frames are multiplied by `scale`.
    seen : ndarray of shape (H, W), bool
        Where to put them.
    scale : float
        See `colour`.

    Returns
    -------
    ndarray of the shape and dtype of `fused`
        A new image.
    """
    clean = colour[seen] / np.float32(scale)
    if np.issubdtype(fused.dtype, np.integer):
        clean = np.clip(np.rint(clean), 0, np.iinfo(fused.dtype).max)
    result = fused.reshape(*seen.shape, -1).copy()
    result[seen] = clean.astype(fused.dtype)
    return result.reshape(fused.shape)
