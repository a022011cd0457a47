"""Choose one focus stack from a file that holds channels, times or whole series of them.

Microscopes store all of these in one file. Taken for focus steps, channels would give a depth map
that looks plausible and means nothing; so the user must choose one of several.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from varfocus.errors import AmbiguousInputError, ParameterError
from varfocus.io.border import RefusedError, too_many
from varfocus.io.limits import in_force
from varfocus.text import harmless, shown

LONGEST_NAME = 100
"""Letters of the name of a channel or series."""

FEWEST = 3
"""Focus steps that make a stack."""


@dataclass(frozen=True)
class Selection:
    """Which stack of a file is meant.

    Parameters
    ----------
    channel : str or int, optional
        Name or 0-based number.
    time : int, optional
        0-based number of the time point.
    series : str or int, optional
        Name or 0-based number of the image, position or scene.
    """

    channel: str | int | None = None
    time: str | int | None = None
    series: str | int | None = None


UNSAID = Selection()
"""The only stack there is."""


@dataclass(frozen=True)
class Series:
    """The axes of one image in a file.

    Parameters
    ----------
    name : str
        What the file calls it.
    steps, times : int
        How many focus steps and time points it has.
    channels : tuple of str
        Names; empty for one without a name.

    Raises
    ------
    RefusedError
        If these are more than a stack may have.
    """

    name: str
    steps: int
    times: int = 1
    channels: tuple[str, ...] = ("",)

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", plain_name(self.name))
        object.__setattr__(self, "channels", tuple(map(plain_name, self.channels)))
        for n, what in ((self.steps, "slices"), (self.times, "times")):
            if n > in_force().max_frames:
                raise too_many(f"has {n} {what}", in_force().max_frames)

    @property
    def frames(self) -> int:
        """Frames of a stack in it: over focus, or over time where focus has no axis."""
        return self.steps if self.steps > 1 else self.times

    def __str__(self) -> str:
        axes = ((self.steps, "slices"), (self.times, "times"), (len(self.channels), "channels"))
        sizes = [f"{n} {what}" for n, what in axes if n > 1]
        return ", ".join(sizes) or "1 image"


def plain_name(text: str) -> str:
    """Return a name as a file gives it, printable and not too long: its author is anybody."""
    text = harmless(str(text).strip())
    return text if len(text) <= LONGEST_NAME else text[: LONGEST_NAME - 1] + "…"


def nameless(channels: int) -> tuple[str, ...]:
    """Return names for so many channels without names, if a file can have so many."""
    if channels > in_force().max_frames:
        raise too_many(f"has {channels} channels", in_force().max_frames)
    return ("",) * channels


@dataclass(frozen=True)
class Choice:
    """One stack.

    Parameters
    ----------
    series, channel : int
        0-based numbers.
    planes : tuple of (int, int)
        Focus step and time of each frame.
    """

    series: int
    channel: int
    planes: tuple[tuple[int, int], ...]

    @property
    def over_focus(self) -> bool:
        """Whether the frames run over the axis of focus, and not over time."""
        return self.planes[-1][0] > 0


def choose(series: Sequence[Series], wanted: Selection) -> Choice:
    """Return the stack that is meant, or refuse the file because that is not clear.

    Parameters
    ----------
    series : sequence of Series
        What the file holds; at least one.
    wanted : Selection
        What the user chose.

    Raises
    ------
    RefusedError
        With the alternatives, and how to name one.
    """
    stacks = [k for k, one in enumerate(series) if one.frames >= FEWEST]
    if wanted.series is None and len(series) > 1 and len(stacks) == 1:
        number = stacks[0]
    else:
        names = [f"{one.name} ({one})" for one in series]
        number = _one_of("series", [one.name for one in series], wanted.series, names)
    chosen = series[number]
    channel = _one_of("channel", chosen.channels, wanted.channel, chosen.channels)
    if chosen.steps > 1:
        times = [""] * chosen.times
        time = _one_of("time", times, wanted.time, times)
        planes = tuple((z, time) for z in range(chosen.steps))
    else:
        if wanted.time is not None:
            _one_of("time", [""], wanted.time, [""])
        planes = tuple((0, t) for t in range(chosen.times))
    return Choice(number, channel, planes)


def _one_of(
    what: str, names: Sequence[str], wanted: str | int | None, described: Sequence[str]
) -> int:
    n = len(names)
    plural = {"series": "series", "channel": "channels", "time": "times"}[what]
    listed = ", ".join(f"{k} {name}".strip() for k, name in enumerate(described[:12]))
    if n > 12:
        listed += ", …"
    if wanted is None:
        if n == 1:
            return 0
        raise RefusedError(
            AmbiguousInputError,
            f"holds {n} {plural}: {listed}",
            f"expected a choice: which {what} is the focus stack",
            f"Choose with --{what}, for example --{what} 0.",
        )
    text = plain_name(wanted) if isinstance(wanted, str) else shown(wanted)
    matches = [k for k, name in enumerate(names) if name and name.lower() == text.lower()]
    if len(matches) == 1:
        return matches[0]
    if text.isdecimal() and len(text) < 10 and int(text) < n:
        return int(text)
    held = f"{n} {plural if n != 1 else what}: {listed}"
    raise RefusedError(
        ParameterError,
        f"received the {what} {shown(text)}, but it holds {held}",
        "expected one of these, by number or by name",
        "varfocus counts from 0.",
    )
