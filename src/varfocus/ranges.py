"""What a parameter may be: read from its annotation, checked in one place for every way in.

A field of a class derived from `Checked` says by its type what it takes; a number says by a `Range`
in what bounds, and they are such that the arithmetic behind can take every value within. The
command line, the page, manifests, run.json and Python all make these classes, so none of them
checks anything itself.
"""

from __future__ import annotations

import functools
import math
import numbers
import os
import types
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np

from varfocus.errors import ParameterError
from varfocus.text import shown

LONGEST_PATH = 4096
"""Letters of a path, as on Linux; nothing else that is written as text is longer."""


@dataclass(frozen=True)
class Range:
    """Bounds of a number, both included.

    Parameters
    ----------
    low, high : float
        Smallest and largest value.
    zero : bool
        Whether 0 is allowed besides: for a weight, "not at all".
    odd : bool
        Whether only odd numbers are allowed: for the side of a window around a pixel.
    """

    low: float
    high: float
    zero: bool = False
    odd: bool = False

    def __contains__(self, value: Any) -> bool:
        inside = self.low <= value <= self.high or (self.zero and value == 0)
        return bool(inside) and not (self.odd and value % 2 == 0)

    def nearest(self, value: float) -> float:
        """Return the value within the bounds that is nearest, for one that was computed."""
        return value if value in self else min(max(value, self.low), self.high)

    def words(self, kind: str) -> str:
        """Return what is expected, in words; `kind` is "number" or "whole number"."""
        kind = f"an odd {kind}" if self.odd else f"a {kind}"
        bounds = " to ".join(
            f"{bound:,}".replace(",", " ") if isinstance(bound, int) else f"{bound:g}"
            for bound in (self.low, self.high)
        )
        return f"expected {'0, or ' if self.zero else ''}{kind} from {bounds}"


@dataclass(frozen=True)
class Text:
    """Bounds of a text that is a name and no path: printable, and not long.

    Parameters
    ----------
    longest : int
        Number of letters.
    """

    longest: int


def real(name: str, value: object, within: Range) -> float:
    """Return a real number as a float if it lies in a range, or raise `ParameterError`."""
    try:
        number = float(value) if isinstance(value, numbers.Real) else math.nan
    except OverflowError:  # an int beyond all floats
        number = math.nan
    if isinstance(value, bool) or number not in within:
        raise ParameterError(f"received {name} = {shown(value)}", within.words("number"))
    return number


def whole(name: str, value: object, within: Range) -> int:
    """Return a whole number as an int if it lies in a range, or raise `ParameterError`."""
    number = int(value) if isinstance(value, numbers.Integral) else None
    if isinstance(value, bool) or number is None or number not in within:
        raise ParameterError(f"received {name} = {shown(value)}", within.words("whole number"))
    return number


def path(name: str, value: object) -> Path:
    """Return a text or a path as a path, or raise `ParameterError`."""
    text = _text(name, value, None)
    if not text:  # Path("") is the working directory
        raise ParameterError(f"received {name} = ''", "expected the name of a file or folder")
    return Path(text)


def fspath(value: object) -> object:
    """Return the text of a path, or None for what is none, whatever its class promises."""
    try:
        return os.fspath(value)  # type: ignore[call-overload]
    except TypeError:
        return None


def one_of(name: str, value: object, allowed: tuple[str, ...]) -> str:
    """Return a word if it is among those allowed, or raise `ParameterError`."""
    if not isinstance(value, str) or value not in allowed:
        raise ParameterError(
            f"received {name} = {shown(value)}", "expected one of " + ", ".join(map(repr, allowed))
        )
    return allowed[allowed.index(value)]  # a plain word, where an Enum was given


class Checked:
    """Base of dataclasses whose fields are checked against their annotations, and made plain."""

    def __post_init__(self) -> None:
        kind: Any = type(self)  # which mypy does not take for hashable
        for name, hint in hints_of(kind).items():
            object.__setattr__(self, name, _checked(name, getattr(self, name), hint))


@functools.cache
def hints_of(kind: type[Any]) -> dict[str, Any]:
    """Return the type of every field of a dataclass, with its bounds."""
    hints = get_type_hints(kind, include_extras=True)
    return {field.name: hints[field.name] for field in fields(kind)}


def _checked(name: str, value: object, hint: Any) -> object:
    bounds: object = None
    if get_origin(hint) is Annotated:
        hint, bounds, *_ = get_args(hint)
    if get_origin(hint) in (Union, types.UnionType):
        if value is None and type(None) in get_args(hint):
            return None
        hint = next(part for part in get_args(hint) if part is not type(None))
    if get_origin(hint) is Literal:
        return one_of(name, value, get_args(hint))
    if hint is float and isinstance(bounds, Range):
        return real(name, value, bounds)
    if hint is int and isinstance(bounds, Range):
        return whole(name, value, bounds)
    if hint is bool:
        if isinstance(value, bool | np.bool_):
            return bool(value)
        raise ParameterError(f"received {name} = {shown(value)}", "expected True or False")
    if hint in (str, Path):
        return hint(_text(name, value, bounds))
    if isinstance(hint, type) and isinstance(value, hint):
        return value
    raise ParameterError(
        f"received {name} = {shown(value)}", f"expected {getattr(hint, '__name__', hint)}"
    )


def _text(name: str, value: object, bounds: object) -> str:
    if isinstance(value, os.PathLike) and not isinstance(bounds, Text):  # a path is as good
        value = fspath(value)
    longest = bounds.longest if isinstance(bounds, Text) else LONGEST_PATH
    good = isinstance(value, str) and len(value) <= longest and "\0" not in value
    if not good or (isinstance(bounds, Text) and not str(value).isprintable()):
        kind = "printable " if isinstance(bounds, Text) else ""
        raise ParameterError(
            f"received {name} = {shown(value)}",
            f"expected a {kind}text of at most {longest} letters",
        )
    return str.__str__(value)  # not the name of an Enum's member
