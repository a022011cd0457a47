"""Semi-global matching against brute force, and its start and margin."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from varfocus.minimise.semi_global import PATHS, lowest, second_well, semi_global

ROUNDED = 2 * PATHS * 2.0**-15
"""How far two sums of path costs, each rounded to multiples of 2⁻¹⁴, can be off."""


def penalty(a: int, b: int, p1: float, p2: float) -> float:
    return 0.0 if a == b else min(p1, p2) if abs(a - b) == 1 else p2


def brute_force(cost, p1, p2):
    """Least energy of all labellings of a chain through each (label, pixel)."""
    labels, length = cost.shape
    best = np.full(cost.shape, np.inf)
    for labelling in itertools.product(range(labels), repeat=length):
        energy = sum(cost[label, k] for k, label in enumerate(labelling))
        energy += sum(
            penalty(labelling[k - 1], labelling[k], p1, max(p2[k - 1], p2[k]))
            for k in range(1, length)
        )
        for k, label in enumerate(labelling):
            best[label, k] = min(best[label, k], energy)
    return best


@pytest.mark.parametrize("upright", [True, False])
@pytest.mark.parametrize("uneven", [True, False])
def test_a_chain_is_solved_exactly(rng, upright, uneven):
    cost = rng.random((4, 6)).astype(np.float32)
    p2 = rng.uniform(0.4, 1.0, 6).astype(np.float32) if uneven else np.full(6, 0.7, np.float32)
    image, jump = (cost[:, :, None], p2[:, None]) if upright else (cost[:, None, :], p2[None, :])
    total = semi_global(image, 0.2, jump).reshape(4, 6)
    # Six of the eight paths begin and end in each pixel; two run along the chain.
    along = total - (PATHS - 2) * cost
    exact = brute_force(cost.astype(float), 0.2, p2)
    # Each path cost is known up to a constant: the least cost of what comes before.
    marginal = along - cost
    np.testing.assert_allclose(
        marginal - marginal.min(axis=0), exact - exact.min(axis=0), atol=ROUNDED
    )


def test_symmetries(rng):
    cost = rng.random((7, 9, 11)).astype(np.float32)
    jump = rng.uniform(0.5, 1.5, (9, 11)).astype(np.float32)
    total = semi_global(cost, 0.1, jump)
    for turn in (
        lambda a: a[..., ::-1],
        lambda a: a[..., ::-1, :],
        lambda a: np.swapaxes(a, -1, -2),
    ):
        # To the last bit: sums of path costs are exact.
        np.testing.assert_array_equal(semi_global(turn(cost), 0.1, turn(jump)), turn(total))
    np.testing.assert_array_equal(semi_global(cost[::-1], 0.1, jump), total[::-1])


def test_free_jumps_leave_the_cost_alone(rng):
    cost = rng.random((5, 6, 7)).astype(np.float32)
    np.testing.assert_allclose(semi_global(cost, 0.0, 0.0), PATHS * cost, atol=ROUNDED)


def test_faint_pixels_follow_their_neighbours(rng):
    cost = np.zeros((9, 15, 15), np.float32)
    cost[3] = -1.0
    cost[:, 5:10, 5:10] = 0.0
    cost[7, 7, 7] = -0.3  # a lone, weak dissenter
    assert (lowest(semi_global(cost, 0.2, 1.0)) == 3.0).all()


def test_lowest_is_exact_on_parabolas():
    label = np.arange(11, dtype=np.float32)[:, None, None]
    truth = np.array([[0.0, 0.7, 5.25, 9.6, 10.0]], np.float32)
    np.testing.assert_allclose(lowest((label - truth) ** 2), truth, atol=1e-4)


def test_second_well():
    total = np.zeros((11, 1, 3), np.float32)
    total[2], total[8, 0, 0] = -8.0, -4.0
    chosen = np.array([[2.0, 2.0, 8.0]], np.float32)
    np.testing.assert_allclose(second_well(total, chosen, 1.5), [[0.5, 1.0, -1.0]])
    assert second_well(total, chosen, 20.0).tolist() == [[0.0, 0.0, 0.0]]
