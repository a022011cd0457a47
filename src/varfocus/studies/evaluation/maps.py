"""Depth and disparity maps from files: NumPy arrays, TIFF, and portable float maps."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from varfocus.errors import InputError
from varfocus.files import open_regular
from varfocus.io.border import border, damaged, exactly
from varfocus.io.frames import probe_files
from varfocus.io.header import Header
from varfocus.io.readers import npy

SUFFIXES = (".npy", ".npz", ".tif", ".tiff", ".pfm")

_HEADER = re.compile(rb"Pf\s+(\d{1,6})\s+(\d{1,6})\s+(-?\d+(?:\.\d+)?(?:e-?\d+)?)\s", re.IGNORECASE)
_LONGEST_HEADER = 200


def find_map(folder: Path, *names: str) -> Path | None:
    """Return the first file of one of these names with one of the suffixes, or None."""
    places = (folder / f"{name}{suffix}" for name in names for suffix in SUFFIXES)
    return next((path for path in places if path.is_file()), None)


def read_map(path: Path) -> NDArray[Any]:
    """Read one real number per pixel.

    Parameters
    ----------
    path : Path
        .npy, .npz (its first array), .tif, or .pfm (grey).

    Returns
    -------
    ndarray of shape (H, W)
        As stored.

    Raises
    ------
    InputError
        If the file is damaged or holds something else.
    """
    if path.suffix in (".tif", ".tiff"):
        values = probe_files([path]).frames[0].read()
    elif path.suffix == ".pfm":
        values = _read_pfm(path)
    else:
        with border(path):
            values = npy.read_map(path)
    if values.ndim != 2 or values.dtype.kind not in "fiu":
        raise InputError(
            f"{path}: received {values.dtype} of shape {values.shape}",
            "expected one real number per pixel",
        )
    return values


def _read_pfm(path: Path) -> NDArray[Any]:
    """Read a grey portable float map: from the bottom up, little-endian if the scale is < 0."""
    with border(path), open_regular(path) as file:
        found = _HEADER.match(file.read(_LONGEST_HEADER))
        if found is None:
            raise damaged("has a damaged header: no Pf, width, height and scale")
        header = Header(int(found[1]), int(found[2]), False, np.dtype(np.float32))
        width, height = header.width, header.height
        file.seek(found.end())
        pixels = exactly(file, 4 * width * height)
        if file.read(1):
            raise damaged(f"has more pixels than {width}×{height}")
    order = "<f4" if float(found[3]) < 0 else ">f4"
    return np.frombuffer(pixels, order).reshape(height, width)[::-1].astype(np.float32)
