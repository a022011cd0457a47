"""The compiled module: whether it is there, what it refuses, and the numbers it shares."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from varfocus.errors import ParameterError

_compiled: ModuleType | None = None
reason = ""
"""Why there is no extension, for a message; empty if there is one."""
try:
    _compiled = importlib.import_module("varfocus.engine._kernels")
except ImportError as error:  # built without a compiler, or for another Python
    reason = f"varfocus was installed without its native engine ({error})"

available = _compiled is not None
"""Whether the extension was built."""

_switched_off: ContextVar[bool] = ContextVar("switched_off", default=False)


@contextmanager
def switched_off() -> Iterator[None]:
    """Use the array code inside, as if the extension were missing: to compare the two."""
    token = _switched_off.set(True)
    try:
        yield
    finally:
        _switched_off.reset(token)


def in_use() -> bool:
    """Tell whether the kernels are there and not `switched_off`."""
    return available and not _switched_off.get()


def accepts(*arrays: Any) -> bool:
    """Tell whether the kernels can work on these arrays: NumPy, float32, and not empty."""
    return in_use() and all(
        isinstance(array, np.ndarray) and array.dtype == np.float32 and array.size > 0
        for array in arrays
    )


def described(value: Any) -> str:
    """Return what a message says of an argument: a number itself, of an array all but its numbers.

    >>> described(np.zeros((4, 5), np.float32).T)
    'float32 of shape (5, 4), not contiguous'
    """
    if not isinstance(value, np.ndarray):
        return repr(value) if isinstance(value, bool | int | float) else type(value).__name__
    text = f"{value.dtype} of shape {value.shape}"
    text += "" if value.flags.c_contiguous else ", not contiguous"
    return text + ("" if value.flags.writeable else ", read-only")


def _refusing(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """Return the kernel with its refusals as `ParameterError`: received and expected."""

    @functools.wraps(kernel)
    def call(*arguments: Any, **named: Any) -> Any:
        try:
            return kernel(*arguments, **named)
        except ValueError as error:  # a size or a number: bind.hpp says both
            received, _, expected = str(error).partition("; expected ")
            raise ParameterError(received, f"expected {expected}") from None
        except TypeError:  # nanobind: another dtype, rank, memory order, or not writeable
            words = [described(argument) for argument in arguments]
            words += [f"{name}={described(argument)}" for name, argument in named.items()]
            given = "; ".join(words)
            raise ParameterError(
                f"received {kernel.__name__}({given})",
                f"expected {kernel.__doc__}, order='C' meaning contiguous and arrays writeable "
                "unless writable=False",
            ) from None

    return call


def _with_our_errors(compiled: ModuleType) -> ModuleType:
    """Return the module with every kernel `_refusing`; the only place where that is done."""
    module = ModuleType("varfocus.engine.kernels", compiled.__doc__)
    for name, value in vars(compiled).items():
        kernel = callable(value) and not name.startswith("_")
        setattr(module, name, _refusing(value) if kernel else value)
    return module


if TYPE_CHECKING:
    from varfocus.engine import _kernels

    kernels = _kernels
else:
    kernels = _with_our_errors(_compiled) if available else None


def _shared(name: str, without: int) -> int:
    """Return a number of the kernels, or what holds where there are none."""
    return without if _compiled is None else int(getattr(_compiled, name))


WIDEST_WINDOW = _shared("WIDEST_WINDOW", without=0)
"""Largest window side in pixels that the kernels accept."""

MOST_THREADS = _shared("MOST_THREADS", without=1024)
"""Largest number of threads that the kernels accept."""

BATCH = _shared("BATCH", without=1)
"""Contrast images put by before the coefficients are brought up to date: 16 bytes per pixel for
8-bit frames instead of reading and writing 72 bytes per pixel for every frame."""

LABEL_PADDING = _shared("LABEL_PADDING", without=1)
"""Volumes have room for a multiple of this many labels."""

WINDOW = _shared("WINDOW", without=1)
"""Samples of a curve that the refinement sees."""

COMPACT_LOWEST = _shared("COMPACT_LOWEST", without=0)
"""Bits of the smallest contrast, as float32, that 16-bit contrast tells from none."""
