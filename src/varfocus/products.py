"""What a depth in frames becomes: physical depth, confidence, standard error, all-in-focus image.

Each is made when it is first read, so nobody waits for a picture that nobody asked for.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from varfocus import depth, engine
from varfocus.canvas import Canvas, Tile
from varfocus.edges import unveiled
from varfocus.fuse import fuse, level_count, pick
from varfocus.methods.estimate import Estimate
from varfocus.params import Params
from varfocus.plan import FUSION_REACH
from varfocus.progress import Progress, silent
from varfocus.stack import FocusStack

Float = NDArray[np.float32]

CONFIDENCE_WEIGHTS = {
    "paper": (4.13, 2.77, 0.59),
    "classic": (3.75, 6.87, -1.07),
    "robust": (1.37, 2.26, 0.95),
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


@dataclass(frozen=True)
class Given:
    """Products that are there already."""

    depth: Float
    confidence: Float
    fused: NDArray[Any]
    source: NDArray[np.uint16]
    uncertainty: Float | None = None


@dataclass(frozen=True)
class OnDemand:
    """Products that are made when they are first read.

    Parameters
    ----------
    stack : FocusStack
        The aligned frames; they are decoded once more for the all-in-focus image.
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

        def work(tile: Tile, _: Progress) -> tuple[Float]:
            flatness = depth.flatness(self._index(tile))
            likely = depth.confidence(self.found.margin[tile.outer], flatness, weights)
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
        return self._picture[0]

    @property
    def source(self) -> NDArray[np.uint16]:
        """Number of the frame that most of the fine detail comes from."""
        return self._picture[1]

    @cached_property
    def _picture(self) -> tuple[NDArray[Any], NDArray[np.uint16]]:
        colour = len(self.stack.frames[0].shape) == 3
        levels = level_count(math.prod(self.stack.shape))

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
