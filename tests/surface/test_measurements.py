"""Several named measurements at once, and levelling by three points."""

import contextlib
import csv
import io
import json
import math

import numpy as np
import pytest

from command_line import varfocus
from result_folders import saved_of
from varfocus.errors import InputError, ParameterError
from varfocus.surface.measure import level_by_points
from varfocus.surface.measurements import (
    Level,
    Measurement,
    Measurements,
    Surface,
    measure_all,
    profiles_csv,
    table_csv,
)
from varfocus.units import PixelSize


def tilted(step=7.0):
    """Return a tilted plane with a plateau that is higher by a step, and a hole."""
    y, x = np.mgrid[:60, :80].astype(float)
    height = 0.3 * x - 0.2 * y + 5
    height[:, 40:] += step
    height[10:12, 10:12] = np.nan
    return height


def numbers(measured):
    return {row.quantity: row.value.value for row in measured.rows}


def test_three_points_take_out_their_plane_and_leave_the_rest():
    flat = level_by_points(tilted(), [(5, 30), (35, 5), (30, 55)])
    np.testing.assert_allclose(flat[:, 30:40], 0, atol=1e-9)
    np.testing.assert_allclose(flat[:, 40:], 7, atol=1e-9)
    assert np.isnan(flat[10, 10])
    with pytest.raises(ParameterError, match="one line"):
        level_by_points(tilted(), [(5, 5), (10, 10), (20, 20)])
    with pytest.raises(ParameterError, match="places from"):
        level_by_points(tilted(), [(5, 5), (99, 10), (20, 20)])
    with pytest.raises(InputError, match="nothing is known"):
        level_by_points(np.full((9, 9), np.nan), [(1, 1), (7, 1), (1, 7)])


def test_each_kind_gives_the_number_of_geometry():
    surface = Surface(
        tilted(), "um", (100, 50), np.full((60, 80), 0.1), PixelSize(2, 2, "um"), 25.0
    )
    wanted = Measurements(
        (
            Measurement("line", ((105.5, 80.5), (135.5, 80.5)), "flat"),
            Measurement("step", ((105, 80), (130, 100), (145, 80), (170, 100)), "step"),
            Measurement("region", ((145, 80), (170, 100)), "rough"),
            Measurement("point", ((150.5, 80.5),), "top"),
            Measurement("point", ((110.5, 60.5),), "hole"),
            Measurement("line", ((0, 0), (9, 9)), "outside"),
        ),
        Level("points", points=((105.5, 80.5), (135.5, 55.5), (130.5, 105.5))),
    )
    line, step, region, top, hole, outside = measure_all(surface, wanted)
    assert numbers(line) == pytest.approx(
        {"length": 60, "range": 0, "rise": 0, "angle": 0}, abs=1e-6
    )
    assert numbers(step)["height"] == pytest.approx(7)
    assert numbers(region)["Sa"] == pytest.approx(0, abs=1e-9)
    assert numbers(region)["mean height"] == pytest.approx(7)
    assert numbers(top) == pytest.approx({"height": 7})
    assert top.rows[0].value.error == pytest.approx(0.1)
    assert "nothing is known" in hole.problem
    assert "received the place 0, 0" in outside.problem
    raw = measure_all(surface, Measurements(wanted.shapes))[0]
    assert numbers(raw)["angle"] == pytest.approx(math.degrees(math.atan2(9, 60)))


def test_the_document_survives_json_and_wrong_ones_are_refused():
    made = Measurements(
        (Measurement("line", ((1, 2), (3, 4)), "a", 3),), Level("polynomial", degree=2)
    )
    assert Measurements.from_data(json.loads(json.dumps(made.as_data()))) == made
    good = made.as_data()
    for wrong, words in (
        ([], "no measurements"),
        (good | {"level": {"by": "eye"}}, "level by = 'eye'"),
        (good | {"level": {"by": "points"}}, "0 points"),
        (good | {"level": {"by": "polynomial", "degree": 99}}, "degree = 99"),
        (good | {"shapes": [{"kind": "line"}]}, "shape 0: received a shape without"),
        (good | {"shapes": [{"kind": "arc", "points": []}]}, "shape 0: received kind = 'arc'"),
        (good | {"shapes": [{"kind": "point", "points": [[1, math.inf]]}]}, "far away"),
        (good | {"shapes": [{"kind": "point", "points": [[1, 1]], "width": 0}]}, "width = 0"),
        (good | {"shapes": "line"}, "no list of shapes"),
    ):
        with pytest.raises(ParameterError, match=words):
            Measurements.from_data(wrong)


@pytest.mark.parametrize("field", ["kind", "name", "points", "width", "by", "degree", "shapes"])
def test_a_field_that_is_anything_is_refused_in_words(field):
    good = Measurements((Measurement("line", ((1, 2), (3, 4)), "a", 3),))
    for value in (
        None,
        True,
        1j,
        [],
        [[]],
        {},
        {"a": []},
        math.nan,
        10**400,
        "\0",
        b"line",
        object,
    ):
        data = good.as_data()
        if field == "shapes":
            data["shapes"] = value
        elif field in ("by", "degree"):
            data["level"] = {"by": "polynomial", "degree": 1} | {field: value}
        else:
            data["shapes"][0][field] = value
        with contextlib.suppress(ParameterError):  # an empty list of shapes is one
            Measurements.from_data(data)


def test_tables_are_csv_that_no_spreadsheet_runs():
    wanted = Measurements(
        (
            Measurement("line", ((1, 2), (30, 2)), '=cmd|"x"'),
            Measurement("point", ((10.5, 10.5),), "hole, unknown"),
        )
    )
    found = measure_all(Surface(tilted(), "um"), wanted)
    rows = list(csv.DictReader(io.StringIO(table_csv(found).decode())))
    assert rows[0]["name"] == '\'=cmd|"x"'
    assert (rows[0]["quantity"], rows[0]["unit"]) == ("length", "pixels")
    assert rows[-1]["problem"].startswith("nothing is known")
    lines = list(csv.DictReader(io.StringIO(profiles_csv(found, "um").decode())))
    assert len(lines) == 30
    assert float(lines[-1]["height (um)"]) == pytest.approx(tilted()[1:3, 29:31].mean(), abs=0.2)


def test_the_command_line_measures_a_list_and_levels_by_points(capsys, tmp_path):
    about = {"focus": [0, 5, 10], "unit": "um", "pixel_size": (2.0, 2.0, "um")}
    folder = tmp_path / "out"
    saved_of(folder, -tilted(), uncertainty=0.1, **about)
    shapes = tmp_path / "shapes.json"
    made = Measurements(
        (
            Measurement("step", ((5, 30), (30, 50), (45, 30), (70, 50)), "pad"),
            Measurement("line", ((5, 30), (30, 50)), "across"),
        )
    )
    shapes.write_text(json.dumps(made.as_data()))
    done = varfocus(capsys, "measure", folder, "--shapes", shapes, "--json")
    assert done.code == 0, done.err
    told = json.loads(done.out)["measurements"]
    assert told[0]["values"]["height"]["value"] == pytest.approx(7, abs=1e-3)
    assert (folder / "measurements.csv").read_text().count("\n") == 1 + 2 + 4
    assert (folder / "measurements-profiles.csv").is_file()
    assert varfocus(capsys, "measure", folder, "--shapes", shapes).code != 0  # not overwritten
    points = ["--level-points", "5,30", "35,5", "30,55", "--region", "42,5,30,50"]
    done = varfocus(capsys, "measure", folder, *points, "--json")
    assert done.code == 0, done.err
    assert json.loads(done.out)["parameters"]["Sa"]["value"] == pytest.approx(0, abs=1e-5)
    for options, words in (
        (["--shapes", shapes, "--line", "1,1,5,5"], "together"),
        (["--shapes", tmp_path], "cannot be used"),
        (["--level-points", "5", "6", "7"], "expected x,y"),
    ):
        done = varfocus(capsys, "measure", folder, *options)
        assert done.code == 2
        assert words in done.err
