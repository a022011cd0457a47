"""The guided filter: its definition, its limits, and edges that it keeps apart."""

import numpy as np
import pytest
from scipy import ndimage

from varfocus import FocusStack, simulate
from varfocus.contrast import box_mean, guided_mean
from varfocus.errors import ParameterError
from varfocus.params import ClassicParams
from varfocus.pipeline import estimate
from varfocus.studies import metrics
from varfocus.studies.comparison import VARIANTS, named


def pictures(shape=(24, 31), seed=0):
    return np.random.default_rng(seed).random((2, *shape), dtype=np.float32)


def test_definition():
    values, guide = pictures()
    size, edge = 5, 0.3
    expected = np.empty(values.shape)
    padded = [np.pad(each.astype(np.float64), 4, mode="edge") for each in (values, guide)]
    slope, offset = np.empty((28, 35)), np.empty((28, 35))
    for i in range(28):
        for j in range(35):
            p, g = (each[i : i + 5, j : j + 5] for each in padded)
            slope[i, j] = ((g * p).mean() - g.mean() * p.mean()) / (g.var() + edge**2)
            offset[i, j] = p.mean() - slope[i, j] * g.mean()
    for i in range(24):
        for j in range(31):
            part = np.s_[i : i + 5, j : j + 5]
            expected[i, j] = slope[part].mean() * guide[i, j] + offset[part].mean()
    inner = np.s_[4:-4, 4:-4]  # beyond that borders are replicated after each mean
    result = guided_mean(values, guide, size, edge)
    np.testing.assert_allclose(result[inner], expected[inner], atol=2e-5)


def test_limits():
    values, guide = pictures(seed=1)
    assert guided_mean(values, guide, 1, 0.1) is values
    twice = box_mean(box_mean(values, 7), 7)
    np.testing.assert_allclose(guided_mean(values, guide, 7, 1e3), twice, atol=1e-5)
    np.testing.assert_allclose(guided_mean(guide, guide, 7, 1e-4), guide, atol=1e-3)
    plain = np.full_like(values, 0.3)
    np.testing.assert_allclose(guided_mean(values, plain, 7, 0.05), twice, atol=1e-4)
    np.testing.assert_allclose(guided_mean(plain, guide, 7, 0.05), plain, atol=1e-5)


def test_symmetry():
    values, guide = pictures((20, 20), seed=2)
    plain = guided_mean(values, guide, 5, 0.1)
    for turn in (np.flipud, np.fliplr, np.transpose):
        turned = guided_mean(*(np.ascontiguousarray(turn(a)) for a in (values, guide)), 5, 0.1)
        np.testing.assert_allclose(turned, turn(plain), atol=1e-5)


def test_the_sides_of_an_edge_keep_their_values():
    guide = np.zeros((20, 40), np.float32)
    guide[:, 20:] = 1.0
    rng = np.random.default_rng(3)
    values = (2.0 * guide + rng.normal(0, 0.1, guide.shape)).astype(np.float32)
    smooth = guided_mean(values, guide, 9, 0.05)
    assert np.abs(smooth - 2 * guide).max() < 0.1
    assert smooth.std() < values.std()
    box = ndimage.uniform_filter(values, 9)
    assert np.abs(box - 2 * guide).max() > 0.5


@pytest.mark.parametrize("name", VARIANTS)
def test_classical_variants_beat_the_plain_window_on_a_noisy_plane(name):
    made = simulate("plane", shape=(96, 120), n=9, noise=0.5)
    stack = FocusStack.from_array(made.frames)
    ours, plain = (
        metrics.rmse(estimate(stack, named(which)).index, made.truth_index)
        for which in (name, "classic")
    )
    assert ours < 0.9 * plain


def test_grey_and_colour_frames_agree():
    made = simulate("steps", shape=(40, 48), n=7, colour=False)
    grey = FocusStack.from_array(made.frames)
    colour = FocusStack.from_array(np.repeat(made.frames[..., None], 3, axis=3))
    maps = [estimate(stack, named("rdf")).index for stack in (grey, colour)]
    np.testing.assert_allclose(*maps, atol=1e-3)


@pytest.mark.parametrize(
    "options", [{"guided": 4}, {"guided": 0}, {"guided_edge": 0.0}, {"guided_edge": -1.0}]
)
def test_bad_parameters(options):
    with pytest.raises(ParameterError, match=next(iter(options))):
        ClassicParams(**options)
