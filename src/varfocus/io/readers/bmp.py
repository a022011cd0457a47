"""BMP: header and pixels by Pillow, after a check that all rows are there.

Pillow's file class is used directly: ``Image.open`` would add the decompression-bomb warning,
which `varfocus.params.Limits` replaces.
"""

from __future__ import annotations

import io
import struct
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from varfocus.io.border import damaged, library, unsupported
from varfocus.io.header import Header

if TYPE_CHECKING:
    from PIL.BmpImagePlugin import BmpImageFile

_GREY_MODES = ("1", "L")
_HEADER_SIZES = (12, 40, 52, 56, 64, 108, 124)


def sniff(head: bytes) -> bool:
    """Tell a BMP from a text: "BM" alone also starts many of those."""
    return int.from_bytes(head[14:18], "little") in _HEADER_SIZES


def probe(file: BinaryIO) -> list[Header]:
    """Return the properties of the one frame in a BMP file."""
    image = _open(file)
    header = Header(*image.size, image.mode not in _GREY_MODES, np.dtype(np.uint8))
    _check_rows(file, image)
    return [header]


def decode(file: BinaryIO, header: Header) -> NDArray[Any]:
    """Decode the pixels, without alpha."""
    # In memory, so that Pillow does not map the file, which may change under it.
    data = io.BytesIO(file.read())
    if probe(data) != [header]:
        raise damaged("changed since it was looked at")
    image = _open(data)
    with library("Pillow"):
        return np.asarray(image.convert("RGB" if header.colour else "L"))


def _open(file: BinaryIO) -> BmpImageFile:
    from PIL.BmpImagePlugin import BmpImageFile

    file.seek(0)
    with library("Pillow"):
        return BmpImageFile(file)


def _check_rows(file: BinaryIO, image: BmpImageFile) -> None:
    """Refuse pixel data that ends early or that Pillow would misread."""
    bits = _bits_per_pixel(file)
    decoder, _, offset, args = image.tile[0]
    if decoder != "raw":  # run lengths: only decoding shows it
        return
    # Pillow drops a palette of greys and then forgets how many bits an index has.
    if image.mode in _GREY_MODES and bits != {"1": 1, "L": 8}[image.mode]:
        raise unsupported(f"is a BMP of {bits} bits with a palette of {image.mode} greys")
    assert isinstance(args, tuple)
    stride = args[1]
    last_row = (image.width * bits + 7) // 8
    missing = offset + stride * (image.height - 1) + last_row - file.seek(0, io.SEEK_END)
    if missing > 0:
        raise damaged(f"ends early, {missing} bytes are missing")


def _bits_per_pixel(file: BinaryIO) -> int:
    file.seek(14)
    head = file.read(16)
    old = head[:4] == struct.pack("<I", 12)
    (bits,) = struct.unpack_from("<H", head, 10 if old else 14)
    return int(bits)
