"""What speaks for a depth, in units of what noise would say."""

import numpy as np
import pytest

from varfocus import simulate
from varfocus.canvas import Whole
from varfocus.contrast.kernel_scales import decoded
from varfocus.curve.likelihood import cost_volume
from varfocus.methods.evidence import beyond_noise, evidence
from varfocus.methods.prepared import front_and_model
from varfocus.params import Params
from varfocus.stack import FocusStack


@pytest.fixture(scope="module")
def half_plain():
    """Lowest cost of every pixel and the model of a texture whose right half is but noise."""
    rng = np.random.default_rng(5)
    frames = simulate("cone", shape=(96, 128), n=15, seed=2, noise=0.05).frames.astype(np.float32)
    frames[:, :, 64:] = 128.0 + rng.normal(0.0, 2.0, frames[:, :, 64:].shape)
    stack = FocusStack.from_array(frames)
    front, model = front_and_model(stack, Params.from_keywords("robust"), Whole(stack.shape))
    contrast = front.contrast
    if contrast.dtype == np.uint16:
        contrast = decoded(contrast)
    cost = cost_volume(np.asarray(contrast, np.float32), model)
    return cost.min(axis=0), model


def test_noise_says_less_than_one(half_plain):
    cost, model = half_plain
    E = evidence(cost, model)
    # The best of all depths is what noise likes best: hardly any pixel has more.
    assert np.quantile(E[:, 76:], 0.9) < 1.1
    assert np.quantile(E[:, :52], 0.1) > 2.0


def test_what_is_known_counts_in_full_and_noise_little(half_plain):
    cost, model = half_plain
    counts = beyond_noise(cost, model)
    assert counts.min() >= 0.0
    assert counts.max() <= 1.0
    assert (counts[:, :52] == 1.0).all()
    np.testing.assert_array_equal(beyond_noise(np.zeros_like(cost), model), 0.0)
    half = beyond_noise(0.5 * cost, model)
    assert (half <= counts).all()


def test_an_even_cost_is_its_own_mean(half_plain):
    _, model = half_plain
    nats = 0.5 * model.depth_of_well * model.coordinate.n
    E = evidence(np.full((20, 24), -0.5, np.float32), model)
    np.testing.assert_allclose(E, nats / 5.5, rtol=1e-5)
