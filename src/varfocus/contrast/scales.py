"""Contrast of every frame at two scales and, in the same pass, the edges of the picture.

Fine: the focus measure (by default MLAP) of the frame. Coarse: that of the frame smoothed by a
Gaussian. Either is averaged over a small Gaussian. Both are measured in one pass, so every frame is
decoded once.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from varfocus import engine
from varfocus.contrast import kernel_scales
from varfocus.contrast.measures import frame_contrast
from varfocus.contrast.registry import contrast_function, has_kernels
from varfocus.params import DEFAULT_MEASURE, FocusMeasure, RobustParams

Float = NDArray[np.float32]

SCALES = 2
"""Fine is scale 0, coarse scale 1."""


class Scales(Protocol):
    """What both implementations offer.

    Attributes
    ----------
    contrast : ndarray of shape (2n, H, W)
        Fine contrast of all frames, then coarse; float32, or the engine's 16-bit numbers.
    gradient : ndarray of shape (H, W), float32
        Largest squared brightness gradient over the frames at the coarse scale.
    """

    contrast: NDArray[Any]
    gradient: Float

    def add(self, k: int, frame: NDArray[Any]) -> None:
        """Take in frame `k`, of shape ``(H, W)`` or ``(H, W, C)``."""

    def curves(self, scale: int, rows: slice, columns: slice) -> Float:
        """Return the contrast of some pixels over all frames, shape ``(n, P)``."""

    @property
    def strength(self) -> Float:
        """Range over the frames of the coarse contrast, ``(H, W)``."""


class TwoScales:
    """The definition, in array code; see `Scales`.

    Parameters
    ----------
    n : int
        Number of frames.
    shape : tuple of int
        Height and width.
    scale : float
        Maps pixel values to [0, 1].
    params : RobustParams
        Blur and support.
    measure : str or callable
        Focus measure.
    """

    def __init__(
        self,
        n: int,
        shape: tuple[int, int],
        scale: float,
        params: RobustParams,
        measure: FocusMeasure = DEFAULT_MEASURE,
    ) -> None:
        self._n, self._scale, self._params = n, scale, params
        self._measure = contrast_function(measure)
        self.contrast: NDArray[Any] = np.empty((SCALES * n, *shape), np.float32)
        self.gradient: Float = np.zeros(shape, np.float32)

    def add(self, k: int, frame: NDArray[Any]) -> None:
        """Take in frame `k`."""
        fine, coarse, gradient = frame_contrast(frame, self._scale, self._params, self._measure)
        np.maximum(self.gradient, gradient, out=self.gradient)
        self.contrast[k], self.contrast[self._n + k] = fine, coarse

    def curves(self, scale: int, rows: slice, columns: slice) -> Float:
        """Return the contrast of some pixels over all frames, shape ``(n, P)``."""
        part = self.contrast[scale * self._n : (scale + 1) * self._n, rows, columns]
        return np.asarray(part, np.float32).reshape(self._n, -1)

    @property
    def strength(self) -> Float:
        """Range over the frames of the coarse contrast, ``(H, W)``."""
        coarse = self.contrast[self._n :]
        spread: Float = coarse.max(axis=0) - coarse.min(axis=0)
        return spread


def two_scales(
    frame: NDArray[Any],
    n: int,
    shape: tuple[int, int],
    scale: float,
    params: RobustParams,
    measure: FocusMeasure = DEFAULT_MEASURE,
) -> Scales:
    """Return what takes in n frames like this one: on the kernels if they can, else array code.

    Contrast by another measure than the kernels' is kept in their 16-bit numbers all the same,
    because what follows runs on kernels.
    """
    if engine.in_use() and kernel_scales.accepts(frame, params):
        if has_kernels(measure):
            return kernel_scales.TwoScales(n, shape, scale, params)
        return kernel_scales.CompactScales(n, shape, scale, params, measure)
    return TwoScales(n, shape, scale, params, measure)
