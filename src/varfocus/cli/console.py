"""How commands talk: results to stdout, narration and progress to stderr."""

from __future__ import annotations

import json as json_module
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated, Any

from cyclopts import Group, Parameter
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bars

from varfocus.progress import Progress, silent


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
    """Speaks for one command.

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
            self._console.print(escape(harmless(text)))

    def warn(self, text: str) -> None:
        """Tell the user what is doubtful; said even when quiet."""
        self._console.print(f"[yellow]warning:[/yellow] {escape(harmless(text))}")

    def result(self, text: str, data: dict[str, Any]) -> None:
        """Print the outcome for people, or for programs with ``--json``."""
        if self._talk.json:
            sys.stdout.write(json_module.dumps(data, indent=2, ensure_ascii=False) + "\n")
        elif not self._talk.quiet:
            sys.stdout.write(harmless(text.rstrip("\n")) + "\n")

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


def harmless(text: str) -> str:
    """Return text in which control characters show: a file's name could steer the terminal."""
    return "".join(
        letter if letter.isprintable() or letter in "\n\t" else ascii(letter)[1:-1]
        for letter in text
    )


def table(rows: Sequence[tuple[str, ...]]) -> str:
    """Return rows as aligned plain text."""
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
