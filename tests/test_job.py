"""A job as a command line: what it says is what was asked for."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from varfocus.cli import build
from varfocus.io.calibration import Focus
from varfocus.job import Job, to_command
from varfocus.params import Limits, Params


def parsed(command: str) -> tuple[Job, Path]:
    """Return what the command line understands by a command."""
    program, *words = shlex.split(command)
    assert program == "varfocus"
    _, bound, *_ = build("depth").parse_args(words, exit_on_error=False, print_error=False)
    source, given = bound.arguments["source"], bound.arguments
    options = given.get("options")
    assert options is not None or len(words) == 3 + len(source)
    return (Job(tuple(source)) if options is None else options.job(tuple(source))), given["output"]


@pytest.mark.parametrize(
    "job",
    [
        Job(("shots",)),
        Job(("a frame.png", "b's.png", "c.png"), report=False, keep_gps=True),
        Job(("*.tif",), Params.from_keywords("paper", alpha=0.0625, solver="forward-backward")),
        Job(("s",), Params.from_keywords(smoothness=2.5, align="none", crop="1,2,30,40")),
        Job(("s",), Params.from_keywords("classic", window=7), tiled_format="zarr"),
        Job(("s",), focus=Focus(reverse=True, z_step="-2um", channel="-GFP", invert=True)),
        Job(("s",), focus=Focus(focus_distances=Path("z list.csv"), unit="mm", focus_in="dioptre")),
        Job(("s",), focus=Focus(time=3, pixel_size="0.5um", limits=Limits(max_pixels=10**9))),
    ],
    ids=lambda job: " ".join(job.asked()) or "defaults",
)  # fmt: skip
def test_a_command_says_what_was_asked_for(job):
    assert parsed(to_command(job, "the output")) == (job, Path("the output"))


def test_options_at_their_defaults_are_left_out():
    assert to_command(Job(("shots",)), "out") == "varfocus depth shots -o out"
    job = Job(("shots",), Params.from_keywords(smoothness=2.0), report=False)
    assert to_command(job, "out") == "varfocus depth shots -o out --smoothness 2.0 --no-report"
