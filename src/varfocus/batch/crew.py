"""Supervise the processes that do the work, so that none of them can hurt the batch.

A crash, a hang, too much memory: each ends one process and is one failed attempt at one stack. The
same supervision serves the threads of a local run and the tasks on a cluster, whose workers import
this and none of the numerics.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, cast

import psutil

from varfocus.progress import Progress

LOOK_EVERY = 0.1
"""Seconds between two looks at a process's memory and clock."""

SPARE_BYTES = 5 * 10**8
"""What a process may hold beyond the memory of its stack: interpreter, libraries, decoders."""

LONGEST_SILENCE = 1800.0
"""Seconds without a word after which a process is taken for hung, whatever its time limit."""

TAIL = 1500
"""Characters of what a process said before it died that are passed on."""


class Stopped(Exception):  # noqa: N818  (nothing went wrong)
    """The batch ends; what was under way is dropped."""


class Hand:
    """One process that does stacks, seen from its supervisor."""

    def __init__(self) -> None:
        self._said = tempfile.TemporaryFile()  # noqa: SIM115 closed with the process
        quiet = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
        self._process = subprocess.Popen(
            [sys.executable, "-m", "varfocus.batch.process"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._said,
            # Ctrl-C is for the batch, which decides what becomes of its processes.
            start_new_session=True,
            env=os.environ | quiet,
        )
        self._heard: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
        threading.Thread(target=self._listen, name="varfocus-hand", daemon=True).start()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        with contextlib.suppress(ValueError, OSError):  # closed by `end`
            for line in self._process.stdout:
                self._heard.put(json.loads(line))
        self._heard.put(None)

    def send(self, message: dict[str, Any]) -> None:
        """Send a message; a process that is gone will be noticed when it is listened to."""
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):
            self._process.stdin.write((json.dumps(message) + "\n").encode())
            self._process.stdin.flush()

    def hear(self, seconds: float) -> dict[str, Any] | None:
        """Return the next message, None if there is none yet; raise EOFError if it is gone."""
        try:
            message = self._heard.get(timeout=seconds)
        except queue.Empty:
            return None
        if message is None:
            raise EOFError
        return message

    def alive(self) -> bool:
        """Tell whether it is still there."""
        return self._process.poll() is None

    def memory(self) -> int:
        """Return the bytes it holds for itself alone."""
        try:
            info = psutil.Process(self._process.pid).memory_info()
        except psutil.Error:  # gone
            return 0
        return cast(int, info.rss - getattr(info, "shared", 0))

    def end(self) -> None:
        """End it at once, whatever it does; frozen processes too."""
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout, self._said):
            assert stream is not None
            with contextlib.suppress(OSError):
                stream.close()

    def last_words(self) -> str:
        """Return how it ended, and the last it said."""
        code = self._process.wait()
        how = f"exit code {code}"
        if code < 0:
            how = f"signal {signal.Signals(-code).name}"
        self._said.seek(0)
        said = self._said.read().decode(errors="replace").strip()[-TAIL:]
        return how + (f"\n{said}" if said else "")


@dataclass
class Crew:
    """Processes that are ready, and the memory they share.

    Parameters
    ----------
    budget : float
        Bytes that all stacks under way may need together.
    places : int
        Stacks that may be under way at once.
    threads : int or None
        Threads of each; None shares out the processors among as many stacks as fit.
    """

    budget: float
    places: int
    threads: int | None = None
    stopped: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self._idle: list[Hand] = []
        self._needs: list[int] = []
        self._changed = threading.Condition()

    @contextmanager
    def hand(self) -> Iterator[Hand]:
        """Lend a process; it comes back warm, or is ended if anything went wrong."""
        with self._changed:
            ready = [hand for hand in self._idle if hand.alive()]
            hand = ready.pop() if ready else Hand()
            self._idle = ready
        try:
            yield hand
        except BaseException:
            hand.end()
            raise
        with self._changed:
            self._idle.append(hand)

    @contextmanager
    def room(self, needed: int) -> Iterator[int]:
        """Wait until a stack fits beside those under way, and return its number of threads.

        A stack that needs more than the budget is done alone.
        """
        with self._changed:
            while self._needs and sum(self._needs) + needed > self.budget:
                self._changed.wait(LOOK_EVERY)
                self.look_up()
            self._needs.append(needed)
        try:
            yield self.threads or self._share(needed)
        finally:
            with self._changed:
                self._needs.remove(needed)
                self._changed.notify_all()

    def _share(self, needed: int) -> int:
        """Return the processors for each of as many stacks as fit at once."""
        from varfocus.engine import processors

        beside = max(1, min(self.places, int(self.budget // max(needed, 1))))
        return max(1, processors() // beside)

    def look_up(self) -> None:
        """Raise `Stopped` if the batch has ended."""
        if self.stopped.is_set():
            raise Stopped

    def close(self) -> None:
        """End all processes that are idle; those at work end when they look up."""
        self.stopped.set()
        with self._changed:
            while self._idle:
                self._idle.pop().end()


def attend(order: dict[str, Any], crew: Crew, progress: Progress) -> dict[str, Any]:
    """Have one stack done by a process of the crew, and return how it went.

    Parameters
    ----------
    order : dict
        From `varfocus.batch.order.order_for`.
    crew : Crew
        Whose process does it.
    progress : callable
        Listener; also called, without a stage, when there is nothing new.

    Returns
    -------
    dict
        As `varfocus.batch.process.outcome` says; "lost" too if the process died, hung or took too
        much memory.

    Raises
    ------
    Stopped
        If the batch ended meanwhile.
    """
    try:
        with crew.hand() as hand, contextlib.ExitStack() as held:
            hand.send(order)
            return _watched(order, crew, hand, held, progress)
    except OSError as error:
        words = f"no process could be started: {error.strerror or error}"
        return {"status": "lost", "message": words, "exit_code": 1}
    except _Lost as lost:
        return {"status": "lost", "message": str(lost), "exit_code": lost.exit_code}
    finally:
        # The process may have been ended in the middle of it.
        shutil.rmtree(order["part"], ignore_errors=True)


class _Lost(Exception):  # noqa: N818
    """The process did not finish its stack."""

    def __init__(self, message: str, exit_code: int) -> None:
        super().__init__(message)
        self.exit_code = exit_code


def _watched(
    order: dict[str, Any],
    crew: Crew,
    hand: Hand,
    held: contextlib.ExitStack,
    progress: Progress,
) -> dict[str, Any]:
    most = order["most_bytes"] + SPARE_BYTES
    limit: float = order["time_limit"] or float("inf")
    began = heard = time.monotonic()
    while True:
        crew.look_up()
        try:
            message = hand.hear(LOOK_EVERY)
        except EOFError:
            raise _Lost(
                "The process that did the work ended unexpectedly, perhaps for lack of memory: "
                + hand.last_words(),
                1,
            ) from None
        now = time.monotonic()
        if message is None:
            progress("", 0, 0)
        elif message["kind"] == "needs":
            threads = held.enter_context(crew.room(message["bytes"]))
            hand.send({"threads": threads})
            began = now = heard = time.monotonic()  # waiting for memory is no work
        elif message["kind"] == "progress":
            progress(message["stage"], message["done"], message["total"])
            heard = now
        else:
            return message
        if now - began > limit:
            raise _Lost(
                f"was not done within {limit:g} s\nexpected an end within the time limit\n"
                "Allow more with --time-limit, or look at the frames.",
                4,
            )
        if now - heard > LONGEST_SILENCE:
            raise _Lost(f"made no progress for {LONGEST_SILENCE:g} s and was taken for hung", 1)
        taken = hand.memory()
        if taken > most:
            raise _Lost(
                f"took {taken / 1e9:.2f} GB of memory\nexpected at most {most / 1e9:.2f} GB, what "
                "varfocus itself needs included\n"
                "Allow more with --max-memory, or use smaller frames.",
                4,
            )
