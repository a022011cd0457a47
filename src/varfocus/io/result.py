"""Reading back what `varfocus.Result.save` wrote."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from varfocus.errors import InputError


def read_index(folder: Path) -> tuple[NDArray[np.float32], int]:
    """Return the depth of an earlier run in frames, and how many frames that run had.

    Parameters
    ----------
    folder : Path
        With ``depth.tif`` and ``run.json``.

    Returns
    -------
    index : ndarray of shape (H, W), float32
        Fractional 0-based frame number; where the depth is unknown, that of the nearest pixel.
    n : int
        Number of frames.

    Raises
    ------
    InputError
        If the folder does not hold a complete result.
    """
    import tifffile

    try:
        recorded: dict[str, Any] = json.loads((folder / "run.json").read_text(encoding="utf-8"))
        n, focus = len(recorded["input"]["frames"]), recorded["input"]["focus"]
        depth = np.asarray(tifffile.imread(folder / "depth.tif"), np.float32)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"{folder}: is no result of varfocus ({getattr(error, 'strerror', None) or error})",
            "expected a folder with depth.tif and run.json",
            "Make one with: varfocus depth FRAMES -o FOLDER",
        ) from error
    known = np.isfinite(depth)
    if depth.ndim != 2 or not known.any():
        raise InputError(f"{folder}: depth.tif has no depth", "expected one known pixel at least")
    if not known.all():
        nearest = ndimage.distance_transform_edt(
            ~known, return_distances=False, return_indices=True
        )
        depth = depth[tuple(nearest)]
    if focus is None:
        return depth, n
    positions, numbers = np.asarray(focus, np.float64), np.arange(n)
    if positions[0] > positions[-1]:
        positions, numbers = positions[::-1], numbers[::-1]
    return np.interp(depth, positions, numbers).astype(np.float32), n
