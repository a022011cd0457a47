"""`varfocus.curve.frame_pass.ContrastPass` on the kernels."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from varfocus.curve.polynomial import fit_matrix
from varfocus.engine import BATCH, WIDEST_WINDOW, kernels, thread_count
from varfocus.engine.frames import CONTRAST_TYPES, accepts, pixels
from varfocus.errors import ParameterError


class ContrastPass:
    """Takes in frames one at a time; see `frame_pass.ContrastPass` for the parameters.

    Integer frames are differenced and summed as integers and scaled once. A tie between frames
    is therefore an exact tie, which the array code may break by rounding.
    """

    def __init__(self, n: int, degree: int, window: int, scale: float = 1.0) -> None:
        self._matrix = fit_matrix(n, degree).astype(np.float32)
        self._window, self._scale = window, scale
        self._frame_shape: tuple[int, ...] = ()
        self._pending: list[int] = []

    def add(self, k: int, frame: NDArray[Any]) -> None:
        """Take in frame `k`, of shape ``(H, W)`` or ``(H, W, C)``; a fourth channel is ignored."""
        if not self._frame_shape:
            self._allocate(frame)
        if frame.shape != self._frame_shape or CONTRAST_TYPES.get(frame.dtype) != self._slots.dtype:
            raise ParameterError(
                f"received frame {k} of shape {frame.shape}, {frame.dtype}",
                f"expected frames like the first one, of shape {self._frame_shape}",
            )
        if not 0 <= k < self._matrix.shape[1]:
            raise ParameterError(
                f"received frame number {k}", f"expected 0 to {self._matrix.shape[1] - 1}"
            )
        slot = self._slots[len(self._pending)]
        kernels.contrast(pixels(frame), slot, thread_count())
        self._pending.append(k)
        if len(self._pending) == BATCH:
            self._take_in()

    @property
    def coefficients(self) -> NDArray[np.float32]:
        """Chebyshev coefficients of the contrast so far, of shape ``(degree + 1, H, W)``."""
        self._take_in()
        return self._coefficients

    @property
    def peak(self) -> NDArray[np.float32]:
        """Largest contrast of each pixel so far, of shape ``(H, W)``."""
        self._take_in()
        return self._peak

    @property
    def index(self) -> NDArray[np.float32]:
        """Number of the frame with the largest windowed contrast so far, ``(H, W)``."""
        self._take_in()
        return self._index

    def _allocate(self, frame: NDArray[Any]) -> None:
        if not accepts(frame, self._window):
            raise ParameterError(
                f"received a frame of shape {frame.shape}, {frame.dtype}, "
                f"and a window of {self._window} pixels",
                "expected (H, W) or (H, W, 1, 3 or 4) of uint8, uint16 or float32, and a window "
                f"of at most {WIDEST_WINDOW}",
            )
        shape = frame.shape[:2]
        self._frame_shape = frame.shape
        self._slots = np.empty((BATCH, *shape), CONTRAST_TYPES[frame.dtype])
        self._coefficients = np.zeros((self._matrix.shape[0], *shape), np.float32)
        self._peak = np.zeros(shape, np.float32)
        self._best = np.full(shape, -1.0, np.float32)  # below any contrast
        self._index = np.zeros(shape, np.float32)

    def _take_in(self) -> None:
        if not self._pending:
            return
        kernels.accumulate(
            self._slots[: len(self._pending)],
            np.ascontiguousarray(self._matrix[:, self._pending]),
            np.array(self._pending, np.float32),
            self._scale,
            self._window,
            self._coefficients,
            self._peak,
            self._best,
            self._index,
            thread_count(),
        )
        self._pending.clear()
