"""What a worker of the page keeps between jobs: frames at preview size, and the last results."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from varfocus import pipeline
from varfocus.errors import VarfocusError
from varfocus.export.saved import SavedResult, load_result
from varfocus.geometry import Rectangle
from varfocus.progress import Progress
from varfocus.result import Result
from varfocus.stack import ArrayFrame, FocusStack

PREVIEW_SIDE = 448
"""Longest side in pixels, at most, at which a change is answered at once."""

PREVIEW_VOXELS = 1_500_000
"""Pixels of all frames together, at most, at which a change is answered at once."""


HELD_BYTES = 768 << 20
"""Stacks up to this size are held in memory, to answer clicks at once."""


@dataclass
class Bench:
    """What a worker keeps between jobs.

    Attributes
    ----------
    small : dict of (int, int, box) to ArrayFrame
        Frames at preview size, by the page's number of the frame, by how much it was shrunk, and
        which rectangle of it.
    saved : SavedResult or None
        The result that was measured last.
    large : dict of int to ArrayFrame
        Frames in full size, if they are small enough to be held.
    made : tuple of int and Result, or None
        Version and result of the last reconstruction in full.
    kept : tuple of a key and Kept, or None
        What runs of the same frames have in common.
    touched : tuple of int and Result, or None
        Version and result that was retouched last.
    """

    small: dict[tuple[int, int, Rectangle | None], ArrayFrame] = field(default_factory=dict)
    saved: SavedResult | None = None
    large: dict[int, ArrayFrame] = field(default_factory=dict)
    made: tuple[int, Result] | None = None
    kept: tuple[object, pipeline.Kept] | None = None
    touched: tuple[int, Result] | None = None

    def known(self, key: object) -> pipeline.Kept:
        """Return what earlier runs of the same frames left behind."""
        if self.kept is None or self.kept[0] != key:
            self.kept = key, pipeline.Kept()
        return self.kept[1]

    def full(self, stack: FocusStack, ids: Sequence[int]) -> FocusStack | None:
        """Return the stack in memory, decoded once; None if it is too large for that."""
        height, width = stack.shape
        if len(stack) * height * width * stack.channels * stack.dtype.itemsize > HELD_BYTES:
            return None
        if set(self.large) - set(ids):
            self.large.clear()  # other frames than before
        missing = [k for k, frame_id in enumerate(ids) if frame_id not in self.large]
        for k in missing:
            self.large[ids[k]] = ArrayFrame(stack.frames[k].name, stack.read(k))
        return replace(stack, frames=[self.large[i] for i in ids])

    def result(self, folder: Path) -> SavedResult:
        """Return a saved result; the last one asked for stays in memory."""
        if self.saved is None or self.saved.folder != folder:
            self.saved = load_result(folder)
        return self.saved

    def preview(
        self, stack: FocusStack, ids: Sequence[int], box: Rectangle | None = None
    ) -> tuple[FocusStack, int]:
        """Return a rectangle of the stack at preview size, decoding what is not there yet.

        Also by how much it is smaller.
        """
        factor = shrink_factor(len(stack), *(stack.shape if box is None else box.shape))
        frames = [self.shrunk(stack, k, i, factor, box) for k, i in enumerate(ids)]
        return replace(stack, frames=frames, pixel_size=None), factor

    def shrunk(
        self, stack: FocusStack, k: int, frame_id: int, factor: int, box: Rectangle | None = None
    ) -> ArrayFrame:
        """Return one frame at preview size, decoded once."""
        key = frame_id, factor, box
        if key not in self.small:
            # Whole frames stay for the strip; of rectangles only the newest is of use.
            for old in [o for o in self.small if o[2] == box and o[1] != factor]:
                del self.small[old]
            for old in [o for o in self.small if o[2] not in (None, box)]:
                del self.small[old]
            part = stack if box is None else stack.cropped(box)
            self.small[key] = shrunk(part, k, factor)
        return self.small[key]


class Job(Protocol):
    """Something the worker can do."""

    @property
    def id(self) -> int:
        """Number under which the outcome is reported."""

    @property
    def newest(self) -> str:
        """Of waiting jobs with the same word only the newest is done; "" if all are to be done."""

    def run(self, bench: Bench, progress: Progress) -> dict[str, Any]:
        """Do it and return what to report, as plain data."""


def shrunk(stack: FocusStack, k: int, factor: int) -> ArrayFrame:
    """Decode a frame and average blocks of `factor` pixels each way, in its own dtype."""
    pixels = stack.read(k)
    height, width = pixels.shape[:2]
    rows, columns = height // factor, width // factor
    blocks = pixels[: rows * factor, : columns * factor].reshape(
        rows, factor, columns, factor, *pixels.shape[2:]
    )
    mean = blocks.mean(axis=(1, 3), dtype=np.float32)
    if np.issubdtype(pixels.dtype, np.integer):
        mean = np.rint(mean)
    return ArrayFrame(stack.frames[k].name, mean.astype(pixels.dtype))


def shrink_factor(n: int, height: int, width: int) -> int:
    """Return by how much `n` frames are made smaller for the preview."""
    many = math.ceil(math.sqrt(n * height * width / PREVIEW_VOXELS))
    return max(-(-max(height, width) // PREVIEW_SIDE), many, 1)


def white(stack: FocusStack) -> float:
    """Return what is shown as white: 1, but the brightest value of floating-point frames."""
    if np.issubdtype(stack.dtype, np.integer):
        return 1.0
    n = len(stack)
    for k in sorted(range(n), key=lambda k: abs(k - n // 2)):
        with suppress(VarfocusError):  # a damaged one says nothing
            peak = float(stack.read(k).max()) * stack.scale
            return peak if peak > 0.0 else 1.0
    return 1.0
