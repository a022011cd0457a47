"""Arrays on disk, for what would not fit into memory.

Files are mapped, so any function treats them like arrays in memory. What was touched stays resident
until `Scratch.release` is called; the content stays. The files have no name once they are mapped:
they vanish with the process, however it ends.
"""

from __future__ import annotations

import contextlib
import math
import mmap
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import DTypeLike, NDArray

from varfocus.errors import OutputError

Blocks: TypeAlias = Callable[[], Iterator[NDArray[np.float32]]]
"""Goes once through an array, a block at a time."""

_HALF = 16
"""Bits of a float32 that are counted at a time."""


class Scratch:
    """Arrays in files of a folder.

    Parameters
    ----------
    folder : Path
        Where there is room for them.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._maps: list[mmap.mmap] = []

    def __enter__(self) -> Scratch:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.release()
        self._maps.clear()

    def empty(self, shape: tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
        """Return an array like `numpy.empty`, on disk.

        Raises
        ------
        OutputError
            If there is no room.
        """
        kind = np.dtype(dtype)
        size = max(math.prod(shape) * kind.itemsize, 1)
        try:
            with tempfile.TemporaryFile(prefix=".varfocus-", dir=self._folder) as file:
                # A file with holes would end the process when the disk is full.
                if hasattr(os, "posix_fallocate"):
                    os.posix_fallocate(file.fileno(), 0, size)
                else:
                    file.truncate(size)
                mapped = mmap.mmap(file.fileno(), size)
        except OSError as error:
            raise OutputError(
                f"{self._folder}: no room for {size} bytes of scratch files "
                f"({error.strerror or error})",
                "expected a folder with write permission and free space",
                "Choose a folder on a larger disk with -o.",
            ) from error
        self._maps.append(mapped)
        return np.frombuffer(mapped, kind, math.prod(shape)).reshape(shape)

    def drop(self, array: NDArray[Any]) -> None:
        """Give back the disk space of an array that is not used any more."""
        owner: Any = array
        while isinstance(owner, np.ndarray):
            owner = owner.base
        raw = owner.obj if isinstance(owner, memoryview) else owner
        self._maps = [kept for kept in self._maps if kept is not raw]

    def release(self) -> None:
        """Give back the memory of what was touched; the content stays on disk."""
        if hasattr(mmap.mmap, "madvise"):  # not on Windows, which trims by itself
            for mapped in self._maps:
                mapped.madvise(mmap.MADV_DONTNEED)


def scratch_folder() -> Path:
    """Return where large files may lie for a while: ``TMPDIR`` if that is set, else ``/var/tmp``.

    Not the default folder for temporary files, which is often in memory itself.
    """
    large = Path("/var/tmp")
    if "TMPDIR" not in os.environ and large.is_dir() and os.access(large, os.W_OK):
        return large
    return Path(tempfile.gettempdir())


def free_bytes(folder: Path) -> int:
    """Return the room on the disk of a folder, or of what exists of its path."""
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    with contextlib.suppress(OSError):
        return shutil.disk_usage(folder).free
    return 0


def percentile(
    blocks: Blocks, share: float, rank: Literal["linear", "lower", "mean"] = "linear"
) -> float:
    """Return `numpy.percentile` of all values above zero, without holding them.

    Positive floating-point numbers are sorted like the integers of the same bits: the wanted ranks
    are found by counting first the upper, then the lower 16 of them.

    Parameters
    ----------
    blocks : callable
        Goes once through the values, float32; called twice.
    share : float
        Percentage.
    rank : {"linear", "lower", "mean"}
        What is taken between two ranks: what lies at that share between them, the lower of them, or
        their mean, which makes 50 % the median.

    Returns
    -------
    float
        0 if no value is above zero.
    """
    upper = np.zeros(1 << _HALF, np.int64)
    for bits in _bits(blocks):
        upper += np.bincount(bits >> _HALF, minlength=upper.size)
    count = int(upper.sum())
    if count == 0:
        return 0.0
    place = share / 100.0 * (count - 1)
    ranks = [math.floor(place), min(math.floor(place) + 1, count - 1)]
    before = np.cumsum(upper) - upper
    tops = [int(np.searchsorted(before, rank, side="right")) - 1 for rank in ranks]
    lower = {top: np.zeros(1 << _HALF, np.int64) for top in tops}
    for bits in _bits(blocks):
        for top, counts in lower.items():
            here = bits[bits >> _HALF == top] & ((1 << _HALF) - 1)
            counts += np.bincount(here, minlength=counts.size)
    values = []
    for number, top in zip(ranks, tops, strict=True):
        below = before[top] + np.cumsum(lower[top])
        low = int(np.searchsorted(below, number, side="right"))
        values.append(np.array((top << _HALF) | low, np.uint32).view(np.float32))
    pair = np.array(values, np.float32)
    if rank == "lower" or place == ranks[0]:
        return float(pair[0])
    return float(pair.mean() if rank == "mean" else np.percentile(pair, 100 * (place - ranks[0])))


def _bits(blocks: Blocks) -> Iterator[NDArray[np.uint32]]:
    for block in blocks():
        yield np.ascontiguousarray(block[block > 0]).view(np.uint32)
