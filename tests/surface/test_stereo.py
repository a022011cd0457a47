"""Two eyes: which way near things move, and what each eye sees."""

import numpy as np
import pytest
from PIL import Image

from command_line import read_png, varfocus, write_frames
from result_folders import saved_of
from varfocus.surface.stereo import anaglyph, stereo


def bump():
    """A bright square that stands out of a dark plane."""
    height = np.zeros((24, 80), np.float32)
    height[8:16, 36:44] = 1.0
    picture = np.full((24, 80, 3), 30, np.uint8)
    picture[8:16, 36:44] = 220
    return picture, height


def columns(view):
    return np.flatnonzero(view[12, :, 1] > 125)


def test_the_left_eye_sees_near_things_farther_right():
    picture, height = bump()
    pair = stereo(picture, height, swing=0.05, layout="parallel")
    left, right = np.split(pair, 2, axis=1)
    assert columns(left).mean() - columns(right).mean() == pytest.approx(2 * 0.05 * 80)
    crossed = stereo(picture, height, swing=0.05, layout="crossed")
    np.testing.assert_array_equal(crossed, np.concatenate([right, left], axis=1))


def test_flat_scenes_have_no_disparity(rng):
    picture = rng.integers(0, 256, (10, 40, 3), dtype=np.uint8)
    pair = stereo(picture, np.full((10, 40), 3.0, np.float32), swing=0.05, layout="parallel")
    left, right = np.split(pair, 2, axis=1)
    np.testing.assert_array_equal(left, right)


def test_each_eye_has_its_colours(rng):
    left, right = rng.integers(0, 256, (2, 5, 6, 3), dtype=np.uint8)
    mixed = anaglyph(left, right)
    np.testing.assert_array_equal(mixed[..., 1:], right[..., 1:])
    grey = np.asarray(Image.fromarray(left).convert("L"))
    assert np.abs(mixed[..., 0].astype(int) - grey).max() <= 1


@pytest.mark.parametrize("name", ["anaglyph.png", "pair.jpg"])
def test_from_a_result_to_a_picture(name, tmp_path, capsys):
    picture, height = bump()
    saved_of(tmp_path / "out", -height, fused=picture)
    layout = "anaglyph" if name.endswith("png") else "parallel"
    options = ("--swing", 0.05, "--stereo", layout)
    said = varfocus(capsys, "animate", tmp_path / "out", "-o", tmp_path / name, *options)
    assert said.code == 0, said.err
    seen = read_png(tmp_path / name)
    assert seen.shape == (24, 72 if layout == "anaglyph" else 144, 3)


def test_frames_have_no_depth_to_show(tmp_path, capsys, rng):
    shots = write_frames(tmp_path / "shots", rng.integers(0, 256, (3, 9, 9), dtype=np.uint8))
    said = varfocus(capsys, "animate", shots, "-o", tmp_path / "anaglyph.png")
    assert said.code == 3
    assert "varfocus depth" in said.err
