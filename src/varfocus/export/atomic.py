"""Files that are either whole or not there."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path

from varfocus.errors import OutputError, OutputExistsError

ABANDONED = 3600.0
"""Seconds after which a temporary file is no longer being written: its process was killed."""


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file so that it appears under its name only when complete.

    Written under a temporary name in the same folder, flushed to disk, then renamed.

    Parameters
    ----------
    path : Path
        Final name.
    content : bytes
        Content.

    Raises
    ------
    OutputError
        If the system refuses: no permission, disk full, read-only.
    """
    try:
        handle, temporary = tempfile.mkstemp(
            prefix=f".{path.name}.", suffix=".part", dir=path.parent
        )
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            Path(temporary).chmod(0o666 & ~_umask())
            Path(temporary).replace(path)
            _flush_folder(path.parent)
        except BaseException:
            with contextlib.suppress(OSError):
                Path(temporary).unlink()
            raise
    except OSError as error:
        raise OutputError(
            f"{path} cannot be written: {error.strerror or error}",
            "expected a folder with write permission and free space",
            "Choose another folder with -o.",
        ) from error


def prepare_folder(folder: Path, names: Iterable[str], overwrite: bool) -> None:
    """Make sure that these files can be written into the folder, before any work is done.

    Parameters
    ----------
    folder : Path
        Created if missing.
    names : iterable of str
        Files that will be written.
    overwrite : bool
        Whether they may exist already.

    Raises
    ------
    OutputExistsError
        If one exists and may not be replaced.
    OutputError
        If the folder cannot be made or written to.
    """
    taken = [name for name in names if os.path.lexists(folder / name)]
    if taken and not overwrite:
        raise OutputExistsError(
            f"{folder} holds {', '.join(taken)} already",
            "expected a place where nothing is overwritten",
            "Choose another output with -o, or add --overwrite.",
        )
    for name in taken:
        path = folder / name
        if path.is_dir() and not path.is_symlink() and not name.endswith(".zarr"):
            raise OutputError(
                f"{folder / name} is a folder",
                "expected a file there, or nothing",
                "Move it away, or choose another output with -o.",
            )
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
        _tidy(folder)
    except OSError as error:
        raise OutputError(
            f"{folder} cannot be written: {error.strerror or error}",
            "expected a folder with write permission",
            "Choose another output with -o.",
        ) from error


def remove(path: Path) -> None:
    """Remove a file, a link, or a Zarr store, if it is there; never what a link leads to.

    Raises
    ------
    OutputError
        If it is another folder, or the system refuses.
    """
    try:
        if path.is_dir() and not path.is_symlink() and path.name.endswith((".zarr", ".part")):
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
    except OSError as error:
        raise OutputError(
            f"{path} cannot be replaced: {error.strerror or error}",
            "expected a file or a link there, or nothing, and write permission",
            "Move it away, or choose another output with -o.",
        ) from error


def _flush_folder(folder: Path) -> None:
    """Make a renaming last through a power cut, so that the record of a run never comes first."""
    if os.name != "posix":  # elsewhere folders cannot be opened
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _tidy(folder: Path) -> None:
    """Remove what a killed process left under temporary names."""
    for left in folder.glob(".*.part"):
        with contextlib.suppress(OSError):
            if time.time() - left.stat().st_mtime > ABANDONED:
                left.unlink()


def _umask() -> int:
    # The process's umask can only be read by setting it.
    mask = os.umask(0)
    os.umask(mask)
    return mask
