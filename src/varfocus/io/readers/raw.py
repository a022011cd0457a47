"""Camera RAW: developed by LibRaw with the same settings for every frame.

Nothing may follow the content of a single frame, or its brightness would change with its focus:
no automatic brightness, a fixed white level, and one white balance for the whole stack, that of
its first frame.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from varfocus.errors import MissingExtraError
from varfocus.io.border import damaged, library
from varfocus.io.header import Header
from varfocus.io.orientation import UPRIGHT

if TYPE_CHECKING:
    from rawpy import RawPy

MAGIC = (
    (8, b"CR\x02\0"),  # Canon CR2: a TIFF that shows only a preview
    (4, b"ftypcrx "),  # Canon CR3
    (0, b"FUJIFILM"),
    (0, b"IIRO"),  # Olympus
    (0, b"IIRS"),
    (0, b"MMOR"),
    (0, b"IIU\0"),  # Panasonic
    (0, b"\0MRM"),  # Minolta
)
"""How files of cameras begin that are no TIFFs, or not to be read as such."""

_ORIENTATIONS = {0: UPRIGHT, 3: 3, 5: 8, 6: 6}
"""LibRaw's names of the four turns, as EXIF calls them."""


def probe(file: BinaryIO) -> list[Header]:
    """Return the properties of the one frame in a camera's file."""
    with _opened(file) as raw:
        return [_header(raw)]


def decode(file: BinaryIO, header: Header) -> NDArray[Any]:
    """Develop the picture: sRGB with 16 bits, not turned."""
    with _opened(file) as raw:
        seen = _header(raw)
        if (seen.shape, seen.colour) != (header.shape, header.colour):
            raise damaged("changed since it was looked at")
        with library("LibRaw"):
            pixels = raw.postprocess(
                user_wb=list(header.white_balance),
                no_auto_bright=True,
                adjust_maximum_thr=0.0,
                output_bps=16,
                user_flip=0,
            )
    return np.asarray(pixels)


def _opened(file: BinaryIO) -> RawPy:
    try:
        import rawpy
    except ImportError as error:
        raise MissingExtraError("camera RAW files", "rawpy", "raw") from error
    file.seek(0)
    with library("LibRaw"):
        return rawpy.imread(file)


def _header(raw: RawPy) -> Header:
    with library("LibRaw"):
        sizes, balance = raw.sizes, tuple(float(factor) for factor in raw.camera_whitebalance)
    if len(balance) != 4 or not all(np.isfinite(balance)) or not balance[0] > 0:
        balance = (1.0, 1.0, 1.0, 1.0)
    return Header(
        sizes.iwidth,
        sizes.iheight,
        True,
        np.dtype(np.uint16),
        _ORIENTATIONS.get(sizes.flip, UPRIGHT),
        white_balance=balance,
    )
