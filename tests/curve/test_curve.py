"""The contrast curve and the data term built on it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.polynomial import chebyshev

from varfocus import curve
from varfocus.energy import ContrastTerm, QuadraticTerm, energy
from varfocus.energy.operators import K, norm_21


@pytest.fixture
def coefficients(rng):
    return rng.standard_normal((9, 5, 6))


def test_frames_span_the_axis_and_indices_map_back():
    x = curve.focus_axis(7)
    assert x[0] == -10
    assert x[-1] == 10
    np.testing.assert_allclose(curve.x_to_index(x, 7), np.arange(7), atol=1e-14)
    np.testing.assert_allclose(curve.index_to_x(np.arange(7), 7), x, atol=1e-14)


@given(st.integers(3, 40), st.data())
def test_fit_reproduces_polynomials_exactly(n, data):
    degree = data.draw(st.integers(0, min(n - 1, 8)))
    a = np.random.default_rng(n).standard_normal((degree + 1, 2, 3))
    values = np.stack([curve.evaluate(a, x) for x in curve.focus_axis(n)])
    np.testing.assert_allclose(curve.fit(values, degree), a, atol=1e-9)


def test_fit_is_least_squares(rng):
    values = rng.standard_normal((20, 4, 4))
    a = curve.fit(values, 8)
    t = curve.focus_axis(20) / 10
    expected = chebyshev.chebfit(t, values.reshape(20, -1), 8).reshape(9, 4, 4)
    np.testing.assert_allclose(a, expected, atol=1e-12)


def test_frame_by_frame_equals_all_at_once(rng):
    values = rng.random((373, 3, 4)).astype(np.float32)
    fit = curve.CurveFit(373, 8)
    for k, frame in enumerate(values):
        fit.add(k, frame)
    exact = curve.fit(values.astype(np.float64), 8)
    assert fit.coefficients.dtype == np.float32
    np.testing.assert_allclose(fit.coefficients, exact, atol=2e-6)


def test_evaluate_agrees_with_numpy(coefficients, rng):
    x = rng.uniform(-10, 10, coefficients.shape[1:])
    expected = [
        chebyshev.chebval(x[i, j] / 10, coefficients[:, i, j]) for i, j in np.ndindex(x.shape)
    ]
    np.testing.assert_allclose(curve.evaluate(coefficients, x).ravel(), expected, atol=1e-12)


@pytest.mark.parametrize("degree", [0, 1, 2, 3, 8])
def test_derivatives_agree_with_finite_differences(rng, degree):
    a = rng.standard_normal((degree + 1, 4, 4))
    x = rng.uniform(-9, 9, (4, 4))
    slope, h = curve.derivative(a), 1e-5
    numeric = (curve.evaluate(a, x + h) - curve.evaluate(a, x - h)) / (2 * h)
    np.testing.assert_allclose(curve.evaluate(slope, x), numeric, atol=1e-7)
    bend = curve.derivative(slope)
    numeric = (curve.evaluate(slope, x + h) - curve.evaluate(slope, x - h)) / (2 * h)
    np.testing.assert_allclose(curve.evaluate(bend, x), numeric, atol=1e-7)


def test_argmax_is_the_global_maximum(rng):
    a = rng.standard_normal((9, 20, 20))
    x = curve.argmax(a)
    dense = np.stack([curve.evaluate(a, s) for s in np.linspace(-10, 10, 4001)])
    assert (np.abs(x) <= 10).all()
    assert (curve.evaluate(a, x) >= dense.max(axis=0) - 1e-9).all()


def test_argmax_of_a_known_parabola():
    peak = np.array([[-10.0, -3.3, 0.0, 7.77]])
    values = np.stack([1 - (x - peak) ** 2 for x in curve.focus_axis(9)])
    np.testing.assert_allclose(curve.argmax(curve.fit(values, 2)), peak, atol=1e-6)


def test_degree_is_bounded_by_the_frames():
    assert [curve.largest_degree(n) for n in (3, 5, 7, 8, 15, 33)] == [2, 3, 4, 4, 8, 17]


@pytest.mark.parametrize("make", [ContrastTerm, lambda a: QuadraticTerm(a[0])])
def test_gradient_of_D_agrees_with_finite_differences(coefficients, rng, make):
    data = make(coefficients)
    d = rng.uniform(-9, 9, coefficients.shape[1:])
    direction, h = rng.standard_normal(d.shape), 1e-6
    numeric = (data.value(d + h * direction) - data.value(d - h * direction)) / (2 * h)
    assert np.vdot(data.gradient(d), direction) == pytest.approx(numeric, rel=1e-6)


def test_energy_is_its_two_parts(coefficients, rng):
    d = rng.uniform(-9, 9, coefficients.shape[1:])
    expected = -curve.evaluate(coefficients, d).sum() + 0.3 * norm_21(K(d))
    assert energy(ContrastTerm(coefficients), 0.3, d) == pytest.approx(expected)
