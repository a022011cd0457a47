"""The options that say what the frames are and where each was focused."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
from cyclopts import Group, Parameter

from varfocus.cli.console import Narrator
from varfocus.errors import ParameterError
from varfocus.io import read_stack
from varfocus.io.positions import read_positions
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
    stack = read_stack(source[0] if len(source) == 1 else list(source), reverse=focus.reverse)
    stack = _with_positions(stack, focus)
    first = stack.frames[0]
    narrator.say(f"{len(stack)} frames, {describe(first)}, in this order:")
    narrator.say("  " + ", ".join(shortened(stack.names)))
    if stack.focus is None:
        narrator.say("No focus distances known: depth is in frames, counted from 0.")
    else:
        narrator.say(f"Focus from {stack.focus[0]:g} to {stack.focus[-1]:g} {stack.unit}.")
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
        distances = read_positions(focus.focus_distances).values
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
