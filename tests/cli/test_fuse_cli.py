"""``varfocus fuse`` on real files: what goes in, what comes out, what is kept and what is not."""

import json

import numpy as np
import pytest
import tifffile
from PIL import Image, ImageCms

import varfocus as package
from command_line import files_below, read_png, varfocus, write_frames
from varfocus.export.saved import load_result
from varfocus.fuse import fuse
from varfocus.io.metadata import read_metadata
from varfocus.stack import FocusStack

MODEL, ARTIST, ORIENTATION, EXPOSURE, MAKER_NOTE = 0x0110, 0x013B, 0x0112, 0x829A, 0x927C
EXIF, GPS = 0x8769, 0x8825
FAST = ("--method", "classic", "-q")
PROFILE = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()


@pytest.fixture(scope="module")
def made():
    return package.simulate("slants", shape=(40, 50), n=7)


@pytest.fixture(scope="module")
def shots(made, tmp_path_factory):
    """Photographs with all that a camera writes, held sideways."""
    folder = tmp_path_factory.mktemp("shots")
    exif = Image.Exif()
    exif[MODEL], exif[ARTIST], exif[ORIENTATION] = "Camera 9", "A. Nonymous", 6
    exif[EXIF] = {EXPOSURE: 0.125, MAKER_NOTE: b"secret"}
    exif[GPS] = {1: "N", 2: (47.0, 59.0, 0.0)}
    for k, frame in enumerate(made.frames):
        image = Image.fromarray(frame)
        image.save(folder / f"{k}.jpg", quality=95, exif=exif, icc_profile=PROFILE)
    return folder


@pytest.mark.parametrize("suffix", ["png", "jpg", "tif"])
def test_exif_and_profile_are_kept_without_the_place(capsys, shots, tmp_path, suffix):
    out = tmp_path / "new" / f"fused.{suffix}"
    assert varfocus(capsys, "fuse", shots, "-o", out, *FAST).code == 0
    assert files_below(tmp_path) == {f"new/fused.{suffix}"}
    with Image.open(out) as image:
        assert image.size == (40, 50)  # upright
        assert image.info["icc_profile"] == PROFILE
        exif = image.getexif()
        assert ORIENTATION not in exif or exif[ORIENTATION] == 1
        assert not exif.get_ifd(GPS)
        assert (exif[MODEL], exif[ARTIST]) == ("Camera 9", "A. Nonymous")
        assert exif.get_ifd(EXIF) == {EXPOSURE: 0.125}
    assert b"secret" not in out.read_bytes()


@pytest.mark.parametrize("keep", [False, True])
def test_aligned_frames_keep_exif_and_profile(capsys, shots, tmp_path, keep):
    place = ["--keep-gps"] if keep else []
    done = varfocus(capsys, "align", shots, "-o", tmp_path, *place, "--align", "none", "-q")
    assert done.code == 0, done.err
    with Image.open(tmp_path / "3.png") as image:
        exif = image.getexif()
        assert image.info["icc_profile"] == PROFILE
        assert (exif[MODEL], exif[ARTIST]) == ("Camera 9", "A. Nonymous")
        assert exif.get_ifd(EXIF) == {EXPOSURE: 0.125}
        assert ORIENTATION not in exif  # the pixels are upright
        assert bool(exif.get_ifd(GPS)) is keep


def test_the_place_is_kept_when_asked_for(capsys, shots, tmp_path):
    for command, out in (("fuse", tmp_path / "fused.png"), ("depth", tmp_path / "out")):
        assert varfocus(capsys, command, shots, "-o", out, "--keep-gps", *FAST).code == 0
        with Image.open(out if out.suffix else out / "fused.png") as image:
            assert image.getexif().get_ifd(GPS)[2] == (47.0, 59.0, 0.0)


def test_frames_without_metadata_have_none(made, rng, tmp_path):
    grey = write_frames(tmp_path / "grey", rng.integers(0, 255, (3, 8, 9), np.uint8))
    for stack in (made.stack, package.read_stack(grey)):
        about = read_metadata(stack)
        assert (about.exif, about.icc) == (b"", b"")


@pytest.mark.parametrize(
    ("dtype", "suffix"), [("uint16", "png"), ("uint16", "tif"), ("float32", "tif")]
)
def test_the_bit_depth_is_kept(capsys, made, tmp_path, dtype, suffix):
    images = made.frames[..., 0].astype(dtype) * (257 if dtype == "uint16" else 1 / 255)
    frames = write_frames(tmp_path / "frames", images.astype(dtype))
    out, where = tmp_path / f"fused.{suffix}", tmp_path / "source.tif"
    said = varfocus(capsys, "fuse", frames, "-o", out, "--source-map", where, "--json", *FAST)
    assert said.code == 0
    assert json.loads(said.out) == {"fused": str(out), "source": str(where)}
    result = package.reconstruct(images.astype(dtype), "classic")
    found = read_png(out) if suffix == "png" else tifffile.imread(out)
    assert found.dtype == dtype
    np.testing.assert_array_equal(found, result.fused)
    np.testing.assert_array_equal(tifffile.imread(where), result.source)


@pytest.mark.parametrize("positions", [(), ("--z-step", "-2um")])
def test_the_depth_of_one_channel_fuses_another(capsys, made, tmp_path, positions):
    red, blue = (write_frames(tmp_path / str(c), made.frames[..., c]) for c in (0, 2))
    out = tmp_path / "out"
    assert varfocus(capsys, "depth", red, "-o", out, *FAST, *positions).code == 0
    fused = tmp_path / "blue.png"
    assert varfocus(capsys, "fuse", blue, "-o", fused, "--apply-depth", out, "-q").code == 0
    index = package.reconstruct(made.frames[..., 0], "classic").index
    np.testing.assert_allclose(load_result(out).index, index, atol=1e-4)
    expected = fuse(FocusStack.from_array(made.frames[..., 2]), index).image
    assert np.abs(read_png(fused).astype(int) - expected).max() <= 1


def test_a_depth_of_other_frames_is_refused(capsys, made, tmp_path):
    frames = write_frames(tmp_path / "frames", made.frames)
    few = write_frames(tmp_path / "few", made.frames[:5])
    assert varfocus(capsys, "depth", few, "-o", tmp_path / "out", *FAST).code == 0
    for depth, words in ((tmp_path / "out", "5 frames of 50×40"), (tmp_path, "run.json")):
        said = varfocus(capsys, "fuse", frames, "-o", tmp_path / "f.png", "--apply-depth", depth)
        assert said.code == 3
        assert words in said.err
        assert "expected" in said.err
        assert not (tmp_path / "f.png").exists()


def test_unknown_depth_is_that_of_the_nearest_pixel(made, tmp_path):
    package.reconstruct(made.frames, "classic").save(tmp_path)
    depth = tifffile.imread(tmp_path / "depth.tif")
    depth[:, 10:] = np.nan
    tifffile.imwrite(tmp_path / "depth.tif", depth)
    index = load_result(tmp_path).index
    np.testing.assert_array_equal(index[:, 10:], np.repeat(depth[:, 9:10], 40, axis=1))


@pytest.mark.parametrize(
    ("out", "words"),
    [
        ("fused.jpg", ".png, .tif"),
        ("fused.gif", "ends in"),
        ("frames/fused.png", "folder of the frames"),
    ],
)
def test_impossible_outputs_are_refused_before_any_work(capsys, rng, tmp_path, out, words):
    frames = write_frames(tmp_path / "frames", rng.integers(0, 65535, (3, 8, 9), np.uint16))
    before = files_below(tmp_path)
    said = varfocus(capsys, "fuse", frames, "-o", tmp_path / out)
    assert (said.code, words in said.err) == (2, True)
    assert files_below(tmp_path) == before


def test_nothing_is_overwritten_unasked(capsys, shots, tmp_path):
    out = tmp_path / "fused.png"
    out.write_bytes(b"mine")
    assert varfocus(capsys, "fuse", shots, "-o", out, *FAST).code == 2
    assert out.read_bytes() == b"mine"
    assert varfocus(capsys, "fuse", shots, "-o", out, "--overwrite", *FAST).code == 0
    both = ("--method", "classic", "--apply-depth", tmp_path)
    assert varfocus(capsys, "fuse", shots, "-o", tmp_path / "x.png", *both).code == 2
