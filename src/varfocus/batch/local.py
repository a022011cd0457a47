"""Run tasks on this machine."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

from varfocus.batch.events import Attempt, Events, Outcome, Step
from varfocus.batch.pool import Pool, Stopped, run_task
from varfocus.bugs import ours


class Local:
    """Threads of this process, each of which supervises one worker process.

    Parameters
    ----------
    pool : Pool
        The processes, their memory and threads.
    events : queue
        Gets what happens.
    """

    def __init__(self, pool: Pool, events: Events) -> None:
        self._pool, self._events = pool, events
        self._threads = ThreadPoolExecutor(pool.size, thread_name_prefix="varfocus-batch")
        self.capacity = pool.size

    def submit(self, attempt: Attempt, task: dict[str, Any]) -> None:
        """Have a task done."""
        self._threads.submit(self._run, attempt, task)

    def _run(self, attempt: Attempt, task: dict[str, Any]) -> None:
        def progress(stage: str, done: int, total: int) -> None:
            if stage:
                self._events.put(Step(attempt, stage, done, total))

        self._events.put(Step(attempt, "opening", 0, 1))
        try:
            self._events.put(Outcome(attempt, run_task(task, self._pool, progress)))
        except Stopped:
            return
        except Exception as error:  # a bug of ours: the batch must report it, not wait for ever
            self._events.put(Outcome(attempt, failure(error)))

    def poll(self) -> None:
        """Do nothing: each worker is watched by its own thread."""

    def close(self) -> None:
        """Drop what is under way and end all processes."""
        self._pool.close()
        self._threads.shutdown(wait=True, cancel_futures=True)
        self._pool.close()  # those that came back meanwhile


def failure(error: BaseException) -> dict[str, Any]:
    """Return the outcome of a task that met a bug."""
    mine = ours(error)
    return {"status": "failed", "message": str(mine), "exit_code": mine.exit_code}
