"""Faults of the sensor: what is found, what is left alone, and how it is mended."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image
from scipy import ndimage

from command_line import read_png, varfocus, write_pictures
from varfocus.clean import (
    Sensor,
    dark_outliers,
    fixed_outliers,
    levelled,
    relative_flat,
    repaired,
)
from varfocus.errors import ParameterError
from varfocus.simulation import simulate
from varfocus.stack import FocusStack


def unit(frames):
    return (frame.astype(np.float32) / 255 for frame in frames)


@pytest.fixture(scope="module")
def scene():
    return simulate("cone", shape=(120, 140), n=9).frames


@pytest.fixture
def places(rng):
    """Forty pixels, none near another."""
    y, x = np.mgrid[6:114:15, 6:134:26]
    return y.ravel()[:40], x.ravel()[:40]


def with_hot_pixels(frames, places, value):
    broken = frames.copy()
    broken[:, places[0], places[1]] = value
    return broken


def test_hot_and_dead_pixels_are_found_and_nothing_else(scene, places):
    assert not fixed_outliers(unit(scene)).any()
    for value in (255, 0):
        level = scene[:, places[0], places[1]].astype(float)
        clear = (np.abs(level - value) > 90).all(axis=0)  # not those in areas as bright or dark
        found = fixed_outliers(unit(with_hot_pixels(scene, places, value)))
        assert found[places[0][clear], places[1][clear]].all()
        wanted = np.zeros_like(found)
        wanted[places] = True
        assert not (found & ~ndimage.binary_dilation(wanted, np.ones((3, 3)))).any()


def test_a_hot_pixel_that_the_camera_has_spread_is_found_as_a_whole(scene):
    broken = scene.astype(float)
    blob = np.array([[0.25, 0.5, 0.25], [0.5, 1.0, 0.5], [0.25, 0.5, 0.25]]) * 120
    broken[:, 39:42, 69:72] += blob
    found = fixed_outliers(unit(np.clip(broken, 0, 255)))
    assert found[39:42, 69:72].sum() >= 5
    assert found.sum() == found[39:42, 69:72].sum()


def test_a_bright_point_of_the_scene_is_left_alone(scene):
    """In focus in one frame, it is spread in the others as everything is."""
    point = np.zeros((120, 140))
    point[60, 70] = 120.0
    frames = scene.astype(float)
    for k in range(len(frames)):
        frames[k] += ndimage.gaussian_filter(point, 0.7 * abs(k - 4)) if k != 4 else point
    assert not fixed_outliers(unit(np.clip(frames, 0, 255))).any()


def test_detail_that_all_frames_show_is_left_alone(rng):
    """A stack without any defocus: nothing tells a speck from a defect, so neither is touched."""
    still = rng.integers(40, 215, (80, 90)).astype(np.uint8)
    assert fixed_outliers(unit(np.repeat(still[None], 5, axis=0))).mean() < 1e-3


def test_a_dark_frame_shows_hot_pixels(rng):
    dark = np.abs(rng.normal(0.01, 0.002, (50, 60))).astype(np.float32)
    dark[20, 30] = dark[5, 6] = 0.4
    found = dark_outliers(dark)
    assert set(zip(*np.nonzero(found), strict=True)) == {(20, 30), (5, 6)}


def test_a_dark_frame_must_be_dark(rng):
    """Otherwise a great part of the pixels would be mended, one by one."""
    stars = (rng.random((50, 60)) < 0.03).astype(np.float32)
    with pytest.raises(ParameterError, match="stand out"):
        dark_outliers(stars)


def test_only_defects_change_and_become_means_of_their_neighbours(rng):
    pixels = rng.integers(0, 256, (20, 30, 3), dtype=np.uint8)
    defects = np.zeros((20, 30), bool)
    defects[7, 8] = defects[0, 0] = True
    fixed = repaired(pixels, defects)
    np.testing.assert_array_equal(fixed[~defects], pixels[~defects])
    around = pixels[6:9, 7:10].reshape(9, 3)[[0, 1, 2, 3, 5, 6, 7, 8]]
    np.testing.assert_array_equal(fixed[7, 8], np.rint(around.mean(axis=0)))
    everything = repaired(pixels, np.ones((20, 30), bool))  # nothing good to take
    np.testing.assert_array_equal(everything, pixels)


@pytest.mark.parametrize("gamma", [1.0, 1 / 2.2])
def test_a_flat_field_removes_dust(gamma, rng):
    sharp = rng.uniform(0.2, 0.9, (40, 50))
    shadow = np.ones((40, 50))
    shadow[10:16, 20:27] = 0.8
    seen = np.rint(65535 * (sharp * shadow) ** gamma).astype(np.uint16)
    flat = ((0.7 * shadow) ** gamma).astype(np.float32)
    mended = levelled(seen, relative_flat(flat))
    np.testing.assert_allclose(mended, 65535 * sharp**gamma, atol=3)


def test_a_flat_field_must_be_one():
    with pytest.raises(ParameterError, match="even, bright"):
        relative_flat(np.zeros((5, 6), np.float32))


def test_frames_are_mended_when_they_are_read(scene, places):
    stack = FocusStack.from_array(with_hot_pixels(scene, places, 255))
    clean = Sensor(stack, find=True).cleaned()
    assert (clean.names, clean.shape, clean.dtype) == (stack.names, stack.shape, stack.dtype)
    before, after, truth = (s.astype(int)[:, places[0], places[1]] for s in
                            (np.stack(list(stack)), np.stack(list(clean)), scene))  # fmt: skip
    assert np.abs(after - truth).mean() < 0.2 * np.abs(before - truth).mean()


def test_on_the_command_line(scene, places, tmp_path, capsys):
    write_pictures(tmp_path / "good", scene)
    shots = write_pictures(tmp_path / "shots", with_hot_pixels(scene, places, 255))
    dark = np.full(scene.shape[1:], 3, np.uint8)
    dark[places] = 250
    Image.fromarray(dark).save(tmp_path / "dark.png")
    Image.fromarray(np.full_like(dark, 200)).save(tmp_path / "flat.png")
    options = {
        "good": [],
        "bad": [],
        "found": ["--hot-pixels", "remove"],
        "told": ["--dark", tmp_path / "dark.png", "--flat", tmp_path / "flat.png"],
    }
    pictures = {}
    for name, words in options.items():
        source = tmp_path / "good" if name == "good" else shots
        output = tmp_path / "out" / f"{name}.png"
        said = varfocus(capsys, "fuse", source, "-o", output, "--method", "classic", *words)
        assert said.code == 0, said.err
        pictures[name] = read_png(output).astype(int)
    error = {
        name: np.abs(seen - pictures["good"])[places].mean() for name, seen in pictures.items()
    }
    assert error["found"] < 0.25 * error["bad"]
    assert error["told"] < 0.25 * error["bad"]


def test_references_must_fit_the_frames(scene, tmp_path, capsys):
    shots = write_pictures(tmp_path / "shots", scene)
    Image.fromarray(np.zeros((5, 6), np.uint8)).save(tmp_path / "dark.png")
    said = varfocus(
        capsys, "fuse", shots, "-o", tmp_path / "out" / "x.png", "--dark", tmp_path / "dark.png"
    )
    assert said.code == 3
    assert "same camera" in said.err
