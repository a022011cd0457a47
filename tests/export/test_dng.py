"""Linear DNG from camera RAW frames, read back by programs that know nothing of varfocus."""

from __future__ import annotations

import shutil
import subprocess

import numpy as np
import pytest
import tifffile

from command_line import varfocus, write_pictures
from extra_samples import write_dng
from varfocus.export.dng import linear_dng
from varfocus.io.readers.raw import CameraColour, camera_colour
from varfocus.simulation import simulate

rawpy = pytest.importorskip("rawpy", reason="needs varfocus[raw]")

NEUTRAL = (0.5, 1.0, 0.625)
MATRIX = np.array([[0.8, -0.2, -0.05], [-0.4, 1.2, 0.2], [-0.1, 0.2, 0.6]])
COLOUR = CameraColour(MATRIX, np.array(NEUTRAL))


def undeveloped(path):
    """Return the numbers in a DNG as LibRaw reads them, and how the camera sees white."""
    with rawpy.imread(str(path)) as raw:
        return raw.raw_image.copy()[..., :3], np.array(raw.camera_whitebalance[:3])


def test_numbers_matrix_and_white_survive(tmp_path, rng):
    image = rng.integers(0, 65536, (40, 52, 3), dtype=np.uint16)
    (tmp_path / "a.dng").write_bytes(linear_dng(image, COLOUR))
    seen, white = undeveloped(tmp_path / "a.dng")
    np.testing.assert_array_equal(seen, image)
    np.testing.assert_allclose(white / white[1], 1 / np.array(NEUTRAL), rtol=1e-3)
    known = camera_colour(tmp_path / "a.dng")
    np.testing.assert_allclose(known.matrix, MATRIX, atol=1e-4)
    np.testing.assert_allclose(known.neutral, NEUTRAL, rtol=1e-3)


def test_a_converter_develops_grey_to_grey(tmp_path):
    """What the camera sees as neutral must come out without a tint, and in the right tone."""
    grey = np.broadcast_to(np.array(NEUTRAL) * 20000, (40, 52, 3)).astype(np.uint16)
    (tmp_path / "a.dng").write_bytes(linear_dng(grey, COLOUR))
    with rawpy.imread(str(tmp_path / "a.dng")) as raw:
        seen = raw.postprocess(
            use_camera_wb=True, gamma=(1, 1), no_auto_bright=True, output_bps=16,
            adjust_maximum_thr=0.0,
        )  # fmt: skip
    middle = seen[20, 26].astype(float)
    np.testing.assert_allclose(middle, middle[1], rtol=5e-3)


@pytest.fixture
def raws(tmp_path):
    """Frames of a simulated scene as Bayer mosaics of a camera with a tint."""
    frames = simulate("plane", shape=(64, 80), n=5, dtype="uint16", noise=0).frames
    folder = tmp_path / "raws"
    folder.mkdir()
    for k, frame in enumerate(frames):
        mosaic = frame.astype(float)
        mosaic[0::2, 0::2] *= NEUTRAL[0]
        mosaic[1::2, 1::2] *= NEUTRAL[2]
        write_dng(folder / f"{k}.dng", mosaic.astype(np.uint16), neutral=NEUTRAL)
    return folder, frames


def test_from_camera_files_to_one_that_opens_like_theirs(raws, tmp_path, capsys):
    folder, frames = raws
    said = varfocus(capsys, "fuse", folder, "-o", tmp_path / "out" / "fused.dng")
    assert said.code == 0, said.err
    seen, white = undeveloped(tmp_path / "out" / "fused.dng")
    assert seen.shape == (64, 80, 3)
    np.testing.assert_allclose(white / white[1], 1 / np.array(NEUTRAL), rtol=2e-3)
    # Linear, unbalanced: the camera's green is the scene, its red half of that.
    inner = np.s_[8:-8, 8:-8]
    sharp = frames.max(axis=0)[inner].mean()
    assert seen[inner][..., 1].mean() == pytest.approx(frames.mean(axis=0)[inner].mean(), rel=0.02)
    assert seen[inner][..., 0].mean() / seen[inner][..., 1].mean() == pytest.approx(0.5, rel=0.02)
    assert seen[inner][..., 1].max() <= sharp * 2
    # It is sharper everywhere than any one frame.
    detail = [np.abs(np.diff(f[inner].astype(float), axis=1)).mean() for f in frames]
    assert np.abs(np.diff(seen[inner][..., 1].astype(float), axis=1)).mean() > max(detail)


def test_other_pictures_make_no_dng(tmp_path, capsys, rng):
    shots = write_pictures(tmp_path / "in", rng.integers(0, 256, (3, 40, 40), dtype=np.uint8))
    said = varfocus(capsys, "fuse", shots, "-o", tmp_path / "out" / "fused.dng")
    assert said.code == 2
    assert "camera RAW" in said.err


def test_exposure_is_carried_over(tmp_path):
    from PIL import Image

    exif = Image.Exif()
    exif[271], exif[272] = "Maker", "Model 5"
    exif[0x8769] = {33434: 0.004, 34855: 400, 33437: 5.6}
    block = exif.tobytes().removeprefix(b"Exif\0\0")
    image = np.full((8, 9, 3), 5, np.uint16)
    (tmp_path / "a.dng").write_bytes(linear_dng(image, COLOUR, block))
    with tifffile.TiffFile(tmp_path / "a.dng") as tiff:
        tags = {tag.code: tag.value for tag in tiff.pages[0].tags}
    assert (tags[271], tags[272], tags[50708]) == ("Maker", "Model 5", "Maker Model 5")
    assert tags[33434] == (1, 250)
    assert tags[34855] == 400


@pytest.mark.parametrize("program", ["dcraw", "exiftool"])
def test_other_programs_read_it(program, tmp_path, rng):
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed")
    image = rng.integers(0, 65536, (40, 52, 3), dtype=np.uint16)
    path = tmp_path / "a.dng"
    path.write_bytes(linear_dng(image, COLOUR))
    if program == "exiftool":
        words = ["exiftool", "-validate", "-warning", "-a", "-s3", str(path)]
        said = subprocess.run(words, capture_output=True, text=True, check=True).stdout
        assert "Error" not in said
        kind = subprocess.run(
            ["exiftool", "-s3", "-PhotometricInterpretation", str(path)],
            capture_output=True, text=True, check=True,
        ).stdout  # fmt: skip
        assert kind.strip() == "Linear Raw"
        return
    words = ["dcraw", "-c", "-4", "-o", "0", "-r", "1", "1", "1", "1", "-t", "0", str(path)]
    ppm = subprocess.run(words, capture_output=True, check=True).stdout
    head, size, most, data = ppm.split(b"\n", 3)
    assert (head, most) == (b"P6", b"65535")
    seen = np.frombuffer(data, ">u2").reshape(*map(int, reversed(size.split())), 3)
    assert seen.shape == (40, 52, 3)
    # Scaled so that its white is 65535, which is that of ours.
    assert np.abs(seen.astype(int) - image).max() <= 2
