"""Borders of objects in a depth map of the robust method, put where the frames show them.

First outlines (`varfocus.edges.outline`), if it is known which end of the stack is near; then the
rendering of what hides what (`varfocus.edges.stage`), where that explains the frames.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from varfocus import edges
from varfocus.canvas import Canvas, Tile
from varfocus.canvas.tiles import Box
from varfocus.curve.likelihood import Model
from varfocus.progress import Progress
from varfocus.stack import FocusStack

Float = NDArray[np.float32]

RIVAL_DISTANCE = 1.5
"""Wells further away than this many frames are rivals."""

CLEAR_LEAD = 0.1
"""A pixel by itself prefers another depth if that is cheaper by this much of an average well."""


def lone_wells(label: Float, lowest: Float, cost: Float, index: Float, step: float) -> Float:
    """Return the depth that each pixel would have by itself, where that is clearly another one.

    Objects a few pixels wide are outvoted by their surroundings, although their own pixels show
    their depth.

    Parameters
    ----------
    label, lowest : ndarray of shape (H, W), float32
        Where C is lowest, in labels, and C there.
    cost : ndarray of shape (H, W), float32
        C at the chosen depth.
    index : ndarray of shape (H, W), float32
        Chosen depth in frames.
    step : float
        Distance of labels in frames.

    Returns
    -------
    ndarray of shape (H, W), float32
        In frames: where C is lowest, if that is a rival and lower by a tenth of an average well;
        else `index`.
    """
    alone = label * np.float32(step)
    other = (np.abs(alone - index) > RIVAL_DISTANCE) & (cost - lowest > CLEAR_LEAD)
    return np.where(other, alone, index)


@dataclass(frozen=True)
class Sharp:
    """Depth with sharp edges of the whole image, wherever that lies; colours if un-mixed."""

    index: Float
    unmixed: tuple[Float, NDArray[np.bool_]] | None


def with_borders(
    stack: FocusStack,
    index: Float,
    alone: Callable[[], tuple[Float, Float, Float]],
    model: Model,
    nearest: edges.End | None,
    canvas: Canvas,
    progress: Progress,
) -> tuple[Sharp | None, dict[str, object]]:
    """Put the pixels beside depth jumps on the side that explains the frames better.

    First on the side that they look like, if it is known which end is near
    (`varfocus.edges.outline`); then, where rendering shows occlusion, on the side that explains it.

    Parameters
    ----------
    stack : FocusStack
        Frames; at most 16 of them are decoded once more.
    index : ndarray of shape (H, W), float32
        Depth in frames.
    alone : callable
        Returns three ndarrays of shape (H, W), float32: label of each pixel's own lowest cost, that
        cost, and C at `index`. Called only if the stage is open.
    model : Model
        Gives the focus coordinate.
    nearest : {"first", "last"} or None
        Which end of the stack is near, if that is known.
    canvas : Canvas
        Where maps live.
    progress : callable
        Listener.

    Returns
    -------
    sharp : Sharp or None
        None where the depth should stay as it is.
    notes : dict
        Whether the stage was open, and why not.
    """
    x = model.coordinate.x
    numbers = edges.enough_frames(x)
    progress("edges", 0, 1)
    # Of the whole image the frames stay in memory; tiles are decoded as they are needed.
    held = None if canvas.side else frames_for_edges(stack, numbers)

    def pictures(box: Box) -> list[NDArray[Any]]:
        if held is not None:
            return [frame[box] for frame in held]
        frames = frames_for_edges(stack.window(*box), numbers)
        canvas.release()
        return frames

    brightest = 1.0
    if not np.issubdtype(stack.dtype, np.integer):
        parts = (pictures(tile.inner) for tile in canvas.tiles())
        brightest = max(float(frame.max()) for frames in parts for frame in frames)
    scale = scale_for_edges(stack, brightest)
    drawn, outlines = None, dict[str, object]()
    if nearest is not None:
        place, height = np.array(numbers, np.float64), edges.jump_height(len(stack))
        before = index

        def outline(tile: Tile, _: Progress) -> tuple[NDArray[Any], ...]:
            frames = pictures(tile.outer)
            part = edges.outlined(frames, scale, place, before[tile.outer], nearest, height)
            return part.index, part.moved

        index, moved = canvas.map("outlines", edges.OUTLINE_REACH, outline, progress, edges.GRID)
        drawn = Sharp(index, None)
        outlines = {"nearest_frame": nearest, "outlined_pixels": _count(moved, canvas)}
    # Asked for again and again, in parts and as a whole.
    shown = None if held is None else among(numbers, index)

    def view(box: Box) -> tuple[list[NDArray[Any]], Float]:
        return pictures(box), among(numbers, index[box]) if shown is None else shown[box]

    found = edges.survey(view, stack.shape, scale, x[numbers], canvas.side, progress)
    progress("edges", 1, 1)
    if isinstance(found, edges.Closed):
        ratio = {} if found.ratio is None else {"error_ratio": round(found.ratio, 3)}
        return drawn, {"open": False, "why": found.why, **ratio, **outlines}
    about = dict[str, object](open=True) | outlines
    alone_at = alone()

    def work(tile: Tile, _: Progress) -> tuple[NDArray[Any], ...]:
        frames, within = view(tile.outer)
        label, lowest, cost = (each[tile.outer] for each in alone_at)
        before = index[tile.outer]
        rival = lone_wells(label, lowest, cost, before, model.step)
        part = edges.sharpen_part(frames, scale, within, found, among(numbers, rival))
        part = restored(part, numbers, before, stack.scale / scale)
        about.update(part.describe())
        return part.index, np.moveaxis(part.colour, 2, 0), part.seen, part.moved

    sharp, colour, seen, moved = canvas.map(
        "sharpening", edges.PART_REACH, work, progress, edges.GRID
    )
    if drawn is not None:
        canvas.drop(drawn.index)
    about["moved_pixels"] = _count(moved, canvas)
    return Sharp(sharp, (np.moveaxis(colour, 0, 2), seen)), about


def _count(marked: NDArray[np.bool_], canvas: Canvas) -> int:
    """Return how many pixels of a map are marked, and give up the map."""
    count = sum(int(block.sum()) for (block,) in canvas.blocks(marked))
    canvas.drop(marked)
    return count


def frames_for_edges(stack: FocusStack, numbers: list[int]) -> list[NDArray[Any]]:
    """Return some of the frames, each ``(H, W, C)``."""
    some = replace(stack, frames=[stack.frames[k] for k in numbers], files=(), focus=None)
    return [frame.reshape(*stack.shape, -1) for frame in some.ahead()]


def scale_for_edges(stack: FocusStack, brightest: float) -> float:
    """Return what maps pixel values to [0, 1]; floats need not end at 1."""
    if np.issubdtype(stack.dtype, np.integer):
        return stack.scale
    return stack.scale / max(1.0, brightest * stack.scale)


def among(numbers: list[int], index: Float) -> Float:
    """Return a depth in frames as one in some of them."""
    return np.interp(index, numbers, np.arange(len(numbers))).astype(np.float32)


def restored(
    found: edges.Sharpened, numbers: list[int], index: Float, gain: float
) -> edges.Sharpened:
    """Return what was found among some frames in all of them, colours multiplied by a gain."""
    whole = np.interp(found.index, np.arange(len(numbers)), numbers).astype(np.float32)
    # Pixels that stayed keep their depth to the last bit.
    depth = np.where(found.moved, whole, index)
    return replace(found, colour=found.colour * np.float32(gain), index=depth)
