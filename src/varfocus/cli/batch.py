"""``varfocus batch``: many stacks, unattended, here or on a cluster."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Group, Parameter

from varfocus.batch.dispatch import Listener, dispatch, locked
from varfocus.batch.dry_run import planned_rows
from varfocus.batch.stacks import Names, Stack, keep_out
from varfocus.batch.summary import Summary, in_words, result_words
from varfocus.batch.task import RetryPolicy
from varfocus.batch.watch import arrivals
from varfocus.batch.work import WorkerOptions, plan, prepared, stack_at
from varfocus.cli.console import Board, Narrator, Talk, TalkOptions, table
from varfocus.cli.options import JobOptions, ResourceOptions, called_as
from varfocus.errors import BatchError, ParameterError, UsageError
from varfocus.params import MOST_FRAMES, SETTLING, Resources
from varfocus.ranges import Range, real, whole

WORK = Parameter(name="*", group=Group("Work", sort_key=0.5))
WATCH = Group("Watch", sort_key=0.7)
LOCAL = "local"
SETTLE = 10.0
LISTED_FAILURES = 20
"""Failures that are repeated at the end; all are in the summary."""


def batch(
    source: Annotated[list[str], Parameter(name="ROOT")],
    /,
    *,
    output: Annotated[Path, Parameter(name=["--output", "-o"])],
    dry_run: Annotated[bool, Parameter(negative=())] = False,
    overwrite: Annotated[bool, Parameter(negative=())] = False,
    cluster: str = LOCAL,
    workers: Annotated[WorkerOptions, WORK] = WorkerOptions(),
    retry: Annotated[RetryPolicy, WORK] = RetryPolicy(),
    watch: Annotated[bool, Parameter(negative=(), group=WATCH)] = False,
    settle: Annotated[float, Parameter(group=WATCH)] = SETTLE,
    frames: Annotated[int | None, Parameter(group=WATCH)] = None,
    options: JobOptions = JobOptions(),
    resources: ResourceOptions = Resources(),
    talk: TalkOptions = Talk(),
) -> None:
    """Process many stacks, each into a folder of its own as varfocus depth would.

    After an interruption or a crash, the same command continues where it stopped: a stack whose
    run.json lists the same options and the same frames, by their hashes, is not processed again.
    Failures are reported and do not stop the rest; the exit code is then 6. Writes summary.csv,
    summary.json and summary.html into the output folder along the way.

    Parameters
    ----------
    source
        A folder, searched with all its subfolders: a folder of frames is a stack, and so is a
        file with several pages, a video or a Zarr store. Or a pattern such as `plates/*/z*.tif`
        in quotes, a file, or a manifest: CSV or JSON with a stack and its options per row.
    output
        Folder for the results, made if missing; the stack ROOT/a/b goes to OUTPUT/a/b.
    dry_run
        Show what would be done, and do nothing.
    overwrite
        Replace results that differ from what is asked for; matching ones stay.
    cluster
        "local" for this machine, or the address of a Dask scheduler, such as tcp://host:8786.
        Its workers must have varfocus, and the files under the same names.
    watch
        Wait for stacks that an instrument writes below ROOT, until Ctrl-C.
    settle
        With --watch: seconds without a change after which a stack is complete.
    frames
        With --watch: least number of frames in a complete stack.
    """
    narrator = Narrator(talk)
    common = options.job()
    if watch:
        _check_watch(source, settle, frames, dry_run)
        keep_out(source, output)
        stacks: list[Stack] = []
    else:
        if frames is not None:
            raise ParameterError("received --frames without --watch", "expected both or neither")
        stacks, passed_over = plan(source, output, common)
        for reason in passed_over:
            narrator.say(f"Skipped {reason}.")
        if dry_run:
            rows = planned_rows(stacks, output, resources, overwrite)
            narrator.result(_plan_table(rows), {"stacks": rows, "passed_over": passed_over})
            return
    with ExitStack() as held:
        if not held.enter_context(locked(output)):
            narrator.warn(f"{output} cannot be locked: make sure that no second batch writes there")
        client = None if cluster == LOCAL else held.enter_context(_client(cluster))
        count = None if watch else len(stacks)
        ready = held.enter_context(prepared(client, workers, resources, count))
        if watch:
            root, names = Path(source[0]), Names()
            coming: Iterator[Stack | None] = (
                None if path is None else stack_at(path, names.of(path, root), common)
                for path in arrivals(root, output, settle, frames, common)
            )
            narrator.say(f"Waiting for stacks below {root}, {ready.words}. Ctrl-C ends it.")
        else:
            coming = iter(stacks)
            narrator.say(f"{len(stacks)} stack{'s' * (len(stacks) != 1)}, {ready.words}.")
        summary = Summary(output, count, called_as())
        try:
            with _terminating(), narrator.board(count) as board:
                dispatch(
                    coming,
                    ready.runner,
                    ready.events,
                    output,
                    summary,
                    Reporter(board, narrator),
                    max_memory=ready.max_memory,
                    retry=retry,
                    overwrite=overwrite,
                )
        except KeyboardInterrupt:
            if not watch:
                narrator.say(f"{in_words(summary.counts)} The same command continues from here.")
                raise
    _conclude(summary, output, narrator)


class Reporter(Listener):
    """Shows a batch on the terminal, or as lines where there is none.

    Parameters
    ----------
    board : Board
        The bars.
    narrator : Narrator
        Prints the messages.
    """

    def __init__(self, board: Board, narrator: Narrator) -> None:
        self._board, self._narrator = board, narrator

    def step(self, stack: Stack, stage: str, done: int, total: int) -> None:
        """Move a bar."""
        self._board.step(stack.name, stage, done, total)

    def again(self, stack: Stack, attempt: int, why: str) -> None:
        """Say that a stack is tried again, and why."""
        self._board.remove(stack.name)
        self._narrator.warn(f"{stack.name}: {why.splitlines()[0]}; tried again ({attempt})")

    def ended(self, stack: Stack, entry: dict[str, Any], summary: Summary) -> None:
        """Say what became of a stack."""
        counts = summary.counts
        count = sum(n for status, n in counts.items() if status != "waiting")
        self._board.remove(stack.name)
        self._board.count(count, counts["failed"])
        of = f"/{summary.total}" if summary.total else ""
        place = f"[{count}{of}] {stack.name}"
        if entry["status"] == "failed":
            first, *rest = entry["message"].splitlines()
            self._narrator.fail("\n".join([f"{place}: {first}", *(f"  {line}" for line in rest)]))
        elif not self._board.live:
            words = "finished earlier" if entry["status"] == "kept" else result_words(entry)
            self._narrator.say(f"{place}: {words}")


def _conclude(summary: Summary, output: Path, narrator: Narrator) -> None:
    """Print the outcome, and raise if stacks failed."""
    rows = [
        (str(output / "summary.html"), "all stacks on one page, for the browser"),
        (str(output / "summary.csv"), "the same as a table"),
        (str(output / "summary.json"), "the same for programs"),
    ]
    narrator.result(in_words(summary.counts) + "\n" + table(rows), summary.as_data())
    failures = summary.failures
    if failures:
        names = ", ".join(entry["name"] for entry in failures[:LISTED_FAILURES])
        more = len(failures) - LISTED_FAILURES
        raise BatchError(
            f"{len(failures)} of {len(summary.entries)} stacks failed: {names}"
            + (f" and {more} more" if more > 0 else ""),
            f"What is wrong with each is above and in {output / 'summary.csv'}.",
            "The same command tries these again, and leaves the others as they are.",
        )


def _plan_table(rows: list[dict[str, Any]]) -> str:
    told = [("stack", "frames", "size", "method", "memory", "what would happen")]
    told += [
        (
            row["name"],
            str(row["frames"] or ""),
            f"{row['width']}×{row['height']}" if row["width"] else "",
            row["method"] or "",
            row["memory"] or "",
            row["plan"].splitlines()[0],
        )
        for row in rows
    ]
    return table(told)


def _check_watch(source: list[str], settle: float, frames: int | None, dry_run: bool) -> None:
    if len(source) != 1 or (os.path.lexists(source[0]) and not Path(source[0]).is_dir()):
        raise UsageError(
            f"received {', '.join(source)} with --watch", "expected one folder to be watched"
        )
    if dry_run:
        raise UsageError("received --dry-run with --watch", "expected one of them")
    real("--settle", settle, SETTLING)
    if frames is not None:
        whole("--frames", frames, Range(1, MOST_FRAMES))


@contextmanager
def _client(address: str) -> Iterator[Any]:
    from varfocus.batch.cluster import connect

    client = connect(address)
    try:
        yield client
    finally:
        client.close(timeout=5)


@contextmanager
def _terminating() -> Iterator[None]:
    """Treat a request to end (SIGTERM) like Ctrl-C."""

    def interrupt(number: int, frame: object) -> None:
        del number, frame
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
