"""Pictures that say which pixels count: white ones do, black ones do not."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from varfocus.errors import InputError
from varfocus.geometry import inside
from varfocus.io.frames import probe_files

Outline = tuple[bool, Sequence[tuple[float, float]]]
"""Whether the inside counts, and the corners of a closed outline in pixels."""


def read_mask(path: str | Path, shape: tuple[int, int]) -> NDArray[np.bool_]:
    """Read which pixels of the frames count.

    Parameters
    ----------
    path : path
        A picture; pixels count where it is brighter than half of its brightest one, so masks of
        0 and 1, of 0 and 255, and painted ones are all understood.
    shape : (int, int)
        Height and width of the frames.

    Returns
    -------
    ndarray of shape (H, W), bool
        True where a pixel counts.

    Raises
    ------
    InputError
        If it is not a picture of that size, or leaves nothing.
    """
    path = Path(path)
    if not path.is_file():
        raise InputError(
            f"{path} is not a file", "expected a picture of the size of the frames as the mask"
        )
    pixels = probe_files([path]).frames[0].read()
    height, width = shape
    if pixels.shape[:2] != (height, width):
        raise InputError(
            f"{path}: the mask has {pixels.shape[1]}×{pixels.shape[0]} pixels",
            f"expected {width}×{height}, the size of the frames",
            "Draw it on one of the frames.",
        )
    bright = pixels.max(axis=2) if pixels.ndim == 3 else pixels
    peak = bright.max()
    if not peak > 0:
        raise InputError(
            f"{path}: the mask is black everywhere", "expected white where pixels count"
        )
    counts: NDArray[np.bool_] = bright > 0.5 * float(peak)
    return counts


def drawn_mask(
    shape: tuple[int, int], outlines: Sequence[Outline], base: NDArray[np.bool_] | None = None
) -> NDArray[np.bool_]:
    """Return which pixels count after outlines were drawn one over the other.

    Parameters
    ----------
    shape : (int, int)
        Height and width of the frames.
    outlines : sequence of (bool, sequence of (float, float))
        Each says whether its inside counts, and its corners x, y; pixel (0, 0) covers [0, 1)².
    base : ndarray of shape (H, W), bool, optional
        What counted before; by default nothing if the first outline says what counts, else all.

    Returns
    -------
    ndarray of shape (H, W), bool
        True where a pixel counts.
    """
    height, width = shape
    first = bool(outlines) and outlines[0][0]
    mask = np.full(shape, not first) if base is None else base.copy()
    for counts, corners in outlines:
        mask[inside(shape, corners)] = counts
    if not mask.any():
        raise InputError(
            f"received a mask that leaves none of {width}×{height} pixels",
            "expected some that count",
        )
    return mask
