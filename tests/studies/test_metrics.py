"""Metrics on arrays small enough to check by hand."""

import numpy as np
import pytest

from varfocus.errors import ParameterError
from varfocus.studies import metrics

NAN = np.nan
TRUTH = np.array([[0.0, 1.0, 2.0], [3.0, NAN, 5.0]])
GUESS = np.array([[0.0, 2.0, 0.0], [3.0, 9.0, NAN]])


def test_averages_use_pixels_where_both_are_known() -> None:
    assert metrics.mse(GUESS, TRUTH) == pytest.approx((0 + 1 + 4 + 0) / 4)
    assert metrics.rmse(GUESS, TRUTH) == pytest.approx(np.sqrt(5 / 4))
    assert metrics.mae(GUESS, TRUTH) == pytest.approx(3 / 4)


def test_missing_estimates_are_counted_and_are_bad() -> None:
    assert metrics.missing(GUESS, TRUTH) == pytest.approx(1 / 5)
    assert metrics.bad_pixels(GUESS, TRUTH, 1.0) == pytest.approx(2 / 5)
    assert metrics.bad_pixels(GUESS, TRUTH, 0.5) == pytest.approx(3 / 5)
    assert metrics.bad_pixels(np.full((2, 3), NAN), TRUTH) == 1


def test_nothing_to_compare_is_nan() -> None:
    nothing = np.full((2, 2), NAN)
    for metric in (metrics.mse, metrics.rmse, metrics.mae, metrics.missing, metrics.bad_pixels):
        assert np.isnan(metric(np.zeros((2, 2)), nothing))


def test_psnr() -> None:
    truth = np.zeros((4, 4))
    assert metrics.psnr(truth + 0.1, truth) == pytest.approx(20)
    assert metrics.psnr(truth + 25.5, truth, peak=255) == pytest.approx(20)
    assert metrics.psnr(truth, truth) == np.inf


def test_jump_distance() -> None:
    truth = np.zeros((1, 8))
    truth[0, 4:] = 2.0
    assert metrics.jump_distance(truth).tolist() == [[4, 3, 2, 1, 1, 2, 3, 4]]
    assert np.isinf(metrics.jump_distance(truth, jump=2.0)).all()
    truth[0, 4] = NAN
    assert np.isinf(metrics.jump_distance(truth)).all()
    assert metrics.jump_distance(truth.T).shape == (8, 1)


def test_edge_bands() -> None:
    truth = np.zeros((5, 40))
    truth[:, 20:] = 6.0
    guess = truth.copy()
    guess[:, 20:23] -= 3.0
    guess[:, 12] += 0.5
    guess[:, 0] = NAN
    bands = metrics.edge_band_errors(guess, truth)
    assert list(bands) == ["at", "near", "away"]
    assert [band.pixels for band in bands.values()] == [5 * 6, 5 * 10, 5 * 24]
    assert bands["at"].rmse == pytest.approx(np.sqrt(9 / 2))
    assert bands["at"].bad == pytest.approx(0.5)
    assert bands["near"].rmse == pytest.approx(np.sqrt(0.25 / 10))
    assert bands["near"].bad == 0
    assert bands["away"].rmse == 0
    assert bands["away"].bad == pytest.approx(1 / 24)


def test_bands_without_jumps_are_empty() -> None:
    bands = metrics.edge_band_errors(np.zeros((4, 4)), np.zeros((4, 4)))
    assert bands["at"].pixels == 0
    assert np.isnan(bands["at"].rmse)
    assert bands["away"] == metrics.BandError(0.0, 0.0, 16)


def test_sparsification_of_a_perfect_confidence() -> None:
    truth, error = np.zeros(10), np.arange(10.0)
    curve = metrics.sparsification(-error, error, truth, steps=5)
    assert curve.dropped.tolist() == pytest.approx([0, 0.2, 0.4, 0.6, 0.8])
    kept = [np.sqrt(np.mean(error[:m] ** 2)) for m in (10, 8, 6, 4, 2)]
    np.testing.assert_allclose(curve.rmse, kept)
    np.testing.assert_allclose(curve.oracle, kept)
    assert curve.area == 0


def test_sparsification_of_a_reversed_and_of_no_confidence() -> None:
    truth, error = np.zeros(10), np.arange(10.0)
    worst = metrics.sparsification(error, error, truth)
    assert (np.diff(worst.rmse) >= 0).all()
    flat = metrics.sparsification(np.ones(10), error, truth)
    np.testing.assert_allclose(flat.rmse, flat.rmse[0])
    assert 0 < flat.area < worst.area


def test_sparsification_leaves_out_the_missing_and_trusts_nan_least() -> None:
    truth = np.array([0.0, 0, 0, 0, NAN])
    guess = np.array([1.0, 0, 0, NAN, 7.0])
    confidence = np.array([NAN, 0.1, 0.2, 0.3, 0.4])
    curve = metrics.sparsification(confidence, guess, truth, steps=3)
    np.testing.assert_allclose(curve.rmse, [np.sqrt(1 / 3), 0, 0])
    empty = metrics.sparsification(confidence, np.full(5, NAN), truth, steps=3)
    assert np.isnan(empty.rmse).all()


def test_reliability() -> None:
    truth = np.zeros(8)
    guess = np.array([0, 0, 0, 5, 0, 5, 5, NAN])
    confidence = np.array([0.75, 0.75, 0.75, 0.75, 0.25, 0.25, 0.25, 0.25])
    diagram = metrics.reliability(confidence, guess, truth, bins=2)
    assert diagram.pixels.tolist() == [4, 4]
    np.testing.assert_allclose(diagram.confidence, [0.25, 0.75])
    np.testing.assert_allclose(diagram.accuracy, [0.25, 0.75])
    assert diagram.expected_error == pytest.approx(0)
    sure = metrics.reliability(np.ones(8), guess, truth, bins=10)
    assert sure.pixels.tolist() == [0] * 9 + [8]
    assert sure.expected_error == pytest.approx(0.5)


def test_reliability_reads_nan_as_no_confidence() -> None:
    diagram = metrics.reliability([NAN, 0.9], [0.0, 0.0], [0.0, NAN], bins=4)
    assert diagram.pixels.tolist() == [1, 0, 0, 0]
    assert diagram.expected_error == 1
    assert np.isnan(metrics.reliability([0.5], [0.0], [NAN]).expected_error)


def test_shapes_must_agree() -> None:
    with pytest.raises(ParameterError, match="estimate"):
        metrics.rmse(np.zeros((2, 3)), np.zeros((3, 2)))
    with pytest.raises(ParameterError, match="confidence"):
        metrics.reliability(np.zeros(3), np.zeros(2), np.zeros(2))
