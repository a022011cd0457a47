"""Camera RAW: developed by LibRaw with the same settings for every frame.

Nothing may follow the content of a single frame, or its brightness would change with its focus:
no automatic brightness, a fixed white level, and one white balance for the whole stack, that of
its first frame.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from varfocus.errors import MissingExtraError
from varfocus.io.border import border, damaged, library, unsupported
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

DAYLIGHT = 21
"""D65, in the list of light sources of EXIF."""

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


@dataclass(frozen=True)
class CameraColour:
    """How a camera sees colours.

    Attributes
    ----------
    matrix : ndarray of shape (3, 3)
        From CIE XYZ to the camera's red, green and blue, under the light that it holds for.
    neutral : ndarray of shape (3,)
        What the camera sees where the scene is white, relative to the largest.
    light : int
        That light, in the list of light sources of EXIF.
    """

    matrix: NDArray[np.float64]
    neutral: NDArray[np.float64]
    light: int = DAYLIGHT


def decode_linear(path: Path, header: Header) -> NDArray[Any]:
    """Return the colours as the camera saw them: linear, without white balance, not turned.

    Parameters
    ----------
    path : Path
        The camera's file.
    header : Header
        What it said before.

    Returns
    -------
    ndarray of shape (H, W, 3), uint16
        Camera RGB, interpolated; 65535 is where the sensor saturates.
    """
    with path.open("rb") as file, _opened(file) as raw:
        seen = _header(raw)
        if (seen.shape, seen.colour) != (header.shape, header.colour):
            raise damaged("changed since it was looked at")
        with library("LibRaw"):
            import rawpy

            pixels = raw.postprocess(
                user_wb=[1.0, 1.0, 1.0, 1.0],
                output_color=rawpy.ColorSpace.raw,
                gamma=(1.0, 1.0),
                no_auto_bright=True,
                adjust_maximum_thr=0.0,
                output_bps=16,
                user_flip=0,
            )
    return np.asarray(pixels)


def camera_colour(path: Path) -> CameraColour:
    """Return how the camera that wrote a file sees colours.

    Raises
    ------
    InputError
        If it has other than three, or LibRaw does not know them.
    """
    with border(path), path.open("rb") as file, _opened(file) as raw:
        with library("LibRaw"):
            colours, matrix = raw.num_colors, np.asarray(raw.rgb_xyz_matrix, np.float64)[:3]
        balance, light = np.asarray(_header(raw).white_balance[:3]), DAYLIGHT
        if not matrix.any():  # no camera that LibRaw knows: a DNG says it itself
            matrix, light = _matrix_in_dng(file)
        if colours != 3 or not np.isfinite(matrix).all() or not np.linalg.det(matrix):
            raise unsupported(
                "does not say how its camera sees colours", "expected red, green and blue"
            )
    neutral = 1.0 / np.where(balance > 0, balance, 1.0)
    return CameraColour(matrix, neutral / neutral.max(), light)


def _matrix_in_dng(file: BinaryIO) -> tuple[NDArray[np.float64], int]:
    """Return the colour matrix of a DNG that is nearest to daylight, and its light source."""
    import tifffile

    file.seek(0)
    found: list[tuple[NDArray[np.float64], int]] = []
    with library("tifffile"), tifffile.TiffFile(file) as tiff:
        tags = tiff.pages.first.tags
        for matrix, light in ((50721, 50778), (50722, 50779)):
            value = tags.valueof(matrix)
            if value is not None and len(value) == 18:
                parts = np.asarray(value, np.float64).reshape(9, 2)
                parts = parts[:, 0] / np.where(parts[:, 1] == 0, 1.0, parts[:, 1])
                found.append((parts.reshape(3, 3), int(tags.valueof(light, DAYLIGHT))))
    found.sort(key=lambda entry: entry[1] != DAYLIGHT)
    return found[0] if found else (np.zeros((3, 3)), DAYLIGHT)


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
