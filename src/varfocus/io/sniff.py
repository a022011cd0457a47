"""Tell the format of a file by its first bytes, never by its name."""

from __future__ import annotations

HEAD_BYTES = 18
"""How many bytes `format_of` needs."""

_BMP_HEADER_SIZES = (12, 40, 52, 56, 64, 108, 124)
_TIFF_STARTS = (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+")
_FOREIGN = (
    (0, b"GIF8", "a GIF"),
    (8, b"WEBP", "a WebP"),
    (4, b"ftyp", "a HEIC, AVIF or video"),
    (8, b"CR\x02\0", "a Canon RAW"),
    (0, b"FUJIFILM", "a Fujifilm RAW"),
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
        "PNG", "JPEG", "TIFF", "BMP", or None for anything else.
    """
    if head.startswith(b"\x89PNG\r\n\x1a\n"):
        return "PNG"
    if head.startswith(b"\xff\xd8\xff"):
        return "JPEG"
    # Canon's CR2 is a TIFF that shows only a preview, so it is not taken for one.
    if head.startswith(_TIFF_STARTS) and head[8:12] != b"CR\x02\0":
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
