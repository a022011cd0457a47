"""Files of one picture each, which are read as a whole."""

from __future__ import annotations

import io
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias

from numpy.typing import NDArray

from varfocus.files import open_regular
from varfocus.io.border import damaged
from varfocus.io.contents import Contents, decoder
from varfocus.io.header import Header
from varfocus.io.selection import Selection, Series, choose
from varfocus.units import size_words

Probe: TypeAlias = Callable[[BinaryIO], list[Header]]
Decode: TypeAlias = Callable[[BinaryIO, Header], NDArray[Any]]

WHOLE_FILE, MOST_BYTES_PER_PIXEL = 2**27, 16
"""Size up to which a picture's file is read at once, and what it may have beyond that per pixel."""


def look_at_picture(probe: Probe, decode: Decode, path: Path, selection: Selection) -> Contents:
    """Return the one frame in a file.

    Parameters
    ----------
    probe : callable
        Returns the properties of the frame, given the file.
    decode : callable
        Returns its pixels as stored, given the file and the properties.
    path : Path
        The file.
    selection : Selection
        Which stack is meant; there is one.
    """
    choose([Series(path.name, 1)], selection)
    with open_regular(path) as file:
        headers = probe(file)
        _check_bulk(file, headers[0])
    return Contents(headers, decoder(path, partial(_at_once, decode)))


def _at_once(decode: Decode, file: BinaryIO, header: Header) -> NDArray[Any]:
    """Decode a picture whose file is read as a whole, unless it has grown out of proportion."""
    _check_bulk(file, header)
    file.seek(0)
    return decode(file, header)


def _check_bulk(file: BinaryIO, header: Header) -> None:
    """Refuse a picture whose file dwarfs its pixels: it will be read into memory as a whole."""
    size = file.seek(0, io.SEEK_END)
    most = WHOLE_FILE + MOST_BYTES_PER_PIXEL * header.width * header.height
    if size > most:
        raise damaged(
            f"has {size_words(size)} for {header.width}×{header.height} pixels, which need "
            f"{size_words(most)} at the very most"
        )
