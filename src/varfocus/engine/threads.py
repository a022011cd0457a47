"""How many threads a kernel may use, and work that is shared out among them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from typing import TypeVar

import numpy as np

from varfocus.engine.extension import MOST_THREADS
from varfocus.errors import ParameterError

Item = TypeVar("Item")
Done = TypeVar("Done")

_chosen_threads: ContextVar[int | None] = ContextVar("threads", default=None)


def thread_count(threads: int | None = None) -> int:
    """Return how many threads a kernel may use.

    Parameters
    ----------
    threads : int, optional
        The caller's wish. Otherwise that of `use_threads`, of the environment variable
        ``VARFOCUS_THREADS``, or as many as this process may run on, in this order.

    Returns
    -------
    int
        At least 1.

    Raises
    ------
    ParameterError
        If the wish is not a number of threads.
    """
    wish: object = threads if threads is not None else _chosen_threads.get()
    name = "threads"
    if wish is None and os.environ.get("VARFOCUS_THREADS"):
        name, wish = "VARFOCUS_THREADS", os.environ["VARFOCUS_THREADS"]
    if wish is None:
        return min(processors(), MOST_THREADS)
    try:
        count = int(wish) if isinstance(wish, int | str | np.integer) else 0
    except ValueError:
        count = 0
    if not 1 <= count <= MOST_THREADS:
        raise ParameterError(
            f"received {name} = {wish!r}", f"expected a whole number from 1 to {MOST_THREADS}"
        )
    return count


@contextmanager
def use_threads(threads: int | None) -> Iterator[None]:
    """Let the kernels called inside use this many threads; None changes nothing."""
    if threads is None:
        yield
        return
    token = _chosen_threads.set(thread_count(threads))
    try:
        yield
    finally:
        _chosen_threads.reset(token)


def side_by_side(work: Callable[[Item], Done], items: Sequence[Item]) -> list[Done]:
    """Return what comes of each item, worked on by threads of which each uses one for its kernels.

    For work that calls many small kernels: between them Python keeps one thread busy, not all.

    Parameters
    ----------
    work : callable
        Independent of the other items.
    items : sequence
        What to work on.
    """
    workers = min(thread_count(), len(items))
    if workers < 2:
        return [work(item) for item in items]
    with ThreadPoolExecutor(workers, thread_name_prefix="varfocus-work") as pool:
        return list(each(pool, work, items))


def each(
    pool: ThreadPoolExecutor, work: Callable[[Item], Done], items: Iterable[Item]
) -> Iterator[Done]:
    """Work on threads, each of which uses one for its kernels, and yield what comes of it in order.

    Parameters
    ----------
    pool : ThreadPoolExecutor
        The threads.
    work : callable
        Independent of the other items.
    items : iterable
        What to work on.
    """

    def alone(item: Item) -> Done:
        with use_threads(1):
            return work(item)

    futures = [pool.submit(copy_context().run, alone, item) for item in items]
    for future in futures:
        yield future.result()


def processors() -> int:
    """Return how many processors this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
