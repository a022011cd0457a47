"""The other end: what a worker process does first, and its line to the supervisor."""

from __future__ import annotations

import faulthandler
import os
import pickle
import queue
import sys
import threading
from pathlib import Path
from typing import Any

from varfocus.workers import messages


class Line:
    """The line to the supervisor; to be made once, before anything else.

    From then on whatever is printed, by libraries too, goes to standard error. When the supervisor
    closes the line or is gone, the process ends, even in the middle of a computation.
    """

    def __init__(self) -> None:
        self._answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
        faulthandler.enable()
        _be_killed_first()
        self._sending = threading.Lock()
        self._inbox: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        threading.Thread(target=self._listen, name="varfocus-line", daemon=True).start()

    def _listen(self) -> None:
        # Not sys.stdin: Python could not end by itself while a thread waits for its lock.
        incoming = open(sys.stdin.fileno(), "rb", buffering=0, closefd=False)  # noqa: SIM115
        try:
            while True:
                self._inbox.put(messages.read(incoming))
        except (EOFError, OSError):
            os._exit(0)

    def send(self, message: Any) -> None:
        """Send a message."""
        content = messages.packed(message)
        with self._sending:
            self._answers.write(content)
            self._answers.flush()

    def receive(self, seconds: float | None = None) -> Any:
        """Return the next message; raise `queue.Empty` if none comes within `seconds`."""
        return pickle.loads(self._inbox.get(timeout=seconds))

    def waiting(self) -> list[Any]:
        """Return the messages that are there already."""
        found: list[Any] = []
        while not self._inbox.empty():  # nobody else takes from it
            found.append(pickle.loads(self._inbox.get()))
        return found


def _be_killed_first() -> None:
    """Ask Linux to end this process rather than its supervisor when memory runs out."""
    try:
        Path("/proc/self/oom_score_adj").write_text("500")
    except OSError:
        return  # another system
