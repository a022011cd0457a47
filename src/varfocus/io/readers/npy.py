"""NumPy's arrays in files: NPY plane by plane, NPZ from the start. Never a pickle."""

from __future__ import annotations

import io
import math
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from varfocus.errors import UnreadableFrameError
from varfocus.files import open_regular
from varfocus.io.border import RefusedError, damaged, exactly, library, unsupported
from varfocus.io.contents import Contents, decoder
from varfocus.io.header import Header
from varfocus.io.planes import InTurn, finished, headers_of, stack_shape
from varfocus.io.selection import Selection, Series, choose

_VERSION = (1, 0)
"""Later ones differ in the length of their header, which NumPy would read whatever it claims."""


@dataclass(frozen=True)
class Array:
    """What an NPY header says.

    Parameters
    ----------
    frames : int
        How many.
    shape : tuple of int
        Of one frame.
    dtype : numpy.dtype
        As stored.
    start : int
        Where the pixels begin.
    """

    frames: int
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    start: int

    @property
    def frame_bytes(self) -> int:
        """Bytes of one frame."""
        return math.prod(self.shape) * self.dtype.itemsize

    def frame(self, content: bytes) -> NDArray[Any]:
        """Return the pixels in these bytes."""
        return finished(np.frombuffer(content, self.dtype).reshape(self.shape))


def look_npy(path: Path, selection: Selection) -> Contents:
    """Return the frames of an array in an NPY file: see `contents`."""
    with open_regular(path) as file:
        return contents(file, path, selection)


def contents(file: BinaryIO, path: Path, selection: Selection) -> Contents:
    """Return the frames of an array ``(n, H, W)`` or ``(n, H, W, C)`` in an NPY file."""
    array = _array(file)
    choose([Series(path.name, array.frames)], selection)
    missing = array.start + array.frames * array.frame_bytes - file.seek(0, io.SEEK_END)
    if missing > 0:
        raise damaged(f"ends early, {missing} bytes are missing")
    return Contents(
        headers_of(array.frames, array.shape, array.dtype), decoder(path, partial(_decode, array))
    )


def look_npz(path: Path, selection: Selection) -> Contents:
    """Return the frames of the one stack in an NPZ file, or of the one that is named."""
    found: dict[str, Array] = {}
    with library("zipfile"), zipfile.ZipFile(path) as archive:
        for info in archive.infolist():
            if not info.filename.endswith(".npy"):
                continue
            _check_compression(info)
            with archive.open(info) as member:
                try:
                    array = _array(member)
                except RefusedError:  # focus positions, names, ...
                    continue
            if info.file_size < array.start + array.frames * array.frame_bytes:
                raise damaged(f"ends within the array {info.filename[:-4]}")
            found[info.filename] = array
    if not found:
        raise unsupported("is a ZIP without stack of frames", "expected an NPZ with one")
    names = list(found)
    choice = choose([Series(name[:-4], found[name].frames) for name in names], selection)
    name = names[choice.series]
    array = found[name]
    return Contents(
        headers_of(array.frames, array.shape, array.dtype),
        InTurn(partial(_in_turn, path, name, array)),
    )


def _in_turn(path: Path, name: str, array: Array) -> Iterator[NDArray[Any]]:
    with library("zipfile"), zipfile.ZipFile(path) as archive, archive.open(name) as member:
        if _array(member) != array:
            raise damaged("changed since it was looked at")
        for _ in range(array.frames):
            yield array.frame(exactly(member, array.frame_bytes))


def _decode(array: Array, file: BinaryIO, header: Header) -> NDArray[Any]:
    if _array(file) != array:
        raise damaged("changed since it was looked at")
    file.seek(array.start + header.page * array.frame_bytes)
    return array.frame(exactly(file, array.frame_bytes))


def read_map(path: Path) -> NDArray[Any]:
    """Return an array ``(H, W)`` of real numbers: that of an NPY file, or the first of an NPZ.

    Raises
    ------
    RefusedError
        If there is none, or it is larger than a frame may be.
    """
    with open_regular(path) as file, library("NumPy"):
        if not zipfile.is_zipfile(file):
            file.seek(0)
            return _map(file)
        with zipfile.ZipFile(file) as archive:
            infos = [info for info in archive.infolist() if info.filename.endswith(".npy")]
            if not infos:
                raise unsupported("is a ZIP without array", "expected an NPZ with one")
            _check_compression(infos[0])
            with archive.open(infos[0]) as member:
                return _map(member)


def _map(file: IO[bytes]) -> NDArray[Any]:
    shape, fortran, dtype = _npy_header(file)
    if len(shape) != 2 or dtype.kind not in "fiu":
        raise unsupported(f"holds {dtype} of shape {shape}", "expected one real number per pixel")
    Header(shape[1], shape[0], False, np.dtype(np.float32))  # refuses what exceeds the limits
    content = exactly(file, math.prod(shape) * dtype.itemsize)
    return np.frombuffer(content, dtype).reshape(shape, order="F" if fortran else "C")


def _check_compression(info: zipfile.ZipInfo) -> None:
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        # The others are unpacked without bounds; NumPy never writes them.
        raise unsupported("is a ZIP of another compression", "expected Deflate, or none")


def _npy_header(file: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Return shape, whether columns come first, and number type."""
    with library("NumPy"):
        version = np.lib.format.read_magic(file)
        if version != _VERSION:
            raise unsupported(
                f"is an NPY file of version {version}", "expected version 1.0, as np.save writes it"
            )
        shape, fortran, dtype = np.lib.format.read_array_header_1_0(file)
    if dtype.hasobject:
        raise RefusedError(
            UnreadableFrameError,
            "holds Python objects, which could do anything when loaded",
            "expected an array of numbers",
            "Save the frames as one array of numbers.",
        )
    return shape, fortran, dtype


def _array(file: IO[bytes]) -> Array:
    shape, fortran, dtype = _npy_header(file)
    start = file.tell()
    frames, frame = stack_shape(shape)
    if fortran:
        raise RefusedError(
            UnreadableFrameError,
            "is stored column by column, so that a frame is scattered over the file",
            "expected frames one after the other",
            "Save it again: np.save(name, np.ascontiguousarray(frames)).",
        )
    headers_of(1, frame, dtype)  # refuses what cannot be a frame
    return Array(frames, frame, dtype, start)
