"""Tell the format of a file by its first bytes, never by its name."""

from __future__ import annotations

HEAD_BYTES = 200
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
_VIDEOS = (
    (4, b"ftyp"),  # MP4, QuickTime
    (4, b"moov"),
    (4, b"mdat"),
    (0, b"\x1aE\xdf\xa3"),  # Matroska, WebM
    (8, b"AVI "),
    (0, b"FLV\x01"),
    (0, b"OggS"),
    (0, b"\0\0\x01\xba"),  # MPEG
    (0, b"0&\xb2u\x8ef\xcf\x11"),  # Windows Media
    (0, b"YUV4MPEG2 "),
)
_OTHERS = (
    (0, b"\x93NUMPY", "NPY"),
    (0, b"PK\x03\x04", "NPZ"),
    (0, b"\xda\xce\xbe\n", "ND2"),
    (0, b"ZISRAWFILE", "CZI"),
)
_TRANSPORT_PACKETS = (0, 188), (4, 196)
"""Where an MPEG transport stream repeats its mark, without and with time codes."""
_FOREIGN = (
    (0, b"GIF8", "a GIF"),
    (8, b"WEBP", "a WebP"),
    (4, b"ftypheic", "a HEIC"),
    (4, b"ftypheix", "a HEIC"),
    (4, b"ftypmif1", "a HEIC or AVIF"),
    (4, b"ftypavif", "an AVIF"),
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
        "video", "NPY", "NPZ" (or any other ZIP), "ND2", "CZI", "LIF"; None for anything else.
    """
    if foreign_format(head):
        return None
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
    for offset, magic, kind in _OTHERS:
        if head[offset:].startswith(magic):
            return kind
    if head.startswith(b"\x70\0\0\0") and head[8:9] == b"\x2a":
        return "LIF"
    if any(head[offset:].startswith(magic) for offset, magic in _VIDEOS):
        return "video"
    if any(all(head[at : at + 1] == b"G" for at in marks) for marks in _TRANSPORT_PACKETS):
        return "video"
    return None


def foreign_format(head: bytes) -> str | None:
    """Return the name, with article, of a known format that is not read, or None."""
    for offset, magic, name in _FOREIGN:
        if head[offset:].startswith(magic):
            return name
    return None
