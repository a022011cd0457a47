"""Measure a batch: stacks per second against one worker, and what each part of it costs per stack.

In turn and several times, so that a busy machine slows all alike: one worker, as many as there are
processors, and a Dask cluster of as many workers of one thread, scheduler and workers being
processes of their own. Rates are taken from the first stack that ends to the last, so that the
start of processes does not count. Then: tasks that do nothing, for the cost of the cluster alone;
the same batch again, for the cost of recognising what is finished; and the search for stacks.

    python benchmarks/batch.py [--stacks 40] [--rounds 3]
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import tifffile
from bench import RESULTS
from distributed import Client, get_worker
from files import markdown

from varfocus import batch, simulate
from varfocus.batch import cluster as clusters
from varfocus.batch.dispatch import Listener, dispatch
from varfocus.batch.stacks import Stack, find
from varfocus.batch.summary import Summary
from varfocus.batch.task import RetryPolicy, task_for
from varfocus.batch.work import WorkerOptions, plan, prepared
from varfocus.engine import processors
from varfocus.job import Job
from varfocus.params import Resources

SHAPE, FRAMES = (256, 256), 15
EMPTY_TASKS = 1000


class Stopwatch(Listener):
    """Notes when stacks end."""

    def __init__(self) -> None:
        self.ends: list[float] = []

    def ended(self, stack: Stack, entry: dict[str, Any], summary: Summary) -> None:
        """Note it."""
        del stack, summary
        assert entry["status"] != "failed", entry["message"]
        self.ends.append(time.perf_counter())

    @property
    def rate(self) -> float:
        """Stacks per second, from the first end to the last."""
        return (len(self.ends) - 1) / (self.ends[-1] - self.ends[0])


def write_stacks(root: Path, n: int) -> int:
    """Write stacks as multi-page TIFF, and return their bytes."""
    frames = simulate("cone", shape=SHAPE, n=FRAMES).frames
    root.mkdir()
    for k in range(n):
        shifted = np.roll(frames, 3 * k, axis=2)
        tifffile.imwrite(root / f"z{k:04d}.tif", shifted, photometric="minisblack")
    return sum(path.stat().st_size for path in root.iterdir())


@contextmanager
def dask_cluster(folder: Path, workers: int) -> Iterator[tuple[Client, psutil.Process]]:
    """Start a cluster on this machine, and yield a client and the process of the scheduler."""
    place, dask = str(folder / "scheduler.json"), [sys.executable, "-m", "dask"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    options = ["--scheduler-file", place, "--host", "127.0.0.1", "--no-dashboard"]
    scheduler = [*dask, "scheduler", *options, "--port", "0", "--no-show"]
    worker = [*dask, "worker", *options, "--nthreads", "1", "--local-directory", str(folder)]
    started = [subprocess.Popen(command, **quiet) for command in [scheduler, *[worker] * workers]]
    try:
        while not Path(place).exists():
            time.sleep(0.1)
        with Client(scheduler_file=place) as client:
            client.wait_for_workers(workers)
            yield client, psutil.Process(started[0].pid)
    finally:
        for process in started:
            for child in psutil.Process(process.pid).children(recursive=True):
                child.kill()
            process.kill()
            process.wait()


def cpu(process: psutil.Process) -> float:
    """Return the seconds of processor time that a process has had."""
    times = process.cpu_times()
    return float(times.user + times.system)


def children_cpu() -> float:
    """Return the seconds of processor time of all processes that were started here and ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def nothing(task: dict[str, Any], topic: str, attempt: tuple[int, int], threads: int) -> None:
    """Stand in for the work: report an outcome at once."""
    del task, threads
    facts = {"confidence": 1.0, "warnings": [], "minimum": 0.0, "maximum": 1.0, "unit": "frames"}
    facts |= {"frames": 15, "width": 256, "height": 256, "method": "robust", "unknown_pixels": 0}
    outcome = {"status": "done", "seconds": 0.0, "facts": facts}
    get_worker().log_event(topic, {"attempt": list(attempt), "outcome": outcome})


def empty_tasks(client: Client, scheduler: psutil.Process, folder: Path) -> list[float]:
    """Return what a task that does nothing costs.

    In seconds of the clock, of the scheduler's processor and of our own.
    """
    stack, watch, ours = Stack("a", Job(("a",))), Stopwatch(), clusters.run_task_here
    clusters.run_task_here = nothing
    before, own = cpu(scheduler), time.process_time()
    try:
        with prepared(client, WorkerOptions(), Resources(), EMPTY_TASKS) as ready:
            dispatch(
                iter([stack] * EMPTY_TASKS),
                ready.runner,
                ready.events,
                folder,
                Summary(folder, EMPTY_TASKS),
                watch,
                max_memory="1GB",
                retry=RetryPolicy(),
                overwrite=False,
            )
    finally:
        clusters.run_task_here = ours
    own = time.process_time() - own
    return [1 / watch.rate, (cpu(scheduler) - before) / EMPTY_TASKS, own / EMPTY_TASKS]


def measure(folder: Path, stacks: int, rounds: int) -> list[str]:
    """Return the report."""
    root, cores = folder / "in", processors()
    size = write_stacks(root, stacks)
    rates: dict[str, list[float]] = {}
    works, schedulers, numbers = [], [], itertools.count()
    with dask_cluster(folder, cores) as (client, scheduler):
        ways: dict[str, dict[str, Any]] = {
            "1 worker": {"workers": 1, "threads": 1},
            f"{cores} workers": {"workers": cores, "threads": 1},
            f"Dask, {cores} workers": {"client": client},
        }
        idle = cpu(scheduler)
        time.sleep(5)
        idle = (cpu(scheduler) - idle) / 5
        for _ in range(rounds):
            for name, way in ways.items():
                watch, before, began = Stopwatch(), cpu(scheduler), time.perf_counter()
                work = children_cpu()
                batch.run(root, folder / f"out{next(numbers)}", listener=watch, **way)
                rates.setdefault(name, []).append(watch.rate)
                if "client" in way:
                    used = cpu(scheduler) - before - idle * (time.perf_counter() - began)
                    schedulers.append(used / stacks)
                elif way["workers"] == 1:
                    works.append((children_cpu() - work) / stacks)
        each, busy, own = empty_tasks(client, scheduler, folder)
    again = Stopwatch()
    batch.run(root, folder / "out0", workers=1, listener=again)
    began = time.perf_counter()
    find([root], folder / "nowhere")
    finding = (time.perf_counter() - began) / stacks
    planned, _ = plan([root], folder / "nowhere", Job(()))
    task = task_for(
        planned[0],
        folder,
        max_memory="1GB",
        retry=RetryPolicy(),
        overwrite=False,
        thumbnails=False,
    )
    one = statistics.median(rates["1 worker"])
    ratios = {
        name: statistics.median(b / a for a, b in zip(rates["1 worker"], found, strict=True))
        for name, found in rates.items()
    }
    rows = [
        [name, f"{statistics.median(found):.2f}", f"{ratios[name]:.2f}"]
        for name, found in rates.items()
    ]
    costs = [
        ["the work itself, one worker of one thread", f"{1e3 / one:.0f} ms"],
        ["– processor time of it", f"{1e3 * statistics.median(works):.0f} ms"],
        ["a task that does nothing, through the cluster and back", f"{1e3 * each:.1f} ms"],
        ["– processor time of the scheduler", f"{1e3 * busy:.2f} ms"],
        ["– processor time of the batch command", f"{1e3 * own:.2f} ms"],
        [
            "scheduler's processor in a real batch, reports of progress included",
            f"{1e3 * statistics.median(schedulers):.1f} ms, beyond {1e3 * idle:.0f} ms a second",
        ],
        ["a task, as it goes through the scheduler", f"{len(json.dumps(task))} bytes"],
        [
            "recognising a finished stack, one worker",
            f"{1e3 / again.rate:.0f} ms ({size / stacks * again.rate / 1e6:.0f} MB/s)",
        ],
        ["finding a stack", f"{1e3 * finding:.2f} ms"],
    ]
    load = os.getloadavg()[0]
    return [
        f"# A batch of {stacks} stacks of {FRAMES} frames of {SHAPE[1]}×{SHAPE[0]}",
        "",
        f"`python benchmarks/batch.py` writes this file. {cores} processors (load at the end "
        f"{load:.0f}), {rounds} rounds, medians; ratios are taken within a round.",
        "",
        *markdown(["who works", "stacks per second", "× one worker"], rows),
        "",
        *markdown(["what, per stack", "cost"], costs),
    ]


def main() -> None:
    """Measure and write ``results/batch.md``."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--stacks", type=int, default=40)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        lines = measure(Path(place), arguments.stacks, arguments.rounds)
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "batch.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
