"""``varfocus fuse``: frames in, one picture with everything in focus out."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated

import numpy as np
from cyclopts import Parameter

from varfocus import engine
from varfocus.align import align as align_frames
from varfocus.cli.console import Narrator, Talk, TalkOptions
from varfocus.cli.options import AlignOptions, FuseOptions, KeepGps, ResourceOptions
from varfocus.cli.source import FocusOptions, Frames, load
from varfocus.errors import MixedFramesError, OutputError, ParameterError, TooLargeError
from varfocus.export import images
from varfocus.export.atomic import prepare_folder, write_atomically
from varfocus.export.saved import load_result
from varfocus.fuse import Fused
from varfocus.fuse import fuse as fuse_frames
from varfocus.io.calibration import Focus
from varfocus.io.metadata import read_metadata
from varfocus.params import (
    DEFAULT_METHOD,
    AlignParams,
    AreaParams,
    FuseParams,
    Method,
    Params,
    Resources,
)
from varfocus.pipeline import run
from varfocus.plan import admit_pass, plan
from varfocus.progress import Progress
from varfocus.stack import FocusStack
from varfocus.units import parse_size, size_words


def fuse(
    source: Frames,
    /,
    *,
    output: Annotated[Path, Parameter(name=["--output", "-o"])],
    method: Method = DEFAULT_METHOD,
    apply_depth: Path | None = None,
    source_map: Path | None = None,
    overwrite: Annotated[bool, Parameter(negative=())] = False,
    focus: FocusOptions = Focus(),
    align: AlignOptions = AlignParams(),
    fusion: FuseOptions = FuseParams(),
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
        The picture to write: .png, .tif, or .jpg for 8-bit frames.
    method
        How the depth is found: "robust" is the most accurate, "paper" the fastest; "auto" is
        "robust", in tiles where memory is short.
    apply_depth
        Folder of an earlier result: its depth is used instead of a new estimate, and the frames are
        aligned as they were then. For another channel or exposure of the same scene.
    source_map
        Also write a 16-bit TIFF of the frame that each pixel comes from, counted from 0.
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
    stack = load(source, focus, narrator)
    _check_format(output, stack)
    for path in (output, source_map):
        if path is not None:
            _keep_apart(path, stack)
            prepare_folder(path.parent, [path.name], overwrite)
    with narrator.bars() as progress:
        if apply_depth is None:
            params = Params(method, align=align, fusion=fusion)
            planned = plan(stack, params, resources, focus.limits)
            if planned.side is not None:
                _check_memory(output, stack, planned.memory)
                narrator.say(f"{planned.words}.")
            place = output.parent
            result = run(stack, params, progress, resources, planned=planned, folder=place)
            fused = Fused(result.fused, result.source)
            for warning in result.warnings:
                narrator.warn(warning)
        else:
            limit = parse_size(resources.max_memory) if resources.max_memory else None
            admit_pass(stack, limit)
            with engine.use_threads(resources.threads):
                fused = _with_depth(stack, apply_depth, fusion, progress)
    about = read_metadata(stack, keep_gps)
    write_atomically(output, images.encode(output, fused.image, about.exif, about.icc))
    written = {"fused": str(output)}
    if source_map is not None:
        write_atomically(source_map, images.frame_number_tiff(fused.source))
        written["source"] = str(source_map)
    narrator.result("\n".join(written.values()), written)


def _with_depth(stack: FocusStack, folder: Path, fusion: FuseParams, progress: Progress) -> Fused:
    """Fuse with the depth of an earlier run, which must have had as many frames of this size."""
    saved = load_result(folder)
    n, index = len(saved.record["input"]["frames"]), saved.index
    if len(stack) == n and saved.record.get("alignment"):
        _, alignment = align_frames(stack, AlignParams(transforms_from=str(folder)), progress)
        stack = alignment.apply(stack, AreaParams(saved.record["parameters"].get("crop")).box)
        # The index counts all frames; those left out then are left out now.
        index = np.interp(index, alignment.ranks, np.arange(len(stack))).astype(np.float32)
        n = len(stack)
    if (n, index.shape) != (len(stack), stack.shape):
        raise MixedFramesError(
            f"{folder}: is the result of {n} frames of {index.shape[1]}×{index.shape[0]}",
            f"expected {len(stack)} frames of {stack.shape[1]}×{stack.shape[0]}, as given here",
        )
    return fuse_frames(stack, index, fusion, progress)


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
    if path.parent.resolve() in {file.resolve().parent for file in stack.files}:
        raise OutputError(
            f"received an output in the folder of the frames: {path}",
            "expected another folder, or the next run would take it for a frame",
            f"For example -o {path.parent / 'result' / path.name}",
        )
