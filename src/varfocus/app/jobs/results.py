"""Jobs on results: curves, measurements, differences, and files for other programs."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from varfocus.align import Alignment
from varfocus.align.models import scaling
from varfocus.app.jobs.bench import Bench
from varfocus.app.jobs.solve import Solve
from varfocus.app.tiles import write_pyramid
from varfocus.depth import index_to_depth
from varfocus.export.evidence import MARGIN, Place, contrast_curves
from varfocus.export.products import PictureShape, Shape, make_product
from varfocus.export.saved import SavedResult, surface_of
from varfocus.geometry import Rectangle
from varfocus.progress import Progress
from varfocus.stack import FocusStack
from varfocus.surface.measurements import (
    Measured,
    Measurements,
    measure_all,
    profiles_csv,
    table_csv,
)


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
