"""How commands talk: results to stdout, narration and progress to stderr."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated, Any

from cyclopts import Group, Parameter
from rich.console import Console
from rich.markup import escape
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.progress import Progress as Bars

from varfocus.progress import Progress, silent
from varfocus.text import as_json, harmless

NAME_WIDTH = 32
"""Letters of a job's name beside its bar."""


@dataclass(frozen=True)
class Talk:
    """How much a command says.

    Parameters
    ----------
    quiet
        Say nothing but results and errors.
    json
        Print the result as one JSON document.
    """

    quiet: Annotated[bool, Parameter(name=["--quiet", "-q"])] = False
    json: bool = False


TalkOptions = Annotated[Talk, Parameter(name="*", negative=(), group=Group("Talk", sort_key=9))]
"""`Talk` as flags of a command."""


class Narrator:
    """Prints the messages of one command.

    Parameters
    ----------
    talk : Talk
        What the user asked for.
    """

    def __init__(self, talk: Talk) -> None:
        self._talk = talk
        self._console = Console(stderr=True, highlight=False, soft_wrap=True)

    def say(self, text: str) -> None:
        """Tell the user what is going on."""
        if not self._talk.quiet:
            self._console.print(escape(harmless(text, lines=True)))

    def warn(self, text: str) -> None:
        """Tell the user what is doubtful; said even when quiet."""
        self._console.print(f"[yellow]warning:[/yellow] {escape(harmless(text, lines=True))}")

    def fail(self, text: str) -> None:
        """Tell the user what went wrong with a part of the work; said even when quiet."""
        self._console.print(f"[red]failed:[/red] {escape(harmless(text, lines=True))}")

    def result(self, text: str, data: dict[str, Any]) -> None:
        """Print the outcome for people, or for programs with ``--json``."""
        if self._talk.json:
            sys.stdout.write(as_json(data) + "\n")
        elif not self._talk.quiet:
            sys.stdout.write(harmless(text.rstrip("\n"), lines=True) + "\n")

    @contextmanager
    def bars(self) -> Iterator[Progress]:
        """Show a bar per stage while the block runs; nothing off a terminal."""
        if self._talk.quiet or not self._console.is_terminal:
            yield silent
            return
        with Bars(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(elapsed_when_finished=True),
            console=self._console,
        ) as bars:
            tasks: dict[str, Any] = {}

            def show(stage: str, done: int, total: int) -> None:
                if stage not in tasks:
                    tasks[stage] = bars.add_task(f"{stage:<12}", total=total)
                bars.update(tasks[stage], completed=done, total=total)

            yield show

    @contextmanager
    def board(self, total: int | None) -> Iterator[Board]:
        """Show a bar for all of many jobs and one for each under way; nothing off a terminal."""
        live = not self._talk.quiet and self._console.is_terminal
        with Bars(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.fields[about]}"),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            console=self._console,
            disable=not live,
        ) as bars:
            yield Board(bars, total, live, self._console.height)


class Board:
    """Bars of many jobs: one for all of them, one for each under way.

    Parameters
    ----------
    bars : rich.progress.Progress
        Draws them.
    total : int or None
        How many jobs there are, if that is known.
    live : bool
        Whether anybody sees them.
    height : int
        Lines of the terminal.
    """

    def __init__(self, bars: Bars, total: int | None, live: bool, height: int) -> None:
        self._bars, self._total, self.live = bars, total, live
        self._most = max(1, height - 4)
        self._all = bars.add_task("all stacks", total=total, about="")
        self._each: dict[str, Any] = {}
        self.count(0, 0)

    def count(self, done: int, failed: int) -> None:
        """Show how many jobs have finished."""
        about = f"{done}" + (f"/{self._total}" if self._total else "")
        about += f", {failed} failed" if failed else ""
        self._bars.update(self._all, completed=done, about=about)

    def step(self, name: str, stage: str, done: int, total: int) -> None:
        """Show how far a job is."""
        if name not in self._each:
            if len(self._each) >= self._most:
                return  # more than the terminal has lines
            shown = name if len(name) <= NAME_WIDTH else "…" + name[1 - NAME_WIDTH :]
            self._each[name] = self._bars.add_task(escape(harmless(shown)), total=None, about=stage)
        self._bars.update(self._each[name], completed=done, total=total, about=stage)

    def remove(self, name: str) -> None:
        """Take away the bar of a job."""
        if name in self._each:
            self._bars.remove_task(self._each.pop(name))


def table(rows: Sequence[tuple[str, ...]]) -> str:
    """Return rows as aligned plain text; names in them may break no line."""
    rows = [tuple(map(harmless, row)) for row in rows]
    widths = [max(len(row[c]) for row in rows) for c in range(len(rows[0]))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    )


def program() -> str:
    """Return what to type to call varfocus again: its name, or its path where it is not found."""
    if shutil.which("varfocus"):
        return "varfocus"
    called = sys.argv[0]
    return f"{sys.executable} -m varfocus" if called.endswith("__main__.py") else called
