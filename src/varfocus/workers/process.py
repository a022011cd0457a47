"""A worker process, seen from its supervisor: start it, send to it, listen to it, kill it."""

from __future__ import annotations

import contextlib
import os
import pickle
import queue
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping
from typing import Any, cast

import psutil

from varfocus.workers import messages

TAIL = 1500
"""Characters of what a process printed before it died that are passed on."""

LONGEST_END = 10.0
"""Seconds that a process may take to end after it has closed its line."""


class Worker:
    """A process that runs a module of the package.

    Its standard input and output carry messages. What it prints goes into a temporary file, and
    Ctrl-C does not reach it: its supervisor decides what becomes of it. When the supervisor is
    gone, for whatever reason, the input of the process ends, and so does the process.

    Parameters
    ----------
    module : str
        What to run; it calls `varfocus.workers.child.Line`.
    *arguments : str
        Its arguments.
    environment : mapping of str to str
        Variables that it gets beside those of this process.

    Raises
    ------
    OSError
        If no process can be started.
    """

    def __init__(
        self, module: str, *arguments: str, environment: Mapping[str, str] | None = None
    ) -> None:
        self._printed = tempfile.TemporaryFile()  # noqa: SIM115 closed with the process
        # -P: a folder of frames from which varfocus is called is not a place to import from.
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", module, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._printed,
            start_new_session=True,
            env=os.environ | {"PYTHONPATH": _import_path()} | dict(environment or {}),
        )
        self._killed, self._closing = False, threading.Lock()
        # A pipe holds a limited amount: neither end must wait for the other to read.
        self._outbox: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._inbox: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        for role in (self._post, self._listen):
            threading.Thread(target=role, name="varfocus-worker", daemon=True).start()

    def _post(self) -> None:
        assert self._process.stdin is not None
        with contextlib.suppress(OSError, ValueError):  # it is gone: the listener will notice
            while (content := self._outbox.get()) is not None:
                self._process.stdin.write(content)
                self._process.stdin.flush()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        with contextlib.suppress(EOFError, OSError, ValueError):
            while True:
                self._inbox.put(messages.read(self._process.stdout))
        self._inbox.put(None)

    def send(self, message: Any) -> None:
        """Send a message, without waiting until it is read."""
        self._outbox.put(messages.packed(message))

    def receive(self, seconds: float) -> Any:
        """Return the next message; None if none came within `seconds`.

        Raises
        ------
        EOFError
            If the process is gone.
        """
        try:
            content = self._inbox.get(timeout=seconds)
        except queue.Empty:
            return None
        if content is None or self._killed:
            self._inbox.put(None)  # it stays gone
            raise EOFError
        return pickle.loads(content)

    @property
    def alive(self) -> bool:
        """Whether the process is still there."""
        return self._process.poll() is None

    @property
    def memory(self) -> int:
        """Bytes that it holds for itself alone."""
        try:
            info = psutil.Process(self._process.pid).memory_info()
        except psutil.Error:  # gone
            return 0
        return cast(int, info.rss - getattr(info, "shared", 0))

    def kill(self) -> None:
        """End it at once, whatever it does; frozen processes too.

        What it has said, and nobody has heard yet, is dropped.
        """
        self._killed = True
        self._process.kill()
        self._process.wait()
        self._outbox.put(None)
        with self._closing:  # several threads may want its end
            for stream in (self._process.stdin, self._process.stdout, self._printed):
                assert stream is not None
                with contextlib.suppress(OSError):
                    stream.close()

    def how_it_ended(self) -> tuple[str, str]:
        """Return how it ended, such as "signal SIGKILL", and the last output it printed."""
        try:
            code = self._process.wait(LONGEST_END)
        except subprocess.TimeoutExpired:  # it closed its line and hangs all the same
            self._process.kill()
            code = self._process.wait()
        how = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
        try:
            self._printed.seek(0)
            printed = self._printed.read()
        except ValueError:  # closed by `kill`, in another thread
            printed = b""
        return how, printed.decode(errors="replace").strip()[-TAIL:]


def _import_path() -> str:
    """Return where modules come from in this process, so that they are the same in another."""
    return os.pathsep.join(place or os.getcwd() for place in sys.path)  # noqa: PTH109
