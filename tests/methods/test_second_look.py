"""The second look: no ghosts beside strong edges, and nothing changed where there are none."""

import numpy as np
import pytest
from scipy import ndimage

from ghosts import ghostly_scene
from varfocus import engine, reconstruct, simulate
from varfocus.canvas import InTiles, Whole
from varfocus.canvas.scratch import Scratch
from varfocus.methods.robust import prepare
from varfocus.methods.second_look import place_in, reduced, reduction, spread, trusted
from varfocus.params import Params
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
def test_ghosts_beside_strong_edges_are_recognised():
    """The rims of the blurred card's texture pass the wall beside it, which shows nothing else."""
    ghostly = ghostly_scene((160, 224), n=9)
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
    whole = reconstruct(ghostly.frames, align="none")
    assert np.sqrt(np.mean((whole.index - truth)[beyond] ** 2)) < 0.25
    assert np.mean(np.abs(whole.index - truth)[beyond] > 4) < 0.1 * np.mean(off[0] > 4)


def test_depths_are_trusted_as_they_explain_or_half_as_they_are_likely():
    G = np.full((3, 1, 5), 9.0, np.float32)
    G[1] = 1.0  # usual: the second label explains everything
    G[:, 0, 4] = 8.0, 7.0, 30.0  # nothing explains this pixel, the second label least badly
    for label, all_but_one, last in ((1, 1.0, 0.5), (0, np.exp(-8.0), 0.5 * np.exp(-2.0))):
        trust = trusted(G, np.full((1, 5), label), 1)[0]
        np.testing.assert_allclose(trust[:4], all_but_one, rtol=1e-5)
        # Half its likelihood, or how well it explains if that is more: exp(-(G - 1)) here.
        np.testing.assert_allclose(trust[4], last, rtol=1e-5)
    assert trusted(G, np.full((1, 5), 2), 1)[0, 4] < 1e-9
    # One pixel of frames reduced to a quarter says less of each of sixteen.
    quarter = trusted(G, np.full((1, 5), 0), 4)[0]
    np.testing.assert_allclose(quarter, [*4 * [np.exp(-2.0)], 0.5 * np.exp(-0.5)], rtol=1e-5)


@needs_engine
@pytest.mark.parametrize("n", [9, 41])
def test_depth_may_move_by_frames_of_the_look(n):
    """Of 41 frames the look sees 20: it knows no depth to one and a half of all."""
    stack = FocusStack.from_array(ghostly_scene((120, 160), n=n).frames)
    look = prepare(stack, Params.from_keywords("robust")).look
    assert look is not None
    assert look.changes
    seen = min(n, 20)
    narrowest = float((look.high - look.low).min())
    assert narrowest == pytest.approx(2 * 1.5 * (n - 1) / (seen - 1), rel=0.01)


@needs_engine
@pytest.mark.parametrize("axis", [1, 2])
def test_mirrored_frames_give_a_mirrored_depth(ghostly, axis):
    """Rounds of search and votes would make much of a difference in the last bit."""
    plain = reconstruct(ghostly.frames, align="none")
    turned = reconstruct(np.flip(ghostly.frames, axis), align="none")
    assert plain.findings["reblur"]["changes"]
    np.testing.assert_allclose(np.flip(turned.index, axis - 1), plain.index, atol=1e-4)


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


TURNS = {
    "mirrored": lambda maps: maps[..., ::-1],
    "upside down": lambda maps: maps[..., ::-1, :],
    "transposed": lambda maps: np.swapaxes(maps, -1, -2),
}


@pytest.mark.parametrize("turn", TURNS.values(), ids=TURNS)
@pytest.mark.parametrize("shape", [(64, 72), (61, 71), (63, 74)])
@pytest.mark.parametrize("factor", [2, 4])
def test_a_turned_stack_is_reduced_to_the_same_pixels(rng, turn, shape, factor):
    frames = rng.integers(0, 256, (3, *shape)).astype(np.uint8)

    def small(frames):
        stack = FocusStack.from_array(np.ascontiguousarray(frames))
        some = reduced(stack, [0, 1, 2], factor, Whole(stack.shape))
        return np.stack([some.read(k) for k in range(3)])

    np.testing.assert_allclose(turn(small(turn(frames))), small(frames), atol=1e-6)


@pytest.mark.parametrize("side", [64, 61, 62, 63])
@pytest.mark.parametrize("factor", [1, 2, 4])
def test_places_in_the_reduced_size_are_those_of_its_blocks(side, factor):
    """The same from either end, and the middle of a block's pixels is its number."""
    count = side // factor
    place = place_in(slice(0, side), side, factor, count)
    np.testing.assert_allclose(count - 1 - place[::-1], place)
    slope = np.arange(side, dtype=np.float32)[None, :, None, None] * np.ones((3, side, side, 1))
    stack = FocusStack.from_array(slope.astype(np.uint8)[:, :, :, 0])
    rows = np.asarray(reduced(stack, [0, 1, 2], factor, Whole(stack.shape)).read(0)).squeeze()[:, 0]
    middles = np.interp(np.arange(count), place[factor:-factor], np.arange(side)[factor:-factor])
    np.testing.assert_allclose(255 * rows[1:-1], middles[1:-1], atol=1e-3)
