"""Turn pixels the way the camera was held, according to EXIF and TIFF orientation tags."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from varfocus.io.exif import stored_orientation

UPRIGHT = 1


def valid_orientation(value: object) -> int:
    """Return `value` if it is one of 1 to 8, else 1: a nonsensical tag is ignored."""
    return value if isinstance(value, int) and UPRIGHT <= value <= 8 else UPRIGHT


def swaps_sides(orientation: int) -> bool:
    """Return whether width and height are swapped."""
    return orientation >= 5


def oriented(pixels: NDArray[Any], orientation: int) -> NDArray[Any]:
    """Return pixels the right way up.

    Parameters
    ----------
    pixels : ndarray of shape (H, W) or (H, W, C)
        As stored.
    orientation : int
        1 to 8, as defined by TIFF: which edges the first row and column of the stored pixels
        belong to.

    Returns
    -------
    ndarray
        Contiguous and writable; of shape (W, H, ...) for 5 to 8.
    """
    if swaps_sides(orientation):
        pixels = pixels.swapaxes(0, 1)
    if orientation in (3, 4, 7, 8):
        pixels = pixels[::-1]
    if orientation in (2, 3, 6, 7):
        pixels = pixels[:, ::-1]
    return np.require(pixels, requirements=["C", "W"])


def exif_orientation(exif: bytes) -> int:
    """Return the orientation in an EXIF block; 1 if there is none or it is damaged."""
    return valid_orientation(stored_orientation(exif))
