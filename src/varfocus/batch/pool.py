"""The worker processes of a batch, the memory they share, and one task done by one of them.

A crash, a hang, too much memory: each ends one process and is one lost attempt at one stack. The
same pool serves the threads of a local run and the tasks on a cluster, whose workers import this
and none of the numerics.
"""

from __future__ import annotations

import contextlib
import math
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from varfocus.progress import Progress
from varfocus.workers import Limits, Lost, Watch, Worker

POLL_EVERY = 0.1
"""Seconds between two looks at a process's memory and clock."""

SPARE_BYTES = 5 * 10**8
"""What a process may hold beyond the memory of its stack: interpreter, libraries, decoders."""

LONGEST_SILENCE = 1800.0
"""Seconds without a message after which a process counts as hung, whatever its time limit."""

ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
"""Environment in which libraries start no threads of their own: stacks are done side by side."""

REMEDIES = {
    "time": (4, "Allow more with --time-limit, or look at the frames."),
    "memory": (4, "Allow more with --max-memory, or use smaller frames."),
}
"""Exit code and what to do if a process was lost for a reason that the user can change."""


class Stopped(Exception):  # noqa: N818  (nothing went wrong)
    """The batch ends; what was under way is dropped."""


@dataclass
class Pool:
    """Worker processes that are ready, and the memory they share.

    Parameters
    ----------
    budget : float
        Bytes that all stacks under way may need together.
    size : int
        Stacks that may be under way at once.
    threads : int or None
        Threads of each; None divides the processors among as many stacks as fit.
    """

    budget: float
    size: int
    threads: int | None = None
    stopped: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self._idle: list[Worker] = []
        self._reserved: list[int] = []
        self._changed = threading.Condition()

    @contextmanager
    def worker(self) -> Iterator[Worker]:
        """Lend a process; it comes back warm, or is killed if anything went wrong."""
        with self._changed:
            ready = [worker for worker in self._idle if worker.alive]
            worker = (
                ready.pop() if ready else Worker("varfocus.batch.process", environment=ONE_THREAD)
            )
            self._idle = ready
        try:
            yield worker
        except BaseException:
            worker.kill()
            raise
        with self._changed:
            self._idle.append(worker)

    @contextmanager
    def reserved(self, needed: int) -> Iterator[int]:
        """Wait until a stack fits beside those under way, and return its number of threads.

        A stack that needs more than the budget is done alone.
        """
        with self._changed:
            while self._reserved and sum(self._reserved) + needed > self.budget:
                self._changed.wait(POLL_EVERY)
                self.check_open()
            self._reserved.append(needed)
        try:
            yield self.threads or self._share(needed)
        finally:
            with self._changed:
                self._reserved.remove(needed)
                self._changed.notify_all()

    def _share(self, needed: int) -> int:
        """Return the processors for each of as many stacks as fit at once."""
        from varfocus.engine import processors

        beside = max(1, min(self.size, int(self.budget // max(needed, 1))))
        return max(1, processors() // beside)

    def check_open(self) -> None:
        """Raise `Stopped` if the batch has ended."""
        if self.stopped.is_set():
            raise Stopped

    def close(self) -> None:
        """End all processes that are idle; those at work end at their next check."""
        self.stopped.set()
        with self._changed:
            while self._idle:
                self._idle.pop().kill()


def run_task(task: dict[str, Any], pool: Pool, progress: Progress) -> dict[str, Any]:
    """Let a process of the pool do one stack, and return how it went.

    Parameters
    ----------
    task : dict
        From `varfocus.batch.task.task_for`.
    pool : Pool
        Whose process does it.
    progress : callable
        Listener; also called, without a stage, when there is nothing new.

    Returns
    -------
    dict
        As `varfocus.batch.process.outcome` says; "lost" too if the process died, hung or took too
        much memory.

    Raises
    ------
    Stopped
        If the batch ended meanwhile.
    """
    try:
        with pool.worker() as worker, contextlib.ExitStack() as held:
            worker.send(task)
            return _watched(task, pool, worker, held, progress)
    except OSError as error:
        words = f"no process could be started: {error.strerror or error}"
        return {"status": "lost", "message": words, "exit_code": 1}
    except Lost as lost:
        exit_code, remedy = REMEDIES.get(lost.cause, (1, ""))
        lines = [f"its process {lost}", lost.printed, remedy]
        message = "\n".join(filter(None, lines))
        return {"status": "lost", "message": message, "exit_code": exit_code}
    finally:
        # The process may have been ended in the middle of it.
        shutil.rmtree(task["part"], ignore_errors=True)


def _watched(
    task: dict[str, Any],
    pool: Pool,
    worker: Worker,
    held: contextlib.ExitStack,
    progress: Progress,
) -> dict[str, Any]:
    watch = Watch(
        worker,
        Limits(LONGEST_SILENCE, task["time_limit"] or math.inf, task["most_bytes"] + SPARE_BYTES),
    )
    while True:
        pool.check_open()
        message: dict[str, Any] | None = watch.receive(POLL_EVERY)
        if message is None:
            progress("", 0, 0)
        elif message["kind"] == "needs":
            threads = held.enter_context(pool.reserved(message["bytes"]))
            worker.send({"threads": threads})
            watch.restart()  # waiting for memory is not work
        elif message["kind"] == "progress":
            progress(message["stage"], message["done"], message["total"])
        else:
            return message
