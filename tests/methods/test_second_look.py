"""The second look: no ghosts beside strong edges, and nothing changed where there are none."""

import numpy as np
import pytest
from scipy import ndimage

from ghosts import ghostly_scene
from varfocus import engine, reconstruct, simulate
from varfocus.canvas import InTiles, Whole
from varfocus.canvas.scratch import Scratch
from varfocus.methods.second_look import reduced, reduction, spread
from varfocus.simulation import Camera
from varfocus.stack import FocusStack
from varfocus.studies.metrics import jump_distance

needs_engine = pytest.mark.skipif(not engine.in_use(), reason="the array code takes too long")


@pytest.fixture(scope="module")
def ghostly():
    return ghostly_scene()


def error(result, truth):
    return float(np.sqrt(np.mean((result.index - truth) ** 2)))


def test_reduction_is_a_power_of_two_that_suffices():
    assert reduction((300, 400), 50) == 1
    assert reduction((300, 400), 129) == 2
    assert reduction((480, 640), 60) == 2
    assert reduction((4000, 5000), 60) == 16


def test_a_few_frames_are_spread_over_the_coordinate():
    assert spread(np.arange(12.0)) == list(range(12))
    some = spread(np.linspace(0.0, 1.0, 300) ** 2)
    assert some[0] == 0
    assert some[-1] == 299
    assert len(some) == 20
    steps = np.diff((np.array(some) / 299) ** 2)
    assert steps.max() < 1.3 * steps.min()


def test_reduced_frames_do_not_depend_on_tiles(rng, tmp_path):
    frames = rng.integers(0, 256, (4, 600, 530, 3), dtype=np.uint8)
    stack = FocusStack.from_array(frames)
    whole = reduced(stack, [0, 1, 3], 2, Whole(stack.shape))
    with Scratch(tmp_path) as scratch:
        tiled = reduced(stack, [0, 1, 3], 2, InTiles(stack.shape, 256, scratch))
    assert whole.shape == (300, 265)
    for k in range(3):
        np.testing.assert_array_equal(whole.read(k), tiled.read(k))


@needs_engine
@pytest.mark.parametrize("shape", ["cone", "cosine"])
def test_surfaces_without_ghosts_are_left_as_they_are(shape):
    frames = simulate(shape, shape=(80, 96), n=11, seed=4).frames
    second = reconstruct(frames, align="none")
    first = reconstruct(frames, align="none", reblur="off")
    assert first.findings["reblur"] is None
    assert second.findings["reblur"]["changes"] is False
    np.testing.assert_array_equal(first.index, second.index)
    np.testing.assert_array_equal(first.confidence, second.confidence)


@needs_engine
def test_ghosts_beside_strong_edges_are_recognised(ghostly):
    """The rims of the blurred card's texture pass the wall beside it, which shows nothing else."""
    truth = ghostly.truth_index
    beyond = jump_distance(truth, 1.0) > 5  # closer to the card, borders are another matter
    first, second = (
        reconstruct(ghostly.frames, align="none", edges="off", reblur=reblur)
        for reblur in ("off", "auto")
    )
    found = second.findings["reblur"]
    assert (found["rim"], found["changes"]) == ("hard", True)
    off = [np.abs(each.index - truth)[beyond] for each in (first, second)]
    assert np.sqrt(np.mean(off[1] ** 2)) < 0.6 * np.sqrt(np.mean(off[0] ** 2))
    assert np.mean(off[1] > 4) < 0.3 * np.mean(off[0] > 4)
    assert error(reconstruct(ghostly.frames, align="none"), truth) < 0.15  # borders and all


@needs_engine
def test_mirrored_frames_give_a_mirrored_depth(ghostly):
    plain = reconstruct(ghostly.frames, align="none", edges="off")
    turned = reconstruct(ghostly.frames[:, :, ::-1], align="none", edges="off")
    truth = ghostly.truth_index
    assert error(turned, truth[:, ::-1]) == pytest.approx(error(plain, truth), rel=0.1)


@needs_engine
def test_wires_in_front_of_a_texture_are_seen_through_a_round_aperture():
    """In most frames they are a veil over it, and its depth explains more of these than theirs."""
    camera = Camera(aperture="disc", grain=0.005)
    scene = simulate("wire", shape=(120, 150), n=11, seed=1, camera=camera, noise=0)
    truth, result = scene.truth_index, reconstruct(scene.frames, align="none")
    assert result.findings["reblur"]["changes"]
    wires = truth < ndimage.maximum_filter(truth, 15) - 2.0
    assert 0.05 < wires.mean() < 0.2
    assert np.mean(np.abs(result.index - truth)[wires] < 1.5) > 0.7
    assert error(result, truth) < 1.0
