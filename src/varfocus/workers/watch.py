"""Hold a worker to its limits while listening to it: a crash, a hang, too much time or memory."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from varfocus.workers.process import Worker

Cause: TypeAlias = Literal["ended", "time", "silence", "memory"]
"""Why a worker was lost: it ended by itself, or reached one of its limits."""


@dataclass(frozen=True)
class Limits:
    """What a worker may take.

    Attributes
    ----------
    silence : float
        Seconds without a message.
    seconds : float
        Seconds in all.
    memory : float
        Bytes of its own.
    """

    silence: float
    seconds: float = math.inf
    memory: float = math.inf


class Lost(Exception):  # noqa: N818
    """A worker did not finish what it was doing; its text says what happened instead.

    Attributes
    ----------
    cause : {"ended", "time", "silence", "memory"}
        Why.
    printed : str
        The last output it printed.
    """

    def __init__(self, cause: Cause, words: str, printed: str = "") -> None:
        super().__init__(words)
        self.cause: Cause = cause
        self.printed = printed


class Watch:
    """Listens to a worker, and abandons it at its limits.

    Parameters
    ----------
    worker : Worker
        The process.
    limits : Limits
        What it may take from now on.
    """

    def __init__(self, worker: Worker, limits: Limits) -> None:
        self._worker, self._limits = worker, limits
        self.restart()

    def restart(self) -> None:
        """Start the clocks anew: waiting for its turn is not work."""
        self._began = self._heard = time.monotonic()

    def receive(self, seconds: float) -> Any:
        """Return the next message; None if none came within `seconds`.

        Raises
        ------
        Lost
            If the process is gone, or a limit is reached; the process is then not killed yet.
        """
        self._check()
        try:
            message = self._worker.receive(seconds)
        except EOFError:
            how, printed = self._worker.how_it_ended()
            words = f"ended unexpectedly ({how}), perhaps for lack of memory"
            raise Lost("ended", words, printed) from None
        if message is not None:
            self._heard = time.monotonic()
        return message

    def _check(self) -> None:
        now, limits = time.monotonic(), self._limits
        if now - self._began > limits.seconds:
            raise Lost("time", f"was not finished within {limits.seconds:g} s")
        if now - self._heard > limits.silence:
            raise Lost("silence", f"gave no sign of life for {limits.silence:g} s and was ended")
        taken = self._worker.memory if limits.memory < math.inf else 0
        if taken > limits.memory:
            raise Lost(
                "memory",
                f"took {taken / 1e9:.2f} GB of memory, more than the {limits.memory / 1e9:.2f} GB "
                "that it may have, varfocus itself included",
            )
