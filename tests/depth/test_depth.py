"""Physical depth and confidence."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from varfocus import reconstruct
from varfocus.depth import LOST, SURE, confidence, flatness, heard, index_to_depth, margin
from varfocus.simulation import simulate


def test_without_positions_depth_is_in_frames():
    index = np.array([[0.0, 1.25], [2.5, 4.0]])
    depth = index_to_depth(index, None)
    assert depth.dtype == np.float32
    np.testing.assert_array_equal(depth, index)


@pytest.mark.parametrize(
    "focus", [[0.0, 1.0, 3.0, 7.0], [5.0, 4.5, 4.0, 1.0], [-2.0, -1.0, 0.0, 1.0]]
)
def test_depth_is_linear_between_positions(focus):
    focus = np.array(focus)
    index = np.array([[0, 1, 2, 3, 0.5, 1.5, 2.25]], np.float32)
    halves = [*focus, focus[:2].mean(), focus[1:3].mean(), 0.75 * focus[2] + 0.25 * focus[3]]
    found = index_to_depth(index, focus)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found[0], halves, rtol=1e-6)


def curve_at(values):
    """The same sampled curve at every pixel, linear between frames."""
    k = np.arange(len(values))
    return lambda x: np.interp(np.broadcast_to(x, (1, 1)), k, values)


@pytest.mark.parametrize(
    ("values", "index", "expected"),
    [
        ([0, 0, 0, 1, 0, 0, 0], 3, 1.0),  # alone
        ([0, 1, 0, 0, 0, 1, 0], 1, 0.0),  # a rival just as high
        ([0, 0.5, 0, 0, 0, 1, 0], 1, -0.5),  # a higher rival
        ([0, 0.5, 0, 0, 0, 1, 0], 5, 0.5),  # a lower rival
        ([0, 0, 0.9, 1, 0.9, 0, 0], 3, 1.0),  # neighbours are no rivals
        ([3, 3, 3, 3, 3, 3, 3], 3, 0.0),  # flat
        ([5, 5, 5, 7, 5, 5, 5], 3, 1.0),  # only differences count
    ],
)
def test_margin_by_hand(values, index, expected):
    at = np.full((1, 1), index, np.float32)
    assert margin(curve_at(values), at, len(values)) == pytest.approx(expected)


@given(values=st.lists(st.floats(0, 10), min_size=3, max_size=9), place=st.floats(0, 1))
def test_margin_is_between_minus_one_and_one(values, place):
    n = len(values)
    found = margin(curve_at(values), np.full((1, 1), place * (n - 1), np.float32), n)
    assert -1.0 <= found.item() <= 1.0


def test_flatness_by_hand():
    index = np.zeros((20, 20), np.float32)
    np.testing.assert_array_equal(flatness(index), 1.0)
    index[:, 10:] = 4.0
    flat = flatness(index)
    np.testing.assert_allclose(flat[:, 7:13], 1 / 5)
    np.testing.assert_allclose(flat[:, :7], 1.0)
    np.testing.assert_allclose(flat[:, 13:], 1.0)


def test_confidence_is_a_probability_that_grows_with_both_observations(rng):
    weights = (4.0, 3.0, -2.0)
    M = np.sort(rng.uniform(-1, 1, 50)).astype(np.float32)
    f = rng.uniform(0, 1, 50).astype(np.float32)
    along_margin = confidence(M, np.full_like(M, 0.5), weights)
    along_flatness = confidence(np.zeros_like(M), np.sort(f), weights)
    for values in (along_margin, along_flatness):
        assert values.dtype == np.float32
        assert ((values >= 0) & (values <= 1)).all()
        assert (np.diff(values) >= 0).all()
    half = confidence(np.array([0.5]), np.array([0.0]), weights)
    np.testing.assert_allclose(half, 0.5)


def test_confidence_is_left_where_much_speaks_and_lost_where_nothing_does():
    left = heard(np.array([-1.0, 0.0, 0.1, 1.0, 100.0], np.float32))
    assert left[0] == left[1] == pytest.approx(1.0 - LOST)
    assert (np.diff(left[1:]) > 0).all()
    assert left[3] > 0.99
    assert left[4] == 1.0


def test_what_is_called_unknown_is_never_sure():
    left = heard(np.linspace(0.0, 1.0, 50, endpoint=False, dtype=np.float32))
    certain = confidence(np.float32([3.0]), np.float32([1.0]), (9.0, 9.0, 9.0))
    assert (left * certain < SURE).all()


def test_depth_of_a_plain_area_is_not_sure(rng):
    frames = simulate("cone", shape=(72, 120), n=9, seed=2).frames.copy()
    noise = rng.normal(117.0, 2.0, (*frames[:, :, 72:].shape[:3], *frames.shape[3:]))
    frames[:, :, 72:] = noise.round()
    result = reconstruct(frames, align="none")
    plain = np.s_[:, 90:]
    assert not result.known[plain].any()
    assert result.confidence[plain].mean() < 0.7
    assert result.confidence[:, :60].mean() > 0.9
