"""What peaks of contrast look like, learnt from the stack."""

from __future__ import annotations

import numpy as np
import pytest

from varfocus import engine
from varfocus.curve import coordinate, peaks, templates

N = 15


def flat_topped(t):
    """All frames blurred by less than a pixel are as sharp; an aperture's flank is no formula."""
    return np.where(t < 0.8, 1.0, 0.15 + 0.85 / (1.0 + ((t - 0.8) / 0.6) ** 2))


def curves(rng, y, axis=None, noise=0.01):
    """Contrast of pixels in focus at frames y with amplitudes and offsets of their own."""
    axis = axis or coordinate.frames(N)
    step = np.median(np.abs(np.diff(axis.x)))
    away = np.abs(axis.x[:, None] - axis.at(np.asarray(y))[None]) / step
    raw = rng.uniform(0.5, 2.0, len(y)) * flat_topped(away) + rng.uniform(0.0, 0.3, len(y))
    raw += noise * rng.standard_normal(raw.shape)
    return templates.centred(raw.astype(np.float32))


@pytest.fixture
def sampled(rng):
    v = curves(rng, rng.uniform(1.0, N - 2.0, 3000))
    bank = templates.fit_bank(coordinate.frames(N), v)
    return v, bank, peaks.learnt(bank, v)


def found_at(shape, v, labels=57):
    """Return where in frames templates match curves best."""
    label = templates.best_match(shape.templates(labels), v)[2]
    return label * (N - 1) / (labels - 1)


def explained(shape, v):
    """Return the mean share of curves that templates explain."""
    best = templates.best_match(shape.templates(57), v)[0]
    return float(np.mean(np.maximum(best, 0.0) ** 2 / np.sum(v * v, axis=0)))


def test_the_shape_is_found_whatever_the_formula(sampled):
    _, bank, shape = sampled
    t, s = shape.typical()
    base = flat_topped(np.array(1e9))
    near = t < 5.0
    true = (flat_topped(t) - base) / (1.0 - base)
    assert np.abs(s - true)[near].max() < 0.12
    formula = templates.formula(t, bank.exponent, float(bank.widths[2]))
    assert np.abs(s - true)[near].mean() < 0.5 * np.abs(formula - true)[near].mean()


def test_where_one_flank_is_seen_the_shape_says_where_the_middle_is(sampled, rng):
    _, bank, shape = sampled
    y = rng.uniform(N - 1.4, N - 1.05, 800)
    v = curves(rng, y)
    before = np.mean(found_at(peaks.Peaks.of_formula(bank), v) - y)
    after = np.mean(found_at(shape, v) - y)
    assert abs(before) > 0.2
    assert abs(after) < 0.1


def test_learning_explains_more_and_never_less(sampled, rng):
    v, bank, shape = sampled
    plain = peaks.Peaks.of_formula(bank)
    assert 1.0 - explained(shape, v) < 0.6 * (1.0 - explained(plain, v))
    # Peaks that the formula describes already.
    axis = coordinate.frames(N)
    y = rng.uniform(2.0, N - 3.0, 2000)
    raw = templates.formula(np.abs(axis.x[:, None] - y), 2.0, 1.5).astype(np.float32)
    v = templates.centred(raw + 0.01 * rng.standard_normal(raw.shape).astype(np.float32))
    bank = templates.fit_bank(axis, v)
    assert explained(peaks.learnt(bank, v), v) > explained(peaks.Peaks.of_formula(bank), v) - 1e-3


@pytest.mark.parametrize(
    "axis",
    [coordinate.frames(N), coordinate.reciprocal(np.linspace(0.05, 0.5, N))],
    ids=lambda a: a.name,
)
def test_peaks_fall_from_one_to_nothing(axis, rng):
    v = curves(rng, rng.uniform(1.0, N - 2.0, 1500), axis, noise=0.1)
    shape = peaks.learnt(templates.fit_bank(axis, v), v)
    for t, s in zip(shape.distance, shape.height, strict=True):
        assert t[0] == 0.0
        assert t[-1] >= abs(axis.x[-1] - axis.x[0])
        assert (np.diff(t) > 0).all()
        assert s[0] == 1.0
        assert s[-1] == 0.0
        assert (np.diff(s) <= 0).all()
    made = shape.templates(41)
    np.testing.assert_allclose(np.linalg.norm(made, axis=2), 1.0, rtol=1e-5)
    np.testing.assert_allclose(made.mean(axis=2), 0.0, atol=1e-6)


def test_neither_gain_nor_the_direction_of_the_stack_matters(sampled):
    v, bank, shape = sampled
    brighter = peaks.learnt(bank, 256 * v)
    backwards = peaks.learnt(bank, np.ascontiguousarray(v[::-1]))
    for other in (brighter, backwards):
        for one, two in zip(shape.height, other.height, strict=True):
            np.testing.assert_allclose(one, two, atol=2e-3)


def test_too_few_pixels_teach_nothing(rng):
    v = curves(rng, rng.uniform(2.0, N - 3.0, peaks.FEWEST - 1))
    bank = templates.fit_bank(coordinate.frames(N), v)
    plain = peaks.Peaks.of_formula(bank)
    for one, two in zip(plain.height, peaks.learnt(bank, v).height, strict=True):
        np.testing.assert_array_equal(one, two)


def test_the_formula_between_knots_is_the_formula():
    bank = templates.Bank(coordinate.frames(N), 1.5, np.array([0.8, 2.0]), 0.0)
    plain = templates.make_templates(bank.coordinate, 1.5, bank.widths, 57)
    np.testing.assert_allclose(peaks.Peaks.of_formula(bank).templates(57), plain, atol=0.01)


def test_three_frames_are_enough_to_run(rng):
    v = templates.centred(rng.random((3, 500), np.float32))
    shape = peaks.learnt(templates.fit_bank(coordinate.frames(3), v), v)
    assert np.isfinite(shape.templates(41)).all()


def test_the_engine_learns_the_same(sampled):
    v, bank, shape = sampled
    with engine.switched_off():
        other = peaks.learnt(bank, v)
    for one, two in zip(shape.height, other.height, strict=True):
        np.testing.assert_allclose(one, two, atol=5e-3)


@pytest.mark.parametrize("kappa", [0.42, 1.0, None], ids=str)
def test_the_axis_is_that_on_which_learnt_peaks_explain_most(kappa, rng):
    true = coordinate.frames(N) if kappa is None else coordinate.hyperbolic(N, kappa)
    v = curves(rng, rng.uniform(1.0, N - 2.0, 1500), true)
    for away in (-0.5, 0.0, 0.5):  # whichever a formula preferred
        found = peaks.settled(coordinate.bent(N, true.bend + away), v)
        # Axes that are almost alike explain almost as much.
        assert np.corrcoef(found.x, true.x)[0, 1] > 0.99
        assert abs(found.bend - true.bend) < (0.4 if kappa else 0.1)
        assert coordinate.by_name(found.name, N, None).bend == found.bend


def test_the_lowest_place_is_that_of_the_parabola():
    places = [1.2, 0.8, 1.0]
    valley = {x: 3.0 + 2.0 * (x - 0.93) ** 2 for x in places}
    assert peaks.lowest_between(valley, places) == pytest.approx(0.93)
    hill = {x: -value for x, value in valley.items()}
    assert peaks.lowest_between(hill, places) == 1.0
    assert peaks.lowest_between(valley, [1.0]) == 1.0


def test_a_stack_seen_backwards_has_the_axis_seen_backwards(rng):
    axis = coordinate.hyperbolic(N, 0.3)
    v = curves(rng, rng.uniform(1.0, N - 2.0, 1500), axis)
    start = coordinate.bent(N, 1.0)
    found = peaks.settled(start, v)
    turned = peaks.settled(coordinate.bent(N, -start.bend), np.ascontiguousarray(v[::-1]))
    assert turned.bend == pytest.approx(-found.bend, abs=1e-9)
