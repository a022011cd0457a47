"""How far an estimate is from the truth, and how well its confidence predicts that.

Two rules hold throughout. Where the truth is not finite, nothing is judged. Where the truth is
known but the estimate is not finite, the pixel is *missing*: averages (`mse`, `rmse`, `mae`,
`psnr`, `sparsification`) leave it out, counts of failures (`bad_pixels`, `reliability`) count it as
wrong, and `missing` says how many there are. Report it next to an average, or leaving pixels out
would pay. Numbers without a single pixel behind them are NaN.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import ndimage

from varfocus.errors import ParameterError

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class BandError:
    """Errors of one band around the depth jumps."""

    rmse: float
    """Root mean square error, in the unit of the depth."""
    bad: float
    """Share in [0, 1] of pixels off by more than the threshold, or missing."""
    pixels: int
    """Pixels in the band with known truth."""


@dataclass(frozen=True, eq=False)
class Sparsification:
    """Error that remains when the least confident pixels are dropped; arrays of shape (m,)."""

    dropped: Array
    """Share of pixels dropped."""
    rmse: Array
    """Error of the rest when the least confident go first."""
    oracle: Array
    """The same when the worst pixels go first: the best any confidence could do."""

    @property
    def area(self) -> float:
        """Area between curve and oracle, relative to the error of all pixels; 0 is perfect."""
        if not len(self.rmse) or not self.rmse[0] > 0:
            return 0.0
        gap = (self.rmse - self.oracle) / self.rmse[0]
        return float(((gap[1:] + gap[:-1]) / 2 * np.diff(self.dropped)).sum())


@dataclass(frozen=True, eq=False)
class Reliability:
    """How often the confidence is right, bin by bin; arrays of shape (bins,)."""

    confidence: Array
    """Mean confidence in the bin; NaN if it is empty."""
    accuracy: Array
    """Share of its pixels within the threshold; NaN if it is empty."""
    pixels: NDArray[np.int64]
    """Pixels in the bin."""

    @property
    def expected_error(self) -> float:
        """Expected calibration error Σ_b (n_b/N) |accuracy_b − confidence_b|; 0 is perfect."""
        if self.pixels.sum() == 0:
            return float("nan")
        gap = np.nan_to_num(np.abs(self.accuracy - self.confidence))
        return float((gap * self.pixels).sum() / self.pixels.sum())


def mse(estimate: ArrayLike, truth: ArrayLike) -> float:
    """Return the mean square error over pixels where both are finite; arrays of equal shape."""
    error, known, found = _errors(estimate, truth)
    return _mean(error[known & found] ** 2)


def rmse(estimate: ArrayLike, truth: ArrayLike) -> float:
    """Return the root mean square error, in the unit of the depth."""
    return float(np.sqrt(mse(estimate, truth)))


def mae(estimate: ArrayLike, truth: ArrayLike) -> float:
    """Return the mean absolute error, in the unit of the depth."""
    error, known, found = _errors(estimate, truth)
    return _mean(np.abs(error[known & found]))


def missing(estimate: ArrayLike, truth: ArrayLike) -> float:
    """Return the share in [0, 1] of pixels with known truth for which there is no estimate."""
    _, known, found = _errors(estimate, truth)
    return _mean(~found[known])


def bad_pixels(estimate: ArrayLike, truth: ArrayLike, threshold: float = 1.0) -> float:
    """Return the share in [0, 1] of pixels off by more than `threshold`, or missing.

    The threshold is in the unit of the depth, usually frames; an error of exactly that is good.
    """
    error, known, found = _errors(estimate, truth)
    return _mean(~found[known] | (np.abs(error[known]) > threshold))


def psnr(estimate: ArrayLike, truth: ArrayLike, peak: float = 1.0) -> float:
    """Return the peak signal-to-noise ratio 10 log₁₀(peak²/mse) in dB; inf if they are equal."""
    error = mse(estimate, truth)
    return float("inf") if error == 0 else float(10 * np.log10(peak**2 / error))


def jump_distance(truth: ArrayLike, jump: float = 1.0) -> Array:
    """Return the distance of every pixel to the nearest depth jump.

    Parameters
    ----------
    truth : array_like of shape (H, W)
        True depth, usually in frames. A jump lies between two neighbours, side by side or one
        above the other, whose values differ by more than `jump`. NaN makes no jump.
    jump : float
        In the unit of the truth.

    Returns
    -------
    ndarray of float64, shape (H, W)
        Pixels; 1 for the two pixels at a jump, inf without any jump.
    """
    depth = np.asarray(truth, dtype=np.float64)
    at_jump = np.zeros(depth.shape, dtype=bool)
    with np.errstate(invalid="ignore"):
        down = np.abs(np.diff(depth, axis=0)) > jump
        across = np.abs(np.diff(depth, axis=1)) > jump
    at_jump[1:] |= down
    at_jump[:-1] |= down
    at_jump[:, 1:] |= across
    at_jump[:, :-1] |= across
    if not at_jump.any():
        return np.full(depth.shape, np.inf)
    distance: Array = 1.0 + ndimage.distance_transform_edt(~at_jump)
    return distance


def edge_band_errors(
    estimate: ArrayLike,
    truth: ArrayLike,
    *,
    jump: float = 1.0,
    threshold: float = 1.0,
    inner: float = 3.0,
    outer: float = 8.0,
) -> dict[str, BandError]:
    """Return errors at, near and away from depth jumps.

    Parameters
    ----------
    estimate, truth : array_like of shape (H, W)
        Usually in frames.
    jump, threshold : float
        What counts as a jump, see `jump_distance`, and as bad, see `bad_pixels`.
    inner, outer : float
        Band limits in pixels.

    Returns
    -------
    dict of str to BandError
        ``"at"``: distance ≤ inner; ``"near"``: ≤ outer; ``"away"``: beyond.
    """
    error, known, found = _errors(estimate, truth)
    distance = jump_distance(truth, jump)
    bands = {
        "at": distance <= inner,
        "near": (distance > inner) & (distance <= outer),
        "away": distance > outer,
    }
    result = {}
    for name, band in bands.items():
        there = known & band
        wrong = ~found[there] | (np.abs(error[there]) > threshold)
        spread = float(np.sqrt(_mean(error[there & found] ** 2)))
        result[name] = BandError(spread, _mean(wrong), int(there.sum()))
    return result


def sparsification(
    confidence: ArrayLike, estimate: ArrayLike, truth: ArrayLike, steps: int = 20
) -> Sparsification:
    """Return the error that remains when the least confident pixels are dropped.

    Parameters
    ----------
    confidence : array_like of shape (H, W)
        Larger is surer; only the order matters, and NaN is the least sure.
    estimate, truth : array_like of shape (H, W)
        In the same unit.
    steps : int
        Number of points: shares 0, 1/steps, …, (steps − 1)/steps.

    Returns
    -------
    Sparsification
        Equal confidences are dropped together in the mean, so the order of pixels does not matter.
    """
    error, known, found = _errors(estimate, truth)
    sure = _confidence(confidence, error.shape)
    use = known & found
    square = error[use] ** 2
    dropped = np.arange(steps) / steps
    if square.size == 0:
        nothing = np.full(steps, np.nan)
        return Sparsification(dropped, nothing, nothing)
    _, group = np.unique(sure[use], return_inverse=True)
    expected = (np.bincount(group, square) / np.bincount(group))[group]
    by_confidence = expected[np.argsort(group, kind="stable")]
    return Sparsification(
        dropped, _remaining(by_confidence, dropped), _remaining(np.sort(square)[::-1], dropped)
    )


def reliability(
    confidence: ArrayLike,
    estimate: ArrayLike,
    truth: ArrayLike,
    *,
    threshold: float = 1.0,
    bins: int = 10,
) -> Reliability:
    """Return how often an estimate is right for each level of confidence.

    Parameters
    ----------
    confidence : array_like of shape (H, W)
        Claimed probability that the error is at most `threshold`, in [0, 1]; NaN reads as 0.
    estimate, truth : array_like of shape (H, W)
        In the same unit.
    threshold : float
        Largest error that counts as right, in that unit.
    bins : int
        Bins of equal width over [0, 1].

    Returns
    -------
    Reliability
        Missing estimates count as wrong.

    References
    ----------
    Guo, Pleiss, Sun, Weinberger: On calibration of modern neural networks, ICML 2017.
    """
    error, known, found = _errors(estimate, truth)
    sure = np.clip(_confidence(confidence, error.shape), 0, 1)[known]
    right = (found & (np.abs(error) <= threshold))[known]
    which = np.minimum((sure * bins).astype(int), bins - 1)
    pixels = np.bincount(which, minlength=bins)
    with np.errstate(invalid="ignore"):
        mean = np.bincount(which, sure, bins) / pixels
        accuracy = np.bincount(which, right.astype(np.float64), bins) / pixels
    return Reliability(mean, accuracy, pixels.astype(np.int64))


def _errors(estimate: ArrayLike, truth: ArrayLike) -> tuple[Array, Mask, Mask]:
    """Error (0 where undefined), where the truth is known, where there is an estimate."""
    guess, real = np.asarray(estimate, np.float64), np.asarray(truth, np.float64)
    _same_shape("estimate", guess.shape, real.shape)
    known, found = np.isfinite(real), np.isfinite(guess)
    both = known & found
    error = np.zeros(real.shape)
    np.subtract(guess, real, out=error, where=both)
    return error, known, found


def _confidence(confidence: ArrayLike, shape: tuple[int, ...]) -> Array:
    sure = np.asarray(confidence, np.float64)
    _same_shape("confidence", sure.shape, shape)
    return np.where(np.isnan(sure), -np.inf, sure)


def _same_shape(name: str, shape: tuple[int, ...], expected: tuple[int, ...]) -> None:
    if shape != expected:
        raise ParameterError(
            f"{name}: received shape {shape}",
            f"expected {expected}, that of the truth",
            "Crop or resample one of them first.",
        )


def _mean(values: NDArray[Any]) -> float:
    return float(values.mean()) if values.size else float("nan")


def _remaining(square: Array, dropped: Array) -> Array:
    """RMSE of what is left of squared errors after dropping shares from the front."""
    left = np.cumsum(square[::-1])[::-1]
    first = np.minimum((dropped * square.size).astype(int), square.size - 1)
    result: Array = np.sqrt(left[first] / (square.size - first))
    return result
