"""Whether one depth explains all frames: the lens, the re-blur cost, votes and the fill."""

import numpy as np
import pytest

from varfocus import engine, explain
from varfocus.curve import coordinate
from varfocus.errors import ParameterError
from varfocus.explain import Lens
from varfocus.explain.fill import continued, edge_weight, minimised
from varfocus.explain.lens import RADII, blurred, compared, taps

AXIS = coordinate.frames(9)
SHAPE = (40, 44)
RADIUS = 8.0


@pytest.fixture(scope="module")
def texture():
    return np.random.default_rng(3).random(SHAPE, np.float32)


def stack_of(texture, rim, at=3.0):
    """Nine frames of a textured wall in focus at one frame."""
    u = np.arange(9) / 8
    return blurred(texture, rim, RADIUS * np.abs(u - at / 8))


@pytest.mark.parametrize("rim", ["soft", "hard"])
@pytest.mark.parametrize("radius", [0.0, 0.4, 1.7, 9.3])
def test_blur_keeps_light_and_has_its_width(rim, radius):
    kernel = taps(rim, radius).astype(np.float64)
    place = np.arange(kernel.size) - kernel.size // 2
    assert kernel.sum() == pytest.approx(1.0)
    np.testing.assert_allclose(kernel, kernel[::-1], atol=1e-7)
    # σ = r/2, or a square of the area of the disc; pixels are averages over a square of 1.
    variance = radius**2 / 4 if rim == "soft" else np.pi * radius**2 / 12
    spread = float((kernel * place**2).sum())
    assert spread == pytest.approx(variance, rel=0.03, abs=0.09)


@pytest.mark.parametrize("rim", ["soft", "hard"])
def test_the_lens_is_learnt(texture, rim):
    frames = stack_of(texture, rim)
    everywhere = np.ones(SHAPE, bool)
    lens = explain.learn_lens(frames, np.full(SHAPE, 3.0, np.float32), everywhere, AXIS)
    assert lens.rim == rim
    assert lens.radius == pytest.approx(RADIUS, rel=0.05)


def test_nothing_is_learnt_from_nothing(texture):
    frames, index = stack_of(texture, "soft"), np.full(SHAPE, 3.0, np.float32)
    assert explain.learn_lens(frames, index, np.zeros(SHAPE, bool), AXIS) is None


def test_the_true_depth_explains_the_frames_best(texture):
    lens, labels = Lens("hard", RADIUS), 33
    frames = stack_of(texture, "hard")
    volumes = []
    for depth in (5.0, 3.0):
        index = np.full(SHAPE, depth, np.float32)
        bank = explain.pictures(explain.sharp_picture(frames, index, AXIS, lens), lens)
        volumes.append(explain.reblur(frames, bank, AXIS, labels, lens, 1e-4))
    wrong, G = volumes
    inner = np.s_[:, 8:-8, 8:-8]
    assert (np.abs(G[inner].argmin(axis=0) * 8 / 32 - 3.0) <= 0.25).all()
    # A picture that is blurred itself explains no frame that is sharper.
    assert wrong[inner].min() > G[inner].min(axis=0).max()
    V = explain.gate(G)
    assert V.min() >= 0.0
    assert V.max() <= 1.0
    assert explain.wells(G).min(axis=0).mean() == pytest.approx(-1.0)
    assert explain.joined(explain.wells(G), G).min(axis=0).mean() == pytest.approx(-1.0)


@pytest.mark.skipif(not engine.in_use(), reason="needs the engine")
@pytest.mark.parametrize("shape", [(1, 1), (5, 43)])
@pytest.mark.parametrize("count", [2, 36])
def test_frames_are_compared_alike_to_the_last_bit(shape, count, rng):
    radii = RADII[:count]
    measured, pictures = (rng.random((n, shape[1]), np.float32) for n in (shape[0], count))
    radius = rng.choice([0.0, *radii, 30.0, *26.0 * rng.random(50)], shape)
    fast = compared(measured, pictures, radius, radii)
    with engine.switched_off():
        slow = compared(measured, pictures, radius, radii)
    for one, other in zip(fast, slow, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.skipif(not engine.in_use(), reason="needs the engine")
@pytest.mark.parametrize("shape", [(1, 1), (7, 5), (19, 133)])
def test_kernels_compute_what_the_array_code_says(shape, rng):
    lens = Lens("soft", 6.0)
    frames = rng.random((5, *shape), np.float32)
    axis = coordinate.frames(5)
    bank = explain.pictures(frames[2], lens)
    index = (4 * rng.random(shape)).astype(np.float32)
    trust, picture = rng.random((2, *shape), np.float32)
    asked = rng.random(shape) < 0.7

    def both():
        cost = explain.reblur(frames, bank, axis, 17, lens, 1e-3)
        return cost, explain.vote(index, trust, picture, asked, 0.25, 17)

    fast = both()
    with engine.switched_off():
        slow = both()
    for one, other in zip(fast, slow, strict=True):
        np.testing.assert_allclose(one, other, rtol=2e-5, atol=2e-5)


@pytest.mark.skipif(not engine.in_use(), reason="needs the engine")
@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("shape", [(1, 1), (1, 9), (9, 1), (2, 2), (23, 37)])
def test_depth_is_continued_alike_to_the_last_bit(shape, threads, rng):
    d, w, price, u = rng.random((4, *shape), np.float32)
    v = rng.standard_normal((2, *shape)).astype(np.float32)
    for iterations in (1, 2, 21):
        with engine.use_threads(threads):
            fast = minimised(5 * d, w, price, 4.0, u, v, iterations)
        with engine.switched_off():
            slow = minimised(5 * d, w, price, 4.0, u, v, iterations)
        for one, other in zip(fast, slow, strict=True):
            np.testing.assert_array_equal(one, other)


@pytest.mark.skipif(not engine.in_use(), reason="needs the engine")
def test_bad_arguments_are_refused_by_the_kernels_themselves():
    kernels, radii = engine.kernels, np.array([0.0, 1.0])
    image, planes = np.zeros((3, 4), np.float32), np.zeros((2, 3, 4), np.float32)
    pictures, radius = np.zeros((2, 4), np.float32), np.zeros((3, 4))
    out = image.copy(), np.zeros((3, 4), np.int32)
    for call in (
        lambda: kernels.compare(image, pictures, radius, radii[:1], *out, 1),
        lambda: kernels.compare(image, pictures, radius, radii[::-1].copy(), *out, 1),
        lambda: kernels.compare(image, pictures, radius, 0.0 * radii, *out, 1),
        lambda: kernels.compare(image, pictures, radius - 1.0, radii, *out, 1),
        lambda: kernels.compare(image, pictures, radius + np.nan, radii, *out, 1),
        lambda: kernels.compare(image, pictures[:, :3].copy(), radius, radii, *out, 1),
        lambda: kernels.fill_depth(image, image, image, 4.0, 0.3, image, planes, 1, 1),
        lambda: kernels.fill_depth(image, image, image, 4.0, 0.0, out[0], planes, 1, 1),
        lambda: kernels.fill_depth(image, image, image, 4.0, 0.3, out[0], planes[:1], 1, 1),
        lambda: kernels.fill_depth(image, image, image, 4.0, 0.3, out[0], planes, -1, 1),
    ):
        with pytest.raises(ParameterError, match=r"received|expected"):
            call()


def test_pixels_take_the_depth_of_those_that_look_like_them():
    """A bright object ends at column 20, its depth was drawn 4 px too far."""
    picture = np.where(np.arange(44) < 20, 0.9, 0.1).astype(np.float32) * np.ones((40, 1), "f4")
    index = np.where(np.arange(44) < 24, 2.0, 6.0).astype(np.float32) * np.ones((40, 1), "f4")
    trust = np.ones(SHAPE, np.float32)
    trust[:, 20:24] = 0.1
    everywhere = np.ones(SHAPE, bool)
    voted = explain.vote(index, trust, picture, everywhere, 0.25, 33)
    np.testing.assert_allclose(voted[:, :20], 2.0)
    np.testing.assert_allclose(voted[:, 20:], 6.0)
    nobody = explain.vote(index, trust, picture, ~everywhere, 0.25, 33)
    np.testing.assert_array_equal(nobody, index)


def test_a_slope_goes_on_through_what_is_unknown():
    y, x = np.mgrid[:48, :60].astype(np.float32)
    plane = 0.05 * x + 0.02 * y
    weight = np.ones(plane.shape, np.float32)
    weight[14:34, 18:42] = 0.0
    damaged = np.where(weight > 0, plane, np.float32(9.0))
    filled = continued(damaged, weight, np.ones_like(plane), 2.0)
    # First order would end 0.3 to 0.6 off in the middle.
    assert np.abs(filled - plane).max() < 0.05


def test_jumps_lie_on_edges_of_the_picture():
    picture = np.where(np.arange(60) < 30, 0.2, 0.8).astype(np.float32) * np.ones((48, 1), "f4")
    truth = np.where(np.arange(60) < 30, 1.0, 4.0).astype(np.float32) * np.ones((48, 1), "f4")
    weight = np.ones(truth.shape, np.float32)
    weight[:, 22:38] = 0.0
    edge = edge_weight(picture, 1e-5)
    assert edge[24, 10] > 0.99
    assert edge[24, 30] < 0.01
    filled = continued(np.where(weight > 0, truth, np.float32(0.0)), weight, edge, 2.0)
    steepest = np.abs(np.diff(filled, axis=1)).argmax(axis=1)
    assert ((steepest >= 28) & (steepest <= 30)).all()
    assert np.abs(filled - truth)[:, np.r_[:28, 32:60]].max() < 0.5


@pytest.mark.parametrize("shape", [(48, 64), (45, 63), (46, 61)])
@pytest.mark.parametrize("turn", [np.flipud, np.fliplr])
def test_depth_is_continued_alike_in_turned_images(shape, turn, rng):
    """But for lengths of gradients, which pair each pixel with its right and lower neighbour."""
    y, x = (np.arange(side, dtype=np.float32) - 0.5 * (side - 1) for side in shape)
    index = 5.0 + 0.05 * x + 0.003 * y[:, None] ** 2
    weight = np.ones(shape, np.float32)
    weight[14:-14, 18:-18] = 0.0  # symmetric
    found = turn(continued(turn(index).copy(), weight, np.ones_like(index), 2.0))
    np.testing.assert_allclose(found, continued(index, weight, np.ones_like(index), 2.0), atol=0.1)
