"""Layers hide each other as things do."""

import numpy as np
import pytest

from varfocus.errors import ParameterError
from varfocus.simulation import SCENES, Layer, make_texture, render_layers, simulate
from varfocus.simulation.canvas import MAX_BLUR, SCENE_KAPPA, Canvas
from varfocus.simulation.pertuz import defocus
from varfocus.simulation.scene import compose, flatten

NEAR, FAR, KAPPA = 0.4, 0.9, 5.0
FOCUS = np.array([NEAR, FAR])


def half_plane(near: float, far: float) -> list[Layer]:
    mask = np.zeros((40, 60), np.float32)
    mask[:, :30] = 1
    return [
        Layer(np.full((40, 60), near, np.float32), NEAR, mask),
        Layer(np.full((40, 60), far, np.float32), FAR),
    ]


def test_focused_foreground_takes_nothing_from_the_background() -> None:
    in_focus, _ = compose(half_plane(near=0.0, far=1.0), FOCUS, KAPPA)
    np.testing.assert_array_equal(in_focus[:, :30], 0)
    np.testing.assert_allclose(in_focus[:, 30:], 1, atol=1e-6)


def test_defocused_foreground_leaks_over_the_background() -> None:
    _, far_focus = compose(half_plane(near=0.0, far=1.0), FOCUS, KAPPA)
    assert 0.4 < far_focus[20, 30] < 0.6
    assert 0.02 < far_focus[20, 35] - far_focus[20, 30] < 0.5
    assert far_focus[20, 55] == pytest.approx(1, abs=1e-5)


def test_focused_background_keeps_its_texture_behind_the_veil() -> None:
    texture = make_texture((40, 60), 0)
    mask = np.zeros((40, 60), np.float32)
    mask[:, :30] = 1
    black = Layer(np.zeros((40, 60), np.float32), NEAR, mask)
    veil = compose([black, Layer(np.ones_like(texture), FAR)], FOCUS[1:], KAPPA)[0]
    frame = compose([black, Layer(texture, FAR)], FOCUS[1:], KAPPA)[0]
    np.testing.assert_allclose(frame, veil * texture, atol=1e-5)


def test_one_full_layer_is_the_pertuz_model() -> None:
    depth = Canvas((40, 50)).plane(0.5, 0.6, 0.3)
    texture = make_texture((40, 50), 0, colour=True)
    focus = np.linspace(NEAR, FAR, 5)
    frames = compose([Layer(texture, depth)], focus, KAPPA)
    assert np.array_equal(frames, defocus(texture, depth, focus, KAPPA))
    flat = compose([Layer(texture, 0.5)], focus, KAPPA)
    full = np.full((40, 50), 0.5, np.float32)
    np.testing.assert_allclose(flat, defocus(texture, full, focus, KAPPA), atol=2e-6)


def test_layers_of_one_texture_and_depth_cannot_be_told_apart_when_sharp() -> None:
    texture = make_texture((40, 60), 1)
    mask = Canvas((40, 60)).disc(0.5, 0.5, 0.3)
    sim = render_layers(
        "x", [Layer(texture, NEAR, mask), Layer(texture, NEAR)], FOCUS, KAPPA, noise=0
    )
    np.testing.assert_allclose(sim.frames[0] / 255, texture, atol=0.51 / 255)
    np.testing.assert_allclose(sim.sharp, texture, atol=1e-6)


def test_cropping_to_the_mask_changes_nothing() -> None:
    canvas = Canvas((90, 110))
    mask = canvas.disc(0.8, 0.3, 0.1)
    depth, texture = canvas.plane(0.3, 0.4), make_texture((90, 110), 2)
    background = Layer(np.zeros((90, 110), np.float32), FAR)
    frames = compose([Layer(texture, depth, mask), background], FOCUS, KAPPA)
    np.testing.assert_allclose(frames, defocus(mask * texture, depth, FOCUS, KAPPA), atol=1e-6)


def test_truth_is_the_nearest_visible_surface() -> None:
    sharp, depth = flatten(half_plane(near=0.25, far=0.75))
    np.testing.assert_array_equal(depth[:, :30], np.float32(NEAR))
    np.testing.assert_array_equal(depth[:, 30:], np.float32(FAR))
    np.testing.assert_array_equal(sharp[:, [29, 30]], [[0.25, 0.75]] * 40)


def test_scenes_need_a_background_and_equal_sizes() -> None:
    layers = half_plane(0, 1)
    for wrong in ([], layers[:1], [Layer(np.zeros((3, 3), np.float32), NEAR), layers[1]]):
        with pytest.raises(ParameterError, match="layers"):
            compose(wrong, FOCUS, KAPPA)


@pytest.mark.parametrize("name", SCENES)
@pytest.mark.parametrize("shape", [(17, 23), (64, 51)])
def test_every_scene_at_odd_sizes(name: str, shape: tuple[int, int]) -> None:
    sim = simulate(name, shape=shape, n=4, seed=1)
    assert sim.frames.shape == (4, *shape, 3)
    assert sim.sharp.shape == (*shape, 3)
    assert 0 <= sim.sharp.min() <= sim.sharp.max() <= 1
    assert np.isfinite(sim.truth_index).all()
    assert sim.truth_index.min() >= 0
    assert sim.truth_index.max() <= 3
    again = np.interp(sim.truth_index, np.arange(4), sim.focus)
    np.testing.assert_allclose(again, sim.truth_depth, atol=1e-6)
    grey = simulate(name, shape=shape, n=4, seed=1, colour=False)
    assert grey.frames.shape == (4, *shape)
    np.testing.assert_array_equal(grey.truth_index, sim.truth_index)


@pytest.mark.parametrize("name", ["steps", "discs", "table"])
def test_seeds(name: str) -> None:
    first, again, other = (simulate(name, shape=(32, 40), n=3, seed=s) for s in (0, 0, 1))
    assert np.array_equal(first.frames, again.frames)
    assert not np.array_equal(first.frames, other.frames)


@pytest.mark.parametrize("name", ["steps", "slants", "discs", "wire", "table"])
def test_scenes_have_depth_jumps_and_depth_range(name: str) -> None:
    index = simulate(name, shape=(128, 160), n=2, noise=0).truth_index
    jumps = np.abs(np.diff(index, axis=0)).max(), np.abs(np.diff(index, axis=1)).max()
    assert max(jumps) > 0.2
    assert np.ptp(index) > 0.5


def test_steps_are_flat_and_slants_are_not() -> None:
    steps = simulate("steps", shape=(96, 120), n=3).truth_depth
    assert len(np.unique(steps)) == 6
    slants = simulate("slants", shape=(96, 120), n=3).truth_depth
    assert len(np.unique(slants)) > 1000


def test_wires_are_thin() -> None:
    depth = simulate("wire", shape=(128, 160), n=2).truth_depth
    near = depth < np.median(depth) - 0.1
    assert 0.02 < near.mean() < 0.25


def test_textureless_share() -> None:
    sharp = simulate("textureless", shape=(160, 200), n=2).sharp
    window = np.lib.stride_tricks.sliding_window_view(sharp, (3, 3), axis=(0, 1))
    plain = np.ptp(window, axis=(-2, -1)).max(axis=-1) < 1e-3
    # A 3×3 window also needs plain neighbours: a little less than the 30 % of pixels.
    assert 0.2 < plain.mean() < 0.31


def test_blur_at_the_far_ends() -> None:
    assert pytest.approx(MAX_BLUR) == SCENE_KAPPA * (1 / 0.4 - 1 / 0.9)
    focus = simulate("discs", shape=(20, 20), n=7).focus
    assert np.ptp(np.diff(1 / focus)) < 1e-12
    assert np.ptp(np.diff(simulate("discs", shape=(20, 20), spacing="distance").focus)) < 1e-12


def test_a_texture_for_all_layers() -> None:
    texture = make_texture((30, 40), 0)
    sim = simulate("steps", texture=texture, n=2, noise=0)
    assert sim.frames.shape == (2, 30, 40)
    assert sim.sharp.mean() == pytest.approx(texture.mean(), abs=0.1)
    with pytest.raises(ParameterError, match="table"):
        simulate("table", texture=texture)


def test_progress_and_cancelling() -> None:
    heard: list[tuple[str, int, int]] = []
    simulate("textureless", shape=(16, 16), n=2, progress=lambda *event: heard.append(event))
    assert heard == [("render", k, 4) for k in range(5)]

    def refuse(stage: str, done: int, total: int) -> None:
        raise KeyboardInterrupt

    for name in ("cone", "discs"):
        with pytest.raises(KeyboardInterrupt):
            simulate(name, shape=(16, 16), n=2, progress=refuse)
