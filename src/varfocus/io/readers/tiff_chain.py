"""Walk the directories of a TIFF file, one per page, and notice when the chain is broken.

tifffile ends the chain silently where a link points nowhere, and skips entries it cannot read;
a stack would then lose frames, or a frame its orientation, without a word.
"""

from __future__ import annotations

import io
import struct
from dataclasses import dataclass
from typing import BinaryIO

from varfocus.io.border import damaged, too_many
from varfocus.io.limits import in_force

_MAX_ENTRIES = 4096
_MAX_TAG_BYTES = 2**28
"""Bytes of all tags of one page: lists of strips, notes, colour profiles."""
_TYPE_BYTES = (0, 1, 1, 2, 4, 8, 1, 1, 2, 4, 8, 4, 8, 4, 0, 0, 8, 8, 8)
"""Size of a number of each of TIFF's types."""


@dataclass(frozen=True)
class Directory:
    """One page's directory: where it is and which tags it lists."""

    offset: int
    tags: frozenset[int]


@dataclass(frozen=True)
class _Layout:
    """How numbers are stored: classic TIFF or BigTIFF, in either byte order."""

    order: str
    big: bool

    @property
    def link(self) -> struct.Struct:
        """Offset of a directory."""
        return struct.Struct(self.order + ("Q" if self.big else "I"))

    @property
    def count(self) -> struct.Struct:
        """Number of entries in a directory."""
        return struct.Struct(self.order + ("Q" if self.big else "H"))

    @property
    def entry(self) -> str:
        """Tag, type and count at the beginning of an entry."""
        return "HHQ" if self.big else "HHI"

    @property
    def entry_bytes(self) -> int:
        """Size of an entry."""
        return 20 if self.big else 12


def walk(file: BinaryIO) -> list[Directory]:
    """Return all directories of the chain, in order.

    Raises
    ------
    RefusedError
        If a link points outside the file or back, or there are more pages than a stack may have.
    """
    layout, offset = _start(file)
    directories: list[Directory] = []
    seen = set()
    most = in_force().max_frames
    while offset:
        if offset in seen:
            raise damaged(f"page {len(directories) - 1} leads back to an earlier page")
        if len(directories) >= most:
            raise too_many(f"has more than {most} pages", most)
        seen.add(offset)
        directory, offset = _directory(file, layout, offset, len(directories))
        directories.append(directory)
    if not directories:
        raise damaged("is a TIFF without pages")
    return directories


def first_directory(file: BinaryIO) -> int:
    """Return where the first page's directory is."""
    return _start(file)[1]


def read_directory(file: BinaryIO, offset: int, page: int) -> Directory:
    """Return the directory at `offset`, without following the chain to it."""
    layout, _ = _start(file)
    return _directory(file, layout, offset, page)[0]


def _start(file: BinaryIO) -> tuple[_Layout, int]:
    file.seek(0)
    head = file.read(16)
    order = "<" if head[:2] == b"II" else ">"
    big = b"+" in head[2:4]
    layout = _Layout(order, big)
    if big and head[4:8] != struct.pack(order + "HH", 8, 0):
        raise damaged("has a damaged header")
    try:
        (offset,) = layout.link.unpack_from(head, 8 if big else 4)
    except struct.error as error:
        raise damaged("ends early") from error
    return layout, offset


def _directory(file: BinaryIO, layout: _Layout, offset: int, page: int) -> tuple[Directory, int]:
    """Read the directory at `offset`; return it and the link to the next one."""
    if offset + layout.count.size > file.seek(0, io.SEEK_END):
        raise damaged(f"ends before page {page}")
    file.seek(offset)
    (count,) = layout.count.unpack(file.read(layout.count.size))
    if not 0 < count <= _MAX_ENTRIES:
        raise damaged(f"page {page} claims {count} tags")
    entries = file.read(count * layout.entry_bytes)
    link = file.read(layout.link.size)
    if len(link) < layout.link.size:
        raise damaged(f"ends within the directory of page {page}")
    starts = range(0, len(entries), layout.entry_bytes)
    tags, claimed = set(), 0
    for at in starts:
        tag, kind, numbers = struct.unpack_from(layout.order + layout.entry, entries, at)
        tags.add(tag)
        claimed += numbers * _TYPE_BYTES[kind] if kind < len(_TYPE_BYTES) else 0
    if claimed > _MAX_TAG_BYTES:  # tifffile would read them all
        raise damaged(f"page {page} claims {claimed} bytes of tags")
    return Directory(offset, frozenset(tags)), layout.link.unpack(link)[0]
