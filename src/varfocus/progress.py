"""How the library reports what it is doing, without knowing who listens.

A listener is any function ``progress(stage, done, total)``. To cancel the work, the listener
raises; the library lets the exception through and leaves nothing half done behind.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator
from typing import TypeAlias, TypeVar

Progress: TypeAlias = Callable[[str, int, int], None]
T = TypeVar("T")


def silent(stage: str, done: int, total: int) -> None:
    """Ignore every report: the default."""


def track(items: Iterable[T], stage: str, total: int, progress: Progress) -> Iterator[T]:
    """Yield the items and report after each has been dealt with.

    Parameters
    ----------
    items : iterable
        What is processed.
    stage : str
        What the work is called, for people.
    total : int
        How many items there are.
    progress : callable
        The listener.

    Yields
    ------
    object
        The items, unchanged.
    """
    progress(stage, 0, total)
    for done, item in enumerate(items, start=1):
        yield item
        progress(stage, done, total)


def throttled(listener: Progress, seconds: float) -> Progress:
    """Return a listener that passes on the beginning and end of a stage, and little in between.

    Parameters
    ----------
    listener : callable
        Receives what is passed on.
    seconds : float
        Time between two reports of one stage, at least; its last report always comes.
    """
    stage_before, at = "", -math.inf

    def progress(stage: str, done: int, total: int) -> None:
        nonlocal stage_before, at
        now = time.monotonic()
        if stage != stage_before or now - at >= seconds or done == total:
            stage_before, at = stage, now
            listener(stage, done, total)

    return progress
