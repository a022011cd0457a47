"""Frames registered to what is sharp: blur, however uneven, is no motion."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import ndimage

from varfocus.align.cells import root_mean_square
from varfocus.align.joint import preferences, refined
from varfocus.align.models import grid, moved, normaliser, parameters, step, unit
from varfocus.align.template import Raster, compared, matching_blur, seen, template
from varfocus.align.warp import warp
from varfocus.simulation.blur import blur

MODELS = ["shift", "similarity", "affine", "homography"]
SHAPE = (168, 204)


@pytest.fixture(scope="module")
def texture():
    """Return a picture with structure of all sizes."""
    rng = np.random.default_rng(3)
    noise = sum(
        size * ndimage.gaussian_filter(rng.normal(size=(240, 280)), size) for size in (1, 3, 8)
    )
    return (0.5 + 0.12 * noise / noise.std()).astype(np.float32)


@pytest.fixture(scope="module")
def tilted(texture):
    """Return seven frames of a tilted surface, each sharp somewhere else, blur up to 6 px."""
    place = np.linspace(0, 6, texture.shape[1], dtype=np.float32)[None, :]
    sigma = np.abs(place - np.arange(7, dtype=np.float32)[:, None, None])
    return blur(texture, np.broadcast_to(sigma, (7, *texture.shape)))


def taken(frames, maps):
    """Return the middle of frames as seen under maps from the reference to each of them."""
    centre = np.array([[1, 0, 38.0], [0, 1, 36.0], [0, 0, 1]])
    return [
        warp(f, centre @ np.linalg.inv(m), SHAPE).astype(np.float16)
        for f, m in zip(frames, maps, strict=True)
    ]


def off(maps, truth):
    """Return the root-mean-square distance in pixels of every frame from where it should be."""
    points = grid(SHAPE)
    return np.array(
        [
            np.sqrt(((moved(a, points) - moved(b, points)) ** 2).sum(1).mean())
            for a, b in zip(maps, truth, strict=True)
        ]
    )


def errors_of(found):
    return root_mean_square(np.einsum("iaib->iab", found.covariance), "similarity", SHAPE)


@pytest.mark.parametrize("model", MODELS)
def test_parameters_are_those_that_made_a_step(model, rng):
    count = len(parameters(model, np.eye(3)))
    delta = 0.1 * rng.normal(size=count)
    np.testing.assert_allclose(parameters(model, step(model, delta)), delta, atol=1e-12)


def test_a_tilted_surface_that_stands_still_stays(tilted):
    still = np.tile(np.eye(3), (7, 1, 1))
    found = refined(taken(tilted, still), still, "similarity", 3)
    assert off(found.maps, still).max() < 0.1
    np.testing.assert_allclose(found.maps[3], np.eye(3), atol=1e-12)


def test_known_motion_is_found_and_standard_errors_cover_the_rest(tilted, rng):
    N = normaliser(SHAPE)
    delta = rng.normal(0, 1.0, (7, 4)) * N[0, 0]
    delta[:, 2] = np.linspace(-0.02, 0.02, 7)
    delta[3] = 0.0
    truth = np.stack([unit(np.linalg.inv(N) @ step("similarity", d) @ N) for d in delta])
    start = truth.copy()
    start[:, :2, 2] += rng.normal(0, 0.7, (7, 2))
    start[3] = np.eye(3)
    found = refined(taken(tilted, truth), start, "similarity", 3)
    assert off(start, truth).max() > 0.5
    assert off(found.maps, truth).max() < 0.12
    assert (off(found.maps, truth) < 3.0 * errors_of(found) + 0.02).all()


def test_light_is_no_motion(tilted):
    still = np.tile(np.eye(3), (7, 1, 1))
    light = 1.0 + 0.1 * (-1.0) ** np.arange(7)
    frames = [np.float32(g) * f for g, f in zip(light, tilted, strict=True)]
    assert off(refined(taken(frames, still), still, "similarity", 3).maps, still).max() < 0.1


def test_a_frame_that_shows_nothing_stays_and_says_so(tilted, rng):
    still = np.tile(np.eye(3), (7, 1, 1))
    frames = taken(tilted, still)
    frames[0] = (0.5 + 0.01 * rng.normal(size=SHAPE)).astype(np.float16)
    found = refined(frames, still, "similarity", 3)
    assert errors_of(found)[0] > 5.0 * errors_of(found)[1:].max()
    assert off(found.maps, still)[1:].max() < 0.1


def test_motion_is_preferred_to_standing_still_only_where_there_is_some(tilted):
    still = np.tile(np.eye(3), (7, 1, 1))
    grown = still.copy()
    grown[:, [0, 1], [0, 1]] += np.linspace(-0.02, 0.02, 7)[:, None]
    steady = taken(tilted, still)
    assert (preferences(steady, refined(steady, still, "similarity", 3), 3) < 5.0).all()
    moving = taken(tilted, grown)
    right = refined(moving, grown, "similarity", 3)
    assert (preferences(moving, right, 3)[[0, 6]] > 5.0).all()


def through_a_lens(image, first, slope):
    """Return what rays through a Gaussian aperture see of a surface blurred by first + slope·x."""
    y, x = np.mgrid[: image.shape[0], : image.shape[1]].astype(float)
    number = np.arange(150) + 0.5
    radius, turn = np.sqrt(-2.0 * np.log1p(-number / 150)), np.pi * (1 + np.sqrt(5)) * number
    points = radius[:, None] * np.stack([np.cos(turn), np.sin(turn)], axis=1)
    seen_by_all = np.zeros(image.shape)
    for a in np.concatenate([points, -points]):
        c = (first + slope * x) / (1.0 + slope * a[0])  # where q = p − a c(q)
        places = [y - a[1] * c, x - a[0] * c]
        seen_by_all += ndimage.map_coordinates(image, places, order=1, mode="reflect")
    return (seen_by_all / (2 * len(points))).astype(np.float32)


@pytest.mark.parametrize("lens", [0.0, 1.0])
def test_how_uneven_blur_was_drawn_is_seen(texture, lens):
    """Blurred pixel by pixel, λ = 0; through a lens, λ = 1."""
    first, slope = 2.0, 0.03
    smooth = ndimage.gaussian_filter(texture, 1.0)
    sigma = first + slope * np.arange(texture.shape[1], dtype=np.float32)
    if lens:
        frame = through_a_lens(smooth, first, slope)
    else:
        frame = blur(smooth, np.broadcast_to(sigma, (1, *texture.shape)), radius=30)[0]
    raster = Raster.over(texture.shape)
    picture = template({0: smooth}, np.zeros(len(raster.centres), np.intp), raster)
    beta = (first + slope * raster.centres[:, 0]) ** 2 / 2
    found = compared(frame, picture, beta, np.ones(len(raster.centres), bool), lens=0.0)
    inner = raster.to_border > 24
    H, g, d = found.curvature[inner], found.slope[inner], found.tilt[inner]
    per_slope = np.linalg.solve(H, d[..., None])[..., 0]
    assert abs((per_slope * g).sum() / (per_slope * d).sum() - lens) < 0.4


def test_frames_of_one_colour_are_no_trouble():
    still = np.tile(np.eye(3), (3, 1, 1))
    for level in (0.0, 0.4):
        found = refined([np.full(SHAPE, level, np.float16)] * 3, still, "similarity", 1)
        np.testing.assert_array_equal(found.maps, still)


def test_blur_is_measured_place_by_place(texture):
    """Two levels of blur, left and right, relative to a sharp template."""
    raster = Raster.over(texture.shape)
    picture = template({0: texture}, np.zeros(len(raster.centres), np.intp), raster)
    sigma = np.where(np.arange(280) < 140, 2.0, 5.0).astype(np.float32)
    frame = blur(texture, np.broadcast_to(sigma, (1, *texture.shape)))[0]
    everywhere = np.ones(len(raster.centres), bool)
    beta = matching_blur(frame, picture, everywhere)
    for _ in range(3):
        beta = compared(frame, picture, beta, everywhere).beta
    x, inner = raster.centres[:, 0], raster.to_border > 10
    for side, want in ((x < 110, 2.0), (x > 170, 5.0)):
        found = np.sqrt(2.0 * beta[inner & side])
        assert abs(np.median(found) / want - 1.0) < 0.1


def test_a_cell_that_moved_says_by_how_much(texture):
    raster = Raster.over(texture.shape)
    picture = template({0: texture}, np.zeros(len(raster.centres), np.intp), raster)
    shift = np.array([[1, 0, 0.4], [0, 1, -0.3], [0, 0, 1.0]])
    frame = seen(ndimage.gaussian_filter(texture, 3.0), shift, texture.shape)
    everywhere = np.ones(len(raster.centres), bool)
    beta = np.full(len(raster.centres), (3.0**2 + 1.0) / 2)
    found = compared(frame, picture, beta, everywhere)
    inner = raster.to_border > 12
    H, g = found.curvature[inner].sum(0), found.slope[inner].sum(0)
    np.testing.assert_allclose(np.linalg.solve(H, g), [0.4, -0.3], atol=0.03)
