"""What a depth in frames becomes: physical depth, confidence, standard error, all-in-focus image.

Each is made when it is first read, so nobody waits for a picture that nobody asked for.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from varfocus import depth, engine
from varfocus.canvas import Canvas, Tile
from varfocus.edges import unveiled
from varfocus.errors import ParameterError
from varfocus.export.strokes import picture_reader
from varfocus.fuse import Fused, fuse, level_count, pick
from varfocus.fuse.motion import from_one_frame, moving
from varfocus.geometry import Rectangle
from varfocus.methods.estimate import Estimate
from varfocus.params import Params
from varfocus.plan import FUSION_REACH
from varfocus.progress import Progress, silent
from varfocus.retouch import DepthMaps, Retouch, Stroke, retouch_depth, retouch_picture
from varfocus.stack import FocusStack, FrameWindow, WindowedFrame
from varfocus.text import shown

Float = NDArray[np.float32]

CONFIDENCE_WEIGHTS = {
    "paper": (4.13, 2.77, 0.59),
    "classic": (3.75, 6.87, -1.07),
    "robust": (1.58, 3.41, 0.59),
}
"""w_M, w_f, w_0 of each method, fitted by benchmarks/fit_confidence.py."""


class Products(Protocol):
    """The maps of a result; see `varfocus.result.Result`."""

    @property
    def depth(self) -> Float:
        """Physical depth ``(H, W)``; NaN where unknown."""

    @property
    def confidence(self) -> Float:
        """Probability ``(H, W)`` that the depth is right to within one frame."""

    @property
    def uncertainty(self) -> Float | None:
        """Standard error ``(H, W)`` of the depth; None if the method does not know it."""

    @property
    def fused(self) -> NDArray[Any]:
        """All-in-focus image in the dtype of the frames."""

    @property
    def source(self) -> NDArray[np.uint16]:
        """Frame number ``(H, W)`` that most of the fine detail of `fused` comes from."""

    @property
    def moving(self) -> NDArray[np.bool_] | None:
        """Where ``(H, W)`` something moved; None if nobody asked."""


@dataclass(frozen=True)
class Given:
    """Products that are there already."""

    depth: Float
    confidence: Float
    fused: NDArray[Any]
    source: NDArray[np.uint16]
    uncertainty: Float | None = None
    moving: NDArray[np.bool_] | None = None


@dataclass(frozen=True)
class OnDemand:
    """Products that are made when they are first read.

    Parameters
    ----------
    stack : FocusStack
        The aligned frames; they are read once more for the all-in-focus image.
    found : Estimate
        Depth in frames, and what is known about it.
    params : Params
        As they were used.
    positions : ndarray of shape (n,) or None
        Depth of each frame; None for frame numbers.
    seen : ndarray of shape (H, W), bool, or None
        Which pixels count; None for all.
    canvas : Canvas
        Where maps live.
    threads : int or None
        Threads to use; None for the default.
    sketch : bool
        Take every pixel of the all-in-focus image from a single frame.
    progress : callable
        Listener.
    """

    stack: FocusStack
    found: Estimate
    params: Params
    positions: NDArray[np.float64] | None
    seen: NDArray[np.bool_] | None
    canvas: Canvas
    threads: int | None = None
    sketch: bool = False
    progress: Progress = silent

    @cached_property
    def depth(self) -> Float:
        """Physical depth; NaN where unknown, if so asked, and where pixels do not count."""
        known = self.found.known if self.params.robust.unknown == "nan" else None

        def work(tile: Tile, _: Progress) -> tuple[Float]:
            physical = depth.index_to_depth(self._index(tile), self.positions)
            if known is not None:
                physical = np.where(known[tile.outer], physical, np.float32(np.nan))
            return (self._counting(physical, tile, np.nan),)

        return self._made("depth", 0, work)[0]

    @cached_property
    def confidence(self) -> Float:
        """Probability of an error below one frame; 0 where pixels do not count."""
        weights = CONFIDENCE_WEIGHTS[self.params.method]
        with engine.use_threads(self.threads):
            margin = self.found.margin

        def work(tile: Tile, _: Progress) -> tuple[Float]:
            flatness = depth.flatness(self._index(tile))
            likely = depth.confidence(margin[tile.outer], flatness, weights)
            if self.found.heard is not None:
                likely *= self.found.heard[tile.outer]
            return (self._counting(likely, tile, 0.0),)

        return self._made("confidence", depth.FLATNESS_WINDOW // 2 + 1, work)[0]

    @cached_property
    def uncertainty(self) -> Float | None:
        """Standard error in the unit of the depth; None if the method does not know it."""
        sigma = self.found.sigma
        if sigma is None:
            return None

        def work(tile: Tile, _: Progress) -> tuple[Float]:
            return (depth.physical_error(self._index(tile), sigma[tile.outer], self.positions),)

        return self._made("uncertainty", 0, work)[0]

    @property
    def fused(self) -> NDArray[Any]:
        """All-in-focus image, of shape ``(H, W)`` or ``(H, W, C)``."""
        return self._composed[0].image

    @property
    def source(self) -> NDArray[np.uint16]:
        """Number of the frame that most of the fine detail comes from."""
        return self._composed[0].source

    @property
    def moving(self) -> NDArray[np.bool_] | None:
        """Where something moved, and was taken from one frame; None if nobody asked."""
        return self._composed[1]

    @cached_property
    def _composed(self) -> tuple[Fused, NDArray[np.bool_] | None]:
        fused = Fused(*self._picture)
        if self.params.fusion.moving == "blend" or self.sketch or self.canvas.side is not None:
            return fused, None
        width = (self.found.notes or {}).get("peak_width_frames")
        where = moving(
            self.stack, fused.image, self.found.index, width if isinstance(width, float) else 1.0
        )
        return from_one_frame(self.stack, fused, where), where

    @cached_property
    def _picture(self) -> tuple[NDArray[Any], NDArray[np.uint16]]:
        colour = len(self.stack.frames[0].shape) == 3
        levels = level_count(math.prod(self.stack.shape))
        with engine.use_threads(self.threads):
            _ = self.found.margin  # what it is made of takes memory that fusing needs

        def work(tile: Tile, listen: Progress) -> tuple[NDArray[Any], NDArray[np.uint16]]:
            part, index = self.stack.window(*tile.outer), self._index(tile)
            if self.sketch:
                fused = pick(part, index)
            else:
                fused = fuse(part, index, self.params.fusion, listen, levels)
            image = fused.image
            if self.found.unmixed is not None:
                unmixed, clear = self.found.unmixed
                image = unveiled(image, unmixed[tile.outer], clear[tile.outer], self.stack.scale)
            return np.moveaxis(image, 2, 0) if colour else image, fused.source

        image, source = self._made("fusing", FUSION_REACH + self.params.fusion.front, work)
        self.stack.let_go()
        return np.moveaxis(image, 0, 2) if colour else image, source

    def _made(
        self, stage: str, reach: int, work: Callable[[Tile, Progress], tuple[NDArray[Any], ...]]
    ) -> tuple[NDArray[Any], ...]:
        # Not given for "depth" and the like: stages that take no time need no progress bar.
        listen = self.progress if stage == "fusing" else silent
        with engine.use_threads(self.threads):
            return self.canvas.map(stage, reach, work, listen)

    def _index(self, tile: Tile) -> Float:
        return np.ascontiguousarray(self.found.index[tile.outer])

    def _counting(self, values: Float, tile: Tile, otherwise: float) -> Float:
        if self.seen is None:
            return values
        return np.where(self.seen[tile.outer], values, np.float32(otherwise))


@dataclass(frozen=True)
class Retouched:
    """Products with strokes applied, when they are first read.

    Parameters
    ----------
    base : Products
        Before any stroke; stays as it is.
    base_index : ndarray of shape (H, W), float32
        Depth in frames before any stroke.
    retouch : Retouch
        The strokes.
    stack : FocusStack
        The aligned frames.
    names : sequence of str
        Of the frames as given, among which strokes name theirs.
    used : sequence of int
        Which of them are in `stack`, in its order.
    ranks : ndarray of shape (n,)
        Place of each frame of `stack` in the order of all frames.
    positions : ndarray of shape (n,) or None
        Depth of each frame of `stack`; None for frame numbers.
    extent : Rectangle
        What the maps cover of the frames as given.
    canvas : Canvas
        Where maps live.
    """

    base: Products
    base_index: Float
    retouch: Retouch
    stack: FocusStack
    names: Sequence[str]
    used: Sequence[int]
    ranks: NDArray[np.float64]
    positions: NDArray[np.float64] | None
    extent: Rectangle
    canvas: Canvas

    @property
    def depth(self) -> Float:
        """Physical depth; NaN where unknown."""
        return self._depths[0].depth

    @property
    def confidence(self) -> Float:
        """Probability of an error below one frame; 0 where depth was put by hand."""
        return self._depths[0].confidence

    @property
    def uncertainty(self) -> Float | None:
        """Standard error in the unit of the depth; NaN where depth was put by hand."""
        return self._depths[0].uncertainty

    @property
    def index(self) -> Float:
        """Depth in frames; where the depth was erased, as before."""
        return self._depths[1]

    @property
    def moving(self) -> NDArray[np.bool_] | None:
        """Where something moved, which no stroke changes."""
        return self.base.moving

    @property
    def fused(self) -> NDArray[Any]:
        """All-in-focus image, with what was painted."""
        return self._picture[0]

    @property
    def source(self) -> NDArray[np.uint16]:
        """Number of the frame that most of the fine detail comes from."""
        return self._picture[1]

    @cached_property
    def _depths(self) -> tuple[DepthMaps, Float]:
        base = self.base
        strokes = [stroke for stroke in self.retouch.strokes if stroke.on_depth]
        if not strokes:
            return DepthMaps(base.depth, base.confidence, base.uncertainty), self.base_index
        error = None if base.uncertainty is None else self._copied(base.uncertainty)
        maps = DepthMaps(self._copied(base.depth), self._copied(base.confidence), error)
        index = self._copied(self.base_index)
        self._change_depth(maps, index, strokes)
        return maps, index

    def _change_depth(self, maps: DepthMaps, index: Float, strokes: Sequence[Stroke]) -> None:
        for stroke in strokes:
            window = retouch_depth(maps, self.extent, stroke, self._depth_at).window
            depth_now = maps.depth[window]
            known = np.isfinite(depth_now)
            index[window] = np.where(known, self._index_of(depth_now), index[window])
            self.canvas.release()

    def _depth_at(self, number: float) -> float:
        """Return the depth at a fractional number of a frame as given."""
        return float(np.interp(number, self.ranks, self._places))

    @property
    def _places(self) -> NDArray[np.float64]:
        if self.positions is None:
            return np.arange(self.ranks.size, dtype=np.float64)
        return self.positions

    def _index_of(self, values: Float) -> Float:
        order = np.argsort(self._places)
        return np.interp(values, self._places[order], order).astype(np.float32)

    @cached_property
    def _picture(self) -> tuple[NDArray[Any], NDArray[np.uint16]]:
        strokes = [stroke for stroke in self.retouch.strokes if not stroke.on_depth]
        if not strokes:
            return self.base.fused, self.base.source
        image, source = self._copied(self.base.fused), self._copied(self.base.source)
        self._change_picture(image, source, strokes)
        return image, source

    def _change_picture(
        self, image: NDArray[Any], source: NDArray[np.uint16], strokes: Sequence[Stroke]
    ) -> None:
        frames = _Frames(self.stack, self.extent)
        for stroke in strokes:
            number = None if stroke.picture is not None else self._number(stroke)
            if number is None:
                shape = self.retouch.height, self.retouch.width
                read = picture_reader(stroke, self.extent, shape, image)
            else:
                read = frames.reader(number)
            retouch_picture(image, source, self.extent, stroke, read, number)
            self.canvas.release()

    def take_over(self, other: Retouched) -> None:
        """Go on with the maps of products that have the same base and some of the strokes.

        Does nothing unless their strokes are the first of these. They change under `other`.
        """
        done = other.retouch.strokes
        if other.base is not self.base or self.retouch.strokes[: len(done)] != done:
            return
        more = self.retouch.strokes[len(done) :]
        if "_depths" in other.__dict__ and any(stroke.on_depth for stroke in done):
            maps, index = other.__dict__.pop("_depths")
            self._change_depth(maps, index, [stroke for stroke in more if stroke.on_depth])
            self.__dict__["_depths"] = maps, index
        if "_picture" in other.__dict__ and not all(stroke.on_depth for stroke in done):
            image, source = other.__dict__.pop("_picture")
            self._change_picture(image, source, [s for s in more if not s.on_depth])
            self.__dict__["_picture"] = image, source

    def _number(self, stroke: Stroke) -> int:
        """Return which frame of the aligned stack a stroke paints from."""
        named = [k for k, name in enumerate(self.names) if name == stroke.frame]
        if isinstance(stroke.frame, str) and len(named) == 1:
            given = named[0]
        elif isinstance(stroke.frame, str) or stroke.frame is None:
            raise ParameterError(
                f"received a stroke from the frame {shown(stroke.frame)}, of which there are "
                f"{len(named)}",
                "expected the name of one of the frames, or its number from 0",
            )
        else:
            given = int(stroke.frame)
        if given not in self.used:
            raise ParameterError(
                f"received a stroke from frame {shown(stroke.frame)}",
                f"expected one of the {len(self.used)} frames that take part",
                "Remove the stroke, or let the frame take part.",
            )
        return list(self.used).index(given)

    def _copied(self, values: NDArray[Any]) -> NDArray[Any]:
        copy = self.canvas.empty(values.shape, values.dtype)
        for part, target in self.canvas.blocks(values, copy):
            target[...] = part
        return copy


class _Frames:
    """Parts of aligned frames; of those that are decoded as a whole, the last is kept."""

    def __init__(self, stack: FocusStack, extent: Rectangle) -> None:
        self._stack, self._extent = stack, extent
        self._kept: tuple[int, NDArray[Any]] | None = None

    def reader(self, number: int) -> Callable[[Rectangle], NDArray[Any]]:
        frame, extent = self._stack.frames[number], self._extent

        def read(box: Rectangle) -> NDArray[Any]:
            place = box._replace(left=box.left - extent.left, top=box.top - extent.top)
            if isinstance(frame, WindowedFrame) and frame.windowed:
                return FrameWindow(frame, *place.window).read()
            if self._kept is None or self._kept[0] != number:
                self._kept = None
                self._kept = number, frame.read()
            return self._kept[1][place.window]

        return read
