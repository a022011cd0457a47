"""The semi-global answer of a cost volume in memory, and a data term around a depth."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from varfocus import engine
from varfocus.energy import VolumeTerm, WindowTerm
from varfocus.engine import WINDOW, kernels, thread_count
from varfocus.minimise.banded_search import NOTHING, aligned, padded
from varfocus.minimise.semi_global import lowest, semi_global

Float = NDArray[np.float32]


class VolumeSearch:
    """A cost volume, searched and cut into windows.

    Parameters
    ----------
    cost : ndarray of shape (L, H, W), float32
        Cost of every label at every pixel.
    step : float
        Distance of labels in frames.
    """

    def __init__(self, cost: Float, step: float) -> None:
        self._cost, self._step, self._labels = cost, step, len(cost)
        self._on_kernels = engine.in_use() and self._labels >= WINDOW - 2
        if self._on_kernels:
            # The kernels want the labels of a pixel next to each other.
            self._volume = aligned((*cost.shape[1:], padded(self._labels)))
            self._volume[..., : self._labels] = np.moveaxis(cost, 0, 2)
            self._volume[..., self._labels :] = engine.NO_LABEL

    def start(self, slope: float, jump: Float) -> Float:
        """Return the label of the lowest semi-global cost, ``(H, W)``; P₁ and P₂ are given."""
        if not self._on_kernels:
            return lowest(semi_global(self._cost, slope, jump))
        total = aligned(self._volume.shape)
        jump = np.ascontiguousarray(jump)
        for upward in (False, True):
            kernels.semi_global(
                self._volume, slope, jump, 0, upward, NOTHING, total, NOTHING, thread_count()
            )
        label = np.empty(jump.shape, np.float32)
        kernels.lowest(total, self._labels, label, thread_count())
        return label

    def term(self, label: Float) -> VolumeTerm | WindowTerm:
        """Return Σ C(d), d in frames, around a depth in labels."""
        if not self._on_kernels:
            return VolumeTerm(self._cost, self._step)
        height, width = label.shape
        window = WindowTerm(
            np.empty((height, width, WINDOW), np.uint16),
            np.empty((height, width), np.float32),
            np.empty((height, width), np.int16),
            np.empty(height, np.float64),
            self._step,
        )
        kernels.cut_windows(
            self._volume,
            self._labels,
            np.ascontiguousarray(label),
            window.samples,
            window.scale,
            window.base,
            window.offsets,
            thread_count(),
        )
        return window
