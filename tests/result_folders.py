"""Result folders with a known surface, made without a reconstruction."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from varfocus.export.saved import SavedResult, load_result
from varfocus.params import Params
from varfocus.result import Result
from varfocus.stack import FocusStack
from varfocus.units import PixelSize


def result_of(
    depth, *, focus=None, unit=None, pixel_size=None, inverted=False, uncertainty=None, fused=None
) -> Result:
    """Return a result with this depth map, its picture a ramp of colours unless given."""
    depth = np.asarray(depth, np.float32)
    height, width = depth.shape
    if fused is None:
        y, x = np.mgrid[:height, :width]
        fused = np.stack([x * 255 // width, y * 255 // height, (x + y) % 2 * 60 + 90], axis=-1)
        fused = fused.astype(np.uint8)
    stack = FocusStack.from_array(np.repeat(fused[None], 3, axis=0), focus, unit)
    stack = replace(stack, inverted=inverted)
    if pixel_size is not None:
        stack = stack.with_pixel_size(PixelSize(*pixel_size))
    return Result(
        depth=depth,
        index=depth,
        confidence=np.full(depth.shape, 0.95, np.float32),
        fused=fused,
        source=np.zeros(depth.shape, np.uint16),
        trace=None,
        stack=stack,
        params=Params("classic"),
        warnings=(),
        seconds=0.1,
        uncertainty=None
        if uncertainty is None
        else np.broadcast_to(np.float32(uncertainty), depth.shape).copy(),
    )


def saved_of(folder: Path, depth, **about) -> SavedResult:
    """Return the same, written and read back."""
    result_of(depth, **about).save(folder)
    return load_result(folder)
