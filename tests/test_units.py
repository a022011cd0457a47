"""Lengths with units."""

import dataclasses
import io

import numpy as np
import pytest
import tifffile
from hypothesis import given
from hypothesis import strategies as st

import varfocus
from varfocus.errors import ParameterError
from varfocus.export.images import float_tiff
from varfocus.stack import FocusStack
from varfocus.units import METRES, Length, PixelSize, convert, parse_length, unit_name


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2um", Length(2.0, "um")),
        ("2 µm", Length(2.0, "um")),
        ("2 μm", Length(2.0, "um")),
        (" .5mm ", Length(0.5, "mm")),
        ("1e-3m", Length(1e-3, "m")),
        ("-3 microns", Length(-3.0, "um")),
        ("1in", Length(1.0, "in")),
        ("7E2 nm", Length(700.0, "nm")),
    ],
)
def test_lengths_are_read_as_people_write_them(text, expected):
    assert parse_length(text) == expected


@pytest.mark.parametrize("text", ["", "2", "um", "2 parsec", "1e999mm", "2um um", "1,5mm", "--2um"])
def test_what_is_no_length_is_refused(text):
    with pytest.raises(ParameterError, match="such as 2um"):
        parse_length(text, "--z-step")


@given(st.floats(-1e6, 1e6), st.sampled_from(sorted(METRES)), st.sampled_from(sorted(METRES)))
def test_there_and_back_is_the_same_length(value, unit, other):
    assert convert(convert(value, unit, other), other, unit) == pytest.approx(value, rel=1e-12)


def test_an_inch_is_25400_micrometres():
    assert convert(1.0, "in", "um") == pytest.approx(25400.0, rel=1e-12)
    assert Length(1.0, "in").to("mm") == pytest.approx(25.4, rel=1e-12)
    assert PixelSize(1.0, 2.0, "in").to("cm") == PixelSize(2.54, 5.08, "cm")


def test_units_of_imagej_and_ome_are_known():
    assert {unit_name(u) for u in ("micron", "µm", "\\u00B5m", "um", "micrometer")} == {"um"}
    assert unit_name("pixel") is None


@pytest.mark.parametrize("size", [(0.0, 1.0, "um"), (1.0, -1.0, "um"), (1.0, 1.0, "pixel")])
def test_a_pixel_size_is_positive_and_a_length(size):
    with pytest.raises(ParameterError):
        PixelSize(*size)


def test_depth_opens_calibrated_in_fiji():
    depth = np.arange(12, dtype=np.float32).reshape(3, 4)
    content = float_tiff(depth, "um", "depth", PixelSize(0.5, 0.25, "um"))
    with tifffile.TiffFile(io.BytesIO(content)) as file:
        page, note = file.pages[0], file.imagej_metadata
        # ImageJ reads the width of a pixel as 1 / resolution, in the unit of its own note; a
        # resolution unit of inches or centimetres would override that.
        resolution = [np.divide(*page.tags[tag].value) for tag in ("XResolution", "YResolution")]
        assert resolution == [2.0, 4.0]
        assert page.tags["ResolutionUnit"].value == 1
        assert note["unit"] == "um"
        assert "pixel values in um" in note["Info"]
        np.testing.assert_array_equal(file.asarray(), depth)


def test_a_result_carries_its_calibration(tmp_path):
    scene = varfocus.simulate("cone", shape=(48, 48), n=9)
    stack = FocusStack.from_array(scene.frames, np.arange(9) * 2.0, "µm")
    stack = stack.with_pixel_size(PixelSize(0.5, 0.5, "um"))
    result = varfocus.reconstruct(stack, "classic")
    assert (result.unit, result.pixel_size) == ("um", PixelSize(0.5, 0.5, "um"))
    record = result.record()["input"]
    assert record["pixel_size"] == {"x": 0.5, "y": 0.5, "unit": "um"}
    assert record["focus_origin"] == record["pixel_size_origin"] == "given"
    result.save(tmp_path)
    with tifffile.TiffFile(tmp_path / "depth.tif") as file:
        assert file.imagej_metadata["unit"] == "um"


@pytest.mark.parametrize("focus", [None, np.arange(9) * 2.0, [1, 2, 3, 5, 8, 13, 21, 34, 55]])
def test_inverted_depth_is_the_height_above_the_farthest_position(focus):
    scene = varfocus.simulate("cone", shape=(48, 48), n=9)
    stack = FocusStack.from_array(scene.frames, focus)
    inverted = dataclasses.replace(stack, inverted=True)
    down, up = (varfocus.reconstruct(s, "classic") for s in (stack, inverted))
    farthest = 8.0 if focus is None else np.max(focus)
    np.testing.assert_allclose(up.depth, farthest - down.depth, rtol=0, atol=1e-5)
    assert up.direction != down.direction


def test_another_unit_converts_positions():
    stack = FocusStack.from_array(np.zeros((3, 4, 4), np.uint8), [0, 1, 2.5], "mm")
    assert stack.with_focus(None, "um").focus == pytest.approx([0, 1000, 2500])
