"""The minimisers against independent solvers, known limits and each other."""

from dataclasses import replace

import numpy as np
import pytest
from skimage.restoration import denoise_tv_chambolle

from varfocus import curve
from varfocus.energy import ContrastTerm, QuadraticTerm, energy
from varfocus.energy.operators import K, magnitude
from varfocus.errors import SolverError
from varfocus.minimise import forward_backward, linearised_admm, quadratic_penalty, rof
from varfocus.params import SolverParams

CONVEX = SolverParams(alpha=0.3, tau=0.4, lam=1.0, growth=1.002, iterations=2000)


@pytest.fixture
def noisy(rng):
    image = np.zeros((24, 31))
    image[6:16, 8:20] = 1.0
    return image + 0.2 * rng.standard_normal(image.shape)


def rof_objective(f, d, weight):
    return energy(QuadraticTerm(f), weight, d)


def test_rof_gap_bounds_the_error_and_meets_an_independent_solver(noisy):
    ours = rof(noisy, 0.3, accuracy=1e-6, iterations=50_000)
    theirs = denoise_tv_chambolle(noisy, weight=0.3, eps=1e-14, max_num_iter=50_000)
    assert rof_objective(noisy, ours.d, 0.3) <= rof_objective(noisy, theirs, 0.3) + 1e-9
    assert np.sqrt(np.mean((ours.d - theirs) ** 2)) < 1e-4
    assert 0 <= ours.gap <= 0.5e-12 * noisy.size
    assert magnitude(ours.p).max() <= 0.3 * (1 + 1e-12)


def test_rof_limits(noisy):
    np.testing.assert_array_equal(rof(noisy, 0.0).d, noisy)
    flat = rof(noisy, 1e3, accuracy=1e-8, iterations=20_000).d
    np.testing.assert_allclose(flat, noisy.mean(), atol=1e-5)


def test_linearised_admm_solves_the_convex_problem(noisy):
    expected = rof(noisy, 0.3, accuracy=1e-7, iterations=100_000).d
    found = linearised_admm(QuadraticTerm(noisy), noisy, CONVEX)
    np.testing.assert_allclose(found.d, expected, atol=1e-5)
    assert found.trace.constraint[-1] < 1e-10


def test_forward_backward_solves_the_convex_problem(noisy):
    params = replace(CONVEX, tau=1.0, iterations=30)
    found = forward_backward(
        QuadraticTerm(noisy), noisy, params, inner_accuracy=1e-7, inner_iterations=20_000
    )
    expected = rof(noisy, 0.3, accuracy=1e-7, iterations=100_000).d
    np.testing.assert_allclose(found.d, expected, atol=1e-5)


def test_quadratic_penalty_approaches_the_convex_solution_as_lambda_grows(noisy):
    params = replace(CONVEX, growth=1.005, iterations=4000)
    found = quadratic_penalty(QuadraticTerm(noisy), noisy, params)
    assert not found.state.b.any()
    best = energy(QuadraticTerm(noisy), 0.3, rof(noisy, 0.3, accuracy=1e-6, iterations=50_000).d)
    assert best <= found.trace.energy[-1] < 1.01 * best


@pytest.fixture
def curves(rng):
    """Contrast curves that peak on two planes, with noise on the position."""
    truth = np.where(np.arange(32) < 16, -4.0, 5.0)[None, :] + np.zeros((28, 1))
    peak = truth + rng.standard_normal(truth.shape)
    values = np.stack([np.exp(-(((x - peak) / 6) ** 2)) for x in curve.focus_axis(15)])
    return curve.fit(values, 8), truth


def test_two_planes_are_recovered(curves):
    a, truth = curves
    d = linearised_admm(ContrastTerm(a), np.zeros(truth.shape), SolverParams(alpha=0.05)).d
    assert np.sqrt(np.mean((d - truth) ** 2)) < 0.35
    alone = curve.argmax(a)
    assert np.sqrt(np.mean((alone - truth) ** 2)) > 0.8


def test_energy_falls_and_residuals_vanish(curves):
    a, truth = curves
    trace = linearised_admm(ContrastTerm(a), np.zeros(truth.shape), SolverParams(alpha=0.05)).trace
    assert len(trace.energy) == 400
    assert trace.energy[-1] < trace.start_energy - 0.1 * abs(trace.start_energy)
    assert trace.energy[trace.best] == min(trace.energy)
    assert trace.constraint[-1] < 1e-6
    assert trace.change[-1] < 1e-6


def test_traced_energy_is_the_energy_of_the_iterate(curves):
    a, truth = curves
    data, seen = ContrastTerm(a), []
    params = SolverParams(alpha=0.05, iterations=5)
    linearised_admm(
        data, np.zeros(truth.shape), params, lambda k, state, _: seen.append((k, state))
    )
    trace = linearised_admm(data, np.zeros(truth.shape), params).trace
    assert [k for k, _ in seen] == [1, 2, 3, 4, 5]
    for (_, state), traced in zip(seen, trace.energy, strict=True):
        assert traced == pytest.approx(energy(data, 0.05, state.d))
    assert seen[-1][1].lam == pytest.approx(1.02**5)
    change = np.sum((seen[4][1].d - seen[3][1].d) ** 2) + np.sum((seen[4][1].g - seen[3][1].g) ** 2)
    assert trace.change[-1] == pytest.approx(change)
    constraint = np.sum((K(seen[4][1].d) - seen[4][1].g) ** 2)
    assert trace.constraint[-1] == pytest.approx(constraint)


def test_small_alpha_reaches_a_maximum_of_each_curve(curves):
    a, truth = curves
    params = SolverParams(alpha=1e-9, growth=1.0, lam=1e-3, tau=4.0, iterations=3000)
    d = linearised_admm(ContrastTerm(a), truth, params).d
    np.testing.assert_allclose(d, curve.argmax(a), atol=1e-3)


def test_large_alpha_gives_the_best_constant(curves):
    a, truth = curves
    d = linearised_admm(ContrastTerm(a), np.zeros(truth.shape), SolverParams(alpha=100.0)).d
    assert np.ptp(d) < 1e-4
    constants = np.linspace(-10, 10, 2001)
    values = [-curve.evaluate(a, x).sum() for x in constants]
    # The common depth climbs to a maximum of the summed curve; from 0 that is a stationary point.
    slope = np.gradient(values, constants)
    assert abs(np.interp(d.mean(), constants, slope)) < 0.05 * np.abs(slope).max()


def test_tolerance_stops_early(curves):
    a, truth = curves
    params = SolverParams(alpha=0.05, tolerance=1e-3)
    trace = linearised_admm(ContrastTerm(a), np.zeros(truth.shape), params).trace
    assert len(trace.energy) < 400
    assert trace.change[-1] < 1e-6 * truth.size
    assert trace.change[-2] >= 1e-6 * truth.size


def test_divergence_is_reported_with_the_last_good_state(noisy):
    with pytest.raises(SolverError, match="diverged in iteration") as caught:
        linearised_admm(QuadraticTerm(noisy), noisy, replace(CONVEX, tau=1e6, iterations=100_000))
    assert np.isfinite(caught.value.state.d).all()
    assert caught.value.exit_code == 5


def test_float32_stays_finite_when_lambda_would_outgrow_it(curves):
    a, truth = curves
    start = np.zeros(truth.shape, np.float32)
    params = SolverParams(alpha=0.05, iterations=1500)
    solution = linearised_admm(ContrastTerm(a.astype(np.float32)), start, params)
    assert solution.d.dtype == np.float32
    assert solution.state.lam <= 1e4
    exact = linearised_admm(ContrastTerm(a), start.astype(np.float64), SolverParams(alpha=0.05))
    assert solution.trace.energy[-1] == pytest.approx(exact.trace.energy[-1], rel=2e-3)
