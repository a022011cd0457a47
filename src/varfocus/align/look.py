"""Every frame looked at once: what is kept of it to be compared with the others."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from varfocus import engine
from varfocus.align import exposure, order
from varfocus.align.warp import shrink
from varfocus.progress import Progress, silent, track
from varfocus.stack import DECODED_AHEAD, ArrayFrame, FocusStack

WORKING_PIXELS = 500_000
"""Frames are shrunk by a whole factor to at most this many pixels to be looked at."""

ROWS_APART = 8
"""Rows of a working image from which three are taken for its signature."""


@dataclass(frozen=True)
class Look:
    """What is kept of the frames while they are compared.

    Attributes
    ----------
    stack : FocusStack
        The frames.
    factor : int
        By which working images are smaller.
    greys : list of (ndarray of shape (h, w), float16) or None
        Working images; None if not made yet.
    thumbs : list of ndarray of shape (h', w', C), float32
        Smaller, and in colour.
    signatures : ndarray of shape (n, m)
        Of `varfocus.align.order.signature`.
    """

    stack: FocusStack
    factor: int
    greys: list[NDArray[np.float16] | None]
    thumbs: list[NDArray[np.float32]]
    signatures: NDArray[np.float32]

    def grey(self, k: int) -> NDArray[np.float16]:
        """Return the working image of a frame; 2 bytes per pixel are kept."""
        grey = self.greys[k]
        if grey is None:
            grey = self.greys[k] = _grey(self.stack.read(k), self.factor, self.stack.scale)
        return grey


def look(stack: FocusStack, progress: Progress = silent) -> Look:
    """Look at every frame once and keep what comparing them needs.

    Frames that must be decoded are made smaller at once; those in memory when they are asked for.
    """
    height, width = stack.shape
    factor = max(math.ceil(math.sqrt(height * width / WORKING_PIXELS)), 1)
    side = min(factor * exposure.THUMB, height, width)

    def seen(k: int) -> tuple[NDArray[np.float16] | None, Any, Any]:
        frame = stack.read(k)
        in_memory = isinstance(stack.frames[k], ArrayFrame)
        grey = None if in_memory else _grey(frame, factor, stack.scale)
        return grey, shrink(frame, side, stack.scale), _signature(frame, factor, stack.scale)

    # A frame per thread, decoded there, of which little is left; no more threads than frames fit.
    workers = min(engine.thread_count(), DECODED_AHEAD + 1)
    with ThreadPoolExecutor(workers, thread_name_prefix="varfocus-look") as pool:
        try:
            found = list(
                track(engine.each(pool, seen, range(len(stack))), "looking", len(stack), progress)
            )
        finally:  # the listener may stop it half-way
            pool.shutdown(wait=True, cancel_futures=True)
    greys, thumbs, signatures = (list(part) for part in zip(*found, strict=True))
    return Look(stack, factor, greys, thumbs, np.stack(signatures))


def _grey(frame: NDArray[Any], factor: int, scale: float) -> NDArray[np.float16]:
    grey = exposure.grey(shrink(frame, factor, scale))
    return np.clip(grey, -6e4, 6e4).astype(np.float16)


def _signature(frame: NDArray[Any], factor: int, scale: float) -> NDArray[np.float32]:
    """Return the signature of a frame from three rows of its working image in every few."""
    rows = frame.shape[0] // factor
    apart = ROWS_APART if rows >= order.CELLS * 2 * ROWS_APART else 3
    bands = rows // apart
    if bands < 1:
        return order.signature(np.zeros((1, 3, 1), np.float32))
    taken = frame[: bands * apart * factor].reshape(bands, apart * factor, *frame.shape[1:])
    taken = taken[:, : 3 * factor].reshape(bands * 3 * factor, *frame.shape[1:])
    grey = exposure.grey(shrink(taken, factor, scale))
    return order.signature(grey.reshape(bands, 3, -1))
