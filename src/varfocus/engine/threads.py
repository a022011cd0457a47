"""How many threads a kernel may use."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import numpy as np

from varfocus.engine.extension import MOST_THREADS
from varfocus.errors import ParameterError

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


def processors() -> int:
    """Return how many processors this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
