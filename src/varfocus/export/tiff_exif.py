"""EXIF in tiled TIFF files: what a photograph says of itself, as directories of the file.

An EXIF block is a small TIFF file. Its first directory's entries become entries of the image's own;
those of the shot (``0x8769``) and of the place (``0x8825``) become directories at the end of the
file, which entries of the image's point to. Values are copied byte by byte, offsets counted anew.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Any, BinaryIO, NamedTuple, TypeAlias

POINTERS = (0x8769, 0x8825)
"""Entries that point to the directories of the shot and of the place."""

_SIZES = {1: 1, 2: 1, 3: 2, 4: 4, 5: 8, 6: 1, 7: 1, 8: 2, 9: 4, 10: 8, 11: 4, 12: 8}
"""Bytes of each type of number."""

_LONG8 = 16


class Entry(NamedTuple):
    """An entry of a directory: type, number of values, and their bytes, little-endian."""

    kind: int
    length: int
    value: bytes


Directory: TypeAlias = dict[int, Entry]


def parsed(block: bytes) -> dict[int, Directory]:
    """Return the directories of an EXIF block, by the entry that points to them; 0 for the first.

    Parameters
    ----------
    block : bytes
        A TIFF structure, little-endian, as `varfocus.io.metadata` makes it; empty for none.
    """
    if block[:4] != b"II*\0":
        return {}
    (start,) = struct.unpack_from("<I", block, 4)
    found = {0: _directory(block, start)}
    for pointer in POINTERS:
        if pointer in found[0]:
            (start,) = struct.unpack("<I", found[0].pop(pointer).value)
            found[pointer] = _directory(block, start)
    return found


def _directory(block: bytes, start: int) -> Directory:
    (count,) = struct.unpack_from("<H", block, start)
    entries: Directory = {}
    for number in range(count):
        tag, kind, length, inline = struct.unpack_from("<HHI4s", block, start + 2 + 12 * number)
        size = _SIZES.get(kind, 1) * length
        value = inline[:size]
        if size > 4:
            (at,) = struct.unpack("<I", inline)
            value = block[at : at + size]
        entries[tag] = Entry(kind, length, value)
    return entries


def image_tags(block: bytes) -> list[tuple[int, int, int, Any, bool]]:
    """Return what a writer of TIFF files must add to the image's directory, as tifffile wants it.

    Entries that point elsewhere get their value from `append_directories`.
    """
    directories = parsed(block)
    tags: list[tuple[int, int, int, Any, bool]] = [
        (tag, entry.kind, entry.length, entry.value, True)
        for tag, entry in directories.get(0, {}).items()
        if entry.kind == 2  # texts: maker, model, date, artist, copyright
    ]
    tags += [(pointer, _LONG8, 1, 0, True) for pointer in POINTERS if pointer in directories]
    return tags


def append_directories(file: BinaryIO, block: bytes) -> None:
    """Write the directories of the shot and of the place at the end of a BigTIFF file.

    Parameters
    ----------
    file : binary file
        A little-endian BigTIFF file, to be read and written, whose image has the entries of
        `image_tags`.
    block : bytes
        The EXIF block.
    """
    import tifffile

    directories = {k: d for k, d in parsed(block).items() if k}
    if not directories:
        return
    file.seek(0)
    tags = tifffile.TiffFile(file).pages.first.tags
    places = {pointer: tags[pointer].valueoffset for pointer in directories}
    for pointer, directory in directories.items():
        start = file.seek(0, 2)
        start += file.write(b"\0" * (-start % 8))
        file.write(_laid_out(directory, start))
        file.seek(places[pointer])
        file.write(struct.pack("<Q", start))


def _laid_out(directory: Mapping[int, Entry], start: int) -> bytes:
    """Return a directory of a BigTIFF file that begins at `start`, with its values behind it."""
    entries, values = b"", b""
    behind = start + 8 + 20 * len(directory) + 8
    for tag, entry in sorted(directory.items()):
        value = entry.value
        if len(value) > 8:
            place = struct.pack("<Q", behind + len(values))
            values += value + b"\0" * (-len(value) % 8)
        else:
            place = value.ljust(8, b"\0")
        entries += struct.pack("<HHQ", tag, entry.kind, entry.length) + place
    return struct.pack("<Q", len(directory)) + entries + struct.pack("<Q", 0) + values
