"""Borders of objects in a depth map of the robust method, put where the frames show them.

First outlines (`varfocus.edges.outline`), if it is known which end of the stack is near; then the
rendering of what hides what (`varfocus.edges.stage`), where that explains the frames; then what
pixels that look alike agree on (`varfocus.edges.consensus`); at last, the more the less rendering
explains, what the regions of the picture say (`varfocus.edges.regions`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from varfocus import edges, engine
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
    """Depth with sharp edges of the whole image, wherever that lies.

    Attributes
    ----------
    index : ndarray of shape (H, W), float32
        Depth in frames.
    unmixed : tuple of ndarrays of shape (H, W, C), float32, and (H, W), bool; or None
        Colours, and where they are, if they were un-mixed.
    doubt : ndarray of shape (H, W), float32; or None
        How little rendering explains, 0 to 1, if it was of use.
    """

    index: Float
    unmixed: tuple[Float, NDArray[np.bool_]] | None = None
    doubt: Float | None = None


def with_borders(
    stack: FocusStack,
    index: Float,
    alone: Callable[[], tuple[Float, Float, Float]],
    model: Model,
    nearest: edges.End | None,
    ghosts: bool,
    canvas: Canvas,
    progress: Progress,
) -> tuple[Sharp | None, dict[str, object]]:
    """Put the pixels beside depth jumps on the side that explains the frames better.

    First on the side that they look like, if it is known which end is near
    (`varfocus.edges.outline`); then, where rendering shows occlusion, on the side that explains it.
    Pixels that then still stand alone take the depth of those around that look like them; not where
    nothing shows that surfaces hide one another, for there depth has no jumps. The less rendering
    explains, and the more parts of objects are told by the picture, the more do pixels beside jumps
    take the depth of the part that they belong to.

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
    ghosts : bool
        Whether frames contradicted their contrast: some may still.
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
    progress("edges", 0, 1)
    borders = _Borders(stack, model, canvas, progress)
    drawn, about = None, dict[str, object]()
    if nearest is not None:
        drawn = borders.outlined(index, nearest, about)
    present = index if drawn is None else drawn.index
    found = borders.survey(present)
    end = nearest
    if isinstance(found, edges.Closed):
        ratio = {} if found.ratio is None else {"error_ratio": round(found.ratio, 3)}
        about = {"open": False, "why": found.why, **ratio, **about}
    else:
        about = {"open": True, **about}
        end = "first" if found.near_first else "last"
        sharp = borders.sharpened(present, found, alone(), about)
        if drawn is not None:
            canvas.drop(drawn.index)
        drawn = sharp
    if end is not None or ghosts:
        drawn = borders.agreed(index, drawn, end, about)
        drawn = borders.regional(index, drawn, end, about)
    progress("edges", 1, 1)
    return drawn, about


class _Borders:
    """The frames of a stack, and what is done with them to a depth map of the whole image."""

    def __init__(self, stack: FocusStack, model: Model, canvas: Canvas, progress: Progress) -> None:
        self.stack, self.model, self.canvas, self.progress = stack, model, canvas, progress
        self.numbers = edges.enough_frames(model.coordinate.x)
        self.place = np.array(self.numbers, np.float64)
        self.height = edges.jump_height(len(stack))
        # Of the whole image the frames stay in memory; tiles are decoded as they are needed.
        self.held = None if canvas.side else frames_for_edges(stack, self.numbers)
        brightest = 1.0
        if not np.issubdtype(stack.dtype, np.integer):
            parts = (self.pictures(tile.inner) for tile in canvas.tiles())
            brightest = max(float(frame.max()) for frames in parts for frame in frames)
        self.scale = scale_for_edges(stack, brightest)

    def pictures(self, box: Box) -> list[NDArray[Any]]:
        """Return a part of the frames, each ``(h, w, C)``."""
        if self.held is not None:
            return [frame[box] for frame in self.held]
        frames = frames_for_edges(self.stack.window(*box), self.numbers)
        self.canvas.release()
        return frames

    def outlined(self, index: Float, nearest: edges.End, about: dict[str, object]) -> Sharp:
        """Return the depth with outlines; notes how many pixels changed."""

        def work(tile: Tile, _: Progress) -> tuple[NDArray[Any], ...]:
            frames, part = self.pictures(tile.outer), index[tile.outer]
            found = edges.outlined(frames, self.scale, self.place, part, nearest, self.height)
            return found.index, found.moved

        drawn, moved = self.canvas.map(
            "outlines", edges.OUTLINE_REACH, work, self.progress, edges.GRID
        )
        about |= {"nearest_frame": nearest, "outlined_pixels": _count(moved, self.canvas)}
        return Sharp(drawn)

    def survey(self, index: Float) -> edges.Occlusion | edges.Closed:
        """Find out whether rendering may change a depth."""
        # Asked for again and again, in parts and as a whole.
        shown = None if self.held is None else among(self.numbers, index)

        def view(box: Box) -> tuple[list[NDArray[Any]], Float]:
            depth = among(self.numbers, index[box]) if shown is None else shown[box]
            return self.pictures(box), depth

        x, side = self.model.coordinate.x[self.numbers], self.canvas.side
        return edges.survey(view, self.stack.shape, self.scale, x, side, self.progress)

    def sharpened(
        self,
        index: Float,
        found: edges.Occlusion,
        alone: tuple[Float, Float, Float],
        about: dict[str, object],
    ) -> Sharp:
        """Return the depth that rendering explains best; notes what was done."""
        numbers, gain = self.numbers, self.stack.scale / self.scale

        def work(tile: Tile, _: Progress) -> tuple[NDArray[Any], ...]:
            label, lowest, cost = (each[tile.outer] for each in alone)
            before = index[tile.outer]
            rival = lone_wells(label, lowest, cost, before, self.model.step)
            within, rival = among(numbers, before), among(numbers, rival)
            frames = self.pictures(tile.outer)
            grid = edges.tile_grid(self.canvas.shape, tile.outer)
            part = edges.sharpen_part(frames, self.scale, within, found, rival, grid=grid)
            part = restored(part, numbers, before, gain)
            about.update(part.describe())
            colour = np.moveaxis(part.colour, 2, 0)
            return part.index, colour, part.seen, part.doubt, part.moved

        sharp, colour, seen, doubt, moved = self.canvas.map(
            "sharpening", edges.PART_REACH, work, self.progress, edges.GRID
        )
        about["moved_pixels"] = _count(moved, self.canvas)
        return Sharp(sharp, (np.moveaxis(colour, 0, 2), seen), doubt)

    def agreed(
        self, index: Float, drawn: Sharp | None, end: edges.End | None, about: dict[str, object]
    ) -> Sharp | None:
        """Return the depth, drawn or not, that pixels agree on; None if nothing ever changed."""
        present = index if drawn is None else drawn.index

        def work(tile: Tile, _: Progress) -> tuple[NDArray[Any], ...]:
            part = present[tile.outer]
            if not edges.uneven(part, self.height).any():
                return part, np.zeros(part.shape, bool)
            frames = self.pictures(tile.outer)
            found = edges.consensus(frames, self.scale, self.place, part, end, self.height)
            return found.index, found.moved

        agreed, moved = self.canvas.map("agreeing", edges.CONSENSUS_REACH, work, self.progress)
        unmixed = None if drawn is None else drawn.unmixed
        if unmixed is not None:
            for changed, seen in self.canvas.blocks(moved, unmixed[1]):
                seen[changed] = False  # what was un-mixed there belongs to another depth
        count = about["agreed_pixels"] = _count(moved, self.canvas)
        if drawn is not None:
            self.canvas.drop(drawn.index)
        elif not count:
            self.canvas.drop(agreed)
            return None
        return Sharp(agreed, unmixed, None if drawn is None else drawn.doubt)

    def regional(
        self, index: Float, drawn: Sharp | None, end: edges.End | None, about: dict[str, object]
    ) -> Sharp | None:
        """Return the depth, drawn or not, beside jumps that of regions; None as for `agreed`.

        Where something was rendered, regions count as much as they tell, or as the rendering is to
        be doubted.
        """
        before = present = index if drawn is None else drawn.index
        unmixed, doubt = (None, None) if drawn is None else (drawn.unmixed, drawn.doubt)

        def work(tile: Tile, _: Progress) -> tuple[Float]:
            part = present[tile.outer]
            asked = edges.beside_jumps(part, self.height)
            windows = edges.windows(tile.inner, tile.outer, self.canvas.shape)
            windows = [window for window in windows if asked[window.box].any()]
            if not windows:
                return (part,)
            frames = self.pictures(tile.outer)

            def cut(window: edges.Window) -> tuple[Float, float]:
                some, depth = [frame[window.box] for frame in frames], part[window.box]
                return edges.regional(
                    some, self.scale, self.place, depth, end, self.height, asked[window.box]
                )

            mixed, share = np.zeros((2, *part.shape), np.float32)
            for window, found in zip(windows, engine.side_by_side(cut, windows), strict=True):
                depth, telling = found
                mixed[window.box] += depth * window.weight
                share[window.box] += np.float32(telling) * window.weight
            if doubt is not None:
                share = np.maximum(share, doubt[tile.outer])
                mixed = part + share * (mixed - part)
            return (np.where(asked, mixed, part),)

        for _ in range(edges.REGION_ROUNDS if doubt is None else 1):
            (calm,) = self.canvas.map("regions", edges.REGION_REACH, work, self.progress)
            if present is not before:
                self.canvas.drop(present)
            present = calm
        changed = (int((new != old).sum()) for new, old in self.canvas.blocks(present, before))
        count = about["regional_pixels"] = sum(changed)
        if not count:
            if present is not before:
                self.canvas.drop(present)
            return drawn
        if unmixed is not None:
            for new, old, seen in self.canvas.blocks(present, before, unmixed[1]):
                seen[np.abs(new - old) > 0.5 * self.height] = False
        if drawn is not None:
            self.canvas.drop(before)
        return Sharp(present, unmixed)


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
    """Return what maps pixel values to [0, 1], the brightest of floats to 1."""
    if np.issubdtype(stack.dtype, np.integer) or brightest <= 0.0:
        return stack.scale
    return 1.0 / brightest


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
