"""The array code on another array library: the same numbers from the same lines."""

import numpy as np
import pytest

from varfocus import curve, engine
from varfocus.contrast import PeakSearch, box_mean, mlap, normaliser
from varfocus.curve import frame_pass as front
from varfocus.energy import ContrastTerm, energy
from varfocus.energy.operators import K, K_adjoint, ScreenedPoisson, norm_21, project, shrink
from varfocus.minimise import forward_backward, linearised_admm, pyramid
from varfocus.params import ContrastParams, SolverParams

torch = pytest.importorskip("torch", reason="torch is not installed: pip install 'varfocus[torch]'")


@pytest.fixture(autouse=True)
def array_code_only():
    with engine.switched_off():
        yield


@pytest.fixture
def frames(rng):
    shape, n = (37, 44), 9
    texture = rng.random((*shape, 3))
    peak = np.linspace(1, n - 2, shape[1])[None, :, None]
    return np.stack([0.5 + (texture - 0.5) / (1 + (k - peak) ** 2) for k in range(n)])


def same(tensor, array, **tolerance):
    assert isinstance(tensor, torch.Tensor)
    np.testing.assert_allclose(tensor.numpy(), array, **({"atol": 1e-10} | tolerance))


@pytest.mark.parametrize("size", [1, 3, 15, 41])
def test_contrast(frames, size):
    contrast = mlap(frames[4])
    tensor = torch.asarray(frames[4])
    same(mlap(tensor), contrast)
    same(box_mean(torch.asarray(contrast), size), box_mean(contrast, size))
    for kind in ("relative", "absolute", "none"):
        params = ContrastParams(kind)
        same(normaliser(torch.asarray(contrast), params), normaliser(contrast, params))


def test_curves(rng):
    values, x = rng.random((20, 5, 6)), rng.uniform(-10, 10, (5, 6))
    a = curve.fit(values, 8)
    tensor = torch.asarray(a)
    same(curve.fit(torch.asarray(values), 8), a)
    same(curve.evaluate(tensor, torch.asarray(x)), curve.evaluate(a, x))
    same(curve.derivative(tensor), curve.derivative(a))
    same(curve.argmax(tensor), curve.argmax(a), atol=1e-6)


def test_operators(rng):
    d, g = rng.standard_normal((9, 8)), rng.standard_normal((2, 9, 8))
    td, tg = torch.asarray(d), torch.asarray(g)
    same(K(td), K(d))
    same(K_adjoint(tg), K_adjoint(g))
    same(shrink(tg, 0.3), shrink(g, 0.3))
    same(project(tg, 0.3), project(g, 0.3))
    same(ScreenedPoisson(td).solve(td, 2.5), ScreenedPoisson(d).solve(d, 2.5))
    assert norm_21(tg) == pytest.approx(norm_21(g))


def test_one_pass_over_the_frames(frames):
    ours, theirs = (front.contrast_pass(frames[0], 9, 5, 5) for _ in range(2))
    for k, frame in enumerate(frames):
        ours.add(k, frame)
        theirs.add(k, torch.asarray(frame))
    same(theirs.coefficients, ours.coefficients)
    same(theirs.peak, ours.peak)
    same(theirs.index, ours.index)


def test_integer_frames_of_another_library(frames):
    bytes_ = np.rint(255 * frames).astype(np.uint8)
    ours, theirs = (front.ContrastPass(9, 5, 5, 1 / 255) for _ in range(2))
    for k, frame in enumerate(bytes_):
        ours.add(k, frame)
        theirs.add(k, torch.asarray(frame))
    same(theirs.coefficients, ours.coefficients, atol=1e-6)


def test_peak_search_keeps_the_earlier_frame():
    search = PeakSearch(1)
    for k in range(3):
        search.add(k, torch.ones((2, 2)))
    assert not search.index.any()


@pytest.mark.parametrize("solve", [linearised_admm, pyramid, forward_backward])
def test_minimisers(rng, solve):
    peak = np.where(np.arange(70) < 30, -4.0, 5.0)[None, :] + rng.standard_normal((64, 70))
    values = np.stack([np.exp(-(((x - peak) / 6) ** 2)) for x in curve.focus_axis(15)])
    a, start = curve.fit(values, 8), np.zeros(peak.shape)
    params = SolverParams(alpha=0.1, iterations=12, tau=2.0)
    ours = solve(ContrastTerm(a), start, params)
    theirs = solve(ContrastTerm(torch.asarray(a)), torch.asarray(start), params)
    same(theirs.d, ours.d, atol=1e-6)
    assert theirs.trace.energy[-1] == pytest.approx(ours.trace.energy[-1])
    assert energy(ContrastTerm(torch.asarray(a)), 0.1, theirs.d) == pytest.approx(
        ours.trace.energy[-1]
    )
