"""Tell what a file is, telling a camera's RAW from other TIFFs as well."""

from __future__ import annotations

from typing import BinaryIO

from varfocus.io import tiff
from varfocus.io.border import RefusedError
from varfocus.io.sniff import HEAD_BYTES, format_of

PICTURES = ("PNG", "JPEG", "TIFF", "BMP")
"""What makes a stack of a folder, whatever else is in it."""

RECORDINGS = ("video", "ND2", "CZI", "LIF")
"""What is taken from a folder that has no pictures."""


def identify(file: BinaryIO) -> str | None:
    """Return the format of an open file by its content, None if it is not one that is read."""
    file.seek(0)
    kind = format_of(file.read(HEAD_BYTES))
    if kind == "TIFF":
        try:
            return "RAW" if tiff.is_camera_raw(file) else kind
        except RefusedError:  # damaged, which whoever reads it will say
            return kind
    return kind
