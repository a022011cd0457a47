"""Which frames the kernels take, and how they see them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from varfocus.engine.extension import WIDEST_WINDOW

CONTRAST_TYPES = {
    np.dtype(np.uint8): np.uint16,
    np.dtype(np.uint16): np.int32,
    np.dtype(np.float32): np.float32,
}
"""The type that holds the contrast of a frame exactly, by the frame's type."""


def accepts(frame: Any, window: int) -> bool:
    """Tell whether the kernels can take in frames like this one."""
    return (
        isinstance(frame, np.ndarray)
        and frame.dtype in CONTRAST_TYPES
        and frame.dtype.isnative
        and frame.size > 0
        and (frame.ndim == 2 or (frame.ndim == 3 and frame.shape[2] in (1, 3, 4)))
        and window <= WIDEST_WINDOW
    )


def pixels(frame: NDArray[Any]) -> NDArray[Any]:
    """Return the colours as ``(H, W, C)``, copied only if a row's numbers are not in one piece."""
    pixels = frame[:, :, None] if frame.ndim == 2 else frame[:, :, :3]
    size = pixels.itemsize
    across, along = pixels.strides[1] // size, pixels.strides[2] // size
    whole = all(stride % size == 0 for stride in pixels.strides)
    channels = pixels.shape[2]
    if whole and channels <= across <= 4 and (along == 1 or channels == 1):
        return pixels
    return pixels.copy()  # `ascontiguousarray` keeps any stride of an axis of length 1
