"""The process that does the stacks of a batch, one after the other, as ``varfocus depth`` would.

`varfocus.batch.pool` starts it, sends it tasks and receives their outcomes. It opens files, hashes,
computes and writes; so a hostile file, a crash or a lack of memory hurts nobody else.

A result is made in a hidden folder beside its place and moved there when it is complete. Two
processes may therefore do the same stack, as happens when a machine was lost and comes back: the
second finds the place taken.
"""

from __future__ import annotations

import contextlib
import os
import queue
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from varfocus.progress import throttled
from varfocus.workers.child import Line

TOLD_EVERY = 0.2
"""Seconds between two reports of progress in one stage."""
IDLE_SECONDS = 300
"""Seconds without work after which a process ends."""

Message = dict[str, Any]


def main() -> None:
    """Do task after task until there are no more."""
    line = Line()
    while True:
        try:
            task = line.receive(IDLE_SECONDS)
        except queue.Empty:  # the batch may have been killed; on a cluster, this stays behind
            return
        line.send({"kind": "done", **outcome(task, line.send, line.receive)})


def outcome(
    task: Message, answer: Callable[[Message], None], wait: Callable[[], Message]
) -> Message:
    """Do one stack and return how it went.

    Parameters
    ----------
    task : dict
        From `varfocus.batch.task.task_for`.
    answer : callable
        Sends a message to the supervisor.
    wait : callable
        Returns the next message from it.

    Returns
    -------
    dict
        ``status``: "done", "kept" (it was finished earlier), "failed" (for a reason that will not
        go away) or "lost" (worth another try); with ``facts`` or with ``message`` in the words of
        the command line and its ``exit_code``.
    """
    from varfocus.bugs import ours
    from varfocus.errors import TooLargeError, VarfocusError

    try:
        return _done(task, answer, wait)
    except VarfocusError as error:
        status = "lost" if isinstance(error.__cause__, MemoryError) else "failed"
        return {"status": status, "message": str(error), "exit_code": error.exit_code}
    except MemoryError as error:
        words = f"ran out of memory: {error}\nUse smaller frames, fewer workers, or more memory."
        return {"status": "lost", "message": words, "exit_code": TooLargeError.exit_code}
    except Exception as error:
        mine = ours(error)
        return {"status": "failed", "message": str(mine), "exit_code": mine.exit_code}
    finally:
        shutil.rmtree(task["part"], ignore_errors=True)


def _done(task: Message, answer: Callable[[Message], None], wait: Callable[[], Message]) -> Message:
    from varfocus.batch.finished import facts, finished, thumbnails
    from varfocus.job import Job, keep_apart, produce
    from varfocus.params import Resources

    _go_to(task["folder"])
    job, output, part = Job.from_data(task["job"]), Path(task["output"]), Path(task["part"])
    # A cluster gives the task of a worker that died to another, half-made results and all.
    shutil.rmtree(part, ignore_errors=True)
    began = time.perf_counter()
    stack = job.open()
    keep_apart(output, stack)
    record = finished(output, job, stack, overwrite=task["overwrite"])
    if record is not None:
        return _told("kept", record, output if task["thumbnails"] else None, None)
    planned = job.plan(stack, Resources(max_memory=task["max_memory"]))
    booked = min(planned.memory, task["most_bytes"])
    answer({"kind": "needs", "bytes": booked, "frames": len(stack)})
    threads = wait()["threads"]
    fresh = not (output.is_dir() and any(output.iterdir()))

    def report(stage: str, done: int, total: int) -> None:
        answer({"kind": "progress", "stage": stage, "done": done, "total": total})

    written = produce(
        job,
        stack,
        part if fresh else output,
        overwrite=task["overwrite"],
        command=task["command"],
        timed=False,
        resources=Resources(threads, task["max_memory"]),
        progress=throttled(report, TOLD_EVERY),
        planned=planned,
    )
    seconds = time.perf_counter() - began
    if fresh:
        _publish(part, output)
    told: Message = {
        "status": "done",
        "seconds": round(seconds, 3),
        "facts": facts(written.record),
    }
    if task["thumbnails"]:
        told["thumbnails"] = thumbnails(written.fused, written.depth)
    return told


def _go_to(folder: str) -> None:
    """Change to the folder in which the batch was called: names of frames may be relative."""
    from varfocus.errors import InputError

    try:
        os.chdir(folder)
    except OSError as error:
        raise InputError(
            f"{folder}: {error.strerror or error}",
            "expected the folder in which the batch was called, on every worker",
            "Run it from a folder on the shared file system.",
        ) from error


def _told(status: str, record: Message, folder: Path | None, seconds: float | None) -> Message:
    from varfocus.batch.finished import facts, thumbnails
    from varfocus.export.saved import load_result

    told: Message = {"status": status, "seconds": seconds, "facts": facts(record)}
    if folder is not None:
        saved = load_result(folder)
        told["thumbnails"] = thumbnails(saved.fused, saved.depth)
    return told


def _publish(part: Path, output: Path) -> None:
    """Move a complete folder to its place, unless another process was faster with the same."""
    from varfocus.errors import OutputError

    with contextlib.suppress(OSError):
        output.rmdir()  # an empty one
    try:
        part.rename(output)
    except OSError as error:
        if (output / "run.json").is_file():
            return
        raise OutputError(
            f"{output} cannot be written: {error.strerror or error}",
            "expected a place where the folder of results can be put",
        ) from error


if __name__ == "__main__":
    main()
