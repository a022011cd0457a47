"""Tell the format of a file by its first bytes, never by its name."""

from __future__ import annotations

HEAD_BYTES = 18
"""How many bytes `format_of` needs."""

_BMP_HEADER_SIZES = (12, 40, 52, 56, 64, 108, 124)
_TIFF_STARTS = (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+")
_CAMERAS = (
    (8, b"CR\x02\0"),  # Canon CR2: a TIFF that shows only a preview
    (4, b"ftypcrx "),  # Canon CR3
    (0, b"FUJIFILM"),
    (0, b"IIRO"),  # Olympus
    (0, b"IIRS"),
    (0, b"MMOR"),
    (0, b"IIU\0"),  # Panasonic
    (0, b"\0MRM"),  # Minolta
)
_FOREIGN = (
    (0, b"GIF8", "a GIF"),
    (8, b"WEBP", "a WebP"),
    (4, b"ftyp", "a HEIC, AVIF or video"),
    (0, b"8BPS", "a Photoshop"),
    (0, b"%PDF", "a PDF"),
)


def format_of(head: bytes) -> str | None:
    """Return what an image file starting with `head` is.

    Parameters
    ----------
    head : bytes
        The first `HEAD_BYTES` bytes, or the whole file if it is shorter.

    Returns
    -------
    str or None
        "PNG", "JPEG", "TIFF", "BMP", "RAW" (of a camera; those that are TIFF count as such here),
        or None for anything else.
    """
    if any(head[offset:].startswith(magic) for offset, magic in _CAMERAS):
        return "RAW"
    if head.startswith(b"\x89PNG\r\n\x1a\n"):
        return "PNG"
    if head.startswith(b"\xff\xd8\xff"):
        return "JPEG"
    if head.startswith(_TIFF_STARTS):
        return "TIFF"
    # "BM" alone also starts many a text.
    if head.startswith(b"BM") and int.from_bytes(head[14:18], "little") in _BMP_HEADER_SIZES:
        return "BMP"
    return None


def foreign_format(head: bytes) -> str | None:
    """Return the name, with article, of a known format that is not read, or None."""
    for offset, magic, name in _FOREIGN:
        if head[offset:].startswith(magic):
            return name
    return None
