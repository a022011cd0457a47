"""Tell whether a stack was finished by an earlier run, from its folder of results alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from varfocus.errors import OutputExistsError
from varfocus.export import RUN_RECORD, describe_input
from varfocus.export.figures import DEPTH_COLOURS, colour_range
from varfocus.export.report import coloured, photo
from varfocus.export.result_files import every_name
from varfocus.files import read_json
from varfocus.job import Job
from varfocus.stack import FocusStack

THUMBNAIL_SIDE = 160
"""Longest side of a thumbnail in pixels."""


def finished(
    output: Path, job: Job, stack: FocusStack, *, overwrite: bool = False
) -> dict[str, Any] | None:
    """Return the record of an earlier run of exactly this job, None if there is none.

    It did if its run.json is there, which is written last; the options asked for are the same; and
    the frames, their hashes, and what is known of focus and pixel size are the same. Where the
    frames are does not matter, nor which version did it.

    Parameters
    ----------
    output : Path
        The folder of results.
    job : Job
        What is asked for now.
    stack : FocusStack
        Its frames; every file is read to be hashed.
    overwrite : bool
        What does not match may be replaced.

    Returns
    -------
    dict or None
        What run.json says.

    Raises
    ------
    OutputExistsError
        If something else is there that may not be replaced.
    """
    try:
        record = read_json(output / RUN_RECORD)
        asked, frames = record["asked"], record["input"]
        if not isinstance(asked, dict) or not isinstance(frames, dict):
            record = None
    except (OSError, ValueError, KeyError, TypeError):
        record = None
    if record is not None:
        other = [name for name in {**asked, **job.asked()} if asked.get(name) != _plain(job, name)]
        differs = ""
        if other:
            name = sorted(other)[0]
            differs = f"{name} = {asked.get(name)!r}, now {_plain(job, name)!r}"
        elif _content(frames) != _content(json.loads(json.dumps(describe_input(stack)))):
            differs = "frames or calibration that have changed since"
        if not differs:
            found: dict[str, Any] = record
            return found
    elif not any((output / name).exists() for name in every_name()):
        return None
    else:
        differs = f"no {RUN_RECORD} of varfocus"
    if not overwrite:
        raise OutputExistsError(
            f"{output} holds another result: {differs}",
            "expected a place where nothing is overwritten",
            "Choose another output with -o, or add --overwrite to replace what does not match.",
        )
    return None


def _plain(job: Job, name: str) -> Any:
    return json.loads(json.dumps(job.asked().get(name)))


def _content(about: dict[str, Any]) -> dict[str, Any]:
    """Return what run.json says about the input, except where it was."""
    return {**about, "files": [entry["sha256"] for entry in about["files"]]}


def facts(record: dict[str, Any]) -> dict[str, Any]:
    """Return what the summary of a batch says about a result, from its run.json."""
    about, depth = record["input"], record["depth"]
    return {
        "frames": len(about["frames"]),
        "width": about["width"],
        "height": about["height"],
        "method": record["parameters"]["method"],
        "unit": depth["unit"],
        "minimum": depth["minimum"],
        "maximum": depth["maximum"],
        "unknown_pixels": depth["unknown_pixels"],
        "confidence": record["confidence"]["mean"],
        "warnings": record["warnings"],
    }


def thumbnails(fused: NDArray[Any], depth: NDArray[np.float32]) -> list[str]:
    """Return small pictures of the all-in-focus image and the depth, as data addresses."""
    return [
        photo(fused, THUMBNAIL_SIDE),
        coloured(depth, colour_range([depth]), DEPTH_COLOURS, THUMBNAIL_SIDE),
    ]
