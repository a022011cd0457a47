"""The entry to a batch, from Python and from the command line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

from varfocus import engine
from varfocus.batch.dispatch import Listener, dispatch, locked
from varfocus.batch.events import Events, Runner
from varfocus.batch.local import Local
from varfocus.batch.manifest import is_manifest, read_manifest, with_options
from varfocus.batch.pool import Pool
from varfocus.batch.stacks import Stack, find, keep_out
from varfocus.batch.summary import FILES, Summary
from varfocus.batch.task import RetryPolicy
from varfocus.canvas.budget import allowed_bytes
from varfocus.errors import ParameterError
from varfocus.files import place_of
from varfocus.io.simulated import FOCUS_FILE, simulation_of
from varfocus.job import Job
from varfocus.params import Resources
from varfocus.ranges import path as as_path
from varfocus.units import parse_size, size_words

if TYPE_CHECKING:
    from distributed import Client

LOST_AFTER = 60.0
"""Seconds without a sign of life after which a worker of a cluster counts as lost."""


@dataclass(frozen=True)
class WorkerOptions:
    """How many workers there are, and when one is given up.

    Parameters
    ----------
    workers
        Stacks that are processed at once on this machine; by default as many as there are
        processors, and fewer when they would need more memory than there is.
    lost_after
        Seconds without a sign of life after which the stacks of a cluster's worker are given to
        others.
    """

    workers: int | None = None
    lost_after: float = LOST_AFTER

    def __post_init__(self) -> None:
        if self.workers is not None and self.workers < 1:
            raise ParameterError(f"received workers = {self.workers}", "expected 1 or more")
        if not self.lost_after > 0:
            raise ParameterError(
                f"received lost_after = {self.lost_after}", "expected a number of seconds above 0"
            )


def run(
    stacks: str | Path | Sequence[str | Path | Stack],
    output: str | Path,
    *,
    client: Client | None = None,
    workers: int | None = None,
    threads: int | None = None,
    max_memory: str | None = None,
    retries: int = RetryPolicy.retries,
    time_limit: float | None = None,
    lost_after: float = LOST_AFTER,
    overwrite: bool = False,
    listener: Listener | None = None,
    **options: Any,
) -> Summary:
    """Reconstruct many stacks, each into a folder of its own as ``varfocus depth`` would.

    Called again, it continues where it stopped: a stack whose run.json lists the same options and
    the same frames, by their hashes, is not done again.

    Parameters
    ----------
    stacks : path, or sequence of paths or Stack
        A folder to be searched, a pattern, a manifest (CSV or JSON), a file that holds a stack.
    output : path
        Folder of the results; summary.csv, summary.json and summary.html come here as well.
    client : distributed.Client, optional
        A Dask cluster that does the work. Its workers need varfocus, and the files under the same
        names.
    workers : int, optional
        Without a cluster: stacks that are done at once; by default one per processor, as far as
        memory allows.
    threads : int, optional
        Threads for each stack. By default the processors are divided among the stacks; on a cluster
        1, because a worker does as many stacks at once as it has threads. The results do not depend
        on it.
    max_memory : str, optional
        What one stack may take, and all that are under way together, such as "8GB"; by default
        60 % of what is free, on a cluster what the smallest worker has per thread.
    retries : int
        How often a stack is tried again if its process died, hung or took too much memory.
    time_limit : float, optional
        Seconds that one stack may take.
    lost_after : float
        Seconds without a sign of life after which a cluster's worker counts as lost.
    overwrite : bool
        Replace results that differ from what is asked for.
    listener : Listener, optional
        Receives the events.
    **options
        Any option of ``varfocus depth``, such as ``smoothness=2`` or ``z_step="2um"``.

    Returns
    -------
    Summary
        ``entries``, ``counts``, ``failures``.

    Raises
    ------
    VarfocusError
        If there is nothing to do, or nowhere to put it. A stack that fails raises nothing.
    """
    several = isinstance(stacks, Sequence) and not isinstance(stacks, str | bytes)
    given: list[Any] = [*stacks] if several else [stacks]  # type: ignore[misc]
    common = with_options(Job(()), **options)
    output = as_path("output", output)
    planned, _ = plan(given, output, common)
    retry = RetryPolicy(retries, time_limit)
    resources = Resources(threads, max_memory)
    with (
        locked(output),
        prepared(client, WorkerOptions(workers, lost_after), resources, len(planned)) as ready,
    ):
        summary = Summary(output, len(planned))
        dispatch(
            iter(planned),
            ready.runner,
            ready.events,
            output,
            summary,
            listener or Listener(),
            max_memory=ready.max_memory,
            retry=retry,
            overwrite=overwrite,
        )
    return summary


def plan(
    given: Sequence[str | Path | Stack], output: Path, common: Job
) -> tuple[list[Stack], list[str]]:
    """Return the stacks that are meant, and what was skipped.

    Parameters
    ----------
    given : sequence of path or Stack
        Folders, patterns, manifests, files, or stacks.
    output : Path
        Folder of the results.
    common : Job
        Options of all stacks.

    Returns
    -------
    tuple of list of Stack and list of str
        In order; and why other pictures were not taken as stacks.
    """
    stacks = [item for item in given if isinstance(item, Stack)]
    paths = [as_path("stack", item) for item in given if not isinstance(item, Stack)]
    keep_out(paths, output)
    for path in paths:
        if is_manifest(path):
            stacks += read_manifest(path, common)
    roots = [path for path in paths if not is_manifest(path)]
    passed_over: list[str] = []
    if roots or not stacks:
        found = find(roots, output)
        passed_over = found.passed_over
        stacks += [stack_at(path, name, common) for path, name in found.places]
    _distinct(stacks)
    return stacks, passed_over


def stack_at(path: Path, name: str, common: Job) -> Stack:
    """Return the stack at a place, with the options of all.

    The frames of a simulated stack bring their focus positions, unless the options say otherwise.
    """
    job, given = replace(common, source=(str(path),)), common.focus
    simulated = simulation_of(path)
    if simulated is not None and given.z_step is None and given.focus_distances is None:
        job = replace(job, focus=replace(given, focus_distances=simulated / FOCUS_FILE))
    return Stack(name, job)


def _distinct(stacks: Sequence[Stack]) -> None:
    taken: dict[str, Stack] = {}
    for stack in stacks:
        if stack.name in FILES:
            raise ParameterError(
                f"received a stack named {stack.name!r}: {stack.source}",
                "expected another name: the summary has this one already",
            )
        other = taken.setdefault(place_of(stack.name), stack)
        if other is not stack:
            raise ParameterError(
                f"received two stacks named {stack.name!r}: {other.source}, {stack.source}",
                "expected another name for every stack",
            )


@dataclass(frozen=True)
class Ready:
    """A runner that is ready, its events, the memory of a stack, and all that in words."""

    runner: Runner
    events: Events
    max_memory: str
    words: str


@contextmanager
def prepared(
    client: Client | None, options: WorkerOptions, resources: Resources, stacks: int | None
) -> Iterator[Ready]:
    """Get the workers ready, on this machine or on a cluster.

    Parameters
    ----------
    client : distributed.Client or None
        The cluster.
    options : WorkerOptions
        How many workers, and when one is given up.
    resources : Resources
        Threads and memory.
    stacks : int or None
        How many stacks there are, if that is known.

    Yields
    ------
    Ready
        The workers, their events, the memory of a stack, and all that in words.
    """
    events: Events = SimpleQueue()
    given = resources.max_memory
    if client is not None:
        from varfocus.batch.cluster import Cluster

        cluster = Cluster(client, events, resources.threads, options.lost_after)
        limit = parse_size(given) if given is not None else cluster.memory_limit()
        words = f"on {cluster.words()}, up to {size_words(limit)} each"
        yield Ready(cluster, events, f"{limit}B", words)
        return
    limit = allowed_bytes(None if given is None else parse_size(given))
    size = options.workers or min(engine.processors(), stacks or engine.processors())
    words = f"{size} at once, up to {size_words(limit)} together"
    yield Ready(Local(Pool(limit, size, resources.threads), events), events, f"{limit}B", words)
