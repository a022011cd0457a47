"""``varfocus align``: the frames themselves, aligned."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from varfocus import engine, export
from varfocus.align import align as align_stack
from varfocus.cli.console import Narrator, Talk, TalkOptions
from varfocus.cli.options import AlignOptions, ResourceOptions, called_as
from varfocus.cli.source import FocusOptions, Frames, load
from varfocus.errors import UsageError
from varfocus.export.atomic import prepare_folder, remove, write_atomically
from varfocus.export.result_files import picture_suffix
from varfocus.io.calibration import Focus
from varfocus.io.metadata import read_metadata
from varfocus.job import keep_apart
from varfocus.params import AlignParams, Resources
from varfocus.plan import admit_pass
from varfocus.progress import track
from varfocus.stack import FocusStack
from varfocus.units import parse_size


def align(
    source: Frames,
    /,
    *,
    output: Annotated[Path | None, Parameter(name=["--output", "-o"])] = None,
    dry_run: Annotated[bool, Parameter(negative=())] = False,
    overwrite: Annotated[bool, Parameter(negative=())] = False,
    focus: FocusOptions = Focus(),
    options: AlignOptions = AlignParams(),
    keep_gps: Annotated[bool, Parameter(negative=())] = False,
    resources: ResourceOptions = Resources(),
    talk: TalkOptions = Talk(),
) -> None:
    """Align a focus stack and write the frames, in their bit depth and without loss.

    Frames keep their names; 8 and 16 bit become PNG (TIFF if they came as TIFF), floating point
    becomes TIFF. EXIF and colour profile are kept. run.json has the maps, to be used again with
    --transforms-from.

    Parameters
    ----------
    source
        A folder, a pattern such as "shots/*.jpg", several files, or one file that holds a
        stack.
    output
        Folder for the aligned frames, made if missing; needed unless --dry-run.
    dry_run
        Write nothing; print for each frame how far it moved from the reference (root mean square
        over the frame), the standard error of that, how much of it uneven defocus may pretend, and
        by how much it is larger.
    overwrite
        Replace the frames of an earlier run.
    keep_gps
        Keep where the frames were taken; the rest of EXIF is always kept.
    """
    narrator = Narrator(talk)
    if output is None and not dry_run:
        raise UsageError(
            "received no folder for the aligned frames",
            "expected --output FOLDER",
            "--dry-run only looks, and writes nothing.",
        )
    stack = load(source, focus, narrator)
    admit_pass(stack, parse_size(resources.max_memory) if resources.max_memory else None)
    if output is None or dry_run:
        with narrator.bars() as progress, engine.use_threads(resources.threads):
            _, found = align_stack(stack, options, progress)
        narrator.say(found.summary())
        for warning in found.warnings:
            narrator.warn(warning)
        narrator.result(found.table(stack.names), {"alignment": found.record(stack.names)})
        return
    keep_apart(output, stack)
    names = file_names(stack)
    prepare_folder(output, [*names, export.RUN_RECORD], overwrite)
    remove(output / export.RUN_RECORD)
    with narrator.bars() as progress, engine.use_threads(resources.threads):
        aligned, found = align_stack(stack, options, progress)
        used = [found.order[int(rank)] for rank in found.ranks]
        kept = [names[k] for k in used]
        frames = track(aligned.ahead(), "writing", len(aligned), progress)
        for k, pixels in zip(used, frames, strict=True):
            about = read_metadata(stack, keep_gps, k)
            picture = export.images.encode(Path(names[k]), pixels, about.exif, about.icc)
            write_atomically(output / names[k], picture)
    narrator.say(found.summary())
    for warning in found.warnings:
        narrator.warn(warning)
    record = {
        "command": called_as(),
        "input": export.describe_input(stack),
        "alignment": found.record(stack.names),
        "warnings": list(found.warnings),
        "frames": kept,
    }
    record = export.write_record(output / export.RUN_RECORD, record)
    height, width = aligned.shape
    narrator.result(f"{len(kept)} aligned frames of {width}×{height} in {output}", record)


def file_names(stack: FocusStack) -> list[str]:
    """Return the names under which aligned frames are written, in the order of the stack."""
    names = []
    for name in stack.names:
        page = re.fullmatch(r"(.*)\[(\d+)\]", name)
        file = Path(page.group(1) if page else name)
        stem = f"{file.stem}_{int(page.group(2)):04d}" if page else file.stem
        tiff = file.suffix.lower() in (".tif", ".tiff")
        names.append(stem + (".tif" if tiff else picture_suffix(stack.dtype)))
    if len(set(names)) < len(names):  # a.jpg beside a.png, or frames from several folders
        names = [f"{k:04d}_{name}" for k, name in enumerate(names)]
    return names
