"""Do stacks on a Dask cluster: any that a ``distributed.Client`` reaches.

A task is a kilobyte of plain data; frames are read and results written where the worker is. On the
worker it is done by a process of its own, supervised as on one machine (`varfocus.batch.pool`), so
that a crash costs an attempt and not the worker. Tasks on a worker that dies are given to others by
the scheduler; those on a silent worker, by `Cluster.poll`.
"""

from __future__ import annotations

import contextlib
import logging
import secrets
import threading
import time
from typing import TYPE_CHECKING, Any

import varfocus
from varfocus.batch.events import Attempt, Events, Outcome, Step
from varfocus.batch.local import failure
from varfocus.batch.pool import Pool, Stopped, run_task
from varfocus.errors import BatchError, MissingExtraError, ParameterError, UsageError

if TYPE_CHECKING:
    from distributed import Client, Future

AHEAD = 2
"""Tasks per thread of the cluster that are handed over ahead, so that no worker has to wait."""

LOOKS = 20
"""How often the workers are checked in the time after which one counts as lost."""

REPORT_EVERY = 1.0
"""Seconds between two reports on a stack, which go through the scheduler."""

CONNECT_SECONDS = 20


def connect(address: str) -> Client:
    """Return a client of the scheduler at an address.

    Parameters
    ----------
    address : str
        Such as ``tcp://scheduler:8786``.

    Returns
    -------
    distributed.Client
        Connected.

    Raises
    ------
    MissingExtraError
        If Dask is not installed.
    UsageError
        If there is no answer.
    """
    try:
        from distributed import Client
    except ImportError as error:
        raise MissingExtraError("Clusters", "distributed", "cluster") from error
    logging.getLogger("distributed").setLevel(logging.CRITICAL)  # the batch reports what matters
    try:
        return Client(address, timeout=CONNECT_SECONDS, set_as_default=False)
    except ValueError as error:
        raise ParameterError(
            f"received the cluster {address!r} ({error})",
            "expected “local”, or the address of a Dask scheduler such as tcp://host:8786",
        ) from error
    except OSError as error:  # timeouts too
        raise UsageError(
            f"no Dask scheduler answers at {address}: {error}",
            "expected one of about the same version of Dask as here",
            "Start it: dask scheduler. Then, on every machine: dask worker " + address,
        ) from error


class Cluster:
    """The workers of a Dask cluster.

    Parameters
    ----------
    client : distributed.Client
        Leads to them.
    events : queue
        Gets what happens.
    threads : int or None
        Threads of the engine for each stack; None means 1, because a Dask worker does as many
        stacks at once as it has threads.
    lost_after : float
        Seconds without a sign of life after which a worker's stacks are given to others.
    """

    def __init__(
        self, client: Client, events: Events, threads: int | None, lost_after: float
    ) -> None:
        self._client, self._events = client, events
        self._threads, self._lost_after = threads or 1, lost_after
        self._topic = f"varfocus-{secrets.token_hex(8)}"
        self._under_way: dict[Any, Attempt] = {}
        self._futures: dict[Any, Future[Any]] = {}
        self._signs: dict[str, tuple[float, float]] = {}
        self._away_since: float | None = None
        self._polled = 0.0
        self._silent: set[str] = set()
        self._failed_at: dict[int, set[str]] = {}
        self._finished: dict[Any, float] = {}
        self.capacity = 1
        client.subscribe_topic(self._topic, self._told)
        self.poll()

    def memory_limit(self) -> int:
        """Return what a stack may take anywhere: the least that a thread of a worker has."""
        from varfocus.canvas.budget import allowed_bytes

        shares = [
            worker["memory_limit"] // max(1, worker["nthreads"])
            for worker in self._workers().values()
            if worker["memory_limit"]
        ]
        return min(shares) if shares else allowed_bytes(None)

    def words(self) -> str:
        """Say how large the cluster is."""
        workers = self._workers().values()
        n, threads = len(workers), sum(worker["nthreads"] for worker in workers)
        if not n:
            return "a cluster that has no workers yet"
        many = f"{n} worker{'s' * (n != 1)}"
        return f"{many} with {threads} thread{'s' * (threads != 1)} in all"

    def submit(self, attempt: Attempt, task: dict[str, Any]) -> None:
        """Have a task done by a worker that gives signs of life."""
        key = self._key(attempt)
        shunned = self._silent | self._failed_at.get(attempt.stack, set())
        others = [address for address in self._signs if address not in shunned] if shunned else []
        self._under_way[key] = attempt  # first: its outcome may come before the call returns
        self._futures[key] = future = self._client.submit(
            run_task_here,
            task,
            self._topic,
            tuple(attempt),
            self._threads,
            key=key,
            pure=False,
            workers=others or None,
            allow_other_workers=bool(others),  # in case those are lost, too
        )
        future.add_done_callback(self._done)

    def _key(self, attempt: Attempt) -> str:
        return f"{self._topic}-{attempt.stack}-{attempt.retry}"

    def _told(self, event: Any) -> None:
        """Pass on what a worker reports."""
        message = event[1]
        attempt = Attempt(*message["attempt"])
        if "step" in message:
            self._events.put(Step(attempt, *message["step"]))
        elif self._under_way.pop(self._key(attempt), None) is not None:
            self._conclude(attempt, message["outcome"])

    def _done(self, future: Future[Any]) -> None:
        """Handle the end of a task; its outcome was reported, and is not fetched from the worker.

        A frozen worker could not deliver it any more.
        """
        if future.status == "finished":
            self._finished[future.key] = time.monotonic()
            return
        attempt = self._under_way.pop(future.key, None)
        if attempt is None:
            return  # given to another worker meanwhile
        if future.status == "error":
            self._conclude(attempt, _translated(future.exception(timeout=CONNECT_SECONDS)))
        else:
            self._conclude(attempt, _lost("the cluster dropped it"))

    def _conclude(self, attempt: Attempt, outcome: dict[str, Any]) -> None:
        """Pass on an outcome; if the attempt counted as lost, it is not repeated."""
        if outcome["status"] == "lost":
            self._failed_at.setdefault(attempt.stack, set()).add(outcome.get("worker", ""))
        else:
            self._failed_at.pop(attempt.stack, None)
        self._events.put(Outcome(attempt, outcome))

    def poll(self) -> None:
        """Take stacks from workers that are silent, and notice new ones."""
        now = time.monotonic()
        if now - self._polled < self._lost_after / LOOKS:
            return
        self._polled = now
        workers = self._workers()
        self._stay_connected(now)
        # Clocks of machines differ, so it is by our own that a sign of life is new.
        self._signs = {
            address: (worker["last_seen"], now)
            if self._signs.get(address, (None,))[0] != worker["last_seen"]
            else self._signs[address]
            for address, worker in workers.items()
        }
        self._silent = {
            address for address, (_, at) in self._signs.items() if now - at > self._lost_after
        }
        alive = [w["nthreads"] for address, w in workers.items() if address not in self._silent]
        self.capacity = max(1, AHEAD * sum(alive))
        if self._silent and alive:
            self._take_back()
        for key, at in list(self._finished.items()):
            if key not in self._under_way:
                del self._finished[key]
            elif now - at > self._lost_after:
                self._conclude(self._under_way.pop(key), _lost("its outcome did not arrive"))
        for key in [key for key in self._futures if key not in self._under_way]:
            del self._futures[key]  # which makes the scheduler forget it

    def _take_back(self) -> None:
        """Count the tasks of silent workers as lost."""
        for address, keys in self._client.processing(list(self._silent)).items():
            for key in keys:
                attempt = self._under_way.pop(key, None)
                if attempt is None:
                    continue
                self._client.cancel([self._futures[key]])
                words = f"the worker {address} gave no sign of life for {self._lost_after:g} s"
                self._conclude(attempt, _lost(words))

    def _workers(self) -> dict[str, dict[str, Any]]:
        info = self._client.scheduler_info(n_workers=-1)
        workers: dict[str, dict[str, Any]] = info.get("workers", {})
        return workers

    def _stay_connected(self, now: float) -> None:
        if self._client.status == "running":
            self._away_since = None
            return
        self._away_since = self._away_since or now
        if self._client.status == "closed" or now - self._away_since > self._lost_after:
            raise BatchError(
                "the Dask scheduler is gone",
                "expected it to stay until the batch is done",
                "Start it again; the same command then continues where it stopped.",
            )

    def close(self) -> None:
        """Drop what is under way: waiting tasks at once, those at work at their next look."""
        left = [future for key, future in self._futures.items() if key in self._under_way]
        self._under_way.clear()
        with contextlib.suppress(Exception):  # the cluster may be gone
            self._client.unsubscribe_topic(self._topic)
            self._client.cancel(left)
            alive = [address for address in self._signs if address not in self._silent]
            self._client.run(drop, self._topic, workers=alive, wait=False)


def _lost(words: str) -> dict[str, Any]:
    return {"status": "lost", "message": words, "exit_code": BatchError.exit_code}


def _translated(error: BaseException) -> dict[str, Any]:
    """Return the outcome of a task that raised."""
    from distributed import KilledWorker

    if isinstance(error, KilledWorker):
        return _lost(f"the workers that did it died: {error}")
    if isinstance(error, ImportError):
        words = (
            f"the workers cannot import what they need: {error}\nexpected varfocus "
            f"{varfocus.__version__} in their environment\nInstall it there."
        )
        return {"status": "failed", "message": words, "exit_code": BatchError.exit_code}
    return failure(error)


# What follows runs on the workers.

_pools: dict[str, Pool] = {}
"""The processes of this worker, for each batch that is under way."""
_making = threading.Lock()


def run_task_here(task: dict[str, Any], topic: str, attempt: tuple[int, int], threads: int) -> None:
    """Do a task on this worker and report its outcome; this is what Dask runs.

    Parameters
    ----------
    task : dict
        From `varfocus.batch.task.task_for`.
    topic : str
        Where to report.
    attempt : tuple of int
        Which attempt it is, for reports.
    threads : int
        Threads of the engine.
    """
    from distributed import get_worker

    worker = get_worker()
    outcome = _outcome_here(task, topic, attempt, threads, worker) | {"worker": worker.address}
    worker.log_event(topic, {"attempt": list(attempt), "outcome": outcome})


def _outcome_here(
    task: dict[str, Any], topic: str, attempt: tuple[int, int], threads: int, worker: Any
) -> dict[str, Any]:
    if task["varfocus"] != varfocus.__version__:
        words = (
            f"this worker has varfocus {varfocus.__version__}\nexpected {task['varfocus']}, as "
            "where the batch was called\nInstall the same version on all workers."
        )
        return {"status": "failed", "message": words, "exit_code": BatchError.exit_code}
    last = 0.0

    def progress(stage: str, done: int, total: int) -> None:
        nonlocal last
        now = time.monotonic()
        if stage and now - last > REPORT_EVERY:
            last = now
            worker.log_event(topic, {"attempt": list(attempt), "step": [stage, done, total]})

    progress("opening", 0, 1)
    with _making:
        if topic not in _pools:
            limit = worker.memory_manager.memory_limit or float("inf")
            _pools[topic] = Pool(limit, worker.state.nthreads, threads)
        pool = _pools[topic]
    try:
        return run_task(task, pool, progress)
    except Stopped:
        return _lost("the batch was ended")


async def drop(topic: str) -> None:
    """End what this worker does for a batch; a coroutine, so that nobody has to wait for it."""
    pool = _pools.pop(topic, None)
    if pool is not None:
        pool.close()
