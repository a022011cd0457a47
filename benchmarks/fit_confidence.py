"""Fit the weights of the confidence by logistic regression on simulated scenes.

Prints w_M, w_f, w_0 for `varfocus.products.CONFIDENCE_WEIGHTS`, and how well they hold on seeds
they were not fitted to:

    python benchmarks/fit_confidence.py [method ...]
"""

from __future__ import annotations

import sys

import numpy as np
from scipy.optimize import minimize

from varfocus import depth, pipeline
from varfocus.methods import paper
from varfocus.params import Params
from varfocus.simulation import SCENES, SHAPES, simulate
from varfocus.studies import metrics

SEEDS = {"fit": (0, 1), "check": (2,)}


def observations(method: str, seeds: tuple[int, ...]) -> list[tuple[np.ndarray, ...]]:
    """Return M, f, index and truth of every scene."""
    seen = []
    for name in (*SHAPES, *SCENES):
        for seed in seeds:
            scene = simulate(name, shape=(192, 240), n=15 + 6 * seed, seed=seed)
            params = paper.fitting_degree(scene.stack, Params.from_keywords(method))[0]
            found = pipeline.estimate(scene.stack, params)
            flat = depth.flatness(found.index)
            seen.append((found.margin, flat, found.index, scene.truth_index))
    return seen


def fit(seen: list[tuple[np.ndarray, ...]]) -> np.ndarray:
    """Return the weights that make the observed errors most likely; every scene counts alike."""
    features, right, weight = [], [], []
    for M, f, index, truth in seen:
        known = np.isfinite(truth)
        features.append(np.stack([M[known], f[known], np.ones(known.sum())], axis=1))
        right.append(np.abs(index - truth)[known] <= 1.0)
        weight.append(np.full(known.sum(), 1.0 / known.sum()))
    x, y, w = np.concatenate(features), np.concatenate(right), np.concatenate(weight)
    sign = np.where(y, -1.0, 1.0)

    def loss(weights: np.ndarray) -> float:
        return float(np.sum(w * np.logaddexp(0, sign * (x @ weights))))

    return np.asarray(minimize(loss, np.zeros(3), method="BFGS").x)


def main() -> None:
    """Fit and check the methods named on the command line, or all."""
    for method in sys.argv[1:] or ("robust", "paper", "classic"):
        seen = observations(method, SEEDS["fit"])
        weights = fit(seen)
        print(method, np.round(weights, 2))
        for M, f, index, truth in observations(method, SEEDS["check"]):
            confidence = depth.confidence(M, f, tuple(weights))
            curve = metrics.sparsification(confidence, index, truth)
            calibration = metrics.reliability(confidence, index, truth).expected_error
            kept = np.interp(0.2, curve.dropped, curve.rmse)
            sure = confidence >= 0.9
            right = np.mean(np.abs(index - truth)[sure] <= 1)
            print(
                f"  calibration {calibration:.3f}; RMSE {curve.rmse[0]:.2f}, without the least "
                f"confident fifth {kept:.2f}; {right:.1%} right of {sure.mean():.0%} at ≥ 0.9"
            )


if __name__ == "__main__":
    main()
