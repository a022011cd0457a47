"""JPEG: the markers are read here, the pixels decoded by Pillow.

Pillow is the one decoder that notices a missing end. ``Image.frombytes`` is used because it
knows nothing of ``ImageFile.LOAD_TRUNCATED_IMAGES``, which another part of the program may have
set, nor of the decompression-bomb warning, which `varfocus.params.Limits` replaces.
"""

from __future__ import annotations

import io
import struct
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from varfocus.io.border import damaged, exactly, library, unsupported
from varfocus.io.exif import subject_distance
from varfocus.io.header import Header
from varfocus.io.orientation import exif_orientation

_START, _END, _SCAN, _EXIF = 0xD8, 0xD9, 0xDA, 0xE1
_WITHOUT_CONTENT = (0x01, *range(0xD0, 0xD8))
_HUFFMAN_FRAMES = (0xC0, 0xC1, 0xC2)
_ARITHMETIC_FRAMES = (0xC9, 0xCA)
_OTHER_FRAMES = (0xC3, 0xC5, 0xC6, 0xC7, 0xCB, 0xCD, 0xCE, 0xCF)
# components: Pillow's mode, and the layout the decoder fills it from. CMYK is stored inverted by
# every program that writes it.
_MOST_STRAY = 2**20
"""Bytes between markers that are skipped; more, and it is no JPEG that a camera wrote."""
_MODES = {1: ("L", "L"), 3: ("RGB", "RGB"), 4: ("CMYK", "CMYK;I")}


def probe(file: BinaryIO) -> list[Header]:
    """Return the properties of the one frame in a JPEG file."""
    width, height, components, exif = read_markers(file)
    header = Header(
        width,
        height,
        components > 1,
        np.dtype(np.uint8),
        exif_orientation(exif),
        subject_distance=subject_distance(exif),
    )
    _check_claim(file, width, height)
    return [header]


def decode(file: BinaryIO, header: Header) -> NDArray[Any]:
    """Decode the pixels, CMYK converted to RGB, as stored."""
    from PIL import Image

    data = file.read()
    # The decoder must be told the size that is in the very bytes it decodes.
    width, height, components, _ = read_markers(io.BytesIO(data))
    if probe(io.BytesIO(data)) != [header]:
        raise damaged("changed since it was looked at")
    mode, layout = _MODES[components]
    with library("Pillow"):
        image = Image.frombytes(mode, (width, height), data, "jpeg", (layout, ""))
        return np.asarray(image.convert("RGB") if mode == "CMYK" else image)


def _check_claim(file: BinaryIO, width: int, height: int) -> None:
    """Refuse a size that the bytes cannot hold.

    8×8 pixels take one bit at the very least, or, in arithmetic coding, a few hundredths.
    """
    size = file.seek(0, io.SEEK_END)
    if width * height > 64 * 8 * 32 * size:
        raise damaged(f"claims {width}×{height} pixels in {size} bytes, which cannot be")


def read_markers(file: BinaryIO) -> tuple[int, int, int, bytes]:
    """Read a JPEG stream up to its first scan.

    Parameters
    ----------
    file : file object
        At the start of the stream.

    Returns
    -------
    width, height : int
        In pixels.
    components : int
        1, 3 or 4.
    exif : bytes
        The last EXIF block, empty if there is none.
    """
    if exactly(file, 2) != bytes((0xFF, _START)):
        raise damaged("is a JPEG without start")
    frame: tuple[int, int, int] | None = None
    exif = b""
    while (marker := _next_marker(file)) != _SCAN:
        if marker in (_START, _END):
            raise damaged("ends before its pixels")
        if marker in _WITHOUT_CONTENT:
            continue
        content = _content(file)
        if marker in _OTHER_FRAMES:
            raise unsupported("is a lossless or hierarchical JPEG", "expected an ordinary JPEG")
        if marker in _HUFFMAN_FRAMES + _ARITHMETIC_FRAMES:
            if frame is not None:
                raise damaged("has two frame headers")
            frame = _frame(content)
        elif marker == _EXIF and content.startswith(b"Exif\0"):
            exif = content
    if frame is None:
        raise damaged("has no frame header")
    return *frame, exif


def _frame(content: bytes) -> tuple[int, int, int]:
    if len(content) < 6:
        raise damaged("has a damaged frame header")
    precision, height, width, components = struct.unpack(">BHHB", content[:6])
    if precision != 8:
        raise unsupported(f"is a JPEG of {precision} bits", "expected 8 bits")
    if components not in _MODES:
        raise unsupported(f"is a JPEG of {components} components")
    return width, height, components


def _next_marker(file: BinaryIO) -> int:
    """Skip to the next marker, over stray bytes and padding, as libjpeg does, but not for ever."""
    begin = file.tell()
    while file.tell() - begin < _MOST_STRAY:
        while exactly(file, 1) != b"\xff" and file.tell() - begin < _MOST_STRAY:
            pass
        while (code := exactly(file, 1)) == b"\xff" and file.tell() - begin < _MOST_STRAY:
            pass
        if code not in (b"\0", b"\xff"):
            return code[0]
    raise damaged(f"has {_MOST_STRAY} bytes that mean nothing")


def _content(file: BinaryIO) -> bytes:
    (length,) = struct.unpack(">H", exactly(file, 2))
    if length < 2:
        raise damaged("has a damaged marker")
    return exactly(file, length - 2)
