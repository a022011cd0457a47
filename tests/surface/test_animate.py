"""Moving pictures: where points go, what hides what, and files that play."""

import sys

import av
import numpy as np
import pytest
from PIL import Image

from command_line import varfocus, write_frames
from result_folders import saved_of
from varfocus.export.movies import movie
from varfocus.stack import FocusStack
from varfocus.surface.animation import rocking, sweeping, tilted, unit_relief


@pytest.fixture
def picture(rng):
    return rng.integers(0, 256, (12, 60, 3), dtype=np.uint8)


@pytest.mark.parametrize("level", [-1.0, -0.5, 0.0, 0.5, 1.0])
@pytest.mark.parametrize("shift", [-6.0, 4.0])
def test_a_flat_relief_moves_as_one(picture, level, shift):
    relief = np.full(picture.shape[:2], level, np.float32)
    moved = tilted(picture, relief, shift)
    s = round(level * shift)
    np.testing.assert_array_equal(moved[:, 8:-8], np.roll(picture, s, axis=1)[:, 8:-8])


def test_no_shift_is_no_change(picture):
    assert tilted(picture, np.ones(picture.shape[:2], np.float32), 0.0) is picture


def test_a_slope_moves_by_fractions_of_a_pixel():
    """A ramp of brightness on a ramp of relief: x' = x − a h(x') in closed form."""
    x = np.arange(200, dtype=np.float32)
    relief = np.tile((x - 100) / 100, (3, 1)).astype(np.float32)
    picture = np.repeat(np.tile(x, (3, 1))[..., None], 3, axis=2).astype(np.uint8)
    a = 7.0
    seen = tilted(picture, relief, a)
    expected = (x + a) / (1 + a / 100)  # x = x' + a (x' − 100)/100
    np.testing.assert_allclose(seen[1, 20:180, 0], expected[20:180], atol=1.0)


@pytest.mark.parametrize("shift", [-5.0, 5.0])
def test_what_is_in_front_hides_what_is_behind(shift):
    relief = np.full((4, 60), -1.0, np.float32)
    relief[:, 25:35] = 1.0
    picture = np.zeros((4, 60, 3), np.uint8)
    picture[:, 25:35] = 200
    bright = tilted(picture, relief, shift)[1, :, 0] > 100
    # The front keeps its width and moves by the shift; what it uncovers is filled from behind.
    assert list(np.flatnonzero(bright)) == list(range(25 + round(shift), 35 + round(shift)))


def test_a_swing_loops_and_has_its_size(picture, rng):
    height = rng.normal(size=picture.shape[:2]).astype(np.float32)
    height[3, 4] = np.nan
    views = list(rocking(picture, height, frames=8, swing=0.05))
    assert len(views) == 8
    assert {view.shape for view in views} == {(12, 54, 3)}
    np.testing.assert_array_equal(views[0], picture[:, 3:-3])
    np.testing.assert_array_equal(views[4], picture[:, 3:-3])
    assert (views[2] != views[6]).any()


def test_relief_is_bounded_and_complete(rng):
    height = rng.normal(size=(30, 40)).astype(np.float32)
    height[5:10] = np.nan
    relief = unit_relief(height)
    assert np.isfinite(relief).all()
    assert (relief.min(), relief.max()) == (-1.0, 1.0)
    for dull in (np.full((3, 4), 2.0, np.float32), np.full((3, 4), np.nan, np.float32)):
        assert (unit_relief(dull) == 0).all()


def test_a_sweep_goes_there_and_back():
    frames = np.arange(5, dtype=np.uint8)[:, None, None] * np.ones((5, 6, 7), np.uint8)
    seen = [int(frame[0, 0]) for frame in sweeping(FocusStack.from_array(frames))]
    assert seen == [0, 1, 2, 3, 4, 3, 2, 1]


# Files


def played(path):
    """Return the duration in units of 100 ms, and the size; equal neighbours may be one frame."""
    if path.suffix == ".mp4":
        with av.open(str(path)) as container:
            frames = [frame.to_ndarray(format="rgb24") for frame in container.decode(video=0)]
        return len(frames), frames[0].shape[1::-1]
    with Image.open(path) as image:
        duration = 0.0
        for k in range(image.n_frames):
            image.seek(k)
            image.load()
            duration += image.info["duration"]
        return round(duration / 100), image.size


@pytest.mark.parametrize("suffix", [".mp4", ".webp", ".gif"])
def test_a_result_rocks(tmp_path, capsys, suffix):
    y, x = np.mgrid[:41, :61]
    saved_of(tmp_path / "r", np.hypot(x - 30, y - 20))
    path = tmp_path / f"a{suffix}"
    command = ("animate", tmp_path / "r", "-o", path, "--seconds", 1, "--rate", 10)
    said = varfocus(capsys, *command, "--size", 60)
    assert said.code == 0, said.err
    tenths, (width, height) = played(path)
    assert tenths == 10
    assert 50 <= width <= 60
    assert height == 40
    again = varfocus(capsys, *command)
    assert again.code == 2
    assert "--overwrite" in again.err


@pytest.mark.parametrize("shape", [(1, 1), (1, 2), (3, 3), (5, 1), (2, 300)])
@pytest.mark.parametrize("suffix", [".mp4", ".webp", ".gif"])
def test_a_picture_of_any_size_becomes_a_movie(shape, suffix, rng):
    frames = [(rng.random((*shape, 3)) * 255).astype(np.uint8) for _ in range(3)]
    assert len(movie(frames, suffix, 10.0)) > 50


def test_frames_sweep(tmp_path, capsys, rng):
    frames = rng.integers(0, 65536, (5, 30, 40), dtype=np.uint16)
    write_frames(tmp_path / "frames", frames)
    said = varfocus(capsys, "animate", tmp_path / "frames", "-o", tmp_path / "a.webp")
    assert said.code == 0, said.err
    assert "sweep" in said.out
    assert played(tmp_path / "a.webp") == (30, (40, 30))


def test_refusals(tmp_path, capsys, monkeypatch):
    saved_of(tmp_path / "r", np.zeros((9, 9)))
    said = varfocus(capsys, "animate", tmp_path / "r", "-o", tmp_path / "a.avi")
    assert said.code == 2
    assert ".webp" in said.err
    said = varfocus(capsys, "animate", tmp_path / "r", "-o", tmp_path / "a.gif", "--rate", 0)
    assert said.code == 2
    assert "rate" in said.err
    monkeypatch.setitem(sys.modules, "av", None)
    said = varfocus(capsys, "animate", tmp_path / "r", "-o", tmp_path / "a.mp4")
    assert said.code == 2
    assert "varfocus[video]" in said.err
