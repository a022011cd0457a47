"""Result folders: with a known surface, made without a reconstruction; or made in small tiles."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from varfocus import plan
from varfocus.export.saved import SavedResult, load_result
from varfocus.params import Params
from varfocus.pipeline import run
from varfocus.products import Given
from varfocus.result import Result
from varfocus.stack import FocusStack
from varfocus.units import PixelSize

ROOM = 3_000_000
"""Bytes for bands of rows: a dozen of them in a small image."""


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
    error = None
    if uncertainty is not None:
        error = np.broadcast_to(np.float32(uncertainty), depth.shape).copy()
    confidence = np.full(depth.shape, 0.95, np.float32)
    source = np.zeros(depth.shape, np.uint16)
    return Result(
        products=Given(depth, confidence, fused, source, error),
        index=depth,
        trace=None,
        stack=stack,
        params=Params("classic"),
        warnings=(),
        seconds=0.1,
    )


def with_maps(result: Result, **maps) -> Result:
    """Return the same result with some of its maps replaced."""
    names = ("depth", "confidence", "fused", "source", "uncertainty")
    known = {name: getattr(result, name) for name in names}
    return replace(result, products=Given(**(known | maps)))


def saved_of(folder: Path, depth, **about) -> SavedResult:
    """Return the same, written and read back."""
    result_of(depth, **about).save(folder)
    return load_result(folder)


def in_small_tiles(
    stack: FocusStack, params: Params, folder: Path, kind="tiff", side=128, **options
):
    """Reconstruct in tiles, as if the memory did not suffice, and write what came of it."""
    planned = replace(plan.in_tiles(stack, params, 10**10), side=side, room=ROOM)
    folder.mkdir(exist_ok=True)
    result = run(stack, params, planned=planned, folder=folder, **options)
    return result.write(folder, tiled_format=kind)
