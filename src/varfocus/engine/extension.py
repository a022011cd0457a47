"""The compiled module: whether it is there, which instruction set it uses, what it refuses."""

from __future__ import annotations

import functools
import importlib
import os
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
        _obey_environment()
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


@functools.cache
def _obey_environment() -> None:
    """Use the instruction set that ``VARFOCUS_ISA`` names, before the first kernel runs."""
    wish = os.environ.get("VARFOCUS_ISA")
    if wish and _compiled is not None:
        _use("VARFOCUS_ISA = ", wish)


def _use(what: str, name: str) -> None:
    """Switch to an instruction set, or say what was received and which there are."""
    assert _compiled is not None
    try:
        _compiled.use_instruction_set(name)
    except ValueError:
        compiled, here = _compiled.compiled_instruction_sets(), instruction_sets()
        raise ParameterError(
            f"received {what}{name!r}"
            + (", which this machine does not have" if name in compiled else ""),
            f"expected one of {', '.join(here)}",
        ) from None


def instruction_sets() -> tuple[str, ...]:
    """Return the instruction sets that this machine can use, from narrow to wide.

    ``"baseline"`` is what every machine of its kind has (SSE2 or NEON, 4 floats at a time),
    ``"avx2"`` has 8, ``"avx512"`` 16. Results are the same bits with each.
    """
    return () if _compiled is None else tuple(_compiled.instruction_sets())


def instruction_set() -> str:
    """Return the instruction set in use: the widest, or what ``VARFOCUS_ISA`` names; "" if none.

    Raises
    ------
    ParameterError
        If ``VARFOCUS_ISA`` names one that is unknown or that this machine does not have.
    """
    if _compiled is None:
        return ""
    _obey_environment()
    return str(_compiled.instruction_set())


@contextmanager
def use_instruction_set(name: str) -> Iterator[None]:
    """Let the kernels inside use another instruction set, in all threads: to test and compare."""
    before = instruction_set()
    _use("instruction set ", name)
    try:
        yield
    finally:
        _use("instruction set ", before)


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

LARGEST_FACTOR = _shared("LARGEST_FACTOR", without=1)
"""Largest prime factor of a width that the kernels have a cosine transform for."""

LABEL_PADDING = _shared("LABEL_PADDING", without=1)
"""Volumes have room for a multiple of this many labels."""

NO_LABEL = 1e30 if _compiled is None else float(_compiled.NO_LABEL)
"""What labels cost that only pad a volume."""

WINDOW = _shared("WINDOW", without=1)
"""Samples of a curve that the refinement sees."""

COMPACT_LOWEST = _shared("COMPACT_LOWEST", without=0)
"""Bits of the smallest contrast, as float32, that 16-bit contrast tells from none."""
