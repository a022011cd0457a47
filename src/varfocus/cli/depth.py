"""``varfocus depth``: from frames to depth, confidence and the all-in-focus image."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from cyclopts import Group, Parameter

from varfocus import export
from varfocus.cli.console import Narrator, Talk, TalkOptions, table
from varfocus.cli.source import Focus, FocusOptions, Frames, load
from varfocus.errors import OutputError, ParameterError
from varfocus.export.atomic import prepare_folder
from varfocus.params import (
    DEFAULT_METHOD,
    AlignParams,
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
from varfocus.pipeline import run
from varfocus.result import Result
from varfocus.stack import FocusStack

ALIGNMENT = Parameter(name="*", negative=(), group=Group("Alignment", sort_key=1.5))
ROBUST = Parameter(name="*", group=Group("Method “robust”", sort_key=2))
CONTRAST = Parameter(name="*", group=Group("Method “paper”: contrast", sort_key=3))
MINIMISATION = Parameter(name="*", group=Group("Method “paper”: minimisation", sort_key=4))
CLASSIC = Parameter(name="*", group=Group("Method “classic”", sort_key=5))
FUSION = Parameter(name="*", group=Group("All-in-focus image", sort_key=6))
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
    focus: FocusOptions = Focus(),
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
        "auto" is "robust", or "paper" where memory is short.
    overwrite
        Replace the results of an earlier run.
    params
        Repeat a run with the parameters of its run.json.
    report
        Write report.html: pictures, contrast curves and parameters on one page.
    keep_gps
        Let fused.png tell where the frames were taken; the rest of EXIF is always kept.
    """
    narrator = Narrator(talk)
    chosen = Params(method, contrast, curve, start, solve, classic, robust, align, fusion)
    if params is not None:
        chosen = _recorded(params, chosen)
    stack = load(source, focus, narrator)
    keep_apart(output, stack)
    prepare_folder(output, export.result_names(stack.dtype), overwrite)
    with narrator.bars() as progress:
        result = run(stack, chosen, progress, resources)
    if result.alignment is not None:
        narrator.say(result.alignment.summary())
    for warning in result.warnings:
        narrator.warn(warning)
    written = result.save(
        output,
        overwrite=overwrite,
        command=shlex.join(["varfocus", *sys.argv[1:]]),
        report=report,
        keep_gps=keep_gps,
    )
    record = json.loads(written["run"].read_text(encoding="utf-8"))
    narrator.result(_summary(result, written), record)


def _summary(result: Result, written: dict[str, Path]) -> str:
    finite = result.depth[np.isfinite(result.depth)]
    low, high = (finite.min(), finite.max()) if finite.size else (np.nan, np.nan)
    about = {
        "depth": f"{low:.4g} … {high:.4g} {result.unit}",
        "confidence": f"{float((result.confidence >= 0.9).mean()):.0%} of the pixels above 0.9",
        "uncertainty": f"standard error of the depth in {result.unit}",
        "fused": "everything in focus",
        "source": "which frame each pixel of it comes from",
        "preview": "depth in colours",
        "report": "all of it on one page, for the browser",
        "run": "all parameters; repeat with --params",
    }
    rows = [(str(path), about[name]) for name, path in written.items()]
    return f"Done in {result.seconds:.1f} s.\n" + table(rows)


def keep_apart(output: Path, stack: FocusStack) -> None:
    """Refuse to write results beside the frames."""
    if output.resolve() in {path.resolve().parent for path in stack.files}:
        raise OutputError(
            f"received the folder of the frames as output: {output}",
            "expected another folder, or the next run would take the results for frames",
            f"For example -o {output / 'result'}",
        )


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
