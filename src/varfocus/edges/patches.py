"""The stack cut into patches: tiles with their surroundings, each in a few layers of depth."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from varfocus import engine
from varfocus.canvas.tiles import Box, Tile, grown, spans
from varfocus.edges.constants import FITTED, HALO, SURE_LAYERS, TILE, EdgeConstants
from varfocus.edges.render import Float, Patch
from varfocus.edges.scale import BlurScale
from varfocus.edges.sides import Mask, Sides

Done = TypeVar("Done")


@dataclass(frozen=True)
class Scene:
    """Frames and depth from near to far.

    Attributes
    ----------
    frames : list of n ndarrays of shape (H, W, C)
        Frames at least `layer_step` pixels of blur apart, in any number type.
    scale : float
        What maps them to [0, 1].
    position : ndarray of shape (n,), float64
        Where each is focused, in pixels of blur σ.
    blur : ndarray of shape (H, W), float32
        Depth in the same unit.
    noise : float
        As `BlurScale.noise`.
    constants : EdgeConstants
        What decides.
    """

    frames: list[NDArray[Any]]
    scale: float
    position: NDArray[np.float64]
    blur: Float
    noise: float
    constants: EdgeConstants


def as_scene(
    frames: list[NDArray[Any]],
    scale: float,
    blur: Float,
    measured: BlurScale,
    near_first: bool,
    constants: EdgeConstants = FITTED,
) -> Scene:
    """Return frames and depth in order from near to far.

    Parameters
    ----------
    frames : list of n ndarrays of shape (H, W, C)
        Frames.
    scale : float
        What maps them to [0, 1].
    blur : ndarray of shape (H, W), float32
        Depth in pixels of blur σ from the first frame on: `in_blur`.
    measured : BlurScale
        Their blur.
    near_first : bool
        Whether the first frame is the nearest.
    constants : EdgeConstants
        What decides.
    """
    position = measured.position
    if not near_first:
        frames, blur = frames[::-1], np.float32(position[-1]) - blur
        position = position[-1] - position[::-1]
    chosen = [0]
    for k in range(1, len(frames)):
        if position[k] - position[chosen[-1]] >= 0.999 * constants.layer_step:
            chosen.append(k)
    kept = [frames[k] for k in chosen]
    return Scene(kept, scale, position[chosen], blur, measured.noise, constants)


def in_blur(measured: BlurScale, index: Float) -> Float:
    """Turn depth in frames into depth in pixels of blur from the first frame on."""
    position = measured.position
    return np.interp(index, np.arange(position.size), position).astype(np.float32)


def to_frames(measured: BlurScale, blur: Float, near_first: bool) -> Float:
    """Turn depth in pixels of blur into depth in frames."""
    if not near_first:
        blur = np.float32(measured.position[-1]) - blur
    return np.interp(blur, measured.position, np.arange(measured.position.size)).astype(np.float32)


def tile_grid(shape: tuple[int, ...], part: Box | None = None) -> list[Box]:
    """Return the tiles of an image, as far as they lie in a part of it, in pixels of that part.

    They lie symmetric about the middle of the image, so that it may be turned; and where they lie
    does not depend on the part.
    """
    down, across = (spans(length, TILE) for length in shape[:2])
    if part is not None:
        down, across = (_cut_out(*axis) for axis in zip((down, across), part, strict=True))
    return [(rows, columns) for rows in down for columns in across]


def _cut_out(all_of: list[slice], part: slice) -> list[slice]:
    """Return what of some spans lies in a part."""
    inside = [
        slice(max(s.start, part.start) - part.start, min(s.stop, part.stop) - part.start)
        for s in all_of
    ]
    return [s for s in inside if s.start < s.stop]


def occupied_tiles(asks: Mask, grid: list[Box]) -> list[Box]:
    """Return the bounding boxes of the tested pixels in every tile of a grid that has any."""
    boxes = []
    for tile in grid:
        here = asks[tile]
        rows, columns = np.flatnonzero(here.any(axis=1)), np.flatnonzero(here.any(axis=0))
        if rows.size:
            top, left = (s.start for s in tile)
            down = slice(top + int(rows[0]), top + int(rows[-1]) + 1)
            boxes.append((down, slice(left + int(columns[0]), left + int(columns[-1]) + 1)))
    return boxes


def with_halo(box: Box, sides: Sides) -> Tile:
    """Return a box with the surroundings to render: the more, the higher its jumps are."""
    height = float((sides.far[box] - sides.near[box]).max())
    return grown(box, sides.near.shape, int(np.clip(np.ceil(2.0 * height), *HALO)), grid=1)


def cut_patch(scene: Scene, sides: Sides, box: Box) -> tuple[Patch, Box]:
    """Return a box with its halo, cut into layers, and where the box lies in it.

    Parameters
    ----------
    scene : Scene
        Frames and depth.
    sides : Sides
        Its jumps, and the present side of each pixel.
    box : tuple of two slices
        Rows and columns.
    """
    tile = with_halo(box, sides)
    here = tile.outer
    zone, near, far = sides.zone[here], sides.near[here], sides.far[here]
    blur = np.where(zone, np.where(sides.is_near[here], near, far), scene.blur[here])
    middle = 0.5 * (scene.position[1:] + scene.position[:-1])
    label, low, high = (np.searchsorted(middle, value) for value in (blur, near, far))
    sure = zone & (high - low >= SURE_LAYERS)
    low, high = np.where(sure, low, label), np.where(sure, high, label)
    layers = np.unique(np.stack([label, low, high]))
    # A layer lies where its pixels lie on average.
    place = np.array(
        [
            blur[label == layer].mean() if (label == layer).any() else scene.position[layer]
            for layer in layers
        ]
    )
    sigma = np.abs(scene.position[:, None] - place[None])
    # Frames that are used to test a near side, and the sharpest of every layer.
    wanted = np.zeros(len(scene.frames), bool)
    wanted[sigma.argmin(axis=0)] = True
    wanted |= (sigma[:, np.isin(layers, low[sure])] <= scene.constants.sharp).any(axis=1)
    kept = np.flatnonzero(wanted)
    frames = np.stack([np.moveaxis(scene.frames[k][here], 2, 0) for k in kept]).astype(np.float32)
    frames *= np.float32(scene.scale)
    shown, front, behind = (
        np.searchsorted(layers, each).astype(np.int32) for each in (label, low, high)
    )
    return Patch(frames, shown, front, behind, sigma[kept].astype(np.float32)), tile.within


def on_threads(work: Callable[[Box], Done], boxes: Iterable[Box]) -> list[Done]:
    """Process the boxes, which are independent, on as many threads as allowed."""
    if engine.in_use():
        with ThreadPoolExecutor(engine.thread_count(), thread_name_prefix="varfocus-edge") as pool:
            return list(pool.map(work, boxes))
    return [work(box) for box in boxes]
