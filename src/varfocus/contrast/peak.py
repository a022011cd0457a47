"""The frame in which each pixel is sharpest: the first guess of every method."""

from __future__ import annotations

from varfocus.arrays import Array, namespace
from varfocus.contrast.measures import box_mean


class PeakSearch:
    """Finds the sharpest frame of every pixel, one frame at a time, without storing the stack.

    Parameters
    ----------
    window : int
        Side in pixels of the mean filter on the contrast.

    Attributes
    ----------
    index : array of shape (H, W), of the dtype of the contrast
        0-based number of the sharpest frame so far.
    """

    def __init__(self, window: int) -> None:
        self._window = window
        self._best: Array = None
        self.index: Array = None

    def add(self, k: int, contrast: Array) -> None:
        """Look at frame `k`, given its contrast of shape ``(H, W)``."""
        xp = namespace(contrast)
        value = box_mean(contrast, self._window)
        if self._best is None:
            self._best, self.index = value, xp.full_like(value, k)
            return
        better = value > self._best
        self._best = xp.where(better, value, self._best)
        self.index = xp.where(better, xp.full_like(value, k), self.index)
