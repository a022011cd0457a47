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
    lower = np.floor(np.clip(index, 0, n - 1)).astype(np.uint16).ravel()
    share = (index.ravel() - lower).astype(np.float32)
    fused = np.zeros((lower.size, stack.channels), np.float32)
    for k, frame in enumerate(track(stack.ahead(), "fusing", n, progress)):
        pixels = frame.reshape(lower.size, stack.channels)
        # Only the pixels that lie between this frame and a neighbour take part: all frames
        # together cost as much as two.
        for here, weight in ((lower == k, 1.0 - share), (lower + 1 == k, share)):
            chosen = np.flatnonzero(here)
            fused[chosen] += weight[chosen, None] * pixels[chosen]
    if np.issubdtype(stack.dtype, np.integer):
        fused = np.clip(np.rint(fused), 0, np.iinfo(stack.dtype).max)
    return fused.astype(stack.dtype).reshape(stack.frames[0].shape)
