"""Huber-TV and its proximal map, sampled cost curves, and the warm-started ADMM."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from varfocus.curve.cubic import catmull_rom, curvature
from varfocus.energy import QuadraticTerm, VolumeTerm, energy
from varfocus.energy.operators import K, huber_shrink, shrink
from varfocus.energy.regulariser import TV, HuberTV
from varfocus.minimise import linearised_admm
from varfocus.params import SolverParams


@pytest.mark.parametrize("epsilon", [0.0, 0.3, 2.0])
@pytest.mark.parametrize("t", [0.0, 0.5, 1.5])
def test_prox_is_the_brute_force_minimiser(rng, t, epsilon):
    regulariser = HuberTV(epsilon)
    for z in rng.normal(0, 1.5, (5, 2)):

        def objective(g, z=z):
            return t * regulariser.value(g.reshape(2, 1, 1)) + 0.5 * np.sum((g - z) ** 2)

        best = minimize(objective, z, method="Nelder-Mead", options={"xatol": 1e-7, "fatol": 1e-12})
        found = regulariser.prox(z.reshape(2, 1, 1), t).ravel()
        assert objective(found) <= best.fun + 1e-9
        np.testing.assert_allclose(found, best.x, atol=1e-4)


def test_epsilon_zero_is_total_variation(rng):
    z = rng.standard_normal((2, 5, 6))
    np.testing.assert_allclose(huber_shrink(z, 0.7, 0.0), shrink(z, 0.7))
    assert HuberTV(0.0).value(z) == pytest.approx(TV.value(z))


def test_weights_weigh_pixel_by_pixel(rng):
    z, weight = rng.standard_normal((2, 4, 5)), rng.uniform(0, 2, (4, 5))
    weighted = HuberTV(0.2, weight)
    assert weighted.value(z) == pytest.approx(
        sum(
            weight[i, j] * HuberTV(0.2).value(z[:, i : i + 1, j : j + 1])
            for i in range(4)
            for j in range(5)
        )
    )
    np.testing.assert_allclose(
        weighted.prox(z, 0.6)[:, 2, 3], HuberTV(0.2).prox(z, 0.6 * weight[2, 3])[:, 2, 3]
    )


def test_catmull_rom_meets_samples_and_is_exact_on_lines(rng):
    volume = rng.standard_normal((8, 3, 4))
    for label in range(8):
        value, _, _ = catmull_rom(volume, np.full((3, 4), float(label)))
        np.testing.assert_allclose(value, volume[label], atol=1e-12)
    line = 2.0 * np.arange(8.0)[:, None, None] - 3.0 + np.zeros((8, 3, 4))
    u = rng.uniform(0, 7, (3, 4))
    value, slope, bend = catmull_rom(line, u)
    np.testing.assert_allclose(value, 2 * u - 3, atol=1e-12)
    np.testing.assert_allclose(slope, 2.0, atol=1e-12)
    np.testing.assert_allclose(bend, 0.0, atol=1e-12)


def test_volume_term_gradient_agrees_with_finite_differences(rng):
    term = VolumeTerm(rng.standard_normal((9, 4, 5)), 0.25)
    d = rng.uniform(0.0, 2.0, (4, 5))
    gradient = term.gradient(d)
    for i, j in ((0, 0), (1, 3), (3, 4)):
        bump = np.zeros_like(d)
        bump[i, j] = 1e-6
        slope = (term.value(d + bump) - term.value(d - bump)) / 2e-6
        assert gradient[i, j] == pytest.approx(slope, abs=1e-5)
        rise = (term.gradient(d + bump) - term.gradient(d - bump))[i, j] / 2e-6
        assert term.bend(d)[i, j] == pytest.approx(rise, rel=1e-4, abs=1e-4)
    assert term.clip(np.array([[-1.0, 9.0]])).tolist() == [[0.0, 2.0]]


def test_curvatures_of_a_parabola():
    volume = 1.5 * (np.arange(12.0)[:, None, None] - 4.0) ** 2 + np.zeros((12, 2, 2))
    for where in (0.0, 4.2, 11.0):
        np.testing.assert_allclose(curvature(volume, np.full((2, 2), where), 2), 3.0)


def test_admm_with_huber_reaches_the_minimum_of_a_smooth_problem(rng):
    f = np.cumsum(rng.standard_normal((8, 9)), axis=1)
    data, regulariser = QuadraticTerm(f), HuberTV(0.5)
    params = SolverParams(alpha=0.4, tau=0.5, growth=1.0, iterations=600)
    found = linearised_admm(data, f, params, regulariser=regulariser, warm=True).d
    best = minimize(
        lambda d: energy(data, 0.4, d.reshape(f.shape), regulariser), f.ravel(), method="BFGS"
    )
    assert energy(data, 0.4, found, regulariser) <= best.fun + 1e-4


def test_the_default_is_the_paper_s_iteration_bit_for_bit(rng):
    f = rng.standard_normal((12, 10)).astype(np.float32)
    params = SolverParams(alpha=0.1, iterations=20)
    plain = linearised_admm(QuadraticTerm(f), f, params)
    spelled = linearised_admm(QuadraticTerm(f), f, params, regulariser=TV, warm=False)
    np.testing.assert_array_equal(plain.d, spelled.d)


def test_a_warm_start_keeps_a_jump_that_the_data_holds():
    d = np.zeros((6, 20), np.float32)
    d[:, 10:] = 5.0
    params = SolverParams(alpha=0.05, tau=0.1, iterations=1)
    cold = linearised_admm(QuadraticTerm(d), d, params).d
    warm = linearised_admm(QuadraticTerm(d), d, params, warm=True).d
    assert np.abs(K(warm)[0, :, 9] - 5.0).max() < 0.2 < np.abs(K(cold)[0, :, 9] - 5.0).min()
