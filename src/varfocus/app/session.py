"""What is known of one stack, as the page works on it: frames, what describes them, and results.

It lies in a folder of `varfocus.app.sessions` and is written there as a record of plain data,
frames by reference.
"""

from __future__ import annotations

import itertools
import re
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from varfocus.app.frames import PageFrame, usable
from varfocus.app.sessions import RECORD, write_private
from varfocus.io.calibration import Focus, numbers_of, words_of
from varfocus.io.mask import Outline
from varfocus.job import Job, to_command
from varfocus.params import Params
from varfocus.stack import FRAMES, FocusStack, Frame
from varfocus.units import PixelSize

FEWEST = 3
"""Frames that make a stack."""

Near = Literal["small", "large"]
"""Which depths are near."""


@dataclass
class Session:
    """One stack and the work on it.

    Attributes
    ----------
    folder : Path
        Where it is kept, with copies of uploaded frames, and its results.
    name : str
        What the user calls it; empty if nothing.
    frames : list of PageFrame
        In order of focus.
    unit : str
        Of the focus positions.
    inverted : bool
        Depths are heights.
    pixel : PixelSize or None
        Size of a pixel in the scene.
    source : sequence of str
        What the user called the frames on the command line.
    focus : Focus or None
        Options given for them there; None if no option describes them.
    recipe : str
        Command that makes the frames in the folder that `source` names, if it is not there.
    opened : list of int
        Numbers of the frames as they were opened.
    given : dict or None
        All words of the command line that opened them.
    outlines : list of Outline
        Drawn around what counts.
    mask, base_mask : Path or None
        Picture of what counts, and the one that the outlines were drawn over.
    near : {"small", "large"} or None
        Which depths are near, if the user has said.
    choices : dict or None
        What the page remembers of what the user chose.
    measurements : dict or None
        What was measured last.
    results : dict of int to dict
        What the page is told of each result, by version.
    saved : dict of int to Path
        Where results lie that were made elsewhere.
    """

    folder: Path
    name: str = ""
    frames: list[PageFrame] = field(default_factory=list)
    unit: str = FRAMES
    inverted: bool = False
    pixel: PixelSize | None = None
    source: Sequence[str] = ()
    focus: Focus | None = field(default_factory=Focus)
    recipe: str = ""
    opened: list[int] = field(default_factory=list)
    given: dict[str, Any] | None = None
    outlines: list[Outline] = field(default_factory=list)
    mask: Path | None = None
    base_mask: Path | None = None
    near: Near | None = None
    choices: dict[str, Any] | None = None
    measurements: dict[str, Any] | None = None
    results: dict[int, dict[str, Any]] = field(default_factory=dict)
    saved: dict[int, Path] = field(default_factory=dict)

    @property
    def empty(self) -> bool:
        """Whether there is nothing to keep."""
        return not self.frames and not self.results

    # Frames

    def included(self) -> list[tuple[PageFrame, Frame]]:
        """Return the frames that take part, with their pixels."""
        return [pair for pair in usable(self.frames) if pair[0].included]

    def stack(self) -> tuple[FocusStack, tuple[int, ...]]:
        """Return the frames that take part as a stack, and their numbers."""
        chosen = self.included()
        return self.stack_of(chosen), tuple(f.id for f, _ in chosen)

    def stack_of(self, chosen: Sequence[tuple[PageFrame, Frame]]) -> FocusStack:
        """Return some of the frames as a stack, with all that is known of them."""
        known = bool(chosen) and all(f.focus is not None for f, _ in chosen)
        return FocusStack(
            [frame for _, frame in chosen],
            np.array([f.focus for f, _ in chosen], np.float64) if known else None,
            self.unit if known else FRAMES,
            tuple(f.path for f, _ in chosen if f.path is not None),
            pixel_size=self.pixel,
            inverted=self.inverted,
        )

    @property
    def shape(self) -> tuple[int, int]:
        """Height and width of the frames; zeros if there are none."""
        height, width = next((frame.shape[:2] for _, frame in usable(self.frames)), (0, 0))
        return height, width

    def take_in(self, more: Sequence[PageFrame]) -> None:
        """Work on these frames, of which no command line knows."""
        self.frames = list(more)
        self.source, self.focus, self.recipe, self.given = (), Focus(), "", None
        self.opened = [frame.id for frame, _ in usable(self.frames)]

    # Words

    @property
    def title(self) -> str:
        """What to call it in front of people."""
        if self.name or self.recipe:
            return self.name or "example"
        if len(self.source) == 1:
            return "/".join(Path(self.source[0]).parts[-2:])
        names = [frame.name for frame in self.frames]
        return " … ".join(dict.fromkeys([names[0], names[-1]])) if names else "result"

    @property
    def file_title(self) -> str:
        """What it is called in the names of files."""
        return title_of(
            [self.name] if self.name else self.source, [frame.name for frame in self.frames]
        )

    def named(self, words: str) -> str:
        """Return words about files with the names that the user gave them."""
        for frame in self.frames:
            if frame.stored is not None and frame.path is None:
                words = words.replace(str(frame.stored), frame.name.partition("[")[0])
        return words

    def command(self, params: Params) -> str:
        """Return the command that does the same as the page; empty if there is none.

        Two, one per line, where the frames are simulated.
        """
        named = self._frames_on_command_line()
        if named is None:
            return ""
        source, focus = named
        command = to_command(Job(tuple(source), params, focus), "result")
        return "\n".join(filter(None, (self.recipe, command)))

    def _frames_on_command_line(self) -> tuple[Sequence[str], Focus] | None:
        """Return how a command names the frames, and the options that describe them.

        None if no command can: where positions are known, or one file holds all frames, only
        the whole stack can be named, in its order or, without steps counted from the first frame,
        reversed.
        """
        focus = self.focus
        if focus is None:
            return None
        included = [frame for frame, _ in self.included()]
        ids = [frame.id for frame in included]
        source = list(self.source)
        source = source if self.source else [f.name.partition("[")[0] for f in included]
        if ids == self.opened:
            return list(dict.fromkeys(source)), focus
        if ids == self.opened[::-1] and self.source and focus.z_step is None:
            return source, replace(focus, reverse=not focus.reverse)
        if ids == [i for i in self.opened if i in ids]:  # in their order, some left out
            gone = set() if focus.leave_out is None else numbers_of(focus.leave_out)
            numbers = (k for k in itertools.count() if k not in gone)
            gone |= {k for i, k in zip(self.opened, numbers, strict=False) if i not in ids}
            return list(dict.fromkeys(source)), replace(focus, leave_out=words_of(gone))
        files = [str(frame.path or frame.name) for frame in included]
        if self.recipe:
            files = [f"{source[0]}/{frame.name}" for frame in included]
        if any(frame.focus is not None for frame in included) or len(set(files)) < len(ids):
            return None
        return files, replace(focus, reverse=False, by_name=False)

    # On disk

    def keep(self) -> None:
        """Write the record, if there is something to keep."""
        if not self.empty:
            write_private(self.folder / RECORD, self.record())

    def record(self) -> dict[str, Any]:
        """Return all of it as plain data; frames by reference."""

        def placed(path: Path | None) -> str | None:
            if path is None:
                return None
            inside = path.is_relative_to(self.folder)
            return str(path.relative_to(self.folder) if inside else path.absolute())

        return {
            "title": self.title,
            "name": self.name,
            "changed": time.time(),
            "given": self.given,
            "frames": [
                {
                    "id": f.id,
                    "name": f.name,
                    "file": placed(f.stored),
                    "own": f.path is not None,
                    "page": f.page,
                    "focus": f.focus,
                    "included": f.included,
                    "problem": f.problem if f.frame is None else "",
                    "stamp": stamp_of(f.path),
                }
                for f in self.frames
            ],
            "unit": self.unit,
            "inverted": self.inverted,
            "pixel": None if self.pixel is None else asdict(self.pixel),
            "source": list(self.source),
            "options": None if self.focus is None else options_of(self.focus),
            "recipe": self.recipe,
            "opened": self.opened,
            "mask": placed(self.mask),
            "base_mask": placed(self.base_mask),
            "outlines": self.outlines,
            "near": self.near,
            "choices": self.choices,
            "results": [
                result | {"folder": placed(self.saved.get(version))}
                for version, result in self.results.items()
                if not result["preview"] and not result["deleted"]
            ],
        }

    def take_over(self, record: dict[str, Any]) -> None:
        """Know again what `record` says of the frames, but for these themselves and the results."""
        pixel = record["pixel"]
        self.unit, self.inverted = record["unit"], record["inverted"]
        self.pixel = None if pixel is None else PixelSize(**pixel)
        self.source, self.recipe = record["source"], record["recipe"]
        self.focus = focus_of(record["options"])
        self.opened, self.given = record["opened"], record["given"]
        self.near, self.choices = record["near"], record["choices"]
        self.name = record.get("name", "")
        self.mask, self.base_mask = (
            self.folder / file if file and (self.folder / file).is_file() else None
            for file in (record["mask"], record["base_mask"])
        )
        self.outlines = [
            (counts, [(x, y) for x, y in points]) for counts, points in record["outlines"]
        ]


def title_of(source: Sequence[str], names: Sequence[str]) -> str:
    """Return a word for a stack, for names of files: its folder, or what its frames begin with."""
    parts = [part for part in re.split(r"[/\\]", source[0]) if part] if source else []
    parts = [part for part in parts if "*" not in part and part != "frames"]
    if parts:
        word = Path(parts[-1]).stem
    else:
        alike = itertools.takewhile(lambda c: len(set(c)) == 1, zip(*names, strict=False))
        word = "".join(letters[0] for letters in alike).partition(".")[0]
        word = word.rstrip("0123456789") if len(names) > 1 else word
    return re.sub(r"[^\w.-]+", "-", word).strip("-._")[:60] or "varfocus"


def options_of(focus: Focus) -> dict[str, Any]:
    """Return the options of the command line that describe frames, as plain data."""
    names = {option.name for option in fields(Focus)} - {"limits"}
    said = {name: value for name, value in focus.asked().items() if name in names}
    return {name: str(v.absolute()) if isinstance(v, Path) else v for name, v in said.items()}


def focus_of(options: dict[str, Any] | None) -> Focus | None:
    """Return what `options_of` made plain."""
    if options is None:
        return None
    files = ("focus_distances", "dark", "flat")
    said: dict[str, Any] = {k: Path(v) if k in files else v for k, v in options.items()}
    return Focus(**said)


def stamp_of(path: Path | None) -> list[int] | None:
    """Return size and time of a file, which show whether it is still the same."""
    try:
        return None if path is None else [path.stat().st_size, path.stat().st_mtime_ns]
    except OSError:
        return None


def names_in(folder: Path) -> list[str]:
    """Return the names of the files of a result."""
    return sorted(path.name for path in folder.iterdir() if path.is_file())
