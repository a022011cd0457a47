"""Images too large for memory: in tiles they come out as they would whole, to the last bit."""

from __future__ import annotations

import json
import re
from base64 import b64decode
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
import tifffile
from PIL import Image, ImageCms

from command_line import varfocus, write_pictures
from ghosts import ghostly_scene
from result_folders import ROOM, in_small_tiles
from varfocus import edges, engine, plan, read_stack, reconstruct, reconstruct_into
from varfocus.canvas import budget
from varfocus.canvas.halving import halved
from varfocus.canvas.scratch import Scratch, percentile
from varfocus.canvas.tiles import GRID, tiles
from varfocus.errors import OutputExistsError, ParameterError, TooLargeError
from varfocus.export.saved import load_result
from varfocus.job import Job
from varfocus.params import Params, Resources
from varfocus.pipeline import run
from varfocus.simulation import simulate
from varfocus.stack import FocusStack
from varfocus.units import PixelSize

needs_engine = pytest.mark.skipif(not engine.in_use(), reason="needs the engine")

PROFILE = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()

PRODUCTS = ("depth", "confidence", "uncertainty", "fused", "source")


def plain(**parameters) -> Params:
    return Params.from_keywords("robust", align="none", **parameters)


def as_whole(maps, result) -> None:
    for product in PRODUCTS:
        np.testing.assert_array_equal(maps[product], getattr(result, product), err_msg=product)


@pytest.fixture(scope="module")
def stack() -> FocusStack:
    made = simulate("steps", shape=(190, 267), n=6, seed=2, colour=True).stack
    return made.with_focus(2.0 * np.arange(6), "um").with_pixel_size(PixelSize(0.5, 0.5, "um"))


@pytest.fixture(scope="module")
def whole(stack):
    return run(stack, plain(edges="off"))


@pytest.fixture(scope="module")
def written(stack, tmp_path_factory):
    return in_small_tiles(stack, plain(edges="off"), tmp_path_factory.mktemp("tiled"))


@needs_engine
def test_tiles_change_nothing(whole, written):
    maps = {name: tifffile.imread(written.files[name]) for name in PRODUCTS}
    as_whole(maps, whole)
    told, expected = written.record, whole.record()
    for key in ("parameters", "input", "depth", "undetermined_pixels", "findings", "uncertainty"):
        assert told[key] == expected[key], key
    assert told["confidence"]["mean"] == pytest.approx(expected["confidence"]["mean"], rel=1e-6)
    assert json.loads(written.files["run"].read_text()) == told


@needs_engine
def test_a_plain_area_larger_than_any_tile(tmp_path):
    """Paths carry their costs across it: tiles by themselves could not know."""
    frames = simulate("textureless", shape=(300, 310), n=6, seed=2, colour=False).frames
    frames[:, 40:270, 60:290] = 117
    stack = FocusStack.from_array(frames)
    params = plain(edges="off", unknown="nan")
    done = in_small_tiles(stack, params, tmp_path)
    as_whole({name: tifffile.imread(done.files[name]) for name in PRODUCTS}, run(stack, params))
    assert done.record["depth"]["unknown_pixels"] > 0


@needs_engine
def test_the_edge_stage_in_tiles(stack, tmp_path):
    whole = run(stack, plain())
    assert whole.findings["edges"]["open"], "the scene has no occlusion to speak of"
    done = in_small_tiles(stack, plain(), tmp_path)
    as_whole({name: tifffile.imread(done.files[name]) for name in PRODUCTS}, whole)
    assert done.record["findings"] == whole.findings


@needs_engine
def test_the_second_look_in_tiles(tmp_path):
    stack = ghostly_scene((190, 267), n=6).stack
    whole = run(stack, plain(edges="off"))
    assert whole.findings["reblur"]["changes"], "the scene has no ghosts"
    done = in_small_tiles(stack, plain(edges="off"), tmp_path)
    as_whole({name: tifffile.imread(done.files[name]) for name in PRODUCTS}, whole)
    assert done.record["findings"] == whole.findings


@needs_engine
def test_outlines_in_tiles(tmp_path):
    stack = ghostly_scene((300, 280), n=8).stack
    whole = run(stack, plain())
    assert whole.findings["edges"]["outlined_pixels"] > 0, "no outline was drawn"
    assert whole.findings["edges"]["agreed_pixels"] > 0, "nobody stood alone"
    done = in_small_tiles(stack, plain(), tmp_path)
    as_whole({name: tifffile.imread(done.files[name]) for name in PRODUCTS}, whole)
    assert done.record["findings"] == whole.findings


@needs_engine
def test_regions_in_tiles(tmp_path, monkeypatch):
    monkeypatch.setattr(edges, "survey", lambda *_: edges.Closed("rendering is left out here"))
    stack = ghostly_scene((300, 280), n=8).stack
    whole = run(stack, plain())
    assert whole.findings["edges"]["regional_pixels"] > 0, "regions changed nothing"
    done = in_small_tiles(stack, plain(), tmp_path)
    as_whole({name: tifffile.imread(done.files[name]) for name in PRODUCTS}, whole)
    assert done.record["findings"] == whole.findings


@pytest.mark.slow
@needs_engine
@pytest.mark.parametrize("axis", [1, 2])
def test_the_edge_stage_in_tiles_that_do_not_see_all(axis, tmp_path):
    """Long enough that tiles with their surroundings are parts of the image."""
    some = [simulate(name, shape=(200, 340), n=6).frames for name in ("steps", "wire", "slants")]
    some = [frames if axis == 2 else frames.swapaxes(1, 2) for frames in some]
    stack = FocusStack.from_array(np.concatenate(some * 2, axis=axis))
    whole = run(stack, plain())
    assert whole.findings["edges"]["open"]
    done = in_small_tiles(stack, plain(), tmp_path)
    as_whole({name: tifffile.imread(done.files[name]) for name in PRODUCTS}, whole)
    assert done.record["findings"] == whole.findings


@needs_engine
def test_ome_zarr_is_valid_and_the_same(stack, whole, tmp_path):
    pytest.importorskip("zarr")
    models = pytest.importorskip("ome_zarr_models.v05.image")
    import zarr

    done = in_small_tiles(stack, plain(edges="off"), tmp_path, "zarr")
    for name in PRODUCTS:
        image = models.Image.from_zarr(zarr.open_group(done.files[name], mode="r"))
        (multiscale,) = image.ome_attributes.multiscales
        assert multiscale.name == name
        assert [axis.unit for axis in multiscale.axes if axis.type == "space"] == ["micrometer"] * 2
    saved = load_result(tmp_path)
    np.testing.assert_array_equal(saved.depth, whole.depth)
    np.testing.assert_array_equal(saved.confidence, whole.confidence)
    np.testing.assert_array_equal(saved.uncertainty, whole.uncertainty)
    np.testing.assert_array_equal(saved.fused, whole.fused)
    assert not list(tmp_path.glob(".*")), "nothing is left behind"


@needs_engine
def test_a_region_of_a_result(whole, written, capsys, tmp_path):
    folder = written.files["run"].parent
    part = load_result(folder, region=(20, 30, 100, 50))
    np.testing.assert_array_equal(part.depth, whole.depth[30:80, 20:120])
    np.testing.assert_array_equal(part.fused, whole.fused[30:80, 20:120])
    with pytest.raises(ParameterError, match="inside 267 × 190"):
        load_result(folder, region=(200, 0, 100, 50))
    region = ["--region", "20,30,100,50"]
    done = varfocus(capsys, "measure", folder, *region, "--json")
    assert json.loads(done.out)["pixels"] == 5000
    done = varfocus(capsys, "export", folder, *region, "-o", tmp_path / "part.npz")
    assert done.code == 0, done.err
    assert np.load(tmp_path / "part.npz")["depth"].shape == (50, 100)


@needs_engine
def test_maps_that_do_not_fit_say_what_to_do(written, monkeypatch):
    monkeypatch.setattr(budget, "available_bytes", lambda: 100_000)
    with pytest.raises(TooLargeError, match="--region"):
        load_result(written.files["run"].parent)


@needs_engine
def test_coarser_levels(written, monkeypatch, stack, tmp_path):
    monkeypatch.setattr("varfocus.export.tiled.COARSEST", 64)
    done = in_small_tiles(stack, plain(edges="off"), tmp_path)
    with tifffile.TiffFile(done.files["depth"]) as file:
        levels = [level.asarray() for level in file.series[0].levels]
    assert [level.shape for level in levels] == [(190, 267), (95, 134), (48, 67), (24, 34)]
    for fine, coarse in pairwise(levels):
        np.testing.assert_array_equal(coarse, halved(fine))


def test_a_coarser_level_knows_what_is_known():
    image = np.array([[1, np.nan, 5], [3, np.nan, np.nan], [np.nan, np.nan, 7]], np.float32)
    np.testing.assert_array_equal(halved(image), np.array([[2, 5], [np.nan, 7]], np.float32))
    numbers = np.arange(12, dtype=np.uint16).reshape(3, 4)
    np.testing.assert_array_equal(halved(numbers, numbers=True), [[0, 2], [8, 10]])


@pytest.fixture
def small_plans(monkeypatch):
    """Let a small image be too large for a small memory."""
    monkeypatch.setattr(plan, "_look", lambda *_: 0)  # it would be larger than these images
    monkeypatch.setattr(plan, "OVERHEAD", 0)
    monkeypatch.setattr(plan, "SIDES", (128,))
    monkeypatch.setattr(plan, "tile_bytes", lambda *_: ROOM)


@needs_engine
def test_the_command_line_chooses(capsys, stack, whole, tmp_path, small_plans):
    path = tmp_path / "stack.tif"
    frames = np.stack(list(stack))
    tifffile.imwrite(path, frames, tile=(64, 64), photometric="rgb", metadata=None)
    options = ["--edges", "off", "--align", "none", "--z-step", "2um", "--pixel-size", "0.5um"]
    command = ["depth", path, "-o", tmp_path / "out", *options]
    done = varfocus(capsys, *command, "--max-memory", "8MB")
    assert done.code == 0, done.err
    assert "in tiles of 128×128" in done.err
    np.testing.assert_array_equal(load_result(tmp_path / "out").depth, whole.depth)
    assert varfocus(capsys, *command, "--max-memory", "8MB").code == OutputExistsError.exit_code
    # Another format takes the place of all of it, and enough memory that of tiles.
    again = [*command, "--overwrite", "--quiet"]
    assert varfocus(capsys, *again, "--max-memory", "8MB", "--tiled-format", "zarr").code == 0
    assert (tmp_path / "out" / "depth.ome.zarr").is_dir()
    assert not (tmp_path / "out" / "fused.tif").exists()
    assert varfocus(capsys, *again).code == 0
    assert not list((tmp_path / "out").glob("*.zarr"))
    np.testing.assert_array_equal(load_result(tmp_path / "out").depth, whole.depth)


@needs_engine
def test_what_cannot_be_done_in_tiles(stack, small_plans, monkeypatch):
    tight = Resources(max_memory="8MB")
    assert plan.plan(stack, plain(), Resources(max_memory="2GB")).side is None
    with pytest.raises(TooLargeError, match="the minimisation sees the whole image at once"):
        plan.plan(stack, Params.from_keywords("paper", regulariser="tgv"), tight)
    with pytest.raises(TooLargeError, match="even in tiles"):
        plan.plan(stack, plain(), Resources(max_memory="1MB"))
    monkeypatch.setattr(plan, "ALIGNING_FRAMES", 1000)
    with pytest.raises(ParameterError, match="Align them before"):
        plan.plan(stack, Params.from_keywords("robust", align="affine"), tight)


@needs_engine
def test_frames_without_parts_are_unpacked(stack, whole, tmp_path):
    write_pictures(tmp_path, stack)
    frames = read_stack(tmp_path).with_focus(stack.focus, "um")
    done = in_small_tiles(frames, plain(edges="off"), tmp_path / "out")
    as_whole({name: tifffile.imread(done.files[name]) for name in PRODUCTS}, whole)


@needs_engine
@pytest.mark.parametrize("border", ["crop", "mask"])
def test_pictures_are_aligned_first(border, tmp_path):
    frames = simulate("steps", shape=(190, 267), n=6, seed=2, colour=False).frames
    frames[4:] = np.roll(frames[4:], 5, axis=2)
    stack = FocusStack.from_array(frames)
    params = Params.from_keywords("robust", edges="off", border=border)
    whole = run(stack, params)
    assert whole.alignment.model != "none"
    done = in_small_tiles(stack, params, tmp_path)
    as_whole({name: tifffile.imread(done.files[name]) for name in PRODUCTS}, whole)
    assert done.record["alignment"] == whole.record()["alignment"]


@needs_engine
def test_mosaics_are_taken_to_be_aligned(stack, tmp_path, monkeypatch):
    monkeypatch.setattr(plan, "LARGEST_PICTURE", 1000)
    done = in_small_tiles(stack, Params.from_keywords("robust", edges="off"), tmp_path)
    assert any("assumed to be aligned" in warning for warning in done.record["warnings"])
    assert done.record["alignment"]["model"] == "none"


@needs_engine
def test_an_interrupted_run_leaves_nothing(stack, tmp_path):
    class Stop(Exception):  # noqa: N818
        pass

    def listen(stage: str, done: int, total: int) -> None:
        if stage == "fusing" and done == 2:
            raise Stop

    for kind in ("tiff", "zarr"):
        with pytest.raises(Stop):
            in_small_tiles(stack, plain(edges="off"), tmp_path, kind, progress=listen)
        assert not list(tmp_path.iterdir())


OPTIONS = {
    "robust": [
        {"edges": "off"},
        {"edges": "off", "unknown": "nan", "smoothness": 2.0},
        {"edges": "off", "front": 3, "sharper": 2.0},
        {"edges": "off", "coordinate": "frames", "support": 2.0, "coarse_blur": 3.0},
        {"edges": "off", "measure": "wavelet"},
    ],
    "paper": [
        {},
        {"alpha": 0.0},
        {"normalisation": "absolute", "degree": 4},
        {"solver": "admm", "iterations": 20},
        {"solver": "penalty", "iterations": 20},
        {"solver": "forward-backward", "iterations": 5},
        {"regulariser": "weighted", "iterations": 10},
        {"regulariser": "huber", "iterations": 10},
        {"regulariser": "tgv", "iterations": 5},
        {"bregman": 2, "iterations": 10},
        {"start_window": 31, "start_blur": 9},
        {"measure": "tenengrad"},
    ],
    "classic": [
        {},
        {"window": 41, "median": 11},
        {"gauss_step": 1, "tv_weight": 0.5},
        {"measure": "ring-difference"},
        {"guided": 11, "window": 3, "median": 5},
        {"measure": "sum-modified-laplacian"},
    ],
}
"""Every method with each of its options that has a part of its own in the code."""


@pytest.fixture(scope="module")
def long_stack() -> FocusStack:
    """Long enough that tiles with their surroundings are parts of the image."""
    some = [
        simulate(name, shape=(70, 240), n=5, seed=3, colour=False).frames
        for name in ("steps", "slants")
    ]
    frames = np.concatenate([*some, some[0][:, :, ::-1]], axis=2)
    return FocusStack.from_array(frames, 0.5 * np.arange(5), "mm")


@needs_engine
@pytest.mark.parametrize(
    ("method", "options"),
    [(method, options) for method, every in OPTIONS.items() for options in every],
    ids=lambda value: value if isinstance(value, str) else ",".join(value) or "default",
)
def test_every_method_and_option_in_tiles(long_stack, method, options, tmp_path):
    params = Params.from_keywords(method, align="none", **options)
    planned = replace(plan.in_tiles(long_stack, params, 10**10), side=128, room=ROOM)
    whole, tiled = (
        run(long_stack, params),
        run(long_stack, params, planned=planned, folder=tmp_path),
    )
    for product in (*PRODUCTS, "index", "known"):
        ours, theirs = getattr(tiled, product), getattr(whole, product)
        assert (ours is None) == (theirs is None)
        if ours is not None:
            np.testing.assert_array_equal(ours, theirs, err_msg=product)
    told, expected = tiled.record(timed=False), whole.record(timed=False)
    mean = [record["confidence"].pop("mean") for record in (told, expected)]
    assert mean[0] == pytest.approx(mean[1], rel=1e-6)
    assert told == expected
    assert not list(tmp_path.iterdir()), "scratch files have no names"


@needs_engine
@pytest.mark.parametrize("kind", ["colour", "16 bit", "float", "mask", "crop", "inverted"])
def test_every_kind_of_frames_in_tiles(long_stack, kind, tmp_path):
    frames, options = np.stack(list(long_stack)), {}
    if kind == "colour":
        frames = np.stack([frames, frames[:, ::-1], frames[:, :, ::-1]], axis=-1)
    elif kind == "16 bit":
        frames = frames.astype(np.uint16) * 200
    elif kind == "float":  # so large that it is scaled, and largest where few tiles look
        frames = frames.astype(np.float32) * 1e6
        frames[2, 5, 700] = 1e9
    elif kind == "mask":
        mask = np.zeros(frames.shape[1:], np.uint8)
        mask[10:, 200:500] = 255
        Image.fromarray(mask).save(tmp_path / "mask.png")
        options["mask"] = str(tmp_path / "mask.png")
    elif kind == "crop":
        options["crop"] = "37,3,600,64"
    stack = replace(FocusStack.from_array(frames), inverted=kind == "inverted")
    params = plain(edges="off", **options)
    whole = run(stack, params)
    done = in_small_tiles(stack, params, tmp_path / "out")
    as_whole({name: tifffile.imread(done.files[name]) for name in PRODUCTS}, whole)
    assert done.record["confidence"]["sure"] == whole.record()["confidence"]["sure"]
    assert done.record["extent"] == whole.record()["extent"]
    assert ("mask" in done.files) == (kind == "mask")


@needs_engine
def test_the_report_on_tiles_shows_the_same_curves(stack, whole, written, tmp_path):
    page = written.files["report"].read_text(encoding="utf-8")
    assert "A sure pixel." in page
    whole.save(tmp_path)
    other = (tmp_path / "report.html").read_text(encoding="utf-8")
    curves = [re.search(r"<h2[^>]*>Contrast.*?</section>", text, re.S) for text in (page, other)]
    assert (curves[0] and curves[0].group()) == (curves[1] and curves[1].group())


@needs_engine
@pytest.mark.parametrize("kind", ["tiff", "zarr"])
@pytest.mark.parametrize("gps", [False, True])
def test_what_a_photograph_says_of_itself(kind, gps, tmp_path):
    if kind == "zarr":
        pytest.importorskip("zarr")
    exif, folder = Image.Exif(), tmp_path / "shots"
    exif[0x0110], exif[0x8298] = "Camera 9", "© A. Nonymous"
    exif.get_ifd(0x8769)[0x829A] = 0.125
    exif.get_ifd(0x8769)[0x9003] = "2026:01:02 03:04:05"
    exif.get_ifd(0x8825)[2] = (47.0, 59.0, 0.5)
    folder.mkdir()
    for k, frame in enumerate(simulate("cone", shape=(40, 50), n=5, colour=True).stack):
        Image.fromarray(frame).save(folder / f"{k}.png", exif=exif, icc_profile=PROFILE)
    stack, params = read_stack(folder), plain(edges="off")
    planned = replace(plan.in_tiles(stack, params, 10**10), side=128, room=ROOM)
    result = run(stack, params, planned=planned, folder=tmp_path)
    files = result.save(tmp_path / "out", tiled_format=kind, keep_gps=gps)
    if kind == "tiff":
        with Image.open(files["fused"]) as image:
            assert image.info["icc_profile"] == PROFILE
            found = image.getexif()
            found.get_ifd(0x8769), found.get_ifd(0x8825)  # read while the file is open
    else:
        import zarr

        told = zarr.open_group(files["fused"], mode="r").attrs["ome"]["multiscales"][0]["metadata"]
        assert b64decode(told["icc_profile"]) == PROFILE
        found = Image.Exif()
        found.load(b"Exif\0\0" + b64decode(told["exif"]))
    assert found[0x0110] == "Camera 9"
    assert found.get_ifd(0x8769)[0x829A] == 0.125
    assert found.get_ifd(0x8769)[0x9003] == "2026:01:02 03:04:05"
    assert dict(found.get_ifd(0x8825)) == ({2: (47.0, 59.0, 0.5)} if gps else {})


@needs_engine
def test_arrays_from_python_may_lie_on_disk(stack, whole, monkeypatch, tmp_path, small_plans):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    result = reconstruct(stack, max_memory="8MB", align="none", edges="off")
    assert result.plan.side == 128
    for product in PRODUCTS:
        np.testing.assert_array_equal(getattr(result, product), getattr(whole, product))
    assert not list(tmp_path.iterdir()), "scratch files have no names"


@needs_engine
def test_from_python_in_one_call(stack, whole, tmp_path, small_plans):
    options = {"align": "none", "edges": "off"}
    files = reconstruct_into(tmp_path / "tiles", stack, max_memory="8MB", **options)
    assert "tiles" in json.loads(files["run"].read_text())
    np.testing.assert_array_equal(tifffile.imread(files["depth"]), whole.depth)
    files = reconstruct_into(tmp_path / "whole", stack, **options)
    assert "tiles" not in json.loads(files["run"].read_text())


@needs_engine
def test_a_batch_books_all_that_tiles_may_take(stack, small_plans):
    job = Job((), plain(edges="off"))
    planned = job.plan(stack, Resources(max_memory="8MB"))
    assert (planned.params.method, planned.memory) == ("robust", 8_000_000)
    planned = job.plan(stack, Resources(max_memory="1TB"))
    assert (planned.params.method, planned.side) == ("robust", None)
    assert 8_000_000 < planned.memory < 10**12


@pytest.mark.parametrize("shape", [(64, 64), (1, 700), (333, 421), (640, 128)])
@pytest.mark.parametrize("reach", [0, 1, 100])
def test_tiles_cover_an_image_once(shape, reach):
    count = np.zeros(shape, int)
    for tile in tiles(shape, 128, reach):
        count[tile.inner] += 1
        for inner, outer, within, length in zip(*tile, tile.within, shape, strict=True):
            assert outer.start <= max(inner.start - reach, 0)
            assert outer.stop >= min(inner.stop + reach, length)
            assert within.start == inner.start - outer.start
            if reach:
                assert outer.start % GRID == 0
                assert (length - outer.stop) % GRID == 0
    assert (count == 1).all()


@pytest.mark.parametrize("share", [0, 30, 50, 99.5, 100])
def test_percentile_of_what_is_never_held(rng, share):
    values = np.maximum(rng.normal(size=(40, 501)) ** 3, 0).astype(np.float32)
    assert percentile(lambda: iter(values), share) == np.percentile(values[values > 0], share)
    assert percentile(lambda: iter(values * 0), share) == 0.0


def test_scratch_keeps_what_memory_lets_go(tmp_path):
    with Scratch(tmp_path) as scratch:
        array = scratch.empty((3, 1000), np.float32)
        array[:] = 7
        scratch.release()
        assert (array == 7).all()
        assert not list(tmp_path.iterdir())
