"""``varfocus fuse``: frames in, one picture with everything in focus out."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Annotated

from cyclopts import Group, Parameter

from varfocus import engine
from varfocus.cli.console import Narrator, Talk, TalkOptions, table
from varfocus.cli.options import (
    AlignOptions,
    FuseOptions,
    KeepGps,
    ResourceOptions,
    RetouchOptions,
)
from varfocus.cli.source import FocusOptions, Frames, load
from varfocus.errors import OutputError, ParameterError, TooLargeError
from varfocus.export import images
from varfocus.export.atomic import prepare_folder, write_atomically
from varfocus.export.dng import linear_dng, linear_gains, linear_stack
from varfocus.export.result_files import picture_suffix, slab_name
from varfocus.export.saved import load_result
from varfocus.files import resolved
from varfocus.fuse import Fused, fuse_slabs, slab_ranges
from varfocus.io.calibration import Focus
from varfocus.io.metadata import read_metadata
from varfocus.io.readers.raw import camera_colour
from varfocus.job import keep_apart
from varfocus.params import (
    DEFAULT_METHOD,
    AlignParams,
    FuseParams,
    Method,
    Params,
    Resources,
    RetouchParams,
)
from varfocus.pipeline import run
from varfocus.plan import admit_pass, plan
from varfocus.progress import Progress
from varfocus.result import Result
from varfocus.stack import FocusStack
from varfocus.units import parse_size, size_words

SLABS = Parameter(group=Group("Slabs", sort_key=6.3))


def fuse(
    source: Frames,
    /,
    *,
    output: Annotated[Path, Parameter(name=["--output", "-o"])],
    method: Method = DEFAULT_METHOD,
    apply_depth: Path | None = None,
    source_map: Path | None = None,
    slab_size: Annotated[int | None, SLABS] = None,
    slab_overlap: Annotated[int, SLABS] = 0,
    overwrite: Annotated[bool, Parameter(negative=())] = False,
    focus: FocusOptions = Focus(),
    align: AlignOptions = AlignParams(),
    fusion: FuseOptions = FuseParams(),
    strokes: RetouchOptions = RetouchParams(),
    keep_gps: KeepGps = False,
    resources: ResourceOptions = Resources(),
    talk: TalkOptions = Talk(),
) -> None:
    """Make one picture with everything in focus, and nothing else.

    Bit depth, EXIF and colour profile of the frames are kept.

    Parameters
    ----------
    source
        A folder, a pattern such as "shots/*.jpg", several files, or one file that holds a
        stack.
    output
        The picture to write: .png, .tif, .jpg for 8-bit frames; .dng, linear and in the colours of
        the camera, for camera RAW files. A folder: a .tif in it, named after the frames. With
        --slab-size the folder of the slabs.
    method
        How the depth is found: "robust" is the most accurate, "paper" the fastest; "auto" is
        "robust", in tiles where memory is short.
    apply_depth
        Folder of an earlier result: its depth is used instead of a new estimate, and the frames are
        aligned as they were then. For another channel or exposure of the same scene.
    source_map
        Also write a 16-bit TIFF of the frame that each pixel comes from, counted from 0.
    slab_size
        Fuse this many neighbouring frames at a time into slabs, and write these into the folder
        that -o names: to retouch from, or to be fused again.
    slab_overlap
        Frames that neighbouring slabs share.
    overwrite
        Replace an earlier picture.
    keep_gps
        Keep where the frames were taken; the rest of EXIF is always kept.
    """
    narrator = Narrator(talk)
    if apply_depth is not None and method != DEFAULT_METHOD:
        raise ParameterError(
            f"received --method {method} and --apply-depth", "expected only one of them"
        )
    if strokes.retouch is not None and (apply_depth is not None or slab_size is not None):
        raise ParameterError(
            "received --retouch together with --apply-depth or --slab-size",
            "expected strokes for one all-in-focus image, made from its own depth",
        )
    stack = load(source, focus, narrator)
    if slab_size is not None:
        if apply_depth is not None or source_map is not None:
            raise ParameterError(
                "received --slab-size together with --apply-depth or --source-map",
                "expected only one of them",
            )
        params = Params(method, align=align, fusion=fusion)
        _slabs(stack, output, (slab_size, slab_overlap), params, resources, overwrite, narrator)
        return
    if output.is_dir() or not output.suffix:
        first, last = (Path(stack.names[k]).stem for k in (0, -1))
        output = output / f"{first}-{last}.tif"
    raw = output.suffix.lower() == ".dng"
    if raw and strokes.retouch is not None:
        raise ParameterError(
            f"received --retouch for {output.name}",
            "expected another format: strokes paint developed pixels, which a .dng has not",
        )
    linear = linear_stack(stack) if raw else stack
    if not raw:
        _check_format(output, stack)
    for path in (output, source_map):
        if path is not None:
            _keep_apart(path, stack)
            prepare_folder(path.parent, [path.name], overwrite)
    with narrator.bars() as progress:
        if apply_depth is None:
            params = Params(method, align=align, fusion=fusion, strokes=strokes)
            planned = plan(stack, params, resources, focus.limits)
            if planned.side is not None:
                _check_memory(output, stack, planned.memory)
                narrator.say(f"{planned.words}.")
            place = output.parent
            result = run(stack, params, progress, resources, planned=planned, folder=place)
            fused = _developed(result, linear, progress) if raw else _picture(result)
            for warning in result.warnings:
                narrator.warn(warning)
        else:
            limit = parse_size(resources.max_memory) if resources.max_memory else None
            admit_pass(stack, limit)
            with engine.use_threads(resources.threads):
                fused = load_result(apply_depth).fuse_channel(linear, fusion, progress)
    about = read_metadata(stack, keep_gps)
    if raw:
        content = linear_dng(fused.image, camera_colour(stack.files[0]), about.exif)
    else:
        content = images.encode(output, fused.image, about.exif, about.icc)
    write_atomically(output, content)
    written = {"fused": str(output)}
    if source_map is not None:
        write_atomically(source_map, images.frame_number_tiff(fused.source))
        written["source"] = str(source_map)
    narrator.result("\n".join(written.values()), written)


def _slabs(
    stack: FocusStack,
    folder: Path,
    slabs: tuple[int, int],
    params: Params,
    resources: Resources,
    overwrite: bool,
    narrator: Narrator,
) -> None:
    """Write the slabs of a stack into a folder, numbered in the order of the frames."""
    slab_ranges(len(stack), *slabs)  # refused before any work
    keep_apart(folder, stack)
    limit = parse_size(resources.max_memory) if resources.max_memory else None
    admit_pass(stack, limit)
    suffix = picture_suffix(stack.dtype)
    about = read_metadata(stack)
    with narrator.bars() as progress:
        result = run(stack, params, progress, resources)
        aligned = result.stack
        ranges = slab_ranges(len(aligned), *slabs)
        paths = [folder / slab_name(k, len(ranges), suffix) for k in range(len(ranges))]
        prepare_folder(folder, [path.name for path in paths], overwrite)
        made = fuse_slabs(aligned, result.index, ranges, params.fusion, progress)
        with engine.use_threads(resources.threads):
            for path, slab in zip(paths, made, strict=True):
                picture = images.encode(path, slab.fused.image, about.exif, about.icc)
                write_atomically(path, picture)
    for warning in result.warnings:
        narrator.warn(warning)
    names = aligned.names
    files = [
        {"path": str(path), "frames": [names[k] for k in frames]}
        for path, frames in zip(paths, ranges, strict=True)
    ]
    rows = [(str(file["path"]), f"{file['frames'][0]} … {file['frames'][-1]}") for file in files]
    narrator.result(table(rows), {"slabs": files})


def _picture(result: Result) -> Fused:
    return Fused(result.fused, result.source)


def _developed(result: Result, linear: FocusStack, progress: Progress) -> Fused:
    """Fuse linear frames with the depth that was found in developed ones."""
    if result.alignment is not None:
        gains = linear_gains(result.alignment.gains)
        result = replace(result, alignment=replace(result.alignment, gains=gains))
    return result.fuse_channel(linear, progress=progress)


def _check_format(output: Path, stack: FocusStack) -> None:
    allowed = images.suffixes(stack.dtype)
    if output.suffix.lower() not in allowed:
        raise OutputError(
            f"received -o {output} for frames of {stack.dtype}",
            f"expected a name that ends in {', '.join(allowed)}",
            f"For example -o {output.with_suffix(allowed[0])}",
        )


def _check_memory(output: Path, stack: FocusStack, allowed: int) -> None:
    """Refuse a picture that does not fit into memory, where it is encoded as a whole."""
    needed = 3 * math.prod(stack.frames[0].shape) * stack.dtype.itemsize
    if needed > allowed:
        raise TooLargeError(
            f"{output}: encoding it takes about {size_words(needed)}",
            f"expected at most {size_words(allowed)}",
            "Use varfocus depth, which writes large pictures in tiles.",
        )


def _keep_apart(path: Path, stack: FocusStack) -> None:
    if resolved(path.parent) in {resolved(file).parent for file in stack.files}:
        raise OutputError(
            f"received an output in the folder of the frames: {path}",
            "expected another folder, or the next run would take it for a frame",
            f"For example -o {path.parent / 'result' / path.name}",
        )
