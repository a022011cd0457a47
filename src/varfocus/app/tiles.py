"""Maps and pictures in pieces: halved again and again, and cut into tiles."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from varfocus.canvas.halving import halved

TILE = 512
"""Side of a tile in pixels."""


def write_pyramid(folder: Path, pixels: NDArray[Any]) -> None:
    """Write a map or picture and its halvings, down to one tile, as ``0.npy``, ``1.npy`` and so on.

    Parameters
    ----------
    folder : Path
        Made if missing.
    pixels : ndarray of shape (H, W), float32, or (H, W, 4), uint8
        The finest level.
    """
    folder.mkdir(parents=True, exist_ok=True)
    level = 0
    while True:
        np.save(folder / f"{level}.npy", np.ascontiguousarray(pixels))
        if max(pixels.shape[:2]) <= TILE:
            return
        pixels = halved(pixels)
        level += 1


def level_count(height: int, width: int) -> int:
    """Return how many levels `write_pyramid` writes for a size."""
    levels = 1
    while max(height, width) > TILE:
        height, width = -(-height // 2), -(-width // 2)
        levels += 1
    return levels


def read_tile(folder: Path, level: int, column: int, row: int) -> bytes | None:
    """Return the bytes of one tile, row by row, or None if there is no such tile.

    Parameters
    ----------
    folder : Path
        Where `write_pyramid` wrote.
    level, column, row : int
        Which tile.

    Returns
    -------
    bytes or None
        At most 512×512 pixels: float32, little-endian, or RGBA.
    """
    path = folder / f"{level}.npy"
    if min(level, column, row) < 0 or not path.is_file():
        return None
    pixels = np.load(path, mmap_mode="r", allow_pickle=False)
    tile = pixels[row * TILE : (row + 1) * TILE, column * TILE : (column + 1) * TILE]
    return np.ascontiguousarray(tile).tobytes() if tile.size else None


def as_rgba(pixels: NDArray[Any], scale: float, peak: float = 1.0) -> NDArray[np.uint8]:
    """Return pixels as they are shown: 8 bits, RGBA, opaque.

    Parameters
    ----------
    pixels : ndarray of shape (H, W) or (H, W, 3)
        uint8, uint16 or float32.
    scale : float
        Maps them to [0, 1], as `varfocus.stack.FocusStack.scale`.
    peak : float
        What is shown as white, of [0, 1].

    Returns
    -------
    ndarray of shape (H, W, 4), uint8
        For the screen only.
    """
    rgba = np.full((*pixels.shape[:2], 4), 255, np.uint8)
    if pixels.dtype == np.uint8 and peak == 1.0:
        shown = pixels
    else:
        shown = np.clip(pixels * np.float32(255.0 * scale / peak) + 0.5, 0, 255).astype(np.uint8)
    rgba[..., :3] = shown[..., None] if shown.ndim == 2 else shown
    return rgba
