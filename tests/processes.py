"""Commands that run while a test looks on: started, waited for by a sign, and ended in any case."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

Found = TypeVar("Found")

PATIENCE = 240.0
"""Seconds after which a test that waits gives up; the machine may be busy."""


def wait_until(
    what: Callable[[], Found],
    reason: str,
    process: subprocess.Popen | None = None,
    seconds: float = PATIENCE,
) -> Found:
    """Return the first answer of `what` that is true; fail if none comes, or the process ends."""
    end = time.monotonic() + seconds
    while not (found := what()):
        if process is not None and process.poll() is not None:
            raise AssertionError(f"no {reason}: {process.communicate()[0]}")
        assert time.monotonic() < end, f"no {reason} within {seconds:.0f} s"
        time.sleep(0.02)
    return found


@contextmanager
def running(*arguments, cwd=None, **streams) -> Iterator[subprocess.Popen]:
    """Run ``varfocus`` with these arguments while the block looks on; all it says is its stdout."""
    command = [sys.executable, "-m", "varfocus", *map(str, arguments)]
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT} | streams
    with subprocess.Popen(command, encoding="utf-8", cwd=cwd, **streams) as process:
        try:
            yield process
        finally:
            process.kill()


STARTED = (
    "import sys, pathlib; from varfocus.app import server; from varfocus.cli import main; "
    "folder = pathlib.Path(sys.argv[1]); server.static_folder = lambda: folder; "
    "sys.exit(main(sys.argv[2:]))"
)
"""``varfocus`` with a page that need not be built."""


@contextmanager
def page_served(*source, static: Path | None = None) -> Iterator[str]:
    """Run ``varfocus app`` and give its address; Ctrl-C must end it, also while a page is open."""
    start = ["-m", "varfocus"] if static is None else ["-c", STARTED, str(static)]
    command = [sys.executable, *start, "app", "--no-browser", *map(str, source)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        try:
            assert process.stdout is not None
            address = process.stdout.readline().strip()  # told once it listens
            assert address, "the page did not start"
            yield address
            process.send_signal(signal.SIGINT)
            assert process.wait(60) in (0, 130)
        finally:
            process.kill()  # or a failure would wait for it for ever
