"""Where the pixels of a reconstruction live: in memory as a whole, or on disk and in tiles.

A method is written once, against `Canvas`. Steps that look at a known number of pixels around each
pixel go through `Canvas.map`; it hands them the whole image, or one tile after the other with as
much around it as they depend on. They return arrays of the size of the image: plain ones, or ones
mapped from files, which any function treats like arrays in memory. So no result depends on where it
was made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, Protocol, TypeAlias

import numpy as np
from numpy.typing import DTypeLike, NDArray

from varfocus.canvas.scratch import Scratch, percentile
from varfocus.canvas.tiles import GRID, Tile, tiles
from varfocus.progress import Progress, silent

Array: TypeAlias = NDArray[Any]

Work: TypeAlias = Callable[[Tile, Progress], Sequence[Array]]
"""Makes maps of shape ``(…, h, w)`` of all that a tile looks at, and may report progress."""

Rank: TypeAlias = Literal["linear", "lower"]

BLOCK_ROWS = 256
"""Rows that are in memory at once where an array is only read through."""


class Canvas(Protocol):
    """Where pixels live."""

    @property
    def shape(self) -> tuple[int, int]:
        """Height and width of the image."""

    @property
    def side(self) -> int | None:
        """Side of the tiles in pixels; None if the image is worked on as a whole."""

    def empty(self, shape: tuple[int, ...], dtype: DTypeLike) -> Array:
        """Return an array like `numpy.empty`."""

    def tiles(self, reach: int = 0, grid: int = GRID) -> list[Tile]:
        """Return the parts of the image, as `varfocus.canvas.tiles.tiles` cuts them."""

    def map(
        self,
        stage: str,
        reach: int,
        work: Work,
        progress: Progress = silent,
        grid: int = GRID,
    ) -> tuple[Array, ...]:
        """Make maps of the image from those of its parts.

        Parameters
        ----------
        stage : str
            What the work is called, for people.
        reach : int
            Pixels around a pixel that the work looks at, at least.
        work : callable
            ``work(tile, listen)`` returns maps of ``tile.outer``, spatial axes last, of which
            ``tile.within`` is used.
        progress : callable
            Listener; of the whole image `work` itself reports to it, of tiles how many are done.
        grid : int
            What tiles with their surroundings begin at multiples of.

        Returns
        -------
        tuple of ndarray of shape (…, H, W)
            The maps of the image, in the order of `work`.
        """

    def blocks(self, *maps: Array) -> Iterator[tuple[Array, ...]]:
        """Go once through maps of shape ``(H, W, …)``, in blocks of rows."""

    def percentile(self, values: NDArray[np.float32], share: float, rank: Rank = "linear") -> float:
        """Return `numpy.percentile` of all values above zero; 0 if there are none."""

    def median(self, values: NDArray[np.float32]) -> float:
        """Return `numpy.median` of the values, all above zero; NaN is left out."""

    def drop(self, *maps: Array) -> None:
        """Give back the disk space of arrays that are not used any more."""

    def release(self) -> None:
        """Give back the memory of what was touched; the content stays."""


class Whole:
    """In memory, in one piece: arrays are plain ones, and no map is ever copied.

    Parameters
    ----------
    shape : (int, int)
        Height and width of the image.
    """

    side = None

    def __init__(self, shape: tuple[int, int]) -> None:
        self.shape = shape

    def empty(self, shape: tuple[int, ...], dtype: DTypeLike) -> Array:
        """Return an array in memory."""
        return np.empty(shape, dtype)

    def tiles(self, reach: int = 0, grid: int = GRID) -> list[Tile]:
        """Return the image itself."""
        del reach, grid
        return tiles(self.shape, max(self.shape))

    def map(
        self,
        stage: str,
        reach: int,
        work: Work,
        progress: Progress = silent,
        grid: int = GRID,
    ) -> tuple[Array, ...]:
        """Return the maps that the work makes of the image."""
        del stage, reach, grid
        (tile,) = self.tiles()
        return tuple(work(tile, progress))

    def blocks(self, *maps: Array) -> Iterator[tuple[Array, ...]]:
        """Yield the maps themselves."""
        yield maps

    def percentile(self, values: NDArray[np.float32], share: float, rank: Rank = "linear") -> float:
        """Return `numpy.percentile` of all values above zero; 0 if there are none."""
        alive = values[values > 0]
        return float(np.percentile(alive, share, method=rank)) if alive.size else 0.0

    def median(self, values: NDArray[np.float32]) -> float:
        """Return `numpy.median` of what is not NaN."""
        alive = values[np.isfinite(values)]
        return float(np.median(alive)) if alive.size else 0.0

    def drop(self, *maps: Array) -> None:
        """Do nothing: arrays in memory vanish when nobody refers to them."""

    def release(self) -> None:
        """Do nothing: they live in memory."""


class InTiles:
    """On disk, processed in tiles.

    Parameters
    ----------
    shape : (int, int)
        Height and width of the image.
    side : int
        Side of the tiles in pixels, a multiple of `GRID`.
    scratch : Scratch
        Where arrays are kept.
    """

    def __init__(self, shape: tuple[int, int], side: int, scratch: Scratch) -> None:
        self.shape, self.side, self._scratch = shape, side, scratch

    def empty(self, shape: tuple[int, ...], dtype: DTypeLike) -> Array:
        """Return an array on disk."""
        return self._scratch.empty(shape, dtype)

    def tiles(self, reach: int = 0, grid: int = GRID) -> list[Tile]:
        """Return the tiles."""
        return tiles(self.shape, self.side, reach, grid)

    def map(
        self,
        stage: str,
        reach: int,
        work: Work,
        progress: Progress = silent,
        grid: int = GRID,
    ) -> tuple[Array, ...]:
        """Put the maps together that the work makes of the tiles."""
        parts = self.tiles(reach, grid)
        out: list[Array] = []
        progress(stage, 0, len(parts))
        for done, tile in enumerate(parts, start=1):
            made = work(tile, silent)
            if not out:
                out = [self.empty((*a.shape[:-2], *self.shape), a.dtype) for a in made]
            for whole, part in zip(out, made, strict=True):
                whole[..., *tile.inner] = part[..., *tile.within]
            self.release()
            progress(stage, done, len(parts))
        return tuple(out)

    def blocks(self, *maps: Array) -> Iterator[tuple[Array, ...]]:
        """Yield some rows of each map after the other."""
        for top in range(0, self.shape[0], BLOCK_ROWS):
            yield tuple(a[top : top + BLOCK_ROWS] for a in maps)
            self.release()

    def percentile(self, values: NDArray[np.float32], share: float, rank: Rank = "linear") -> float:
        """Return `numpy.percentile` of all values above zero, counted; 0 if there are none."""
        return percentile(lambda: (block for (block,) in self.blocks(values)), share, rank)

    def median(self, values: NDArray[np.float32]) -> float:
        """Return `numpy.median`, counted."""
        return percentile(lambda: (block for (block,) in self.blocks(values)), 50.0, "mean")

    def drop(self, *maps: Array) -> None:
        """Give back the disk space of arrays."""
        for array in maps:
            self._scratch.drop(array)

    def release(self) -> None:
        """Give back the memory of what was touched."""
        self._scratch.release()
