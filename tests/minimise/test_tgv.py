"""Total generalised variation from coarse to fine: its problem, its limits and its symmetries."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog

from varfocus.energy import VolumeTerm
from varfocus.energy.operators import K
from varfocus.energy.second_order import E
from varfocus.minimise import tgv


def bowl(m, h, step=0.5, labels=41):
    """Σ ½h(d − m)² as a sampled data term."""
    x = step * np.arange(labels, dtype=np.float32)[:, None, None]
    return VolumeTerm((0.5 * h * (x - m) ** 2).astype(np.float32), step)


def whole(shape):
    return np.ones(shape, np.float32), np.ones((2, *shape), np.float32)


def settled(data, d, alpha, weight, tear, unit=2.0, passes=30):
    for _ in range(passes):
        d, _ = tgv.smoothed(data, d, weight, tear, alpha, unit)
    return d


def solved(parts, held, bent, sigma, iterations=6000):
    state = tgv.iterate(
        parts, held, bent, tgv.State.at(parts.m, np.zeros_like(held)), sigma, iterations
    )
    gap = parts.h * (state.d - parts.m) ** 2 / 2
    energy = gap.sum() + (held * np.abs(K(state.d) - state.v)).sum()
    return state, float(energy + (bent * np.abs(E(state.v))).sum())


def test_the_iteration_reaches_the_minimum(rng):
    m, h = rng.normal(5, 1, (5, 6)).astype(np.float32), rng.uniform(0.5, 2, (5, 6))
    parts = tgv.Parabolas(m, h.astype(np.float32))
    weight, tear = np.ones((5, 6), np.float32), rng.uniform(0.1, 1, (2, 5, 6)).astype(np.float32)
    held, bent = tgv.prices(weight, tear)
    held, bent = 0.6 * held, 0.9 * bent
    state, energy = solved(parts, held, bent, 0.7)
    # Given d, the best v is the solution of a linear program.
    slopes = linear_slopes(state.d, held, bent)
    ours = (held * np.abs(K(state.d) - state.v)).sum() + (bent * np.abs(E(state.v))).sum()
    assert ours <= slopes + 1e-3
    # No step from there lowers the energy.
    for _ in range(60):
        d = state.d + 0.02 * rng.normal(size=m.shape).astype(np.float32)
        other = (parts.h * (d - m) ** 2 / 2).sum() + linear_slopes(d, held, bent)
        assert other >= energy - 1e-3


def linear_slopes(d, held, bent):
    """Return min over v of Σ held|Kd − v| + Σ bent|Ev|, by a solver for linear programs."""
    shape, size = (2, *d.shape), 2 * d.size
    basis = np.eye(size, dtype=np.float64).reshape(size, *shape)
    matrix = np.concatenate([np.stack([b.ravel() for b in basis], 1),
                             np.stack([E(b).ravel() for b in basis], 1)])  # fmt: skip
    target = np.concatenate([K(d).ravel(), np.zeros(bent.size)]).astype(float)
    cost = np.concatenate([held.ravel(), bent.ravel()]).astype(float)
    rows = len(target)
    found = linprog(
        np.concatenate([np.zeros(size), cost]),
        A_ub=np.block([[matrix, -np.eye(rows)], [-matrix, -np.eye(rows)]]),
        b_ub=np.concatenate([target, -target]),
        bounds=[(None, None)] * size + [(0, None)] * rows,
    )
    return float(found.fun)


def test_planes_cost_nothing():
    y, x = np.mgrid[:48, :56].astype(np.float32)
    plane = 4.0 + 0.1 * x + 0.05 * y
    weight, tear = whole(plane.shape)
    for alpha in (0.1, 10.0):
        d = settled(bowl(plane, 1.0), plane, alpha, weight, tear, passes=3)
        np.testing.assert_allclose(d, plane, atol=2e-3)


def test_noise_on_a_plane_vanishes_as_alpha_grows(rng):
    y, x = np.mgrid[:64, :64].astype(np.float32)
    plane = 4.0 + 0.1 * x + 0.05 * y
    noisy = (plane + rng.normal(0, 0.2, plane.shape)).astype(np.float32)
    weight, tear = whole(plane.shape)
    left = [
        np.std(settled(bowl(noisy, 1.0), noisy, alpha, weight, tear, passes=6) - plane)
        for alpha in (1e-4, 0.1, 0.3, 1.0)
    ]
    assert left[0] == pytest.approx(0.2, rel=0.05)
    assert left == sorted(left, reverse=True)
    assert left[-1] < 0.02


def test_torn_links_let_nothing_through(rng):
    step = np.where(np.arange(64) < 37, 3.0, 12.0).astype(np.float32) * np.ones((48, 1), np.float32)
    noisy = (step + rng.normal(0, 0.1, step.shape)).astype(np.float32)
    weight, tear = whole(step.shape)
    tear[0, :, 36] = 0.01
    d = settled(bowl(noisy, 1.0), noisy, 1.0, weight, tear, passes=6)
    assert np.abs(d - step).max() < 0.15
    bled = settled(bowl(noisy, 1.0), noisy, 20.0, *whole(step.shape), passes=6)
    assert np.abs(bled - step).max() > 1.0  # without, it would


@pytest.mark.parametrize("shape", [(64, 96), (61, 90), (58, 91), (63, 65)])
def test_flips_and_transposition_change_nothing(rng, shape):
    m = np.cumsum(rng.normal(0, 0.2, shape), axis=1).astype(np.float32)
    m += 10.0 - m.mean()
    h, weight = rng.uniform(0.1, 2, shape).astype(np.float32), rng.uniform(0.2, 1, shape)
    tear = rng.choice([0.01, 1.0], (2, *shape), p=[0.05, 0.95]).astype(np.float32)
    tear[0, :, -1] = tear[1, -1] = 0.01  # of links that are not there, and do not count

    def answer(m, h, weight, tear):
        weight, tear = (np.ascontiguousarray(a, np.float32) for a in (weight, tear))
        return tgv.smoothed(bowl(m, h), m, weight, tear, 0.5, 2.0)[0]

    straight = answer(m, h, weight, tear)
    across, down = tear
    turned = answer(m.T, h.T, weight.T, np.stack([down.T, across.T]))
    np.testing.assert_allclose(turned.T, straight, atol=2e-5)
    back = np.concatenate([across[:, -2::-1], across[:, -1:]], axis=1)
    mirrored = answer(m[:, ::-1], h[:, ::-1], weight[:, ::-1], np.stack([back, down[:, ::-1]]))
    np.testing.assert_allclose(mirrored[:, ::-1], straight, atol=2e-5)


def test_coarse_links_are_the_weakest_around(rng):
    tear = rng.uniform(0.1, 1, (2, 8, 10)).astype(np.float32)
    found = tgv.halved_links(tear)
    assert found.shape == (2, 4, 5)
    # Of pixels (1, 1) and (1, 2): rows 2 and 3, links from column 2 to column 5.
    assert found[0, 1, 1] == tear[0, 2:4, 2:5].min()
    assert found[1, 1, 1] == tear[1, 2:5, 2:4].min()


def test_coarse_links_of_odd_sides_are_the_weakest_around(rng):
    tear = rng.uniform(0.1, 1, (2, 7, 9)).astype(np.float32)
    found = tgv.halved_links(tear)
    assert found.shape == (2, 4, 5)
    # Pixels (1, 1) and (1, 2) are made of rows 1 to 3, and of columns 1 to 3 and 3 to 5.
    assert found[0, 1, 1] == tear[0, 1:4, 1:5].min()
    assert found[1, 1, 1] == tear[1, 1:5, 1:4].min()


@pytest.mark.parametrize("side", [1, 2, 3, 4, 7, 8])
@pytest.mark.parametrize("linked", [False, True])
def test_numbers_at_twice_the_size_stay_where_they_are(side, linked):
    """Linear numbers stay linear inside, whether at pixels or between them, and symmetric."""
    count = (side + 1) // 2
    # Where the pixels of half the size lie, and half a pixel on the links.
    place = 2.0 * np.arange(count) + (0.5 if side % 2 == 0 else 0.0) + linked
    own = np.arange(side) + (0.5 if linked else 0.0)
    row = np.float32(place)[None].repeat(3, axis=0)
    found = tgv.grown(row, (5, side), (False, linked))
    ends = place[: max(count - linked, 1)]
    expected = np.clip(own, ends[0], ends[-1])
    inside = slice(0, max(side - linked, 0))
    np.testing.assert_allclose(found[:, inside], np.float32(expected)[None, inside].repeat(5, 0))


@pytest.mark.parametrize("more", [0, 1, 2, 3])
def test_an_answer_depends_on_no_pixel_beyond_its_reach(rng, more):
    shape = (40, 3 * tgv.REACH + more)
    m = rng.uniform(3, 12, shape).astype(np.float32)
    other = m.copy()
    other[:, :64] = rng.uniform(3, 12, (40, 64))
    weight, tear = whole(shape)
    one, two = (tgv.smoothed(bowl(m, 1.0), m, weight, tear, 0.5, 2.0)[0] for m in (m, other))
    same = (one == two).all(axis=0)
    assert same[64 + tgv.REACH :].all()
    assert not same[64:80].any()
