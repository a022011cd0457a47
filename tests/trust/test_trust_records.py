"""A run.json may come from anybody: whatever it says, whoever reads it answers in words."""

from __future__ import annotations

import copy
import json

import pytest

from command_line import varfocus, write_frames
from varfocus import read_stack, simulate
from varfocus.align.alignment import read_record
from varfocus.errors import VarfocusError
from varfocus.export.saved import SavedResult, load_result
from varfocus.params import Params

DAMAGE = ["missing", None, {}, "x", -1, 1e300, float("nan"), [1, "a"]]
USED = ("input", "depth", "parameters", "alignment", "warnings", "seconds")
"""Parts that are read again; the others are for people."""


@pytest.fixture(scope="module")
def frames(tmp_path_factory):
    folder = tmp_path_factory.mktemp("record") / "in"
    return write_frames(folder, simulate("cone", shape=(24, 31), n=4).frames)


@pytest.fixture
def result(frames, tmp_path, capsys):
    said = varfocus(
        *(capsys, "depth", frames, "-o", tmp_path / "out"), *("--no-report", "--method", "classic")
    )
    assert said.code == 0, said.err
    return tmp_path / "out"


def places(value, path=()):
    """Yield the way to every value of a record, to the first two of lists."""
    if path:
        yield path
    keys = range(min(len(value), 2)) if isinstance(value, list) else value
    for key in keys if isinstance(value, dict | list) else ():
        yield from places(value[key], (*path, key))


def damaged(record, path, with_what):
    spoilt = copy.deepcopy(record)
    inner = spoilt
    for key in path[:-1]:
        inner = inner[key]
    if with_what == "missing":
        del inner[path[-1]]
    else:
        inner[path[-1]] = with_what
    return spoilt


def read_everything(path, stack):
    """Read a record in all the ways that commands do, as far as it lets them."""
    parameters = json.loads(path.read_text()).get("parameters")
    for read in (
        lambda: Params.from_keywords(**parameters) if isinstance(parameters, dict) else None,
        lambda: read_record(path, stack),
        lambda: load_result(path.parent),
    ):
        try:
            found = read()
        except VarfocusError as error:
            code = error.exit_code
        else:
            code = 0
            if isinstance(found, SavedResult):
                assert found.index.shape == found.depth.shape
                assert found.pixel_size is None or found.pixel_size.x > 0
                assert found.frame_distance >= 0
        assert code in (0, 2, 3)


def test_damaged_records(frames, result):
    path = result / "run.json"
    record = json.loads(path.read_text())
    stack = read_stack(str(frames))
    for place in (place for place in places(record) if place[0] in USED):
        for what in DAMAGE:
            path.write_text(json.dumps(damaged(record, place, what)))
            read_everything(path, stack)


@pytest.mark.parametrize("text", ["", "[]", "[" * 100_000, '{"input": 1}'])
def test_records_that_are_none(capsys, frames, result, tmp_path, text):
    (result / "run.json").write_text(text)
    for command in (
        ("export", result, "-o", tmp_path / "a.gsf"),
        ("depth", frames, "-o", tmp_path / "again", "--params", result / "run.json"),
        ("align", frames, "-o", tmp_path / "aligned", "--transforms-from", result),
    ):
        said = varfocus(capsys, *command)
        assert said.code in (2, 3), (command, said.err)
        assert "Traceback" not in said.err
        assert "run.json" in said.err
