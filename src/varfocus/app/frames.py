"""Frames as the page knows them: numbered, named by the user, and marked where one is of no use."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from varfocus.stack import Frame, SamePixels, describe


@dataclass(frozen=True)
class NamedFrame(SamePixels):
    """A frame under the name that the user gave its file, not that of its copy here.

    Parameters
    ----------
    frame : Frame
        The frame.
    called : str
        What people call it.
    """

    frame: Frame
    called: str

    @property
    def name(self) -> str:
        """What people call it."""
        return self.called


@dataclass(frozen=True)
class PageFrame:
    """A frame as the page knows it.

    Attributes
    ----------
    id : int
        Its number, which never changes and no other frame ever has.
    name : str
        What people call it.
    frame : Frame or None
        Properties and pixels; None if the file cannot be read.
    path : Path or None
        The file it came from, if that was the user's own.
    focus : float or None
        Its focus position.
    included : bool
        Whether it is used.
    problem : str
        Why it is of no use; empty if it is.
    stored : Path or None
        The file that has it, the user's own or a copy.
    page : int
        Which frame of that file.
    """

    id: int
    name: str
    frame: Frame | None
    path: Path | None
    focus: float | None
    included: bool = True
    problem: str = ""
    stored: Path | None = None
    page: int = 0


def usable(frames: Sequence[PageFrame]) -> list[tuple[PageFrame, Frame]]:
    """Return the frames that can take part, each with its pixels."""
    return [(f, f.frame) for f in frames if f.frame is not None and not f.problem]


def marked(frames: Sequence[PageFrame]) -> list[PageFrame]:
    """Mark the frames that are unlike the others, by what most of them are.

    Parameters
    ----------
    frames : sequence of PageFrame
        In any order; those with a problem of their own keep it.

    Returns
    -------
    list of PageFrame
        The same frames, some with a `problem`.
    """
    readable = [f.frame for f in frames if f.frame is not None]
    if not readable:
        return list(frames)
    ((most, _),) = Counter(describe(frame) for frame in readable).most_common(1)
    return [
        f
        if f.frame is None
        else replace(f, problem="")
        if describe(f.frame) == most
        else replace(
            f, problem=f"{f.name} is {describe(f.frame)}, but the others are {most}: left out"
        )
        for f in frames
    ]
