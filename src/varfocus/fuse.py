"""The all-in-focus image: every pixel taken from the frames its depth points to.

Between two frames the weights are those of linear interpolation, max(0, 1 − |k − index|), so a
slanted surface shows no seams, and no coefficient is ever chosen for being noisy.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from varfocus.progress import Progress, silent, track
from varfocus.stack import FocusStack


def fuse(
    stack: FocusStack, index: NDArray[np.float32], progress: Progress = silent
) -> NDArray[Any]:
    """Compose the all-in-focus image.

    Parameters
    ----------
    stack : FocusStack
        Frames; each is decoded once.
    index : ndarray of shape (H, W), float32
        Depth in fractional 0-based frame numbers.
    progress : callable
        Listener.

    Returns
    -------
    ndarray of shape (H, W) or (H, W, 3)
        In the dtype and range of the frames.
    """
    n = len(stack)
    fused = np.zeros(stack.frames[0].shape, np.float32)
    for k, frame in enumerate(track(stack.ahead(), "fusing", n, progress)):
        weight = np.clip(1.0 - np.abs(index - k), 0.0, None)
        fused += (weight if fused.ndim == 2 else weight[..., None]) * frame
    if np.issubdtype(stack.dtype, np.integer):
        fused = np.clip(np.rint(fused), 0, np.iinfo(stack.dtype).max)
    return fused.astype(stack.dtype)
