"""Frames in files: properties read at once, pixels when asked for."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from varfocus.errors import InputError, TooLargeError, UnreadableFrameError
from varfocus.files import open_regular
from varfocus.io.border import border, damaged, too_large
from varfocus.io.contents import Calibration, ReadPage, ReadWindow
from varfocus.io.formats import (
    HEAD_BYTES,
    Format,
    foreign_format,
    identify,
    identify_store,
    readable,
)
from varfocus.io.header import Header
from varfocus.io.limits import in_force, within
from varfocus.io.orientation import oriented
from varfocus.io.selection import UNSAID, Selection
from varfocus.params import DEFAULT_LIMITS, Limits
from varfocus.units import size_words


@dataclass(frozen=True)
class FileFrame:
    """One frame of a stack in a file.

    Parameters
    ----------
    path : Path
        The file.
    format : str
        As `varfocus.io.formats` calls it: "PNG", "TIFF", "NPY", …
    header : Header
        What the file says about the frame.
    decode : callable
        Returns the pixels as stored, given the header.
    pages : int
        How many frames the file has.
    limits : Limits
        In force while it is decoded, as they were when its header was read.
    decode_window : callable, optional
        Returns a part of the pixels as stored, given the header, rows and columns.
    """

    path: Path
    format: str
    header: Header
    decode: ReadPage
    pages: int = 1
    limits: Limits = DEFAULT_LIMITS
    decode_window: ReadWindow | None = None

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
        with within(self.limits), border(self.path):
            most = self.limits.max_pixels
            if self.header.width * self.header.height > most:
                raise too_large(
                    f"has {self.header.width}×{self.header.height} pixels",
                    f"{most} pixels in a frame that is decoded whole; larger ones go through "
                    "varfocus depth in tiles",
                    "--max-pixels",
                )
            pixels = oriented(self.decode(self.header), self.header.orientation)
            if (pixels.shape, pixels.dtype) != (self.shape, self.dtype):
                raise damaged(f"decoded to {pixels.shape} {pixels.dtype}, unlike its header")
        return pixels

    @property
    def windowed(self) -> bool:
        """Whether parts can be decoded without the rest."""
        return self.decode_window is not None and self.header.windowed

    def read_window(self, rows: slice, columns: slice) -> NDArray[Any]:
        """Decode some rows and columns of the upright frame.

        Parameters
        ----------
        rows, columns : slice
            With a start and a stop within the frame, and no step.

        Returns
        -------
        ndarray
            What ``read()[rows, columns]`` would be.
        """
        if self.decode_window is None or not self.windowed:
            return self.read()[rows, columns]
        with border(self.path):
            pixels = self.decode_window(self.header, rows, columns)
            expected = (rows.stop - rows.start, columns.stop - columns.start, *self.shape[2:])
            if (pixels.shape, pixels.dtype) != (expected, self.dtype):
                raise damaged(f"decoded to {pixels.shape} {pixels.dtype}, unlike its header")
        return np.require(pixels, requirements=["C", "W"])


@dataclass(frozen=True)
class Found:
    """The frames of a stack and what their files say about them.

    Parameters
    ----------
    frames : sequence of FileFrame
        In order, not yet compared with each other.
    calibration : Calibration
        Sizes in the scene.
    """

    frames: Sequence[FileFrame]
    calibration: Calibration


def probe_files(paths: Sequence[Path], selection: Selection = UNSAID) -> Found:
    """Return the frames in these files, in order, without decoding any.

    Parameters
    ----------
    paths : sequence of Path
        Files of one frame each, or a single file that holds a stack.
    selection : Selection
        Which stack is meant, where a file holds several.

    Raises
    ------
    InputError, TooLargeError
        If a file is not a readable image, or several files of which one has more pages.
    """
    if len(paths) > (most := in_force().max_frames):
        raise TooLargeError(
            f"{paths[0].parent}: {len(paths)} frames",
            f"expected at most {most}",
            "Give a part of the frames, or raise --max-frames.",
        )
    files = [_probe(path, selection) for path in paths]
    if len(files) == 1:
        return files[0]
    for found in files:
        if len(found.frames) > 1:
            raise InputError(
                f"{found.frames[0].path}: has {len(found.frames)} pages and is one of "
                f"{len(files)} files",
                "expected either one multi-page file or files of one frame each",
                "Give the multi-page file alone.",
            )
    frames = _developed_alike([frame for found in files for frame in found.frames])
    sizes = {(found.calibration.pixel_size, found.calibration.pixel_size_origin) for found in files}
    # What single pictures say about focus steps belongs to the stack they were taken from.
    size, origin = sizes.pop() if len(sizes) == 1 else (None, "")
    return Found(
        frames,
        Calibration(pixel_size=size, pixel_size_origin=origin),
    )


def _probe(path: Path, selection: Selection) -> Found:
    with border(path):
        if path.is_dir():
            found = identify_store(path)
            if found is None:
                raise UnreadableFrameError(
                    f"{path}: is a folder",
                    f"expected a {readable()} file",
                    "Give the folder alone, or list its files.",
                )
        else:
            found = _recognised(path)
        contents = found.look(path, selection)
        if not contents.headers:
            raise damaged("holds no frame")
    frames = [
        FileFrame(
            path,
            found.name,
            header,
            contents.read,
            len(contents.headers),
            in_force(),
            contents.read_window,
        )
        for header in contents.headers
    ]
    return Found(frames, contents.calibration)


def _developed_alike(frames: list[FileFrame]) -> list[FileFrame]:
    """Return the frames, camera RAW files all developed with the white balance of the first."""
    balances = [frame.header.white_balance for frame in frames if frame.header.white_balance]
    return [
        replace(frame, header=replace(frame.header, white_balance=balances[0]))
        if frame.header.white_balance
        else frame
        for frame in frames
    ]


def _recognised(path: Path) -> Format:
    """Return the format of a file by its content."""
    if path.exists() and not path.is_file():  # opening a pipe would wait for ever
        raise UnreadableFrameError(f"{path}: is not a regular file", f"expected {readable()}")
    with open_regular(path) as file:
        _check_size(file)
        found = identify(file)
        if found is None:
            file.seek(0)
            raise _not_an_image(path, file.read(HEAD_BYTES))
    return found


def _check_size(file: BinaryIO) -> None:
    """Refuse a file that is larger than the limit, before any of it is read."""
    size, most = file.seek(0, io.SEEK_END), in_force().file_bytes
    if size > most:
        raise too_large(f"has {size_words(size)}", f"{size_words(most)} a file", "--max-file-size")


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
        f"expected {readable()}, recognised by content and not by name",
        "Convert it, copy it again, or leave it out.",
    )
