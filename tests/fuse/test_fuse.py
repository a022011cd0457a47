"""The all-in-focus image: what the depth asks for, and what sharpness may change."""

import numpy as np
import pytest
from scipy import ndimage

from varfocus.errors import NotFiniteError, ParameterError
from varfocus.fuse import fuse, pyramid
from varfocus.params import FuseParams
from varfocus.simulation import simulate
from varfocus.simulation.camera import chosen_focus
from varfocus.simulation.canvas import FAR, NEAR, SCENE_KAPPA, Canvas, depth_at
from varfocus.simulation.scene import Layer, render_layers
from varfocus.stack import FocusStack
from varfocus.studies.metrics import psnr

DTYPES = [np.uint8, np.uint16, np.float32]
DEPTH_ALONE = FuseParams(sharper=0)


def frames(rng, dtype, shape=(5, 6, 7)):
    if dtype == np.float32:
        return rng.normal(size=shape).astype(np.float32)
    return rng.integers(0, np.iinfo(dtype).max, shape, dtype=dtype, endpoint=True)


def close(dtype):
    return {"rtol": 1e-5, "atol": 2e-6} if dtype == np.float32 else {"rtol": 0, "atol": 0}


@pytest.fixture(scope="module")
def scene():
    """A bright card before a dark background, in floats and of odd width."""
    canvas = Canvas((72, 91), 0, True)

    def sheet(number, mean, contrast):
        texture = canvas.paint(number)
        return np.clip(mean + contrast * (texture - texture.mean()), 0, 1).astype(np.float32)

    layers = [
        Layer(sheet(0, 0.82, 0.16), float(depth_at(0.1)), canvas.card(0.4, 0.5, 0.6, 0.6, 0.2)),
        Layer(sheet(11, 0.07, 0.12), float(depth_at(0.9))),
    ]
    focus = chosen_focus(None, NEAR, FAR, 9, "dioptre")
    return render_layers("bright edge", layers, focus, SCENE_KAPPA, dtype="float32")


def tent(images, index):
    """Plain linear interpolation between frames."""
    k = np.arange(len(images)).reshape(-1, 1, 1)
    weight = np.maximum(0, 1 - np.abs(k - index))
    return np.einsum("kij,kij...->ij...", weight, images)


# What the depth asks for


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("channels", [(), (3,)])
@pytest.mark.parametrize("size", [(6, 7), (1, 1), (33, 40)])
def test_a_constant_index_picks_that_frame(rng, dtype, channels, size):
    """To the bit for integers, to rounding for floats."""
    images = frames(rng, dtype, (5, *size, *channels))
    stack = FocusStack.from_array(images)
    for k in range(5):
        fused = fuse(stack, np.full(size, k, np.float32), DEPTH_ALONE)
        assert fused.image.dtype == dtype
        np.testing.assert_allclose(fused.image, images[k], **close(dtype))
        np.testing.assert_array_equal(fused.source, np.full(size, k, np.uint16))


@pytest.mark.parametrize("dtype", DTYPES)
def test_half_way_is_the_average(rng, dtype):
    images = frames(rng, dtype, (5, 20, 21))
    index = np.full((20, 21), 2.5, np.float32)
    fused = fuse(FocusStack.from_array(images), index, DEPTH_ALONE).image
    mean = 0.5 * (images[2].astype(np.float64) + images[3])
    assert np.abs(fused - mean).max() <= (1e-5 if dtype == np.float32 else 0.51)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("channels", [(), (3,)])
def test_frames_that_are_the_same_come_out_unchanged(rng, dtype, channels):
    one = frames(rng, dtype, (41, 36, *channels))
    index = rng.uniform(0, 4, (41, 36)).astype(np.float32)
    fused = fuse(FocusStack.from_array(np.stack([one] * 5)), index).image
    np.testing.assert_array_equal(fused, one)


def test_a_depth_beyond_the_ends_is_that_of_the_ends(rng):
    images = frames(rng, np.uint8)
    fused = fuse(FocusStack.from_array(images), np.full((6, 7), 9, np.float32), DEPTH_ALONE)
    np.testing.assert_array_equal(fused.image, images[-1])


# Symmetry


@pytest.mark.parametrize(
    "turn",
    [lambda a: a[::-1], lambda a: a[:, ::-1], lambda a: a.swapaxes(0, 1)],
    ids=["upside down", "mirrored", "transposed"],
)
def test_turning_the_frames_turns_the_picture(scene, turn):
    index = scene.truth_index
    expected = fuse(FocusStack.from_array(scene.frames), index)
    turned = np.stack([turn(frame) for frame in scene.frames])
    found = fuse(FocusStack.from_array(turned), np.ascontiguousarray(turn(index)))
    np.testing.assert_allclose(found.image, turn(expected.image), atol=1e-5)
    assert (found.source == turn(expected.source)).mean() > 0.999


def test_reversing_the_stack_changes_nothing(scene):
    index, last = scene.truth_index, len(scene.frames) - 1
    expected = fuse(FocusStack.from_array(scene.frames), index).image
    found = fuse(FocusStack.from_array(scene.frames[::-1]), last - index).image
    np.testing.assert_allclose(found, expected, atol=1e-5)


@pytest.mark.parametrize("gain", [255, 1 / 4])
def test_the_gain_does_not_matter(scene, gain):
    expected = fuse(FocusStack.from_array(scene.frames), scene.truth_index).image
    brighter = FocusStack.from_array(scene.frames * np.float32(gain))
    found = fuse(brighter, scene.truth_index).image
    np.testing.assert_allclose(found / gain, expected, atol=1e-5)


# What sharpness adds


def test_a_wire_that_the_depth_misses_is_rescued():
    made = simulate("wire", shape=(96, 120), n=9)
    background = ndimage.median_filter(made.truth_index, 25)
    stack = FocusStack.from_array(made.frames)
    with_sharpness = fuse(stack, background)
    without = fuse(stack, background, DEPTH_ALONE)
    plain = psnr(tent(made.frames, background) / 255, made.sharp)
    assert psnr(with_sharpness.image / 255, made.sharp) > plain + 1.0
    assert psnr(without.image / 255, made.sharp) < plain + 0.5
    wires = made.truth_index < 4
    source = with_sharpness.source.astype(float)
    assert np.median(source[wires]) < np.median(without.source[wires])


def test_a_bright_edge_gains_over_plain_sampling(scene):
    stack = FocusStack.from_array(scene.frames)
    # A depth whose edge is two pixels off, as an estimated one is.
    index = np.roll(scene.truth_index, 2, axis=1)
    plain = psnr(tent(scene.frames, index), scene.sharp)
    assert psnr(fuse(stack, index).image, scene.sharp) > plain + 1.0


def test_nothing_is_brighter_or_darker_than_in_the_frames(scene):
    """No halo: each pixel is within what that very pixel was in some frame."""
    for index in (scene.truth_index, np.roll(scene.truth_index, 3, axis=0)):
        image = fuse(FocusStack.from_array(scene.frames), index).image
        assert (image >= scene.frames.min(axis=0)).all()
        assert (image <= scene.frames.max(axis=0)).all()


@pytest.mark.parametrize("channels", [(), (3,)])
@pytest.mark.parametrize("n", [5, 40])
def test_noise_is_not_gathered(rng, n, channels):
    """With mere noise the picture has no more of it than a frame, whatever the depth."""
    images = rng.normal(0.5, 0.02, (n, 64, 64, *channels)).astype(np.float32)
    for index, allowed in ((np.full((64, 64), 2.0), 1.02), (rng.uniform(0, n - 1, (64, 64)), 1.0)):
        fused = fuse(FocusStack.from_array(images), index.astype(np.float32)).image
        assert fused.std() <= allowed * 0.02


def test_front_things_can_be_extended_over_what_lies_behind():
    """By as many pixels as asked for, in every direction."""
    images = np.stack([np.full((20, 24), 10 * k, np.uint8) for k in range(5)])
    index = np.full((20, 24), 4, np.float32)
    index[8:12, 8:12] = 1
    source = fuse(FocusStack.from_array(images), index, FuseParams(front=2)).source
    expected = np.full((20, 24), 4)
    expected[6:14, 6:14] = 1
    np.testing.assert_array_equal(source, expected)


# The pyramid


@pytest.mark.parametrize("shape", [(8, 8), (7, 9), (1, 6), (2, 3, 3)])
def test_the_pyramid_keeps_constants_and_halves(shape):
    ones = np.ones(shape, np.float32)
    small = pyramid.reduce(ones)
    assert small.shape == ((shape[0] + 1) // 2, (shape[1] + 1) // 2, *shape[2:])
    np.testing.assert_allclose(small, 1, rtol=1e-6)
    np.testing.assert_allclose(pyramid.expand(small, shape), 1, rtol=1e-6)


@pytest.mark.parametrize("size", [16, 17])
def test_the_pyramid_keeps_ramps_away_from_the_border(size):
    ramp = np.tile(np.arange(size, dtype=np.float32), (size, 1))
    again = pyramid.expand(pyramid.reduce(ramp), ramp.shape)
    np.testing.assert_allclose(again[:, 4:-4], ramp[:, 4:-4], rtol=1e-6)


# Progress and errors


def test_progress_and_bad_pixels(rng):
    images = frames(rng, np.float32)
    seen = []
    index = np.full((6, 7), 0.5, np.float32)
    fuse(FocusStack.from_array(images), index, progress=lambda *step: seen.append(step))
    assert seen == [("fusing", k, 5) for k in range(6)]
    images[1, 0, 0] = np.nan
    with pytest.raises(NotFiniteError, match="frame 1"):
        fuse(FocusStack.from_array(images), index)


@pytest.mark.parametrize(
    ("index", "words"),
    [
        (np.zeros((7, 6), np.float32), "6×7 pixels"),
        (np.zeros(6, np.float32), "shape"),
        (np.full((6, 7), np.nan, np.float32), "42 unknown pixels"),
    ],
)
def test_a_depth_of_other_frames_is_refused(rng, index, words):
    with pytest.raises(ParameterError, match=words):
        fuse(FocusStack.from_array(frames(rng, np.uint8)), index)
