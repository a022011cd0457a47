"""The one pass over the frames on which everything else is based.

Each frame is looked at once, in any order; its contrast goes into

- the coefficients of every pixel's contrast curve (`varfocus.curve`),
- the largest contrast of every pixel, for the normalisation (`varfocus.contrast`),
- the frame with the largest windowed contrast, the first guess (`varfocus.methods.classic`),

and is forgotten: memory does not grow with the number of frames.
"""

from __future__ import annotations

from typing import Protocol

from varfocus import engine
from varfocus.arrays import Array, namespace
from varfocus.contrast import PeakSearch, contrast_function, has_kernels
from varfocus.curve import kernel_pass
from varfocus.curve.polynomial import CurveFit
from varfocus.engine.frames import accepts
from varfocus.params import DEFAULT_MEASURE, FocusMeasure


class FramePass(Protocol):
    """What both engines offer."""

    def add(self, k: int, frame: Array) -> None:
        """Take in frame `k`."""

    @property
    def coefficients(self) -> Array:
        """Chebyshev coefficients of the contrast so far, of shape ``(degree + 1, H, W)``."""

    @property
    def peak(self) -> Array:
        """Largest contrast of each pixel so far, of shape ``(H, W)``."""

    @property
    def index(self) -> Array:
        """Number of the frame with the largest windowed contrast so far, ``(H, W)``."""


class ContrastPass:
    """The pass in array code: the definition.

    Parameters
    ----------
    n : int
        Number of frames.
    degree : int
        Degree of the contrast curves, at most ``n − 1``.
    window : int
        Side in pixels of the window over which contrast is averaged for the first guess.
    scale : float
        Factor that maps pixel values to [0, 1].
    measure : str or callable
        Focus measure.
    """

    def __init__(
        self,
        n: int,
        degree: int,
        window: int,
        scale: float = 1.0,
        measure: FocusMeasure = DEFAULT_MEASURE,
    ) -> None:
        self._fit, self._search, self._scale = CurveFit(n, degree), PeakSearch(window), scale
        self._measure = contrast_function(measure)
        self._peak: Array = None

    def add(self, k: int, frame: Array) -> None:
        """Take in frame `k`, of shape ``(H, W)`` or ``(H, W, C)``; a fourth channel is ignored."""
        xp = namespace(frame)
        if frame.ndim == 3 and frame.shape[2] == 4:
            frame = frame[:, :, :3]
        if not xp.isdtype(frame.dtype, "real floating"):
            frame = xp.astype(frame, xp.float32)
        contrast = self._measure(frame * self._scale)
        self._fit.add(k, contrast)
        self._search.add(k, contrast)
        self._peak = contrast if self._peak is None else xp.maximum(self._peak, contrast)

    @property
    def coefficients(self) -> Array:
        """Chebyshev coefficients of the contrast so far, of shape ``(degree + 1, H, W)``."""
        return self._fit.coefficients

    @property
    def peak(self) -> Array:
        """Largest contrast of each pixel so far, of shape ``(H, W)``."""
        return self._peak

    @property
    def index(self) -> Array:
        """Number of the frame with the largest windowed contrast so far, ``(H, W)``."""
        return self._search.index


def contrast_pass(
    like: Array,
    n: int,
    degree: int,
    window: int,
    scale: float = 1.0,
    measure: FocusMeasure = DEFAULT_MEASURE,
) -> FramePass:
    """Return the fastest pass for frames like this one.

    Parameters
    ----------
    like : array of shape (H, W) or (H, W, C)
        A frame; NumPy arrays of uint8, uint16 or float32 go to the native engine if it is
        available.
    n, degree, window, scale, measure
        As for `ContrastPass`.

    Returns
    -------
    FramePass
        With nothing taken in yet.
    """
    if engine.in_use() and has_kernels(measure) and accepts(like, window):
        return kernel_pass.ContrastPass(n, degree, window, scale)
    return ContrastPass(n, degree, window, scale, measure)
