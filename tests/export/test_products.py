"""Files for other programs: each is read back by a library that knows nothing of varfocus."""

import hashlib
import io
import json
import shutil
import struct
import subprocess
import sys
import xml.etree.ElementTree as ET
import zipfile

import cv2
import gsffile
import imagecodecs
import numpy as np
import pytest
import trimesh
from PIL import Image

import varfocus as vf
from command_line import files_below, varfocus
from result_folders import saved_of
from varfocus.errors import InputError, OutputError, ParameterError
from varfocus.export import fields
from varfocus.export.products import PRODUCTS, Calibration, Shape, make_product
from varfocus.export.saved import load_result
from varfocus.stack import FocusStack
from varfocus.surface.mesh import coarsened, coarsening, height_mesh, torn_triangles
from varfocus.units import PixelSize

METRES = {"focus": [0, 5, 10], "unit": "um", "pixel_size": (2.0, 2.0, "um")}


@pytest.fixture
def ramp():
    """Return a slanted plane, 3 um per column, with a hole of two unknown pixels."""
    y, x = np.mgrid[:20, :30]
    depth = (3.0 * x + 0.5 * y).astype(np.float32)
    depth[5, 6:8] = np.nan
    return depth


def write(saved, path, *options):
    content, scale = make_product(saved, path, *options)
    path.write_bytes(content)
    return scale


# Surfaces


def test_a_full_grid_has_two_triangles_per_block_facing_the_viewer(rng):
    faces = torn_triangles(rng.random((5, 7), dtype=np.float32), np.inf)
    assert len(faces) == 2 * 4 * 6
    assert set(faces.ravel()) == set(range(35))
    mesh = height_mesh(rng.random((5, 7), dtype=np.float32), (1, 1), jump=np.inf, triangles=99)
    a, b, c = (mesh.vertices[mesh.faces[:, k]] for k in range(3))
    assert (np.cross(b - a, c - a)[:, 2] > 0).all()


@pytest.mark.parametrize("corner", [(0, 0), (0, 1), (1, 0), (1, 1)])
def test_one_unknown_corner_leaves_one_triangle(corner):
    height = np.zeros((2, 2), np.float32)
    height[corner] = np.nan
    (face,) = torn_triangles(height, 1.0)
    assert set(face) == set(range(4)) - {corner[0] * 2 + corner[1]}


def test_jumps_are_torn_and_steep_slopes_are_not():
    step = np.zeros((20, 30), np.float32)
    step[:, 15:] = 10.0
    smeared = step.copy()
    smeared[:, 14:17] = [2.5, 5.0, 7.5]
    slope = np.tile(5.0 * np.arange(30, dtype=np.float32), (20, 1))
    assert len(torn_triangles(step, 1.0)) == 2 * 19 * 28
    assert len(torn_triangles(smeared, 1.0)) == 2 * 19 * 25
    assert len(torn_triangles(slope, 1.0)) == 2 * 19 * 29
    assert len(torn_triangles(step, np.inf)) == 2 * 19 * 29


@pytest.mark.parametrize("triangles", [2, 100, 1001, 10**6])
@pytest.mark.parametrize("shape", [(40, 60), (3, 200), (61, 61)])
def test_meshes_keep_to_their_number_of_triangles(rng, triangles, shape):
    height = rng.random(shape, dtype=np.float32)
    mesh = height_mesh(height, (1, 1), jump=np.inf, triangles=triangles)
    assert len(mesh.faces) <= triangles
    step = coarsening(shape, triangles)
    if step > 1:  # and are no coarser than that asks for
        rows, columns = (-(-size // (step - 1)) for size in shape)
        assert 2 * (rows - 1) * (columns - 1) > triangles


def test_coarsening_takes_measured_heights_only(rng):
    height = rng.random((7, 9), dtype=np.float32)
    height[:2, :2] = np.nan
    height[2, 2:4] = np.nan
    coarse = coarsened(height, 2)
    assert coarse.shape == (4, 5)
    assert np.isnan(coarse[0, 0])
    assert np.isfinite(coarse).sum() == 19
    assert set(coarse[np.isfinite(coarse)]) <= set(height[np.isfinite(height)])
    assert coarse[1, 1] == min(height[3, 2:4])


# Meshes, read by trimesh


def test_glb_in_metres_with_the_right_size_and_texture(ramp, tmp_path):
    saved = saved_of(tmp_path / "r", ramp, **METRES)
    scale = write(saved, tmp_path / "a.glb")
    assert scale.true
    scene = trimesh.load(tmp_path / "a.glb")
    (mesh,) = scene.geometry.values()
    np.testing.assert_allclose(mesh.extents, [29 * 2e-6, 19 * 2e-6, 96.5e-6], rtol=1e-5)
    np.testing.assert_allclose(mesh.bounds.sum(axis=0), 0, atol=1e-9)  # centred
    assert (mesh.vertex_normals[:, 2] > 0).all()
    # Depth is a distance: the left is near, so it is higher.
    left, right = mesh.vertices[:, 0].argmin(), mesh.vertices[:, 0].argmax()
    assert mesh.vertices[left, 2] > mesh.vertices[right, 2]
    picture = mesh.visual.material.baseColorTexture
    assert picture.size == (30, 20)
    # trimesh counts v from the bottom; red of the picture grows with x, green with depth in y.
    place = mesh.visual.uv
    np.testing.assert_allclose(mesh.vertices[:, 0], (place[:, 0] - 0.5) * 60e-6, atol=1e-10)
    np.testing.assert_allclose(mesh.vertices[:, 1], (place[:, 1] - 0.5) * 40e-6, atol=1e-10)
    colour = np.asarray(picture).astype(int)
    assert colour[10, 28, 0] > colour[10, 1, 0] + 150


def test_glb_obeys_its_container_rules(ramp, tmp_path):
    content, _ = make_product(saved_of(tmp_path, ramp, **METRES), tmp_path / "a.glb")
    magic, version, length = struct.unpack("<4sII", content[:12])
    assert (magic, version, length) == (b"glTF", 2, len(content))
    size, kind = struct.unpack("<I4s", content[12:20])
    assert kind == b"JSON"
    assert size % 4 == 0
    document = json.loads(content[20 : 20 + size])
    binary, kind = struct.unpack("<I4s", content[20 + size : 28 + size])
    assert kind == b"BIN\0"
    assert binary == document["buffers"][0]["byteLength"] == len(content) - 28 - size
    for view in document["bufferViews"]:
        assert view["byteOffset"] % 4 == 0
        assert view["byteOffset"] + view["byteLength"] <= binary


def test_stl_and_obj_in_millimetres(ramp, tmp_path):
    saved = saved_of(tmp_path / "r", ramp, **METRES)
    for name in ("a.stl", "a.obj"):
        write(saved, tmp_path / name)
        mesh = trimesh.load(tmp_path / name, force="mesh")
        np.testing.assert_allclose(mesh.extents, [0.058, 0.038, 0.0965], rtol=1e-5)
        assert len(mesh.faces) == 2 * 19 * 29 - 8  # each of two pixels is a corner of four blocks
        assert (mesh.face_normals[:, 2] > 0).all()
    red = mesh.visual.vertex_colors[:, 0].astype(int)
    assert np.corrcoef(red, mesh.vertices[:, 0])[0, 1] > 0.999


def test_ply_has_one_coloured_point_per_known_pixel(ramp, tmp_path):
    saved = saved_of(tmp_path / "r", ramp, **METRES)
    write(saved, tmp_path / "a.ply")
    cloud = trimesh.load(tmp_path / "a.ply")
    known = np.isfinite(ramp)
    assert cloud.vertices.shape == (known.sum(), 3)
    np.testing.assert_allclose(np.ptp(cloud.vertices[:, 2]), 0.0965, rtol=1e-5)
    np.testing.assert_array_equal(np.asarray(cloud.colors)[:, :3], saved.fused[known])


def test_inverted_depth_is_height(ramp, tmp_path):
    saved = saved_of(tmp_path / "r", ramp, **METRES, inverted=True)
    write(saved, tmp_path / "a.stl")
    mesh = trimesh.load(tmp_path / "a.stl")
    left, right = mesh.vertices[:, 0].argmin(), mesh.vertices[:, 0].argmax()
    assert mesh.vertices[left, 2] < mesh.vertices[right, 2]


def test_without_calibration_the_shape_is_plausible_and_says_so(ramp, tmp_path):
    saved = saved_of(tmp_path / "r", ramp)
    scale = write(saved, tmp_path / "a.glb", Calibration(), Shape(relief=0.5))
    assert not scale.true
    assert "true size is unknown" in scale.words
    (mesh,) = trimesh.load(tmp_path / "a.glb").geometry.values()
    width, _, relief = mesh.extents
    assert width == pytest.approx(0.1, rel=0.05)
    assert relief == pytest.approx(0.05, rel=0.1)
    scale = write(saved, tmp_path / "a.glb", Calibration("2um", "1um"))
    assert scale.true
    (mesh,) = trimesh.load(tmp_path / "a.glb").geometry.values()
    np.testing.assert_allclose(mesh.extents, [58e-6, 38e-6, 96.5e-6], rtol=1e-5)


# Depth maps


def test_png_gives_the_depth_back_to_half_a_step(ramp, tmp_path):
    saved = saved_of(tmp_path / "r", ramp, **METRES)
    write(saved, tmp_path / "a.png")
    value = imagecodecs.png_decode((tmp_path / "a.png").read_bytes())
    assert value.dtype == np.uint16
    with Image.open(tmp_path / "a.png") as image:
        scale, offset = float(image.text["scale"]), float(image.text["offset"])
        assert image.text["unit"] == "um"
    known = np.isfinite(ramp)
    np.testing.assert_array_equal(value == 0, ~known)
    assert (value[known].min(), value.max()) == (1, 65535)
    np.testing.assert_allclose(offset + scale * value[known], ramp[known], atol=0.51 * scale)
    assert scale == pytest.approx(96.5 / 65534)
    # and both follow from what run.json says
    about = saved.record["depth"]
    assert scale == pytest.approx((about["maximum"] - about["minimum"]) / 65534)


@pytest.mark.parametrize("value", [np.nan, 7.5])
def test_png_of_dull_depth(value):
    stored = imagecodecs.png_decode(fields.png16(np.full((3, 4), value, np.float32), "mm"))
    np.testing.assert_array_equal(stored, 0 if np.isnan(value) else 1)


def test_pfm_is_what_opencv_reads(ramp, tmp_path):
    write(saved_of(tmp_path / "r", ramp), tmp_path / "a.pfm")
    np.testing.assert_array_equal(cv2.imread(str(tmp_path / "a.pfm"), cv2.IMREAD_UNCHANGED), ramp)


def test_exr_is_what_openexr_reads(ramp, tmp_path):
    OpenEXR = pytest.importorskip("OpenEXR")
    write(saved_of(tmp_path / "r", ramp, **METRES, uncertainty=0.25), tmp_path / "a.exr")
    with OpenEXR.File(str(tmp_path / "a.exr"), separate_channels=True) as file:
        channels = file.channels()
        np.testing.assert_array_equal(channels["Z"].pixels, ramp)
        assert channels["Z"].pixels.dtype == np.float32
        assert (channels["confidence"].pixels == np.float32(0.95)).all()
        assert (channels["uncertainty"].pixels == 0.25).all()


def test_a_missing_library_is_named_with_its_extra(ramp, tmp_path, monkeypatch):
    saved = saved_of(tmp_path, ramp)
    monkeypatch.setitem(sys.modules, "OpenEXR", None)
    with pytest.raises(OutputError.__mro__[1], match=r"pip install \"varfocus\[exr\]\""):
        make_product(saved, tmp_path / "a.exr")


def test_npz_has_everything(ramp, tmp_path):
    saved = saved_of(tmp_path / "r", ramp, **METRES, uncertainty=0.5)
    write(saved, tmp_path / "a.npz")
    with np.load(tmp_path / "a.npz") as archive:
        np.testing.assert_array_equal(archive["depth"], ramp)
        np.testing.assert_array_equal(archive["fused"], saved.fused)
        assert (archive["uncertainty"] == 0.5).all()
        assert json.loads(str(archive["record"])) == saved.record


# Metrology


def test_gsf_in_metres(ramp, tmp_path):
    write(saved_of(tmp_path / "r", ramp, **METRES), tmp_path / "a.gsf")
    data, about = gsffile.read_gsf(tmp_path / "a.gsf")
    np.testing.assert_allclose(data, -ramp * 1e-6, rtol=1e-6)
    assert (about["XReal"], about["YReal"]) == pytest.approx((60e-6, 40e-6))
    assert (about["XYUnits"], about["ZUnits"]) == ("m", "m")


def test_x3p_by_the_letter_of_its_standard(ramp, tmp_path):
    write(saved_of(tmp_path / "r", ramp, **METRES), tmp_path / "a.x3p")
    with zipfile.ZipFile(tmp_path / "a.x3p") as archive:
        assert archive.testzip() is None
        main, data = archive.read("main.xml"), archive.read("bindata/data.bin")
        checksum, name = archive.read("md5checksum.hex").decode().split()
    assert (checksum, name) == (hashlib.md5(main).hexdigest(), "*main.xml")
    root = ET.parse(io.BytesIO(main)).getroot()
    assert root.tag == "{http://www.opengps.eu/2008/ISO5436_2}ISO5436_2"
    text = {element.tag: element.text for element in root.iter()}
    assert text["MD5ChecksumPointData"] == hashlib.md5(data).hexdigest()
    assert text["FeatureType"] == "SUR"
    assert [root.findtext(f"Record1/Axes/{axis}/AxisType") for axis in ("CX", "CY", "CZ")] == [
        "I",
        "I",
        "A",
    ]
    assert float(root.findtext("Record1/Axes/CX/Increment")) == pytest.approx(2e-6)
    assert root.findtext("Record1/Axes/CZ/DataType") == "D"
    shape = int(text["SizeY"]), int(text["SizeX"])
    height = np.frombuffer(data, "<f8").reshape(shape)
    np.testing.assert_allclose(height, -ramp.astype(np.float64) * 1e-6, rtol=1e-6)


@pytest.mark.parametrize("name", ["a.x3p", "a.gsf"])
def test_metrology_needs_a_true_size(ramp, tmp_path, name):
    with pytest.raises(ParameterError, match="true size is unknown"):
        make_product(saved_of(tmp_path, ramp), tmp_path / name)


def test_a_frame_distance_belongs_to_frames(ramp, tmp_path):
    with pytest.raises(ParameterError, match="depth in um"):
        make_product(
            saved_of(tmp_path, ramp, **METRES), tmp_path / "a.stl", Calibration(z_step="2um")
        )


# Folders


def test_a_result_comes_back_from_its_folder(ramp, tmp_path):
    saved = saved_of(tmp_path, ramp, **METRES, uncertainty=0.5)
    np.testing.assert_array_equal(saved.depth, ramp)
    assert (saved.confidence == np.float32(0.95)).all()
    assert (saved.uncertainty == 0.5).all()
    assert saved.unit == "um"
    assert str(saved.pixel_size) == "2 um"
    assert saved.frame_distance == 5.0


def test_missing_parts_are_named(ramp, tmp_path):
    with pytest.raises(InputError, match="is not a folder"):
        load_result(tmp_path / "nowhere")
    with pytest.raises(InputError, match=r"holds no run\.json"):
        load_result(tmp_path)
    saved_of(tmp_path, ramp)
    (tmp_path / "uncertainty.tif").unlink(missing_ok=True)
    assert load_result(tmp_path).uncertainty is None
    (tmp_path / "confidence.tif").rename(tmp_path / "c.tif")
    with pytest.raises(InputError, match=r"holds no confidence\.tif"):
        load_result(tmp_path)
    (tmp_path / "depth.tif").rename(tmp_path / "confidence.tif")
    saved_of(tmp_path / "other", ramp[:10])
    (tmp_path / "other" / "depth.tif").rename(tmp_path / "depth.tif")
    with pytest.raises(InputError, match="confidence has 30×20 pixels, but depth"):
        load_result(tmp_path)
    (tmp_path / "run.json").write_text("[]")
    with pytest.raises(InputError, match="not the record of a run"):
        load_result(tmp_path)


# The command


def test_export_by_the_command_line(ramp, tmp_path, capsys):
    saved_of(tmp_path / "r", ramp, **METRES)
    names = [tmp_path / f"part{suffix}" for suffix in PRODUCTS]
    done = varfocus(capsys, "export", tmp_path / "r", "-o", *names, "--json")
    assert done.code == 0, done.err
    assert [entry["path"] for entry in json.loads(done.out)["files"]] == [str(n) for n in names]
    assert all(name.stat().st_size for name in names)
    again = varfocus(capsys, "export", tmp_path / "r", "-o", names[0])
    assert again.code == 2
    assert "--overwrite" in again.err


def test_a_refused_format_leaves_nothing_behind(ramp, tmp_path, capsys):
    saved_of(tmp_path / "r", ramp)
    before = files_below(tmp_path)
    done = varfocus(capsys, "export", tmp_path / "r", "-o", tmp_path / "a.stl", tmp_path / "a.x3p")
    assert done.code == 2
    assert "--pixel-size" in done.err
    done = varfocus(capsys, "export", tmp_path / "r", "-o", tmp_path / "a.blend")
    assert done.code == 2
    assert ".glb" in done.err
    assert files_below(tmp_path) == before
    done = varfocus(capsys, "export", tmp_path / "r", "-o", tmp_path / "a.stl")
    assert done.code == 0
    assert "true size is unknown" in done.err


def test_the_command_needs_no_mesh_library():
    code = "import sys, varfocus.export.products; assert not {'trimesh', 'cv2'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("suffix", [".x3p", ".gsf"])
def test_gwyddion_reads_metrology_files(ramp, tmp_path, suffix):
    program = shutil.which("gwyddion")
    gwyfile = pytest.importorskip("gwyfile", reason="gwyfile reads what Gwyddion converts")
    if program is None:
        pytest.skip("Gwyddion, the independent reader of X3P and GSF, is not installed")
    write(saved_of(tmp_path / "r", ramp, **METRES), tmp_path / f"a{suffix}")
    converted = tmp_path / "a.gwy"
    command = [program, f"--convert-to-gwy={converted}", str(tmp_path / f"a{suffix}")]
    subprocess.run(command, check=True, capture_output=True, timeout=200)
    (field,) = gwyfile.util.get_datafields(gwyfile.load(str(converted))).values()
    assert (field.xreal, field.yreal) == pytest.approx((60e-6, 40e-6))
    assert (field.si_unit_xy.unitstr, field.si_unit_z.unitstr) == ("m", "m")
    known = np.isfinite(ramp)
    np.testing.assert_allclose(field.data[known], -ramp[known] * 1e-6, rtol=1e-5, atol=1e-12)


def test_from_frames_to_a_mesh_of_the_right_size(tmp_path):
    """A slanted plane of known depth, by way of the files, as right as a quick method is."""
    scene = vf.simulate("plane", shape=(96, 96), n=15)
    stack = FocusStack.from_array(scene.frames, 1e3 * scene.stack.focus, "mm")
    stack = stack.with_pixel_size(PixelSize(0.5, 0.5, "mm"))
    vf.reconstruct(stack, "paper").save(tmp_path / "r", report=False)
    write(load_result(tmp_path / "r"), tmp_path / "a.glb")
    (mesh,) = trimesh.load(tmp_path / "a.glb").geometry.values()
    np.testing.assert_allclose(mesh.extents[:2], 95 * 0.5e-3, rtol=1e-5)
    middle = np.percentile(mesh.vertices[:, 2], [10, 90])
    truth = np.percentile(scene.truth_depth, [10, 90])
    np.testing.assert_allclose(np.ptp(middle), np.ptp(truth), rtol=0.1)
