"""The process that decodes and solves for the page, and the handle by which the server holds it.

It is spawned once and stays warm. A newer request of the same kind makes it drop the older one at
the next report of progress; to stop it at once it is terminated, and a fresh one spawned.
"""

from __future__ import annotations

import math
import os
import threading
import time
from collections.abc import Callable
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Any

from varfocus.errors import VarfocusError

Report = dict[str, Any]
"""What a worker says: ``id``, ``kind`` ("progress", "done", "failed", "dropped"), particulars."""


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
    """

    def __init__(self, report: Callable[[Report], None], *, patient: bool = False) -> None:
        self._report, self._patient = report, patient
        self._spawn()

    def _spawn(self) -> None:
        context = get_context("spawn")
        here, there = context.Pipe()
        self._connection: Connection[Any, Report] = here
        self._process = context.Process(target=serve, args=(there, self._patient), daemon=True)
        self._process.start()
        there.close()
        self._waiting: dict[int, None] = {}
        threading.Thread(
            target=self._listen, args=(here, self._waiting), name="varfocus-worker", daemon=True
        ).start()

    def _listen(self, connection: Connection[Any, Report], waiting: dict[int, None]) -> None:
        while True:
            try:
                message = connection.recv()
            except (EOFError, OSError):
                break
            if message["kind"] != "progress":
                waiting.pop(message["id"], None)
            self._report(message)
        if connection is self._connection and waiting:  # not ended by us
            jobs = list(waiting)
            self._spawn()
            for job in jobs:
                words = (
                    "The process that did the work ended unexpectedly, probably for lack of memory."
                    "\nTry smaller or fewer frames, or method “paper”, which needs less."
                )
                self._report({"id": job, "kind": "failed", "message": words})

    def send(self, job: Any) -> None:
        """Hand over a job of `varfocus.app.jobs`."""
        self._waiting[job.id] = None
        self._connection.send(job)

    def restart(self) -> None:
        """Stop whatever it does, at once, and begin anew."""
        old_process, old_connection = self._process, self._connection
        dropped = list(self._waiting)
        self._spawn()
        old_process.terminate()
        old_process.join()
        old_connection.close()
        for job in dropped:
            self._report({"id": job, "kind": "dropped"})

    def stop(self) -> None:
        """End the process for good."""
        self._waiting.clear()
        self._process.terminate()
        self._process.join()


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
