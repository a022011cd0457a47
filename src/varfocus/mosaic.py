"""Stacks too large for memory: worked through in tiles, written as they finish.

The result is that of `varfocus.pipeline.run`, pixel by pixel; see `methods.streamed`. Frames of up
to 26 megapixels are aligned first, and resampled on disk; larger ones are mosaics, which are taken
to be aligned.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from varfocus import depth, edges, engine, export, pipeline, units
from varfocus.align import Alignment, align
from varfocus.canvas import budget
from varfocus.canvas.scratch import Scratch, free_bytes, percentile
from varfocus.canvas.tiles import GRID, Tile, tiles
from varfocus.curve.coordinate import label_count
from varfocus.curve.likelihood import Model
from varfocus.errors import ParameterError, TooLargeError
from varfocus.export import figures
from varfocus.export.atomic import prepare_folder, write_atomically
from varfocus.export.report import Findings, report_page
from varfocus.export.result_files import TiledFormat, file_names
from varfocus.export.tiled import About, MapFile, check_format, create
from varfocus.fuse import fuse, level_count
from varfocus.geometry import Rectangle
from varfocus.methods import robust, streamed
from varfocus.params import (
    DEFAULT_LIMITS,
    AlignParams,
    Limits,
    Params,
    Resources,
)
from varfocus.plan import FUSION_BYTES, needed_bytes
from varfocus.progress import Progress, silent, track
from varfocus.result import Figures, depth_unit, run_record
from varfocus.stack import ArrayFrame, FocusStack
from varfocus.units import PixelSize

OVERHEAD = 300_000_000
"""Bytes that the process takes before any pixel is read."""

ALIGNING_FRAMES = 5
"""Frames that must fit into memory for the stack to be aligned."""

LARGEST_PICTURE = int((robust.MOST_MAGNIFIED * robust.REFERENCE_SIZE) ** 2)
"""Pixels of what is still one picture. Beyond that, registration on shrunk frames is less exact
than the stage of a microscope, and would move frames that are aligned."""

SIDES = (4096, 3072, 2048, 1536, 1024, 512)
"""Sides of tiles that are tried, in pixels."""

FUSION_REACH = 192
"""Pixels around a pixel that its colour depends on: five levels of a pyramid."""

EDGE_BYTES = 120
"""Bytes per pixel of a tile that the edge stage takes beside its frames."""

WINDOW_BYTES = 150
"""Bytes per pixel of a tile that the refinement, and the maps around it, take."""


@dataclass(frozen=True)
class Plan:
    """How a stack will be worked through.

    Attributes
    ----------
    side : int
        Side of the tiles in pixels.
    room : int
        Bytes that a band of rows may take.
    scratch : int
        Bytes of disk space that are needed in between.
    words : str
        Why, and how, in one line.
    """

    side: int
    room: int
    scratch: int
    words: str


@dataclass(frozen=True)
class Written:
    """What a run has left.

    Attributes
    ----------
    files : mapping of str to Path
        By product, as `Result.save` returns them.
    record : dict
        What run.json says.
    alignment : Alignment or None
        What was done to the frames.
    depth, fused : ndarray
        To look at; coarser than what was written if that is large.
    """

    files: Mapping[str, Path]
    record: dict[str, Any]
    alignment: Alignment | None
    depth: NDArray[np.float32]
    fused: NDArray[Any]


def plan(
    stack: FocusStack, params: Params, resources: Resources, limits: Limits = DEFAULT_LIMITS
) -> Plan | None:
    """Decide whether a stack must be worked through in tiles, and how.

    Parameters
    ----------
    stack, params, resources
        As for `varfocus.pipeline.run`.
    limits : Limits
        How large a frame may be that is decoded whole.

    Returns
    -------
    Plan or None
        None if it fits into memory, or its method cannot work in tiles: `pipeline.run` then does
        it, or says what to do.

    Raises
    ------
    TooLargeError
        If not even the smallest tiles would fit.
    """
    limit = None if resources.max_memory is None else units.parse_size(resources.max_memory)
    allowed = budget.allowed_bytes(limit)
    if params.method not in ("auto", "robust") or params.robust.tgv or not engine.in_use():
        return None
    part = _counting(stack, params)
    wanted = replace(params, method="robust", robust=replace(params.robust, edges="off"))
    decoded = math.prod((part if stack.windowed else stack).shape)
    if needed_bytes(part, wanted) <= allowed and decoded <= limits.max_pixels:
        return None
    if params.area.mask is not None:
        raise ParameterError(
            "received a mask for frames that do not fit into memory",
            "expected none: they are worked through in tiles, all of which count",
            "Leave --mask out, or keep to a rectangle with --crop.",
        )
    try:
        return in_tiles(stack, params, allowed)
    except TooLargeError:
        paper = replace(Params("paper"), fusion=params.fusion)
        if params.method == "auto" and needed_bytes(part, paper) <= allowed:
            return None
        raise


def _counting(stack: FocusStack, params: Params) -> FocusStack:
    """Return the part of the frames that was asked for."""
    return stack if params.area.box is None else stack.cropped(params.area.box)


def in_tiles(stack: FocusStack, params: Params, allowed: int) -> Plan:
    """Plan to work through a stack in tiles within `allowed` bytes, whether it must be or not."""
    usable = allowed - OVERHEAD
    aligned = _to_align(stack, params.align, usable)
    decoded = 0 if stack.windowed else 3 * _frame_bytes(stack)
    stack = _counting(stack, params)
    size = math.prod(stack.shape)
    wanted = replace(params, method="robust", robust=replace(params.robust, edges="off"))
    labels = label_count(len(stack))
    band = streamed.FEWEST_ROWS * streamed.row_bytes(stack.shape[1], len(stack), labels)
    least = max(
        tile_bytes(stack, params, SIDES[-1]),
        band + streamed.edge_bytes(stack.shape[1], labels),
        decoded,
    )
    if least > usable:
        raise TooLargeError(
            f"{len(stack)} frames of {stack.shape[1]}×{stack.shape[0]} need about "
            f"{units.size_words(least + OVERHEAD)} even in tiles",
            f"expected at most {units.size_words(allowed)}",
            "Raise --max-memory"
            + ("." if stack.windowed else ", or convert the frames to tiled TIFF or Zarr."),
        )
    side = next(s for s in SIDES if tile_bytes(stack, params, s) <= usable)
    scratch = streamed.scratch_bytes(stack.shape, len(stack), labels, usable)
    itemsize = stack.channels * stack.dtype.itemsize
    scratch += size * (22 + 2 * itemsize)  # maps and their coarser levels
    if params.robust.edges == "auto":
        scratch += size * (5 + 4 * stack.channels)
    if aligned or not stack.windowed:
        scratch += size * len(stack) * itemsize
    needed = needed_bytes(stack, wanted)
    words = (
        f"{len(stack)} frames of {stack.shape[1]}×{stack.shape[0]} would need "
        f"{units.size_words(needed)} of memory and may use {units.size_words(allowed)}: they "
        f"are worked through in tiles of {side}×{side}, with {units.size_words(scratch)} of disk "
        "space in between"
    )
    return Plan(side, usable, scratch, words)


def _frame_bytes(stack: FocusStack) -> int:
    return math.prod(stack.shape) * stack.channels * stack.dtype.itemsize


def _to_align(stack: FocusStack, params: AlignParams, usable: int) -> bool:
    """Tell whether frames are to be aligned, and can be: each is then decoded whole.

    Raises
    ------
    ParameterError
        If it was asked for, and they cannot.
    """
    asked = params.align not in ("auto", "none") or params.transforms_from is not None
    if params.align == "none" and not asked and not params.auto_order:
        return False
    size, frame = math.prod(stack.shape), _frame_bytes(stack)
    if ALIGNING_FRAMES * frame <= usable and size <= DEFAULT_LIMITS.max_pixels:
        return asked or params.auto_order or size <= LARGEST_PICTURE
    if asked or params.auto_order:
        raise ParameterError(
            f"received a request to align frames of {units.size_words(frame)} each",
            f"expected {ALIGNING_FRAMES} of them to fit into {units.size_words(usable)}",
            "Align them before they are stitched, or raise --max-memory.",
        )
    return False


def tile_bytes(stack: FocusStack, params: Params, side: int) -> int:
    """Return what a tile of a side takes at most, with its surroundings."""
    n, per_frame = len(stack), stack.channels * stack.dtype.itemsize
    reach = max(
        sum(robust.veto_windows(math.prod(stack.shape))) // 2,
        params.robust.refinement,
        FUSION_REACH + params.fusion.front,
    )
    edge_bytes = 0
    if params.robust.edges == "auto":
        outer = side + 2 * edges.PART_REACH + edges.GRID
        layers = min(n, edges.MOST_LAYERS) * per_frame
        edge_bytes = outer * outer * (EDGE_BYTES + layers + 8 * stack.channels)
    outer = side + 2 * reach + GRID
    fusing = FUSION_BYTES[0] + FUSION_BYTES[1] * stack.channels + 60
    per_pixel = max(8 * n + 3 * per_frame + 40, WINDOW_BYTES, fusing + 4 * per_frame)
    return max(outer * outer * per_pixel, edge_bytes)


def run(
    stack: FocusStack,
    params: Params,
    planned: Plan,
    folder: Path,
    kind: TiledFormat = "tiff",
    overwrite: bool = False,
    resources: Resources = Resources(),
    command: str = "",
    asked: Mapping[str, Any] | None = None,
    timed: bool = True,
    report: bool = True,
    progress: Progress = silent,
) -> Written:
    """Work through a stack in tiles, and write the result.

    Parameters
    ----------
    stack : FocusStack
        Frames.
    params : Params
        All parameters.
    planned : Plan
        From `plan`.
    folder : Path
        Where to; also holds the scratch files, which have no names.
    kind : {"tiff", "zarr"}
        Format of the maps.
    overwrite : bool
        Replace the results of an earlier run.
    resources : Resources
        Threads it may use.
    command : str
        What asked for it, for the record.
    asked : mapping, optional
        Options that were given, by name, for the record.
    timed : bool
        Put the time it took on record.
    report : bool
        Write report.html.
    progress : callable
        Listener.

    Returns
    -------
    Written
        Files and record.
    """
    began = time.perf_counter()
    check_format(kind)
    prepare_folder(folder, file_names(stack.dtype, kind).values(), overwrite)
    _check_disk(folder, planned)
    params = replace(params, method="robust")
    with engine.use_threads(resources.threads), Scratch(folder) as scratch:
        frames, alignment = _aligned(stack, params, planned, progress)
        if not frames.windowed:
            frames = _unpacked(frames, scratch, progress)
        solved = streamed.solve(frames, params, scratch, planned.side, planned.room, progress)
        written = _Writer(frames, alignment, params, solved, folder, kind, scratch)
        try:
            written.all_tiles(planned.side, progress)
            about_maps = written.figures
            export.remove_stale(folder)
            files, shown = written.finish(progress)
        finally:
            written.discard()
    notes = [*alignment.warnings, *pipeline.out_of_range(written.ends_share, len(frames))]
    notes += pipeline.doubtful(written.known_share)
    extent = alignment.extent(params.area.box)
    record = run_record(frames, params, extent, about_maps, command, asked) | {
        "input": export.describe_input(stack),
        "alignment": alignment.record(stack.names),
        "findings": solved.describe(),
        "solver": None,
        "warnings": notes,
        "seconds": round(time.perf_counter() - began, 3) if timed else None,
        "tiles": {"side": planned.side, "format": kind, "reason": planned.words},
    }
    unit = depth_unit(stack)
    write_atomically(folder / "preview.png", figures.preview(shown["depth"], unit))
    files["preview"] = folder / "preview.png"
    if report:
        write_atomically(folder / "report.html", _report(record, shown, frames))
        files["report"] = folder / "report.html"
    write_atomically(
        folder / export.RUN_RECORD,
        export.as_json(record),
    )
    files["run"] = folder / export.RUN_RECORD
    return Written(files, record, alignment, shown["depth"], shown["fused"])


def _aligned(
    stack: FocusStack, params: Params, planned: Plan, progress: Progress
) -> tuple[FocusStack, Alignment]:
    """Align a stack if it can and should be, and keep the part that was asked for."""
    if _to_align(stack, params.align, planned.room):
        _, alignment = align(stack, params.align, progress)
        return alignment.apply(stack, params.area.box), alignment
    part = _counting(stack, params)
    if params.align.align == "none":
        return part, Alignment.untouched(stack, "alignment was switched off")
    note = (
        f"frames of {math.prod(stack.shape) / 1e6:.0f} megapixels that do not fit into memory were "
        "taken to be aligned. Align them before they are stitched if they are not."
    )
    return part, Alignment.untouched(stack, "they were taken to be aligned", note)


def _check_disk(folder: Path, planned: Plan) -> None:
    free = free_bytes(folder)
    if free < planned.scratch:
        raise TooLargeError(
            f"{folder}: {units.size_words(free)} of disk space are free",
            f"expected at least {units.size_words(planned.scratch)} for files in between",
            "Choose a folder on a larger disk with -o.",
        )


def _unpacked(stack: FocusStack, scratch: Scratch, progress: Progress) -> FocusStack:
    """Decode frames whose files have no parts once, into scratch files."""
    pixels = scratch.empty((len(stack), *stack.frames[0].shape), stack.dtype)
    frames = []
    for k, frame in enumerate(track(stack, "unpacking", len(stack), progress)):
        pixels[k] = frame
        scratch.release()
        frames.append(ArrayFrame(stack.names[k], pixels[k]))
    return replace(stack, frames=frames)


@dataclass(frozen=True)
class Products:
    """What a tile becomes; every map has the shape of the tile."""

    index: NDArray[np.float32]
    depth: NDArray[np.float32]
    confidence: NDArray[np.float32]
    uncertainty: NDArray[np.float32]
    fused: NDArray[Any]
    source: NDArray[np.uint16]
    known: NDArray[np.bool_]


def finish_tile(
    stack: FocusStack,
    index: NDArray[np.float32],
    margin: NDArray[np.float32],
    bend: NDArray[np.float32],
    cost: NDArray[np.float32],
    model: Model,
    params: Params,
    levels: int,
    positions: NDArray[np.float64] | None,
    unmixed: tuple[NDArray[np.float32], NDArray[np.bool_]] | None = None,
) -> Products:
    """Make the products of a part of the image, given its depth.

    Parameters
    ----------
    stack : FocusStack
        Frames of this part.
    index, margin, bend, cost : ndarray of shape (H, W), float32
        As in `varfocus.methods.streamed.Solved`.
    model : Model
        Of the whole image.
    params : Params
        Robust and fusion parameters.
    levels : int
        Levels of the whole image's pyramid.
    positions : ndarray of shape (n,) or None
        Depth of each frame; None for frame numbers.
    unmixed : tuple of ndarray (H, W, C), float32, and ndarray (H, W), bool, optional
        Colours from the edge stage, and where they are known.

    Returns
    -------
    Products
        Right up to what lies within `FUSION_REACH` of a border that is not one of the image.
    """
    limit = robust.MARGIN_LIMIT
    known = robust.evidence(cost, model) >= robust.NOISE_EVIDENCE / len(stack)
    physical = depth.index_to_depth(index, positions)
    if params.robust.unknown == "nan":
        physical = np.where(known, physical, np.float32(np.nan))
    sigma = robust.standard_error(bend, model)
    fused = fuse(stack, index, params.fusion, levels=levels)
    if unmixed is not None:
        fused = fused._replace(image=edges.unveiled(fused.image, *unmixed, stack.scale))
    return Products(
        index=index,
        depth=physical,
        confidence=depth.confidence(
            np.clip(margin, -limit, limit),
            depth.flatness(index),
            pipeline.CONFIDENCE_WEIGHTS["robust"],
        ),
        uncertainty=depth.physical_error(index, sigma, positions),
        fused=fused.image,
        source=fused.source,
        known=known,
    )


def _masked(made: Products, seen: Rectangle, tile: Tile) -> Products:
    """Mark what not all frames show as unknown."""
    rows, columns = (
        np.arange(span.start, span.stop)[:, None] if down else np.arange(span.start, span.stop)
        for span, down in zip(tile.outer, (True, False), strict=True)
    )
    inside = (seen.top <= rows) & (rows < seen.top + seen.height)
    inside = inside & (seen.left <= columns) & (columns < seen.left + seen.width)
    return replace(
        made,
        depth=np.where(inside, made.depth, np.float32(np.nan)),
        confidence=np.where(inside, made.confidence, np.float32(0.0)),
    )


class _Writer:
    """Makes the maps, tile by tile, and counts what the record tells of them."""

    def __init__(
        self,
        stack: FocusStack,
        alignment: Alignment,
        params: Params,
        solved: streamed.Solved,
        folder: Path,
        kind: TiledFormat,
        scratch: Scratch,
    ) -> None:
        self._stack, self._params, self._solved, self._scratch = stack, params, solved, scratch
        self._alignment = alignment
        unit, size = depth_unit(stack), stack.pixel_size
        shape = stack.shape
        self._uncertainty: NDArray[np.float32] = scratch.empty(shape, np.float32)
        note = f"pixel values in {unit}; NaN = unknown"

        def new(about: About, shape: tuple[int, ...], dtype: Any) -> MapFile:
            return create(kind, folder, shape, dtype, about, scratch)

        self._files = {
            "depth": new(About("depth", f"varfocus depth; {note}", size), shape, "f4"),
            "confidence": new(
                About("confidence", "varfocus confidence; probability", size), shape, "f4"
            ),
            "uncertainty": new(
                About("uncertainty", f"varfocus standard error of the depth; {note}", size),
                shape,
                "f4",
            ),
            "fused": new(
                About("fused", "varfocus all-in-focus image", size),
                stack.frames[0].shape,
                stack.dtype,
            ),
            "source": new(
                About("source", "varfocus source frame of the fused image, from 0", size, True),
                shape,
                "u2",
            ),
        }
        self._sums = np.zeros(7)
        self._low, self._high = math.inf, -math.inf

    def all_tiles(self, side: int, progress: Progress) -> None:
        reach = FUSION_REACH + self._params.fusion.front
        parts = tiles(self._stack.shape, side, reach)
        for tile in track(parts, "fusing", len(parts), progress):
            self._one(tile)
            self._scratch.release()

    def _one(self, tile: Tile) -> None:
        solved, sharp = self._solved, self._solved.sharp
        made = finish_tile(
            self._stack.window(*tile.outer),
            np.ascontiguousarray(solved.index[tile.outer]),
            solved.margin[tile.outer],
            solved.bend[tile.outer],
            solved.cost[tile.outer],
            solved.model,
            self._params,
            level_count(math.prod(self._stack.shape)),
            self._alignment.depths(self._stack),
            None if sharp is None else (sharp.colour[tile.outer], sharp.seen[tile.outer]),
        )
        if self._alignment.masked:
            made = _masked(made, self._alignment.crop, tile)
        for name, file in self._files.items():
            file[tile.inner] = getattr(made, name)[tile.within]
        self._uncertainty[tile.inner] = made.uncertainty[tile.within]
        index, confidence = made.index[tile.within], made.confidence[tile.within]
        finite = made.depth[tile.within][np.isfinite(made.depth[tile.within])]
        ends = pipeline.ends_share(index, len(self._stack))
        self._sums += np.array(
            [
                index.size - finite.size,
                confidence.sum(dtype=np.float64),
                (~made.known[tile.within]).sum(),
                (confidence >= depth.SURE).sum(),
                (confidence > 0).sum(),
                ends[0] * index.size,
                ends[1] * index.size,
            ]
        )
        if finite.size:
            self._low = min(self._low, float(finite.min()))
            self._high = max(self._high, float(finite.max()))

    def finish(self, progress: Progress) -> tuple[dict[str, Path], dict[str, NDArray[Any]]]:
        """Return the files, and of each a level to look at."""
        files, shown = {}, {}
        for name, file in track(self._files.items(), "writing", len(self._files), progress):
            files[name], shown[name] = file.finish()
        return files, shown

    def discard(self) -> None:
        for file in self._files.values():
            file.discard()

    @property
    def figures(self) -> Figures:
        size = math.prod(self._stack.shape)
        unknown, confidence, undetermined = self._sums[:3]
        some = unknown < size

        def blocks() -> Iterator[NDArray[np.float32]]:
            for tile in tiles(self._uncertainty.shape, 1024):
                yield self._uncertainty[tile.inner]
                self._scratch.release()

        return Figures(
            minimum=self._low if some else None,
            maximum=self._high if some else None,
            unknown=int(unknown),
            mean_confidence=float(confidence / size),
            sure=float(self._sums[3] / max(self._sums[4], 1.0)),
            median_uncertainty=percentile(blocks, 50.0),
            undetermined=int(undetermined),
        )

    @property
    def known_share(self) -> float:
        return 1.0 - float(self._sums[2]) / math.prod(self._stack.shape)

    @property
    def ends_share(self) -> tuple[float, float]:
        first, last = self._sums[5:7] / math.prod(self._stack.shape)
        return float(first), float(last)


def _report(record: dict[str, Any], shown: dict[str, NDArray[Any]], stack: FocusStack) -> bytes:
    """Return the report, with pictures of a coarser level."""
    size = stack.pixel_size
    factor = max(round(stack.shape[0] / shown["depth"].shape[0]), 1)
    if size is not None:
        size = PixelSize(factor * size.x, factor * size.y, size.unit)
    return report_page(
        Findings(
            record=record,
            depth=shown["depth"],
            confidence=shown["confidence"],
            fused=shown["fused"],
            witnesses=[],
            trace=None,
            pixel_size=size,
        )
    )
