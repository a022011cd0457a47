"""Jobs that change a result by hand: strokes, and slabs to paint from."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from varfocus.align import Alignment, brought
from varfocus.align.alignment import WarpedFrame
from varfocus.app.jobs.bench import Bench, white
from varfocus.app.jobs.maps import about_maps, shown_maps
from varfocus.app.jobs.solve import Solve
from varfocus.app.tiles import as_rgba, write_pyramid
from varfocus.export import images
from varfocus.export.atomic import write_atomically
from varfocus.export.result_files import picture_suffix, slab_name
from varfocus.export.saved import load_result
from varfocus.fuse import fuse_slabs, slab_ranges
from varfocus.progress import Progress
from varfocus.result import Result
from varfocus.retouch import Retouch
from varfocus.stack import Frame

TOLD = ("maps", "sure", "unsure", "unknown")
"""What the page is told about retouched maps."""


@dataclass(frozen=True)
class Known:
    """A result in full size.

    Attributes
    ----------
    version : int
        Which.
    solved : Solve
        How it was made, with its frames.
    alignment : Alignment or None
        How they were aligned.
    saved : Path
        Its files, without any stroke.
    folder : Path
        Where its maps lie.
    """

    version: int
    solved: Solve
    alignment: Alignment | None
    saved: Path
    folder: Path


def _result(bench: Bench, known: Known) -> Result:
    """Return a result without strokes: the last one made, or read back."""
    if bench.made is not None and bench.made[0] == known.version:
        return bench.made[1]
    if bench.touched is not None and bench.touched[0] == known.version:
        return bench.touched[1].retouched(None)
    return Result.of_saved(load_result(known.saved), known.solved.stack, known.alignment)


@dataclass(frozen=True)
class ApplyStrokes:
    """Retouch a result, and write the maps that change.

    Parameters
    ----------
    id : int
        Number of the job.
    known : Known
        The result.
    retouch : Retouch
        All strokes.
    revision : int
        Under which its maps are written.
    """

    id: int
    known: Known
    retouch: Retouch
    revision: int

    @property
    def newest(self) -> str:
        """The word for jobs that make this one superfluous: newer strokes on the same result."""
        return f"retouch {self.known.version}"

    def run(self, bench: Bench, progress: Progress) -> dict[str, Any]:
        """Apply and write; report what the page must know about the maps."""
        progress("retouching", 0, 1)
        before = bench.touched
        if before is not None and before[0] == self.known.version:
            result = before[1].retouched(self.retouch, consume=True)
        else:
            result = _result(bench, self.known).retouched(self.retouch)
        bench.touched = self.known.version, result
        maps, shown = shown_maps(result)
        strokes = self.retouch.strokes
        changed = list(maps) if any(stroke.on_depth for stroke in strokes) else []
        for name in changed:
            write_pyramid(revised(self.known.folder, name, self.revision), maps[name])
        if not all(stroke.on_depth for stroke in strokes):
            changed.append("fused")
            folder = revised(self.known.folder, "fused", self.revision)
            write_pyramid(folder, result.fused, shown)
        progress("retouching", 1, 1)
        about = about_maps(maps, result.unit, result.params.as_keywords(), result.extent)
        return {"changed": changed} | {key: about[key] for key in TOLD}


@dataclass(frozen=True)
class SaveTouched:
    """Write a retouched result as ``varfocus depth --retouch`` would.

    Parameters
    ----------
    id : int
        Number of the job.
    known : Known
        The result.
    retouch : Retouch
        All strokes. If it has others by now, nothing is written: those are written next.
    folder : Path
        Where to.
    command : str
        The command that would do the same, for the record.
    """

    id: int
    known: Known
    retouch: Retouch
    folder: Path
    command: str
    newest: str = ""

    def run(self, bench: Bench, progress: Progress) -> dict[str, Any]:
        """Write it; report whether that was done."""
        version = self.known.version
        if bench.touched is None or bench.touched[0] != version:  # another was retouched since
            bench.touched = version, _result(bench, self.known).retouched(self.retouch)
        result = bench.touched[1]
        if result.retouch != self.retouch:
            return {"written": False}
        progress("writing", 0, 1)
        result.save(self.folder, overwrite=True, command=self.command)
        progress("writing", 1, 1)
        return {"written": True}


@dataclass(frozen=True)
class LayFrame:
    """Write a frame as the reference frame of a result would see it, in tiles.

    Parameters
    ----------
    id : int
        Number of the job.
    known : Known
        The result.
    frame : Frame
        The frame. One that the result was not made of is aligned first, and also written as a
        picture to paint from.
    nearest : tuple of int
        Frames of the result, by number from 0, those of the most similar focus first; the frame
        itself if the result was made of it.
    picture : Path or None
        Where the picture goes, with the ending that suits the pixels; None if the result was made
        of the frame.
    folder : Path
        Where its levels go.
    """

    id: int
    known: Known
    frame: Frame
    nearest: tuple[int, ...]
    picture: Path | None
    folder: Path
    newest: str = "frame"

    def run(self, bench: Bench, progress: Progress) -> dict[str, Any]:
        """Resample and write."""
        del bench
        stack = self.known.solved.stack
        alignment = self.known.alignment or Alignment.untouched(stack, "")
        if self.picture is None:
            k = self.nearest[0]
            matrix, gains = alignment.matrices[k], alignment.gains[k]
            pixels = WarpedFrame(self.frame, matrix, alignment.size, gains).read()
        else:
            params = self.known.solved.params.align
            frame = brought(self.frame, stack, alignment, self.nearest, params, progress)
            pixels = frame.read()
            self.picture.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(self.picture, images.picture(pixels)[1])
        write_pyramid(self.folder, as_rgba(pixels, stack.scale, white(stack)))
        return {}


@dataclass(frozen=True)
class MakeSlabs:
    """Fuse a few frames at a time.

    Parameters
    ----------
    id : int
        Number of the job.
    known : Known
        The result whose depth is used.
    size, overlap : int
        Frames in a slab, and frames that neighbours share.
    """

    id: int
    known: Known
    size: int
    overlap: int
    newest: str = "slabs"

    def run(self, bench: Bench, progress: Progress) -> dict[str, Any]:
        """Write each slab as a picture, and in tiles; report which frames it shows."""
        result = _result(bench, self.known)
        stack = result.stack
        ranges = slab_ranges(len(stack), self.size, self.overlap)
        look = partial(as_rgba, scale=stack.scale, peak=white(stack))
        folder = slab_folder(self.known.folder)
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        suffix, slabs = picture_suffix(stack.dtype), []
        made = fuse_slabs(stack, result.index, ranges, result.params.fusion, progress)
        for k, slab in enumerate(made):
            name = slab_name(k, len(ranges), suffix)
            (folder / name).write_bytes(images.picture(slab.fused.image)[1])
            write_pyramid(folder / str(k), slab.fused.image, look)
            first, last = (stack.names[slab.frames[end]] for end in (0, -1))
            slabs.append({"file": name, "first": first, "last": last})
        return {"slabs": slabs}


def revised(folder: Path, name: str, revision: int) -> Path:
    """Return where a map of a revision lies."""
    return folder / f"{name}@{revision}"


def laid_frame(known: Known, frame_id: int) -> Path:
    """Return the picture of a frame that a result was not made of."""
    suffix = picture_suffix(known.solved.stack.dtype)
    return known.folder / "frames" / f"{frame_id}{suffix}"


def slab_folder(folder: Path) -> Path:
    """Return where the slabs of a result lie."""
    return folder / "slabs"
