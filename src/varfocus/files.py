"""Files and paths from outside: opened only if they are files, read only up to a size."""

from __future__ import annotations

import errno
import json
import os
import stat
import unicodedata
from io import BufferedReader
from pathlib import Path
from typing import Any

MOST_TEXT = 256 * 2**20
"""Bytes of a record, table or manifest: a run.json of 16 384 frames has 10 MB."""


def open_regular(path: Path) -> BufferedReader:
    """Open a file for reading, if it is one: a pipe or a device could keep us for ever.

    Raises
    ------
    OSError
        If it cannot be opened, or is no regular file.
    """
    return path.open("rb") if os.name == "nt" else open(path, "rb", opener=_opened)


def _opened(path: str, flags: int) -> int:
    # Not to wait for a pipe's other end; on regular files it has no effect.
    handle = os.open(path, flags | os.O_NONBLOCK)
    mode = os.fstat(handle).st_mode
    if stat.S_ISREG(mode):
        return handle
    os.close(handle)
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
    raise OSError(errno.EINVAL, "it is a pipe or a device, not a file", path)


def resolved(path: str | Path) -> Path:
    """Return a path without links; one that leads in circles as far as it goes."""
    return Path(os.path.realpath(path))


def place_of(name: str) -> str:
    """Return a name as the least particular file system compares it: two alike are one place.

    Some take upper and lower case for the same, some letters with accents in one or in two parts.
    """
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())


def read_text(path: Path, most: int = MOST_TEXT) -> str:
    """Return the text of a regular file in UTF-8, without a byte-order mark.

    Raises
    ------
    OSError
        If it cannot be read, is no regular file, or is larger than `most` bytes.
    UnicodeDecodeError
        If it is not text.
    """
    with open_regular(path) as file:
        small = os.fstat(file.fileno()).st_size <= most
        content = file.read(most + 1) if small else b""
    if not small or len(content) > most:  # it may have grown meanwhile
        raise OSError(errno.EFBIG, f"it has more than {most // 2**20} MB", str(path))
    return content.decode("utf-8-sig")


def read_json(path: Path) -> Any:
    """Return what a JSON file says.

    Raises
    ------
    OSError
        If it cannot be read, see `read_text`.
    ValueError
        If it is not text, not JSON, or nested deeper than anything of ours.
    """
    return parsed_json(read_text(path))


def parsed_json(text: str) -> Any:
    """Return what a JSON text says, or raise `ValueError`, whatever is wrong with it."""
    try:
        return json.loads(text)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error


def why(error: OSError | ValueError) -> str:
    """Return in a few words why a file could not be read by one of these functions."""
    if isinstance(error, OSError):
        return error.strerror or str(error)
    return "it is not text" if isinstance(error, UnicodeDecodeError) else str(error)
