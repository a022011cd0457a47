"""What is measured of one depth map against the truth, as plain numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from varfocus import depth
from varfocus.studies import metrics
from varfocus.studies.evaluation.case import Case, Map
from varfocus.studies.evaluation.places import GHOST, INNER, OUTER, jump_size, places

TINY = 1e-300

DROPPED = 0.2
"""Share of the least confident pixels that is left out for `Scores.kept`."""


@dataclass(frozen=True)
class Scores:
    """Errors of a depth map and quality of its confidence; NaN where undefined.

    Attributes
    ----------
    rmse, mae : float
        Root mean square and mean absolute error, in the unit of the case.
    bad_half, bad_one, bad_two : float
        Share of pixels off by more than ½, 1 and 2 frames, in [0, 1].
    rmse_at, rmse_near, rmse_away : float
        RMSE in frames up to 3 px from a depth jump (see `jump_size`), from there to 8 px, beyond.
    bad_at, bad_near, bad_away : float
        Share of pixels off by more than a frame there.
    rmse_plain, bad_plain, rmse_rest, bad_rest : float
        The same beyond 8 px where nothing speaks, and for all else, see `places.areas`.
    share_at, share_near, share_plain, share_rest : float
        Share of the pixels in each place.
    squared_at, squared_near, squared_plain, squared_rest : float
        Share of the sum of squared errors in each place.
    ghosts, squared_ghosts : float
        Share of pixels off by more than 4 frames, and of the squared error that they make.
    missing : float
        Share of pixels without an estimate.
    calibration : float
        Expected calibration error of the confidence, see `varfocus.studies.metrics.Reliability`.
    sure, sure_right : float
        Share of pixels of confidence ≥ 0.9, and the share of those that are right to one frame.
    sure_plain : float
        Mean confidence where nothing speaks.
    kept : float
        RMSE in frames without the least confident fifth, divided by that of all pixels.
    """

    rmse: float
    mae: float
    bad_half: float
    bad_one: float
    bad_two: float
    rmse_at: float
    rmse_near: float
    rmse_away: float
    bad_at: float
    bad_near: float
    bad_away: float
    rmse_plain: float
    bad_plain: float
    rmse_rest: float
    bad_rest: float
    share_at: float
    share_near: float
    share_plain: float
    share_rest: float
    squared_at: float
    squared_near: float
    squared_plain: float
    squared_rest: float
    ghosts: float
    squared_ghosts: float
    missing: float
    calibration: float
    sure: float
    sure_right: float
    sure_plain: float
    kept: float


MEASURES = tuple(field.name for field in fields(Scores))


@dataclass(frozen=True, eq=False)
class Judgement:
    """Scores together with the curves they come from."""

    scores: Scores
    reliability: metrics.Reliability
    sparsification: metrics.Sparsification


def judge(case: Case, index: Map, confidence: Map) -> Judgement:
    """Measure a depth map and its confidence.

    Parameters
    ----------
    case : Case
        With the truth.
    index, confidence : ndarray of shape (H, W), float32
        What a method gave.

    Returns
    -------
    Judgement
        All of it.
    """
    truth = case.truth
    physical = [depth.index_to_depth(each, case.positions) for each in (index, truth)]
    bands = metrics.edge_band_errors(
        index, truth, jump=jump_size(len(case.stack)), inner=INNER, outer=OUTER
    )
    there = places(index, truth, case.areas)
    plain = case.areas["plain"]
    error = np.where(np.isfinite(truth) & np.isfinite(index), index - truth, 0.0)
    squares = np.square(error, dtype=np.float64)
    ghosts = np.abs(error) > GHOST
    reliability = metrics.reliability(confidence, index, truth)
    curve = metrics.sparsification(confidence, index, truth)
    sure = np.isfinite(truth) & (confidence >= depth.SURE)
    scores = Scores(
        rmse=metrics.rmse(*physical),
        mae=metrics.mae(*physical),
        bad_half=metrics.bad_pixels(index, truth, 0.5),
        bad_one=metrics.bad_pixels(index, truth, 1.0),
        bad_two=metrics.bad_pixels(index, truth, 2.0),
        rmse_at=bands["at"].rmse,
        rmse_near=bands["near"].rmse,
        rmse_away=bands["away"].rmse,
        bad_at=bands["at"].bad,
        bad_near=bands["near"].bad,
        bad_away=bands["away"].bad,
        rmse_plain=there["plain"].rmse,
        bad_plain=there["plain"].bad,
        rmse_rest=there["rest"].rmse,
        bad_rest=there["rest"].bad,
        **{f"share_{name}": place.share for name, place in there.items()},
        **{f"squared_{name}": place.squared for name, place in there.items()},
        ghosts=metrics.bad_pixels(index, truth, GHOST),
        squared_ghosts=float(squares[ghosts].sum() / max(squares.sum(), TINY)),
        missing=metrics.missing(index, truth),
        calibration=reliability.expected_error,
        sure=float(sure.sum() / max(np.isfinite(truth).sum(), 1)),
        sure_right=1.0 - metrics.bad_pixels(index[sure], truth[sure]),
        sure_plain=float(confidence[plain].mean()) if plain.any() else float("nan"),
        kept=ratio(float(np.interp(DROPPED, curve.dropped, curve.rmse)), float(curve.rmse[0])),
    )
    return Judgement(scores, reliability, curve)


def ratio(value: float, reference: float) -> float:
    """Return value/reference; 0/0 is NaN, and anything else over 0 infinite."""
    if reference == 0.0:
        return float("nan") if value == 0.0 else float("inf")
    return value / reference


def mean(values: Sequence[float]) -> float:
    """Return the mean of what is not NaN; NaN of nothing."""
    known = [value for value in values if not np.isnan(value)]
    return float(np.mean(known)) if known else float("nan")


def geometric_mean(values: Sequence[float]) -> float:
    """Return the geometric mean of what is not NaN; NaN of nothing.

    A value below 1/100 counts as 1/100: one scene without any error must not outweigh all others.
    """
    known = [max(value, 0.01) for value in values if not np.isnan(value)]
    return float(np.exp(np.mean(np.log(known)))) if known else float("nan")


def mean_scores(scores: Sequence[Scores]) -> Scores:
    """Return the mean of every measure over several stacks."""
    return Scores(**{name: mean([getattr(each, name) for each in scores]) for name in MEASURES})


def least(scores: Sequence[Scores]) -> Scores:
    """Return the smallest of every measure: for errors, the best of several runs at each."""
    return Scores(
        **{name: _smallest([getattr(each, name) for each in scores]) for name in MEASURES}
    )


def rms(values: NDArray[np.float32]) -> float:
    """Return the root mean square."""
    return float(np.sqrt(np.mean(np.square(values, dtype=np.float64))))


def _smallest(values: Sequence[float]) -> float:
    known = [value for value in values if not np.isnan(value)]
    return min(known) if known else float("nan")
