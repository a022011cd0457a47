"""Arguments of the simulator, checked once, at its border."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from varfocus.errors import ParameterError
from varfocus.ranges import Range, real, whole
from varfocus.text import shown
from varfocus.units import LENGTHS

SIDE = Range(2, 2**17)
"""Of a simulated frame, in pixels."""
FRAMES = Range(2, 2**14)
"""Number of simulated frames."""
NOISE = Range(0.0, 1e4)
"""Noise level."""
BLUR = Range(0.0, 1e3)
"""Camera constant κ in px·m, or σ of the widest blur in pixels."""


def checked_shape(shape: Sequence[int]) -> tuple[int, int]:
    """Return height and width as two positive ints, or raise `ParameterError`."""
    try:
        height, width = (whole("side", side, SIDE) for side in shape)
    except (TypeError, ValueError) as error:
        raise ParameterError(
            f"shape: received {shown(shape)}",
            "expected height and width, two whole numbers of pixels, each at least 2",
            "Give for example shape=(256, 320).",
        ) from error
    return height, width


def checked_seed(seed: int) -> int:
    """Return the seed if it is a whole number ≥ 0, or raise `ParameterError`."""
    return whole("seed", seed, Range(0, 2**63))


def checked_span(near: float, far: float) -> tuple[float, float]:
    """Return two distances in metres if the second is beyond the first, or raise."""
    near, far = real("near", near, LENGTHS), real("far", far, LENGTHS)
    if not far > near:
        raise ParameterError(f"received near = {near:g}, far = {far:g}", "expected near < far")
    return near, far


def checked_focus(focus: ArrayLike) -> NDArray[np.float64]:
    """Return focus distances, shape (n,), positive and strictly monotone, or raise."""
    try:
        distances = np.asarray(focus, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        distances = np.empty(0)
    steps = np.diff(distances) if distances.ndim == 1 else np.empty(0)
    monotone = bool((steps > 0).all() or (steps < 0).all())
    within = bool((distances >= LENGTHS.low).all() and (distances <= LENGTHS.high).all())
    if len(steps) < 1 or not within or not monotone:
        raise ParameterError(
            f"focus: received {shown(focus)}",
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
