"""Subjects that move: defocus is never taken for motion, and a subject is shown once."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import ndimage

from command_line import files_below, read_png, varfocus, write_pictures
from varfocus.fuse.motion import moving
from varfocus.pipeline import reconstruct
from varfocus.simulation import simulate
from varfocus.stack import FocusStack

RADIUS = 20
SHAPE = (120, 270)
MIDDLES = [30 + 52 * k for k in range(5)]


@pytest.fixture(scope="module")
def still():
    return simulate("plane", shape=SHAPE, n=5, noise=0.01)


@pytest.fixture(scope="module")
def walking(still):
    """A patterned disc that is somewhere else in every frame, sharp in the middle one."""
    frames = still.frames.copy()
    y, x = np.mgrid[: SHAPE[0], : SHAPE[1]]
    for k, centre in enumerate(MIDDLES):
        disc = (y - 60) ** 2 + (x - centre) ** 2 <= RADIUS**2
        pattern = np.where((x // 2 + y // 2) % 2, 255.0, 200.0)
        pattern = ndimage.gaussian_filter(pattern, 0.6 * abs(k - 2)) if k != 2 else pattern
        frames[k][disc] = pattern[disc]
    return frames


@pytest.mark.parametrize("name", ["plane", "discs", "wire"])
def test_defocus_is_not_motion(name):
    scene = simulate(name, shape=(120, 160), n=9)
    result = reconstruct(scene.frames, moving="one-frame", align="none")
    assert result.moving.mean() < 0.01


def test_what_moves_is_found(walking, still):
    result = reconstruct(walking, moving="one-frame", align="none")
    y, x = np.mgrid[: SHAPE[0], : SHAPE[1]]
    inner = [(y - 60) ** 2 + (x - c) ** 2 <= (RADIUS // 2) ** 2 for c in MIDDLES]
    assert [bool(result.moving[disc].mean() > 0.9) for disc in inner] == [True] * 5
    away = np.abs(y - 60) > RADIUS + 16
    assert not result.moving[away].any()


def discs_in(picture):
    bright = ndimage.uniform_filter(picture.astype(float), 7) > 212
    return ndimage.label(ndimage.binary_dilation(bright, iterations=2))[1]


def test_a_subject_is_shown_once(walking, still):
    assert discs_in(still.sharp * 255) == 0
    blended = reconstruct(walking, align="none")
    single = reconstruct(walking, align="none", moving="one-frame")
    assert discs_in(blended.fused) > 1
    assert discs_in(single.fused) == 1
    assert len(np.unique(single.source[single.moving])) == 1
    away = ~single.moving
    np.testing.assert_array_equal(single.fused[away], blended.fused[away])
    assert blended.moving is None


def test_frames_that_are_all_alike_do_not_move(rng):
    stack = FocusStack.from_array(np.repeat(rng.integers(0, 256, (1, 40, 50), np.uint8), 4, 0))
    assert not moving(stack, stack.read(0), np.zeros((40, 50), np.float32), 1.0).any()


def test_it_is_marked_in_a_file(walking, tmp_path, capsys):
    shots = write_pictures(tmp_path / "shots", walking)
    said = varfocus(
        capsys, "depth", shots, "-o", tmp_path / "out", "--moving", "one-frame", "--align", "none",
        "--no-report",
    )  # fmt: skip
    assert said.code == 0, said.err
    assert "moving.png" in said.out
    mask = read_png(tmp_path / "out" / "moving.png")
    assert set(np.unique(mask)) == {0, 255}
    said = varfocus(capsys, "depth", shots, "-o", tmp_path / "out", "--no-report", "--overwrite")
    assert said.code == 0, said.err
    assert "moving.png" not in files_below(tmp_path / "out")
