"""How well stacks with known motion are aligned: error per frame, time, light, broken frames.

    python benchmarks/alignment.py [--quick]

Twenty simulated stacks: five scenes with occlusion and four of Pertuz's shapes, 7 to 21 frames,
0 to 15 % breathing, shift, rotation, flicker of up to 8 %. The error of a frame is the
root-mean-square distance, over the frame, between where the found and the true map put a pixel.
"""

from __future__ import annotations

import sys
import time

import numpy as np

from varfocus.align import align
from varfocus.align.models import grid, moved
from varfocus.simulation import Unsteady, simulate, unsteady

SCENES = ("steps", "slants", "discs", "textureless", "wire", "table", "cone", "cosine", "sphere")
BREATHING = (0.0, 0.02, 0.05, 0.1, 0.15)
FRAMES = (15, 11, 7, 21)


def stacks(count: int = 20):
    """Yield a name and a stack with known motion, again and again the same."""
    for seed in range(count):
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
        yield f"{name}, {n} frames, {breathing:.0%}", made


def frame_errors(made: Unsteady, matrices: np.ndarray, used: list[int]) -> np.ndarray:
    """Return the error of every used frame in pixels, after the best common choice of reference."""
    points = grid(made.simulation.truth_index.shape)
    errors = []
    for k in used:
        off = moved(matrices[k], points) - moved(made.matrices[k], points)
        errors.append(np.sqrt((off**2).sum(1).mean()))
    return np.array(errors)


def main() -> None:
    """Print the table."""
    count = 6 if "--quick" in sys.argv else 20
    print("| stack | median px | 95 % | worst | gain error | left out | CPU s per frame |")
    print("|---|---|---|---|---|---|---|")
    every = []
    for name, made in stacks(count):
        began = time.process_time()
        _, found = align(made.simulation.stack)
        seconds = (time.process_time() - began) / len(made.matrices)
        used = [k for k in found.order if k not in found.left_out]
        errors = frame_errors(made, found.matrices, used)
        every.extend(errors)
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


if __name__ == "__main__":
    main()
