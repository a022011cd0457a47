"""Depth and disparity maps from files: NumPy arrays, TIFF, and portable float maps."""

from __future__ import annotations

import re
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from varfocus.errors import InputError
from varfocus.io.frames import probe_files

SUFFIXES = (".npy", ".npz", ".tif", ".tiff", ".pfm")

_HEADER = re.compile(rb"Pf\s+(\d{1,6})\s+(\d{1,6})\s+(-?\d+(?:\.\d+)?(?:e-?\d+)?)\s", re.IGNORECASE)


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
        try:
            loaded = np.load(path, allow_pickle=False)
            values = loaded[loaded.files[0]] if isinstance(loaded, np.lib.npyio.NpzFile) else loaded
        except (OSError, ValueError, EOFError, IndexError, zipfile.BadZipFile) as error:
            raise InputError(
                f"{path}: cannot be read ({error})", "expected an array saved by NumPy"
            ) from error
    if values.ndim != 2 or values.dtype.kind not in "fiu":
        raise InputError(
            f"{path}: received {values.dtype} of shape {values.shape}",
            "expected one real number per pixel",
        )
    return values


def _read_pfm(path: Path) -> NDArray[Any]:
    """Read a grey portable float map: from the bottom up, little-endian if the scale is < 0."""
    content = path.read_bytes()
    header = _HEADER.match(content)
    if header is None:
        raise InputError(f"{path}: has a damaged header", "expected Pf, width, height and scale")
    width, height = int(header.group(1)), int(header.group(2))
    pixels = content[header.end() :]
    if len(pixels) != 4 * width * height:
        raise InputError(
            f"{path}: has {len(pixels)} bytes of pixels",
            f"expected {4 * width * height} for {width}×{height}",
        )
    order = "<f4" if float(header.group(3)) < 0 else ">f4"
    return np.frombuffer(pixels, order).reshape(height, width)[::-1].astype(np.float32)
