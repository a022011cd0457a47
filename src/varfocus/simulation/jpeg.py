"""What JPEG compression does to a picture, without the file.

The baseline of the standard: colours to YCbCr, the two of chroma at half the size, cosine
transforms of 8×8 pixels, rounding to multiples of a table that the quality scales, and back. At the
usual qualities faint texture is rounded away and the borders of the blocks show, which is no
evidence of focus.

References
----------
ITU-T T.81 (1992), annexes A and K; T.871 (2011) for the colours. The quality is that of the
Independent JPEG Group: the tables of annex K at 50, twice as fine at 75.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.fft
from numpy.typing import NDArray

from varfocus.errors import ParameterError

BLOCK = 8

LUMA = np.array(
    [
        [16, 11, 10, 16, 24, 40, 51, 61],
        [12, 12, 14, 19, 26, 58, 60, 55],
        [14, 13, 16, 24, 40, 57, 69, 56],
        [14, 17, 22, 29, 51, 87, 80, 62],
        [18, 22, 37, 56, 68, 109, 103, 77],
        [24, 35, 55, 64, 81, 104, 113, 92],
        [49, 64, 78, 87, 103, 121, 120, 101],
        [72, 92, 95, 98, 112, 100, 103, 99],
    ]
)
CHROMA = np.full((BLOCK, BLOCK), 99)
CHROMA[:4, :4] = [[17, 18, 24, 47], [18, 21, 26, 66], [24, 26, 56, 99], [47, 66, 99, 99]]
"""Steps of annex K for brightness and colour, at quality 50."""

TO_YCC = np.array([[0.299, 0.587, 0.114], [-0.168736, -0.331264, 0.5], [0.5, -0.418688, -0.081312]])
"""From red, green, blue to Y, Cb, Cr, the latter two around zero."""


def compressed(image: NDArray[np.uint8], quality: int) -> NDArray[np.uint8]:
    """Return a picture as it comes back from a JPEG file.

    Parameters
    ----------
    image : ndarray of uint8, shape (H, W) or (H, W, 3)
        Grey or red, green, blue.
    quality : int
        From 1 to 100.

    Returns
    -------
    ndarray of uint8, shape of `image`
        With what compression takes away and adds.
    """
    quality = checked_quality(quality)
    pixels = image.astype(np.float64)
    if image.ndim == 2:
        return _rounded(_coded(pixels - 128, LUMA, quality) + 128)
    luma, *chroma = np.moveaxis(pixels @ TO_YCC.T, 2, 0)
    planes = [_coded(luma - 128, LUMA, quality) + 128]
    for plane in chroma:
        small = _coded(_halved(plane), CHROMA, quality)
        whole = _doubled(_doubled(small, 0), 1)
        planes.append(whole[: image.shape[0], : image.shape[1]])
    return _rounded(np.stack(planes, axis=2) @ np.linalg.inv(TO_YCC).T)


def checked_quality(quality: Any) -> int:
    """Return a quality, or raise `ParameterError`."""
    if isinstance(quality, bool) or not isinstance(quality, int | np.integer):
        quality = 0
    if not 1 <= quality <= 100:
        raise ParameterError(f"jpeg: received {quality!r}", "expected a quality from 1 to 100")
    return int(quality)


def steps(table: NDArray[Any], quality: int) -> NDArray[Any]:
    """Return the steps of rounding at a quality, by the IJG's rule."""
    scale = 5000 // quality if quality < 50 else 200 - 2 * quality
    return np.asarray(np.clip((table * scale + 50) // 100, 1, 255))


def _coded(plane: NDArray[np.float64], table: NDArray[Any], quality: int) -> NDArray[np.float64]:
    """Round the cosine coefficients of the 8×8 blocks of a plane around zero."""
    height, width = plane.shape
    padded = np.pad(plane, [(0, -height % BLOCK), (0, -width % BLOCK)], mode="edge")
    rows, columns = (side // BLOCK for side in padded.shape)
    blocks = padded.reshape(rows, BLOCK, columns, BLOCK).swapaxes(1, 2)
    step = steps(table, quality)
    rounded = np.rint(scipy.fft.dctn(blocks, axes=(2, 3), norm="ortho") / step) * step
    back = scipy.fft.idctn(rounded, axes=(2, 3), norm="ortho")
    return np.asarray(back.swapaxes(1, 2).reshape(padded.shape)[:height, :width])


def _halved(plane: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the means of 2×2 pixels; the last row or column counts twice if there is one left."""
    even = np.pad(plane, [(0, side % 2) for side in plane.shape], mode="edge")
    rows, columns = (side // 2 for side in even.shape)
    return np.asarray(even.reshape(rows, 2, columns, 2).mean(axis=(1, 3)))


def _doubled(plane: NDArray[np.float64], axis: int) -> NDArray[np.float64]:
    """Interpolate linearly to twice the length, as decoders do with colour."""
    rows = np.moveaxis(plane, axis, 0)
    before, after = np.concatenate([rows[:1], rows[:-1]]), np.concatenate([rows[1:], rows[-1:]])
    pairs = np.stack([0.75 * rows + 0.25 * before, 0.75 * rows + 0.25 * after], axis=1)
    return np.asarray(np.moveaxis(pairs.reshape(-1, rows.shape[1]), 0, axis))


def _rounded(pixels: NDArray[np.float64]) -> NDArray[np.uint8]:
    return np.clip(np.rint(pixels), 0, 255).astype(np.uint8)
