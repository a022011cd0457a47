"""Arguments of the simulator, checked once, at its border."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from varfocus.errors import ParameterError


def checked_shape(shape: Sequence[int]) -> tuple[int, int]:
    """Return height and width as two positive ints, or raise `ParameterError`."""
    try:
        height, width = (int(s) for s in shape)
        whole = all(int(s) == s for s in shape)
    except (TypeError, ValueError):
        whole, height, width = False, 0, 0
    if not whole or min(height, width) < 2:
        raise ParameterError(
            f"shape: received {shape!r}",
            "expected height and width, two whole numbers of pixels, each at least 2",
            "Give for example shape=(256, 320).",
        )
    return height, width


def checked_seed(seed: int) -> int:
    """Return the seed if it is a whole number ≥ 0, or raise `ParameterError`."""
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        raise ParameterError(f"seed: received {seed!r}", "expected a whole number ≥ 0")
    return int(seed)


def checked_number(name: str, value: float, least: float, strict: bool = False) -> float:
    """Return `value` as a finite float ≥ `least` (> if `strict`), or raise `ParameterError`."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = np.nan
    if not np.isfinite(number) or number < least or (strict and number == least):
        bound = ">" if strict else "≥"
        raise ParameterError(
            f"{name}: received {value!r}", f"expected a finite number {bound} {least:g}"
        )
    return number


def checked_focus(focus: ArrayLike) -> NDArray[np.float64]:
    """Return focus distances, shape (n,), positive and strictly monotone, or raise."""
    try:
        distances = np.asarray(focus, dtype=np.float64)
    except (TypeError, ValueError):
        distances = np.empty(0)
    steps = np.diff(distances) if distances.ndim == 1 else np.empty(0)
    monotone = bool((steps > 0).all() or (steps < 0).all())
    if len(steps) < 1 or not np.isfinite(distances).all() or distances.min() <= 0 or not monotone:
        raise ParameterError(
            f"focus: received {focus!r}",
            "expected at least 2 finite distances > 0 in metres, strictly increasing or decreasing",
            "Give for example focus=numpy.linspace(0.05, 0.5, 15).",
        )
    return distances


def checked_depth(depth: ArrayLike, name: str = "depth") -> NDArray[np.float32]:
    """Return a depth map, shape (H, W), whose finite values are positive metres, or raise."""
    z = np.asarray(depth, dtype=np.float32)
    known = np.isfinite(z)
    if z.ndim != 2 or z.size == 0 or not known.any() or z[known].min() <= 0:
        raise ParameterError(
            f"{name}: received an array of shape {z.shape} with {int(known.sum())} finite values",
            "expected a depth map (height, width) of distances > 0 in metres",
            "Mark unknown depth as NaN; convert disparities or millimetres first.",
        )
    return z


def checked_picture(picture: ArrayLike, name: str = "texture") -> NDArray[np.float32]:
    """Return a grey or colour picture as float32 in [0, 1], or raise `ParameterError`.

    Integers of 8 and 16 bits are scaled by their largest value; floats are taken as they are.
    """
    pixels: NDArray[Any] = np.asarray(picture)
    good = pixels.ndim in (2, 3) and pixels.size > 0 and (pixels.ndim == 2 or pixels.shape[2] == 3)
    if not good or pixels.dtype.kind not in "ufb":
        raise ParameterError(
            f"{name}: received an array of shape {pixels.shape} and type {pixels.dtype}",
            "expected a picture (height, width) or (height, width, 3) of 8 bit, 16 bit or float",
        )
    if pixels.dtype.kind == "u":
        return pixels.astype(np.float32) / np.float32(np.iinfo(pixels.dtype).max)
    values = pixels.astype(np.float32)
    if not np.isfinite(values).all() or values.min() < 0 or values.max() > 1:
        raise ParameterError(
            f"{name}: received floats that are NaN, infinite, or outside [0, 1]",
            "expected finite values in [0, 1]",
            "Replace bad pixels and divide by the white value.",
        )
    return values


def centre_crop(picture: NDArray[np.float32], shape: tuple[int, int]) -> NDArray[np.float32]:
    """Return the middle of a picture at this height and width, or raise if it is too small."""
    top, left = (have - want for have, want in zip(picture.shape[:2], shape, strict=True))
    if min(top, left) < 0:
        raise ParameterError(
            f"texture: received {picture.shape[0]}×{picture.shape[1]} pixels",
            f"expected at least {shape[0]}×{shape[1]}, the size of the frames",
            "Give a larger texture or a smaller shape.",
        )
    top, left = top // 2, left // 2
    return picture[top : top + shape[0], left : left + shape[1]]
