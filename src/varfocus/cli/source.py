"""The options that say what the frames are and where each was focused."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Group, Parameter

from varfocus.cli.console import Narrator
from varfocus.io.calibration import Focus, open_stack
from varfocus.params import Limits
from varfocus.stack import FocusStack, describe

SHOWN_NAMES = 12
"""How many names of frames are printed before the middle is left out."""


Parameter(name="*", group=Group("Limits", sort_key=8))(Limits)  # flags of their own, not --limits.…

Frames = Annotated[list[str], Parameter(name="FRAMES")]
"""Where the frames are, as positional arguments."""

FocusOptions = Annotated[
    Focus,
    Parameter(
        name="*",
        negative=(),
        group=Group("Focus", sort_key=1),
        allow_leading_hyphen=True,  # --z-step -2um
    ),
]
"""`Focus` as flags of a command."""


def load(source: list[str], focus: Focus, narrator: Narrator) -> FocusStack:
    """Read the frames a user named, and say what was found and in which order.

    Parameters
    ----------
    source : list of str
        One folder, glob or file that holds a stack, or several files.
    focus : Focus
        Order and positions.
    narrator : Narrator
        Prints the messages.

    Returns
    -------
    FocusStack
        The frames, not yet decoded.
    """
    stack = open_stack(source, focus)
    first = stack.frames[0]
    narrator.say(f"{len(stack)} frames, {describe(first)}, in this order:")
    narrator.say("  " + ", ".join(shortened(stack.names)))
    if stack.focus is None:
        narrator.say("No focus distances known: depth is in frames, counted from 0.")
    else:
        narrator.say(
            f"Focus from {stack.focus[0]:g} to {stack.focus[-1]:g} {stack.unit} "
            f"({stack.focus_origin})."
        )
    if stack.inverted:
        narrator.say("Inverted: depth counts from the largest focus position to the smallest.")
    if stack.pixel_size is not None:
        narrator.say(f"Pixels of {stack.pixel_size} ({stack.pixel_size_origin}).")
    for hint in stack.hints:
        narrator.say(hint + ".")
    return stack


def shortened(names: tuple[str, ...]) -> list[str]:
    """Return the names, the middle left out if there are many."""
    if len(names) <= SHOWN_NAMES:
        return list(names)
    half = SHOWN_NAMES // 2
    return [*names[:half], f"… {len(names) - SHOWN_NAMES} more …", *names[-half:]]
