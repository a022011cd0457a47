"""Jobs on frames: look at a file, make the strip, show one frame."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from varfocus.app.jobs.bench import Bench, shrink_factor, white
from varfocus.app.tiles import as_rgba, write_pyramid
from varfocus.errors import VarfocusError
from varfocus.io.frames import probe_files
from varfocus.io.selection import UNSAID, Selection
from varfocus.progress import Progress
from varfocus.stack import FocusStack


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
        """Write the previews; the same exposure for all, so that floating-point frames compare.

        Frames that cannot be decoded are reported, and the rest goes on.
        """
        n = len(self.stack)
        factor = shrink_factor(n, *self.stack.shape)
        damaged: dict[int, str] = {}
        peak = white(self.stack)
        for k, frame_id in enumerate(self.ids):
            progress("reading", k, n)
            try:
                pixels = bench.shrunk(self.stack, k, frame_id, factor).pixels
            except VarfocusError as error:
                damaged[frame_id] = str(error)
                continue
            target = self.folder / str(frame_id)
            target.mkdir(parents=True, exist_ok=True)
            np.save(target / "preview.npy", as_rgba(pixels, self.stack.scale, peak))
        progress("reading", n, n)
        height, width = (side // factor for side in self.stack.shape)
        return {"width": width, "height": height, "damaged": damaged}


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
