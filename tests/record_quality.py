"""What each method's error on small scenes is, and the record that `test_quality` holds it to.

The record is a bound from above: a smaller error passes, a larger one does not. After a change that
is meant to alter depth maps, look at what it does and record it anew:

    python tests/record_quality.py        # or: make quality

prints every figure that moved, old → new, better or worse, and writes quality.json.
"""

from __future__ import annotations

import json
from pathlib import Path

from varfocus.methods.paper import fitting_degree
from varfocus.params import Params
from varfocus.pipeline import METHODS, estimate
from varfocus.simulation import simulate
from varfocus.stack import FocusStack
from varfocus.studies.metrics import bad_pixels, rmse

RECORD = Path(__file__).with_name("quality.json")
SCENES = {
    "cone": {"shape": (128, 128), "seed": 3},
    "cosine": {"shape": (128, 128), "seed": 3, "noise": 1.0},
    "sphere": {"shape": (128, 128), "seed": 3},
    "steps": {"shape": (112, 128), "seed": 3},
    "slants": {"shape": (112, 128), "seed": 3},
    "textureless": {"shape": (112, 128), "seed": 3},
    "table": {"shape": (112, 128), "seed": 3},
}
FRAMES = 12
METHOD_NAMES = tuple(method for method in METHODS if method != "auto")

TOLERANCE = 0.02
"""Relative, between machines; two engines and any number of threads agree far better."""

FEW_PIXELS = 0.001
"""Shares of bad pixels this close are equal: some ten pixels of these scenes."""

Figures = dict[str, dict[str, float]]
"""RMSE and share of bad pixels, by method."""


def measure(name: str) -> Figures:
    """Return RMSE (frames) and share of pixels off by more than a frame, by method."""
    scene = simulate(name, n=FRAMES, **SCENES[name])
    stack, truth = FocusStack.from_array(scene.frames), scene.truth_index
    found = {}
    for method in METHOD_NAMES:
        params = fitting_degree(stack, Params.from_keywords(method))[0]
        index = estimate(stack, params).index
        found[method] = {"rmse": rmse(index, truth), "bad": bad_pixels(index, truth)}
    return found


def regressions(found: Figures, record: Figures) -> list[str]:
    """Return what is worse than on record by more than the tolerance, in words."""
    return [
        f"{method} {what}: {record[method][what]:.5f} → {value:.5f}"
        for method, figures in found.items()
        for what, value in figures.items()
        if value - record[method][what]
        > max(TOLERANCE * record[method][what], FEW_PIXELS if what == "bad" else 0.0)
    ]


def recorded() -> dict[str, Figures]:
    """Return the record, by scene."""
    return json.loads(RECORD.read_text(encoding="utf-8")) if RECORD.exists() else {}


def main() -> None:
    """Measure, say what moved, and record it."""
    before = recorded()
    after = {name: measure(name) for name in SCENES}
    for name, methods in after.items():
        for method, figures in methods.items():
            for what, new in figures.items():
                old = before.get(name, {}).get(method, {}).get(what)
                if old is None or abs(new - old) > 1e-4:
                    word = "" if old is None else "worse" if new > old else "better"
                    print(f"{name} {method} {what}: {old} → {new:.5f} {word}".rstrip())
    rounded = {
        name: {m: {w: round(v, 5) for w, v in f.items()} for m, f in methods.items()}
        for name, methods in after.items()
    }
    RECORD.write_text(json.dumps(rounded, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
