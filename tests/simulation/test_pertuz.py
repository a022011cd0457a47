"""Pertuz's shapes: depth, frames and truth belong together."""

import numpy as np
import pytest

from varfocus.errors import ParameterError
from varfocus.simulation import SHAPES, make_texture, shape_depth, simulate
from varfocus.simulation.pertuz import simulate_shape


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("shape", [(360, 360), (21, 34)])
def test_depth_fills_the_range(name: str, shape: tuple[int, int]) -> None:
    depth = shape_depth(name, shape)
    assert depth.shape == shape
    assert depth.dtype == np.float32
    assert depth.min() == pytest.approx(0.05)
    assert depth.max() == pytest.approx(0.5)


def test_shapes_look_as_they_are_called() -> None:
    n = 41
    cone, plane, cosine, sphere = (shape_depth(name, (n, n)) for name in SHAPES)
    assert cone[20, 20] == sphere[20, 20] == cosine[20, 20] == np.float32(0.05)
    assert cone[0, 0] == sphere[0, 0] == plane[-1, -1] == np.float32(0.5)
    np.testing.assert_allclose(np.diff(cone[20, 20:]), 0.45 * 0.025 / np.sqrt(0.5), rtol=1e-4)
    np.testing.assert_allclose(plane[-1], np.linspace(0.05, 0.5, n), rtol=1e-5)
    np.testing.assert_array_equal(plane[0], np.float32(0.05))
    np.testing.assert_allclose(cosine, cosine.T)


def test_the_pixel_in_focus_is_the_texture() -> None:
    focus = [0.2, 0.3, 0.4]
    sim = simulate_shape("cone", shape=(60, 60), focus=focus, noise=0, dtype="float32")
    for k, distance in enumerate(focus):
        # Below σ = 0.1 px the neighbour's weight is exp(−50).
        close = np.abs(1 / sim.truth_depth - 1 / distance) * 0.84375 < 0.1
        assert close.any()
        np.testing.assert_allclose(sim.frames[k][close], sim.sharp[close], atol=1e-6)


def test_truth_index_and_depth_agree() -> None:
    sim = simulate("sphere", shape=(40, 50), n=9)
    again = np.interp(sim.truth_index, np.arange(9), sim.focus)
    np.testing.assert_allclose(again, sim.truth_depth, atol=1e-6)
    assert sim.truth_index.min() >= 0
    assert sim.truth_index.max() <= 8


def test_default_is_the_specification() -> None:
    sim = simulate("cone", shape=(24, 24))
    assert sim.frames.dtype == np.uint8
    np.testing.assert_array_equal(sim.focus, np.linspace(0.05, 0.5, 15))
    assert sim.stack.unit == "m"
    assert sim.stack.shape == (24, 24)
    assert len(sim.stack) == len(sim) == 15


def test_a_texture_of_ones_own() -> None:
    texture = (255 * make_texture((31, 45), 5)).astype(np.uint8)
    whole = simulate("plane", texture=texture, n=3)
    assert whole.frames.shape == (3, 31, 45)
    part = simulate("plane", texture=texture, shape=(21, 25), n=3)
    np.testing.assert_array_equal(part.sharp, texture[5:26, 10:35] / np.float32(255))
    colour = simulate("plane", texture=np.stack([texture] * 3, axis=-1), n=3, noise=0)
    np.testing.assert_array_equal(
        colour.frames[..., 1], simulate("plane", texture=texture, n=3, noise=0).frames
    )


@pytest.mark.parametrize(("dtype", "step"), [("uint8", 255), ("uint16", 65535), ("float32", 1)])
def test_number_types_hold_the_same_picture(dtype: str, step: int) -> None:
    exact = simulate("cone", shape=(20, 20), n=4, dtype="float32").frames
    frames = simulate("cone", shape=(20, 20), n=4, dtype=dtype).frames  # type: ignore[arg-type]
    assert frames.dtype == dtype
    np.testing.assert_allclose(frames / step, exact, atol=0.51 / step)


def test_same_seed_same_bits() -> None:
    first, again, other = (simulate("cosine", shape=(30, 30), seed=s) for s in (4, 4, 5))
    assert np.array_equal(first.frames, again.frames)
    assert not np.array_equal(first.frames, other.frames)


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ({"shape": (0, 5)}, "shape"),
        ({"shape": (5,)}, "shape"),
        ({"shape": "big"}, "shape"),
        ({"n": 1}, "n = "),
        ({"seed": -1}, "seed"),
        ({"noise": -1.0}, "noise"),
        ({"kappa": np.inf}, "kappa"),
        ({"focus": [0.1, 0.1]}, "focus"),
        ({"focus": [0.1, 0.2], "n": 3}, "n:"),
        ({"texture": np.zeros((4, 4)), "shape": (5, 5)}, "texture.*\n.*at least 5×5"),
        ({"texture": np.full((9, 9), np.nan)}, "texture"),
        ({"texture": np.full((9, 9), 2.0)}, "texture"),
        ({"texture": np.zeros((9, 9), int)}, "texture"),
        ({"texture": np.zeros((9, 9, 2))}, "texture"),
        ({"dtype": "int8"}, "dtype"),
    ],
)
def test_bad_arguments(arguments: dict[str, object], word: str) -> None:
    given = {"shape": (8, 8)} if "texture" not in arguments else {}
    with pytest.raises(ParameterError, match=word):
        simulate("cone", **{**given, **arguments})  # type: ignore[arg-type]


def test_unknown_name_lists_the_names() -> None:
    with pytest.raises(ParameterError, match=r"cone.*sphere.*steps.*table"):
        simulate("cube")
