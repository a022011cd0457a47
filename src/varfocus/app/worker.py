"""The process that decodes and solves for the page, and the handle by which the server holds it.

It is spawned once and stays warm. A newer request of the same kind makes it drop the older one at
the next report of progress; to stop it at once it is terminated, and a fresh one spawned.

Files are foreign and decoders have bugs, so whatever a job does harms that job alone: it may take
most of the free memory and no more, a crash or a kill by the system is reported and a fresh process
spawned, and so is a silence that lasts too long.
"""

from __future__ import annotations

import math
import os
import queue
import threading
import time
from collections.abc import Callable
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Any

from varfocus.canvas.budget import available_bytes, hold_process_within
from varfocus.errors import TooLargeError, VarfocusError

Report = dict[str, Any]
"""What a worker says: ``id``, ``kind`` ("progress", "done", "failed", "dropped"), particulars."""


SHARE_OF_FREE = 0.9
"""What a job may take of the memory that is free when it begins."""

MOST_SILENT = 900.0
"""Seconds after which a job that reports nothing is given up."""

MOST_WAITING = 64
"""Jobs that may wait."""

_TICK = 1.0

_CRASHED = (
    "The process that did the work ended unexpectedly, probably for lack of memory.\n"
    "Try smaller or fewer frames, or method “paper”, which needs less."
)
_SILENT = (
    "The process that did the work gave no sign of life for {seconds:.0f} seconds and was ended.\n"
    "Try smaller or fewer frames; a damaged file may be the reason, too."
)

TOLD_EVERY = 0.1
"""Seconds between two reports of progress in one stage."""


class Superseded(Exception):  # noqa: N818  (nothing went wrong)
    """A newer job of the same kind is waiting."""


class Worker:
    """A worker process, seen from the server.

    Parameters
    ----------
    report : callable
        Called with every `Report`, on a thread of its own.
    patient : bool
        Leave the processors to others while they have work to do.
    most_silent : float
        Seconds without any report after which a job is given up.
    """

    def __init__(
        self,
        report: Callable[[Report], None],
        *,
        patient: bool = False,
        most_silent: float = MOST_SILENT,
    ) -> None:
        self._report, self._patient, self._most_silent = report, patient, most_silent
        self._spawn()

    def _spawn(self) -> None:
        context = get_context("spawn")
        here, there = context.Pipe()
        self._connection: Connection[Any, Report] = here
        self._process = context.Process(target=serve, args=(there, self._patient), daemon=True)
        self._process.start()
        there.close()
        self._waiting: dict[int, None] = {}
        # A pipe takes so much and no more: whoever sends must not wait for a busy process.
        self._outbox: queue.SimpleQueue[Any] = queue.SimpleQueue()
        for role, held in (
            (self._listen, (self._process, here, self._waiting)),
            (_post, (here, self._outbox)),
        ):
            threading.Thread(target=role, args=held, name="varfocus-worker", daemon=True).start()

    def _listen(
        self, process: Any, connection: Connection[Any, Report], waiting: dict[int, None]
    ) -> None:
        heard, words = time.monotonic(), _CRASHED
        while True:
            try:
                if not connection.poll(min(_TICK, self._most_silent)):
                    if not waiting:
                        heard = time.monotonic()
                    elif time.monotonic() - heard > self._most_silent:
                        words = _SILENT.format(seconds=self._most_silent)
                        process.kill()
                        break
                    continue
                message = connection.recv()
            except (EOFError, OSError):
                break
            heard = time.monotonic()
            if message["kind"] != "progress":
                waiting.pop(message["id"], None)
            self._report(message)
        if connection is self._connection and waiting:  # not ended by us
            jobs = list(waiting)
            self._outbox.put(None)
            self._spawn()
            for job in jobs:
                self._report({"id": job, "kind": "failed", "message": words})

    def send(self, job: Any) -> None:
        """Hand over a job of `varfocus.app.jobs`.

        Raises
        ------
        TooLargeError
            If too many are waiting already.
        """
        if len(self._waiting) >= MOST_WAITING:
            raise TooLargeError(
                f"received a request while {len(self._waiting)} others wait",
                f"expected at most {MOST_WAITING} at a time",
                "Wait until the present work is done, or cancel it.",
            )
        if not self._process.is_alive() and not self._waiting:  # it ended while idle
            self._spawn()
        self._waiting[job.id] = None
        self._outbox.put(job)

    def restart(self) -> None:
        """Stop whatever it does, at once, and begin anew."""
        old_process = self._process
        dropped = list(self._waiting)
        self._outbox.put(None)
        self._spawn()
        old_process.terminate()
        old_process.join()  # whoever listens to it, or sends, now finds the line dead
        for job in dropped:
            self._report({"id": job, "kind": "dropped"})

    def stop(self) -> None:
        """End the process for good."""
        self._waiting.clear()
        self._outbox.put(None)
        self._process.terminate()
        self._process.join()


def _post(connection: Connection[Any, Report], outbox: queue.SimpleQueue[Any]) -> None:
    """Send what is put into the outbox, in order, until None comes or nobody is there."""
    while (job := outbox.get()) is not None:
        try:
            connection.send(job)
        except OSError:  # ended; whoever listens will know
            return


def serve(connection: Connection[Report, Any], patient: bool) -> None:
    """Work through jobs until the other end hangs up; the main function of the process."""
    if patient and hasattr(os, "nice"):  # not on Windows
        os.nice(10)
    from varfocus.app.jobs import Bench  # the numerics load here, not in the server

    bench, waiting = Bench(), list[Any]()
    while True:
        try:
            if not waiting:
                waiting.append(connection.recv())
            _drain(connection, waiting)
            job = waiting.pop(0)
            if any(other.newest == job.newest for other in waiting if job.newest):
                connection.send({"id": job.id, "kind": "dropped"})
                continue
            connection.send(_outcome(job, bench, connection, waiting))
        except (EOFError, BrokenPipeError, KeyboardInterrupt):
            return


def _outcome(job: Any, bench: Any, connection: Connection[Report, Any], waiting: list[Any]) -> Any:
    told: tuple[str, float] = "", -math.inf

    def progress(stage: str, done: int, total: int) -> None:
        nonlocal told
        now = time.monotonic()
        if stage != told[0] or now - told[1] >= TOLD_EVERY or done == total:
            told = stage, now
            connection.send(
                {"id": job.id, "kind": "progress", "stage": stage, "done": done, "total": total}
            )
        _drain(connection, waiting)
        if job.newest and any(other.newest == job.newest for other in waiting):
            raise Superseded

    try:
        hold_process_within(int(SHARE_OF_FREE * available_bytes()))
        return {"id": job.id, "kind": "done", **job.run(bench, progress)}
    except Superseded:
        return {"id": job.id, "kind": "dropped"}
    except VarfocusError as error:
        return {"id": job.id, "kind": "failed", "message": str(error)}
    except MemoryError:
        words = "There is not enough memory for this.\nTry smaller or fewer frames."
        return {"id": job.id, "kind": "failed", "message": words}
    except Exception as error:  # a bug of ours must not end the page
        words = f"This is a bug in varfocus: {type(error).__name__}: {error}"
        return {"id": job.id, "kind": "failed", "message": words}


def _drain(connection: Connection[Report, Any], waiting: list[Any]) -> None:
    while connection.poll():
        waiting.append(connection.recv())
