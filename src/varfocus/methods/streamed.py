r"""The robust method for images that do not fit into memory: the same result, from disk.

No part of the result depends on the tiles. What concerns the whole image is learnt from the whole
image. Contrast, its surroundings and the refinement are local: a pixel depends on a known number of
pixels around it (the refinement, one per iteration), so tiles that overlap by as many give what the
whole image would. The semi-global search is not local: across a plain area a path carries its costs
as far as the area goes. It runs in bands of rows, and the paths are handed on from band to band,
down the image and up again. What lies between the steps are maps on disk.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from varfocus import edges
from varfocus.canvas.scratch import Scratch, percentile
from varfocus.canvas.tiles import Box, Tile, tiles
from varfocus.contrast import PLAIN_SHARE, jump_weight, reach
from varfocus.contrast.kernel_scales import TRUNCATE, decoded
from varfocus.contrast.scales import SCALES
from varfocus.curve.likelihood import Model, learn
from varfocus.edges.plain_areas import settle
from varfocus.energy import WindowTerm
from varfocus.methods import robust
from varfocus.minimise.banded_search import WINDOW, Search, padded
from varfocus.params import Params, RobustParams
from varfocus.progress import Progress, silent
from varfocus.stack import FocusStack

Float = NDArray[np.float32]

FEWEST_ROWS = 16
"""Rows of a band at least."""

BLOCK_ROWS = 256
"""Rows that go through memory at once where pixels are independent."""


@dataclass(frozen=True)
class Sharp:
    """`varfocus.edges.Sharpened` on disk: depth, un-mixed colours and where they are known."""

    index: Float
    colour: Float
    seen: NDArray[np.bool_]
    notes: dict[str, object]


@dataclass(frozen=True)
class Solved:
    """Maps of the whole image, on disk.

    Attributes
    ----------
    index, margin, bend, cost : ndarray of shape (H, W), float32
        Depth in frames, its lead over rivals, curvature of the semi-global cost, and C.
    model : Model
        What the stack has taught.
    sharp : Sharp or None
        What the edge stage did, if it had anything to do.
    """

    index: Float
    margin: Float
    bend: Float
    cost: Float
    model: Model
    sharp: Sharp | None

    def describe(self) -> dict[str, object]:
        """Return what was found out about the stack, as plain data."""
        edges_found = None if self.sharp is None else self.sharp.notes
        return self.model.describe() | {"edges": edges_found}


def solve(
    stack: FocusStack,
    params: Params,
    scratch: Scratch,
    side: int,
    room: int,
    progress: Progress = silent,
) -> Solved:
    """Estimate depth as `varfocus.methods.robust.prepare` and `solve` do.

    Parameters
    ----------
    stack : FocusStack
        Frames that can be read in windows.
    params : Params
        Of which ``params.robust`` is used.
    scratch : Scratch
        Where maps are kept.
    side : int
        Side of the tiles in pixels.
    room : int
        Bytes that a band of rows may take.
    progress : callable
        Listener.

    Returns
    -------
    Solved
        What `robust.solve` finds, to the last bit.
    """
    chosen, shape, n = params.robust, stack.shape, len(stack)
    front = _measured(stack, params, scratch, side, progress)
    progress("learning", 0, 1)
    model = learn(front.curves, shape, SCALES, wanted=chosen.coordinate, focus=stack.focus)
    scratch.release()
    reference = percentile(lambda: _blocks(front.gradient, scratch), PLAIN_SHARE)
    progress("learning", 1, 1)
    lost = _overshadowed(front.strength, scratch, side, progress)
    # What is not needed any more makes place for what comes of it.
    slope, weight, jump = 0.0, front.gradient, front.strength
    for rows in _rows(shape):
        weight[rows] = jump_weight(front.gradient[rows], reference=reference)
        slope, jump[rows] = robust.penalties(model, weight[rows], chosen)
        scratch.release()
    bands = band_count(shape, n, model.labels, room)
    passes = Passes(scratch, progress)
    passes.begin("searching", 2 * bands - 1)
    ends = robust.end_labels(model)
    found = Search(
        front.contrast, model, lost, ends, slope, jump, bands, scratch.empty, passes.done
    )
    label = found.start()
    index = _refined(found.term(), model, label, weight, chosen, scratch, side, progress)

    def judge(depth: Float) -> tuple[Float, Float, Float]:
        for rows in _rows(shape):
            label[rows] = depth[rows] * np.float32(1.0 / model.step)
            scratch.release()
        passes.begin("judging", bands)
        distance = robust.RIVAL_DISTANCE / model.step
        return found.judge(label, distance, robust.curvature_reach(model))

    if chosen.edges != "off":
        settle(index, weight, chosen.cut * model.peak_width)
        scratch.release()
    margin, bend, cost = judge(index)
    sharp = None
    if chosen.edges == "auto":
        sharp = _sharpened(stack, index, (*found.alone(), cost), model, scratch, side, progress)
    if sharp is not None:
        for used in (margin, index):  # and what lies beside the margin
            scratch.drop(used)
        index = sharp.index
        margin, bend, cost = judge(index)
    scratch.drop(front.contrast)
    return Solved(index, margin, bend, cost, model, sharp)


@dataclass(frozen=True)
class Front:
    """`varfocus.contrast.scales.Scales` on disk."""

    contrast: NDArray[np.uint16]
    gradient: Float
    strength: Float

    def curves(self, scale: int, rows: slice, columns: slice) -> Float:
        """Return the contrast of some pixels over all frames, shape ``(n, P)``."""
        n = len(self.contrast) // SCALES
        part = self.contrast[scale * n : (scale + 1) * n, rows, columns]
        return decoded(part).reshape(n, -1)


def _measured(
    stack: FocusStack, params: Params, scratch: Scratch, side: int, progress: Progress
) -> Front:
    """Look at every frame once."""
    shape = stack.shape
    out = Front(
        scratch.empty((SCALES * len(stack), *shape), np.uint16),
        scratch.empty(shape, np.float32),
        scratch.empty(shape, np.float32),
    )

    def work(tile: Tile) -> None:
        front = robust.measure(stack.window(*tile.outer), params)
        out.contrast[:, *tile.inner] = front.contrast[:, *tile.within]
        out.gradient[tile.inner] = front.gradient[tile.within]
        out.strength[tile.inner] = front.strength[tile.within]

    _each(tiles(shape, side, contrast_reach(params)), work, scratch, "contrast", progress)
    return out


def _overshadowed(strength: Float, scratch: Scratch, side: int, progress: Progress) -> Float:
    lost: Float = scratch.empty(strength.shape, np.float32)
    around = sum(robust.veto_windows(strength.size)) // 2 + 1

    def work(tile: Tile) -> None:
        part = robust.overshadowed(strength[tile.outer], strength.size)
        lost[tile.inner] = part[tile.within]

    _each(tiles(strength.shape, side, around), work, scratch, "surroundings", progress)
    return lost


def _refined(
    term: WindowTerm,
    model: Model,
    label: Float,
    weight: Float,
    params: RobustParams,
    scratch: Scratch,
    side: int,
    progress: Progress,
) -> Float:
    """Refine a start in labels; uses up the data term."""
    index: Float = scratch.empty(label.shape, np.float32)

    def work(tile: Tile) -> None:
        d_0 = label[tile.outer] * np.float32(model.step)
        part, around = window_term(term, tile.outer), weight[tile.outer]
        solution = robust.refine(part, model, d_0, around, params, size=label.size)
        index[tile.inner] = solution.d[tile.within]

    # In one iteration a pixel hears of its next neighbours, and of no others.
    _each(tiles(label.shape, side, params.refinement + 2), work, scratch, "refining", progress)
    for used in (term.samples, term.scale, term.base):
        scratch.drop(used)
    return index


def _sharpened(
    stack: FocusStack,
    index: Float,
    alone: tuple[Float, Float, Float],
    model: Model,
    scratch: Scratch,
    side: int,
    progress: Progress,
) -> Sharp | None:
    """Put the pixels beside depth jumps on the right side, as `robust.sharpen_edges` does.

    Parameters
    ----------
    alone : tuple of three ndarrays of shape (H, W), float32
        Label of each pixel's own lowest cost, that cost, and C at `index`.
    """
    x, shape = model.coordinate.x, stack.shape
    numbers = edges.enough_frames(x)
    brightest = 1.0
    if not np.issubdtype(stack.dtype, np.integer):
        brightest = max(
            float(stack.window(*tile.inner).read(k).max())
            for tile in tiles(shape, side)
            for k in numbers
        )
    scale = robust.scale_for_edges(stack, brightest)

    def view(box: Box) -> tuple[list[NDArray[Any]], Float]:
        frames = robust.frames_for_edges(stack.window(*box), numbers)
        scratch.release()
        return frames, robust.among(numbers, index[box])

    found = edges.survey(view, shape, scale, x[numbers], side, progress)
    if found is None:
        return None
    out = Sharp(
        scratch.empty(shape, np.float32),
        scratch.empty((*shape, stack.channels), np.float32),
        scratch.empty(shape, np.bool_),
        {},
    )
    moved = []

    def work(tile: Tile) -> None:
        frames, within = view(tile.outer)
        label, lowest, cost = (each[tile.outer] for each in alone)
        before = index[tile.outer]
        rival = robust.lone_wells(label, lowest, cost, before, model.step)
        part = edges.sharpen_part(frames, scale, within, found, robust.among(numbers, rival))
        part = robust.restored(part, numbers, before, stack.scale / scale)
        out.index[tile.inner] = part.index[tile.within]
        out.colour[tile.inner] = part.colour[tile.within]
        out.seen[tile.inner] = part.seen[tile.within]
        moved.append(int(part.moved[tile.within].sum()))
        out.notes.update(part.describe() | {"moved_pixels": sum(moved)})

    parts = tiles(shape, side, edges.PART_REACH, edges.GRID)
    _each(parts, work, scratch, "sharpening", progress)
    return out


class Passes:
    """Counts the bands that are done with, and lets go of what they touched."""

    def __init__(self, scratch: Scratch, progress: Progress) -> None:
        self._scratch, self._progress = scratch, progress
        self._stage, self._count, self._total = "", 0, 0

    def begin(self, stage: str, total: int) -> None:
        """Begin to count for another stage."""
        self._stage, self._count, self._total = stage, 0, total
        self._progress(stage, 0, total)

    def done(self) -> None:
        """Count one more."""
        self._scratch.release()
        self._count += 1
        self._progress(self._stage, self._count, self._total)


def contrast_reach(params: Params) -> int:
    """Return how many pixels around a pixel its contrast depends on."""
    sigmas = params.robust.coarse_blur, params.robust.support
    around = sum(int(TRUNCATE * sigma + 0.5) for sigma in sigmas)
    return around + reach(params.sharpness.measure) + 1


def window_term(term: WindowTerm, box: Box) -> WindowTerm:
    """Return a part of a data term; its energy lacks what does not depend on d."""
    samples, scale, base = (
        np.ascontiguousarray(a[box]) for a in (term.samples, term.scale, term.base)
    )
    return WindowTerm(samples, scale, base, np.zeros(len(samples)), term.step)


def row_bytes(width: int, n: int, labels: int) -> int:
    """Return what one row of a band takes: two volumes, contrast, and maps."""
    return width * (8 * padded(labels) + 4 * n + 2 * WINDOW + 40)


def edge_bytes(width: int, labels: int) -> int:
    """Return what the path costs between bands take in memory while a band is worked on."""
    return 24 * width * (2 * padded(labels) + LANE_GUARD)


LANE_GUARD = 16
"""Labels that guard each pixel's path costs in the kernel."""


def band_count(shape: tuple[int, int], n: int, labels: int, room: int) -> int:
    """Return how many bands of rows a search within `room` bytes takes."""
    height, width = shape
    rows = (room - edge_bytes(width, labels)) // row_bytes(width, n, labels)
    return -(-height // max(min(rows, height), FEWEST_ROWS))


def scratch_bytes(shape: tuple[int, int], n: int, labels: int, room: int) -> int:
    """Return the disk space that `solve` takes."""
    between = 24 * padded(labels) * shape[1] * (band_count(shape, n, labels, room) - 1)
    maps = 4 * (5 + 2 + 2 * 3) + 2 * WINDOW + 6
    return math.prod(shape) * (4 * n + maps) + between


def _each(
    parts: list[Tile],
    work: Callable[[Tile], None],
    scratch: Scratch,
    stage: str,
    progress: Progress,
) -> None:
    passes = Passes(scratch, progress)
    passes.begin(stage, len(parts))
    for tile in parts:
        work(tile)
        passes.done()


def _rows(shape: tuple[int, ...]) -> list[slice]:
    starts = range(0, shape[0], BLOCK_ROWS)
    return [slice(start, min(start + BLOCK_ROWS, shape[0])) for start in starts]


def _blocks(array: NDArray[Any], scratch: Scratch) -> Iterator[NDArray[Any]]:
    for rows in _rows(array.shape):
        yield array[rows]
        scratch.release()
