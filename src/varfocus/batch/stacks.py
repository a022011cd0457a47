"""Find the stacks below a folder, by a pattern, or in a manifest, and name the folder of each."""

from __future__ import annotations

import glob
import itertools
import os
import secrets
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from varfocus.errors import (
    AmbiguousInputError,
    NoFramesError,
    OutputError,
    VarfocusError,
)
from varfocus.export import RUN_RECORD
from varfocus.files import open_regular, place_of, resolved
from varfocus.io.border import border
from varfocus.io.discover import find_files, natural_order
from varfocus.io.formats import identify, identify_store, kind_of
from varfocus.io.frames import probe_files
from varfocus.io.simulated import FRAMES_FOLDER, is_simulated, simulation_of
from varfocus.job import Job

LEAST_FRAMES = 3
"""Fewer pictures in a folder are not a stack."""


@dataclass(frozen=True)
class Stack:
    """A stack of a batch.

    Attributes
    ----------
    name : str
        Its folder below the output folder, with ``/`` between parts.
    job : Job
        What is to be done with it.
    """

    name: str
    job: Job

    @property
    def source(self) -> str:
        """Where its frames are."""
        return self.job.source[0]


@dataclass
class Findings:
    """Where stacks are.

    Attributes
    ----------
    places : list of tuple of Path and str
        Folder or file of each, and its name.
    passed_over : list of str
        What holds pictures but was not taken as a stack, and why.
    """

    places: list[tuple[Path, str]] = field(default_factory=list)
    passed_over: list[str] = field(default_factory=list)


def find(roots: Sequence[str | Path], output: Path) -> Findings:
    """Find the stacks that are meant by folders, patterns and files.

    Parameters
    ----------
    roots : sequence of str or Path
        Folders, which are searched with all folders below them; patterns, of which every match is
        taken; files that hold a stack.
    output : Path
        Where results go: never searched.

    Returns
    -------
    Findings
        In natural order.

    Raises
    ------
    NoFramesError
        If there is nothing at all.
    """
    found, names = Findings(), Names()
    for place, base in _places(roots):
        for path in walk(place, output, found.passed_over):
            found.places.append((path, names.of(path, base)))
    if not found.places:
        raise NoFramesError(
            f"{', '.join(map(str, roots))}: no stack found"
            + "".join(f"; {reason}" for reason in found.passed_over[:10]),
            "expected folders of at least 3 frames, or files that hold a stack",
            "Give the folder above them, a pattern in quotes, or a manifest (CSV or JSON).",
        )
    return found


def walk(place: Path, output: Path, passed_over: list[str]) -> Iterator[Path]:
    """Yield every stack at or below a place.

    Parameters
    ----------
    place : Path
        A file that holds a stack, or a folder.
    output : Path
        A folder that is not searched.
    passed_over : list of str
        Receives what was not taken as a stack, and why.

    Yields
    ------
    Path
        A folder of frames, a Zarr store, or a file.
    """
    with border(place):
        if not place.is_dir():
            place.stat()
            yield place
            return
    seen, away = set[str](), resolved(output)
    for folder, below, files in os.walk(place, followlinks=True):
        here = Path(folder)
        if str(resolved(here)) in seen:  # a link to where we were
            below.clear()
            continue
        seen.add(str(resolved(here)))
        if identify_store(here):
            below.clear()
            yield here
            continue
        below[:] = [
            str(name)
            for name in natural_order(
                Path(name)
                for name in below
                if not name.startswith(".") and resolved(here / name) != away
            )
        ]
        if RUN_RECORD in files:
            passed_over.append(f"{here}: holds results, as its {RUN_RECORD} shows")
            continue
        if is_simulated(here):  # beside its frames lie pictures of the truth
            below.clear()
            yield here / FRAMES_FOLDER
            continue
        stacks, reason = stacks_in(here)
        below[:] = [name for name in below if not identify_store(here / name)]
        if reason:
            passed_over.append(f"{here}: {reason}")
        yield from stacks


def stacks_in(folder: Path) -> tuple[list[Path], str]:
    """Return the stacks that lie in a folder itself.

    Parameters
    ----------
    folder : Path
        A folder; what is below it does not count, except for Zarr stores.

    Returns
    -------
    tuple of list of Path and str
        The folder itself, if its pictures are the frames of a stack; or the files in it that hold
        a stack each. And what was skipped, in words.
    """
    return _stacks_in(folder, _signature(folder))


def _signature(folder: Path) -> int:
    """Return a number that changes when a file of the folder does."""
    try:
        with os.scandir(folder) as entries:
            states = [(entry.name, entry.stat()) for entry in entries]
    except OSError:  # it may be in the middle of a change
        return secrets.randbits(63)
    return hash(frozenset((name, state.st_size, state.st_mtime_ns) for name, state in states))


@lru_cache(maxsize=10**6)
def _stacks_in(folder: Path, signature: int) -> tuple[list[Path], str]:
    del signature  # a folder that changed is another folder
    try:
        files = find_files(folder)
    except NoFramesError:
        return [], ""
    if kind_of(files[0]) == "recording":
        return files, ""
    pages = {path: _pages(path) for path in files}
    single = [path for path in files if pages[path] == 1]
    if any(n is not None and n > 1 for n in pages.values()) or len(files) < LEAST_FRAMES:
        # What cannot be read may have been a stack: opening it will report what is wrong.
        reason = f"{len(single)} single picture{'s' * (len(single) != 1)}" if single else ""
        return [path for path in files if pages[path] != 1], reason
    return [folder], ""


def _pages(path: Path) -> int | None:
    """Return the number of frames of a picture file, None if it cannot be read."""
    try:
        with open_regular(path) as file:
            found = identify(file)
        if found is None or not found.multiple:
            return 1 if found else None
        return len(probe_files([path]).frames)
    except AmbiguousInputError:  # several stacks, even
        return LEAST_FRAMES
    except (VarfocusError, OSError):
        return None


def _places(roots: Sequence[str | Path]) -> Iterator[tuple[Path, Path]]:
    """Yield where to look, and what names are relative to, whatever else is there."""
    for root in roots:
        path = Path(root)
        if not path.exists() and glob.has_magic(str(path)):
            fixed = Path(str(path)[: _first_magic(str(path))] + "x").parent
            matches = _matching(path, fixed)
            if not matches:
                raise NoFramesError(
                    f"{path}: matches nothing",
                    "expected a pattern that matches stacks",
                    "Check it, and put it in quotes so that the shell leaves it alone.",
                )
            yield from ((match, fixed) for match in natural_order(matches))
        elif path.is_dir() and len(roots) == 1:
            yield path, path
        else:
            yield path, resolved(path).parent


def _matching(pattern: Path, fixed: Path) -> list[Path]:
    """Return what a pattern matches below its part without wildcards."""
    if "**" not in pattern.parts:
        return [Path(name) for name in glob.glob(str(pattern))]  # noqa: PTH207
    # Which follows no links to folders: a few of a folder to itself are millions of paths.
    found = fixed.glob(str(pattern.relative_to(fixed)))
    return [p for p in found if not any(n.startswith(".") for n in p.relative_to(fixed).parts)]


def _first_magic(pattern: str) -> int:
    return min(pattern.index(mark) for mark in "*?[" if mark in pattern)


class Names:
    """Gives every stack a folder of its own below the output folder."""

    def __init__(self) -> None:
        self._names: dict[Path, str] = {}
        self._taken: set[str] = set()

    def of(self, path: Path, base: Path) -> str:
        """Return the name of a stack: its path from a folder, without the suffix of a file.

        The suffix stays where the name without it is taken.
        """
        if path not in self._names:
            full = _inside(simulation_of(path) or path, base)
            plain = full if path.is_dir() and not identify_store(path) else full.with_suffix("")
            more = (f"{full.as_posix()}_{k}" for k in itertools.count(2))
            names = itertools.chain([plain.as_posix(), full.as_posix()], more)
            name = next(name for name in names if place_of(name) not in self._taken)
            self._taken.add(place_of(name))
            self._names[path] = name
        return self._names[path]


def _inside(path: Path, base: Path) -> Path:
    place, base = Path(os.path.abspath(path)), Path(os.path.abspath(base))  # noqa: PTH100 keeps links
    inside = place.relative_to(base) if place.is_relative_to(base) else Path(place.name)
    return inside if inside.parts else Path(resolved(place).name or "stack")


def keep_out(roots: Iterable[str | Path], output: Path) -> None:
    """Refuse an output folder that is a searched folder itself.

    Raises
    ------
    OutputError
        If it is.
    """
    for root in roots:
        if Path(root).is_dir() and resolved(root) == resolved(output):
            raise OutputError(
                f"received {output} as output and as the place of the stacks",
                "expected another folder for the results",
                f"For example -o {output}_results",
            )
