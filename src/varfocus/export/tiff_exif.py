"""EXIF in tiled TIFF files: what a photograph says about itself, as directories of the file.

An EXIF block is a small TIFF file. The texts of its first directory become entries of the image's
own (maker, model, date, artist, copyright); the directories of the shot (``0x8769``) and of the
place (``0x8825``) go to the end of the file, and entries of the image's point to them. Values are
copied, offsets computed anew.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import BinaryIO, NamedTuple, TypeAlias

POINTERS = (0x8769, 0x8825)
"""Entries that point to the directories of the shot and of the place."""

_SIZES = {1: 1, 2: 1, 3: 2, 4: 4, 5: 8, 6: 1, 7: 1, 8: 2, 9: 4, 10: 8, 11: 4, 12: 8}
"""Bytes of each type of number."""

_WORDS = {3: 2, 4: 4, 5: 4, 8: 2, 9: 4, 10: 4, 11: 4, 12: 8}
"""Bytes whose order depends on the machine, where that is more than one."""

_ORDERS = {b"II*\0": "<", b"MM\0*": ">"}

_TEXT, _LONG8 = 2, 16


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
        A TIFF structure, as `varfocus.io.metadata` makes it; empty for none.
    """
    if block[:4] not in _ORDERS:
        return {}
    order = _ORDERS[block[:4]]
    (start,) = struct.unpack_from(order + "I", block, 4)
    found = {0: _directory(block, start, order)}
    for pointer in POINTERS:
        if pointer in found[0]:
            (start,) = struct.unpack("<I", found[0].pop(pointer).value)
            found[pointer] = _directory(block, start, order)
    return found


def _directory(block: bytes, start: int, order: str) -> Directory:
    (count,) = struct.unpack_from(order + "H", block, start)
    entries: Directory = {}
    for number in range(count):
        tag, kind, length, inline = struct.unpack_from(
            order + "HHI4s", block, start + 2 + 12 * number
        )
        size = _SIZES.get(kind, 1) * length
        value = inline[:size]
        if size > 4:
            (at,) = struct.unpack(order + "I", inline)
            value = block[at : at + size]
        entries[tag] = Entry(kind, length, _turned(value, kind) if order == ">" else value)
    return entries


def _turned(value: bytes, kind: int) -> bytes:
    """Return numbers with their bytes in the other order."""
    word = _WORDS.get(kind, 1)
    return b"".join(value[at : at + word][::-1] for at in range(0, len(value), word))


def add_exif(file: BinaryIO, block: bytes) -> None:
    """Put an EXIF block into a BigTIFF file that is complete otherwise.

    The directories of the shot and of the place are written at its end, and behind them the
    directory of the image once more, with entries that point to them.

    Parameters
    ----------
    file : binary file
        A little-endian BigTIFF file with one image, open for reading and writing.
    block : bytes
        The EXIF block; empty for none.
    """
    directories = parsed(block)
    if not directories:
        return
    file.seek(0)
    (first,) = struct.unpack("<8xQ", file.read(16))
    file.seek(first)
    (count,) = struct.unpack("<Q", file.read(8))
    present = [file.read(20) for _ in range(count)]
    entries = {int.from_bytes(entry[:2], "little"): entry for entry in present}
    texts = {t: e for t, e in directories.pop(0).items() if e.kind == _TEXT and t not in entries}
    for pointer, directory in directories.items():
        start = _end(file)
        file.write(_laid_out(directory, start))
        entries[pointer] = struct.pack("<HHQQ", pointer, _LONG8, 1, start)
    start = _end(file)
    file.write(_laid_out(texts, start, entries))
    file.seek(8)
    file.write(struct.pack("<Q", start))


def _end(file: BinaryIO) -> int:
    """Go to the end of a file, at a multiple of 8 bytes, and return where that is."""
    end = file.seek(0, 2)
    return end + file.write(b"\0" * (-end % 8))


def _laid_out(
    directory: Mapping[int, Entry], start: int, others: Mapping[int, bytes] | None = None
) -> bytes:
    """Return a directory of a BigTIFF file that begins at `start`, with its values behind it.

    Parameters
    ----------
    directory : mapping of int to Entry
        Entries with their values.
    start : int
        Where it will be.
    others : mapping of int to bytes, optional
        Entries as they will stand in the file: their values are there already.
    """
    entries, values = dict(others or {}), b""
    behind = start + 8 + 20 * (len(directory) + len(entries)) + 8
    for tag, entry in directory.items():
        value = entry.value
        if len(value) > 8:
            place = struct.pack("<Q", behind + len(values))
            values += value + b"\0" * (-len(value) % 8)
        else:
            place = value.ljust(8, b"\0")
        entries[tag] = struct.pack("<HHQ", tag, entry.kind, entry.length) + place
    listed = b"".join(entries[tag] for tag in sorted(entries))
    return struct.pack("<Q", len(entries)) + listed + struct.pack("<Q", 0) + values
