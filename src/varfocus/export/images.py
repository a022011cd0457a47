"""Arrays as the bytes of image files."""

from __future__ import annotations

import io
import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from varfocus.export.result_files import picture_suffix
from varfocus.export.tiff_exif import add_exif
from varfocus.units import PixelSize

_PNG_HEADER_BYTES = 33
"""Signature and IHDR, behind which further chunks may stand."""


def float_tiff(
    image: NDArray[np.float32], unit: str, what: str, pixel_size: PixelSize | None = None
) -> bytes:
    """Return a float32 TIFF that Fiji opens with its values and a note on their unit.

    Parameters
    ----------
    image : ndarray of shape (H, W), float32
        NaN where unknown.
    unit : str
        Unit of the values.
    what : str
        What they are, such as "depth".
    pixel_size : PixelSize, optional
        Size of a pixel. Fiji takes it from the resolution, in pixels per `unit` of its own note.

    Returns
    -------
    bytes
        The file.
    """
    import tifffile

    note = f"varfocus {what}; pixel values in {unit}; NaN = unknown"
    calibration: dict[str, Any] = {"metadata": {"axes": "YX", "Info": note}}
    if pixel_size is not None:
        calibration["metadata"]["unit"] = pixel_size.unit
        calibration["resolution"] = (1 / pixel_size.x, 1 / pixel_size.y)
    file = io.BytesIO()
    tifffile.imwrite(
        file,
        np.ascontiguousarray(image, np.float32),
        imagej=True,
        **calibration,
    )
    return file.getvalue()


def frame_number_tiff(source: NDArray[np.uint16]) -> bytes:
    """Return a 16-bit TIFF of frame numbers, counted from 0, that Fiji opens with contrast."""
    import tifffile

    file = io.BytesIO()
    note = "varfocus source frame of the fused image, counted from 0"
    tifffile.imwrite(file, source, imagej=True, metadata={"axes": "YX", "Info": note})
    return file.getvalue()


def picture(image: NDArray[Any], exif: bytes = b"", icc: bytes = b"") -> tuple[str, bytes]:
    """Return suffix and bytes of a lossless picture in the bit depth of the array.

    Parameters
    ----------
    image : ndarray of shape (H, W) or (H, W, 3)
        uint8 and uint16 become PNG, float32 becomes TIFF.
    exif, icc : bytes
        EXIF block (a TIFF structure) and colour profile; empty for none.

    Returns
    -------
    tuple of str and bytes
        ``".png"`` or ``".tif"``, and the file.
    """
    suffix = picture_suffix(image.dtype)
    return suffix, ENCODERS[suffix](np.ascontiguousarray(image), exif, icc)


def encode(path: Path, image: NDArray[Any], exif: bytes = b"", icc: bytes = b"") -> bytes:
    """Return a picture in the format that the name of its file asks for.

    Parameters
    ----------
    path : Path
        One of `suffixes` of the image's dtype.
    image, exif, icc
        As for `picture`.

    Returns
    -------
    bytes
        The file. JPEG has quality 95 and full colour resolution.
    """
    return ENCODERS[path.suffix.lower()](np.ascontiguousarray(image), exif, icc)


def suffixes(dtype: np.dtype[Any]) -> tuple[str, ...]:
    """Return the suffixes of the formats that hold every bit of a dtype, or all that JPEG can."""
    if dtype == np.uint8:
        return (".png", ".tif", ".tiff", ".jpg", ".jpeg")
    return (".png", ".tif", ".tiff") if dtype == np.uint16 else (".tif", ".tiff")


def _png(image: NDArray[Any], exif: bytes, icc: bytes) -> bytes:
    import imagecodecs

    # Room for one byte per row, and for noise that grows: the library forgets the former.
    most = int(1.01 * (image.nbytes + image.shape[0])) + 4096
    file = bytes(imagecodecs.png_encode(image, level=6, out=most))
    extra = b""
    if icc:
        extra += _chunk(b"iCCP", b"profile\0\0" + zlib.compress(icc))
    if exif:
        extra += _chunk(b"eXIf", exif)
    return file[:_PNG_HEADER_BYTES] + extra + file[_PNG_HEADER_BYTES:]


def _chunk(kind: bytes, content: bytes) -> bytes:
    checksum = zlib.crc32(content, zlib.crc32(kind))
    return struct.pack(">I4s", len(content), kind) + content + struct.pack(">I", checksum)


def _tiff(image: NDArray[Any], exif: bytes, icc: bytes) -> bytes:
    import tifffile

    file = io.BytesIO()
    tifffile.imwrite(
        file,
        image,
        bigtiff=bool(exif),  # as `add_exif` expects it
        byteorder="<",
        photometric="rgb" if image.ndim == 3 else "minisblack",
        iccprofile=icc or None,
    )
    add_exif(file, exif)
    return file.getvalue()


def _jpeg(image: NDArray[Any], exif: bytes, icc: bytes, quality: int = 95) -> bytes:
    from PIL import Image

    file = io.BytesIO()
    block = b"Exif\0\0" + exif if exif else b""
    Image.fromarray(image).save(
        file, "JPEG", quality=quality, subsampling=0, exif=block, icc_profile=icc or None
    )
    return file.getvalue()


def jpeg(image: NDArray[Any], quality: int, exif: bytes = b"", icc: bytes = b"") -> bytes:
    """Return a picture of any dtype as JPEG of a quality from 1 to 100, colour unreduced."""
    eight = eight_bit(image)
    return _jpeg(eight if image.ndim == 3 else eight[..., 0].copy(), exif, icc, quality)


def tiff16(image: NDArray[Any], exif: bytes = b"", icc: bytes = b"") -> bytes:
    """Return a picture of any dtype as TIFF of 16 bits per channel; 255 of 8 bits becomes 65535."""
    if image.dtype == np.uint8:
        deep = image.astype(np.uint16) * np.uint16(257)
    elif image.dtype == np.uint16:
        deep = image.astype(np.uint16, copy=False)
    else:
        deep = np.rint(displayable(image) * np.float32(65535.0)).astype(np.uint16)
    return _tiff(np.ascontiguousarray(deep), exif, icc)


ENCODERS = {".png": _png, ".tif": _tiff, ".tiff": _tiff, ".jpg": _jpeg, ".jpeg": _jpeg}
"""How pictures are written, by suffix."""


def displayable(image: NDArray[Any]) -> NDArray[np.float32]:
    """Return a picture of any dtype on [0, 1]; floats beyond that range are stretched to it."""
    values = image.astype(np.float32)
    if np.issubdtype(image.dtype, np.integer):
        return values / np.float32(np.iinfo(image.dtype).max)
    low, high = float(values.min()), float(values.max())
    if low >= 0.0 and high <= 1.0:
        return values
    return (values - low) / (high - low) if high > low else np.zeros_like(values)


def eight_bit(image: NDArray[Any]) -> NDArray[np.uint8]:
    """Return a picture of any dtype as ``(H, W, 3)`` uint8, grey in all three channels."""
    colour: NDArray[Any] = image if image.ndim == 3 else np.repeat(image[..., None], 3, axis=2)
    if colour.dtype == np.uint8:
        return colour.astype(np.uint8, copy=False)
    eight: NDArray[np.uint8] = np.rint(displayable(colour) * np.float32(255.0)).astype(np.uint8)
    return eight
