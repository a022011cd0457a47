"""``varfocus depth``: from frames to depth, confidence and the all-in-focus image."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from cyclopts import Group, Parameter

from varfocus.cli.console import Narrator, Talk, TalkOptions, table
from varfocus.cli.options import JobOptions, ResourceOptions, called_as
from varfocus.cli.source import Frames, load
from varfocus.errors import InputError, ParameterError
from varfocus.export.atomic import prepare_folder, write_atomically
from varfocus.export.direction import direction_in_words
from varfocus.export.result_files import RESULT_FILES, every_name
from varfocus.files import read_json
from varfocus.follow import LEAST, LIVE, Live, arriving
from varfocus.job import Job, keep_apart_from, produce
from varfocus.params import MOST_FRAMES, SETTLING, Params, Resources
from varfocus.ranges import Checked, Range
from varfocus.result import Written


@dataclass(frozen=True)
class Follow(Checked):
    """How frames are waited for.

    Parameters
    ----------
    follow
        Wait for frames that a camera is still writing into the folder: a preview, live.png, after
        every frame, and the result when all are there.
    frames
        With --follow: how many frames there will be.
    settle
        With --follow, where their number is not known: seconds without a new frame after which the
        stack is complete.
    """

    follow: Annotated[bool, Parameter(negative=())] = False
    frames: Annotated[int | None, Range(LEAST, MOST_FRAMES)] = None
    settle: Annotated[float, SETTLING] = 15.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.frames is not None and not self.follow:
            raise ParameterError("received --frames without --follow", "expected both or neither")


FollowOptions = Annotated[Follow, Parameter(name="*", group=Group("Live", sort_key=0.5))]


def depth(
    source: Frames,
    /,
    *,
    output: Annotated[Path, Parameter(name=["--output", "-o"])],
    overwrite: Annotated[bool, Parameter(negative=())] = False,
    params: Path | None = None,
    live: FollowOptions = Follow(),
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
    if live.follow:
        prepare_folder(output, every_name(), overwrite)
        _follow(source, output, job, live, resources, narrator)
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
    (output / LIVE).unlink(missing_ok=True)
    if written.alignment is not None:
        narrator.say(written.alignment.summary())
    direction = direction_in_words(written.record.get("findings"))
    if direction:
        narrator.say(direction)
    for warning in written.record["warnings"]:
        narrator.warn(warning)
    narrator.result(_summary(written), written.record)


def _follow(
    source: list[str],
    output: Path,
    job: Job,
    live: Follow,
    resources: Resources,
    narrator: Narrator,
) -> None:
    """Wait for the frames of a stack, and show what there is of it so far."""
    if len(source) != 1 or not Path(source[0]).is_dir():
        raise ParameterError(
            f"received --follow with {' '.join(source)}",
            "expected the folder that frames are written into, which must exist",
        )
    folder = Path(source[0])
    keep_apart_from(output, [folder])
    narrator.say(f"Waiting for frames in {folder}.")
    previews = Live(job.params, job.focus, resources)
    for files in arriving(folder, frames=live.frames, settle=live.settle):
        try:
            write_atomically(output / LIVE, previews.preview(files))
        except InputError as error:  # what is wrong now may be complete with the next frame
            narrator.warn(f"{len(files)} frames, no preview: {error}")
        else:
            narrator.say(f"{len(files)} frames: {output / LIVE}")


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
        recorded: dict[str, Any] = read_json(path)["parameters"]
        return Params.from_keywords(**recorded)
    except (OSError, ValueError, KeyError, TypeError) as error:
        if isinstance(error, ParameterError):
            raise
        raise ParameterError(
            f"{path} cannot be used: {error}", "expected the run.json of an earlier run"
        ) from error
