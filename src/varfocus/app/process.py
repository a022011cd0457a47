"""The worker process of the page: jobs of `varfocus.app.jobs`, one after another.

`varfocus.app.queue` starts it and receives its reports.
"""

from __future__ import annotations

import os
import sys
from typing import Any

from varfocus.bugs import ours
from varfocus.canvas.budget import available_bytes, hold_process_within
from varfocus.progress import throttled
from varfocus.workers.child import Line

SHARE_OF_FREE = 0.9
"""What a job may take of the memory that is free when it begins."""

TOLD_EVERY = 0.1
"""Seconds between two reports of progress in one stage."""


class Superseded(Exception):  # noqa: N818  (nothing went wrong)
    """A newer job of the same kind is waiting."""


def main() -> None:
    """Run jobs until the other end closes the connection."""
    line = Line()
    if "--background" in sys.argv and hasattr(os, "nice"):  # not on Windows
        os.nice(10)
    from varfocus.app.jobs import Bench  # numerics: once the connection exists

    bench, waiting = Bench(), list[Any]()
    while True:
        if not waiting:
            waiting.append(line.receive())
        waiting += line.waiting()
        job = waiting.pop(0)
        if _superseded(job, waiting):
            line.send({"id": job.id, "kind": "dropped"})
        else:
            line.send({"id": job.id, **_outcome(job, bench, line, waiting)})


def _superseded(job: Any, waiting: list[Any]) -> bool:
    return bool(job.newest) and any(other.newest == job.newest for other in waiting)


def _outcome(job: Any, bench: Any, line: Line, waiting: list[Any]) -> dict[str, Any]:
    """Do a job and return what to report."""

    def report(stage: str, done: int, total: int) -> None:
        told = {"stage": stage, "done": done, "total": total}
        line.send({"id": job.id, "kind": "progress", **told})

    tell = throttled(report, TOLD_EVERY)

    def progress(stage: str, done: int, total: int) -> None:
        tell(stage, done, total)
        waiting.extend(line.waiting())
        if _superseded(job, waiting):
            raise Superseded

    try:
        hold_process_within(int(SHARE_OF_FREE * available_bytes()))
        return {"kind": "done", **job.run(bench, progress)}
    except Superseded:
        return {"kind": "dropped"}
    except MemoryError:
        words = "There is not enough memory for this.\nTry smaller or fewer frames."
        return {"kind": "failed", "message": words}
    except Exception as error:  # a bug of ours must not end the page
        return {"kind": "failed", "message": str(ours(error))}


if __name__ == "__main__":
    main()
