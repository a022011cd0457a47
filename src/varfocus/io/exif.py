"""What varfocus reads from an EXIF block: how the camera was held, and how far it focused."""

from __future__ import annotations

import struct

_PREFIX = b"Exif\0\0"
_ORIENTATION, _EXIF_DIRECTORY, _SUBJECT_DISTANCE = 0x0112, 0x8769, 0x9206
_SHORT, _LONG, _RATIONAL = 3, 4, 5
_INFINITY = 0xFFFFFFFF


def stored_orientation(exif: bytes) -> int | None:
    """Return the orientation tag of an EXIF block, None if there is none or it is damaged.

    Parameters
    ----------
    exif : bytes
        A TIFF structure, with or without the prefix JPEG puts before it.
    """
    exif, order = _block(exif)
    value = _entry(exif, order, _first(exif, order), _ORIENTATION, _SHORT)
    return None if value is None else int(struct.unpack(order + "H", value[:2])[0])


def subject_distance(exif: bytes) -> float | None:
    """Return the distance in metres that the camera says it was focused at, None if unknown.

    Most cameras round it coarsely or leave it out, so it is never more than a hint.
    """
    exif, order = _block(exif)
    pointer = _entry(exif, order, _first(exif, order), _EXIF_DIRECTORY, _LONG)
    if pointer is None:
        return None
    (directory,) = struct.unpack(order + "I", pointer)
    where = _entry(exif, order, directory, _SUBJECT_DISTANCE, _RATIONAL)
    if where is None:
        return None
    try:
        (at,) = struct.unpack(order + "I", where)
        numerator, denominator = struct.unpack_from(order + "II", exif, at)
    except struct.error:  # the block ends early
        return None
    if 0 in (numerator, denominator) or numerator == _INFINITY:
        return None
    return float(numerator / denominator)


def _block(exif: bytes) -> tuple[bytes, str]:
    exif = exif.removeprefix(_PREFIX)
    return exif, {b"II*\0": "<", b"MM\0*": ">"}.get(exif[:4], "")


def _first(exif: bytes, order: str) -> int:
    """Return where the first directory is; 0, where none can be, if that is unknown."""
    return int(struct.unpack_from(order + "I", exif, 4)[0]) if order and len(exif) >= 8 else 0


def _entry(exif: bytes, order: str, directory: int, tag: int, kind: int) -> bytes | None:
    """Return the four bytes of an entry that hold its value, or the offset of its value."""
    if not directory:
        return None
    try:
        (count,) = struct.unpack_from(order + "H", exif, directory)
        for entry in range(directory + 2, directory + 2 + 12 * count, 12):
            found = struct.unpack_from(order + "HHI4s", exif, entry)
            if found[:2] == (tag, kind):
                return bytes(found[3])
    except struct.error:  # the block ends early
        pass
    return None
