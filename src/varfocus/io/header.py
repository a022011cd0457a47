"""What a file says about a frame before any pixel is decoded."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from varfocus.io.border import damaged, too_large
from varfocus.io.limits import in_force
from varfocus.io.orientation import UPRIGHT, swaps_sides


@dataclass(frozen=True)
class Header:
    """Properties of one frame in a file.

    Parameters
    ----------
    width, height : int
        Pixels as stored, before the orientation is applied.
    colour : bool
        RGB or grey, after palette and alpha are resolved.
    dtype : numpy.dtype
        uint8, uint16 or float32.
    orientation : int
        1 to 8, see `varfocus.io.orientation`.
    page : int
        0-based number of the frame in its file.
    offset : int
        TIFF: where the page's directory is.
    plane : int
        TIFF: which of the images behind one directory, for ImageJ's files over 4 GB.
    white_balance : tuple of float
        Camera RAW: factors of the four colours of the sensor.
    subject_distance : float, optional
        EXIF: metres at which the camera says it was focused.
    windowed : bool
        Parts of it can be decoded without the rest.

    Raises
    ------
    RefusedError
        If the frame has no pixels, or more than the limits allow.
    """

    width: int
    height: int
    colour: bool
    dtype: np.dtype[Any]
    orientation: int = UPRIGHT
    page: int = 0
    offset: int = 0
    plane: int = 0
    white_balance: tuple[float, ...] = ()
    subject_distance: float | None = None
    windowed: bool = False

    def __post_init__(self) -> None:
        width, height = self.width, self.height
        if width < 1 or height < 1:
            raise damaged(f"claims {width}×{height} pixels")
        limits = in_force()
        if max(width, height) > limits.max_side:
            raise too_large(
                f"claims {width}×{height} pixels", f"{limits.max_side} pixels a side", "--max-side"
            )
        if width * height > limits.max_pixels and not self.windowed:
            raise too_large(
                f"claims {width}×{height} = {width * height} pixels",
                f"{limits.max_pixels} pixels a frame",
                "--max-pixels",
            )

    @property
    def shape(self) -> tuple[int, ...]:
        """``(H, W)`` or ``(H, W, 3)`` after the orientation is applied."""
        sides = (self.height, self.width)
        if swaps_sides(self.orientation):
            sides = sides[::-1]
        return (*sides, 3) if self.colour else sides
