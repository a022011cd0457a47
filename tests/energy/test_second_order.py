"""TGV, weighted TV and Bregman iterations: identities, limits, and what each is for."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize as scipy_minimize

from varfocus import curve
from varfocus.contrast import jump_weight
from varfocus.energy import ContrastTerm, QuadraticTerm, energy
from varfocus.energy.operators import K, K_adjoint
from varfocus.energy.regulariser import TGV, TV, HuberTV
from varfocus.energy.second_order import E, E_adjoint, SecondOrder, across_border, sine_matrix
from varfocus.errors import ParameterError
from varfocus.methods.paper import picture_weight
from varfocus.minimise import bregman, linearised_admm, minimise, rof
from varfocus.params import Params, SolverParams
from varfocus.pipeline import reconstruct
from varfocus.plan import needed_bytes
from varfocus.simulation import simulate
from varfocus.studies.metrics import rmse

sizes = st.tuples(st.integers(1, 9), st.integers(1, 9))


def on_the_grid_of_kd(rng, shape):
    """Return a field that is zero where Kd is."""
    v = rng.standard_normal((2, *shape))
    v[0, :, -1] = 0.0
    v[1, -1, :] = 0.0
    return v


def plane(shape, x=0.3, y=-0.7):
    rows, columns = np.indices(shape)
    return 1.5 + x * columns + y * rows


# Operators


@given(shape=sizes, seed=st.integers(0, 99))
def test_e_adjoint_is_the_adjoint(shape, seed):
    rng = np.random.default_rng(seed)
    v, h = rng.standard_normal((2, *shape)), rng.standard_normal((3, *shape))
    assert np.sum(E(v) * h) == pytest.approx(np.sum(v * E_adjoint(h)), abs=1e-10)


@given(shape=sizes, seed=st.integers(0, 99))
def test_the_second_derivative_of_a_plane_is_zero_up_to_the_border(shape, seed):
    x, y = np.random.default_rng(seed).uniform(-2, 2, 2)
    np.testing.assert_allclose(E(K(plane(shape, x, y))), 0.0, atol=1e-12)


def test_e_of_a_parabola_and_of_a_saddle():
    rows, columns = np.indices((7, 8)).astype(float)
    bowl = E(K(0.5 * columns**2))
    np.testing.assert_allclose(bowl[0, :, 1:-1], 1.0)
    np.testing.assert_allclose(bowl[1:], 0.0)
    saddle = E(K(rows * columns))
    np.testing.assert_allclose(saddle[2, :-1, :-1], np.sqrt(2.0))
    np.testing.assert_allclose(saddle[:2], 0.0)
    # The stored length is the Frobenius norm of the Hessian [[0, 1], [1, 0]].


@given(shape=sizes, seed=st.integers(0, 99), lam=st.sampled_from([0.1, 1.0, 50.0]))
def test_the_joint_system_is_solved_exactly(shape, seed, lam):
    rng = np.random.default_rng(seed)
    old, f = on_the_grid_of_kd(rng, shape), rng.standard_normal(shape)
    target = np.concatenate([on_the_grid_of_kd(rng, shape), rng.standard_normal((3, *shape))])
    r = f + lam * K_adjoint(target[:2])
    d, v = SecondOrder(f).solve(r, target, old, lam)
    first = K(d) - v - target[:2]
    np.testing.assert_allclose(d - f + lam * K_adjoint(first), 0.0, atol=1e-10)
    optimality = E_adjoint(E(v) - target[2:]) - first + across_border(v - old)
    optimality[0, :, -1] = optimality[1, -1, :] = 0.0  # no v there
    np.testing.assert_allclose(optimality, 0.0, atol=1e-10)


@given(shape=sizes, seed=st.integers(0, 99))
def test_what_is_added_across_the_border_makes_a_proximal_term(shape, seed):
    """ẼᵀẼ − EᵀE is symmetric and nowhere negative, or the ADMM would not be one."""
    rng = np.random.default_rng(seed)
    v, w = on_the_grid_of_kd(rng, shape), on_the_grid_of_kd(rng, shape)
    assert np.sum(across_border(v) * v) >= 0
    assert np.sum(across_border(v) * w) == pytest.approx(np.sum(v * across_border(w)))


def test_the_system_without_fast_transforms(rng, monkeypatch):
    """Array libraries without a DCT multiply by matrices."""
    f, old, target = rng.random((6, 7)), rng.random((2, 6, 7)), rng.random((5, 6, 7))
    fast = SecondOrder(f).solve(f, target, old, 2.0)
    monkeypatch.setattr("varfocus.energy.second_order.is_numpy", lambda _: False)
    for ours, theirs in zip(fast, SecondOrder(f).solve(f, target, old, 2.0), strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-12)


def test_the_sine_transform_is_its_own_inverse():
    np.testing.assert_allclose(sine_matrix(7) @ sine_matrix(7), np.eye(7), atol=1e-12)


# The regularisers


@pytest.mark.parametrize("t", [0.0, 0.5, 1.5])
def test_the_prox_of_tgv_is_the_brute_force_minimiser(rng, t):
    regulariser = TGV(0.8, np.full((1, 1), 0.7))
    for z in rng.normal(0, 1.5, (4, 5)):

        def objective(g, z=z):
            return t * regulariser.value(g.reshape(5, 1, 1)) + 0.5 * np.sum((g - z) ** 2)

        options = {"xatol": 1e-8, "fatol": 1e-13, "maxiter": 20_000, "maxfev": 20_000}
        best = scipy_minimize(objective, z, method="Nelder-Mead", options=options)
        found = regulariser.prox(z.reshape(5, 1, 1), t).ravel()
        assert objective(found) <= best.fun + 1e-9
        np.testing.assert_allclose(found, best.x, atol=2e-3)


def test_tgv_is_free_for_planes_and_at_most_tv(rng):
    d = plane((9, 12))
    operator = TGV(2.0).operator(d)
    assert TGV(2.0).value(operator.apply(d, K(d))) == pytest.approx(0.0, abs=1e-10)
    assert TV.value(K(d)) > 50
    rough = rng.standard_normal((9, 12))
    at_rest = operator.apply(rough, operator.start(rough))
    assert TGV(2.0).value(at_rest) == pytest.approx(TV.value(K(rough)))


def test_weight_one_is_total_variation(rng):
    z = rng.standard_normal((2, 5, 6))
    weighted = HuberTV(0.0, np.ones((5, 6)))
    assert weighted.value(z) == pytest.approx(TV.value(z))
    np.testing.assert_allclose(weighted.prox(z, 0.4), TV.prox(z, 0.4))
    doubled = TGV(1.0, np.full((5, 6), 2.0))
    field = np.concatenate([z, np.zeros((3, 5, 6))])
    assert doubled.value(field) == pytest.approx(2 * TV.value(z))


# Minimisation

CONVEX = SolverParams(alpha=0.3, tau=0.4, growth=1.002, iterations=800)


def denoise(f, regulariser, params=CONVEX):
    return linearised_admm(QuadraticTerm(f), f, params, regulariser=regulariser)


def test_tgv_denoising_meets_an_independent_minimiser(rng):
    """Against L-BFGS on the same energy with rounded corners."""
    f = plane((6, 7)) + 0.3 * rng.standard_normal((6, 7))
    found = denoise(f, TGV(1.5))
    operator = SecondOrder(f)

    def rounded(x, corner=1e-9):
        d, v = x[:42].reshape(f.shape), x[42:].reshape(2, *f.shape)
        field = operator.apply(d, v)
        first, second = np.sum(field[:2] ** 2, axis=0), np.sum(field[2:] ** 2, axis=0)
        lengths = np.sqrt(first + corner).sum() + 1.5 * np.sqrt(second + corner).sum()
        return 0.5 * np.sum((d - f) ** 2) + 0.3 * lengths

    start = np.concatenate([found.d.ravel(), found.state.v.ravel()])
    best = scipy_minimize(rounded, start, method="L-BFGS-B", options={"maxfun": 60_000})
    assert found.trace.energy[-1] <= best.fun + 1e-6
    assert found.trace.energy[-1] >= best.fun - 0.3 * 42 * 2.5 * np.sqrt(1e-9)


def test_a_plane_passes_through_tgv_and_not_through_tv():
    f = plane((16, 20))
    np.testing.assert_allclose(denoise(f, TGV(2.0)).d, f, atol=1e-4)
    assert np.abs(denoise(f, TV).d - f).max() > 0.3


def test_no_stairs_on_a_noisy_slope_with_tgv(rng):
    truth = plane((24, 30), 0.2, 0.1)
    f = truth + 0.3 * rng.standard_normal(truth.shape)
    params = replace(CONVEX, iterations=400)
    stairs, slope = (denoise(f, r, params).d for r in (TV, TGV(4.0)))
    assert rmse(slope, truth) < 0.25 * rmse(stairs, truth)
    flat = [np.mean(np.abs(K(d)[0, :, :-1]) < 0.02) for d in (stairs, slope)]
    assert flat[0] > 0.1 > 0.001 > flat[1]  # treads


def test_a_jump_stays_a_jump_with_tgv():
    f = plane((12, 24), 0.05, 0.0)
    f[:, 12:] += 4.0
    d = denoise(f, TGV(2.0)).d
    assert K(d)[0, 6, 11] > 3.5
    assert np.abs(np.delete(K(d)[0, 6, :-1], 11)).max() < 0.2


def test_large_beta_is_tv_less_a_plane(rng):
    """β → ∞ makes v a rigid field; removing a plane from the data beforehand changes nothing."""
    f = plane((8, 9)) + 0.2 * rng.standard_normal((8, 9))
    stiff = denoise(f, TGV(1e4))
    np.testing.assert_allclose(E(stiff.state.v), 0.0, atol=1e-3)
    level = denoise(f - plane((8, 9)), TGV(1e4))
    assert stiff.trace.energy[-1] == pytest.approx(level.trace.energy[-1], rel=1e-2)
    assert stiff.trace.energy[-1] < denoise(f, TV).trace.energy[-1]


@pytest.fixture
def curves(rng):
    """Contrast curves that peak on two slanted planes, with noise on the position."""
    truth = np.where(np.arange(32) < 16, -6.0, 1.0)[None, :] + plane((28, 32), 0.15, 0.05) - 1.5
    peak = truth + rng.standard_normal(truth.shape)
    values = np.stack([np.exp(-(((x - peak) / 6) ** 2)) for x in curve.focus_axis(15)])
    return ContrastTerm(curve.fit(values, 8)), truth


@pytest.mark.parametrize("name", ["tv", "huber", "weighted", "tgv"])
def test_energy_falls_and_the_surface_is_found(curves, name):
    data, truth = curves
    params = SolverParams(alpha=0.05, regulariser=name, solver="admm")
    found = minimise(data, np.zeros(truth.shape), params)
    trace = found.trace
    assert trace.energy[-1] < trace.start_energy - 0.1 * abs(trace.start_energy)
    assert trace.energy[-1] <= trace.energy[trace.best] + 2e-3 * abs(trace.energy[-1])
    assert trace.constraint[-1] < 1e-5
    assert rmse(found.d, truth) < 0.55 < 0.8 < rmse(curve.argmax(data.a), truth)


def test_slanted_planes_are_found_better_with_tgv(curves):
    data, truth = curves
    params = SolverParams(alpha=0.1, solver="admm")
    errors = {
        name: rmse(
            minimise(data, np.zeros(truth.shape), replace(params, regulariser=name)).d, truth
        )
        for name in ("tv", "tgv")
    }
    assert errors["tgv"] < 0.9 * errors["tv"]


# Bregman


def test_no_rounds_is_the_plain_minimisation_bit_for_bit(curves):
    data, truth = curves
    params = SolverParams(alpha=0.05, solver="admm", iterations=30)
    plain = linearised_admm(data, np.zeros(truth.shape), params)
    none = bregman(data, np.zeros(truth.shape), params)
    np.testing.assert_array_equal(plain.d, none.d)
    assert plain.trace.energy == none.trace.energy


def test_the_lost_height_of_a_step_comes_back():
    """TV lowers a clean step by the same amount whatever its height; one round restores it."""
    f = np.zeros((6, 20))
    f[:, 10:] = 2.0
    params = replace(CONVEX, growth=1.0, iterations=1500)
    lost = linearised_admm(QuadraticTerm(f), f, params).d
    assert np.ptp(lost) == pytest.approx(2.0 - 2 * 0.3 / 10, abs=1e-3)
    found = bregman(QuadraticTerm(f), f, replace(params, bregman=1))
    np.testing.assert_allclose(found.d, f, atol=1e-3)
    assert found.trace.energy[1] > found.trace.energy[0]  # D falls, R rises


def test_the_tilt_is_what_the_first_round_took_away(rng):
    """For ½‖d − f‖² the second round is the denoising of f + (f − d₁), Osher et al.'s form."""
    f = rng.standard_normal((7, 8))
    params = replace(CONVEX, alpha=0.2, growth=1.0, iterations=1500)
    first = rof(f, 0.2, accuracy=1e-7, iterations=50_000).d
    expected = rof(f + (f - first), 0.2, accuracy=1e-7, iterations=50_000).d
    found = bregman(QuadraticTerm(f), f, replace(params, bregman=1)).d
    np.testing.assert_allclose(found, expected, atol=1e-4)


def test_the_data_term_falls_from_round_to_round(curves):
    data, truth = curves
    values = []
    for rounds in (0, 1, 2):
        params = SolverParams(alpha=0.3, bregman=rounds, iterations=300)
        values.append(data.value(minimise(data, np.zeros(truth.shape), params).d))
    assert values[0] > values[1] > values[2]


def test_progress_counts_all_rounds_as_one(curves):
    data, truth = curves
    seen = []
    params = SolverParams(alpha=0.05, bregman=2, iterations=10)
    minimise(data, np.zeros(truth.shape), params, lambda done, *_: seen.append(done))
    assert len(seen) == 30
    assert seen == sorted(seen)
    assert seen[-1] == 10


# Parameters and the whole way through


@pytest.mark.parametrize("choice", [{"regulariser": "tgv"}, {"bregman": 1}])
def test_other_regularisers_run_on_the_admm(choice):
    assert Params.from_keywords("paper", **choice).solve.solver == "admm"
    with pytest.raises(ParameterError, match=r"'penalty' with.*\n.*'admm'.*\n.*Leave the solver"):
        Params.from_keywords("paper", solver="penalty", **choice)


@pytest.mark.parametrize(
    ("name", "value"),
    [("regulariser", "tikhonov"), ("huber_slope", -1.0), ("tgv_ratio", 0.0), ("bregman", -1)],
)
def test_values_out_of_range(name, value):
    with pytest.raises(ParameterError, match=f"received {name} = "):
        Params.from_keywords("paper", **{name: value})


@pytest.mark.parametrize(
    "choice",
    [{"regulariser": "huber"}, {"regulariser": "tgv"}, {"regulariser": "weighted"}, {"bregman": 1}],
)
def test_every_choice_from_frames_to_depth(choice):
    scene = simulate("slants", shape=(48, 60))
    result = reconstruct(scene.stack, alpha=0.03, iterations=100, **choice)
    assert result.params.method == "paper"
    assert result.params.solve.solver == "admm"
    plain = reconstruct(scene.stack, alpha=0.03, iterations=100, solver="admm")
    assert rmse(result.index, scene.truth_index) < 1.15 * rmse(plain.index, scene.truth_index)
    assert not np.array_equal(result.index, plain.index)


def test_the_weight_comes_from_the_edges_of_the_picture():
    scene = simulate("textureless", shape=(64, 80), n=5)
    weight = picture_weight(scene.stack)
    assert weight.shape == (64, 80)
    assert weight.dtype == np.float32
    assert 0.2 <= weight.min() < weight.max() <= 4.0
    plain = jump_weight(np.zeros((3, 4), np.float32))
    assert (plain == 4.0).all()


def test_the_energy_of_weighted_tv_is_the_stated_one(rng):
    d, weight = rng.standard_normal((5, 6)), rng.uniform(0, 2, (5, 6))
    expected = 0.7 * np.sum(weight * np.hypot(*K(d)))
    assert energy(QuadraticTerm(d), 0.7, d, HuberTV(0.0, weight)) == pytest.approx(expected)


def test_memory_is_asked_for_what_the_array_code_takes():
    stack = simulate("cone", shape=(20, 20), n=5).stack
    needed = {
        name: needed_bytes(stack, Params.from_keywords("paper", **choice))
        for name, choice in (("tv", {}), ("b", {"bregman": 1}), ("tgv", {"regulariser": "tgv"}))
    }
    assert needed["tv"] < needed["b"] < needed["tgv"]
