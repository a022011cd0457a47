"""The kernels of the minimisers against their array code."""

import contextlib
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import curves, degrees, depth, seeds, shapes, threads, windows

from varfocus import curve, engine
from varfocus import depth as depth_module
from varfocus.contrast import box_mean
from varfocus.energy import ContrastTerm, energy
from varfocus.energy.operators import K, ScreenedPoisson, laplacian_eigenvalues, norm_21, project
from varfocus.errors import ParameterError, SolverError
from varfocus.methods.paper import fitting_degree
from varfocus.minimise import kernel_admm, linearised_admm, primal_dual, pyramid, quadratic_penalty
from varfocus.minimise.kernel_admm import LinearSystem, cosine_tables
from varfocus.minimise.primal_dual import State, finer, halve, iterate
from varfocus.params import Params, SolverParams
from varfocus.pipeline import estimate
from varfocus.simulation import simulate
from varfocus.stack import FocusStack
from varfocus.studies.metrics import rmse

# The kernels' threads are to be tested on small images too.
always_threaded = mock.patch.object(kernel_admm, "THREADED_PIXELS", 0)


@given(seeds, shapes, windows, threads)
def test_box_mean(seed, shape, window, count):
    image = depth(seed, shape)
    with engine.use_threads(count):
        fast = box_mean(image, window)
    with engine.switched_off():
        np.testing.assert_allclose(fast, box_mean(image, window), rtol=1e-5, atol=1e-5)


@given(seeds, shapes, st.integers(1, 4), threads)
def test_halve(seed, shape, planes, count):
    fine = curves(seed, planes - 1, shape)
    with engine.use_threads(count):
        fast = halve(fine)
    with engine.switched_off():
        np.testing.assert_allclose(fast, halve(fine), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("shape", [(8, 10), (7, 10), (9, 11), (1, 3)])
@pytest.mark.parametrize("on", [True, False])
def test_half_the_size_can_be_turned_and_keeps_slopes(shape, on):
    planes = curves(3, 1, shape)
    with contextlib.nullcontext() if on else engine.switched_off():
        small = halve(planes)
        for turn in (
            lambda a: a[:, ::-1],
            lambda a: a[:, :, ::-1],
            lambda a: a.transpose(0, 2, 1),
        ):
            back = turn(halve(np.ascontiguousarray(turn(planes))))
            np.testing.assert_allclose(back, small, rtol=1e-6, atol=1e-6)
        slope = halve(np.arange(shape[1], dtype=np.float32) * np.ones((1, *shape), np.float32))
    places = np.arange(slope.shape[2]) * 2 + (0.5 if shape[1] % 2 == 0 else 0.0)
    np.testing.assert_allclose(slope[:, :, 1:-1], (places * np.ones(slope.shape))[:, :, 1:-1])


@given(seeds, shapes, degrees, threads)
def test_energy_and_slope(seed, shape, degree, count):
    a, d = curves(seed, degree, shape), depth(seed, shape)
    exact, d64 = a.astype(np.float64), d.astype(np.float64)
    with engine.use_threads(count):
        data, variation = engine.energy_terms(a, d)
        slope = engine.slope(a, d)
    assert data == pytest.approx(ContrastTerm(exact).value(d64), rel=1e-5, abs=1e-5 * d.size)
    assert variation == pytest.approx(norm_21(K(d64)), rel=1e-6, abs=1e-6)
    expected = curve.evaluate(curve.derivative(exact), d64)
    np.testing.assert_allclose(slope, expected, rtol=1e-4, atol=2e-5 * (1 + degree) ** 2)


@given(seeds, shapes, degrees, threads, st.integers(2, 40))
def test_margin(seed, shape, degree, count, n):
    a = curves(seed, degree, shape)
    index = np.random.default_rng(seed).uniform(0, n - 1, shape).astype(np.float32)
    # A frame exactly 1.5 away may fall on either side.
    index[np.abs(2 * index - np.rint(2 * index)) < 1e-3] += np.float32(0.01)
    index = np.clip(index, 0, np.float32(n - 1))
    with engine.use_threads(count):
        fast = depth_module.curve_margin(a, index, n)
    with engine.switched_off():
        exact = depth_module.curve_margin(a, index, n)
    spread = np.ptp([curve.evaluate(a, x) for x in curve.focus_axis(n)], axis=0)
    clear = spread > 1e-3
    np.testing.assert_allclose(fast[clear], exact[clear], atol=5e-3)


@given(seeds, shapes, degrees, threads, st.integers(0, 20), st.floats(0.01, 0.2))
def test_primal_dual_iterations(seed, shape, degree, count, iterations, sigma):
    a, d = curves(seed, degree, shape), depth(seed, shape)
    p = project(np.random.default_rng(seed).standard_normal((2, *shape)).astype(np.float32), 0.1)
    p[0, :, -1] = p[1, -1, :] = 0.0
    with engine.use_threads(count):
        fast = iterate(a, State(d, p), 0.1, sigma, iterations)
    with engine.switched_off():
        exact = iterate(
            a.astype(np.float64), State(d.astype(np.float64), p.astype(np.float64)), 0.1, sigma,
            iterations,
        )  # fmt: skip
    # c is not convex, so a rounding error may decide a pixel: nearly all must agree.
    close = np.abs(fast.d - exact.d) < 1e-3
    assert close.mean() > 0.98 or (~close).sum() <= 2
    assert np.abs(fast.d).max() <= 10
    assert np.hypot(*fast.p).max() <= 0.1 * (1 + 1e-6)


def test_primal_dual_leaves_its_start_alone():
    a, d = curves(3, 8, (20, 30)), depth(3, (20, 30))
    p, kept = np.zeros((2, 20, 30), np.float32), d.copy()
    iterate(a, State(d, p), 0.1, 0.05, 7)
    np.testing.assert_array_equal(d, kept)
    assert not p.any()


@pytest.mark.parametrize("shape", [(97, 130), (1, 50), (50, 1), (16, 6000)])
@pytest.mark.parametrize("degree", [8, 11])
def test_threads_and_stages_do_not_change_a_bit(shape, degree):
    a, d = curves(1, degree, shape), depth(1, shape)
    start = State(d, np.zeros((2, *shape), np.float32))
    with engine.use_threads(1):
        one_by_one = start
        for _ in range(19):
            one_by_one = iterate(a, one_by_one, 0.1, 0.05, 1)
    for count in (1, 2, 3, 4):
        with engine.use_threads(count):
            at_once = iterate(a, start, 0.1, 0.05, 19)
        np.testing.assert_array_equal(at_once.d, one_by_one.d)
        np.testing.assert_array_equal(at_once.p, one_by_one.p)


def scene(shape=(90, 121), n=15, noise=0.4):
    rng = np.random.default_rng(7)
    x = np.linspace(-1, 1, shape[1])[None, :]
    truth = np.where(x < 0.1, 6 * x, -5.0) + np.zeros((shape[0], 1))
    peak = truth + noise * rng.standard_normal(shape)
    volume = np.stack([np.exp(-(((x_k - peak) / 5) ** 2)) for x_k in curve.focus_axis(n)])
    return curve.fit(volume, 8).astype(np.float32), truth.astype(np.float32)


@always_threaded
@given(seeds, st.tuples(st.integers(1, 20), st.integers(1, 20)), degrees, threads, st.booleans())
def test_linearised_admm(seed, shape, degree, count, multipliers):
    a, d = 0.1 * curves(seed, degree, shape), depth(seed, shape)
    params = SolverParams(alpha=0.05, iterations=6, growth=1.1)
    solve = linearised_admm if multipliers else quadratic_penalty
    with engine.use_threads(count):
        fast = solve(ContrastTerm(a), d, params)
    with engine.switched_off():
        exact = solve(ContrastTerm(a.astype(np.float64)), d.astype(np.float64), params)
    for name in ("d", "g", "b"):
        np.testing.assert_allclose(
            getattr(fast.state, name), getattr(exact.state, name), atol=2e-3, rtol=1e-3
        )
    assert fast.state.lam == pytest.approx(exact.state.lam)
    assert fast.trace.start_energy == pytest.approx(
        exact.trace.start_energy, rel=1e-4, abs=1e-4 * d.size
    )
    for name, slack in (("energy", 1e-4), ("constraint", 1e-3), ("change", 1e-3)):
        np.testing.assert_allclose(
            getattr(fast.trace, name), getattr(exact.trace, name), rtol=1e-3, atol=slack * d.size
        )


@given(seeds, shapes, st.floats(0, 1e4), threads)
def test_linear_system(seed, shape, lam, count):
    """By the kernels' cosine transforms or, where a prime factor of the width is large, SciPy's."""
    r = depth(seed, shape)
    fast = LinearSystem(shape)(r.copy(), lam, count)
    exact = ScreenedPoisson(r.astype(np.float64)).solve(r.astype(np.float64), lam)
    np.testing.assert_allclose(fast, exact, atol=2e-5)


@pytest.mark.parametrize("width", [1, 2, 3, 4, 5, 12, 35, 77, 91, 104, 360, 1001])
@pytest.mark.parametrize("height", [1, 3, 33])
def test_without_smoothing_the_cosine_transform_and_its_inverse_cancel(height, width):
    """λ = 0 leaves the columns alone, and every radix of the transform has its turn."""
    r, u = depth(2, (height, width)), np.empty((height, width), np.float32)
    e_x = laplacian_eigenvalues(width).astype(np.float32)
    for count in (1, 3):
        engine.kernels.screened_poisson(r, u, cosine_tables(width), e_x, 0.0, count)
        np.testing.assert_allclose(u, r, atol=1e-5)


def test_an_admm_without_a_trace_takes_the_same_steps():
    a, truth = scene((40, 41))
    params = SolverParams(alpha=0.05, iterations=20)
    with_trace, without = (
        linearised_admm(ContrastTerm(a), truth, params, traced=traced) for traced in (True, False)
    )
    for name in ("d", "g", "b"):
        np.testing.assert_array_equal(
            getattr(with_trace.state, name), getattr(without.state, name), err_msg=name
        )
    assert without.trace.energy == []


def test_literal_iterations_keep_their_energies():
    a, truth = scene()
    params = SolverParams(alpha=0.05, iterations=400)
    start = np.zeros_like(truth)
    fast = linearised_admm(ContrastTerm(a), start, params)
    with engine.switched_off():
        slow = linearised_admm(ContrastTerm(a), start, params)
    np.testing.assert_allclose(fast.trace.energy, slow.trace.energy, rtol=1e-4)
    np.testing.assert_allclose(fast.d, slow.d, atol=0.02)
    assert len(fast.trace.energy) == 400


@always_threaded
def test_admm_is_the_same_on_any_number_of_threads():
    a, truth = scene()
    runs = []
    for count in (1, 2, 3):
        with engine.use_threads(count):
            params = SolverParams(alpha=0.05, iterations=12)
            runs.append(linearised_admm(ContrastTerm(a), np.zeros_like(truth), params))
    for other in runs[1:]:
        np.testing.assert_array_equal(other.d, runs[0].d)
        assert other.trace.energy == runs[0].trace.energy


def test_admm_stops_at_its_tolerance_and_reports_nan():
    a, truth = scene((30, 31))
    params = SolverParams(alpha=0.05, tolerance=1e-3)
    assert len(linearised_admm(ContrastTerm(a), truth, params).trace.energy) < 400
    a[3, 4, 5] = np.nan
    with pytest.raises(SolverError, match="diverged in iteration 1"):
        linearised_admm(ContrastTerm(a), truth, params)


@pytest.mark.parametrize("side", [120, 40, 20])  # no coarser level, one, two
def test_pyramid_equals_its_array_code_and_does_not_lose_to_the_admm(monkeypatch, side):
    monkeypatch.setattr(primal_dual, "COARSEST_SIDE", side)
    a, truth = scene()
    start, params = np.zeros_like(truth), SolverParams(alpha=0.1)
    fast = pyramid(ContrastTerm(a), start, params)
    with engine.switched_off():
        slow = pyramid(ContrastTerm(a), start, params)
    assert fast.trace.energy[-1] == pytest.approx(slow.trace.energy[-1], rel=1e-4)
    assert fast.trace.energy[-1] == pytest.approx(energy(ContrastTerm(a), 0.1, fast.d))
    np.testing.assert_allclose(fast.d, slow.d, atol=0.05)
    literal = linearised_admm(ContrastTerm(a), start, params).trace
    assert fast.trace.energy[-1] <= min(literal.energy) + 1e-3 * abs(min(literal.energy))


def test_pyramid_leaves_the_basin_of_a_wrong_start_as_the_admm_does():
    """As on a plane that ends at the end of the range, where the first guess is noise."""
    plane = simulate("plane", shape=(256, 256), seed=3)
    stack = FocusStack.from_array(plane.frames)
    errors = {}
    for solver in ("pyramid", "admm"):
        params, _ = fitting_degree(
            stack, Params.from_keywords("paper", alpha=1 / 16, solver=solver)
        )
        errors[solver] = rmse(estimate(stack, params).index, plane.truth_index)
    assert errors["pyramid"] <= 1.02 * errors["admm"]


def test_pyramid_counts_up_to_the_iterations_asked_for(monkeypatch):
    monkeypatch.setattr(primal_dual, "COARSEST_SIDE", 40)
    a, truth = scene((90, 95))
    counts, shapes_seen = [], []

    def note(done, state, trace):
        counts.append(done)
        shapes_seen.append(state.d.shape)

    pyramid(ContrastTerm(a), truth, SolverParams(alpha=0.1, iterations=40), note)
    assert counts == sorted(counts)
    assert counts[-1] == 40
    assert shapes_seen == [(45, 48), (90, 95), (90, 95)]


def test_finer_level_starts_feasible():
    state = State(depth(1, (4, 5)), np.full((2, 4, 5), 0.05, np.float32))
    fine = finer(state, (7, 10))
    assert fine.d.shape == (7, 10)
    assert not fine.p[0, :, -1].any()
    assert not fine.p[1, -1, :].any()
    assert fine.p.max() == np.float32(0.1)
    np.testing.assert_allclose(fine.d.mean(), state.d.mean(), atol=1.0)


def test_bad_arguments_are_refused_in_python():
    a, d = curves(1, 3, (4, 5)), depth(1, (4, 5))
    p = np.zeros((2, 4, 5), np.float32)
    good = {"alpha": 0.1, "sigma": 0.1, "iterations": 1}
    for bad_a, bad_d, bad_p in (
        (a[:, :3], d, p),
        (a.astype(np.float64), d, p),
        (a, d[::-1], p),
        (a, d, p[:1]),
        (a, d, p[:, ::-1]),
        (a[0], d, p),
    ):
        with pytest.raises(ParameterError, match="expected"):
            engine.primal_dual(bad_a, bad_d, bad_p, **good)
    frozen = d.copy()
    frozen.flags.writeable = False
    with pytest.raises(ParameterError, match="read-only"):
        engine.primal_dual(a, frozen, p, **good)
    for wrong in ({"alpha": 0.0}, {"alpha": np.nan}, {"sigma": -1.0}, {"iterations": -1}):
        with pytest.raises(ParameterError, match=r"expected a (positive|whole) number"):
            engine.primal_dual(a, d, p, **(good | wrong))
    for window in (0, 2, -3, 2001):
        with pytest.raises(ParameterError, match="odd side"):
            engine.box_mean(d, window)
    with pytest.raises(ParameterError, match="at least one pixel"):
        engine.box_mean(d[:0], 3)


def test_bad_arguments_are_refused_by_the_kernels_themselves():
    kernels = engine.kernels
    a, d = curves(1, 3, (4, 5)), depth(1, (4, 5))
    p, empty = np.zeros((2, 4, 5), np.float32), np.zeros((0, 5), np.float32)
    for call in (
        lambda: kernels.primal_dual(a[:, :3].copy(), d, p, 0.1, 0.1, 1, 1),
        lambda: kernels.primal_dual(a, d, p, 0.1, 0.1, 1, 0),
        lambda: kernels.primal_dual(a, d, p, np.inf, 0.1, 1, 1),
        lambda: kernels.box_mean(d, d, 3, 1),
        lambda: kernels.box_mean(empty, empty.copy(), 3, 1),
        lambda: kernels.box_mean(d, d.copy(), 4, 1),
        lambda: kernels.halve(a, a, 1),
        lambda: kernels.solve_columns(d, d[:, 0].copy(), 1.0, 1),
        lambda: kernels.energy_terms(a[:0], d, 1),
        lambda: kernels.slope(a, d, d, 1),
        lambda: kernels.margin(a, d, 1.5, d, d.copy(), 1),
        lambda: kernels.admm_update(a, d, d, d, p, p, d, 0.1, 8.0, 1.0, 1.0, 1.0, True, True, 1),
        lambda: kernels.screened_poisson(d, d, a[0][:3].copy(), d[0].copy(), 1.0, 1),
        lambda: kernels.screened_poisson(
            np.zeros((2, 17), np.float32),
            np.zeros((2, 17), np.float32),
            np.zeros((4, 17), np.float32),
            np.zeros(17, np.float32),
            1.0,
            1,
        ),
        lambda: kernels.contrast(np.zeros((4, 5, 4), np.uint8), np.zeros((4, 5), np.uint16), 1),
        lambda: kernels.contrast(
            np.zeros((4, 5, 3), np.uint8)[:, ::-1], np.zeros((4, 5), np.uint16), 1
        ),
        lambda: kernels.contrast(np.zeros((4, 5, 3), np.uint8), np.zeros((4, 4), np.uint16), 1),
    ):
        with pytest.raises(ValueError, match=r"expected|received"):
            call()
    for call in (
        lambda: kernels.box_mean(d.astype(np.float64), d.copy(), 3, 1),
        lambda: kernels.box_mean(d[::-1], d.copy(), 3, 1),
        lambda: kernels.box_mean(d, [[1.0]], 3, 1),
    ):
        with pytest.raises(ParameterError, match=r"received box_mean\(.*\n?expected box_mean"):
            call()


@pytest.mark.parametrize("wish", [0, -1, 1025, "two", 1.5])
def test_thread_counts_that_make_no_sense_are_refused(wish, monkeypatch):
    with pytest.raises(ParameterError, match="whole number"):
        engine.thread_count(wish)
    monkeypatch.setenv("VARFOCUS_THREADS", str(wish))
    with pytest.raises(ParameterError, match="VARFOCUS_THREADS"):
        engine.thread_count()


def test_thread_count_comes_from_argument_context_or_environment(monkeypatch):
    monkeypatch.setenv("VARFOCUS_THREADS", "3")
    assert engine.thread_count() == 3
    with engine.use_threads(2):
        assert engine.thread_count() == 2
        assert engine.thread_count(5) == 5
    monkeypatch.delenv("VARFOCUS_THREADS")
    assert engine.thread_count() >= 1
