"""``varfocus depth``: from frames to depth, confidence and the all-in-focus image."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from cyclopts import Parameter

from varfocus.cli.console import Narrator, Talk, TalkOptions, table
from varfocus.cli.options import JobOptions, ResourceOptions, called_as
from varfocus.cli.source import Frames, load
from varfocus.errors import ParameterError
from varfocus.export.direction import direction_in_words
from varfocus.export.result_files import RESULT_FILES
from varfocus.job import produce
from varfocus.params import Params, Resources
from varfocus.result import Written


def depth(
    source: Frames,
    /,
    *,
    output: Annotated[Path, Parameter(name=["--output", "-o"])],
    overwrite: Annotated[bool, Parameter(negative=())] = False,
    params: Path | None = None,
    options: JobOptions = JobOptions(),
    resources: ResourceOptions = Resources(),
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
    overwrite
        Replace the results of an earlier run.
    params
        Repeat a run with the parameters of its run.json.
    """
    narrator = Narrator(talk)
    chosen = options.params()
    if params is not None:
        chosen = _recorded(params, chosen)
    job = options.job(tuple(source), chosen)
    stack = load(source, options.focus, narrator)
    with narrator.bars() as progress:
        written = produce(
            job,
            stack,
            output,
            overwrite=overwrite,
            command=called_as(),
            resources=resources,
            progress=progress,
            say=narrator.say,
        )
    if written.alignment is not None:
        narrator.say(written.alignment.summary())
    direction = direction_in_words(written.record.get("findings"))
    if direction:
        narrator.say(direction)
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
