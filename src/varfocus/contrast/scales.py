"""Contrast of every frame at two scales, and in passing the edges of the picture.

Fine: MLAP of the frame. Coarse: MLAP of the frame smoothed by a Gaussian. Either is averaged over a
small Gaussian. Both are measured in one pass, so every frame is decoded once.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from varfocus import engine
from varfocus.contrast import gaussian, gradient_energy, kernel_scales, mlap
from varfocus.params import RobustParams

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
    """

    def __init__(self, n: int, shape: tuple[int, int], scale: float, params: RobustParams) -> None:
        self._n, self._scale, self._params = n, np.float32(scale), params
        self.contrast: NDArray[Any] = np.empty((SCALES * n, *shape), np.float32)
        self.gradient: Float = np.zeros(shape, np.float32)

    def add(self, k: int, frame: NDArray[Any]) -> None:
        """Take in frame `k`."""
        image = frame.astype(np.float32) * self._scale
        smooth = gaussian(image, self._params.coarse_blur)
        np.maximum(self.gradient, gradient_energy(smooth), out=self.gradient)
        for scale, picture in enumerate((image, smooth)):
            self.contrast[scale * self._n + k] = gaussian(mlap(picture), self._params.support)

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
    frame: NDArray[Any], n: int, shape: tuple[int, int], scale: float, params: RobustParams
) -> Scales:
    """Return what takes in n frames like this one: on the kernels if they can, else array code."""
    if engine.in_use() and kernel_scales.accepts(frame, params):
        return kernel_scales.TwoScales(n, shape, scale, params)
    return TwoScales(n, shape, scale, params)
