"""The edge stage: renderer, judge, switch, and what it does to depth maps with blurred borders."""

from __future__ import annotations

from dataclasses import asdict, fields, replace
from functools import cache
from importlib import import_module

import numpy as np
import pytest
from scipy import ndimage
from scipy.special import ndtr

from varfocus import engine, simulate
from varfocus.edges import Closed, enough_frames, sharpen, survey, unveiled
from varfocus.edges import judge as judges
from varfocus.edges import render as renders
from varfocus.edges.constants import FIRST_TILES, FITTED, RENDER, RenderConstants
from varfocus.edges.judge import judge, plain_error
from varfocus.edges.render import Patch, convolved, kernel, render
from varfocus.edges.scale import Part, blur_scale
from varfocus.edges.sides import extent, find_sides, within
from varfocus.edges.vote import decide
from varfocus.errors import ParameterError
from varfocus.fuse import fuse
from varfocus.params import Params
from varfocus.pipeline import estimate
from varfocus.studies.metrics import bad_pixels, psnr, rmse

SIGMA = np.array([[0.0, 2.0], [0.8, 1.2], [2.0, 0.0]], np.float32)


def layered(seed=0, height=28, width=34, channels=3):
    """Two textured layers with a slanted border, and a border drawn two pixels too far out."""
    rng = np.random.default_rng(seed)
    texture = ndimage.gaussian_filter(rng.random((2, channels, height, width)), (0, 0, 0.7, 0.7))
    texture = np.clip(0.5 + 3 * (texture - 0.5), 0, 1).astype(np.float32)
    y, x = np.mgrid[:height, :width]
    front = x + 0.3 * y < 0.55 * width
    frames = []
    for near, far in SIGMA:
        mask = front[None].astype(np.float32)
        sheet = convolved(np.concatenate([texture[0] * mask, mask]), kernel(float(near)))
        frames.append(sheet[:-1] + (1 - sheet[-1]) * convolved(texture[1], kernel(float(far))))
    drawn = x + 0.3 * y < 0.55 * width + 2
    both = np.zeros(front.shape, np.int32)
    return Patch(np.stack(frames), (~drawn).astype(np.int32), both, both + 1, SIGMA), front, texture


def test_one_layer_is_a_plain_blur():
    patch, _, texture = layered()
    flat = np.zeros_like(patch.label)
    frames = np.stack([texture[0], texture[0]])
    one = Patch(frames, flat, flat, flat, np.array([[0.0], [1.7]], np.float32))
    rendered = render(one).frames
    np.testing.assert_allclose(rendered[0], texture[0], atol=1e-6)
    np.testing.assert_allclose(rendered[1], convolved(texture[0], kernel(1.7)), atol=1e-6)


def test_two_plain_layers_mix_as_the_edge_spread_function():
    width, sigma, near, far = 61, 2.0, 0.8, 0.2
    label = np.broadcast_to(np.arange(width) >= 30, (9, width)).astype(np.int32)
    position = np.arange(width) + 0.5 - 30
    sharp = np.where(label == 0, near, far).astype(np.float32)[None]
    veiled = far + (near - far) * np.broadcast_to(ndtr(-position / sigma), sharp.shape)
    frames = np.stack([sharp, veiled.astype(np.float32)])
    zero = np.zeros_like(label)
    blurs = np.array([[0.0, sigma], [sigma, 0.0]], np.float32)
    rendering = render(Patch(frames, label, zero, zero + 1, blurs))
    np.testing.assert_allclose(rendering.frames, frames, atol=0.01)
    # The veil is off: behind it, the far side has its own colour up to the border.
    np.testing.assert_allclose(rendering.colour[1][0][label == 1], far, atol=0.01)


def test_light_is_neither_lost_nor_made():
    patch, _, _ = layered()
    even = replace(patch, frames=np.full_like(patch.frames, 0.6))
    np.testing.assert_allclose(render(even).frames, 0.6, atol=1e-5)
    for sigma in (0.0, 0.5, 3.0):
        assert kernel(sigma).sum() == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize("turn", [lambda a: a[..., ::-1, :], lambda a: np.swapaxes(a, -1, -2)])
def test_the_judge_does_not_care_how_the_picture_lies(turn):
    patch, _, _ = layered()
    turned = replace(
        patch,
        **{
            name: np.ascontiguousarray(turn(getattr(patch, name)))
            for name in ("frames", "label", "near", "far")
        },
    )
    for there, here in zip(judge(turned, 0.04), judge(patch, 0.04), strict=True):
        np.testing.assert_allclose(there, turn(here), atol=2e-5)


def test_the_judge_sees_who_is_on_the_wrong_side():
    patch, front, _ = layered(seed=1)
    change = judge(patch, 0.04)[0]
    drawn = patch.label == 0
    inside = ndimage.binary_erosion(np.ones_like(front), iterations=4)
    right, wrong = change[drawn & front & inside], change[drawn & ~front & inside]
    assert np.median(right) < 6 * np.median(wrong) < 0
    assert judge(replace(patch, label=(~front).astype(np.int32)), 0.04)[1].mean() < (
        0.5 * judge(patch, 0.04)[1].mean()
    )


def engines_agree(patch):
    fast = (*judge(patch, 0.04), plain_error(patch, 0.04))
    with engine.switched_off():
        slow = (*judge(patch, 0.04), plain_error(patch, 0.04))
    for one, other in zip(fast, slow, strict=True):
        np.testing.assert_allclose(one, other, atol=2e-5)


@pytest.mark.skipif(not engine.available, reason="the native engine is not built")
@pytest.mark.parametrize("channels", [1, 3])
def test_the_kernel_is_the_array_code(channels):
    patch, _, _ = layered(seed=2, channels=channels)
    engines_agree(patch)


@pytest.mark.skipif(not engine.available, reason="the native engine is not built")
def test_the_kernel_is_the_array_code_with_many_layers():
    # Layers that lie in parts of the patch only, beside and around one another.
    rng = np.random.default_rng(5)
    frames = ndimage.gaussian_filter(rng.random((5, 3, 61, 45)), (0, 0, 0.7, 0.7))
    y, x = np.mgrid[:61, :45]
    far = np.where(x < 20, 3, 4).astype(np.int32)
    near = np.where(y < 30, 0, 2).astype(np.int32)
    near = np.where(np.hypot(y - 30, x - 22) < 15, near, far)
    label = np.where(np.hypot(y - 30, x - 24) < 8, near, far)
    sigma = np.abs(np.arange(5.0)[:, None] - np.arange(5.0)[None]).astype(np.float32)
    patch = Patch(frames.astype(np.float32), label, near, far, sigma)
    engines_agree(patch)


@pytest.mark.skipif(not engine.available, reason="the native engine is not built")
@pytest.mark.parametrize("shape", [(1, 1, 1), (3, 5, 40), (2, 131, 17)])
@pytest.mark.parametrize("sigma", [0.0, 0.7, 6.0])
def test_the_blur_of_the_kernel_is_that_of_scipy(shape, sigma):
    planes = np.random.default_rng(1).random(shape, np.float32)
    fast = convolved(planes, kernel(sigma))
    with engine.switched_off():
        np.testing.assert_allclose(fast, convolved(planes, kernel(sigma)), atol=2e-6)
    for turn in (np.s_[:, :, ::-1], np.s_[:, ::-1]):  # not a bit differs
        turned = np.ascontiguousarray(planes[turn])
        np.testing.assert_array_equal(convolved(turned, kernel(sigma))[turn], fast)


@pytest.mark.skipif(not engine.available, reason="the native engine is not built")
def test_the_kernel_refuses_layers_that_do_not_exist():
    patch, _, _ = layered()
    with pytest.raises(ValueError, match="layer"):
        judge(replace(patch, far=patch.far + 1), 0.04)


@pytest.fixture(scope="module")
def scene():
    return simulate("steps", shape=(128, 160), seed=1)


@pytest.fixture(scope="module")
def fattened(scene):
    """The truth with every foreground a pixel too wide: how contrast alone sees it."""
    return ndimage.minimum_filter(scene.truth_index, 3).astype(np.float32)


def sharpened(frames, index):
    return sharpen(list(frames), 1 / 255, index, np.arange(len(frames), dtype=np.float64))


def test_borders_go_where_the_objects_end(scene, fattened):
    found = sharpened(scene.frames, fattened)
    assert found is not None
    assert found.near_first
    assert found.ratio < 0.85
    assert bad_pixels(found.index, scene.truth_index) < 0.4 * bad_pixels(
        fattened, scene.truth_index
    )
    assert rmse(found.index, scene.truth_index) < 0.5 * rmse(fattened, scene.truth_index)
    np.testing.assert_array_equal(found.index[~found.moved], fattened[~found.moved])


def test_unmixed_colours_have_no_veil(scene, fattened):
    found = sharpened(scene.frames, fattened)
    label = np.rint(scene.truth_index).astype(int)
    veiled = np.take_along_axis(scene.frames, label[None, ..., None], axis=0)[0] / 255
    far = found.seen & (ndimage.minimum_filter(scene.truth_index, 7) < scene.truth_index - 4)
    far &= np.abs(found.index - scene.truth_index) < 1
    assert rmse(found.colour[far], scene.sharp[far]) < 0.8 * rmse(veiled[far], scene.sharp[far])


def test_colours_that_do_not_explain_the_frames_are_left_out(scene, fattened):
    believed = sharpened(scene.frames, fattened).seen
    flicker = scene.frames.copy()
    flicker[::2, 94:100] //= 2  # every other frame is half as bright in some rows
    found = sharpened(flicker, fattened)
    assert found.seen[94:100].sum() < 0.1 * believed[94:100].sum()
    assert found.seen[:75].sum() > 0.9 * believed[:75].sum()
    assert 0 < found.colour[found.seen].min() <= found.colour[found.seen].max() < 1


def test_unveiled_is_closer_to_the_sharp_picture(scene, fattened):
    found = sharpened(scene.frames, fattened)
    fused = fuse(scene.stack, found.index).image
    clean = unveiled(fused, found.colour, found.seen, 1 / 255)
    assert clean.dtype == fused.dtype
    np.testing.assert_array_equal(clean[~found.seen], fused[~found.seen])
    assert psnr(clean / 255, scene.sharp) > psnr(fused / 255, scene.sharp) + 1.0


def test_the_near_end_is_found(scene, fattened):
    found = sharpened(scene.frames, fattened)
    last = np.float32(len(scene.frames) - 1)
    reversed_ = sharpened(scene.frames[::-1], last - fattened)
    assert not reversed_.near_first
    np.testing.assert_allclose(last - reversed_.index, found.index, atol=1e-3)


def test_software_blur_keeps_the_stage_off(scene):
    # Each pixel is blurred by itself: where depth jumps, nothing hides anything.
    n, index = len(scene.frames), np.rint(scene.truth_index).astype(int)
    frames = np.empty((n, *scene.sharp.shape), np.float32)
    for k in range(n):
        for label in np.unique(index):
            blurred = convolved(np.moveaxis(scene.sharp, 2, 0), kernel(0.5 * abs(k - label)))
            frames[k][index == label] = np.moveaxis(blurred, 0, 2)[index == label]
    frames = np.rint(255 * np.clip(frames, 0, 1)).astype(np.uint8)
    assert sharpened(frames, scene.truth_index.astype(np.float32)) is None


@pytest.mark.parametrize("reach", [0, 1, 2.55, 3, 8, 40])
def test_what_lies_within_reach_is_what_is_not_far_away(reach):
    rng = np.random.default_rng(3)
    for shape in ((1, 1), (1, 30), (17, 1), (40, 33)):
        mask = rng.random(shape) < 0.02
        mask[0, 0] = True
        distance = ndimage.distance_transform_edt(~mask)
        np.testing.assert_array_equal(within(mask, reach), distance <= reach)


@pytest.mark.parametrize("reach", [0, 1, 3, 20])
def test_lowest_and_highest_values_around_are_those_of_scipy(reach):
    values = np.random.default_rng(4).random((9, 31), np.float32)
    low, high = extent(values, reach)
    size = 2 * reach + 1
    np.testing.assert_array_equal(low, ndimage.minimum_filter(values, size, mode="nearest"))
    np.testing.assert_array_equal(high, ndimage.maximum_filter(values, size, mode="nearest"))


@pytest.fixture(scope="module")
def surveyed():
    """What the method gives the survey, for a scene by name."""

    @cache
    def given(name):
        scene = simulate(name, shape=(192, 240), n=11, seed=7)
        found = estimate(scene.stack, Params.from_keywords("robust", edges="off"))
        x = np.arange(11.0)
        frames = list(scene.frames.reshape(11, 192, 240, -1))
        return lambda box: ([f[box] for f in frames], found.index[box]), (192, 240), 1 / 255, x

    return given


def test_where_surfaces_hide_one_another_the_first_tiles_change_nothing(surveyed):
    quick, full = (
        survey(*surveyed("steps"), constants=replace(FITTED, hopeless=hopeless))
        for hopeless in (FITTED.hopeless, np.inf)
    )
    assert (quick.ratio, quick.near_first) == (full.ratio, full.near_first)
    np.testing.assert_array_equal(quick.blur.position, full.blur.position)
    np.testing.assert_array_equal(quick.jumps.asks, full.jumps.asks)


@pytest.mark.parametrize("name", ["cosine", "cone"])
def test_a_few_tiles_tell_that_nothing_is_hidden(surveyed, name, monkeypatch):
    asked = []
    module = import_module("varfocus.edges.survey")
    monkeypatch.setattr(module, "judge", lambda *a, **k: asked.append(1) or judge(*a, **k))
    assert isinstance(survey(*surveyed(name)), Closed)
    assert len(asked) <= 2 * FIRST_TILES
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "FIRST_TILES", 0)  # nobody is asked first: the same answer
        assert isinstance(survey(*surveyed(name)), Closed)


def test_a_closed_switch_leaves_every_bit():
    scene = simulate("cone", shape=(60, 64), seed=1)
    auto, off = (
        estimate(scene.stack, Params.from_keywords("robust", edges=edges))
        for edges in ("auto", "off")
    )
    for field in fields(auto):
        if isinstance(getattr(auto, field.name), np.ndarray):
            np.testing.assert_array_equal(getattr(auto, field.name), getattr(off, field.name))
    assert auto.notes is not None
    assert auto.notes["edges"]["open"] is False
    assert auto.notes["edges"]["why"]


def test_the_blur_is_measured(scene):
    x = np.arange(len(scene.frames), dtype=np.float64)
    index = scene.truth_index.astype(np.float32)
    part = Part(list(scene.frames), index, np.ones(index.shape, bool))
    found = blur_scale([part], 1 / 255, x)
    # The far end is blurred by σ = 7 px when the near end is in focus.
    assert found.position[-1] == pytest.approx(7.0, rel=0.08)


def test_a_slope_is_no_jump():
    slope = np.broadcast_to(np.linspace(0, 7, 60, dtype=np.float32), (20, 60))
    assert find_sides(np.ascontiguousarray(slope)) is None


def test_who_earns_nothing_stays_where_it_is():
    rng = np.random.default_rng(0)
    is_near = ndimage.gaussian_filter(rng.standard_normal((30, 30)), 4) > 0
    asks = np.ones_like(is_near)
    change, least = np.zeros((30, 30), np.float32), np.ones((30, 30), np.float32)
    np.testing.assert_array_equal(decide(change, least, is_near, asks), is_near)


def test_frames_are_spread_over_the_coordinate():
    assert enough_frames(np.arange(9.0)) == list(range(9))
    many = enough_frames(-1.0 / np.linspace(0.1, 1.0, 200))
    assert len(many) <= 16
    assert many[0] == 0
    assert many[-1] == 199


@pytest.mark.skipif(not engine.available, reason="the native engine is not built")
@pytest.mark.parametrize("name", [field.name for field in fields(RenderConstants)])
def test_the_kernel_renders_with_the_constants_it_is_given(name, monkeypatch):
    patch, _, _ = layered(seed=3)
    other = replace(RENDER, **{name: 2.0 * getattr(RENDER, name)})
    for module in (judges, renders):
        monkeypatch.setattr(module, "RENDER", other)
    fast = (*judge(patch, 0.04), plain_error(patch, 0.04))
    with engine.switched_off():
        slow = (*judge(patch, 0.04), plain_error(patch, 0.04))
    for one, array in zip(fast, slow, strict=True):
        np.testing.assert_allclose(one, array, atol=2e-5)


@pytest.mark.skipif(not engine.available, reason="the native engine is not built")
def test_the_kernel_refuses_constants_that_make_no_sense():
    with pytest.raises(ParameterError, match="covered"):
        engine.kernels.EdgeConstants(**{**asdict(RENDER), "covered": 0.0})


def test_constants_decide(scene, fattened):
    frames, x = list(scene.frames), np.arange(len(scene.frames), dtype=np.float64)
    closed = replace(FITTED, occlusion=0.0)
    assert sharpen(frames, 1 / 255, fattened, x, constants=closed) is None
    stubborn = replace(FITTED, stay=10.0)
    found = sharpen(frames, 1 / 255, fattened, x, constants=stubborn)
    assert found is not None
    usual = sharpened(scene.frames, fattened)
    moved = np.abs(found.index - fattened) > 1.0
    assert moved.sum() < 0.2 * (np.abs(usual.index - fattened) > 1.0).sum()
