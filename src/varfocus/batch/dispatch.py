"""Dispatch a batch: hand out stacks, collect their outcomes, try again, record the results."""

from __future__ import annotations

import shutil
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from queue import Empty
from typing import Any

from filelock import FileLock, Timeout

from varfocus.batch.events import Attempt, Events, Outcome, Runner, Step
from varfocus.batch.stacks import Stack
from varfocus.batch.summary import Summary
from varfocus.batch.task import PART, RetryPolicy, task_for
from varfocus.errors import OutputError
from varfocus.export.atomic import prepare_folder

LOCK = ".varfocus-batch.lock"
POLL_EVERY = 0.2
"""Seconds to wait for an event before the workers are polled."""


class Listener:
    """Receives the events of a batch; its methods do nothing and are meant to be overridden."""

    def step(self, stack: Stack, stage: str, done: int, total: int) -> None:
        """Take note that a stack makes progress."""

    def again(self, stack: Stack, attempt: int, why: str) -> None:
        """Take note that an attempt at a stack was lost, and that it is tried again."""

    def ended(self, stack: Stack, entry: dict[str, Any], summary: Summary) -> None:
        """Take note that a stack is finished, given its entry of `Summary.entries`."""


@contextmanager
def locked(output: Path) -> Iterator[bool]:
    """Lock an output folder for one batch; the system releases it if the batch is killed.

    Parameters
    ----------
    output : Path
        Created if missing.

    Yields
    ------
    bool
        False if the file system has no locks: nothing then keeps a second batch away.

    Raises
    ------
    OutputError
        If another batch has it, or it cannot be written.
    """
    prepare_folder(output, (), overwrite=False)
    lock = FileLock(output / LOCK)
    try:
        lock.acquire(timeout=0)
    except Timeout as error:
        raise OutputError(
            f"another varfocus batch is writing into {output}",
            "expected a folder of its own for every batch",
            "Wait until it is done, or choose another output with -o.",
        ) from error
    except (NotImplementedError, OSError):
        yield False
        return
    try:
        yield True
    finally:
        lock.release()


def dispatch(
    stacks: Iterator[Stack | None],
    runner: Runner,
    events: Events,
    output: Path,
    summary: Summary,
    listener: Listener,
    *,
    max_memory: str,
    retry: RetryPolicy,
    overwrite: bool,
) -> None:
    """Process all stacks.

    Parameters
    ----------
    stacks : iterator of Stack or None
        What is to be done; None while nothing is ready but more may come.
    runner : Runner
        Does it.
    events : queue
        Where it reports.
    output : Path
        Folder of the batch, locked.
    summary : Summary
        Gets every outcome.
    listener : Listener
        Receives all events.
    max_memory, retry, overwrite
        As in `varfocus.batch.task.task_for`.
    """
    under_way: dict[Attempt, Stack] = {}
    again: deque[tuple[Attempt, Stack]] = deque()
    number, more, tidied = 0, True, set[Path]()
    _tidy(output, tidied)
    try:
        while more or under_way or again:
            while len(under_way) < runner.capacity:
                if again:
                    attempt, stack = again.popleft()
                else:
                    found = next(stacks, _END)
                    more = found is not _END
                    if not isinstance(found, Stack):
                        break
                    attempt, stack, number = Attempt(number, 0), found, number + 1
                    _tidy((output / stack.name).parent, tidied)
                under_way[attempt] = stack
                task = task_for(
                    stack,
                    output,
                    max_memory=max_memory,
                    retry=retry,
                    overwrite=overwrite,
                    thumbnails=summary.wants_pictures,
                )
                runner.submit(attempt, task)
            try:
                event = events.get(timeout=POLL_EVERY)
            except Empty:
                event = None
            current = under_way.get(event.attempt) if event is not None else None
            if isinstance(event, Step) and current is not None:
                listener.step(current, event.stage, event.done, event.total)
            elif isinstance(event, Outcome) and current is not None:
                del under_way[event.attempt]
                outcome, (number_of, retries) = event.outcome, event.attempt
                if outcome["status"] == "lost" and retries < retry.retries:
                    listener.again(current, retries + 1, outcome["message"])
                    again.append((Attempt(number_of, retries + 1), current))
                else:
                    final = _final(outcome, retries)
                    entry = summary.add(number_of, current.name, current.source, final)
                    listener.ended(current, entry, summary)
            runner.poll()
            summary.write()
    finally:
        runner.close()
        summary.write(now=True)


_END = object()


def _tidy(folder: Path, tidied: set[Path]) -> None:
    """Remove what a killed batch left half done in a folder, once."""
    if folder not in tidied:
        tidied.add(folder)
        for part in folder.glob(f".*{PART}"):
            if part.is_dir():
                shutil.rmtree(part, ignore_errors=True)
            else:  # of a summary
                part.unlink(missing_ok=True)


def _final(outcome: dict[str, Any], retries: int) -> dict[str, Any]:
    """Return the outcome of the last attempt as that of the stack."""
    status = outcome["status"]
    if status == "kept" and retries > 0:  # by an attempt that counted as lost
        status = "done"
    if status == "lost":
        tried = f" (tried {retries + 1} times)" if retries else ""
        first, *rest = outcome["message"].splitlines()
        outcome = outcome | {"message": "\n".join([first + tried, *rest])}
        status = "failed"
    return outcome | {"status": status, "attempts": retries + 1}
