"""From calibrated files and options to heights in real units, through the real command line."""

import json

import numpy as np
import pytest
import tifffile
from PIL import Image
from PIL.TiffImagePlugin import IFDRational

from command_line import varfocus
from varfocus import simulate
from varfocus.errors import FocusPositionsError
from varfocus.io import lens

N, STEP, PIXEL = 15, 2.0, 0.5


@pytest.fixture(scope="module")
def surface():
    """A tilted plane, without noise."""
    return simulate("plane", shape=(72, 96), n=N, noise=0.0, dtype="uint16")


@pytest.fixture(scope="module")
def ome(surface, tmp_path_factory):
    path = tmp_path_factory.mktemp("ome") / "surface.ome.tif"
    about = {"axes": "ZYX", "PhysicalSizeX": PIXEL, "PhysicalSizeY": PIXEL, "PhysicalSizeZ": STEP}
    about |= {f"PhysicalSize{axis}Unit": "µm" for axis in "XYZ"}
    tifffile.imwrite(path, surface.frames, ome=True, metadata=about)
    return path


def heights(capsys, out, *arguments):
    said = varfocus(capsys, "depth", *arguments, "-o", out)
    assert said.code == 0, said.err
    return tifffile.imread(out / "depth.tif"), json.loads((out / "run.json").read_text())


def relative_rmse(depth, truth):
    return float(np.sqrt(np.mean((depth - truth) ** 2)) / np.ptp(truth))


def test_heights_of_a_calibrated_file_are_right_to_one_per_cent(capsys, surface, ome, tmp_path):
    depth, record = heights(capsys, tmp_path, ome)
    assert relative_rmse(depth, STEP * surface.truth_index) < 0.01
    assert record["depth"]["unit"] == "um"
    assert record["input"]["focus_origin"] == "OME PhysicalSizeZ"
    assert record["input"]["pixel_size"] == {"x": PIXEL, "y": PIXEL, "unit": "um"}
    with tifffile.TiffFile(tmp_path / "depth.tif") as file:  # as Fiji reads it
        assert file.imagej_metadata["unit"] == "um"
        assert np.divide(*file.pages[0].tags["XResolution"].value) == pytest.approx(1 / PIXEL)


def test_a_reversed_file_gives_the_same_heights(capsys, surface, ome, tmp_path):
    depth, record = heights(capsys, tmp_path, ome, "--reverse")
    assert relative_rmse(depth, STEP * surface.truth_index) < 0.01
    assert record["depth"]["direction"].startswith("grows from the last")


def test_uneven_steps(capsys, tmp_path):
    focus = 0.05 + 0.45 * np.linspace(0, 1, N) ** 1.4
    scene = simulate("plane", shape=(72, 96), focus=focus, noise=0.0, dtype="uint16")
    tifffile.imwrite(tmp_path / "z.tif", scene.frames, photometric="minisblack")
    lines = [f"{k},{1000 * z!r}" for k, z in enumerate(focus.tolist())]
    (tmp_path / "z.csv").write_text("\n".join(["frame,distance (mm)", *lines]))
    positions = ("--focus-distances", tmp_path / "z.csv")
    depth, record = heights(capsys, tmp_path / "out", tmp_path / "z.tif", *positions)
    truth = 1000 * scene.truth_depth
    inside = (truth > 1000 * focus[0]) & (truth < 1000 * focus[-1])
    assert record["depth"]["unit"] == "mm"
    assert relative_rmse(depth[inside], truth[inside]) < 0.01


# What would be used, told without decoding


def facts(capsys, *arguments):
    said = varfocus(capsys, "info", *arguments, "--json")
    assert said.code == 0, said.err
    return json.loads(said.out)


def focus_of(told):
    return [frame["focus"] for frame in told["order"]]


def test_options_are_trusted_more_than_metadata(capsys, ome):
    told = facts(capsys, ome, "--z-step", "0.5mm", "--pixel-size", "1 in")
    assert focus_of(told) == pytest.approx(0.5 * np.arange(N))
    assert (told["unit"], told["focus_origin"]) == ("mm", "--z-step")
    assert told["pixel_size"] == {"x": 1.0, "y": 1.0, "unit": "in"}
    assert told["pixel_size_origin"] == "--pixel-size"


def test_metadata_in_the_unit_that_is_wanted(capsys, ome):
    told = facts(capsys, ome, "--unit", "mm")
    assert focus_of(told) == pytest.approx(0.002 * np.arange(N))
    assert told["focus_origin"] == "OME PhysicalSizeZ"


def test_info_names_the_source_of_sizes(capsys, ome):
    said = varfocus(capsys, "info", ome).out
    assert "depth in um, from OME PhysicalSizeZ" in said
    assert "pixels of 0.5 um, from OME PhysicalSizeX, Y" in said


def write_numbers(folder, heading, numbers):
    path = folder / "focus.csv"
    path.write_text("\n".join([heading, *(repr(float(x)) for x in numbers)]))
    return "--focus-distances", path


def test_dioptres_become_metres(capsys, ome, tmp_path):
    dioptres = np.linspace(10, 2, N)
    numbers = write_numbers(tmp_path, "dioptre", dioptres)
    told = facts(capsys, ome, *numbers, "--focus-in", "dioptre")
    assert focus_of(told) == pytest.approx(1 / dioptres)
    assert told["unit"] == "m"
    told = facts(capsys, ome, *numbers, "--focus-in", "dioptre", "--unit", "mm")
    assert focus_of(told) == pytest.approx(1000 / dioptres)


def test_lens_travel_becomes_metres(capsys, ome, tmp_path):
    f, distances = 0.05, np.linspace(0.2, 1.0, N)
    travel = f**2 / (distances - f)
    numbers = write_numbers(tmp_path, "travel (mm)", 1000 * travel)
    lens_options = ("--focus-in", "lens-travel", "--focal-length", "50mm")
    told = facts(capsys, ome, *numbers, *lens_options)
    assert focus_of(told) == pytest.approx(distances)
    assert (told["unit"], told["focus_origin"]) == (
        "m",
        "--focus-distances in lens travel, f = 50 mm",
    )


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--focus-in", "lens-travel", "--unit", "mm"], "no focal length"),
        (["--focus-in", "lens-travel", "--focal-length", "50mm"], "without unit"),
        (
            ["--focus-in", "lens-travel", "--unit", "mm", "--focal-length", "0mm"],
            "focal length of 0",
        ),
        (["--pixel-size", "0um"], "pixel size = 0"),
        (["--pixel-size", "5"], "--pixel-size '5'"),
        (["--channel", "1"], "channel '1'"),
    ],
)
def test_what_cannot_be_used(capsys, ome, tmp_path, options, said):
    numbers = write_numbers(tmp_path, "x", np.linspace(1, 2, N))
    outcome = varfocus(capsys, "info", ome, *numbers, *options)
    assert outcome.code in (2, 3)
    assert said in outcome.err


def test_steps_alone_tell_no_distance(capsys, ome):
    outcome = varfocus(capsys, "info", ome, "--z-step", "1mm", "--focus-in", "dioptre")
    assert outcome.code == 2
    assert "without --focus-distances" in outcome.err


def test_exif_distance_is_shown_and_not_used(capsys, tmp_path):
    for k, distance in enumerate((310, 330, 370)):
        picture = Image.fromarray(np.full((8, 9), 50 * k, np.uint8))
        exif = Image.Exif()
        exif.get_ifd(0x8769)[0x9206] = IFDRational(distance, 1000)
        picture.save(tmp_path / f"{k}.jpg", exif=exif)
    told = facts(capsys, tmp_path)
    assert (told["unit"], focus_of(told)) == ("frames", [None] * 3)
    assert told["hints"][0].startswith(
        "EXIF subject distance of all frames: 0.31 … 0.37 m; not used"
    )
    assert "0.31 … 0.37 m" in varfocus(capsys, "info", tmp_path).out


# The thin lens


def test_travel_obeys_the_lens_equation():
    f, t = 0.035, np.array([1e-5, 1e-3, 0.02, 0.035, 0.1])
    s = lens.distance_from_travel(t, f)
    np.testing.assert_allclose(1 / s + 1 / (f + t), 1 / f, rtol=1e-12)
    assert lens.distance_from_travel(f, f) == pytest.approx(2 * f)  # magnification 1
    np.testing.assert_array_equal(lens.distance_from_dioptre([4.0, 0.5]), [0.25, 2.0])


@pytest.mark.parametrize("number", [0.0, -1.0, np.nan, np.inf])
def test_infinity_is_no_position(number):
    with pytest.raises(FocusPositionsError, match="expected numbers from"):
        lens.distance_from_dioptre([1.0, number])
    with pytest.raises(FocusPositionsError, match="expected numbers from"):
        lens.distance_from_travel([number], 1.0)
