"""The options that say what the frames are and where each was focused."""

from __future__ import annotations

import csv
import math
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
from cyclopts import Group, Parameter

from varfocus.cli.console import Narrator
from varfocus.errors import FocusPositionsError, ParameterError
from varfocus.io import read_stack
from varfocus.stack import FocusStack, describe

SHOWN_NAMES = 12
"""How many names of frames are printed before the middle is left out."""


@dataclass(frozen=True)
class Focus:
    """Where the frames were focused.

    Parameters
    ----------
    reverse
        Take the frames in the opposite order.
    z_step
        Constant distance between frames with its unit, such as 2um; depth is then physical.
    focus_distances
        Text or CSV file with one focus distance per frame, in the order of the frames.
    unit
        Unit of the numbers in that file.
    """

    reverse: bool = False
    z_step: Annotated[str | None, Parameter(allow_leading_hyphen=True)] = None
    focus_distances: Path | None = None
    unit: str | None = None


Frames = Annotated[list[str], Parameter(name="FRAMES")]
"""Where the frames are, as positional arguments."""

FocusOptions = Annotated[Focus, Parameter(name="*", negative=(), group=Group("Focus", sort_key=1))]
"""`Focus` as flags of a command."""


def load(source: list[str], focus: Focus, narrator: Narrator) -> FocusStack:
    """Read the frames a user named, and say what was found and in which order.

    Parameters
    ----------
    source : list of str
        One folder, glob or multi-page file, or several files.
    focus : Focus
        Order and positions.
    narrator : Narrator
        Speaks.

    Returns
    -------
    FocusStack
        The frames, not yet decoded.
    """
    stack = _with_positions(load_plain(source, focus.reverse, narrator), focus)
    if stack.focus is None:
        narrator.say("No focus distances known: depth is in frames, counted from 0.")
    else:
        narrator.say(f"Focus from {stack.focus[0]:g} to {stack.focus[-1]:g} {stack.unit}.")
    return stack


def load_plain(source: list[str], reverse: bool, narrator: Narrator) -> FocusStack:
    """Read the frames without their positions, for what needs none; as `load`."""
    stack = read_stack(source[0] if len(source) == 1 else list(source), reverse=reverse)
    narrator.say(f"{len(stack)} frames, {describe(stack.frames[0])}, in this order:")
    narrator.say("  " + ", ".join(shortened(stack.names)))
    return stack


def shortened(names: tuple[str, ...]) -> list[str]:
    """Return the names, the middle left out if there are many."""
    if len(names) <= SHOWN_NAMES:
        return list(names)
    half = SHOWN_NAMES // 2
    return [*names[:half], f"… {len(names) - SHOWN_NAMES} more …", *names[-half:]]


def _with_positions(stack: FocusStack, focus: Focus) -> FocusStack:
    if focus.z_step is not None and focus.focus_distances is not None:
        raise ParameterError(
            "received both --z-step and --focus-distances", "expected only one of them"
        )
    if focus.z_step is not None:
        step, unit = _length(focus.z_step)
        return stack.with_focus(step * np.arange(len(stack)), unit)
    if focus.focus_distances is not None:
        distances = _numbers(focus.focus_distances)
        if focus.reverse:
            distances = distances[::-1]
        return stack.with_focus(distances, focus.unit)
    return stack.with_focus(None, focus.unit)


def _length(text: str) -> tuple[float, str]:
    match = re.fullmatch(r"\s*([-+]?[0-9.]+(?:[eE][-+]?[0-9]+)?)\s*([a-zA-Zµμ]+)\s*", text)
    try:
        value = float(match.group(1)) if match else 0.0
    except ValueError:
        value = 0.0
    if match is None or value == 0.0 or not math.isfinite(value):
        raise ParameterError(
            f"received --z-step {text!r}",
            "expected a number and its unit, such as 2um, 0.5mm or 1e-3m",
        )
    return value, {"µm": "um", "μm": "um"}.get(match.group(2), match.group(2))


def _numbers(path: Path) -> list[float]:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise FocusPositionsError(
            f"{path} cannot be read: {getattr(error, 'strerror', None) or 'it is not text'}",
            "expected a text file with one focus distance per frame",
        ) from error
    delimiter = next((mark for mark in ";\t" if mark in text), ",")
    reader = csv.reader(text.splitlines(), delimiter=delimiter)
    values: list[float] = []
    heading: list[str] | None = None
    for row in reader:
        if not any(cell.strip() for cell in row):
            continue
        value: float | None
        try:
            value = float(row[-1])
        except ValueError:
            value = None
        if value is None and heading is None and not values:
            heading = row
        elif value is None or len(row) != len(heading or [""]):
            raise FocusPositionsError(
                f"{path}, line {reader.line_num}: received {delimiter.join(row)!r}",
                "expected one number per line with a decimal point, or a heading line and the "
                "focus distance in the last column",
                "Write 0.5 rather than 0,5, and name the columns in the first line.",
            )
        else:
            values.append(value)
    return values
