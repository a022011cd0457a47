"""Focus coordinate, templates and the cost of a depth."""

from __future__ import annotations

import numpy as np
import pytest

from varfocus.curve import coordinate, likelihood, templates
from varfocus.errors import NoContrastError, ParameterError


def curves(axis, truth, width=1.0, exponent=2.0):
    """Contrast of pixels in focus at frames `truth`, shape (n, P)."""
    x, y = axis.x, axis.at(np.asarray(truth, float))
    raw = (1 + ((x[:, None] - y[None]) / width) ** 2 / exponent) ** -exponent
    return raw.astype(np.float32)


def volume_of(truth, axis, width=1.0):
    """Focus volume (n, H, W) of a depth map in frames."""
    return curves(axis, truth.ravel(), width).reshape(axis.n, *truth.shape)


AXES = [
    coordinate.frames(12),
    coordinate.position(np.linspace(-3.0, 5.0, 12)),
    coordinate.reciprocal(np.linspace(0.05, 0.5, 12)),
    coordinate.reciprocal(-np.linspace(0.05, 0.5, 12)),
    coordinate.hyperbolic(12, 0.2),
    coordinate.hyperbolic(12, 0.2, mirrored=True),
]


@pytest.mark.parametrize("axis", AXES, ids=lambda a: a.name)
def test_axes_are_strictly_monotone(axis):
    steps = np.diff(axis.at(np.linspace(0, axis.n - 1, 101)))
    assert (steps > 0).all() or (steps < 0).all()


def test_mirrored_axis_belongs_to_the_reversed_stack():
    k = np.linspace(0, 9, 31)
    plain, mirrored = coordinate.hyperbolic(10, 0.3), coordinate.hyperbolic(10, 0.3, mirrored=True)
    np.testing.assert_allclose(mirrored.at(9 - k), -plain.at(k))


def test_hyperbolic_axis_is_the_reciprocal_of_evenly_spaced_distances():
    focus = np.linspace(0.05, 0.5, 15)
    kappa = 0.05 / 0.45
    ratio = coordinate.hyperbolic(15, kappa).x / coordinate.reciprocal(focus).x
    np.testing.assert_allclose(ratio, ratio[0])


@pytest.mark.parametrize(("n", "labels"), [(3, 41), (8, 41), (15, 57), (33, 129), (373, 129)])
def test_label_count(n, labels):
    assert coordinate.label_count(n) == labels


@pytest.mark.parametrize("n", [15, 33, 61, 373])
def test_frames_beyond_need_add_no_labels(n):
    assert abs(coordinate.label_count(n, peak_width=0.25 * (n - 1)) - 61) <= 4
    assert coordinate.label_count(n, peak_width=1.0) == coordinate.label_count(n)


@pytest.mark.parametrize("axis", AXES, ids=lambda a: a.name)
def test_templates_have_unit_norm_and_zero_mean(axis):
    step = np.median(np.abs(np.diff(axis.x)))
    bank = templates.make_templates(axis, 1.5, step * np.array([0.7, 2.0]), 41)
    assert bank.shape == (2, 41, 12)
    np.testing.assert_allclose(np.linalg.norm(bank, axis=2), 1.0, rtol=1e-5)
    np.testing.assert_allclose(bank.mean(axis=2), 0.0, atol=1e-6)


def test_a_template_explains_itself_wholly_and_its_negative_not_at_all():
    bank = templates.make_templates(coordinate.frames(15), 2.0, np.array([1.0, 2.0]), 57)
    v = bank[1, 20][:, None]
    S = templates.explained(bank, np.concatenate([v, -v], axis=1))
    assert S[:, 0].argmax() == 20
    assert S[20, 0] == pytest.approx(1.0, rel=1e-5)
    assert S[20, 1] == 0.0


@pytest.mark.parametrize(
    "true",
    [coordinate.frames(15), coordinate.hyperbolic(15, 0.12), coordinate.hyperbolic(15, 0.35)],
    ids=lambda a: a.name,
)
def test_the_axis_is_found_from_the_curves(true, rng):
    width = 1.5 * np.median(np.abs(np.diff(true.x)))
    v = curves(true, rng.uniform(2, 12, 1500), width)
    v += 0.01 * rng.standard_normal(v.shape).astype(np.float32)
    found = templates.choose_axis(templates.candidate_axes(15), templates.centred(v)).coordinate
    # The axes of neighbouring κ hardly differ; curves do not lie on the far side of the lens.
    k = np.arange(15.0)
    assert abs(np.corrcoef(found.at(k), true.at(k))[0, 1]) > 0.98
    assert "mirrored" not in found.name


def test_fitted_widths_enclose_the_true_one(rng):
    axis = coordinate.frames(21)
    v = templates.centred(curves(axis, rng.uniform(4, 16, 1000), width=1.7, exponent=3.0))
    bank = templates.fit_bank(axis, v)
    assert bank.widths[0] < 1.75
    assert bank.widths[-1] > 1.65
    assert bank.widths[-1] / bank.widths[0] < 1.5
    assert bank.misfit < 0.01


def test_known_positions_win_unless_clearly_worse(rng):
    focus = np.linspace(0.05, 0.5, 15)
    true = coordinate.reciprocal(focus)
    v = templates.centred(curves(true, rng.uniform(2, 12, 1500), width=1.0))
    assert likelihood.focus_axis(v, "auto", focus).name == "reciprocal"
    flat = templates.centred(curves(coordinate.frames(15), rng.uniform(2, 12, 1500), width=1.5))
    assert likelihood.focus_axis(flat, "auto", 2e-6 * np.arange(15)).name == "position"
    # Positions that have nothing to do with the blur are not believed.
    assert likelihood.focus_axis(flat, "auto", focus).name == "position"
    found = likelihood.focus_axis(flat, "auto", 1.35 ** np.arange(15.0))
    assert found.bend is not None
    assert abs(found.bend) < 0.2


@pytest.mark.parametrize("wanted", ["position", "reciprocal"])
def test_a_coordinate_that_needs_positions_says_so(wanted):
    v = np.ones((5, 3), np.float32)
    with pytest.raises(ParameterError, match="focus positions"):
        likelihood.focus_axis(v, wanted, None)
    if wanted == "reciprocal":
        with pytest.raises(ParameterError, match="one sign"):
            likelihood.focus_axis(v, wanted, np.linspace(-1.0, 1.0, 5))


@pytest.fixture
def ramp(rng):
    truth = np.linspace(2.0, 12.0, 40)[None, :].repeat(30, axis=0)
    volume = volume_of(truth, coordinate.frames(15), 1.5)
    volume *= rng.uniform(0.5, 2.0, truth.shape).astype(np.float32)
    return truth, volume + 0.02 * rng.random(volume.shape, np.float32)


def cost_of(volume, scales=1):
    """Cost and model of a stack whose contrast is `volume` at all scales."""
    contrast = np.concatenate([volume] * scales)

    def curves(scale, rows, columns):
        return volume[:, rows, columns].reshape(len(volume), -1)

    model = likelihood.learn(curves, volume.shape[1:], scales, wanted="frames")
    return likelihood.cost_volume(contrast, model), model


def test_cost_is_lowest_at_the_truth_and_one_deep_on_average(ramp):
    truth, volume = ramp
    cost, model = cost_of(volume, scales=2)
    assert cost.dtype == np.float32
    assert cost.shape == (57, 30, 40)
    assert (cost <= 1e-6).all()
    assert cost.min(axis=0).mean() == pytest.approx(-1.0, rel=1e-4)
    error = cost.argmin(axis=0) * model.step - truth
    assert np.abs(error).max() < 0.3


@pytest.mark.parametrize("gain", [255.0, 0.25, 1e-4])
def test_cost_does_not_depend_on_the_gain(ramp, gain):
    _, volume = ramp
    np.testing.assert_allclose(cost_of(np.float32(gain) * volume)[0], cost_of(volume)[0], atol=2e-3)


def test_bands_do_not_show(ramp, monkeypatch):
    _, volume = ramp
    whole, _ = cost_of(volume)
    monkeypatch.setattr(likelihood, "BAND_VALUES", 57 * 40 * 7)
    np.testing.assert_allclose(cost_of(volume)[0], whole, atol=1e-5)


def test_a_grid_teaches_what_all_pixels_would(ramp, monkeypatch):
    _, volume = ramp
    _, whole = cost_of(volume)
    monkeypatch.setattr(likelihood, "NOISE_PIXELS", 300)
    _, sampled = cost_of(volume)
    assert sampled.depth_of_well == pytest.approx(whole.depth_of_well, rel=0.05)
    assert sampled.noise[0] == pytest.approx(whole.noise[0], rel=0.2)


@pytest.mark.parametrize(("length", "step"), [(30, 3), (31, 3), (32, 3), (1, 5), (4, 5), (100, 7)])
def test_sampling_grid_is_symmetric(length, step):
    picked = np.arange(length)[likelihood._centred_slice(length, step)]
    assert len(picked) > 0
    np.testing.assert_array_equal(picked, (length - 1 - picked)[::-1])


def test_constant_frames_are_refused():
    with pytest.raises(NoContrastError):
        cost_of(np.zeros((5, 8, 9), np.float32), scales=2)


def test_curves_without_noise_make_finite_costs():
    volume = volume_of(np.full((6, 7), 4.0), coordinate.frames(9), 1.0)
    assert np.isfinite(cost_of(volume)[0]).all()


@pytest.mark.parametrize("shape", [(60, 84), (61, 83), (300, 401), (512, 512), (3, 400)])
def test_half_of_the_pixels_are_the_same_of_a_turned_image(shape):
    """Every other one, and of an image turned over those that lie there."""
    part = likelihood.grid(shape, 2000)
    image = np.zeros(shape, bool)
    rows, columns = (np.arange(side)[cut] for side, cut in zip(shape, part, strict=True))
    image[np.ix_(rows, columns)] = likelihood.checkered(shape, part).reshape(rows.size, -1)
    np.testing.assert_array_equal(image, image[::-1])
    np.testing.assert_array_equal(image, image[:, ::-1])
    assert image.sum() == pytest.approx(rows.size * columns.size / 2, rel=0.1)
    turned = np.zeros(shape[::-1], bool)
    part = likelihood.grid(shape[::-1], 2000)
    rows, columns = (np.arange(side)[cut] for side, cut in zip(shape[::-1], part, strict=True))
    turned[np.ix_(rows, columns)] = likelihood.checkered(shape[::-1], part).reshape(rows.size, -1)
    np.testing.assert_array_equal(turned, image.T)
