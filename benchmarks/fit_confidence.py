"""Fit the weights of the confidence to how often depths are right, every scene counting alike.

Prints w_M, w_f, w_0 for `varfocus.products.CONFIDENCE_WEIGHTS`, and how well they hold on seeds
they were not fitted to; with --scenes also fitted to pictures with depth, or stacks with truth, of
the split "dev" (docs/lenses.md):

    python benchmarks/fit_confidence.py [method ...] [--scenes FOLDER ...]

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
from varfocus.stack import FocusStack
from varfocus.studies import metrics
from varfocus.studies.evaluation.case import Scene
from varfocus.studies.evaluation.folders import folder_scene, stack_folders
from varfocus.studies.evaluation.lenses import recipes, split_of
from varfocus.studies.evaluation.pictures import picture_folders, picture_scene

ROBUST = CONFIDENCE_WEIGHTS["robust"]

SEEDS = {"fit": (0, 1), "check": (2,)}


def observations(method: str, seeds: tuple[int, ...]) -> list[tuple[np.ndarray, ...]]:
    """Return M, f, what speaks, index and truth of every scene of our own."""
    return [
        observed(method, scene.stack, scene.truth_index)
        for name in (*SHAPES, *SCENES)
        for seed in seeds
        for scene in [simulate(name, shape=(192, 240), n=15 + 6 * seed, seed=seed)]
    ]


def observed(method: str, stack: FocusStack, truth: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return M, f, what is left where little speaks, index and truth of a stack."""
    params = paper.fitting_degree(stack, Params.from_keywords(method))[0]
    found = pipeline.estimate(stack, params)
    left = np.ones(truth.shape) if found.heard is None else found.heard
    return found.margin, depth.flatness(found.index), left, found.index, truth


def fit(seen: list[tuple[np.ndarray, ...]]) -> np.ndarray:
    """Return the weights that make the observed errors most likely; every scene counts alike."""
    features, speaks, right, weight = [], [], [], []
    for M, f, left, index, truth in seen:
        known = np.isfinite(truth)
        features.append(np.stack([M[known], f[known], np.ones(known.sum())], axis=1))
        speaks.append(left[known])
        right.append(np.abs(index - truth)[known] <= 1.0)
        weight.append(np.full(known.sum(), 1.0 / known.sum()))
    x, h, y, w = (np.concatenate(each) for each in (features, speaks, right, weight))

    def loss(weights: np.ndarray) -> float:
        p = np.clip(h / (1.0 + np.exp(-(x @ weights))), 1e-6, 1.0 - 1e-6)
        return -float(np.sum(w * np.where(y, np.log(p), np.log1p(-p))))

    return np.asarray(minimize(loss, np.ones(3), method="Nelder-Mead").x)


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
    given = sys.argv[1:]
    cut = given.index("--scenes") if "--scenes" in given else len(given)
    others = [scene.make(0) for folder in given[cut + 1 :] for scene in scenes(Path(folder))]
    for method in given[:cut] or ("robust", "paper", "classic"):
        seen = observations(method, SEEDS["fit"])
        seen += [observed(method, case.stack, case.truth) for case in others]
        weights = fit(seen)
        print(method, np.round(weights, 2))
        for M, f, left, index, truth in observations(method, SEEDS["check"]):
            confidence = depth.confidence(M, f, tuple(weights)) * left
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
