"""OME-TIFF and ImageJ hyperstacks: the right planes, the right sizes, or a question."""

import numpy as np
import pytest
import tifffile

from image_samples import by_tifffile, noise
from varfocus.errors import AmbiguousInputError, ParameterError, UnreadableFrameError
from varfocus.io import read_stack
from varfocus.io.contents import across, evenly
from varfocus.units import Length, PixelSize

Z, C, T = 5, 2, 3


def pixels(axes, dtype=np.uint16):
    sizes = {"Z": Z, "C": C, "T": T, "Y": 11, "X": 19, "S": 3}
    return noise(tuple(sizes[axis] for axis in axes), dtype)


def planes(array, axes, **where):
    """Return (Z, Y, X[, S]) of the chosen channel and time."""
    index = tuple(where.get(axis, slice(None)) for axis in axes)
    return array[index]


@pytest.mark.parametrize("axes", ["TZCYX", "ZCTYX", "CTZYX", "TCZYX"])
def test_ome_planes_in_any_order(axes, tmp_path):
    array = pixels(axes)
    path = tmp_path / "a.ome.tif"
    tifffile.imwrite(path, array, ome=True, metadata={"axes": axes})
    stack = read_stack(path, channel=1, time=2)
    np.testing.assert_array_equal(np.stack(list(stack)), planes(array, axes, C=1, T=2))
    np.testing.assert_array_equal(np.stack(list(stack.ahead())), planes(array, axes, C=1, T=2))


def test_imagej_planes(tmp_path):
    array = pixels("TZCYX")
    tifffile.imwrite(tmp_path / "a.tif", array, imagej=True, metadata={"axes": "TZCYX"})
    stack = read_stack(tmp_path, channel=0, time=1)
    np.testing.assert_array_equal(np.stack(list(stack)), array[1, :, 0])


def test_time_stands_for_focus_where_there_is_no_z(tmp_path):
    array = pixels("TCYX")
    tifffile.imwrite(tmp_path / "a.tif", array, imagej=True, metadata={"axes": "TCYX"})
    stack = read_stack(tmp_path, channel=1)
    np.testing.assert_array_equal(np.stack(list(stack)), array[:, 1])
    with pytest.raises(ParameterError, match="time '1'"):
        read_stack(tmp_path, channel=1, time=1)


def test_channels_by_name_and_the_question_which(tmp_path):
    array = pixels("ZCYX")
    about = {"axes": "ZCYX", "Channel": {"Name": ["DAPI", "GFP"]}}
    tifffile.imwrite(tmp_path / "a.ome.tif", array, ome=True, metadata=about)
    np.testing.assert_array_equal(read_stack(tmp_path, channel="gfp").read(3), array[3, 1])
    with pytest.raises(AmbiguousInputError, match=r"a\.ome\.tif: holds 2 channels: 0 DAPI, 1 GFP"):
        read_stack(tmp_path)
    for wrong in ("RFP", 2, -1):
        with pytest.raises(ParameterError, match="holds 2 channels: 0 DAPI, 1 GFP"):
            read_stack(tmp_path, channel=wrong)


def test_series(tmp_path):
    first, second, single = noise((4, 11, 19)), noise((6, 7, 9)), noise((20, 30))
    path = tmp_path / "a.ome.tif"
    with tifffile.TiffWriter(path, ome=True) as tif:
        tif.write(first, metadata={"axes": "ZYX", "Name": "left"}, photometric="minisblack")
        tif.write(second, metadata={"axes": "ZYX", "Name": "right"}, photometric="minisblack")
        tif.write(single, metadata={"axes": "YX", "Name": "overview"})
    np.testing.assert_array_equal(np.stack(list(read_stack(path, series="right"))), second)
    np.testing.assert_array_equal(np.stack(list(read_stack(path, series=0))), first)
    with pytest.raises(AmbiguousInputError, match=r"3 series: 0 left \(4 slices\), 1 right"):
        read_stack(path)


def test_the_only_stack_among_pictures_is_meant(tmp_path):
    path, array = tmp_path / "a.ome.tif", noise((4, 11, 19))
    with tifffile.TiffWriter(path, ome=True) as tif:
        tif.write(noise((20, 30)), metadata={"axes": "YX", "Name": "label"})
        tif.write(array, metadata={"axes": "ZYX"}, photometric="minisblack")
    np.testing.assert_array_equal(np.stack(list(read_stack(path))), array)


@pytest.mark.parametrize("axes", ["ZYXS", "ZSYX"])
def test_rgb_is_one_channel(axes, tmp_path):
    array = pixels(axes, np.uint8)
    about = {"axes": axes}
    tifffile.imwrite(tmp_path / "a.tif", array, ome=True, photometric="rgb", metadata=about)
    expected = array if axes == "ZYXS" else np.moveaxis(array, 1, -1)
    np.testing.assert_array_equal(np.stack(list(read_stack(tmp_path))), expected)


@pytest.mark.parametrize(
    ("unit", "factor"), [("µm", 1.0), ("nm", 1e-3), ("mm", 1e3), (None, 1.0), ("in", 25400.0)]
)
def test_ome_sizes(unit, factor, tmp_path):
    about = {"axes": "ZYX", "PhysicalSizeX": 0.5, "PhysicalSizeY": 0.25, "PhysicalSizeZ": 2.0}
    if unit:
        about |= {f"PhysicalSize{axis}Unit": unit for axis in "XYZ"}
    tifffile.imwrite(tmp_path / "a.tif", pixels("ZYX"), ome=True, metadata=about)
    stack = read_stack(tmp_path)
    assert stack.with_focus(None, "um").focus == pytest.approx(2.0 * factor * np.arange(Z))
    size = stack.pixel_size.to("um")
    assert (size.x, size.y) == pytest.approx((0.5 * factor, 0.25 * factor))
    assert stack.focus_origin == "OME PhysicalSizeZ"
    assert stack.pixel_size_origin == "OME PhysicalSizeX, Y"


def test_ome_positions_where_steps_are_not_told(tmp_path):
    z = [0.0, 1.0, 3.0, 7.0, 10.0]
    about = {"axes": "ZYX", "Plane": {"PositionZ": z, "PositionZUnit": ["mm"] * Z}}
    tifffile.imwrite(tmp_path / "a.tif", pixels("ZYX"), ome=True, metadata=about)
    stack = read_stack(tmp_path)
    assert (stack.focus.tolist(), stack.unit, stack.focus_origin) == (z, "mm", "OME PositionZ")


@pytest.mark.parametrize("scale", [1e-41, 1e41, 1e300])
def test_impossible_sizes_in_a_file_do_not_keep_its_frames_from_being_read(scale, tmp_path):
    """A damaged number is no size: the frames are good, and what is not used is said."""
    about = {f"PhysicalSize{axis}": scale for axis in "XYZ"}
    tifffile.imwrite(tmp_path / "a.tif", pixels("ZYX"), ome=True, metadata={"axes": "ZYX"} | about)
    stack = read_stack(tmp_path)
    assert (stack.focus, stack.pixel_size) == (None, None)
    size = Length(scale, "um")
    assert evenly(3, size) == ()
    assert across(size, Length(1.0, "um")) is across(Length(1.0, "um"), size) is None
    assert across(Length(1e6, "m"), Length(1e-12, "nm")) is None  # lost beside the other


def test_impossible_positions_in_a_file_are_told_and_not_used(tmp_path):
    z = [0.0, 1e-9, 1.0, 2.0, 3e11]
    about = {"axes": "ZYX", "Plane": {"PositionZ": z, "PositionZUnit": ["mm"] * Z}}
    tifffile.imwrite(tmp_path / "a.tif", pixels("ZYX"), ome=True, metadata=about)
    stack = read_stack(tmp_path)
    assert stack.focus is None
    assert "OME PositionZ is not used" in stack.hints[-1]


@pytest.mark.parametrize("unit", ["um", "micron", "\\u00B5m"])
def test_imagej_sizes(unit, tmp_path):
    about = {"axes": "ZYX", "spacing": 1.5, "unit": unit}
    resolution = (1 / 0.4, 1 / 0.2)
    tifffile.imwrite(
        tmp_path / "a.tif", pixels("ZYX"), imagej=True, resolution=resolution, metadata=about
    )
    stack = read_stack(tmp_path)
    assert (stack.focus.tolist(), stack.unit) == ([0.0, 1.5, 3.0, 4.5, 6.0], "um")
    assert (stack.pixel_size.x, stack.pixel_size.y) == pytest.approx((0.4, 0.2))
    assert (stack.focus_origin, stack.pixel_size_origin) == ("ImageJ spacing", "ImageJ resolution")


@pytest.mark.parametrize("about", [{"spacing": 2.0}, {"spacing": 2.0, "unit": "pixel"}])
def test_spacing_without_unit_is_no_length(about, tmp_path):
    tifffile.imwrite(
        tmp_path / "a.tif", pixels("ZYX"), imagej=True, metadata={"axes": "ZYX"} | about
    )
    stack = read_stack(tmp_path)
    assert (stack.focus, stack.unit, stack.pixel_size) == (None, "frames", None)


def test_given_positions_win_over_the_file(tmp_path):
    about = {"axes": "ZYX", "PhysicalSizeZ": 2.0}
    tifffile.imwrite(tmp_path / "a.tif", pixels("ZYX"), ome=True, metadata=about)
    stack = read_stack(tmp_path, focus=[0, 1, 2, 3, 4], unit="mm")
    assert (stack.focus.tolist(), stack.unit, stack.focus_origin) == (
        [0, 1, 2, 3, 4],
        "mm",
        "given",
    )


def test_reversed_stack_keeps_its_positions(tmp_path):
    about = {"axes": "ZYX", "PhysicalSizeZ": 2.0}
    array = pixels("ZYX")
    tifffile.imwrite(tmp_path / "a.tif", array, ome=True, metadata=about)
    stack = read_stack(tmp_path, reverse=True)
    assert stack.focus.tolist() == [8, 6, 4, 2, 0]
    np.testing.assert_array_equal(stack.read(0), array[4])


def test_single_pages_tell_the_pixel_size_but_no_steps(tmp_path):
    for k in range(3):
        tifffile.imwrite(
            tmp_path / f"{k}.tif",
            pixels("YX"),
            imagej=True,
            resolution=(2.0, 2.0),
            metadata={"unit": "um", "spacing": 3.0},
        )
    stack = read_stack(tmp_path)
    assert (stack.focus, stack.pixel_size) == (None, PixelSize(0.5, 0.5, "um"))
    tifffile.imwrite(tmp_path / "2.tif", pixels("YX"))
    assert read_stack(tmp_path).pixel_size is None


HEAD = '<?xml version="1.0"?><OME xmlns="http://www.openmicroscopy.org/Schemas/OME/2016-06">'
PIXELS = 'Type="uint16" SizeX="19" SizeY="11" SizeZ="5" SizeC="1" SizeT="1" DimensionOrder="XYZCT"'


@pytest.mark.parametrize(
    ("xml", "what"),
    [
        (HEAD, "OME-XML"),
        (HEAD + "</OME>", "without images"),
        (HEAD + f"<Image><Pixels {PIXELS}/></Image></OME>", "no plane for slice 0"),
        (
            HEAD
            + f'<Image><Pixels {PIXELS}><TiffData IFD="9" PlaneCount="5"/></Pixels></Image></OME>',
            "lacks page 9",
        ),
        (HEAD + f"<Image><Pixels {PIXELS.replace('5', '-5')}/></Image></OME>", "count '-5'"),
        (HEAD.replace("<OME", "<!DOCTYPE x><OME") + "</OME>", "document type"),
    ],
)
def test_damaged_ome(xml, what, tmp_path):
    data = by_tifffile(pixels("ZYX"), description=xml, metadata=None)
    (tmp_path / "a.tif").write_bytes(data)
    with pytest.raises(UnreadableFrameError, match=what):
        read_stack(tmp_path)


def test_planes_in_sibling_files(tmp_path):
    """Each file of a set describes all of it; only what is in this one can be read from it."""

    def block(k, name):
        return (
            f'<TiffData IFD="{k}" FirstZ="{k}" PlaneCount="1">'
            f'<UUID FileName="{name}">urn:uuid:{k}</UUID></TiffData>'
        )

    for names, fine in ((["a.tif"] * 5, True), (["renamed.tif"] * 5, True), (["b.tif"] * 3, False)):
        names = names + ["a.tif"] * (5 - len(names))
        blocks = "".join(block(k, name) for k, name in enumerate(names))
        xml = HEAD + f"<Image><Pixels {PIXELS}>{blocks}</Pixels></Image></OME>"
        array = pixels("ZYX")
        (tmp_path / "a.tif").write_bytes(by_tifffile(array, description=xml, metadata=None))
        if fine:
            np.testing.assert_array_equal(np.stack(list(read_stack(tmp_path))), array)
        else:
            with pytest.raises(UnreadableFrameError, match="in this one file"):
                read_stack(tmp_path)


def test_imagej_note_that_does_not_fit_the_pages(tmp_path):
    note = "ImageJ=1.54f\nimages=8\nslices=4\nchannels=2\n"
    data = by_tifffile(pixels("ZYX"), description=note, metadata=None)
    (tmp_path / "a.tif").write_bytes(data)
    with pytest.raises(
        UnreadableFrameError, match="claims 4 slices, 2 channels, but holds 5 pages"
    ):
        read_stack(tmp_path)
