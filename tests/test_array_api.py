"""The array code on other array libraries: the same numbers from the same lines.

``array_api_strict`` refuses whatever the array-API standard does not promise, so what runs there
runs on any library that keeps it. torch is tried where it is installed.
"""

from importlib import import_module
from importlib.util import find_spec

import array_api_compat
import array_api_strict
import numpy as np
import pytest

from varfocus import curve, engine
from varfocus.contrast import PeakSearch, box_mean, contrast_function, mlap, normaliser
from varfocus.contrast.registry import MEASURES
from varfocus.curve import frame_pass
from varfocus.curve.cubic import catmull_rom, curvature
from varfocus.energy import ContrastTerm, QuadraticTerm, VolumeTerm, energy
from varfocus.energy.operators import (
    K,
    K_adjoint,
    ScreenedPoisson,
    huber_shrink,
    norm_21,
    project,
    shrink,
)
from varfocus.energy.regulariser import TGV, HuberTV
from varfocus.energy.second_order import E, E_adjoint, SecondOrder
from varfocus.minimise import (
    bregman,
    forward_backward,
    linearised_admm,
    minimise,
    primal_dual,
    pyramid,
    quadratic_penalty,
    rof,
)
from varfocus.params import ContrastParams, SolverParams

LIBRARIES = ["numpy", "array_api_strict"] + ["torch"] * (find_spec("torch") is not None)


@pytest.fixture(autouse=True)
def array_code_only():
    with engine.switched_off():
        yield


@pytest.fixture(params=LIBRARIES)
def xp(request):
    """The library under test."""
    return import_module(request.param)


@pytest.fixture
def frames(rng):
    shape, n = (37, 44), 9
    texture = rng.random((*shape, 3))
    peak = np.linspace(1, n - 2, shape[1])[None, :, None]
    return np.stack([0.5 + (texture - 0.5) / (1 + (k - peak) ** 2) for k in range(n)])


@pytest.fixture
def curves(rng):
    """Coefficients of contrast curves with one peak each, left and right of a jump."""
    peak = np.where(np.arange(70) < 30, -4.0, 5.0)[None, :] + rng.standard_normal((64, 70))
    values = np.stack([np.exp(-(((x - peak) / 6) ** 2)) for x in curve.focus_axis(15)])
    return curve.fit(values, 8)


def same(found, array, atol=1e-10):
    """Assert that an array of the library under test has the numbers and type of NumPy's."""
    if not isinstance(array, np.ndarray):
        assert float(found) == pytest.approx(float(array))
        return
    host = np.from_dlpack(found)
    assert host.dtype == array.dtype
    np.testing.assert_allclose(host, array, atol=atol)


def agrees(xp, function, *arrays, atol=1e-10):
    """Assert that a function of arrays gives on `xp` what it gives on NumPy, and arrays of `xp`."""
    expected = function(*arrays)
    found = function(*map(xp.asarray, arrays))
    several = isinstance(expected, tuple)
    for theirs, ours in zip(
        found if several else [found], expected if several else [expected], strict=True
    ):
        if isinstance(ours, np.ndarray):
            like = array_api_compat.array_namespace(xp.asarray(0.0))
            assert array_api_compat.array_namespace(theirs) is like
        same(theirs, ours, atol)


def test_strict_refuses_what_the_standard_does_not_promise():
    """Otherwise this file would prove nothing."""
    with pytest.raises(TypeError):
        array_api_strict.asarray([1.0]) + np.asarray([1.0])


@pytest.mark.parametrize("size", [1, 3, 15, 41])
def test_window_means(xp, frames, size):
    agrees(xp, lambda image: box_mean(image, size), mlap(frames[4]))


@pytest.mark.parametrize("name", sorted(MEASURES))
def test_focus_measures(xp, frames, name):
    for image in (frames[4], frames[4][..., 0]):
        agrees(xp, contrast_function(name), image)


@pytest.mark.parametrize("kind", ["relative", "absolute", "none"])
def test_normalisation(xp, frames, kind):
    agrees(xp, lambda contrast: normaliser(contrast, ContrastParams(kind)), mlap(frames[4]))


def test_curves(xp, rng):
    values, x = rng.random((20, 5, 6)), rng.uniform(-10, 10, (5, 6))
    a = curve.fit(values, 8)
    agrees(xp, lambda v: curve.fit(v, 8), values)
    agrees(xp, curve.evaluate, a, x)
    agrees(xp, curve.derivative, a)
    agrees(xp, curve.argmax, a, atol=1e-6)


def test_cubics(xp, rng):
    volume, label = rng.random((12, 5, 6)), rng.uniform(0, 11, (5, 6))
    agrees(xp, catmull_rom, volume, label)
    agrees(xp, lambda v, u: curvature(v, u, 3), volume, label)


def test_operators(xp, rng):
    d, g = rng.standard_normal((9, 8)), rng.standard_normal((2, 9, 8))
    weight = rng.uniform(0.2, 1, (9, 8))
    agrees(xp, K, d)
    agrees(xp, K_adjoint, g)
    agrees(xp, norm_21, g)
    agrees(xp, lambda z: shrink(z, 0.3), g)
    agrees(xp, lambda z, w: shrink(z, 0.3 * w), g, weight)
    agrees(xp, lambda z, w: huber_shrink(z, 0.3 * w, 0.1), g, weight)
    agrees(xp, lambda p: project(p, 0.3), g)
    agrees(xp, lambda r: ScreenedPoisson(r).solve(r, 2.5), d)


def test_second_order(xp, rng):
    d, v, h = (rng.standard_normal((*n, 9, 8)) for n in ((), (2,), (3,)))
    target = rng.standard_normal((5, 9, 8))
    agrees(xp, E, v)
    agrees(xp, E_adjoint, h)
    agrees(xp, lambda d, v: SecondOrder(d).apply(d, v), d, v)
    agrees(xp, lambda r, t, v: SecondOrder(r).solve(r, t, v, 2.5), d, target, v)


def test_regularisers(xp, rng):
    g, weight = rng.standard_normal((5, 9, 8)), rng.uniform(0.2, 1, (9, 8))
    for make in (lambda w: HuberTV(0.2, w), lambda w: HuberTV(0.0, w)):
        agrees(xp, lambda g, w, make=make: make(w).value(g), g[:2], weight)
        agrees(xp, lambda g, w, make=make: make(w).prox(g, 0.3), g[:2], weight)
    agrees(xp, lambda g, w: TGV(2.0, w).value(g), g, weight)
    agrees(xp, lambda g, w: TGV(2.0, w).prox(g, 0.3), g, weight)


def test_data_terms(xp, rng, curves):
    d, cost = rng.uniform(-9, 9, (64, 70)), rng.random((15, 64, 70))
    for term, array in (
        (ContrastTerm, curves),
        (QuadraticTerm, d + 1.0),
        (lambda c: VolumeTerm(c, 0.5), cost),
    ):
        agrees(xp, lambda a, d, term=term: term(a).value(d), array, d)
        agrees(xp, lambda a, d, term=term: term(a).gradient(d), array, d)
        agrees(xp, lambda a, d, term=term: term(a).clip(d), array, d)
    agrees(xp, lambda c, d: VolumeTerm(c, 0.5).bend(d), cost, d)


def test_one_pass_over_the_frames(xp, frames):
    ours, theirs = (frame_pass.contrast_pass(frames[0], 9, 5, 5) for _ in range(2))
    for k, frame in enumerate(frames):
        ours.add(k, frame)
        theirs.add(k, xp.asarray(frame))
    same(theirs.coefficients, ours.coefficients)
    same(theirs.peak, ours.peak)
    np.testing.assert_array_equal(np.from_dlpack(theirs.index), ours.index)


def test_integer_frames(xp, frames):
    bytes_ = np.rint(255 * frames).astype(np.uint8)
    ours, theirs = (frame_pass.ContrastPass(9, 5, 5, 1 / 255) for _ in range(2))
    for k, frame in enumerate(bytes_):
        ours.add(k, frame)
        theirs.add(k, xp.asarray(frame))
    same(theirs.coefficients, ours.coefficients, atol=1e-6)


def test_peak_search_keeps_the_earlier_frame(xp):
    search = PeakSearch(1)
    for k in range(3):
        search.add(k, xp.ones((2, 2)))
    assert not np.from_dlpack(search.index).any()


@pytest.mark.parametrize(
    "solve", [linearised_admm, quadratic_penalty, pyramid, forward_backward, bregman]
)
def test_minimisers(xp, curves, solve, monkeypatch):
    monkeypatch.setattr(primal_dual, "COARSEST_SIDE", 30)  # two levels
    iterations = 3 if solve is forward_backward else 12  # each a whole problem of its own
    params = SolverParams(alpha=0.1, iterations=iterations, tau=2.0, bregman=2)

    def solution(a, start):
        found = solve(ContrastTerm(a), start, params)
        value = energy(ContrastTerm(a), 0.1, found.d)
        return found.d, np.float64(found.trace.energy[-1]), np.float64(value)

    agrees(xp, solution, curves, np.zeros(curves.shape[1:]), atol=1e-6)


@pytest.mark.parametrize("regulariser", ["huber", "weighted", "tgv"])
def test_other_regularisers(xp, curves, rng, regulariser):
    params = SolverParams(alpha=0.1, iterations=8, tau=2.0, regulariser=regulariser)
    start, weight = np.zeros(curves.shape[1:]), rng.uniform(0.2, 1, curves.shape[1:])

    def depth(a, d, w):
        return minimise(ContrastTerm(a), d, params, weight=w).d

    agrees(xp, depth, curves, start, weight, atol=1e-6)


def test_denoising(xp, rng):
    agrees(xp, lambda f: rof(f, 0.5).d, rng.standard_normal((20, 21)))
