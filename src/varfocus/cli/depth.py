"""``varfocus depth``: from frames to depth, confidence and the all-in-focus image."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from cyclopts import Group, Parameter

from varfocus.cli.console import Narrator, Talk, TalkOptions, table
from varfocus.cli.source import FocusOptions, Frames, load
from varfocus.errors import ParameterError
from varfocus.export.result_files import RESULT_FILES, TiledFormat
from varfocus.io.calibration import Focus
from varfocus.job import Job, produce
from varfocus.mosaic import Written
from varfocus.params import (
    DEFAULT_METHOD,
    AlignParams,
    AreaParams,
    ClassicParams,
    ContrastParams,
    CurveParams,
    FuseParams,
    Method,
    Params,
    Resources,
    RobustParams,
    SolverParams,
    StartParams,
)

ALIGNMENT = Parameter(name="*", negative=(), group=Group("Alignment", sort_key=1.5))
ROBUST = Parameter(name="*", group=Group("Method “robust”", sort_key=2))
CONTRAST = Parameter(name="*", group=Group("Method “paper”: contrast", sort_key=3))
MINIMISATION = Parameter(name="*", group=Group("Method “paper”: minimisation", sort_key=4))
CLASSIC = Parameter(name="*", group=Group("Method “classic”", sort_key=5))
FUSION = Parameter(name="*", group=Group("All-in-focus image", sort_key=6))
AREA = Parameter(name="*", group=Group("What counts", sort_key=1.2))
RESOURCES = Parameter(name="*", group=Group("Resources", sort_key=7))


def depth(
    source: Frames,
    /,
    *,
    output: Annotated[Path, Parameter(name=["--output", "-o"])],
    method: Method = DEFAULT_METHOD,
    overwrite: Annotated[bool, Parameter(negative=())] = False,
    params: Path | None = None,
    report: bool = True,
    tiled_format: TiledFormat = "tiff",
    focus: FocusOptions = Focus(),
    area: Annotated[AreaParams, AREA] = AreaParams(),
    align: Annotated[AlignParams, ALIGNMENT] = AlignParams(),
    robust: Annotated[RobustParams, ROBUST] = RobustParams(),
    contrast: Annotated[ContrastParams, CONTRAST] = ContrastParams(),
    curve: Annotated[CurveParams, CONTRAST] = CurveParams(),
    start: Annotated[StartParams, MINIMISATION] = StartParams(),
    solve: Annotated[SolverParams, MINIMISATION] = SolverParams(),
    classic: Annotated[ClassicParams, CLASSIC] = ClassicParams(),
    fusion: Annotated[FuseParams, FUSION] = FuseParams(),
    keep_gps: Annotated[bool, Parameter(negative=(), group=FUSION.group)] = False,
    resources: Annotated[Resources, RESOURCES] = Resources(),
    talk: TalkOptions = Talk(),
) -> None:
    """Turn a focus stack into a depth map, a confidence map and an all-in-focus image.

    Writes depth.tif, confidence.tif, uncertainty.tif, fused.png, source.tif, preview.png,
    report.html and run.json into the output folder.

    Parameters
    ----------
    source
        A folder, a pattern such as "shots/*.jpg", several files, or one file that holds a
        stack. Folders and patterns are sorted naturally: img2 before img10.
    output
        Folder for the results, made if missing.
    method
        "paper" is the variational method of Moeller et al.; "classic" the windowed maximum of
        contrast; "robust" is the most accurate and needs no tuning, but more time and memory;
        "auto" is "robust", in tiles where memory is short.
    overwrite
        Replace the results of an earlier run.
    params
        Repeat a run with the parameters of its run.json.
    report
        Write report.html: pictures, contrast curves and parameters on one page.
    tiled_format
        How maps are written if the frames do not fit into memory and are worked through in tiles:
        "tiff" for tiled BigTIFF, "zarr" for OME-Zarr, both with coarser copies.
    keep_gps
        Let fused.png tell where the frames were taken; the rest of EXIF is always kept.
    """
    narrator = Narrator(talk)
    chosen = Params(method, contrast, curve, start, solve, classic, robust, align, fusion, area)
    if params is not None:
        chosen = _recorded(params, chosen)
    job = Job(tuple(source), chosen, focus, report, keep_gps, tiled_format)
    stack = load(source, focus, narrator)
    with narrator.bars() as progress:
        written = produce(
            job,
            stack,
            output,
            overwrite=overwrite,
            command=shlex.join(["varfocus", *sys.argv[1:]]),
            resources=resources,
            progress=progress,
            say=narrator.say,
        )
    if written.alignment is not None:
        narrator.say(written.alignment.summary())
    for warning in written.record["warnings"]:
        narrator.warn(warning)
    narrator.result(_summary(written), written.record)


def _summary(written: Written) -> str:
    depth = written.record["depth"]
    low, high = (np.nan if depth[end] is None else depth[end] for end in ("minimum", "maximum"))
    unit = depth["unit"]
    sure = written.record["confidence"]["sure"]
    about = dict(RESULT_FILES) | {
        "depth": f"{low:.4g} … {high:.4g} {unit}",
        "confidence": f"{sure:.0%} of the pixels that count are above 0.9",
    }
    rows = [(str(path), about[name]) for name, path in written.files.items()]
    return f"Done in {written.record['seconds']:.1f} s.\n" + table(rows)


def _recorded(path: Path, given: Params) -> Params:
    if given != Params():
        raise ParameterError(
            "received --params together with other parameters",
            "expected either the parameters of an earlier run, or new ones",
        )
    try:
        recorded: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))["parameters"]
        return Params.from_keywords(**recorded)
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        if isinstance(error, ParameterError):
            raise
        raise ParameterError(
            f"{path} cannot be used: {error}", "expected the run.json of an earlier run"
        ) from error
