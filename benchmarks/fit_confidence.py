"""Fit the weights of the confidence by logistic regression on simulated scenes.

Prints w_M, w_f, w_0 for `varfocus.products.CONFIDENCE_WEIGHTS`, and how well they hold on seeds
they were not fitted to:

    python benchmarks/fit_confidence.py [method ...]

or, from pictures with depth, or stacks with truth, of the split "dev" (docs/lenses.md),
`varfocus.depth.LOST` and `QUIET`:

    python benchmarks/fit_confidence.py --evidence FOLDER [FOLDER ...]
"""

from __future__ import annotations

import itertools
import sys
from pathlib import Path

import numpy as np
from scipy.optimize import minimize

from varfocus import depth, pipeline
from varfocus.errors import InputError
from varfocus.methods import paper
from varfocus.params import Params
from varfocus.products import CONFIDENCE_WEIGHTS
from varfocus.simulation import SCENES, SHAPES, simulate
from varfocus.studies import metrics
from varfocus.studies.evaluation.case import Scene
from varfocus.studies.evaluation.folders import folder_scene, stack_folders
from varfocus.studies.evaluation.lenses import recipes, split_of
from varfocus.studies.evaluation.pictures import picture_folders, picture_scene

ROBUST = CONFIDENCE_WEIGHTS["robust"]

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


def scenes(folder: Path) -> list[Scene]:
    """Return stacks with truth, or pictures seen by the lenses of the split, of names in dev."""
    try:
        stacks = stack_folders(folder)
    except InputError:
        pictures = [f for f in picture_folders(folder) if split_of(f.name) == "dev"]
        return [
            picture_scene(picture, recipe, crop=240)
            for number, picture in enumerate(pictures)
            for recipe in recipes(number, "dev")
        ]
    return [folder_scene(f) for f in stacks if split_of(f.name.split("-")[0]) == "dev"]


def fit_evidence(folders: list[Path]) -> None:
    """Print what is left of the confidence by how much speaks, and the curve that fits best."""
    evidence, right, believed = [], [], []
    for scene in (scene for folder in folders for scene in scenes(folder)):
        case = scene.make(0)
        found = pipeline.estimate(case.stack, Params.from_keywords("robust"))
        assert found.heard is not None
        known = np.isfinite(case.truth)
        lost = np.maximum((1.0 - found.heard[known]) / depth.LOST, 1e-6)
        evidence.append(-depth.QUIET * np.log(lost))
        right.append(np.abs(found.index - case.truth)[known] <= 1.0)
        likely = depth.confidence(found.margin, depth.flatness(found.index), ROBUST)
        believed.append(likely[known])
    e, y, c = (np.concatenate(each) for each in (evidence, right, believed))
    for low, high in itertools.pairwise((0.0, 0.1, 0.2, 0.3, 0.45, 0.6, 0.8, 1.0, 1.5, np.inf)):
        here = (e >= low) & (e < high)
        if here.any():
            left = y[here].mean() / c[here].mean()
            print(f"E {low:4}–{high:4}: {here.mean():.1%}, left {left:.3f}")

    def loss(shape: np.ndarray) -> float:
        p = np.clip(c * (1.0 - shape[0] * np.exp(-e / max(shape[1], 1e-3))), 1e-4, 1 - 1e-4)
        return float(-np.mean(np.where(y, np.log(p), np.log1p(-p))))

    found = minimize(loss, np.array([depth.LOST, depth.QUIET]), method="Nelder-Mead")
    print("LOST, QUIET:", np.round(found.x, 2))


def main() -> None:
    """Fit and check the methods named on the command line, or all."""
    if sys.argv[1:2] == ["--evidence"]:
        fit_evidence([Path(folder) for folder in sys.argv[2:]])
        return
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
