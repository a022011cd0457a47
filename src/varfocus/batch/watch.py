"""Watch for stacks that an instrument writes.

Folders are polled: unlike notifications of the system this also works on network
drives. A stack is complete when none of its files has changed, in size or time, and none has come,
for a while. Nothing is remembered: after a restart, the results show what was done.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeAlias

from varfocus.batch.stacks import walk
from varfocus.errors import VarfocusError
from varfocus.io.calibration import open_stack
from varfocus.job import Job

LOOK_EVERY = 1.0
"""Seconds between two polls, at least."""

SHARE_OF_TIME = 0.1
"""Share of the time that polling may take, where there are many files."""

State: TypeAlias = tuple[tuple[str, int, int], ...]
"""Names, sizes and times of all files of a stack."""


def arrivals(
    root: Path,
    output: Path,
    settle: float,
    frames: int | None,
    common: Job,
    *,
    clock: Callable[[], float] = time.monotonic,
) -> Iterator[Path | None]:
    """Yield stacks below a folder when they are complete, for ever.

    Parameters
    ----------
    root : Path
        The folder; it need not exist yet.
    output : Path
        Folder that is not watched.
    settle : float
        Seconds without a change after which a stack is complete.
    frames : int or None
        Least number of frames in a complete stack; None where that is not known.
    common : Job
        How stacks are opened, to count their frames.
    clock : callable
        Returns the time in seconds.

    Yields
    ------
    Path or None
        A stack that is new, or has changed since it was yielded; None when there is none just now.
    """
    known: dict[Path, tuple[State, float, bool]] = {}
    look_at = 0.0
    while True:
        if clock() < look_at:
            yield None
            continue
        began = clock()
        for path in _present(root, output):
            state = _state(path)
            if state is None:
                continue
            before, since, yielded = known.get(path, ((), began, False))
            if state != before:
                known[path] = state, began, False
            elif not yielded and began - since >= settle and _enough(path, frames, common):
                known[path] = state, since, True
                yield path
        ended = clock()
        look_at = ended + max(LOOK_EVERY, (ended - began) / SHARE_OF_TIME)
        yield None


def _present(root: Path, output: Path) -> Iterator[Path]:
    try:
        yield from walk(root, output, [])
    except (VarfocusError, OSError):  # not there yet, or just moved away
        return


def _state(path: Path) -> State | None:
    """Return names, sizes and times of the files of a stack, None if it is just changing."""
    try:
        if not path.is_dir():
            files = [path]
        elif _is_flat(path):
            files = [entry for entry in path.iterdir() if entry.is_file()]
        else:
            files = [entry for entry in path.rglob("*") if entry.is_file()]
        states = [(str(file), os.stat(file)) for file in sorted(files)]  # noqa: PTH116
    except OSError:
        return None
    return tuple((name, state.st_size, state.st_mtime_ns) for name, state in states)


def _is_flat(folder: Path) -> bool:
    """Tell a folder of frames, whose subfolders do not count, from a store."""
    from varfocus.io.formats import identify_store

    return identify_store(folder) is None


def _enough(path: Path, frames: int | None, common: Job) -> bool:
    """Tell whether a stack has the frames that are expected."""
    if frames is None:
        return True
    try:
        return len(open_stack((str(path),), common.focus)) >= frames
    except VarfocusError:  # a header that is not there yet; or never will be
        return False
