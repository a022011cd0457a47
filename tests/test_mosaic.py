"""Images too large for memory: in tiles they come out as they would whole, to the last bit."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import tifffile

from varfocus import mosaic, native
from varfocus.params import Params
from varfocus.pipeline import run
from varfocus.simulation import simulate
from varfocus.stack import FocusStack

pytestmark = pytest.mark.skipif(not native.in_use(), reason="needs the engine")

SIDE = 128
"""Of the tiles, so that a small image has many."""

ROOM = 3_000_000
"""Bytes for bands of rows: a dozen of them."""


def in_small_tiles(stack: FocusStack, params: Params, folder: Path, kind="tiff", **options):
    planned = replace(mosaic.in_tiles(stack, params, 2 * 10**9), side=SIDE, room=ROOM)
    return mosaic.run(stack, params, planned, folder, kind, **options)


def read_maps(files) -> dict[str, np.ndarray]:
    return {name: tifffile.imread(path) for name, path in files.items() if path.suffix == ".tif"}


def scene_stack(name: str) -> FocusStack:
    stack = simulate(name, shape=(333, 421), n=9, seed=2).stack
    if name != "textureless":
        return stack
    frames = np.stack(list(stack))
    frames[:, 60:300, 100:360] = 117  # a plain area larger than any tile
    return FocusStack.from_array(frames)


@pytest.mark.parametrize("name", ["steps", "textureless", "cone"])
def test_tiles_change_nothing(tmp_path, name):
    stack = scene_stack(name)
    params = Params.from_keywords("robust", align="none", edges="off", unknown="nan")
    whole = run(stack, params)
    done = in_small_tiles(stack, params, tmp_path)
    maps = read_maps(done.files)
    for product in ("depth", "confidence", "uncertainty", "fused", "source"):
        np.testing.assert_array_equal(maps[product], getattr(whole, product), err_msg=product)
    told, expected = done.record, whole.record()
    for key in ("parameters", "input", "depth", "undetermined_pixels", "findings", "uncertainty"):
        assert told[key] == expected[key], key
    assert told["confidence"]["mean"] == pytest.approx(expected["confidence"]["mean"], rel=1e-6)
