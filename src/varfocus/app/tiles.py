"""Maps and pictures in pieces: halved again and again, and cut into tiles."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from varfocus.canvas.halving import halved

TILE = 512
"""Side of a tile in pixels."""

ROWS_AT_ONCE = 2**24
"""Pixels that go through memory at a time."""

Shown: TypeAlias = Callable[[NDArray[Any]], NDArray[Any]]


def write_pyramid(folder: Path, pixels: NDArray[Any], shown: Shown = np.ascontiguousarray) -> None:
    """Write a map or picture and its halvings, down to one tile, as ``0.npy``, ``1.npy`` and so on.

    Some rows go through memory at a time: the map may lie on disk, and be larger than memory.

    Parameters
    ----------
    folder : Path
        Made if missing.
    pixels : ndarray of shape (H, W), float32, or (H, W, …) of any type
        The finest level.
    shown : callable
        Makes float32 of shape ``(h, W)`` or uint8 of shape ``(h, W, 4)`` of some rows; by default
        they are that already.
    """
    folder.mkdir(parents=True, exist_ok=True)
    fine, step = pixels, 1
    for level in range(level_count(*pixels.shape[:2])):
        rows = max(ROWS_AT_ONCE // (step * fine.shape[1]), 1) * step
        path, part_path, made = folder / f"{level}.npy", folder / f".{level}.part", None
        for top in range(0, fine.shape[0], rows):
            part = halved(fine[top : top + rows]) if level else shown(fine[top : top + rows])
            if made is None:
                shape = (-(-fine.shape[0] // step), *part.shape[1:])
                made = np.lib.format.open_memmap(part_path, "w+", part.dtype, shape)
            made[top // step : top // step + len(part)] = part
        assert made is not None  # images have pixels
        made.flush()
        del made  # some systems cannot rename what is open
        part_path.replace(path)
        fine, step = np.load(path, mmap_mode="r", allow_pickle=False), 2


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
