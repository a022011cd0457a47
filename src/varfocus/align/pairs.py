"""Pairs of frames, registered on threads."""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context

import numpy as np

from varfocus import engine
from varfocus.align.look import Look
from varfocus.align.register import Pair, register
from varfocus.align.whole import Grey, pyramid
from varfocus.progress import Progress


def registered_pairs(
    steps: Iterable[tuple[int, int]], seen: Look, model: str, progress: Progress
) -> list[Pair]:
    """Register pairs of frames; pyramids live as long as they are needed.

    Parameters
    ----------
    steps : iterable of (int, int)
        Frames i and j of every pair.
    seen : Look
        Their working images.
    model : str
        What maps may be.
    progress : callable
        Listener.
    """
    steps = list(steps)
    last_use = {k: number for number, step in enumerate(steps) for k in step}
    pyramids: dict[int, list[Grey]] = {}

    def one(i: int, j: int, fixed: list[Grey], moving: list[Grey]) -> Pair:
        with engine.use_threads(1):
            return Pair(**vars(register(fixed, moving, model)), i=i, j=j)

    workers = engine.thread_count()
    found = []
    with ThreadPoolExecutor(workers, thread_name_prefix="varfocus-align") as pool:
        for begin in range(0, len(steps), 2 * workers):
            batch = steps[begin : begin + 2 * workers]
            for k in dict.fromkeys(k for step in batch for k in step):
                if k not in pyramids:
                    pyramids[k] = pyramid(seen.grey(k).astype(np.float32))
            futures = [
                pool.submit(copy_context().run, one, i, j, pyramids[i], pyramids[j])
                for i, j in batch
            ]
            found += [future.result() for future in futures]
            done = begin + len(batch)
            for k in [k for k in pyramids if last_use[k] < done]:
                del pyramids[k]
            progress("aligning", done, len(steps))
    return found
