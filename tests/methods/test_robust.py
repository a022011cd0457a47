"""The robust method as a whole, on small scenes."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from varfocus import FocusStack, reconstruct, simulate
from varfocus.contrast import gradient_energy, jump_weight
from varfocus.curve import coordinate
from varfocus.curve.likelihood import Model
from varfocus.curve.peaks import Peaks
from varfocus.curve.templates import Bank
from varfocus.depth import physical_error
from varfocus.energy.operators import K, norm_21
from varfocus.errors import NoContrastError, ParameterError, VarfocusWarning
from varfocus.methods.robust import end_labels, overshadowed
from varfocus.minimise.semi_global import lowest
from varfocus.params import Params
from varfocus.pipeline import estimate
from varfocus.studies.metrics import bad_pixels, rmse

pytestmark = pytest.mark.filterwarnings("ignore::varfocus.errors.VarfocusWarning")


def robust(frames, focus=None, **keywords):
    stack = FocusStack.from_array(frames, focus, None if focus is None else "m")
    return estimate(stack, Params.from_keywords("robust", **keywords))


@pytest.fixture(scope="module")
def cone():
    return simulate("cone", shape=(72, 84), seed=1)


@pytest.fixture(scope="module")
def found(cone):
    return robust(cone.frames)


@pytest.mark.parametrize(
    ("name", "largest"), [("cone", 0.50), ("plane", 0.20), ("cosine", 0.45), ("sphere", 0.35)]
)
def test_known_surfaces_are_recovered(name, largest):
    scene = simulate(name, shape=(72, 84), seed=1)
    assert rmse(robust(scene.frames).index, scene.truth_index) < largest
    assert rmse(robust(scene.frames, scene.focus).index, scene.truth_index) < largest


def test_layers_are_recovered():
    scene = simulate("steps", shape=(96, 120), seed=1)
    found = robust(scene.frames)
    assert bad_pixels(found.index, scene.truth_index) < 0.08
    paper = estimate(scene.stack, Params.from_keywords("paper"))
    assert rmse(found.index, scene.truth_index) < rmse(paper.index, scene.truth_index)


@pytest.mark.parametrize("n", [8, 101])
def test_few_and_many_frames(n):
    scene = simulate("slants", shape=(64, 80), n=n, seed=0, colour=False)
    error = np.abs(robust(scene.frames).index - scene.truth_index) / (n - 1)
    assert np.nanmedian(error) < 0.02


@pytest.mark.parametrize("gain", [255.0, 0.25])
def test_gain_does_not_matter(cone, found, gain):
    scaled = cone.frames.astype(np.float32) * np.float32(gain / 255.0)
    off = np.abs(robust(scaled).index - found.index)
    # Contrast of floats is not rounded as that of integers is; at the rim little speaks.
    assert np.percentile(off, 97) < 0.02
    assert off.max() < 0.1


def test_bit_depth_does_not_matter(cone, found):
    wide = robust(cone.frames.astype(np.uint16) * 257)
    np.testing.assert_allclose(wide.index, found.index, atol=0.02)


TURNS = {
    "left-right": lambda a: a[..., ::-1],
    "up-down": lambda a: a[..., ::-1, :],
    "transposed": lambda a: np.swapaxes(a, -1, -2),
}


@pytest.mark.parametrize("name", TURNS)
def test_flips_and_transposition_turn_the_result_alike(cone, found, name):
    turned = robust(TURNS[name](cone.frames)).index
    assert rmse(turned, TURNS[name](found.index)) < 0.02


def test_reversal_reverses_the_depth(cone, found):
    backwards = robust(cone.frames[::-1]).index
    assert rmse(len(cone) - 1 - backwards, found.index) < 0.02


def test_smoothness_is_monotone(cone):
    noisy = simulate("cone", shape=(72, 84), seed=1, noise=1.0).frames
    variation = [norm_21(K(robust(noisy, smoothness=s).index)) for s in (0.25, 0.5, 1.0, 16.0)]
    assert all(a > b for a, b in itertools.pairwise(variation))


@pytest.mark.parametrize("shape", [(40, 1), (1, 40), (3, 3)])
def test_tiny_images(rng, shape):
    frames = rng.random((9, *shape))
    found = robust(frames)
    assert found.index.shape == shape
    assert np.isfinite(found.index).all()
    assert np.isfinite(found.sigma).all()


def test_three_frames_suffice(rng):
    assert np.isfinite(robust(rng.random((3, 20, 24))).index).all()


def test_constant_frames_are_refused():
    with pytest.raises(NoContrastError):
        robust(np.full((5, 20, 20), 0.5))


@pytest.mark.parametrize("n", [15, 41])
@pytest.mark.parametrize("noise", [0.05, 2.0])
@pytest.mark.parametrize("name", ["plane", "sphere", "cosine"])
def test_error_and_its_estimate_agree(name, noise, n):
    """On a seed that σ was not fitted to; most scenes have more than 68 % within σ."""
    scene = simulate(name, shape=(112, 128), n=n, seed=11, noise=noise)
    found = robust(scene.frames)
    error = np.abs(found.index - scene.truth_index)
    assert 0.4 < np.mean(error <= found.sigma) < 0.93
    assert 0.75 < np.mean(error <= 2 * found.sigma) <= 1.0


def test_uncertainty_is_in_units_of_depth(cone):
    result = reconstruct(cone.stack, method="robust")
    assert result.unit == "m"
    assert result.uncertainty.shape == result.depth.shape
    assert 0 < np.median(result.uncertainty) < 0.05
    frames = physical_error(result.index, result.uncertainty, None)
    np.testing.assert_array_equal(frames, result.uncertainty)


def test_physical_error_follows_uneven_steps_and_survives_the_ends():
    focus = np.array([0.0, 1.0, 3.0, 7.0])
    index = np.array([[0.5, 1.5, 2.5, 0.0, 3.0]], np.float32)
    sigma = np.full_like(index, 0.1)
    np.testing.assert_allclose(
        physical_error(index, sigma, focus), [[0.1, 0.2, 0.4, 0.1, 0.4]], rtol=1e-4
    )


def test_nothing_but_noise_is_unknown(rng):
    frames = np.clip(rng.normal(0.5, 0.02, (15, 60, 70)), 0, 1)
    frames[:, :, :25] = simulate("cone", shape=(60, 70), seed=0).frames[:, :, :25] / 255.0
    with pytest.warns(VarfocusWarning, match="noise"):
        result = reconstruct(frames, method="robust", unknown="nan")
    unknown = np.isnan(result.depth)
    assert unknown[:, 45:].mean() > 0.8
    assert unknown[:, :18].mean() < 0.1
    assert np.isfinite(result.index).all()
    filled = reconstruct(frames, method="robust")
    assert np.isfinite(filled.depth).all()


def test_faint_peaks_are_weakened_beside_strong_ones():
    bank = Bank(coordinate.frames(11), 2.0, np.array([1.0]), 0.1)
    ends = end_labels(Model(bank.coordinate, (Peaks.of_formula(bank),), (1.0,), 41, 1.0))
    strength = np.full((9, 30), 0.01, np.float32)
    strength[:, :2] = 1.0
    lost = overshadowed(strength)
    assert ends[0] == ends[-1] == 1.0
    assert (ends[4:37] == np.float32(0.9)).all()  # a frame from the end
    assert lost[4, 5] > 0.9  # faint, beside something strong
    assert lost[4, 0] == 0.0  # strong itself
    assert lost[4, 29] == 0.0  # faint, but nothing stronger is near


def test_picture_edges_make_jumps_cheap():
    image = np.zeros((9, 12), np.float32)
    image[:, 6:] = 1.0
    image += 0.01 * np.arange(12, dtype=np.float32)
    weight = jump_weight(gradient_energy(image))
    assert weight[4, 5] == weight[4, 6] == pytest.approx(0.2)
    assert weight[4, 2] > 1.0
    assert (jump_weight(np.zeros((3, 3), np.float32)) == 4.0).all()


def test_parameters_of_the_method():
    with pytest.raises(ParameterError, match="belongs to 'paper'"):
        Params.from_keywords("robust", alpha=0.3)
    with pytest.raises(ParameterError, match="smoothness"):
        Params.from_keywords("robust", smoothness=0.0)
    with pytest.raises(ParameterError, match="coordinate"):
        Params.from_keywords("robust", coordinate="dioptre")
    keywords = Params.from_keywords("robust", smoothness=2.0).as_keywords()
    assert Params.from_keywords(**keywords).robust.smoothness == 2.0


def test_lowest_of_a_flat_curve_is_defined():
    assert np.isfinite(lowest(np.zeros((5, 2, 2), np.float32))).all()
