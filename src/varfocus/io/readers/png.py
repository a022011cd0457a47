"""PNG: the chunks are checked here, the pixels decoded by imagecodecs, exact to 16 bits.

libpng stops after the last pixel and never misses the end of a file that was cut there, so the
chunk structure is walked up to IEND first. That also finds an orientation stored after the
pixels. Checksums are verified here, too, and only chunks that make pixels are handed on: libpng
prints its complaints about the others, such as colour profiles, straight to stderr.
"""

from __future__ import annotations

import io
import struct
import zlib
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from varfocus.io.border import damaged, exactly, library
from varfocus.io.header import Header
from varfocus.io.orientation import UPRIGHT, exif_orientation
from varfocus.stack import without_alpha

_SIGNATURE_BYTES = 8
_PALETTE = 3
_MAX_EXIF = 2**20
# colour type: bit depths it may have, and whether it is colour
_COLOUR_TYPES = {
    0: ((1, 2, 4, 8, 16), False),
    2: ((8, 16), True),
    _PALETTE: ((1, 2, 4, 8), True),
    4: ((8, 16), False),
    6: ((8, 16), True),
}

_SAMPLES = {0: 1, 2: 3, _PALETTE: 1, 4: 2, 6: 4}
_MOST_DEFLATED = 1032
"""Bytes that one byte of deflate can stand for at the very most."""


def probe(file: BinaryIO) -> list[Header]:
    """Return the properties of the one frame in a PNG file."""
    file.seek(_SIGNATURE_BYTES)
    width, height, depth, colour_type = _image_header(file)
    orientation, seen, compressed = UPRIGHT, set(), 0
    while True:
        length, kind = _chunk_start(file)
        seen.add(kind)
        compressed += length if kind == b"IDAT" else 0
        if kind == b"eXIf" and length <= _MAX_EXIF:
            orientation = exif_orientation(_checked_content(file, length, kind))
        else:
            # Reading the last byte of the checksum shows whether the chunk is complete.
            file.seek(length + 3, io.SEEK_CUR)
            exactly(file, 1)
        if kind == b"IEND":
            break
    if b"IDAT" not in seen:
        raise damaged("has no pixels")
    if colour_type == _PALETTE and b"PLTE" not in seen:
        raise damaged("has no palette")
    dtype = np.dtype(np.uint16 if depth == 16 else np.uint8)
    header = Header(width, height, _COLOUR_TYPES[colour_type][1], dtype, orientation)
    claimed = height * (width * depth * _SAMPLES[colour_type] // 8)
    if claimed > _MOST_DEFLATED * compressed:
        raise damaged(
            f"claims {width}×{height} pixels in {compressed} compressed bytes, which cannot be"
        )
    return [header]


def decode(file: BinaryIO, header: Header) -> NDArray[Any]:
    """Decode the pixels, without alpha, as stored."""
    import imagecodecs

    data = io.BytesIO(file.read())
    if probe(data) != [header]:
        raise damaged("changed since it was looked at")
    critical = _critical_chunks(data)
    with library("libpng"):
        return without_alpha(imagecodecs.png_decode(critical))


def _critical_chunks(file: BinaryIO) -> bytes:
    """Return the PNG without the chunks that do not matter for its pixels.

    Transparency is one of these, as alpha is dropped anyway.
    """
    file.seek(0)
    parts = [file.read(_SIGNATURE_BYTES)]
    kind = b""
    while kind != b"IEND":
        length, kind = _chunk_start(file)
        if kind[:1].islower():  # ancillary, by the rules of PNG
            file.seek(length + 4, io.SEEK_CUR)
        else:
            content = _checked_content(file, length, kind)
            parts.append(struct.pack(">I4s", length, kind))
            parts.append(content)
            parts.append(struct.pack(">I", zlib.crc32(content, zlib.crc32(kind))))
    return b"".join(parts)


def _image_header(file: BinaryIO) -> tuple[int, int, int, int]:
    """Read IHDR, which must come first, and check that it is valid."""
    length, kind = _chunk_start(file)
    if (length, kind) != (13, b"IHDR"):
        raise damaged("is a PNG without header")
    content = _checked_content(file, length, kind)
    width, height, depth, colour_type = struct.unpack(">IIBB", content[:10])
    if colour_type not in _COLOUR_TYPES or depth not in _COLOUR_TYPES[colour_type][0]:
        raise damaged(f"claims {depth} bits of colour type {colour_type}")
    return width, height, depth, colour_type


def _chunk_start(file: BinaryIO) -> tuple[int, bytes]:
    length, kind = struct.unpack(">I4s", exactly(file, 8))
    if not kind.isalpha() or length >= 2**31:
        raise damaged("has a damaged chunk")
    return length, kind


def _checked_content(file: BinaryIO, length: int, kind: bytes) -> bytes:
    content = exactly(file, length)
    (checksum,) = struct.unpack(">I", exactly(file, 4))
    if zlib.crc32(content, zlib.crc32(kind)) != checksum:
        raise damaged(f"has a damaged {kind.decode()} chunk")
    return content
