"""``varfocus batch``: many stacks, unattended, here or on a cluster."""

from __future__ import annotations

import shlex
import signal
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Group, Parameter

from varfocus.batch.conduct import Listener, conduct, locked
from varfocus.batch.dry_run import planned_rows
from varfocus.batch.order import Patience
from varfocus.batch.stacks import Names, Stack, keep_out
from varfocus.batch.summary import Summary, in_words, result_words
from varfocus.batch.watch import arrivals
from varfocus.batch.work import Hands, plan, prepared, stack_at
from varfocus.cli.console import Board, Narrator, Talk, TalkOptions, table
from varfocus.cli.depth import (
    ALIGNMENT,
    AREA,
    CLASSIC,
    CONTRAST,
    FUSION,
    MINIMISATION,
    RESOURCES,
    ROBUST,
)
from varfocus.cli.source import FocusOptions
from varfocus.errors import BatchError, ParameterError, UsageError
from varfocus.export.result_files import TiledFormat
from varfocus.io.calibration import Focus
from varfocus.job import Job
from varfocus.params import (
    DEFAULT_METHOD,
    AlignParams,
    AreaParams,
    ClassicParams,
    ContrastParams,
    CurveParams,
    FuseParams,
    Method,
    Params,
    Resources,
    RobustParams,
    SolverParams,
    StartParams,
)

WORK = Parameter(name="*", group=Group("Work", sort_key=0.5))
WATCH = Group("Watch", sort_key=0.7)
LOCAL = "local"
SETTLE = 10.0
LISTED_FAILURES = 20
"""Failures that are told again at the end; all are in the summary."""


def batch(
    source: Annotated[list[str], Parameter(name="ROOT")],
    /,
    *,
    output: Annotated[Path, Parameter(name=["--output", "-o"])],
    dry_run: Annotated[bool, Parameter(negative=())] = False,
    overwrite: Annotated[bool, Parameter(negative=())] = False,
    cluster: str = LOCAL,
    hands: Annotated[Hands, WORK] = Hands(),
    patience: Annotated[Patience, WORK] = Patience(),
    watch: Annotated[bool, Parameter(negative=(), group=WATCH)] = False,
    settle: Annotated[float, Parameter(group=WATCH)] = SETTLE,
    frames: Annotated[int | None, Parameter(group=WATCH)] = None,
    method: Method = DEFAULT_METHOD,
    report: bool = True,
    tiled_format: TiledFormat = "tiff",
    focus: FocusOptions = Focus(),
    area: Annotated[AreaParams, AREA] = AreaParams(),
    align: Annotated[AlignParams, ALIGNMENT] = AlignParams(),
    robust: Annotated[RobustParams, ROBUST] = RobustParams(),
    contrast: Annotated[ContrastParams, CONTRAST] = ContrastParams(),
    curve: Annotated[CurveParams, CONTRAST] = CurveParams(),
    start: Annotated[StartParams, MINIMISATION] = StartParams(),
    solve: Annotated[SolverParams, MINIMISATION] = SolverParams(),
    classic: Annotated[ClassicParams, CLASSIC] = ClassicParams(),
    fusion: Annotated[FuseParams, FUSION] = FuseParams(),
    keep_gps: Annotated[bool, Parameter(negative=(), group=FUSION.group)] = False,
    resources: Annotated[Resources, RESOURCES] = Resources(),
    talk: TalkOptions = Talk(),
) -> None:
    """Do many stacks, each into a folder of its own as varfocus depth would.

    Interrupted or killed, the same command goes on where it was: a stack whose run.json tells of
    the same options and the same frames, by their hashes, is not done again. What fails is
    reported and does not stop the rest; the exit code is then 6. Writes summary.csv, summary.json
    and summary.html into the output folder as it goes.

    Parameters
    ----------
    source
        A folder, which is searched with all below it: a folder of frames is a stack, and so is a
        file with several pages, a video or a Zarr store. Or a pattern such as `plates/*/z*.tif`
        in quotes, a file, or a manifest: CSV or JSON with a stack and its options per row.
    output
        Folder for the results, made if missing; the stack ROOT/a/b goes to OUTPUT/a/b.
    dry_run
        Show what would be done, and do nothing.
    overwrite
        Replace results that are not those asked for; those that are stay.
    cluster
        "local" for this machine, or the address of a Dask scheduler, such as tcp://host:8786.
        Its workers must have varfocus, and the files under the same names.
    watch
        Wait for stacks as an instrument writes them below ROOT, until Ctrl-C.
    settle
        With --watch: seconds without a change after which a stack is complete.
    frames
        With --watch: frames that a complete stack has at least.
    method
        As for varfocus depth.
    report
        Write report.html for every stack.
    tiled_format
        How maps of stacks that do not fit into memory are written: "tiff" for tiled BigTIFF,
        "zarr" for OME-Zarr.
    keep_gps
        Let fused.png tell where the frames were taken; the rest of EXIF is always kept.
    """
    narrator = Narrator(talk)
    params = Params(method, contrast, curve, start, solve, classic, robust, align, fusion, area)
    common = Job((), params, focus, report, keep_gps, tiled_format)
    if watch:
        _check_watch(source, settle, frames, dry_run)
        keep_out(source, output)
        stacks: list[Stack] = []
    else:
        if frames is not None:
            raise ParameterError("received --frames without --watch", "expected both or neither")
        stacks, passed_over = plan(source, output, common)
        for reason in passed_over:
            narrator.say(f"Passed over {reason}.")
        if dry_run:
            rows = planned_rows(stacks, output, resources, overwrite)
            narrator.result(_plan_table(rows), {"stacks": rows, "passed_over": passed_over})
            return
    with ExitStack() as held:
        if not held.enter_context(locked(output)):
            narrator.warn(f"{output} cannot be locked: see that no second batch writes there")
        client = None if cluster == LOCAL else held.enter_context(_client(cluster))
        count = None if watch else len(stacks)
        ready = held.enter_context(prepared(client, hands, resources, count))
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
        summary = Summary(output, count, shlex.join(["varfocus", *sys.argv[1:]]))
        try:
            with _terminating(), narrator.board(count) as board:
                conduct(
                    coming,
                    ready.runner,
                    ready.events,
                    output,
                    summary,
                    Reporter(board, narrator),
                    max_memory=ready.max_memory,
                    patience=patience,
                    overwrite=overwrite,
                )
        except KeyboardInterrupt:
            if not watch:
                narrator.say(f"{in_words(summary.counts)} The same command goes on from here.")
                raise
    _conclude(summary, output, narrator)


class Reporter(Listener):
    """Shows a batch on the terminal, or as lines where there is none.

    Parameters
    ----------
    board : Board
        The bars.
    narrator : Narrator
        Speaks.
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
    if len(source) != 1 or (Path(source[0]).exists() and not Path(source[0]).is_dir()):
        raise UsageError(
            f"received {', '.join(source)} with --watch", "expected one folder to be watched"
        )
    if dry_run:
        raise UsageError("received --dry-run with --watch", "expected one of them")
    if not settle >= 0 or (frames is not None and frames < 1):
        raise ParameterError(
            f"received --settle {settle:g} and --frames {frames}",
            "expected seconds of at least 0, and at least 1 frame",
        )


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
    """Let a polite request to end (SIGTERM) be heard as Ctrl-C is."""

    def interrupt(number: int, frame: object) -> None:
        del number, frame
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
