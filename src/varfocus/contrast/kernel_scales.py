"""`varfocus.contrast.TwoScales` on the kernels, with contrast as 16-bit floating-point numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from varfocus.contrast.measures import frame_contrast
from varfocus.contrast.registry import contrast_function
from varfocus.engine import COMPACT_LOWEST, kernels, thread_count
from varfocus.engine.frames import accepts as frame_accepted
from varfocus.engine.frames import pixels
from varfocus.errors import ParameterError
from varfocus.params import FocusMeasure, RobustParams

Float = NDArray[np.float32]

TRUNCATE = 4.0
"""A Gaussian is cut off after this many σ, as in SciPy."""

WIDEST_SIGMA = 200.0
"""Gaussians wider than this are left to the array code."""


def accepts(frame: Any, params: RobustParams) -> bool:
    """Tell whether the kernels can take in frames like this one."""
    return frame_accepted(frame, 1) and max(params.coarse_blur, params.support) <= WIDEST_SIGMA


def half_gaussian(sigma: float) -> Float:
    """Return the weights of a Gaussian at distances 0, 1, 2, … up to 4σ, that of SciPy."""
    radius = int(TRUNCATE * sigma + 0.5)
    weights = np.exp(-0.5 * (np.arange(radius + 1) / sigma) ** 2)
    half: Float = (weights / (2.0 * weights.sum() - 1.0)).astype(np.float32)
    return half


def decoded(compact: NDArray[np.uint16]) -> Float:
    """Return contrast as float32: 6 bits of exponent, 10 of mantissa."""
    bits = (compact.astype(np.int32) << 13) + np.int32(COMPACT_LOWEST)
    value: Float = np.where(compact == 0, np.float32(0.0), bits.view(np.float32))
    return value


def encoded(contrast: Float) -> NDArray[np.uint16]:
    """Return contrast in the kernels' numbers, rounded as they do; `decoded` is the way back."""
    bits = np.clip(contrast.view(np.int32), COMPACT_LOWEST, COMPACT_LOWEST + (0xFFFF << 13))
    return ((bits - np.int32(COMPACT_LOWEST) + np.int32(0xFFF)) >> 13).astype(np.uint16)


class TwoScales:
    """Takes in frames one at a time; see `varfocus.contrast.TwoScales` for the parameters."""

    def __init__(self, n: int, shape: tuple[int, int], scale: float, params: RobustParams) -> None:
        self._n, self._scale = n, scale
        self._blur, self._support = map(half_gaussian, (params.coarse_blur, params.support))
        self.contrast: NDArray[Any] = np.empty((2 * n, *shape), np.uint16)
        self.gradient: Float = np.zeros(shape, np.float32)
        self._smallest: Float = np.full(shape, np.inf, np.float32)
        self._largest: Float = np.zeros(shape, np.float32)

    def add(self, k: int, frame: NDArray[Any]) -> None:
        """Take in frame `k`; a fourth channel is ignored."""
        if frame.shape[:2] != self.gradient.shape or not frame_accepted(frame, 1):
            raise ParameterError(
                f"received frame {k} of shape {frame.shape}, {frame.dtype}",
                f"expected {self.gradient.shape} of uint8, uint16 or float32",
            )
        if not 0 <= k < self._n:
            raise ParameterError(f"received frame number {k}", f"expected 0 to {self._n - 1}")
        kernels.two_scales(
            pixels(frame),
            self._scale,
            self._blur,
            self._support,
            self.contrast[k],
            self.contrast[self._n + k],
            self.gradient,
            self._smallest,
            self._largest,
            thread_count(),
        )

    def curves(self, scale: int, rows: slice, columns: slice) -> Float:
        """Return the contrast of some pixels over all frames, shape ``(n, P)``."""
        part = self.contrast[scale * self._n : (scale + 1) * self._n, rows, columns]
        return decoded(part).reshape(self._n, -1)

    @property
    def strength(self) -> Float:
        """Range over the frames of the coarse contrast, ``(H, W)``."""
        spread: Float = self._largest - self._smallest
        return spread


class CompactScales(TwoScales):
    """Any focus measure, by array code, kept in the numbers of the kernels.

    Parameters
    ----------
    n, shape, scale, params, measure
        As for `varfocus.contrast.TwoScales`.
    """

    def __init__(
        self,
        n: int,
        shape: tuple[int, int],
        scale: float,
        params: RobustParams,
        measure: FocusMeasure,
    ) -> None:
        super().__init__(n, shape, scale, params)
        self._params, self._measure = params, contrast_function(measure)

    def add(self, k: int, frame: NDArray[Any]) -> None:
        """Take in frame `k`."""
        fine, coarse, gradient = frame_contrast(frame, self._scale, self._params, self._measure)
        self.contrast[k], self.contrast[self._n + k] = encoded(fine), encoded(coarse)
        np.maximum(self.gradient, gradient, out=self.gradient)
        np.minimum(self._smallest, coarse, out=self._smallest)
        np.maximum(self._largest, coarse, out=self._largest)
