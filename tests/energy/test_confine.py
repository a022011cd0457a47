"""Costs that count only where a depth explains the frames."""

import numpy as np
import pytest

from varfocus import engine
from varfocus.energy.confine import PULL, Confinement
from varfocus.engine import LABEL_PADDING, kernels, thread_count


@pytest.fixture
def confined(rng):
    centre = rng.uniform(2, 17, (9, 11)).astype(np.float32)
    trust = rng.random((9, 11), np.float32)
    return Confinement(centre - 3, centre + 3, centre, trust, width=4.0, scale=0.8)


def test_evidence_counts_inside_and_the_pull_leads_to_the_centre(confined, rng):
    cost = -rng.random((20, 9, 11), np.float32)
    found = confined.applied(cost)
    for label in range(20):
        inside = (confined.low <= label) & (label <= confined.high)
        evidence = confined.evidence(found[label], np.float32(label))
        expected = np.where(inside, confined.trust * cost[label], 0.0)
        np.testing.assert_allclose(evidence, expected, atol=1e-6)
    nothing = confined.applied(np.zeros_like(cost))
    np.testing.assert_array_equal(nothing.argmin(axis=0), np.rint(confined.centre))
    assert nothing.min() >= -PULL * confined.scale


@pytest.mark.skipif(not engine.in_use(), reason="needs the engine")
def test_the_kernel_does_the_same(confined, rng):
    labels = 20
    cost = -rng.random((labels, 9, 11), np.float32)
    volume = np.zeros((9, 11, -(-labels // LABEL_PADDING) * LABEL_PADDING), np.float32)
    volume[..., :labels] = np.moveaxis(cost, 0, 2)
    maps = confined.low, confined.high, confined.centre, confined.trust
    how = 1.0 / confined.width, PULL, confined.scale
    kernels.confine(volume, labels, *maps, *how, thread_count())
    expected = np.moveaxis(confined.applied(cost), 0, 2)
    np.testing.assert_allclose(volume[..., :labels], expected, rtol=1e-5, atol=1e-6)
