"""Frames in files: properties read at once, pixels when asked for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from varfocus.errors import InputError, TooLargeError, UnreadableFrameError
from varfocus.io import bmp, jpeg, png, tiff
from varfocus.io.border import FORMATS, border, damaged
from varfocus.io.header import Header
from varfocus.io.limits import MAX_FRAMES
from varfocus.io.orientation import oriented
from varfocus.io.sniff import HEAD_BYTES, foreign_format, format_of


class Codec(NamedTuple):
    """How one format is read."""

    probe: Callable[[BinaryIO], list[Header]]
    decode: Callable[[BinaryIO, Header], NDArray[Any]]


CODECS = {
    "PNG": Codec(png.probe, png.decode),
    "JPEG": Codec(jpeg.probe, jpeg.decode),
    "TIFF": Codec(tiff.probe, tiff.decode),
    "BMP": Codec(bmp.probe, bmp.decode),
}


@dataclass(frozen=True)
class FileFrame:
    """One frame of a stack in a file.

    Parameters
    ----------
    path : Path
        The file.
    format : str
        "PNG", "JPEG", "TIFF" or "BMP".
    header : Header
        What the file says about the frame.
    pages : int
        How many frames the file has.
    """

    path: Path
    format: str
    header: Header
    pages: int = 1

    @property
    def page(self) -> int:
        """0-based number of the frame in its file."""
        return self.header.page

    @property
    def name(self) -> str:
        """The file's name, with the page for multi-page files: ``stack.tif[3]``."""
        return f"{self.path.name}[{self.page}]" if self.pages > 1 else self.path.name

    @property
    def shape(self) -> tuple[int, ...]:
        """``(H, W)`` or ``(H, W, 3)``, upright."""
        return self.header.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """uint8, uint16 or float32."""
        return self.header.dtype

    def read(self) -> NDArray[Any]:
        """Decode the pixels.

        Returns
        -------
        ndarray
            Of the frame's `shape` and `dtype`.

        Raises
        ------
        InputError
            If the file is gone, changed or damaged.
        """
        with border(self.path):
            with self.path.open("rb") as file:
                pixels = CODECS[self.format].decode(file, self.header)
            pixels = oriented(pixels, self.header.orientation)
            if (pixels.shape, pixels.dtype) != (self.shape, self.dtype):
                raise damaged(f"decoded to {pixels.shape} {pixels.dtype}, unlike its header")
        return pixels


def probe_files(paths: Sequence[Path]) -> list[FileFrame]:
    """Return the frames in these files, in order, without decoding any.

    Parameters
    ----------
    paths : sequence of Path
        Files of one frame each, or a single multi-page file.

    Returns
    -------
    list of FileFrame
        Not yet compared with each other.

    Raises
    ------
    InputError, TooLargeError
        If a file is not a readable image, or several files of which one has more pages.
    """
    if len(paths) > MAX_FRAMES:
        raise TooLargeError(
            f"{paths[0].parent}: {len(paths)} frames",
            f"expected at most {MAX_FRAMES}",
            "Give a part of the frames.",
        )
    files = [_probe(path) for path in paths]
    if len(files) > 1:
        for frames in files:
            if len(frames) > 1:
                raise InputError(
                    f"{frames[0].path}: has {len(frames)} pages and is one of {len(files)} files",
                    "expected either one multi-page file or files of one frame each",
                    "Give the multi-page file alone.",
                )
    return [frame for frames in files for frame in frames]


def _probe(path: Path) -> list[FileFrame]:
    with border(path):
        if path.is_dir():
            raise UnreadableFrameError(
                f"{path}: is a folder",
                f"expected a {FORMATS} file",
                "Give the folder alone, or list its files.",
            )
        if path.exists() and not path.is_file():  # opening a pipe would wait for ever
            raise UnreadableFrameError(f"{path}: is not a regular file", f"expected {FORMATS}")
        with path.open("rb") as file:
            head = file.read(HEAD_BYTES)
            kind = format_of(head)
            if kind is None:
                raise _not_an_image(path, head)
            file.seek(0)
            headers = CODECS[kind].probe(file)
    return [FileFrame(path, kind, header, len(headers)) for header in headers]


def _not_an_image(path: Path, head: bytes) -> UnreadableFrameError:
    foreign = foreign_format(head)
    if not head:
        what = "is empty"
    elif foreign:
        what = f"is {foreign} file"
    else:
        what = "is not an image, or is damaged at its start"
    return UnreadableFrameError(
        f"{path}: {what}",
        f"expected {FORMATS}, told by content and not by name",
        "Convert it, copy it again, or leave it out.",
    )
