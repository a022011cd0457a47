"""What the page's worker process does: load, solve, show. Thin calls of the pipeline.

A job is a frozen dataclass that is sent to the worker and run there. What is worth keeping between
jobs, such as frames at preview size, stays on the worker's `Bench`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from varfocus import pipeline
from varfocus.app.tiles import as_rgba, write_pyramid
from varfocus.params import Params, Resources
from varfocus.progress import Progress
from varfocus.result import Result
from varfocus.stack import ArrayFrame, FocusStack

PREVIEW_SIDE = 448
"""Longest side in pixels at which a change is answered at once."""


@dataclass
class Bench:
    """What a worker keeps between jobs.

    Attributes
    ----------
    small : dict of int to ArrayFrame
        Frames at preview size, by the page's number of the frame.
    """

    small: dict[int, ArrayFrame] = field(default_factory=dict)

    def preview(self, stack: FocusStack, ids: Sequence[int]) -> FocusStack:
        """Return the stack at preview size, decoding what is not there yet."""
        for k, frame_id in enumerate(ids):
            if frame_id not in self.small:
                self.small[frame_id] = shrunk(stack, k)
        return FocusStack([self.small[i] for i in ids], stack.focus, stack.unit)


class Job(Protocol):
    """Something the worker can do."""

    id: int
    """Number under which the outcome is reported."""

    newest: str
    """Of waiting jobs with the same word only the newest is done; "" for jobs that all count."""

    def run(self, bench: Bench, progress: Progress) -> dict[str, Any]:
        """Do it and return what to report, as plain data."""


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
        for k, frame_id in enumerate(self.ids):
            progress("reading", k, n)
            if frame_id not in bench.small:
                bench.small[frame_id] = shrunk(self.stack, k)
            pixels = bench.small[frame_id].pixels
            target = self.folder / str(frame_id)
            target.mkdir(parents=True, exist_ok=True)
            np.save(target / "preview.npy", as_rgba(pixels, self.stack.scale, white(self.stack)))
        progress("reading", n, n)
        height, width = bench.small[self.ids[0]].pixels.shape[:2]
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
        Where the maps go and, in full, the result as ``varfocus depth`` would write it.
    preview : bool
        At preview size.
    command : str
        The command that would do the same, for the record.
    """

    id: int
    stack: FocusStack
    ids: tuple[int, ...]
    params: Params
    folder: Path
    preview: bool
    command: str = ""
    newest: str = "solve"

    def run(self, bench: Bench, progress: Progress) -> dict[str, Any]:
        """Reconstruct and write the maps."""
        stack = bench.preview(self.stack, self.ids) if self.preview else self.stack
        result = pipeline.run(stack, self.params, progress, Resources())
        if not self.preview:
            progress("writing", 0, 1)
            result.save(self.folder / "result", overwrite=True, command=self.command)
        return write_maps(result, self.folder)


def write_maps(result: Result, folder: Path) -> dict[str, Any]:
    """Write what the page shows of a result, and return what it must know about it.

    Parameters
    ----------
    result : Result
        Of a reconstruction.
    folder : Path
        One folder of levels per map.

    Returns
    -------
    dict
        Size, unit, ranges of the maps, warnings: plain data.
    """
    height, width = result.depth.shape
    maps: dict[str, NDArray[np.float32]] = {
        "depth": result.depth,
        "confidence": result.confidence,
        "index": result.index,
    }
    if result.uncertainty is not None:
        maps["uncertainty"] = result.uncertainty
    for name, values in maps.items():
        write_pyramid(folder / name, values)
    fused = as_rgba(result.fused, result.stack.scale, white(result.stack))
    write_pyramid(folder / "fused", fused)
    units = {"depth": result.unit, "index": "frames", "uncertainty": result.unit}
    return {
        "width": width,
        "height": height,
        "unit": result.unit,
        "method": result.params.method,
        "parameters": result.params.as_keywords(),
        "maps": {
            name: {"unit": units.get(name, ""), "range": shown_range(name, values)}
            for name, values in maps.items()
        },
        "warnings": list(result.warnings),
        "seconds": round(result.seconds, 3),
        "sure": float((result.confidence >= 0.9).mean()),
    }


def shown_range(name: str, values: NDArray[np.float32]) -> list[float]:
    """Return the values that the first and last colour stand for: nearly all, but no outliers."""
    if name == "confidence":
        return [0.0, 1.0]
    finite = values[np.isfinite(values)]
    if not finite.size:
        return [0.0, 1.0]
    step = max(finite.size // 1_000_000, 1)
    low, high = np.percentile(finite[::step], (0.5, 99.5))
    return [float(low), float(high)] if high > low else [float(low), float(low) + 1.0]


def shrunk(stack: FocusStack, k: int) -> ArrayFrame:
    """Decode a frame and average it down to preview size, in its own dtype."""
    pixels = stack.read(k)
    height, width = pixels.shape[:2]
    factor = shrink_factor(height, width)
    rows, columns = height // factor, width // factor
    blocks = pixels[: rows * factor, : columns * factor].reshape(
        rows, factor, columns, factor, *pixels.shape[2:]
    )
    mean = blocks.mean(axis=(1, 3), dtype=np.float32)
    if np.issubdtype(pixels.dtype, np.integer):
        mean = np.rint(mean)
    return ArrayFrame(stack.frames[k].name, mean.astype(pixels.dtype))


def shrink_factor(height: int, width: int) -> int:
    """Return by how much a frame is made smaller for the preview."""
    return max(-(-max(height, width) // PREVIEW_SIDE), 1)


def white(stack: FocusStack) -> float:
    """Return what is shown as white: 1, but the brightest value of floating-point frames."""
    if np.issubdtype(stack.dtype, np.integer):
        return 1.0
    peak = float(stack.read(len(stack) // 2).max())
    return peak if peak > 0.0 else 1.0
