"""Odd numbers in: finite numbers out, or a refusal in words; never NaN that is not marked unknown.

Alignment and the edge stage are on wherever the frames are large enough for them.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from command_line import files_below, varfocus, write_frames
from varfocus import engine, errors, reconstruct, simulate
from varfocus.align import align
from varfocus.energy import ContrastTerm
from varfocus.errors import NoContrastError, NotFiniteError, SolverError
from varfocus.methods import paper
from varfocus.minimise import MINIMISERS, minimise
from varfocus.params import AlignParams, SolverParams
from varfocus.stack import FocusStack

METHODS = ("robust", "paper", "classic")
SCENE = simulate("steps", shape=(130, 140), n=8).frames[..., 1]
"""Large enough to be aligned, with jumps for the edge stage."""


def sharp_in_one_frame() -> np.ndarray:
    frames = np.full((7, 40, 50), 128, np.uint8)
    frames[3] = np.random.default_rng(1).integers(0, 256, (40, 50))
    return frames


def two_values() -> np.ndarray:
    values = np.random.default_rng(2).integers(0, 2, (6, 40, 50))
    return (values * 255).astype(np.uint8)


def one_bright_pixel() -> np.ndarray:
    frames = np.zeros((5, 30, 30), np.uint16)
    frames[2, 15, 15] = 65535
    return frames


def random_frames(*shape: int, dtype: type = np.uint8) -> np.ndarray:
    return np.random.default_rng(3).integers(0, 256, shape).astype(dtype)


STACKS = {
    "a scene": lambda: SCENE,
    "colour": lambda: np.stack([SCENE] * 3, axis=-1)[:, :60, :60],
    "nearly black": lambda: (SCENE // 128).astype(np.uint8),
    "nearly saturated": lambda: np.maximum(SCENE, 250),
    "saturated but for a few": lambda: np.maximum(SCENE, 254),
    "half saturated": lambda: np.where(SCENE > 100, 255, SCENE).astype(np.uint8),
    "two values": two_values,
    "sharp in one frame": sharp_in_one_frame,
    "one bright pixel": one_bright_pixel,
    "all frames alike": lambda: np.repeat(SCENE[3:4], 6, axis=0),
    "every frame twice": lambda: np.repeat(SCENE, 2, axis=0),
    "scrambled": lambda: SCENE[[3, 0, 6, 1, 7, 4, 2, 5]],
    "backwards": lambda: SCENE[::-1],
    "a black frame": lambda: SCENE * (np.arange(8) != 4)[:, None, None].astype(np.uint8),
    "a white frame": lambda: np.where(np.arange(8)[:, None, None] == 4, 255, SCENE).astype(
        np.uint8
    ),
    "1×N": lambda: random_frames(5, 1, 37),
    "N×1": lambda: random_frames(5, 37, 1),
    "1×1": lambda: random_frames(5, 1, 1),
    "2×2": lambda: random_frames(4, 2, 2),
    "3×3 in colour": lambda: random_frames(4, 3, 3, 3),
    "1×2000": lambda: random_frames(4, 1, 2000),
    "three frames": lambda: SCENE[2:5],
    "three tiny frames": lambda: random_frames(3, 4, 5),
    "tiny numbers": lambda: SCENE[:, :50, :50].astype(np.float32) * 1e-30,
    "large numbers": lambda: SCENE[:, :50, :50].astype(np.float32) * 3e12,
    "huge numbers": lambda: SCENE[:, :50, :50].astype(np.float32) * 1e30,
    "the largest numbers": lambda: random_frames(5, 9, 9).astype(np.float32) * 1.3e36,
    "denormal numbers": lambda: random_frames(5, 9, 9).astype(np.float32) * 1e-44,
    "negative numbers": lambda: SCENE[:, :50, :50].astype(np.float32) - 300.0,
    "float64": lambda: SCENE[:, :50, :50] / 255.0,
    "a lone step": lambda: np.repeat(
        np.where(np.arange(40) < 20, 10, 200).astype(np.uint8)[None, None], 5, 0
    ).repeat(30, 1),
}
"""Finite stacks of which some can hardly be called one."""

REFUSED = {
    "nearly saturated": "structure",
    "saturated but for a few": "structure",
    "all frames alike": "structure",
    "1×1": "structure",
    "a lone step": "structure",
    "denormal numbers": "structure",
    "huge numbers": "Divide all",
    "the largest numbers": "Divide all",
}
"""Those that may be told what is wrong with them instead."""

FEATURELESS = {
    "black": np.zeros((5, 30, 40), np.uint8),
    "saturated": np.full((5, 30, 40), 65535, np.uint16),
    "constant": np.full((5, 30, 40), 0.3, np.float32),
    "flat frames of different brightness": np.repeat(
        np.arange(5, dtype=np.uint8)[:, None, None] * 40, 30, 1
    ).repeat(40, 2),
    "one black pixel a frame": np.zeros((5, 1, 1), np.uint8),
}
"""Nothing can be in focus, whatever the method."""


def assert_sound(result, n: int) -> None:
    """Everything is finite and in range but the depth that is marked unknown."""
    assert np.isfinite(result.index).all()
    assert (result.index >= 0).all()
    assert (result.index <= n - 1).all()
    assert np.isfinite(result.depth).all()
    assert np.isfinite(result.confidence).all()
    assert ((result.confidence >= 0) & (result.confidence <= 1)).all()
    assert np.isfinite(result.fused).all()
    assert (result.source < n).all()
    if result.uncertainty is not None:
        assert not np.isnan(result.uncertainty).any()
        assert (result.uncertainty >= 0).all()


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", STACKS)
def test_finite_in_finite_out(name, method):
    frames = STACKS[name]()
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        warnings.simplefilter("ignore", errors.VarfocusWarning)
        try:
            result = reconstruct(frames, method=method)
        except errors.InputError as error:
            said = str(error)
        else:
            assert_sound(result, len(result.stack))
            return
    assert name in REFUSED, said
    assert REFUSED[name] in said


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", FEATURELESS)
def test_nothing_in_focus_is_said(name, method):
    with pytest.raises(NoContrastError) as refusal:
        reconstruct(FEATURELESS[name], method=method)
    assert "structure" in str(refusal.value)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("frame", [0, 4, 7])
def test_what_is_no_number_is_refused_by_frame(method, value, frame):
    frames = SCENE[:, :40, :40].astype(np.float32)
    frames[frame, 5, 7] = value
    with pytest.raises(NotFiniteError, match=rf"frame {frame}: 1 of 1600 values"):
        reconstruct(frames, method=method)


@pytest.mark.parametrize("method", ["robust"])
def test_unknown_depth_is_marked_and_nothing_else_is_nan(method):
    frames = SCENE.copy()
    frames[:, :, 80:] = 128  # nothing to see there
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", errors.VarfocusWarning)
        result = reconstruct(frames, method=method, unknown="nan")
    assert np.isnan(result.depth[:, 100:]).all()
    np.testing.assert_array_equal(np.isnan(result.depth), ~result.known)
    assert np.isfinite(result.confidence).all()
    assert np.isfinite(result.fused).all()


def test_scrambled_frames_are_reported():
    scene = simulate("cone", shape=(140, 150), n=8)
    _, alignment = align(
        FocusStack.from_array(scene.frames[[3, 0, 6, 1, 7, 4, 2, 5]]), AlignParams()
    )
    assert any("order" in warning for warning in alignment.warnings)


# A solver that goes wrong


@pytest.mark.parametrize("solver", sorted(MINIMISERS))
@pytest.mark.parametrize("by", ["kernels", "array code"])
def test_a_diverging_solver_is_caught_with_its_last_good_iterate(solver, by, monkeypatch):
    if by == "array code":
        monkeypatch.setattr(engine, "in_use", lambda: False)
    a = np.random.default_rng(5).normal(size=(9, 24, 31)).astype(np.float32)
    a[:, 3, 4] = 3e38  # finite, and its energy is not
    d = np.zeros((24, 31), np.float32)
    with pytest.raises(SolverError) as caught:
        minimise(ContrastTerm(a), d, SolverParams(solver=solver, iterations=20))
    assert caught.value.exit_code == 5
    assert "diverged" in caught.value.received
    assert caught.value.state is not None
    assert np.isfinite(caught.value.state.d).all()


@pytest.mark.parametrize("solver", sorted(MINIMISERS))
def test_the_command_ends_with_code_5_and_leaves_nothing(capsys, tmp_path, monkeypatch, solver):
    """No input is known that makes a solver diverge; so one curve is spoilt on the way to it."""
    original = paper.sharpness_curves

    def spoilt(*arguments):
        a, index = original(*arguments)
        a[:, 3, 4] = 3e38
        return a, index

    monkeypatch.setattr(paper, "sharpness_curves", spoilt)
    frames = write_frames(tmp_path / "in", random_frames(9, 40, 40))
    before = files_below(tmp_path)
    said = varfocus(
        *(capsys, "depth", frames, "-o", tmp_path / "out", "--method", "paper"),
        *("--solver", solver, "--iterations", 20),
    )
    assert said.code == 5, said.err
    assert "diverged in iteration" in said.err
    assert "Lower tau" in said.err
    assert "Traceback" not in said.err
    assert files_below(tmp_path) == before


# Any small stack whatever


@st.composite
def small_stacks(draw):
    n, height, width = draw(st.integers(3, 7)), draw(st.integers(1, 14)), draw(st.integers(1, 14))
    shape = (n, height, width) + ((3,) if draw(st.booleans()) else ())
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    dtype = draw(st.sampled_from([np.uint8, np.uint16, np.float32, np.float64]))
    kind = draw(st.sampled_from(["noise", "binary", "ramp", "sparse", "constant"]))
    base = {
        "noise": lambda: rng.random(shape),
        "binary": lambda: rng.integers(0, 2, shape).astype(float),
        "ramp": lambda: np.linspace(0, 1, int(np.prod(shape))).reshape(shape),
        "sparse": lambda: (rng.random(shape) > 0.97).astype(float),
        "constant": lambda: np.full(shape, rng.random()),
    }[kind]()
    if np.issubdtype(dtype, np.integer):
        return (base * np.iinfo(dtype).max).astype(dtype)
    scale = 10.0 ** draw(st.integers(-20, 20))
    return (base * scale - draw(st.sampled_from([0.0, 0.5])) * scale).astype(dtype)


def check_any_stack(frames, method, knobs):
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        warnings.simplefilter("ignore", errors.VarfocusWarning)
        try:
            result = reconstruct(frames, method=method, **knobs)
        except (errors.InputError, SolverError):
            return
    assert_sound(result, len(result.stack))


KNOBS = st.sampled_from(
    [
        ("robust", {}),
        ("robust", {"smoothness": 10.0}),
        ("paper", {"iterations": 20}),
        ("paper", {"solver": "admm", "iterations": 5}),
        ("paper", {"alpha": 0.0}),
        ("paper", {"regulariser": "tgv", "iterations": 4}),
        ("classic", {}),
        ("classic", {"window": 1, "median": 3, "tv_weight": 0.5}),
    ]
)


@settings(max_examples=40)
@given(small_stacks(), KNOBS)
def test_any_small_stack(frames, chosen):
    check_any_stack(frames, *chosen)


@pytest.mark.slow
@settings(max_examples=2000)
@given(small_stacks(), KNOBS)
def test_any_of_two_thousand_small_stacks(frames, chosen):
    check_any_stack(frames, *chosen)
