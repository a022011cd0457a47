"""Walk the directories of a TIFF file, one per page, and notice when the chain is broken.

tifffile ends the chain silently where a link points nowhere, and skips entries it cannot read;
a stack would then lose frames, or a frame its orientation, without a word.
"""

from __future__ import annotations

import io
import struct
from dataclasses import dataclass
from typing import BinaryIO

from varfocus.io.border import damaged, too_large
from varfocus.io.limits import MAX_FRAMES

_MAX_ENTRIES = 4096


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
    def entry_bytes(self) -> int:
        """Size of an entry; its first two bytes are the tag."""
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
    while offset:
        if offset in seen:
            raise damaged(f"page {len(directories) - 1} leads back to an earlier page")
        if len(directories) >= MAX_FRAMES:
            raise too_large(f"has more than {MAX_FRAMES} pages", f"{MAX_FRAMES} frames")
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
    tags = frozenset(struct.unpack_from(layout.order + "H", entries, at)[0] for at in starts)
    return Directory(offset, tags), layout.link.unpack(link)[0]
