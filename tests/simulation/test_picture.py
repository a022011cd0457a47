"""Any picture with a depth map becomes a stack without seams or leaks."""

import numpy as np
import pytest

from varfocus.errors import ParameterError
from varfocus.simulation import APERTURES, Camera, make_texture, render_picture
from varfocus.simulation.canvas import Canvas
from varfocus.simulation.hidden import hidden_background
from varfocus.simulation.pertuz import defocus
from varfocus.simulation.picture import filled


def test_a_slanted_surface_has_no_seams() -> None:
    depth = Canvas((96, 80)).plane(0.5, 0.0, -0.9)
    texture = make_texture((96, 80), 0)
    sim = render_picture(texture, depth, n=7, noise=0, dtype="float32", kappa=5.0)
    error = sim.frames - defocus(texture, depth, sim.focus, 5.0)
    assert np.sqrt((error**2).mean()) < 0.03 * texture.std()
    flat = render_picture(np.full((96, 80), 0.6), depth, n=5, noise=0, dtype="float32")
    np.testing.assert_allclose(flat.frames, 0.6, atol=1e-5)


@pytest.mark.parametrize("aperture", APERTURES)
def test_occlusion(aperture: str) -> None:
    picture, depth = np.zeros((40, 60), np.float32), np.full((40, 60), 0.9, np.float32)
    depth[:, :30] = 0.4
    picture[:, 30:] = 1
    camera = Camera(aperture=aperture)
    made = render_picture(
        picture, depth, focus=[0.4, 0.9], noise=0, max_blur=4, dtype="float32", camera=camera
    )
    near_focus, far_focus = made.frames
    # A near object in focus hides what is behind it, up to its border.
    np.testing.assert_allclose(near_focus, picture, atol=1e-4)
    # Out of focus it is a veil, symmetric about its border: the background goes on behind it.
    np.testing.assert_allclose(far_focus + far_focus[:, ::-1], 1, atol=2e-3)
    assert 0.1 < far_focus[20, 27] < far_focus[20, 32] < 0.9
    assert far_focus[20, 2] == pytest.approx(0, abs=1e-3)


def test_nothing_shines_through_a_slanted_surface_in_front_of_another() -> None:
    depth = np.full((64, 64), 1.0, np.float32)
    depth[8:56, 8:56] = np.linspace(0.4, 0.7, 48, dtype=np.float32)
    picture = np.where(depth < 1, 1.0, 0.0)
    camera = Camera(aperture="disc")
    made = render_picture(picture, depth, n=7, noise=0, max_blur=3, dtype="float32", camera=camera)
    inside = made.frames[:, 22:42, 22:42]
    np.testing.assert_allclose(inside, 1.0, atol=1e-3)


def test_the_hidden_background_is_the_mirror_image_of_what_shows() -> None:
    position = np.ones((4, 12))
    position[:, :5] = 2.0
    colour = np.arange(12, dtype=np.float32)[None, :, None] * np.ones((4, 1, 1), np.float32)
    behind, hidden = hidden_background(colour, position, jump=0.5, reach=3)
    np.testing.assert_array_equal(np.isfinite(hidden[0]), [False] * 2 + [True] * 3 + [False] * 7)
    np.testing.assert_array_equal(hidden[:, 2:5], 1.0)
    np.testing.assert_array_equal(behind[0, 2:5, 0], [8, 7, 6])  # pixel 5 is the first that shows
    assert np.isnan(hidden_background(colour, np.ones((4, 12)), 0.5, 3)[1]).all()


def test_in_focus_it_is_the_picture() -> None:
    picture = make_texture((30, 40), 1, colour=True)
    sim = render_picture(picture, np.full((30, 40), 0.5), focus=[0.5, 0.6], noise=0, kappa=5)
    np.testing.assert_allclose(sim.frames[0] / 255, picture, atol=0.51 / 255)
    np.testing.assert_array_equal(sim.truth_index, 0)
    np.testing.assert_array_equal(sim.sharp, picture)


def test_unknown_depth_is_rendered_but_not_asked_for() -> None:
    depth = Canvas((30, 40)).plane(0.5, 0.5)
    depth[10:15, 8:20] = np.nan
    depth[3, 3] = np.inf
    sim = render_picture(make_texture((30, 40)), depth, n=5)
    unknown = ~np.isfinite(depth)
    np.testing.assert_array_equal(np.isnan(sim.truth_index), unknown)
    np.testing.assert_array_equal(np.isnan(sim.truth_depth), unknown)
    assert sim.truth_index[~unknown].min() > 0
    assert sim.truth_index[~unknown].max() < 4


def test_holes_belong_to_the_background() -> None:
    nan = np.nan
    depth = np.float32([[1, nan, nan, 2], [nan, 1, 3, nan], [nan] * 4])
    expected = [[1, 2, 2, 2], [1, 1, 3, 3], [1, 1, 3, 3]]
    np.testing.assert_array_equal(filled(depth), expected)


def test_determinism_and_focus_default() -> None:
    depth = Canvas((30, 40)).plane(0.5, 0.5)
    first, again = (render_picture(make_texture((30, 40)), depth, n=4, seed=2) for _ in range(2))
    assert np.array_equal(first.frames, again.frames)
    assert first.focus[0] < depth.min()
    assert first.focus[-1] > depth.max()
    assert np.ptp(np.diff(1 / first.focus)) < 1e-12


@pytest.mark.parametrize(
    ("picture", "depth", "word"),
    [
        (np.zeros((4, 4)), np.ones((4, 5)), "depth"),
        (np.zeros((4, 4)), np.full((4, 4), np.nan), "depth"),
        (np.zeros((4, 4)), np.zeros((4, 4)), "depth"),
        (np.full((4, 4), np.nan), np.ones((4, 4)), "picture"),
    ],
)
def test_bad_input(picture: np.ndarray, depth: np.ndarray, word: str) -> None:
    with pytest.raises(ParameterError, match=word):
        render_picture(picture, depth)
