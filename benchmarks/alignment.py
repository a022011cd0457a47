"""How well alignment does: steady stacks left alone, moved ones put right.

    python benchmarks/alignment.py [--quick]
    python benchmarks/alignment.py --steady --moved [--part dev|test] [--data DATA] [--cache FOLDER]
    python benchmarks/alignment.py --summary FILE …
    python benchmarks/alignment.py --cost

The first prints a table of twenty simulated stacks: five scenes with occlusion and four of Pertuz's
shapes, 7 to 21 frames, 0 to 15 % breathing, shift, rotation, flicker of up to 8 %. `--steady` and
`--moved` take the stacks of `alignment_stacks` (without DATA only those that need none); `--every`
takes one in so many, `--store FILE` appends a line of JSON per stack and passes over those it has,
`--summary FILE …` counts them. `--cost` compares the look at a steady stack with the methods.

The error of a frame is the root-mean-square distance, over the frame, between where the found and
the true map put a pixel.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import alignment_stacks
import numpy as np
from workloads import Workload

from varfocus import reconstruct
from varfocus.align import Alignment, align
from varfocus.align.models import displacement, grid, moved
from varfocus.simulation import Unsteady, simulate, unsteady
from varfocus.stack import FocusStack

SCENES = ("steps", "slants", "discs", "textureless", "wire", "table", "cone", "cosine", "sphere")
BREATHING = (0.0, 0.02, 0.05, 0.1, 0.15)
FRAMES = (15, 11, 7, 21)


def simulated(seed: int) -> tuple[str, Unsteady]:
    """Return a name and a stack with known motion, again and again the same."""
    name, breathing = SCENES[seed % len(SCENES)], BREATHING[seed % len(BREATHING)]
    n = FRAMES[seed % len(FRAMES)]
    colour = None if name == "table" else True
    steady = simulate(name, shape=(400, 500), n=n, noise=0.0, seed=seed, colour=colour)
    made = unsteady(
        steady,
        breathing=breathing,
        shift=1.0 + seed % 4,
        rotation=0.1 * (seed % 4),
        flicker=(0.0, 0.03, 0.08)[seed % 3],
        margin=0.12,
        seed=seed,
    )
    return f"{name}, {n} frames, {breathing:.0%}", made


def frame_errors(made: Unsteady, found: Alignment) -> np.ndarray:
    """Return the error of every used frame in pixels."""
    points = grid(found.size)
    truth = made.matrices @ np.linalg.inv(made.matrices[found.reference])
    off = [
        moved(found.matrices[k], points) - moved(truth[k], points)
        for k in found.order
        if k not in found.left_out
    ]
    return np.array([np.sqrt((d**2).sum(1).mean()) for d in off])


def table(numbers: list[int]) -> None:
    """Print the table of simulated stacks."""
    print("| stack | median px | 95 % | worst | gain error | left out | CPU s per frame |")
    print("|---|---|---|---|---|---|---|")
    every: list[float] = []
    for seed in numbers:
        name, made = simulated(seed)
        began = time.process_time()
        _, found = align(made.simulation.stack)
        seconds = (time.process_time() - began) / len(made.matrices)
        errors = frame_errors(made, found)
        every.extend(errors)
        used = [k for k in found.order if k not in found.left_out]
        gains = found.gains * made.gains / made.gains[made.reference]
        print(
            f"| {name} | {np.median(errors):.3f} | {np.quantile(errors, 0.95):.3f} "
            f"| {errors.max():.3f} | {np.abs(gains[used] - 1).max():.2%} "
            f"| {len(found.left_out)} | {seconds:.3f} |",
            flush=True,
        )
    print(
        f"| **all** | {np.median(every):.3f} | {np.quantile(every, 0.95):.3f} "
        f"| {np.max(every):.3f} | | | |"
    )


def judged(scene: alignment_stacks.Scene, move: bool) -> dict[str, Any]:
    """Align a stack, steady or moved, and return what came of it."""
    made = alignment_stacks.moved(scene) if move else None
    stack = made.simulation.stack if made else FocusStack.from_array(scene.noisy())
    began = time.process_time()
    same, found = align(stack)
    result: dict[str, Any] = {
        "name": scene.name,
        "kind": scene.kind,
        "seconds": round(time.process_time() - began, 2),
        "touched": same is not stack,
        "summary": found.summary(),
        "seemed": round(float(np.nanmax(found.motions, initial=0.0)), 3),
        "left_out": len(found.left_out),
    }
    if made:
        motions = [np.sqrt((displacement(m, found.size) ** 2).mean()) for m in made.matrices]
        used = [k for k in found.order if k not in found.left_out]
        result["moved"] = round(float(max(motions)), 3)
        result["aligned"] = found.model != "none"
        result["errors"] = frame_errors(made, found).round(4).tolist()
        result["unsure"] = np.nan_to_num(found.errors[used], posinf=99.0).round(4).tolist()
    return result


def study(options: argparse.Namespace, move: bool) -> None:
    """Judge many stacks, steady or moved, and keep what came of each."""
    stored = _stored([options.store]) if options.store and options.store.is_file() else []
    done = [result for result in stored if ("errors" in result) == move]
    known = {result["name"] for result in done}
    for scene in _chosen(options):
        if scene.name in known:
            continue
        result = judged(scene, move)
        done.append(result)
        if options.store:
            with options.store.open("a", encoding="utf-8") as file:
                file.write(json.dumps(result) + "\n")
        errors = f", worst frame {max(result['errors']):.3f} px" if move else ""
        print(f"{result['name']}: {result['summary']}{errors}", flush=True)
    summarise(done)


def summarise(results: list[dict[str, Any]]) -> None:
    """Print what came of many stacks, by kind."""
    for kind in ("all", *sorted({r["kind"] for r in results})):
        some = [r for r in results if kind in ("all", r["kind"])]
        if "errors" not in some[0]:
            print(f"{kind}: {sum(r['touched'] for r in some)} of {len(some)} steady stacks touched")
            continue
        aligned = [r for r in some if r["aligned"]]
        missed = sum(r["moved"] > 1.0 and not r["aligned"] for r in some)
        errors = np.concatenate([r["errors"] for r in aligned] or [[np.nan]])
        unsure = np.concatenate([r["unsure"] for r in aligned] or [[np.nan]])
        worst = np.array([max(r["errors"]) for r in aligned])
        most = np.array([np.quantile(r["errors"], 0.95) for r in aligned])
        covered = (errors < 2.0 * unsure + 0.02).mean()
        print(
            f"{kind}: {len(some)} moved stacks, {missed} left that moved by more than 1 px; "
            f"{len(errors)} frames: median {np.median(errors):.3f}, 95 % "
            f"{np.quantile(errors, 0.95):.3f}, 99 % {np.quantile(errors, 0.99):.3f}, "
            f"worst {errors.max():.3f} px, above 0.2: {(errors > 0.2).mean():.1%}, above 0.3: "
            f"{(errors > 0.3).mean():.1%}, within two standard errors: {covered:.0%}; stacks with "
            f"a frame above 0.3 px: {(worst > 0.3).sum()}, with 5 % above 0.2: {(most > 0.2).sum()}"
        )


def _stored(paths: list[Path]) -> list[dict[str, Any]]:
    lines = [line for path in paths for line in path.read_text(encoding="utf-8").splitlines()]
    return [json.loads(line) for line in lines]


def cost() -> None:
    """Print the CPU time of the look at a steady stack, and of the methods without it."""
    frames = Workload(33, 480, 640).stack()
    stack = FocusStack.from_array(frames)

    def least(work) -> float:
        times = []
        for _ in range(3):
            began = time.process_time()
            work()
            times.append(time.process_time() - began)
        return min(times)

    same, found = align(stack)
    print(found.summary(), "Same stack:", same is stack)
    look = least(lambda: align(stack))
    paper = least(lambda: reconstruct(frames, "paper", align="none"))
    default = least(lambda: reconstruct(frames, align="none"))
    print(
        f"look {look:.3f} CPU s; paper {paper:.3f} ({look / paper:.2f} of it); "
        f"default {default:.3f} ({look / default:.1%} of it)"
    )


def _chosen(options: argparse.Namespace) -> Iterator[alignment_stacks.Scene]:
    scenes = alignment_stacks.scenes(options.part, options.data, options.cache, set(options.kind))
    for number, scene in enumerate(scenes):
        if number % options.every == options.first:
            yield scene


def main() -> None:
    """Print what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("--quick", "--steady", "--moved", "--cost"):
        parser.add_argument(name, action="store_true")
    parser.add_argument("--part", choices=("dev", "test"), default="test")
    parser.add_argument(
        "--kind", nargs="+", choices=alignment_stacks.KINDS, default=alignment_stacks.KINDS
    )
    parser.add_argument("--data", type=Path)
    parser.add_argument("--cache", type=Path)
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--store", type=Path)
    parser.add_argument("--summary", type=Path, nargs="+")
    parser.add_argument("--only", type=int, nargs="*")
    options = parser.parse_args()
    if options.summary:
        results = _stored(options.summary)
        for move in (False, True):
            if some := [r for r in results if ("errors" in r) == move]:
                summarise(some)
    elif options.steady or options.moved:
        for asked, move in ((options.steady, False), (options.moved, True)):
            if asked:
                study(options, move)
    elif options.cost:
        cost()
    else:
        table(options.only or list(range(6 if options.quick else 20)))


if __name__ == "__main__":
    main()
