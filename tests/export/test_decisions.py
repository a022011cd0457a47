"""What people take away: pictures, a body to print, all of it in one file."""

import io
import json
import zipfile

import numpy as np
import pytest
import tifffile
import trimesh
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from PIL import Image

from command_line import varfocus
from result_folders import saved_of
from varfocus.errors import ParameterError
from varfocus.export.products import PictureShape, Shape, make_product
from varfocus.surface import solid_mesh

METRES = {"focus": [0, 5, 10], "unit": "um", "pixel_size": (2.0, 2.0, "um")}


def body(mesh) -> trimesh.Trimesh:
    return trimesh.Trimesh(mesh.vertices, mesh.faces, process=False)


def test_a_flat_map_becomes_a_box():
    mesh = body(solid_mesh(np.full((11, 21), 3, "f4"), (2, 1), base=5, triangles=10**6))
    assert mesh.is_watertight
    assert mesh.is_winding_consistent
    assert mesh.volume == pytest.approx(40 * 10 * 5)
    assert mesh.bounds.tolist() == [[-20, -5, 0], [20, 5, 5]]


HEIGHTS = st.one_of(st.just(np.float32(np.nan)), st.floats(0, 9, width=32))
SIDES = st.tuples(st.integers(2, 9), st.integers(2, 9))


@given(height=arrays.arrays(np.float32, SIDES, elements=HEIGHTS))
def test_whatever_is_unknown_the_body_is_closed(height):
    mesh = solid_mesh(height, (1, 1), base=1, triangles=10**6)
    if not len(mesh.faces):
        return
    found = body(mesh)
    assert found.is_watertight
    assert found.is_winding_consistent
    assert found.volume > 0
    edges = np.sort(found.edges, axis=1)
    _, counts = np.unique(edges, axis=0, return_counts=True)
    assert (counts == 2).all()  # no edge is shared by four


def test_holes_are_filled_specks_are_dropped_and_the_size_is_kept_to():
    height = np.zeros((60, 90), np.float32)
    height[20:25, 20:25] = np.nan  # a hole
    height[:, 60:] = np.nan  # the background
    height[3:6, 80:83] = 1.0  # a speck on it
    mesh = body(solid_mesh(height, (1, 1), base=2, triangles=10**6))
    assert mesh.is_watertight
    assert mesh.volume == pytest.approx(59 * 59 * 2)
    coarse = solid_mesh(height, (1, 1), base=2, triangles=2000)
    assert len(coarse.faces) <= 2000
    assert body(coarse).is_watertight


@pytest.fixture
def saved(tmp_path):
    y, x = np.mgrid[:30, :40]
    depth = (3.0 * np.hypot(x - 20, y - 15)).astype(np.float32)
    depth[5, 6:8] = np.nan
    return saved_of(tmp_path / "out", depth, **METRES)


def test_a_print_has_the_size_that_was_asked_for(saved, tmp_path):
    path = tmp_path / "print.stl"
    shape = Shape(solid=True, base=3, print_size=80)
    path.write_bytes(make_product(saved, path, shape=shape)[0])
    mesh = trimesh.load(path)
    assert mesh.is_watertight
    assert mesh.volume > 0
    # 40 pixels are 80 mm; vertices lie in the middles of pixels.
    assert mesh.extents[0] == pytest.approx(78, rel=1e-4)
    true = np.nanmax(saved.depth) * 1e-3 * 80 / (40 * 2e-3)
    assert mesh.extents[2] == pytest.approx(3 + true, rel=0.01)
    assert mesh.bounds[0, 2] == pytest.approx(0)
    with pytest.raises(ParameterError, match="without solid"):
        Shape(print_size=80)
    with pytest.raises(ParameterError, match="from 1e-06"):
        Shape(solid=True, base=0)


def test_pictures_are_what_the_result_shows(saved):
    from pathlib import Path

    deep = tifffile.imread(io.BytesIO(make_product(saved, Path("p.tif"))[0]))
    assert deep.dtype == np.uint16
    np.testing.assert_array_equal(deep // 257, saved.fused)
    files = [
        make_product(saved, Path("p.jpg"), look=PictureShape(quality))[0] for quality in (20, 95)
    ]
    assert len(files[0]) < len(files[1])
    with Image.open(io.BytesIO(files[1])) as image:
        assert np.abs(np.asarray(image).astype(int) - saved.fused).mean() < 3
    with pytest.raises(ParameterError, match="1 to 100"):
        PictureShape(0)


def test_everything_is_one_file(capsys, saved, tmp_path):
    out = saved.folder
    (out / "secret.txt").write_text("not ours")
    name = tmp_path / "all.zip"
    done = varfocus(capsys, "export", out, "-o", name, "--quality", "80", "--json")
    assert done.code == 0, done.err
    assert json.loads(done.out)["files"][0]["size"].startswith("true size")
    with zipfile.ZipFile(name) as archive:
        names = set(archive.namelist())
        assert {p.name for p in out.iterdir()} - {"secret.txt"} <= names
        assert {"picture.jpg", "model.glb", "points.ply", "print.stl"} <= names
        assert "secret.txt" not in names
        assert archive.read("depth.tif") == (out / "depth.tif").read_bytes()
    done = varfocus(capsys, "export", out, "-o", tmp_path / "x.glb", "--solid")
    assert done.code == 2
    assert "--solid" in done.err
