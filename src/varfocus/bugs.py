"""What nobody foresaw: at the public entries every exception becomes one of `varfocus.errors`."""

from __future__ import annotations

import errno
import functools
import inspect
import os
import platform
import sys
import sysconfig
import tempfile
import traceback
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import ParamSpec, TypeVar

from varfocus.errors import InputError, InternalError, ParameterError, TooLargeError, VarfocusError
from varfocus.text import shown

P = ParamSpec("P")
R = TypeVar("R")

LIMITS = {
    errno.EMFILE: "Allow more open files (ulimit -n), or fewer at a time: one multi-page file.",
    errno.ENFILE: "Close other programs: the system has too many open files.",
    errno.EFBIG: "Allow larger files (ulimit -f), or choose another disk.",
    errno.ENOSPC: "Free some space, or choose a folder on a larger disk.",
    errno.EDQUOT: "Free some space: your quota is used up.",
    errno.EAGAIN: "Allow more processes and threads (ulimit -u), or use fewer: --threads 1.",
    errno.ENOMEM: "Use smaller or fewer frames, or close other programs.",
}
"""What the system may refuse for lack of something, and what to do then."""
_INSTALLED = (
    str(Path(__file__).parent),
    *(sysconfig.get_path(kind) for kind in ("stdlib", "platstdlib", "purelib", "platlib")),
)
"""Where our code lies, and that of libraries."""


def ours(error: BaseException) -> VarfocusError:
    """Return the error of ours that an exception amounts to.

    Parameters
    ----------
    error : Exception
        Anything; an error of ours is returned as it is.

    Returns
    -------
    VarfocusError
        `TooLargeError` where memory or a limit of the system was used up; otherwise
        `InternalError`, with the trace in a file that it names.
    """
    if isinstance(error, VarfocusError):
        return error
    if isinstance(error, MemoryError) or "nsufficient memory" in str(error)[:200]:
        return TooLargeError(
            f"ran out of memory: {shown(str(error))[1:-1]}",
            "expected a job that fits",
            "Use smaller or fewer frames, or close other programs.",
        )
    code = error.errno if isinstance(error, OSError) else None
    if isinstance(error, RuntimeError) and "start new thread" in str(error):
        code = errno.EAGAIN
    if code in LIMITS:
        return TooLargeError(
            f"the system refused: {shown(os.strerror(code))[1:-1]}",
            "expected limits that leave room for the work",
            LIMITS[code],
        )
    if code is not None and isinstance(error, OSError):
        where = f"{error.filename}: " if isinstance(error.filename, str) else ""
        return InputError(
            f"{where[:300]}the system refused: {error.strerror}",
            "expected a path that can be used",
            "Check the name, its permissions, and the device it is on.",
        )
    return InternalError(error, _written(error))


def guarded(function: Callable[P, R]) -> Callable[P, R]:
    """Let nothing leave a function of the public interface that is not in `varfocus.errors`.

    What the caller's own code raises (a listener that cancels, a focus measure, a frame) passes.
    """

    @functools.wraps(function)
    def inside(*arguments: P.args, **keywords: P.kwargs) -> R:
        try:
            return function(*arguments, **keywords)
        except (VarfocusError, Warning):  # warnings, where the caller wants them as errors
            raise
        except Exception as error:
            if isinstance(error, TypeError) and _misfitting(error.__traceback__):
                names = ", ".join(inspect.signature(function).parameters)
                raise ParameterError(
                    str(error)[:300], f"expected arguments of {function.__name__}({names})"
                ) from None
            if error.__traceback__ is None or _foreign(error.__traceback__.tb_next):
                raise
            raise ours(error) from error

    return inside


def _misfitting(trace: TracebackType | None) -> bool:
    """Tell whether a call failed because its arguments are not those of the function."""
    return trace is not None and trace.tb_next is None


def _foreign(trace: TracebackType | None) -> bool:
    """Tell whether an exception came out of code that is neither ours nor a library's."""
    while trace is not None:
        module = trace.tb_frame.f_globals
        place = str(module.get("__file__", ""))
        if module.get("__name__") == "__main__" or (place and not place.startswith(_INSTALLED)):
            return True
        trace = trace.tb_next
    return False


def _written(error: BaseException) -> str:
    """Write the trace of a bug where only its user can read it, and return the path."""
    from varfocus import __version__

    lines = [
        f"varfocus {__version__}, Python {sys.version}",
        f"{platform.platform()}, {platform.machine()}",
        "",
        *traceback.format_exception(error),
    ]
    try:
        handle, path = tempfile.mkstemp(prefix="varfocus-bug-", suffix=".txt")
        with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write("\n".join(lines))
    except OSError:
        return ""
    return path
