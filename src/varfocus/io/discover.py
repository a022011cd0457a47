"""Find the files of a stack and put them in order."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import TypeAlias

from varfocus.errors import NoFramesError, ParameterError
from varfocus.io.border import border
from varfocus.io.formats import Kind, claimed_kind, identify_store, kind_of, readable
from varfocus.io.simulated import FRAMES_FOLDER, is_simulated
from varfocus.ranges import fspath

Source: TypeAlias = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]
"""A folder, a pattern, a file, or a list of files."""

_URL = re.compile(r"[a-z][a-z0-9+.-]+://", re.IGNORECASE)


def find_files(source: Source) -> list[Path]:
    """Return the files of a stack in order.

    Parameters
    ----------
    source : str, path or iterable of these
        A folder, of which all images are taken; a pattern such as ``"shots/*.png"``; a file; or
        files in the order of focus.

    Returns
    -------
    list of Path
        Sorted as people count (img2 before img10) for folders and patterns, as given otherwise.

    Raises
    ------
    NoFramesError
        If there is nothing.
    ParameterError
        If `source` is none of these.
    """
    if isinstance(source, str | os.PathLike):
        return _at_place(_checked(source))
    try:
        items = list(source)
    except TypeError as error:
        raise _bad_source(source) from error
    paths = [_checked(item) for item in items]
    if not paths:
        raise NoFramesError("received an empty list of files", "expected at least 3 frames")
    return paths


def natural_order(paths: Iterable[Path]) -> list[Path]:
    """Sort as people count, upper and lower case alike."""
    from natsort import natsorted, ns

    # Sorting twice: names that differ only in case or in leading zeros keep one fixed order.
    return natsorted(sorted(paths), key=str, alg=ns.PATH | ns.IGNORECASE)


def _checked(source: object) -> Path:
    """Return the path if it is one that a file can have."""
    name = fspath(source)
    if not isinstance(name, str):
        raise _bad_source(source)
    if _URL.match(name):
        raise ParameterError(
            f"received an address: {name}",
            "expected files on this machine",
            "Download the frames first.",
        )
    try:
        raw = os.fsencode(name)
    except UnicodeError:  # a lone surrogate
        raw = b""
    if not raw or b"\0" in raw:
        raise ParameterError(
            f"received {name!r}", "expected the name of a file or folder", "Check the name."
        )
    return Path(name)


def _bad_source(source: object) -> ParameterError:
    return ParameterError(
        f"received a source of type {type(source).__name__}",
        "expected a folder, a pattern, a file or a list of files, as str or Path",
        "For pixels in memory, use FocusStack.from_array.",
    )


def _at_place(path: Path) -> list[Path]:
    with border(path):
        if path.is_dir():
            return _in_folder(path)
        if not path.exists() and glob.has_magic(str(path)):
            return _matching(path)
    return [path]


def _in_folder(folder: Path) -> list[Path]:
    """Return what is an image by content, or claims to be one by name.

    The latter so that a damaged frame is an error and not a gap. Cameras put RAW files and videos
    beside pictures of the same scene: those count only where there are no pictures. Arrays may be
    anything and are read only when named. Of a folder that ``varfocus simulate`` wrote, the
    pictures of the truth are no frames.
    """
    if identify_store(folder):
        return [folder]
    if is_simulated(folder):
        folder = folder / FRAMES_FOLDER
    entries = [path for path in folder.iterdir() if not path.name.startswith(".")]
    files = [path for path in entries if not path.is_dir()]
    kinds = {path: kind_of(path) if path.is_dir() else _kind(path) for path in entries}
    pictures, raws, recordings = (
        [path for path in entries if kinds[path] == kind]
        for kind in ("picture", "raw", "recording")
    )
    images = pictures or raws or recordings
    if not images:
        raise NoFramesError(
            f"{folder}: no image among {len(files)} files" if files else f"{folder}: no files",
            f"expected a folder of {readable()} files",
            "Sub-folders are not searched; give the folder that holds the frames.",
        )
    return natural_order(images)


def _kind(path: Path) -> Kind | None:
    """Return what a file is by content, else what its name claims.

    Pipes and sockets are not opened. What cannot be opened is reported when it is read, if it
    claims to be an image.
    """
    return (kind_of(path) if path.is_file() else None) or claimed_kind(path.name)


def _matching(pattern: Path) -> list[Path]:
    matches = [Path(name) for name in glob.glob(str(pattern))]  # noqa: PTH207 absolute patterns
    files = [path for path in matches if not path.is_dir()]
    if not files:
        raise NoFramesError(
            f"{pattern}: matches {'only folders' if matches else 'nothing'}",
            "expected a pattern that matches the frames",
            "Check it, and put it in quotes so that the shell leaves it alone.",
        )
    return natural_order(files)
