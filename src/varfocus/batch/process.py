"""The process that does the stacks of a batch, one after the other, as ``varfocus depth`` would.

Whoever supervises it (`varfocus.batch.crew`) sends an order per line of standard input and hears
of it by lines of standard output, all JSON. It opens files, hashes, computes and writes; so a
hostile file, a crash or a lack of memory hurts nobody else. When the supervisor is gone, however
that came about, its input ends, and so does the process.

A result is made in a hidden folder beside its place and moved there when it is complete. Two
processes may therefore do the same stack, as happens when a machine was lost and comes back: the
second finds the place taken.
"""

from __future__ import annotations

import contextlib
import faulthandler
import json
import os
import queue
import shutil
import sys
import threading
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

REPORTS_PER_SECOND = 5
IDLE_SECONDS = 300
"""A process without work for so long ends."""
MESSAGE_LINES = 12
"""Lines of a traceback that are passed on: the last ones say most."""

Message = dict[str, Any]


def main() -> None:
    """Do what is ordered until the input ends."""
    # Libraries may print; the supervisor must not take that for an answer.
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    faulthandler.enable()
    _be_the_first_to_go()
    orders: queue.SimpleQueue[Message] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(orders,), daemon=True).start()

    def answer(message: Message) -> None:
        answers.write(json.dumps(message) + "\n")
        answers.flush()

    while True:
        try:
            order = orders.get(timeout=IDLE_SECONDS)
        except queue.Empty:  # the batch may have been killed; on a cluster, this stays behind
            return
        answer({"kind": "done", **outcome(order, answer, orders.get)})


def _listen(orders: queue.SimpleQueue[Message]) -> None:
    for line in sys.stdin:
        orders.put(json.loads(line))
    os._exit(0)  # also from the middle of a computation


def _be_the_first_to_go() -> None:
    """Ask Linux to end this process rather than its supervisor when memory runs out."""
    try:
        Path("/proc/self/oom_score_adj").write_text("500")
    except OSError:
        return  # another system


def outcome(
    order: Message, answer: Callable[[Message], None], wait: Callable[[], Message]
) -> Message:
    """Do one stack and return how it went.

    Parameters
    ----------
    order : dict
        From `varfocus.batch.order.order_for`.
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
    from varfocus.errors import TooLargeError, VarfocusError

    try:
        return _done(order, answer, wait)
    except VarfocusError as error:
        status = "lost" if isinstance(error.__cause__, MemoryError) else "failed"
        return {"status": status, "message": str(error), "exit_code": error.exit_code}
    except MemoryError as error:
        words = f"ran out of memory: {error}\nUse smaller frames, fewer workers, or more memory."
        return {"status": "lost", "message": words, "exit_code": TooLargeError.exit_code}
    except Exception:
        lines = traceback.format_exc().splitlines()[-MESSAGE_LINES:]
        words = "\n".join(["This is a bug in varfocus; please report it:", *lines])
        return {"status": "failed", "message": words, "exit_code": 1}
    finally:
        shutil.rmtree(order["part"], ignore_errors=True)


def _done(
    order: Message, answer: Callable[[Message], None], wait: Callable[[], Message]
) -> Message:
    from varfocus.batch.finished import facts, finished, thumbnails
    from varfocus.job import Job, demands, keep_apart, produce
    from varfocus.params import Resources

    _go_to(order["folder"])
    job, output, part = Job.from_data(order["job"]), Path(order["output"]), Path(order["part"])
    began = time.perf_counter()
    stack = job.open()
    keep_apart(output, stack)
    record = finished(output, job, stack, overwrite=order["overwrite"])
    if record is not None:
        return _told("kept", record, output if order["thumbnails"] else None, None)
    limit = order["most_bytes"]
    needed = min(demands(job, stack, limit)[1], limit)
    answer({"kind": "needs", "bytes": needed, "frames": len(stack)})
    threads = wait()["threads"]
    fresh = not (output.is_dir() and any(output.iterdir()))
    written = produce(
        job,
        stack,
        part if fresh else output,
        overwrite=order["overwrite"],
        command=order["command"],
        timed=False,
        resources=Resources(threads, order["max_memory"]),
        progress=_throttled(answer),
    )
    seconds = time.perf_counter() - began
    if fresh:
        _publish(part, output)
    told: Message = {
        "status": "done",
        "seconds": round(seconds, 3),
        "facts": facts(written.record),
    }
    if order["thumbnails"]:
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


def _throttled(answer: Callable[[Message], None]) -> Callable[[str, int, int], None]:
    last = ("", 0.0)

    def progress(stage: str, done: int, total: int) -> None:
        nonlocal last
        now = time.monotonic()
        if stage != last[0] or now - last[1] > 1 / REPORTS_PER_SECOND:
            last = stage, now
            answer({"kind": "progress", "stage": stage, "done": done, "total": total})

    return progress


if __name__ == "__main__":
    main()
