"""How the library tells what it is doing, without knowing who listens.

A listener is any function ``progress(stage, done, total)``. To cancel the work, the listener
raises; the library lets the exception through and leaves nothing half done behind.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeAlias, TypeVar

Progress: TypeAlias = Callable[[str, int, int], None]
T = TypeVar("T")


def silent(stage: str, done: int, total: int) -> None:
    """Listen to nothing: the default."""


def track(items: Iterable[T], stage: str, total: int, progress: Progress) -> Iterator[T]:
    """Yield the items and report after each has been dealt with.

    Parameters
    ----------
    items : iterable
        What is worked through.
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
