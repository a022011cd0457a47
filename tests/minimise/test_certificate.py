"""The lower bound of the energy: below everything, and close where the optimum is known."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.polynomial import chebyshev

from varfocus import curve
from varfocus.energy import ContrastTerm, QuadraticTerm, energy
from varfocus.energy.operators import K
from varfocus.minimise import linearised_admm, rof
from varfocus.minimise.certificate import bound_of, certificate, project_pair
from varfocus.params import SolverParams


def random_curves(rng, shape, degree=6):
    """Return curves of order 1 that wind a lot."""
    return rng.standard_normal((degree + 1, *shape)) / np.arange(1, degree + 2)[:, None, None]


def parabolas(f):
    """Return the coefficients of c(x) = −½(x − f)²."""
    square = chebyshev.poly2cheb([0.0, 0.0, -0.5 * curve.X_MAX**2])
    a = np.zeros((3, *f.shape))
    a += square[:, None, None]
    a[0] -= 0.5 * f**2
    a[1] += curve.X_MAX * f
    return a


def feasible(rng, shape, alpha, labels=12):
    angle = rng.uniform(0, np.pi / 2, shape)
    return project_pair(rng.normal(0, 2 * alpha, (2, labels, *shape)), alpha, angle, 0)


@given(seed=st.integers(0, 10_000), alpha=st.floats(0, 2), spread=st.floats(0, 10))
def test_no_depth_lies_below_the_bound_of_any_feasible_field(seed, alpha, spread):
    rng = np.random.default_rng(seed)
    a = random_curves(rng, (3, 4))
    bound = bound_of(a, feasible(rng, (3, 4), alpha))
    centre = rng.uniform(-10, 10)
    for _ in range(5):
        d = np.clip(centre + rng.normal(0, spread + 1e-9, (3, 4)), -10, 10)
        assert bound <= energy(ContrastTerm(a), alpha, d) + 1e-9


@settings(max_examples=5)
@given(seed=st.integers(0, 10_000), alpha=st.sampled_from([0.01, 0.1, 0.6]))
def test_no_depth_lies_below_the_certificate(seed, alpha):
    rng = np.random.default_rng(seed)
    a = random_curves(rng, (4, 5))
    found = certificate(a, alpha, labels=16, iterations=100)
    data = ContrastTerm(a)
    assert found.bound <= found.energy == pytest.approx(energy(data, alpha, found.d))
    solved = linearised_admm(
        data, np.zeros((4, 5)), SolverParams(alpha=alpha, tau=0.5, iterations=50)
    )
    assert found.bound <= min(solved.trace.energy)
    for spread in (0.1, 1.0, 5.0):
        d = np.clip(found.d + rng.normal(0, spread, (4, 5)), -10, 10)
        assert found.bound <= energy(data, alpha, d)
    assert np.abs(found.d).max() <= 10.0


def test_a_length_of_alpha_at_each_depth_alone_would_be_no_bound():
    """Why the constraint couples all depths: the usual one lets the field exceed the energy."""
    alpha, d = 1.0, np.array([[0.0, 1.0], [2.0, 1.5]])
    p = np.zeros((2, 20, 2, 2))  # intervals of width 1, the eleventh begins at 0
    p[:, 10, 0, 0] = alpha / np.sqrt(2)
    p[1, 11, 0, 0] = alpha
    assert np.hypot(p[0], p[1]).max() <= alpha * (1 + 1e-12)
    flow = p[0, 10, 0, 0] * 1.0 + p[1, 10, 0, 0] * 1.0 + p[1, 11, 0, 0] * 1.0
    assert flow > alpha * np.hypot(*K(d)[:, 0, 0])
    allowed = project_pair(p, alpha, np.full((2, 2), np.pi / 4), 30)[:, :, 0, 0]
    flow = allowed[0, 10] + allowed[1, 10] + allowed[1, 11]
    assert flow <= alpha * np.hypot(*K(d)[:, 0, 0])


@given(seed=st.integers(0, 10_000), radius=st.floats(0.05, 3))
def test_the_projection_is_the_nearest_feasible_field(seed, radius):
    rng = np.random.default_rng(seed)
    p = rng.standard_normal((2, 6, 1, 1)) * rng.uniform(0, 3, (2, 1, 1, 1))
    found = project_pair(p.copy(), radius, np.full((1, 1), np.pi / 4), 60)
    largest = np.abs(found).max(axis=(1, 2, 3))
    assert np.hypot(*largest) <= radius * (1 + 1e-9)
    angles = np.linspace(0, np.pi / 2, 2001)
    m = radius * np.stack([np.cos(angles), np.sin(angles)])
    over = np.maximum(np.abs(p)[:, :, 0, 0, None] - m[:, None], 0.0)
    best = np.sum(over**2, axis=(0, 1)).min()
    assert np.sum((found - p) ** 2) <= best + 1e-4 * (1 + best)


def test_without_a_field_the_bound_is_the_sum_of_the_minima(rng):
    a = random_curves(rng, (5, 6), degree=8)
    exact = -curve.evaluate(a, curve.argmax(a, samples=2001)).sum()
    found = certificate(a, 0.0, iterations=1)
    assert exact - 1e-2 < found.bound <= exact
    assert found.energy == pytest.approx(exact, abs=1e-6)
    finer = bound_of(a, np.zeros((2, 400, 5, 6)))
    assert found.bound < finer <= exact


def test_tight_on_a_convex_problem(rng):
    f = np.clip(np.cumsum(rng.normal(0, 1.5, (7, 8)), axis=1), -8, 8)
    best = energy(QuadraticTerm(f), 0.8, rof(f, 0.8, accuracy=1e-6, iterations=20_000).d)
    found = certificate(parabolas(f), 0.8, iterations=100)
    assert found.bound <= best
    assert found.bound > 0.98 * best
    assert found.energy == pytest.approx(best, rel=1e-3)


def test_tight_where_alpha_forces_a_constant(rng):
    a = random_curves(rng, (4, 4))
    best = min(-curve.evaluate(a, x).sum() for x in np.linspace(-10, 10, 4001))
    found = certificate(a, 50.0, iterations=1000)
    assert best - 0.03 * abs(best) < found.bound <= best
    assert np.ptp(found.d) < 1e-6
    assert found.energy == pytest.approx(best, rel=2e-3)


def chain_optimum(a, alpha, labels=801):
    """Return the least energy of a chain over labels, by dynamic programming, and their width."""
    x = np.linspace(-10, 10, labels)
    cost = np.stack([-curve.evaluate(a, s)[0] for s in x])
    step = alpha * np.abs(x[:, None] - x[None, :])
    reach = cost[:, 0]
    for j in range(1, cost.shape[1]):
        reach = cost[:, j] + (reach[:, None] + step).min(axis=0)
    return reach.min()


@pytest.mark.parametrize("alpha", [0.02, 0.1, 0.5])
@pytest.mark.parametrize("length", [2, 7])
def test_below_and_near_the_exact_optimum_of_a_chain(rng, alpha, length):
    a = random_curves(rng, (1, length))
    best = chain_optimum(a, alpha)
    found = certificate(a, alpha, labels=128, iterations=2000)
    assert found.bound <= best
    assert found.bound > best - 5e-3 * length  # curves of order 1
    assert best - 1e-4 * length < found.energy < best + 2e-3 * length


def test_tiles_bound_the_whole_from_further_below(rng):
    a = random_curves(rng, (6, 7))
    whole = certificate(a, 0.1, labels=24, iterations=300)
    tiled = certificate(a, 0.1, labels=24, iterations=300, tile=4)
    assert tiled.bound <= whole.bound + 1e-3
    assert tiled.bound <= whole.energy
    assert tiled.d.shape == (6, 7)


def test_a_start_may_help_and_never_breaks_the_bound(rng):
    a = random_curves(rng, (4, 5))
    for start in (np.full((4, 5), -10.0), rng.uniform(-10, 10, (4, 5))):
        found = certificate(a, 0.1, start, labels=24, iterations=100)
        assert found.bound <= energy(ContrastTerm(a), 0.1, start)
        assert found.gap(found.bound) == 0.0
        assert found.gap() == pytest.approx((found.energy - found.bound) / abs(found.bound))
    assert max(found.history) == pytest.approx(found.history[-1], rel=1e-2)
