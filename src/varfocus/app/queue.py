"""The page's queue of jobs, and the worker process that decodes and solves for it.

The process is started once and stays warm. A newer request of the same kind makes it drop the
older one at the next report of progress; to stop it at once it is killed, and a fresh one started.

Whatever a job does harms that job alone: it may take most of the free memory and no more, and a
crash, a kill by the system or a silence that lasts too long is reported, and a fresh process
started.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from varfocus.errors import InputError, TooLargeError
from varfocus.workers import Limits, Lost, Watch, Worker

Report = dict[str, Any]
"""What a worker says: ``id``, ``kind`` ("progress", "done", "failed", "dropped"), details."""

MOST_SILENT = 900.0
"""Seconds after which a job that reports nothing is abandoned."""

MOST_WAITING = 64
"""Jobs that may wait."""

POLL_EVERY = 1.0
"""Seconds between two looks at the clock while nothing is reported."""

REMEDIES = {
    "ended": "Try smaller or fewer frames, or method “paper”, which needs less.",
    "silence": "Try smaller or fewer frames; a damaged file may be the reason, too.",
}
"""What to do if the process was lost, by the cause."""


class SupersededError(InputError):
    """A request that was overtaken by a newer one; nobody waits for its answer any more."""

    def __init__(self) -> None:
        super().__init__("received a newer request of this kind", "expected one at a time")


class JobQueue:
    """Jobs of `varfocus.app.jobs`, done one after another by a worker process.

    Parameters
    ----------
    report : callable
        Called with every `Report`, on a thread of its own.
    background : bool
        Yield the processors to other processes that have work to do.
    most_silent : float
        Seconds without any report after which a job is abandoned.
    """

    def __init__(
        self,
        report: Callable[[Report], None],
        *,
        background: bool = False,
        most_silent: float = MOST_SILENT,
    ) -> None:
        self._report, self._most_silent = report, most_silent
        self._arguments = ("--background",) if background else ()
        self._changing = threading.RLock()
        self._start()

    def _start(self) -> None:
        self._worker = Worker("varfocus.app.process", *self._arguments)
        self._waiting: dict[int, None] = {}
        held = self._worker, self._waiting
        self._listener = threading.Thread(
            target=self._listen, args=held, name="varfocus-queue", daemon=True
        )
        self._listener.start()

    def _listen(self, worker: Worker, waiting: dict[int, None]) -> None:
        watch = Watch(worker, Limits(silence=self._most_silent))
        try:
            while True:
                if not waiting:
                    watch.restart()
                message = watch.receive(min(POLL_EVERY, self._most_silent))
                if message is None:
                    continue
                if message["kind"] != "progress":
                    waiting.pop(message["id"], None)
                self._report(message)
        except Lost as lost:
            worker.kill()
            self._replace(worker, lost)

    def _replace(self, worker: Worker, lost: Lost) -> None:
        """Start another process for one that was lost, and report what it was doing as failed."""
        with self._changing:
            if worker is not self._worker or not self._waiting:  # ended by us, or idle
                return
            jobs = list(self._waiting)
            self._start()
        words = f"The process that did the work {lost}.\n{REMEDIES[lost.cause]}"
        for job in jobs:
            self._report({"id": job, "kind": "failed", "message": words})

    def send(self, job: Any) -> None:
        """Hand over a job of `varfocus.app.jobs`.

        Raises
        ------
        TooLargeError
            If too many are waiting already.
        """
        with self._changing:
            if len(self._waiting) >= MOST_WAITING:
                raise TooLargeError(
                    f"received a request while {len(self._waiting)} others wait",
                    f"expected at most {MOST_WAITING} at a time",
                    "Wait until the present work is done, or cancel it.",
                )
            if not self._worker.alive and not self._waiting:  # it ended while idle
                self._start()
            self._waiting[job.id] = None
            self._worker.send(job)

    def restart(self) -> None:
        """Stop whatever is being done, at once, and begin anew."""
        with self._changing:
            old, listener, dropped = self._worker, self._listener, list(self._waiting)
            self._start()
        old.kill()
        listener.join()  # so that nothing is heard of a job after it was dropped
        for job in dropped:
            self._report({"id": job, "kind": "dropped"})

    def stop(self) -> None:
        """End the process for good; nothing is reported any more."""
        with self._changing:
            self._waiting.clear()
            listener = self._listener
            self._worker.kill()
        listener.join()
