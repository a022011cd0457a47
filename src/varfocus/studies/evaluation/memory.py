"""Peak memory of a method, measured in a process of its own.

Within one process the peak of an earlier run, and memory that was freed but kept for reuse, would
hide what a run needs. The peak is Linux's VmHWM beyond what was resident with the frames loaded.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from varfocus.pipeline import run
from varfocus.stack import FocusStack
from varfocus.studies.comparison import named

STATUS = Path("/proc/self/status")
FORGET_PEAK = Path("/proc/self/clear_refs")
TINY = 40


class Scales:
    """Measures each method once for every size of stack."""

    def __init__(self) -> None:
        self._known: dict[tuple[object, ...], float | None] = {}

    def weigh(self, stack: FocusStack, method: str) -> float | None:
        """Return the peak in bytes beyond the frames; None where it cannot be measured.

        Parameters
        ----------
        stack : FocusStack
            Frames.
        method : str
            Method, with its default parameters.
        """
        key = (method, len(stack), stack.shape, stack.channels, str(stack.dtype))
        if key not in self._known:
            self._known[key] = _weigh(stack, method)
        return self._known[key]


def _weigh(stack: FocusStack, method: str) -> float | None:
    if not FORGET_PEAK.exists():
        return None  # not Linux
    with tempfile.TemporaryDirectory() as folder:
        frames = Path(folder) / "frames.npy"
        np.save(frames, np.stack(list(stack)))
        command = [sys.executable, "-m", __name__, str(frames), method]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    return float(done.stdout) if done.returncode == 0 else None


def main(frames: str, method: str) -> None:
    """Print the peak memory of a method on saved frames."""
    array, params = np.load(frames), named(method, align="none")
    stack = FocusStack.from_array(array)
    # Imports and threads are not the method's memory: a tiny run first.
    run(FocusStack.from_array(array[:, :TINY, :TINY]), params)
    FORGET_PEAK.write_text("5")
    before = _status("VmRSS")
    run(stack, params)
    sys.stdout.write(str(_status("VmHWM") - before))


def _status(field: str) -> int:
    return 1024 * int(STATUS.read_text().split(field + ":")[1].split()[0])


if __name__ == "__main__":
    main(*sys.argv[1:])
