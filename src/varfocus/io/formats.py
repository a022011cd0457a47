"""The one list of the formats that are read: how each is recognised, and what reads it.

A file is recognised by its first bytes, never by its name. A format is one entry in `FORMATS`; the
readers are in `varfocus.io.readers`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import BinaryIO, Literal, TypeAlias

from varfocus.errors import ParameterError
from varfocus.files import open_regular
from varfocus.io.contents import Contents
from varfocus.io.pictures import look_at_picture
from varfocus.io.readers import bmp, czi, jpeg, lif, nd2, npy, png, raw, tiff, video, zarr
from varfocus.io.selection import Selection

HEAD_BYTES = 200
"""How many bytes of a file are enough to recognise it."""

Kind: TypeAlias = Literal["picture", "raw", "recording", "array"]
"""What counts in a folder: pictures; if there are none, camera RAW files; if there are none,
recordings. Arrays may be anything, and are read only when named."""

Magic: TypeAlias = tuple[tuple[int, bytes], ...]
"""Bytes that a file has at an offset: any one of these."""


@dataclass(frozen=True)
class Format:
    """A file format.

    Parameters
    ----------
    name : str
        Name of the format of a frame.
    kind : {"picture", "raw", "recording", "array"}
        What it counts as in a folder.
    look : callable
        ``look(path, selection) -> Contents``: the properties of all frames, checked against the
        limits before any pixel is decoded, and the functions that decode one frame or a part.
    magic : tuple of (int, bytes)
        How a file begins: with one of these.
    sniff : callable, optional
        Beyond or instead of that, ``sniff(head) -> bool`` looks at the first `HEAD_BYTES` bytes.
    confirm : callable, optional
        Beyond that, ``confirm(file) -> bool`` looks into the file.
    is_store : callable, optional
        For formats that are folders, ``is_store(folder) -> bool``.
    suffixes : tuple of str
        How names of such files end. A picture of that name is an error and not a gap in the stack
        if its content is something else.
    multiple : bool
        Whether a file may hold several frames.
    extra, library : str
        Extra of varfocus that is needed, and a module that shows whether it is installed.
    words : str
        Its name for people, if different.
    about, calibration : str
        For the list in the README: what is read of it, and where sizes come from.
    """

    name: str
    kind: Kind
    look: Callable[[Path, Selection], Contents]
    magic: Magic = ()
    sniff: Callable[[bytes], bool] | None = None
    confirm: Callable[[BinaryIO], bool] | None = None
    is_store: Callable[[Path], bool] | None = None
    suffixes: tuple[str, ...] = ()
    multiple: bool = False
    extra: str = ""
    library: str = ""
    words: str = ""
    about: str = ""
    calibration: str = ""

    @property
    def title(self) -> str:
        """Its name for people."""
        return self.words or self.name

    def begins(self, head: bytes) -> bool:
        """Tell whether a file that begins like this can be one."""
        if not (self.magic or self.sniff):
            return False
        fits = not self.magic or any(head[at:].startswith(mark) for at, mark in self.magic)
        return fits and (self.sniff is None or self.sniff(head))


FORMATS: dict[str, Format] = {
    entry.name: entry
    for entry in (
        Format(
            "PNG",
            "picture",
            partial(look_at_picture, png.probe, png.decode),
            magic=((0, b"\x89PNG\r\n\x1a\n"),),
            suffixes=(".png",),
            about="8 or 16 bit, grey or colour",
        ),
        Format(
            "JPEG",
            "picture",
            partial(look_at_picture, jpeg.probe, jpeg.decode),
            magic=((0, b"\xff\xd8\xff"),),
            suffixes=(".jpg", ".jpeg", ".jpe", ".jfif"),
            about="8 bit, grey or colour",
            calibration="EXIF subject distance is shown, not used",
        ),
        Format(
            "TIFF",
            "picture",
            tiff.look,
            sniff=tiff.sniff,
            confirm=tiff.is_no_camera_raw,
            suffixes=(".tif", ".tiff"),
            multiple=True,
            about="pages, OME-TIFF, ImageJ and Fiji hyperstacks (series, channels, times): 8 or 16 "
            "bit or float, grey or colour",
            calibration="OME: PhysicalSizeX, Y, Z, PositionZ; ImageJ: spacing, resolution, unit",
        ),
        Format(
            "BMP",
            "picture",
            partial(look_at_picture, bmp.probe, bmp.decode),
            magic=((0, b"BM"),),
            sniff=bmp.sniff,
            suffixes=(".bmp", ".dib"),
            about="8 bit, grey or colour",
        ),
        Format(
            "RAW",
            "raw",
            partial(look_at_picture, raw.probe, raw.decode),
            # A TIFF gets here only if it was refused above as a camera's.
            magic=(*raw.MAGIC, *((0, start) for start in tiff.STARTS)),
            suffixes=(
                *(".dng", ".cr2", ".cr3", ".nef", ".arw"),
                *(".orf", ".rw2", ".raf", ".pef", ".srw"),
            ),
            extra="raw",
            library="rawpy",
            words="camera RAW",
            about="DNG, CR2, CR3, NEF, ARW, …: 16 bit, one white balance, no automatic brightness",
        ),
        Format(
            "video",
            "recording",
            video.look,
            sniff=video.sniff,
            suffixes=(".mp4", ".mov", ".mkv", ".webm", ".avi"),
            multiple=True,
            extra="video",
            library="av",
            about="MP4, MOV, MKV, AVI, …: every frame is a focus step",
        ),
        Format(
            "ND2",
            "recording",
            nd2.look,
            magic=((0, b"\xda\xce\xbe\n"),),
            suffixes=(".nd2",),
            multiple=True,
            extra="microscopy",
            library="nd2",
            about="Nikon: positions, channels, times",
            calibration="its calibration",
        ),
        Format(
            "CZI",
            "recording",
            czi.look,
            magic=((0, b"ZISRAWFILE"),),
            suffixes=(".czi",),
            multiple=True,
            extra="microscopy",
            library="czifile",
            about="Zeiss: scenes, channels, times; tiles are put together",
            calibration="its calibration",
        ),
        Format(
            "LIF",
            "recording",
            lif.look,
            magic=((0, b"\x70\0\0\0"),),
            sniff=lif.sniff,
            suffixes=(".lif",),
            multiple=True,
            extra="microscopy",
            library="liffile",
            about="Leica: images, channels, times",
            calibration="its calibration",
        ),
        Format(
            "Zarr",
            "recording",
            zarr.look,
            is_store=zarr.is_zarr,
            suffixes=(".zarr",),
            multiple=True,
            extra="zarr",
            library="zarr",
            about="arrays, and OME-Zarr 0.4 and 0.5",
            calibration="scale and unit of the axes",
        ),
        Format(
            "NPY",
            "array",
            npy.look_npy,
            magic=((0, b"\x93NUMPY"),),
            suffixes=(".npy",),
            multiple=True,
            about="`(frames, height, width[, channels])`; never pickles",
        ),
        Format(
            "NPZ",
            "array",
            npy.look_npz,
            magic=((0, b"PK\x03\x04"),),
            suffixes=(".npz",),
            multiple=True,
            about="the same, in an archive",
        ),
    )
}
"""All formats by name. They are tried in this order."""

FOREIGN = (
    (0, b"GIF8", "a GIF"),
    (8, b"WEBP", "a WebP"),
    (4, b"ftypheic", "a HEIC"),
    (4, b"ftypheix", "a HEIC"),
    (4, b"ftypmif1", "a HEIC or AVIF"),
    (4, b"ftypavif", "an AVIF"),
    (0, b"8BPS", "a Photoshop"),
    (0, b"%PDF", "a PDF"),
)
"""Offset, bytes and name, with article, of formats that are known and not read."""


def register(entry: Format) -> None:
    """Add a format, in this process; it is tried after all others.

    Raises
    ------
    ParameterError
        If the name is taken.
    """
    if entry.name in FORMATS:
        raise ParameterError(
            f"received a format named {entry.name!r}",
            "expected one that is none of " + ", ".join(FORMATS),
        )
    FORMATS[entry.name] = entry


def unregister(name: str) -> None:
    """Remove a format from the list."""
    del FORMATS[name]


def identify(file: BinaryIO) -> Format | None:
    """Return the format of an open file by its content, None if it is not one that is read."""
    file.seek(0)
    head = file.read(HEAD_BYTES)
    if foreign_format(head):
        return None
    for entry in FORMATS.values():
        if entry.begins(head) and (entry.confirm is None or entry.confirm(file)):
            return entry
    return None


def identify_store(folder: Path) -> Format | None:
    """Return the format of a folder that holds a stack by itself, None for any other folder."""
    for entry in FORMATS.values():
        if entry.is_store is not None and entry.is_store(folder):
            return entry
    return None


def claimed_kind(name: str) -> Kind | None:
    """Return what a file claims to be by the end of its name, if that is a picture or RAW."""
    ending = Path(name).suffix.lower()
    for entry in FORMATS.values():
        if ending in entry.suffixes and entry.kind in ("picture", "raw"):
            return entry.kind
    return None


def kind_of(path: Path) -> Kind | None:
    """Return what a file or store counts as by its content, None if it cannot be read."""
    with contextlib.suppress(OSError):
        if path.is_dir():
            found = identify_store(path)
        else:
            with open_regular(path) as file:
                found = identify(file)
        return None if found is None else found.kind
    return None


def foreign_format(head: bytes) -> str | None:
    """Return the name, with article, of a known format that is not read, or None."""
    for offset, magic, name in FOREIGN:
        if head[offset:].startswith(magic):
            return name
    return None


def readable(stores: bool = True) -> str:
    """Return what can be read, for people: “PNG, JPEG, … or NPZ”.

    Parameters
    ----------
    stores : bool
        With formats that are folders.
    """
    *names, last = (e.title for e in FORMATS.values() if stores or e.is_store is None)
    return f"{', '.join(names)} or {last}"


def extras() -> dict[str, str]:
    """Return the extras of varfocus that read more formats, each with a module to test for."""
    found: dict[str, str] = {}
    for entry in FORMATS.values():
        if entry.extra:
            found.setdefault(entry.extra, entry.library)
    return found


def markdown() -> str:
    """Return the list of formats as it stands in the README."""
    rows = ["| | | with | focus steps and pixel size from |", "|---|---|---|---|"]
    for entry in FORMATS.values():
        with_ = f"`varfocus[{entry.extra}]`" if entry.extra else "–"
        title = entry.title[0].upper() + entry.title[1:]
        rows.append(f"| {title} | {entry.about} | {with_} | {entry.calibration or '–'} |")
    return "\n".join(rows)
