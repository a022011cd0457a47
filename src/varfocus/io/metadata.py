"""What a photograph says about itself beside its pixels: EXIF and colour profile.

Read from a frame and carried over to the fused or aligned image, with what would be wrong or
private there left out: orientation (pixels are upright already), thumbnail, maker notes, and the
place.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

from varfocus.clean import CleanFrame
from varfocus.io.frames import FileFrame
from varfocus.stack import FocusStack

_EXIF_IFD, _GPS_IFD = 0x8769, 0x8825
_DESCRIPTION = 0x010E
# Of the first directory only what describes the picture, for in a TIFF it also says how the pixels
# are stored: description, maker, model, date, artist, copyright.
_KEPT = (_DESCRIPTION, 0x010F, 0x0110, 0x0132, 0x013B, 0x8298)
# Maker note (its offsets break, and it may reveal the place), size in pixels, and interoperability.
_DROPPED = (0x927C, 0xA002, 0xA003, 0xA005)
_FORMATS = ("PNG", "JPEG", "TIFF", "BMP")
"""Pillow would try every format it knows, and some of them start other programs."""
_SPACES = {1: b"GRAY", 3: b"RGB "}


@dataclass(frozen=True)
class Metadata:
    """What is carried over.

    Parameters
    ----------
    exif : bytes
        A TIFF structure without the prefix that JPEG puts before it; empty if there is none.
    icc : bytes
        Colour profile that fits the channels of the frames; empty if there is none.
    """

    exif: bytes = b""
    icc: bytes = b""


def read_metadata(stack: FocusStack, keep_gps: bool = False, number: int = 0) -> Metadata:
    """Return the metadata of a frame.

    Parameters
    ----------
    stack : FocusStack
        Frames; those in memory have none.
    keep_gps : bool
        Keep where the picture was taken.
    number : int
        Which frame, counted from 0; by default the first.

    Returns
    -------
    Metadata
        Empty where the file has none, or none that can be read: no reason to fail.
    """
    frame = stack.frames[number]
    if isinstance(frame, CleanFrame):
        frame = frame.frame
    if not isinstance(frame, FileFrame):
        return Metadata()
    return frame_metadata(frame, stack.channels, keep_gps)


def frame_metadata(frame: FileFrame, channels: int, keep_gps: bool = False) -> Metadata:
    """Return the metadata of one file, whose picture has so many channels."""
    from PIL import Image

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with Image.open(frame.path, formats=_FORMATS) as image:
                icc = image.info.get("icc_profile") or b""
                exif = image.getexif()
                if frame.format == "TIFF":  # microscopes keep the layout of the file there
                    exif.pop(_DESCRIPTION, None)
                block = _selected(exif, keep_gps)
    except Exception:
        return Metadata()
    return Metadata(block, icc if icc[16:20] == _SPACES[channels] else b"")


def _selected(exif: Any, keep_gps: bool) -> bytes:
    """Return the EXIF block that is to be written."""
    from PIL import Image

    kept = Image.Exif()
    for tag in _KEPT:
        if tag in exif:
            kept[tag] = exif[tag]
    shot = {tag: value for tag, value in exif.get_ifd(_EXIF_IFD).items() if tag not in _DROPPED}
    if shot:
        kept[_EXIF_IFD] = shot
    place = dict(exif.get_ifd(_GPS_IFD))
    if keep_gps and place:
        kept[_GPS_IFD] = place
    return kept.tobytes().removeprefix(b"Exif\0\0") if len(kept) else b""
