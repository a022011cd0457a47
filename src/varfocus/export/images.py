"""Arrays as the bytes of image files."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
from numpy.typing import NDArray

from varfocus.units import PixelSize


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


def picture(image: NDArray[Any]) -> tuple[str, bytes]:
    """Return suffix and bytes of a lossless picture in the bit depth of the array.

    Parameters
    ----------
    image : ndarray of shape (H, W) or (H, W, 3)
        uint8 and uint16 become PNG, float32 becomes TIFF.

    Returns
    -------
    tuple of str and bytes
        ``".png"`` or ``".tif"``, and the file.
    """
    if np.issubdtype(image.dtype, np.integer):
        import imagecodecs

        return ".png", bytes(imagecodecs.png_encode(np.ascontiguousarray(image), level=6))
    import tifffile

    file = io.BytesIO()
    photometric = "rgb" if image.ndim == 3 else "minisblack"
    tifffile.imwrite(file, np.ascontiguousarray(image), photometric=photometric)
    return ".tif", file.getvalue()


def picture_suffix(dtype: np.dtype[Any]) -> str:
    """Return the suffix `picture` chooses for a dtype."""
    return ".png" if np.issubdtype(dtype, np.integer) else ".tif"


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
