"""Focus distances, noise and counting follow their formulas."""

import numpy as np
import pytest

from varfocus.errors import ParameterError
from varfocus.simulation.camera import (
    KAPPA,
    add_noise,
    blur_sigma,
    expose,
    focus_distances,
    noise_power,
    quantise,
)
from varfocus.simulation.simulation import index_of_depth


def test_pertuz_camera() -> None:
    assert pytest.approx(0.84375) == KAPPA
    sigma = blur_sigma(np.array([[0.05]]), np.array([0.05, 0.5]), KAPPA)
    assert sigma.shape == (2, 1, 1)
    assert sigma.ravel().tolist() == pytest.approx([0.0, 0.84375 * 18])


def test_spacing() -> None:
    linear = focus_distances(0.05, 0.5, 15)
    np.testing.assert_array_equal(linear, np.linspace(0.05, 0.5, 15))
    dioptre = focus_distances(0.4, 0.9, 11, "dioptre")
    np.testing.assert_allclose(np.diff(1 / dioptre), (1 / 0.9 - 1 / 0.4) / 10)
    assert (dioptre[0], dioptre[-1]) == (0.4, 0.9)


@pytest.mark.parametrize("level", [0.05, 0.5, 1.0])
@pytest.mark.parametrize("brightness", [0.2, 0.5])
def test_noise_variance(level: float, brightness: float) -> None:
    p = (0.00722 * (level - 0.1) + 0.0005) / 255
    assert noise_power(level) == pytest.approx(p)
    image = np.full((400, 400), brightness, np.float32)
    noisy = add_noise(image, level, np.random.default_rng(3))
    assert noisy.var() == pytest.approx(np.sqrt(p) * brightness + p, rel=0.03)
    assert noisy.mean() == pytest.approx(brightness, abs=1e-3)


@pytest.mark.parametrize("level", [0.0, 0.03])
def test_no_noise_below_the_zero_of_the_law(level: float) -> None:
    image = np.linspace(0, 1, 30, dtype=np.float32).reshape(5, 6)
    assert np.array_equal(add_noise(image, level, np.random.default_rng(0)), image)


def test_noise_is_clipped_and_repeatable() -> None:
    frames = np.tile(np.float32([0, 1]), (3, 40, 20))
    first, again = (expose(frames, 1.0, 7, "float32") for _ in range(2))
    assert np.array_equal(first, again)
    assert first.min() == 0
    assert first.max() == 1
    assert not np.array_equal(first, expose(frames, 1.0, 8, "float32"))
    assert not np.array_equal(first[0], first[1])


def test_quantise() -> None:
    image = np.float32([0, 0.5, 1, 1.2, -0.1])
    assert quantise(image).tolist() == [0, 128, 255, 255, 0]
    assert quantise(image, "uint16").tolist() == [0, 32768, 65535, 65535, 0]
    assert quantise(image, "float32").dtype == np.float32
    with pytest.raises(ParameterError, match="dtype"):
        quantise(image, "int8")  # type: ignore[arg-type]


@pytest.mark.parametrize("flip", [1, -1])
def test_index_is_the_inverse_of_interpolated_focus(flip: int) -> None:
    focus = focus_distances(0.4, 0.9, 9, "dioptre")[::flip]
    index = np.array([0, 0.25, 3.5, 7.75, 8])
    depth = np.interp(index, np.arange(9), focus)
    np.testing.assert_allclose(index_of_depth(depth, focus), index, atol=1e-5)
    assert np.isnan(index_of_depth(np.array([0.3, 0.95, np.nan]), focus)).all()


@pytest.mark.parametrize(
    ("near", "far", "n", "spacing", "word"),
    [
        (0.1, 0.5, 1, "distance", "n = "),
        (0.1, 0.5, 2.5, "distance", "n = "),
        (0.0, 0.5, 5, "distance", "near"),
        (0.5, 0.5, 5, "distance", "far"),
        (0.1, 0.5, 5, "log", "spacing"),
    ],
)
def test_bad_focus(near: float, far: float, n: int, spacing: str, word: str) -> None:
    with pytest.raises(ParameterError, match=word):
        focus_distances(near, far, n, spacing)  # type: ignore[arg-type]


@pytest.mark.parametrize("level", [-0.1, np.nan, "much"])
def test_bad_noise(level: float) -> None:
    with pytest.raises(ParameterError, match="noise"):
        noise_power(level)
