"""Do stacks on this machine."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

from varfocus.batch.crew import Crew, Stopped, attend
from varfocus.batch.events import Events, Outcome, Step, Ticket


class Local:
    """Threads of this process, each of which supervises one that works.

    Parameters
    ----------
    crew : Crew
        The processes, their memory and threads.
    events : queue
        Gets what happens.
    """

    def __init__(self, crew: Crew, events: Events) -> None:
        self._crew, self._events = crew, events
        self._pool = ThreadPoolExecutor(crew.places, thread_name_prefix="varfocus-batch")
        self.capacity = crew.places

    def submit(self, ticket: Ticket, order: dict[str, Any]) -> None:
        """Have an order carried out."""
        self._pool.submit(self._attend, ticket, order)

    def _attend(self, ticket: Ticket, order: dict[str, Any]) -> None:
        def progress(stage: str, done: int, total: int) -> None:
            if stage:
                self._events.put(Step(ticket, stage, done, total))

        self._events.put(Step(ticket, "opening", 0, 1))
        try:
            self._events.put(Outcome(ticket, attend(order, self._crew, progress)))
        except Stopped:
            return
        except Exception as error:  # a bug of ours: the batch must hear of it, not wait for ever
            self._events.put(Outcome(ticket, failure(error)))

    def tend(self) -> None:
        """Look after the workers: each is watched by its own thread."""

    def close(self) -> None:
        """Drop what is under way and end all processes."""
        self._crew.close()
        self._pool.shutdown(wait=True, cancel_futures=True)
        self._crew.close()  # those that came back meanwhile


def failure(error: BaseException) -> dict[str, Any]:
    """Return the outcome of an order that met a bug."""
    words = f"This is a bug in varfocus; please report it: {type(error).__name__}: {error}"
    return {"status": "failed", "message": words, "exit_code": 1}
