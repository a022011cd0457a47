"""What the page's worker process does: load, solve, show. Thin calls of the pipeline.

A job is a frozen dataclass that is sent to the worker and run there. What is worth keeping between
jobs, such as frames at preview size, stays on the worker's `Bench`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from varfocus import pipeline
from varfocus.align import Alignment
from varfocus.align.models import scaling
from varfocus.app.tiles import Shown, as_rgba, write_pyramid
from varfocus.canvas.halving import sampled
from varfocus.depth import index_to_depth, sure_share
from varfocus.export.evidence import MARGIN, Place, contrast_curves
from varfocus.export.products import PictureShape, Shape, make_product
from varfocus.export.saved import SavedResult, load_result, surface_of
from varfocus.geometry import Rectangle
from varfocus.io.frames import probe_files
from varfocus.io.mask import read_mask
from varfocus.io.selection import UNSAID, Selection
from varfocus.params import AreaParams, Params, Resources
from varfocus.progress import Progress
from varfocus.result import Result
from varfocus.stack import ArrayFrame, FocusStack
from varfocus.surface.measurements import (
    Measured,
    Measurements,
    measure_all,
    profiles_csv,
    table_csv,
)

Maps: TypeAlias = dict[str, NDArray[np.float32]]
"""Maps of one size by name."""

PREVIEW_SIDE = 448
"""Longest side in pixels, at most, at which a change is answered at once."""

PREVIEW_VOXELS = 1_500_000
"""Pixels of all frames together, at most, at which a change is answered at once."""

LOOKED_AT = 2**26
"""About as many pixels of a map, at most, are used to find its range of colours."""

UNSURE = 0.5
"""Confidence below which a depth is hatched, and not measured."""

HELD_BYTES = 768 << 20
"""Stacks up to this size are held in memory, to answer clicks at once."""


@dataclass
class Bench:
    """What a worker keeps between jobs.

    Attributes
    ----------
    small : dict of (int, int, box) to ArrayFrame
        Frames at preview size, by the page's number of the frame, by how much it was shrunk, and
        which rectangle of it.
    saved : SavedResult or None
        The result that was measured last.
    large : dict of int to ArrayFrame
        Frames in full size, if they are small enough to be held.
    made : tuple of int and Result, or None
        Version and result of the last reconstruction in full.
    kept : tuple of a key and Kept, or None
        What runs of the same frames have in common.
    touched : tuple of int and Result, or None
        Version and result that was retouched last.
    """

    small: dict[tuple[int, int, Rectangle | None], ArrayFrame] = field(default_factory=dict)
    saved: SavedResult | None = None
    large: dict[int, ArrayFrame] = field(default_factory=dict)
    made: tuple[int, Result] | None = None
    kept: tuple[object, pipeline.Kept] | None = None
    touched: tuple[int, Result] | None = None

    def known(self, key: object) -> pipeline.Kept:
        """Return what earlier runs of the same frames left behind."""
        if self.kept is None or self.kept[0] != key:
            self.kept = key, pipeline.Kept()
        return self.kept[1]

    def full(self, stack: FocusStack, ids: Sequence[int]) -> FocusStack | None:
        """Return the stack in memory, decoded once; None if it is too large for that."""
        height, width = stack.shape
        if len(stack) * height * width * stack.channels * stack.dtype.itemsize > HELD_BYTES:
            return None
        if set(self.large) - set(ids):
            self.large.clear()  # other frames than before
        missing = [k for k, frame_id in enumerate(ids) if frame_id not in self.large]
        for k in missing:
            self.large[ids[k]] = ArrayFrame(stack.frames[k].name, stack.read(k))
        return replace(stack, frames=[self.large[i] for i in ids])

    def result(self, folder: Path) -> SavedResult:
        """Return a saved result; the last one asked for stays in memory."""
        if self.saved is None or self.saved.folder != folder:
            self.saved = load_result(folder)
        return self.saved

    def preview(
        self, stack: FocusStack, ids: Sequence[int], box: Rectangle | None = None
    ) -> tuple[FocusStack, int]:
        """Return a rectangle of the stack at preview size, decoding what is not there yet.

        Also by how much it is smaller.
        """
        factor = shrink_factor(len(stack), *(stack.shape if box is None else box.shape))
        frames = [self.shrunk(stack, k, i, factor, box) for k, i in enumerate(ids)]
        return replace(stack, frames=frames, pixel_size=None), factor

    def shrunk(
        self, stack: FocusStack, k: int, frame_id: int, factor: int, box: Rectangle | None = None
    ) -> ArrayFrame:
        """Return one frame at preview size, decoded once."""
        key = frame_id, factor, box
        if key not in self.small:
            # Whole frames stay for the strip; of rectangles only the newest is of use.
            for old in [o for o in self.small if o[2] == box and o[1] != factor]:
                del self.small[old]
            for old in [o for o in self.small if o[2] not in (None, box)]:
                del self.small[old]
            part = stack if box is None else stack.cropped(box)
            self.small[key] = shrunk(part, k, factor)
        return self.small[key]


class Job(Protocol):
    """Something the worker can do."""

    id: int
    """Number under which the outcome is reported."""

    newest: str
    """Of waiting jobs with the same word only the newest is done; "" if all are to be done."""

    def run(self, bench: Bench, progress: Progress) -> dict[str, Any]:
        """Do it and return what to report, as plain data."""


@dataclass(frozen=True)
class Probe:
    """Inspect an uploaded file; if it crashes a decoder, only the worker is lost.

    Parameters
    ----------
    id : int
        Number of the job.
    path : Path
        The file.
    selection : Selection
        Which stack is meant, where it holds several.
    """

    id: int
    path: Path
    selection: Selection = UNSAID
    newest: str = ""

    def run(self, bench: Bench, progress: Progress) -> dict[str, Any]:
        """Return what is in it."""
        del bench, progress
        return {"found": probe_files([self.path], self.selection)}


@dataclass(frozen=True)
class LoadPreviews:
    """Decode every frame once, and write it at preview size for the strip.

    Parameters
    ----------
    id : int
        Number of the job.
    stack : FocusStack
        Frames.
    ids : sequence of int
        The page's number of each frame.
    folder : Path
        Each frame's preview goes into ``folder/<id>/preview.npy``.
    """

    id: int
    stack: FocusStack
    ids: tuple[int, ...]
    folder: Path
    newest: str = "previews"

    def run(self, bench: Bench, progress: Progress) -> dict[str, Any]:
        """Write the previews; the same exposure for all, so that floating-point frames compare."""
        n = len(self.stack)
        factor = shrink_factor(n, *self.stack.shape)
        for k, frame_id in enumerate(self.ids):
            progress("reading", k, n)
            pixels = bench.shrunk(self.stack, k, frame_id, factor).pixels
            target = self.folder / str(frame_id)
            target.mkdir(parents=True, exist_ok=True)
            np.save(target / "preview.npy", as_rgba(pixels, self.stack.scale, white(self.stack)))
        progress("reading", n, n)
        height, width = pixels.shape[:2]
        return {"width": width, "height": height}


@dataclass(frozen=True)
class ShowFrame:
    """Write one frame in tiles.

    Parameters
    ----------
    id : int
        Number of the job.
    stack : FocusStack
        Frames.
    k : int
        Which.
    folder : Path
        Where its levels go.
    """

    id: int
    stack: FocusStack
    k: int
    folder: Path
    newest: str = "frame"

    def run(self, bench: Bench, progress: Progress) -> dict[str, Any]:
        """Decode and write."""
        del bench, progress
        pixels = self.stack.read(self.k)
        write_pyramid(self.folder, as_rgba(pixels, self.stack.scale, white(self.stack)))
        return {}


@dataclass(frozen=True)
class Solve:
    """Reconstruct, at preview size or in full.

    Parameters
    ----------
    id : int
        Number of the job and version of the result.
    stack : FocusStack
        Frames.
    ids : tuple of int
        The page's number of each frame.
    params : Params
        All parameters.
    folder : Path
        Where the maps go; those of a preview are reported instead.
    preview : bool
        At preview size.
    mask : Path, optional
        Picture of what counts.
    """

    id: int
    stack: FocusStack
    ids: tuple[int, ...]
    params: Params
    folder: Path
    preview: bool
    mask: Path | None = None
    newest: str = "solve"

    def run(self, bench: Bench, progress: Progress) -> dict[str, Any]:
        """Reconstruct, and write or report the maps."""
        counts = None if self.mask is None else read_mask(self.mask, self.stack.shape)
        if self.preview:
            return self._sketch(bench, progress, counts)
        kept = bench.known(self.ids)
        self.folder.mkdir(parents=True, exist_ok=True)
        result = pipeline.run(
            self.stack,
            self.params,
            progress,
            Resources(),
            kept,
            counts=counts,
            folder=self.folder,
        )
        bench.made = self.id, result
        maps, shown = shown_maps(result)
        write_maps(self.folder, maps, result.fused, shown)
        return self._about(result, maps, result.extent)

    def _sketch(
        self, bench: Bench, progress: Progress, counts: NDArray[np.bool_] | None
    ) -> dict[str, Any]:
        """Reconstruct at preview size; of a rectangle, that alone is shrunk."""
        box = self.params.area.box
        stack, factor = bench.preview(self.stack, self.ids, box)
        left, top = (0, 0) if box is None else box[:2]
        if counts is not None:
            height, width = stack.shape
            part = counts[top : top + height * factor, left : left + width * factor]
            counts = sampled(part, factor)
        result = pipeline.run(
            stack,
            replace(self.params, area=AreaParams()),
            progress,
            Resources(),
            bench.known((self.ids, box)),
            sketch=True,
            counts=counts,
        )
        maps, shown = shown_maps(result)
        x, y, width, height = result.extent
        place = Rectangle(left + factor * x, top + factor * y, factor * width, factor * height)
        return self._about(result, maps, place) | {"sketch": {**maps, "fused": shown(result.fused)}}

    def _about(self, result: Result, maps: Maps, place: Rectangle) -> dict[str, Any]:
        asked = replace(result.params, area=self.params.area)
        return about_maps(maps, result.unit, asked.as_keywords(), place) | {
            "warnings": list(result.warnings),
            "seconds": round(result.seconds, 3),
            "findings": result.findings,
            "alignment": result.alignment,
            "motion": motion_of(result.alignment),
            **direction(result.findings, result.stack.depths, result.stack.inverted),
        }


@dataclass(frozen=True)
class Save:
    """Write what was solved last as ``varfocus depth`` would; a newer change makes it superfluous.

    Parameters
    ----------
    id : int
        Number of the job.
    version : int
        Which result.
    folder : Path
        Where to.
    command : str
        The command that would do the same, for the record.
    """

    id: int
    version: int
    folder: Path
    command: str
    newest: str = "solve"

    def run(self, bench: Bench, progress: Progress) -> dict[str, Any]:
        """Write it."""
        if bench.made is None or bench.made[0] != self.version:
            return {}
        progress("writing", 0, 1)
        bench.made[1].save(self.folder, overwrite=True, command=self.command)
        progress("writing", 1, 1)
        return {"saved": self.version}


@dataclass(frozen=True)
class Curve:
    """Show what the depth of one pixel rests on.

    Parameters
    ----------
    id : int
        Number of the job.
    solved : Solve
        How the result was made.
    alignment : Alignment or None
        How the frames were aligned for it, in its size.
    findings : dict or None
        What the method found out about the stack.
    x, y : int
        Column and row in the frames.
    index : float
        The depth there as a fractional frame number.
    """

    id: int
    solved: Solve
    alignment: Alignment | None
    findings: dict[str, object] | None
    x: int
    y: int
    index: float
    newest: str = "curve"

    def run(self, bench: Bench, progress: Progress) -> dict[str, Any]:
        """Return contrast and model over focus."""
        del progress
        stack, place, note = self._frames(bench)
        (witness,) = contrast_curves(
            stack,
            self.solved.params,
            np.full(stack.shape, self.index, np.float32),
            [place],
            self.findings,
        )
        frames = np.arange(len(stack), dtype=np.float32)
        model = np.empty((0, 2)) if witness.model is None else witness.model
        order = 1 if stack.focus is None or stack.focus[-1] > stack.focus[0] else -1
        return {
            "focus": index_to_depth(frames, stack.focus)[::order].tolist(),
            "contrast": witness.contrast[::order].tolist(),
            "model_focus": index_to_depth(model[:, 0].astype(np.float32), stack.focus)[
                ::order
            ].tolist(),
            "model": model[::order, 1].tolist(),
            "unit": stack.unit,
            "note": note,
        }

    def _frames(self, bench: Bench) -> tuple[FocusStack, Place, str]:
        """Return the frames around the pixel, aligned, and where in them it lies."""
        asked, alignment = self.solved, self.alignment
        if not asked.preview and (full := bench.full(asked.stack, asked.ids)) is not None:
            return *_patch(full, alignment, self.x, self.y), ""
        box = asked.params.area.box if asked.preview else None
        stack, factor = bench.preview(asked.stack, asked.ids, box)
        left, top = (0, 0) if box is None else box[:2]
        if alignment is not None and not asked.preview:
            alignment = smaller(alignment, factor, stack.shape)
        patch = _patch(stack, alignment, (self.x - left) // factor, (self.y - top) // factor)
        large = "Contrast at preview size: the frames are too large to hold."
        return *patch, "" if asked.preview else large


def _patch(
    stack: FocusStack, alignment: Alignment | None, x: int, y: int
) -> tuple[FocusStack, Place]:
    """Return the aligned frames around a pixel of the reference, and where in them it lies."""
    height, width = stack.shape
    x, y = min(max(x, 0), width - 1), min(max(y, 0), height - 1)
    left, top = max(x - MARGIN, 0), max(y - MARGIN, 0)
    right, bottom = min(x + MARGIN + 1, width), min(y + MARGIN + 1, height)
    box = Rectangle(left, top, right - left, bottom - top)
    if alignment is None:
        return stack.cropped(box), Place("", x - left, y - top)
    extent = alignment.extent(box)
    return alignment.apply(stack, box), Place("", x - extent.left, y - extent.top)


def smaller(alignment: Alignment, factor: int, shape: tuple[int, int]) -> Alignment:
    """Return the alignment of the same frames made smaller."""
    S = scaling(float(factor))
    left, top, width, height = (value // factor for value in alignment.crop)
    return replace(
        alignment,
        size=shape,
        matrices=np.stack([np.linalg.inv(S) @ m @ S for m in alignment.matrices]),
        crop=Rectangle(left, top, min(width, shape[1] - left), min(height, shape[0] - top)),
    )


@dataclass(frozen=True)
class Measure:
    """Measure a result in full size.

    Parameters
    ----------
    id : int
        Number of the job.
    folder : Path
        The result, as saved.
    wanted : Measurements
        What.
    turned : bool
        Near and far are the other way round than the files say.
    """

    id: int
    folder: Path
    wanted: Measurements
    turned: bool = False
    newest: str = "measure"

    def run(self, bench: Bench, progress: Progress) -> dict[str, Any]:
        """Return rows of names and values, and the profile of each line."""
        del progress
        surface = surface_of(turned(bench.result(self.folder), self.turned))
        found = measure_all(surface, self.wanted)
        return {
            "measured": [_told(one, surface.unit) for one in found],
            "level": self.wanted.level.words,
            "csv": table_csv(found).decode(),
            "profiles": profiles_csv(found, surface.unit).decode(),
        }


def _told(one: Measured, unit: str) -> dict[str, Any]:
    """Return what was measured as plain data."""
    told: dict[str, Any] = {
        "name": one.shape.name,
        "kind": one.shape.kind,
        "rows": [[row.quantity, row.words] for row in one.rows],
        "problem": one.problem,
        "profile": None,
    }
    if one.along is not None and one.distance is not None:
        told["profile"] = {
            "distance": one.distance.tolist(),
            "height": [None if np.isnan(z) else float(z) for z in one.along.height],
            "x": one.along.x.tolist(),
            "y": one.along.y.tolist(),
            "distance_unit": one.distance_unit,
            "unit": unit,
        }
    return told


@dataclass(frozen=True)
class MakeProduct:
    """Write a file for another program.

    Parameters
    ----------
    id : int
        Number of the job.
    folder : Path
        The result, as saved.
    target : Path
        The file; its name says which.
    shape : Shape
        How surfaces are made.
    look : PictureShape
        How pictures are written.
    turned : bool
        Near and far are the other way round than the files say.
    """

    id: int
    folder: Path
    target: Path
    shape: Shape = field(default_factory=Shape)
    look: PictureShape = field(default_factory=PictureShape)
    turned: bool = False
    newest: str = ""

    def run(self, bench: Bench, progress: Progress) -> dict[str, Any]:
        """Write it."""
        del progress
        saved = turned(bench.result(self.folder), self.turned)
        content, scale = make_product(saved, self.target, shape=self.shape, look=self.look)
        self.target.write_bytes(content)
        return {"words": "" if scale is None else scale.words}


@dataclass(frozen=True)
class OpenResult:
    """Show a result that was saved before.

    Parameters
    ----------
    id : int
        Number of the job and version of the result.
    saved : Path
        The folder ``varfocus depth`` wrote.
    folder : Path
        Where the maps go.
    """

    id: int
    saved: Path
    folder: Path
    newest: str = "solve"

    def run(self, bench: Bench, progress: Progress) -> dict[str, Any]:
        """Read it and write the maps."""
        progress("reading", 0, 1)
        saved = bench.result(self.saved)
        record = saved.record
        maps = {"depth": saved.depth, "confidence": saved.confidence, "index": saved.index}
        if saved.uncertainty is not None:
            maps["uncertainty"] = saved.uncertainty
        integer = np.issubdtype(saved.fused.dtype, np.integer)
        peak = float(np.iinfo(saved.fused.dtype).max) if integer else float(saved.fused.max())
        write_maps(self.folder, maps, saved.fused, partial(as_rgba, scale=1.0 / (peak or 1.0)))
        place = Rectangle(*saved.origin, *saved.depth.shape[::-1])
        return about_maps(maps, saved.unit, record["parameters"], place) | {
            "warnings": record["warnings"],
            "seconds": record["seconds"],
            "findings": record.get("findings"),
            "command": record.get("command", ""),
            "motion": _recorded_motion(record.get("alignment")),
            **_recorded_direction(record),
        }


@dataclass(frozen=True)
class Drop:
    """Do nothing; but it takes the place of whatever was being solved."""

    id: int
    newest: str = "solve"

    def run(self, bench: Bench, progress: Progress) -> dict[str, Any]:
        """Do nothing."""
        del bench, progress
        return {}


@dataclass(frozen=True)
class Difference:
    """Subtract the depth of one result from that of another, where both have one.

    Parameters
    ----------
    id : int
        Number of the job.
    first, second : Path
        Levels of their depths.
    place, other : tuple of int
        Left, top, width and height that they cover of the frames.
    target : Path
        Where the levels of the difference go; in the place of the first.
    """

    id: int
    first: Path
    second: Path
    place: tuple[int, int, int, int]
    other: tuple[int, int, int, int]
    target: Path
    newest: str = "difference"

    def run(self, bench: Bench, progress: Progress) -> dict[str, Any]:
        """Write the difference, and return its range, the same on both sides of zero."""
        del bench, progress
        minuend, subtrahend = (
            np.load(folder / "0.npy", mmap_mode="r", allow_pickle=False)
            for folder in (self.first, self.second)
        )
        difference = np.full(minuend.shape, np.nan, np.float32)
        common = Rectangle(*self.place).common(Rectangle(*self.other))
        here, there = (
            common._replace(left=common.left - left, top=common.top - top).window
            for left, top, *_ in (self.place, self.other)
        )
        difference[here] = minuend[here] - subtrahend[there]
        write_pyramid(self.target, difference)
        known = np.abs(difference[np.isfinite(difference)])
        most = float(np.percentile(known, 99.5)) if known.size else 1.0
        same = float((known == 0.0).mean()) if known.size else 0.0
        return {"range": [-(most or 1.0), most or 1.0], "same": same, "known": int(known.size)}


def turned(saved: SavedResult, yes: bool) -> SavedResult:
    """Return a result with heights counted the other way round, if asked."""
    if not yes:
        return saved
    about = saved.record["input"]
    return replace(
        saved,
        record=saved.record | {"input": about | {"inverted": not about.get("inverted")}},
    )


def direction(
    findings: Mapping[str, Any] | None, depths: NDArray[np.float64] | None, inverted: bool
) -> dict[str, Any]:
    """Return which depths are near, and whether that was seen or is the convention.

    Parameters
    ----------
    findings : mapping or None
        Of a run; ``edges.nearest_frame`` where surfaces hide one another.
    depths : ndarray of shape (n,), float64, or None
        Depth of each frame; None for the frame numbers themselves.
    inverted : bool
        Depths are heights.
    """
    edges = (findings or {}).get("edges")
    end = edges.get("nearest_frame") if isinstance(edges, Mapping) else None
    rising = depths is None or bool(depths[-1] > depths[0])
    if end in ("first", "last"):
        near = "small" if (end == "first") == rising else "large"
    else:
        near = "large" if inverted else "small"
    return {"near": near, "near_seen": end in ("first", "last"), "inverted": inverted}


def _recorded_direction(record: dict[str, Any]) -> dict[str, Any]:
    about = record["input"]
    inverted, focus = bool(about.get("inverted")), about["focus"]
    depths = None if focus is None else np.asarray(focus, np.float64)
    if inverted and (depths is not None or about["frames"]):
        positions = np.arange(len(about["frames"]), dtype=np.float64) if depths is None else depths
        depths = positions.max() - positions
    return direction(record.get("findings"), depths, inverted)


def motion_of(alignment: Alignment | None) -> list[list[float | None]] | None:
    """Return how far each frame moved, and the standard error of that, in pixels."""
    if alignment is None:
        return None
    pairs = zip(alignment.motions, alignment.errors, strict=True)
    return [[float(v) if np.isfinite(v) else None for v in pair] for pair in pairs]


def _recorded_motion(alignment: dict[str, Any] | None) -> list[list[float | None]] | None:
    if not alignment:
        return None
    return [[f.get("motion_px"), f.get("standard_error_px")] for f in alignment["frames"]]


def shown_maps(result: Result) -> tuple[Maps, Shown]:
    """Return the maps of a result that the page shows, and how its all-in-focus image looks."""
    maps = {"depth": result.depth, "confidence": result.confidence, "index": result.index}
    if result.uncertainty is not None:
        maps["uncertainty"] = result.uncertainty
    return maps, partial(as_rgba, scale=result.stack.scale, peak=white(result.stack))


def write_maps(folder: Path, maps: Maps, fused: NDArray[Any], shown: Shown) -> None:
    """Write maps and all-in-focus image in tiles, one folder of levels each."""
    for name, values in maps.items():
        write_pyramid(folder / name, values)
    write_pyramid(folder / "fused", fused, shown)


def about_maps(
    maps: Maps, unit: str, parameters: dict[str, Any], place: Rectangle
) -> dict[str, Any]:
    """Return what the page must know about the maps of a result, as plain data.

    Parameters
    ----------
    maps : dict of str to ndarray of shape (H, W), float32
        The maps.
    unit : str
        Unit of the depth.
    parameters : dict
        All that were used.
    place : Rectangle
        What the maps cover of the frames.
    """
    height, width = maps["depth"].shape
    units = {"depth": unit, "index": "frames", "uncertainty": unit}
    counted = maps["confidence"][maps["confidence"] > 0.0]
    return {
        "width": width,
        "height": height,
        "place": [int(value) for value in place],
        "unit": unit,
        "method": parameters["method"],
        "parameters": parameters,
        "maps": {
            name: {"unit": units.get(name, ""), "range": shown_range(name, values)}
            for name, values in maps.items()
        },
        "sure": sure_share(maps["confidence"]),
        "unsure": float((counted < UNSURE).mean()) if counted.size else 1.0,
        "unknown": float(np.isnan(maps["depth"]).mean()),
    }


def shown_range(name: str, values: NDArray[np.float32]) -> list[float]:
    """Return the values that the first and last colour stand for: nearly all, but no outliers."""
    if name == "confidence":
        return [0.0, 1.0]
    thinned = max(int(math.sqrt(values.size / LOOKED_AT)), 1)
    values = values[::thinned, ::thinned]
    finite = values[np.isfinite(values)]
    if not finite.size:
        return [0.0, 1.0]
    step = max(finite.size // 1_000_000, 1)
    low, high = np.percentile(finite[::step], (0.5, 99.5))
    return [float(low), float(high)] if high > low else [float(low), float(low) + 1.0]


def shrunk(stack: FocusStack, k: int, factor: int) -> ArrayFrame:
    """Decode a frame and average blocks of `factor` pixels each way, in its own dtype."""
    pixels = stack.read(k)
    height, width = pixels.shape[:2]
    rows, columns = height // factor, width // factor
    blocks = pixels[: rows * factor, : columns * factor].reshape(
        rows, factor, columns, factor, *pixels.shape[2:]
    )
    mean = blocks.mean(axis=(1, 3), dtype=np.float32)
    if np.issubdtype(pixels.dtype, np.integer):
        mean = np.rint(mean)
    return ArrayFrame(stack.frames[k].name, mean.astype(pixels.dtype))


def shrink_factor(n: int, height: int, width: int) -> int:
    """Return by how much `n` frames are made smaller for the preview."""
    many = math.ceil(math.sqrt(n * height * width / PREVIEW_VOXELS))
    return max(-(-max(height, width) // PREVIEW_SIDE), many, 1)


def white(stack: FocusStack) -> float:
    """Return what is shown as white: 1, but the brightest value of floating-point frames."""
    if np.issubdtype(stack.dtype, np.integer):
        return 1.0
    peak = float(stack.read(len(stack) // 2).max()) * stack.scale
    return peak if peak > 0.0 else 1.0
