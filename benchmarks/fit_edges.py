"""Fit the constants of the edge stage on simulated scenes with known depth.

Prints `varfocus.edges.constants.EdgeConstants` as they are and as they fit best, and how well both
do on seeds they were not fitted to:

    python benchmarks/fit_edges.py [--quick] [constant ...]

The stage is given what the method gives it, recorded once per scene. Constants of the vote are
fitted one after another: each is multiplied by a few factors, and the value with the lowest loss is
kept, until nothing changes. The loss is the mean over scenes of the error after the stage over the
error before, half by RMSE and half by the share of pixels off by more than a frame. The two
thresholds of the survey have to tell scenes whose surfaces hide one another from pictures in which
every pixel is blurred by itself: each is put in the middle between them.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import dataclass, fields, replace
from typing import Any
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray

from varfocus import edges, pipeline
from varfocus.edges import stage
from varfocus.edges.constants import FITTED, EdgeConstants
from varfocus.edges.survey import Closed, try_both_ends
from varfocus.params import Params
from varfocus.simulation import SCENES, SHAPES, simulate
from varfocus.studies.metrics import bad_pixels, rmse

Float = NDArray[np.float32]

SEEDS = {"fit": (0, 1), "check": (2,)}
FACTORS = (0.5, 0.7, 0.85, 1.2, 1.4, 2.0)
"""What a constant is multiplied by to look for a better one."""

VOTED = (
    "earned",
    "share",
    "plenty",
    "nearby",
    "together",
    "stay",
    "sure",
    "robust",
    "sharp",
    "high",
    "asked",
)
"""Constants that decide where pixels go."""

GAIN = 0.002
"""Loss that another value must save to be taken: less is chance."""


@dataclass(frozen=True)
class Given:
    """What the method gives the stage for a scene, and the truth.

    Attributes
    ----------
    name : str
        Scene and seed.
    frames, scale, index, x, rival
        As for `varfocus.edges.sharpen`.
    found : Occlusion or None
        What the survey said; None if it left the stage off.
    truth : ndarray of shape (H, W), float32
        Depth in the same frames as `index`.
    """

    name: str
    frames: list[NDArray[Any]]
    scale: float
    index: Float
    x: NDArray[np.float64]
    rival: Float | None
    found: edges.Occlusion | None
    truth: Float


def recorded(name: str, shape: tuple[int, int], seed: int) -> Given:
    """Run the method on a scene, and return what it gives the stage."""
    scene = simulate(name, shape=shape, n=15 + 6 * seed, seed=seed)
    seen: dict[str, Any] = {"frames": [], "found": None, "rival": None}
    survey, sharpen_part, enough_frames = edges.survey, edges.sharpen_part, edges.enough_frames

    def chosen(x: Any) -> list[int]:
        seen["numbers"] = enough_frames(x)
        return list(seen["numbers"])

    def surveyed(view: Any, size: Any, scale: float, x: Any, *rest: Any, **more: Any) -> Any:
        frames, index = view((slice(0, size[0]), slice(0, size[1])))
        found = survey(view, size, scale, x, *rest, **more)
        given = None if isinstance(found, Closed) else found
        seen.update(frames=frames, index=index, scale=scale, x=x, found=given)
        return found

    def sharpened(frames: Any, scale: float, index: Float, found: Any, *rest: Any) -> Any:
        seen["rival"] = rest[0] if rest else None
        return sharpen_part(frames, scale, index, found, *rest)

    with ExitStack() as patches:
        patches.enter_context(patch.object(edges, "enough_frames", chosen))
        for module in (edges, stage):
            patches.enter_context(patch.object(module, "survey", surveyed))
            patches.enter_context(patch.object(module, "sharpen_part", sharpened))
        pipeline.estimate(scene.stack, Params.from_keywords("robust"))
    truth = np.interp(scene.truth_index, seen.pop("numbers"), np.arange(len(seen["frames"])))
    return Given(f"{name} {seed}", truth=truth.astype(np.float32), **seen)


def loss(given: Iterable[Given], constants: EdgeConstants) -> float:
    """Return the mean error after the stage over that before."""
    ratios = []
    for one in given:
        if one.found is None:
            continue
        found = replace(one.found, jumps=None)  # they depend on the constants
        after = edges.sharpen_part(one.frames, one.scale, one.index, found, one.rival, constants)
        for error in (rmse, bad_pixels):
            before = max(float(error(one.index, one.truth)), 1e-6)
            ratios.append(float(error(after.index, one.truth)) / before)
    return float(np.mean(ratios))


def fit_votes(given: list[Given], names: Iterable[str], sweeps: int) -> EdgeConstants:
    """Return the constants with the lowest loss, changed one after another."""
    best = FITTED
    lowest = loss(given, best)
    print(f"loss {lowest:.4f} with the constants as they are", flush=True)
    for _ in range(sweeps):
        before = best
        for name in names:
            for factor in FACTORS:
                tried = replace(best, **{name: getattr(before, name) * factor})
                value = loss(given, tried)
                if value < lowest - GAIN:
                    best, lowest = tried, value
            print(f"  {name} = {getattr(best, name):.4g}, loss {lowest:.4f}", flush=True)
        if best == before:
            break
    return best


def ratios_of(one: Given) -> tuple[float, float] | None:
    """Return the ratio of the trial, and that ratio over the other end's; None without jumps."""
    trial = try_both_ends(
        lambda box: ([frame[box] for frame in one.frames], one.index[box]),
        one.index.shape,
        one.scale,
        one.x,
        constants=replace(FITTED, hopeless=np.inf),
    )
    if isinstance(trial, Closed):
        return None
    return min(trial.ratios), min(trial.ratios) / max(trial.ratios)


def fit_survey(occluding: list[Given], other: list[Given]) -> dict[str, float]:
    """Return the thresholds in the middle between scenes with occlusion and those without."""
    hide, plain = (
        [pair for one in group if (pair := ratios_of(one)) is not None]
        for group in (occluding, other)
    )
    for name, group in (("with occlusion", hide), ("without", plain)):
        told = ", ".join(f"{ratio:.2f} ({direction:.2f})" for ratio, direction in group)
        print(f"error ratio, and over that of the other end, {name}: {told or 'no jumps'}")
    found = {}
    for k, name in enumerate(("occlusion", "direction")):
        most = max(pair[k] for pair in hide)
        least = min([1.0, *(pair[k] for pair in plain if pair[k] > most)])
        found[name] = 0.5 * (most + least)
    return found


def main() -> None:
    """Fit and check."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("constants", nargs="*", default=[], help="those to fit; by default all")
    parser.add_argument("--quick", action="store_true", help="small scenes, a few constants")
    asked = parser.parse_args()
    unknown = set(asked.constants) - {f.name for f in fields(EdgeConstants)}
    if unknown:
        parser.error(f"received {', '.join(sorted(unknown))}; expected of {', '.join(VOTED)}")
    shape = (96, 128) if asked.quick else (192, 240)
    scenes = ("steps", "wire") if asked.quick else SCENES
    shapes = SHAPES[:2] if asked.quick else SHAPES
    names = asked.constants or (("earned", "together") if asked.quick else VOTED)
    fit, check = (
        [recorded(name, shape, seed) for name in scenes for seed in seeds]
        for seeds in ((0,) if asked.quick else SEEDS["fit"], SEEDS["check"])
    )
    best = fit_votes(fit, names, 1 if asked.quick else 3)
    best = replace(best, **fit_survey(fit, [recorded(name, shape, 0) for name in shapes]))
    for field in fields(best):
        before, after = getattr(FITTED, field.name), getattr(best, field.name)
        print(f"{field.name:12} {before:6g}" + (f" → {after:.3g}" if after != before else ""))
    print(f"on other seeds: loss {loss(check, FITTED):.4f} → {loss(check, best):.4f}")


if __name__ == "__main__":
    main()
