"""Results on disk: read back by other libraries, whole or not at all, never over anything."""

import hashlib
import json
from dataclasses import fields
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
import tifffile
from PIL import Image

import varfocus
from command_line import RESULTS, files_below, read_png
from result_folders import with_maps
from varfocus import export
from varfocus.app.downloads import offered
from varfocus.app.jobs.maps import about_maps
from varfocus.errors import OutputError, OutputExistsError, VarfocusWarning
from varfocus.export import atomic, figures, images
from varfocus.export.atomic import prepare_folder, write_atomically
from varfocus.export.figures import Panel, panels, preview
from varfocus.export.result_files import picture_suffix
from varfocus.params import (
    AlignParams,
    AreaParams,
    ClassicParams,
    FuseParams,
    Params,
    RetouchParams,
    SharpnessParams,
)
from varfocus.pipeline import run
from varfocus.stack import FocusStack

N = 15


@pytest.fixture(scope="module")
def frames():
    return varfocus.simulate("cone", shape=(24, 31), n=N, colour=True).frames


@pytest.fixture(scope="module")
def result(frames):
    return varfocus.reconstruct(
        frames, alpha=1 / 4, iterations=30, focus=np.linspace(9, 2, N), unit="mm"
    )


# What is written


def test_independent_readers_see_the_same_values(result, tmp_path):
    written = result.save(tmp_path / "deep" / "er")
    products = {"depth", "confidence", "fused", "source", "preview", "report", "run"}
    assert set(written) == products
    assert {path.name for path in written.values()} == RESULTS
    assert files_below(tmp_path / "deep" / "er") == RESULTS
    for name, image in (("depth", result.depth), ("confidence", result.confidence)):
        assert image.dtype == np.float32
        for reader in (tifffile.imread, read_png):
            found = reader(written[name])
            assert found.dtype == np.float32
            np.testing.assert_array_equal(found, image)
    np.testing.assert_array_equal(read_png(written["fused"]), result.fused)
    np.testing.assert_array_equal(tifffile.imread(written["source"]), result.source)
    with Image.open(written["preview"]) as picture:
        assert picture.format == "PNG"
        assert picture.width == 840


@pytest.mark.parametrize("channels", [(), (3,)])
@pytest.mark.parametrize(
    ("dtype", "suffix"), [(np.uint8, ".png"), (np.uint16, ".png"), (np.float32, ".tif")]
)
def test_fused_pictures_keep_every_bit(rng, dtype, suffix, channels, tmp_path):
    shape = (7, 9, *channels)
    if dtype == np.float32:
        image = rng.normal(size=shape).astype(np.float32)
    else:
        image = rng.integers(0, np.iinfo(dtype).max, shape, dtype=dtype, endpoint=True)
    found, content = images.picture(image)
    assert found == suffix == picture_suffix(np.dtype(dtype))
    path = tmp_path / f"a{suffix}"
    path.write_bytes(content)
    if suffix == ".tif":
        back = tifffile.imread(path)
    elif dtype == np.uint16 and channels:  # Pillow halves the bits
        back = varfocus.io.read_stack([path] * 3).read(0)
    else:
        back = read_png(path)
    assert back.dtype == dtype
    np.testing.assert_array_equal(back, image)


def test_unknown_depth_stays_unknown(result, tmp_path):
    depth = result.depth.copy()
    depth[3, 4] = np.nan
    written = with_maps(result, depth=depth).save(tmp_path)
    np.testing.assert_array_equal(tifffile.imread(written["depth"]), depth)
    record = json.loads(written["run"].read_text())
    assert record["depth"]["unknown_pixels"] == 1
    assert record["depth"]["minimum"] == pytest.approx(np.nanmin(depth))
    nothing = with_maps(result, depth=np.full_like(depth, np.nan)).save(tmp_path, overwrite=True)
    assert json.loads(nothing["run"].read_text())["depth"]["minimum"] is None


@pytest.mark.parametrize("unit", ["mm", "frames", "µm"])
def test_fiji_finds_the_values_and_their_unit(unit):
    image = np.linspace(0, 1, 12, dtype=np.float32).reshape(3, 4)
    with tifffile.TiffFile(BytesIO(images.float_tiff(image, unit, "depth"))) as tif:
        assert tif.is_imagej
        np.testing.assert_array_equal(tif.asarray(), image)
        info = tif.imagej_metadata["Info"]
    assert info == f"varfocus depth; pixel values in {unit}; NaN = unknown"


def test_run_record(result, tmp_path):
    written = result.save(tmp_path, command="varfocus depth …")
    record = json.loads(written["run"].read_text(encoding="utf-8"))
    assert record["varfocus"] == varfocus.__version__
    assert record["command"] == "varfocus depth …"
    assert Params.from_keywords(**record["parameters"]) == result.params
    assert record["parameters"]["alpha"] == 1 / 4
    assert record["depth"]["unit"] == "mm"
    assert record["depth"]["direction"].startswith("grows from the last frame")
    assert record["depth"]["minimum"] == float(result.depth.min())
    assert record["depth"]["maximum"] == float(result.depth.max())
    assert record["depth"]["unknown_pixels"] == 0
    assert record["confidence"]["mean"] == pytest.approx(result.confidence.mean())
    assert record["solver"]["iterations"] == 30
    assert record["solver"]["final_energy"] == result.trace.energy[-1]
    assert record["warnings"] == []
    about = record["input"]
    assert (about["width"], about["height"], about["channels"]) == (31, 24, 3)
    assert about["dtype"] == "uint8"
    assert about["focus"] == np.linspace(9, 2, N).tolist()
    assert about["frames"] == [f"frame {k}" for k in range(N)]
    assert about["files"] == []


def test_run_record_of_a_classical_run_with_defaults(frames, tmp_path):
    result = varfocus.reconstruct(frames, "classic", window=5)
    record = json.loads(result.save(tmp_path)["run"].read_text())
    assert record["solver"] is None
    assert record["depth"]["unit"] == "frames"
    assert record["depth"]["direction"].startswith("grows from the first frame")
    assert Params.from_keywords(**record["parameters"]) == result.params
    stages = (ClassicParams, AlignParams, FuseParams, AreaParams, SharpnessParams, RetouchParams)
    names = {f.name for stage in stages for f in fields(stage)}
    assert set(record["parameters"]) == {"method"} | names


def test_run_record_names_and_hashes_the_files(frames, tmp_path):
    paths = []
    for k, frame in enumerate(frames[:9]):
        paths.append(tmp_path / f"shot{k}.png")
        Image.fromarray(frame).save(paths[-1])
    with pytest.warns(VarfocusWarning):
        result = varfocus.reconstruct(varfocus.read_stack(tmp_path), iterations=3)
    record = json.loads(result.save(tmp_path / "out")["run"].read_text())
    assert record["input"]["frames"] == [path.name for path in paths]
    assert record["input"]["files"] == [
        {"path": str(path), "sha256": hashlib.sha256(path.read_bytes()).hexdigest()}
        for path in paths
    ]
    assert record["warnings"] == list(result.warnings)
    assert "degree 5, not 8" in record["warnings"][0]
    assert record["parameters"]["degree"] == 5


def test_a_multi_page_file_is_hashed_once(frames, tmp_path):
    path = tmp_path / "stack.tif"
    tifffile.imwrite(path, frames, photometric="rgb")
    record = varfocus.reconstruct(varfocus.read_stack(path), "classic").record()
    assert [entry["path"] for entry in record["input"]["files"]] == [str(path)]
    assert record["input"]["frames"][3] == "stack.tif[3]"


def test_a_file_that_has_gone_is_no_reason_to_fail(frames, tmp_path):
    path = tmp_path / "stack.tif"
    tifffile.imwrite(path, frames, photometric="rgb")
    result = varfocus.reconstruct(varfocus.read_stack(path), "classic")
    path.unlink()
    assert result.record()["input"]["files"][0]["sha256"] is None


def test_the_standard_error_is_written_where_it_is_known(result, tmp_path):
    error = np.linspace(0, 1, result.depth.size, dtype=np.float32).reshape(result.depth.shape)
    written = with_maps(result, uncertainty=error).save(tmp_path)
    np.testing.assert_array_equal(tifffile.imread(written["uncertainty"]), error)
    result.save(tmp_path, overwrite=True)  # a method that does not know it
    assert not (tmp_path / "uncertainty.tif").exists()


# All or nothing


def test_the_record_is_written_last(result, tmp_path, monkeypatch):
    order = []

    def spy(path, content):
        order.append(path.name)
        write_atomically(path, content)

    monkeypatch.setattr(export, "write_atomically", spy)
    result.save(tmp_path)
    assert set(order) == RESULTS
    assert order[-1] == "run.json"


def test_without_a_preview_the_folder_does_not_look_complete(result, tmp_path, monkeypatch):
    def fail(path, content):
        if path.name == "preview.png":
            raise OutputError("disk full")
        write_atomically(path, content)

    monkeypatch.setattr(export, "write_atomically", fail)
    with pytest.raises(OutputError, match="disk full"):
        result.save(tmp_path)
    assert files_below(tmp_path) == RESULTS - {"preview.png", "report.html", "run.json"}


def test_a_failed_overwrite_does_not_look_complete_either(result, tmp_path, monkeypatch):
    result.save(tmp_path)
    monkeypatch.setattr(figures, "preview", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        result.save(tmp_path, overwrite=True)
    assert "run.json" not in files_below(tmp_path)
    assert files_below(tmp_path) <= RESULTS


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
@pytest.mark.parametrize("moment", [(atomic.os, "fsync"), (atomic.Path, "replace")])
def test_an_interrupted_write_leaves_nothing(tmp_path, monkeypatch, error, moment):
    path = tmp_path / "a.bin"
    path.write_bytes(b"old")

    def interrupt(*_):
        raise error

    monkeypatch.setattr(*moment, interrupt)
    with pytest.raises(error):
        write_atomically(path, b"new")
    assert files_below(tmp_path) == {"a.bin"}
    assert path.read_bytes() == b"old"


def test_a_refused_write_is_one_of_our_errors(tmp_path, monkeypatch):
    def refuse(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(atomic.os, "fsync", refuse)
    with pytest.raises(OutputError, match=r"a\.bin cannot be written: No space left on device"):
        write_atomically(tmp_path / "a.bin", b"new")
    assert files_below(tmp_path) == set()


def test_written_files_obey_the_umask(tmp_path):
    (tmp_path / "plain").touch()
    write_atomically(tmp_path / "ours", b"x")
    assert (tmp_path / "ours").stat().st_mode == (tmp_path / "plain").stat().st_mode


# Nothing is overwritten unasked


@pytest.mark.parametrize("taken", sorted(RESULTS))
def test_any_file_in_the_way_is_respected(result, tmp_path, taken):
    (tmp_path / taken).write_text("mine")
    with pytest.raises(OutputExistsError, match=f"holds {taken} already") as caught:
        result.save(tmp_path)
    assert "--overwrite" in caught.value.remedy
    assert files_below(tmp_path) == {taken}
    assert (tmp_path / taken).read_text() == "mine"


def test_overwriting_when_asked(result, tmp_path):
    (tmp_path / "mine.txt").write_text("mine")
    result.save(tmp_path)
    first = (tmp_path / "depth.tif").read_bytes()
    with_maps(result, depth=result.depth + 1).save(tmp_path, overwrite=True)
    assert (tmp_path / "depth.tif").read_bytes() != first
    np.testing.assert_array_equal(tifffile.imread(tmp_path / "depth.tif"), result.depth + 1)
    assert files_below(tmp_path) == RESULTS | {"mine.txt"}


def test_a_dangling_link_is_in_the_way_too(tmp_path):
    (tmp_path / "depth.tif").symlink_to(tmp_path / "nowhere")
    with pytest.raises(OutputExistsError):
        prepare_folder(tmp_path, ["depth.tif"], overwrite=False)


@pytest.mark.parametrize("place", ["file/below", "file"])
def test_folders_that_cannot_be_written(result, tmp_path, place):
    """A path below a regular file: even root cannot write there."""
    (tmp_path / "file").write_text("mine")
    with pytest.raises(OutputError, match="cannot be written") as caught:
        result.save(tmp_path / place)
    assert caught.value.expected == "expected a folder with write permission"
    assert files_below(tmp_path) == {"file"}


def test_prepare_folder_leaves_nothing_but_the_folder(tmp_path):
    prepare_folder(tmp_path / "a" / "b", ["x"], overwrite=False)
    assert (tmp_path / "a" / "b").is_dir()
    assert files_below(tmp_path) == set()


# Pictures for people


def opened(png, tmp_path):
    path = tmp_path / "picture.png"
    path.write_bytes(png)
    with Image.open(path) as image:
        return np.asarray(image.convert("RGB")).astype(int)


def test_the_preview_shows_the_depth_and_leaves_the_unknown_blank(tmp_path):
    depth = np.zeros((40, 60), np.float32)
    depth[:, 30:] = 1.0
    full = opened(preview(depth, "mm"), tmp_path)
    yellow, purple = (253, 231, 37), (68, 1, 84)  # the ends of viridis
    coverage = [(np.abs(full - c).max(axis=-1) < 3).mean() for c in (yellow, purple)]
    assert min(coverage) > 0.15
    depth[:, 30:] = np.nan
    half = opened(preview(depth, "mm"), tmp_path)
    white = [(picture == 255).all(axis=-1).mean() for picture in (full, half)]
    assert white[1] > white[0] + 0.2


@pytest.mark.parametrize("value", [np.nan, 3.0])
def test_previews_of_dull_depth(value, tmp_path):
    picture = opened(preview(np.full((10, 12), value, np.float32), "frames"), tmp_path)
    assert picture.shape[2] == 3


def test_panels_take_depth_and_photographs_of_any_type(rng, tmp_path):
    entries = [
        Panel("depth", rng.random((10, 12), dtype=np.float32)),
        Panel("grey", rng.integers(0, 256, (10, 12), dtype=np.uint8), photo=True),
        Panel("colour", rng.integers(0, 65536, (10, 12, 3), dtype=np.uint16)),
        Panel("float", 100 * rng.normal(size=(10, 12, 3)).astype(np.float32)),
        Panel("black", np.full((10, 12), -5, np.float32), photo=True),
    ]
    picture = opened(panels(entries, "mm", columns=2, width=6), tmp_path)
    assert picture.shape[1] == 720


def test_uncertainty_is_written_by_methods_that_know_it(result, tmp_path):
    known = np.linspace(0.1, 0.4, result.depth.size, dtype=np.float32).reshape(result.depth.shape)
    written = with_maps(result, uncertainty=known).save(tmp_path)
    np.testing.assert_array_equal(tifffile.imread(written["uncertainty"]), known)
    result.save(tmp_path, overwrite=True)
    assert files_below(tmp_path) == RESULTS  # that of the earlier run would not belong to this one


def test_every_file_of_a_result_is_explained():
    """Whoever lists the files of a result reads one table, or says the same."""
    names = export.file_names(np.dtype(np.uint8))
    assert list(names) == list(export.RESULT_FILES)
    texts = {
        "README.md": (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8"),
        "Result.save": varfocus.Result.save.__doc__,
    }
    for place, text in texts.items():
        assert [name for name in names.values() if name not in text] == [], place
    said = {entry["name"]: entry["about"] for entry in offered()}
    for product, name in names.items():
        assert said[name] == export.RESULT_FILES[product]


@pytest.mark.parametrize("half", [np.s_[:], np.s_[:, :15]])
def test_sure_means_the_same_everywhere(frames, tmp_path, half):
    counts = np.zeros(frames.shape[1:3], bool)
    counts[half] = True
    result = run(FocusStack.from_array(frames), Params("classic"), counts=counts)
    expected = float((result.confidence[half] >= 0.9).mean())
    written = result.write(tmp_path)
    assert written.record["confidence"]["sure"] == pytest.approx(expected)
    assert f"<dd>{expected:.0%} " in written.files["report"].read_text(encoding="utf-8")
    maps = {"depth": result.depth, "confidence": result.confidence}
    shown = about_maps(maps, "frames", result.params.as_keywords(), result.extent)
    assert shown["sure"] == pytest.approx(expected)
