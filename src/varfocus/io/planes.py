"""What readers of arrays, videos and microscope files share."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from varfocus.io.border import damaged, unsupported
from varfocus.io.header import Header
from varfocus.stack import supported_dtype, without_alpha

KEPT = 4
"""Frames that are kept after reading: the threads that decode ahead may ask in another order."""


def headers_of(
    n: int, shape: Sequence[int], dtype: DTypeLike, windowed: bool = False
) -> list[Header]:
    """Return the headers of `n` planes that are stored with this shape and number type.

    Parameters
    ----------
    n : int
        How many.
    shape : sequence of int
        ``(H, W)`` or ``(H, W, samples)``, as `finished` will be given it.
    dtype : numpy.dtype
        As stored.
    windowed : bool
        Whether parts can be decoded without the rest.
    """
    height, width, *samples = shape
    if samples not in ([], [1], [2], [3], [4]):
        raise unsupported(f"has planes of shape {tuple(shape)}")
    stored = np.dtype(dtype)
    if stored.kind not in "buf" or (stored.kind == "u" and stored.itemsize > 2):
        raise unsupported(f"has pixels of type {stored}")
    target = supported_dtype(np.empty(0, stored), "").dtype
    colour = samples in ([3], [4])
    return [Header(width, height, colour, target, page=k, windowed=windowed) for k in range(n)]


def finished(plane: NDArray[Any]) -> NDArray[Any]:
    """Return a plane as grey or RGB in one of the supported number types."""
    # FocusStack.read reports what is infinite or no number afterwards.
    with np.errstate(over="ignore", invalid="ignore"):
        return supported_dtype(without_alpha(plane), "")


def stack_shape(shape: Sequence[int]) -> tuple[int, tuple[int, ...]]:
    """Return number and shape of the frames in an array, frames first and channels last."""
    if len(shape) == 3 or (len(shape) == 4 and shape[3] in (1, 2, 3, 4)):
        return shape[0], tuple(shape[1:])
    raise unsupported(
        f"holds an array of shape {tuple(shape)}",
        "expected (frames, height, width), or (frames, height, width, channels) with 1 to 4 "
        "channels",
    )


class InTurn:
    """Reads what can only be read from the start: video, and compressed arrays.

    Frames asked for in order are read once each. A step back starts anew, but the frames read last
    are kept.

    Parameters
    ----------
    start : callable
        Returns an iterator over all frames.
    """

    def __init__(self, start: Callable[[], Iterator[NDArray[Any]]]) -> None:
        self._start = start
        self._lock = threading.Lock()
        self._iterator: Iterator[NDArray[Any]] = iter(())
        self._next = 0
        self._recent: dict[int, NDArray[Any]] = {}

    def __reduce__(self) -> tuple[type[InTurn], tuple[Callable[[], Iterator[NDArray[Any]]]]]:
        return InTurn, (self._start,)  # another process starts anew

    def __call__(self, header: Header) -> NDArray[Any]:
        """Return the frame with this header; callable from several threads."""
        with self._lock:
            if header.page not in self._recent:
                self._read_to(header.page)
            return self._recent[header.page].copy()

    def _read_to(self, page: int) -> None:
        if page < self._next or not self._recent:
            self._iterator, self._next = self._start(), 0
            self._recent.clear()
        while self._next <= page:
            try:
                pixels = next(self._iterator, None)
            except BaseException:
                self._recent.clear()  # whoever asks again starts anew
                raise
            if pixels is None:
                raise damaged(f"ends before frame {page}")
            self._recent[self._next] = pixels
            self._recent.pop(self._next - KEPT, None)
            self._next += 1
