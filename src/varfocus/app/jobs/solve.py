"""Jobs that bring results: reconstruct, write, and open what was written earlier."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from varfocus import pipeline
from varfocus.app.jobs.bench import Bench
from varfocus.app.jobs.maps import Maps, about_maps, direction, motion_of, shown_maps, write_maps
from varfocus.app.tiles import as_rgba
from varfocus.canvas.halving import sampled
from varfocus.geometry import Rectangle
from varfocus.io.mask import read_mask
from varfocus.params import AreaParams, Params, Resources
from varfocus.progress import Progress
from varfocus.result import Result
from varfocus.stack import FocusStack


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
    """Write a result as ``varfocus depth`` would; whatever is asked for next waits for it.

    Parameters
    ----------
    id : int
        Number of the job.
    version : int
        Which result: the last one made, or nothing is written.
    folder : Path
        Where to.
    command : str
        The command that would do the same, for the record.
    """

    id: int
    version: int
    folder: Path
    command: str
    newest: str = ""

    def run(self, bench: Bench, progress: Progress) -> dict[str, Any]:
        """Write it."""
        there = bench.made
        if there is None or there[0] != self.version:
            return {}
        progress("writing", 0, 1)
        there[1].save(self.folder, overwrite=True, command=self.command)
        progress("writing", 1, 1)
        return {"saved": self.version}


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


def _recorded_direction(record: dict[str, Any]) -> dict[str, Any]:
    about = record["input"]
    inverted, focus = bool(about.get("inverted")), about["focus"]
    depths = None if focus is None else np.asarray(focus, np.float64)
    if inverted and (depths is not None or about["frames"]):
        positions = np.arange(len(about["frames"]), dtype=np.float64) if depths is None else depths
        depths = positions.max() - positions
    return direction(record.get("findings"), depths, inverted)


def _recorded_motion(alignment: dict[str, Any] | None) -> list[list[float | None]] | None:
    if not alignment:
        return None
    return [[f.get("motion_px"), f.get("standard_error_px")] for f in alignment["frames"]]
