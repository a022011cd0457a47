"""How well alignment does: steady stacks left alone, moved ones put right.

    python benchmarks/alignment.py [--quick]
    python benchmarks/alignment.py --steady [--part dev|test] [--data DATA] [--cache FOLDER]
    python benchmarks/alignment.py --moved [--part dev|test] [--data DATA] [--cache FOLDER]
    python benchmarks/alignment.py --cost

The first prints a table of twenty simulated stacks: five scenes with occlusion and four of Pertuz's
shapes, 7 to 21 frames, 0 to 15 % breathing, shift, rotation, flicker of up to 8 %. `--steady` and
`--moved` take the stacks of `alignment_stacks` (without DATA only those that need none); `--every`
takes one in so many. `--cost` compares the look at a steady stack with the methods.

The error of a frame is the root-mean-square distance, over the frame, between where the found and
the true map put a pixel.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from pathlib import Path

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


def steady_stacks(options: argparse.Namespace) -> None:
    """Tell which steady stacks were touched: none should be."""
    count, touched, seconds = 0, 0, 0.0
    for scene in _chosen(options):
        stack = FocusStack.from_array(scene.noisy())
        began = time.process_time()
        same, found = align(stack)
        took = time.process_time() - began
        seconds += took
        count += 1
        if same is not stack:
            touched += 1
        verdict = "kept" if same is stack else f"TOUCHED {found.summary()}"
        print(
            f"{scene.name}: {verdict} ({np.nanmax(found.motions):.2f} px, {took:.2f} s)", flush=True
        )
    print(f"{options.part}: {touched} of {count} steady stacks touched, {seconds:.0f} CPU s")


def moved_stacks(options: argparse.Namespace) -> None:
    """Tell how far moved stacks are off once they are aligned."""
    every, worst, missed, count = [], [], 0, 0
    for scene in _chosen(options):
        made = alignment_stacks.moved(scene)
        _, found = align(made.simulation.stack)
        motion = max(
            float(np.sqrt((displacement(m, found.size) ** 2).mean())) for m in made.matrices
        )
        count += 1
        if found.model == "none":
            missed += motion > 1.0
            print(f"{scene.name}: moved by {motion:.1f} px, left: {found.reason}", flush=True)
            continue
        errors = frame_errors(made, found)
        every.extend(errors)
        worst.append(errors.max())
        used = [k for k in found.order if k not in found.left_out]
        k = int(np.argmax(errors))
        print(
            f"{scene.name}: moved by {motion:.1f} px, error median {np.median(errors):.3f}, "
            f"worst {errors.max():.3f} (frame {used[k]} of {len(made.matrices)}, "
            f"± {found.errors[used[k]]:.2f}), left out {len(found.left_out)}",
            flush=True,
        )
    if every:
        print(
            f"{options.part}: {count} moved stacks, {missed} left that moved by more than 1 px; "
            f"frames median {np.median(every):.3f}, 95 % {np.quantile(every, 0.95):.3f}, "
            f"99 % {np.quantile(every, 0.99):.3f}, worst {max(every):.3f} px; "
            f"stacks with a frame above 0.3 px: {np.count_nonzero(np.array(worst) > 0.3)}"
        )


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
    scenes = alignment_stacks.scenes(options.part, options.data, options.cache)
    for number, scene in enumerate(scenes):
        if number % options.every == options.first:
            yield scene


def main() -> None:
    """Print what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("--quick", "--steady", "--moved", "--cost"):
        parser.add_argument(name, action="store_true")
    parser.add_argument("--part", choices=("dev", "test"), default="test")
    parser.add_argument("--data", type=Path)
    parser.add_argument("--cache", type=Path)
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--only", type=int, nargs="*")
    options = parser.parse_args()
    if options.steady:
        steady_stacks(options)
    elif options.moved:
        moved_stacks(options)
    elif options.cost:
        cost()
    else:
        table(options.only or list(range(6 if options.quick else 20)))


if __name__ == "__main__":
    main()
