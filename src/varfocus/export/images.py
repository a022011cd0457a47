"""Arrays as the bytes of image files."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
from numpy.typing import NDArray


def float_tiff(image: NDArray[np.float32], unit: str, what: str) -> bytes:
    """Return a float32 TIFF that Fiji opens with its values and a note on their unit.

    Parameters
    ----------
    image : ndarray of shape (H, W), float32
        NaN where unknown.
    unit : str
        Unit of the values.
    what : str
        What they are, such as "depth".

    Returns
    -------
    bytes
        The file.
    """
    import tifffile

    file = io.BytesIO()
    tifffile.imwrite(
        file,
        np.ascontiguousarray(image, np.float32),
        imagej=True,
        metadata={"axes": "YX", "Info": f"varfocus {what}; pixel values in {unit}; NaN = unknown"},
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
    return ".tif", _tiff(image)


def lossless(image: NDArray[Any], suffix: str) -> bytes:
    """Return a picture as the bytes of a ``.png`` or ``.tif``, in the bit depth of the array."""
    if suffix == ".png":
        return picture(image)[1]
    return _tiff(image)


def _tiff(image: NDArray[Any]) -> bytes:
    import tifffile

    file = io.BytesIO()
    photometric = "rgb" if image.ndim == 3 else "minisblack"
    tifffile.imwrite(file, np.ascontiguousarray(image), photometric=photometric)
    return file.getvalue()


def picture_suffix(dtype: np.dtype[Any]) -> str:
    """Return the suffix `picture` chooses for a dtype."""
    return ".png" if np.issubdtype(dtype, np.integer) else ".tif"
