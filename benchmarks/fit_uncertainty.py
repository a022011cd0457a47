"""Fit the standard error of the depth, and how many pixels err together, on simulated scenes.

Prints, for every scene, how many of the errors below one frame are smaller than σ and than 2 σ, and
the correlation area A, from the means over 32×32 pixels; then the factors by which σ (see
`varfocus.methods.robust.SIGMA_NOISE`) and `varfocus.surface.measure.AREA_OF_A_NAT` must grow so
that the median scene has 68 % within σ, and the area measured; and the two constants that fit best:

    python benchmarks/fit_uncertainty.py [seed ...]    # 0, 1, 7 were fitted; take others
"""

from __future__ import annotations

import sys

import numpy as np
from scipy.optimize import nnls

from varfocus import pipeline
from varfocus.methods.robust import SIGMA_MODEL, SIGMA_NOISE
from varfocus.params import Params
from varfocus.simulation import simulate
from varfocus.surface import measure

SCENES = ("cone", "plane", "cosine", "sphere", "steps", "slants")
NOISE = (0.05, 0.4, 2.0)
FRAMES = (15, 21, 61)
SHAPE = (160, 200)
BLOCK = 32
FITTED = (SIGMA_NOISE**2, SIGMA_MODEL**2)


def area(error: np.ndarray, fine: np.ndarray) -> float:
    """Return N times the mean square of the means over blocks of N pixels, over that of pixels."""
    rows, columns = (side // BLOCK * BLOCK for side in error.shape)
    known = np.where(fine, error, 0.0)[:rows, :columns]
    cells = known.reshape(rows // BLOCK, BLOCK, columns // BLOCK, BLOCK)
    whole = fine[:rows, :columns].reshape(cells.shape).mean(axis=(1, 3)) > 0.98
    means = cells.mean(axis=(1, 3))[whole]
    return float(BLOCK**2 * np.mean(means**2) / np.mean(error[fine] ** 2))


def main() -> None:
    """Print the table and the factors."""
    factors, growth, terms, squares = [], [], [], []
    print("| scene | noise | frames | within σ | within 2 σ | A | predicted |")
    print("|---|---|---|---|---|---|---|")
    for seed in [int(word) for word in sys.argv[1:]] or [0, 1]:
        n = FRAMES[seed % 3]
        for name in SCENES:
            for noise in NOISE:
                scene = simulate(name, shape=SHAPE, n=n, noise=noise, seed=seed)
                found = pipeline.estimate(scene.stack, Params.from_keywords("robust"))
                error = found.index - scene.truth_index
                fine = np.isfinite(error) & (np.abs(error) < 1.0)
                ratio = np.abs(error[fine] / found.sigma[fine])
                factors.append(np.quantile(ratio, 0.68))
                well = float(found.notes["well_nats"])
                terms.append([1.0 / (n * well), 1.0])
                squares.append(factors[-1] ** 2 * (np.array(FITTED) @ terms[-1]))
                predicted = measure.expected_area(SHAPE, well)
                seen = area(error, fine)
                growth.append(seen / predicted)
                print(
                    f"| {name} | {noise:g} | {n} | {np.mean(ratio <= 1):.0%} "
                    f"| {np.mean(ratio <= 2):.0%} | {seen:.0f} | {predicted:.0f} |",
                    flush=True,
                )
    print(
        f"\nσ should be {np.median(factors):.2f} times what it is, the area "
        f"{np.nanmedian(growth):.2f} times; scenes range over {min(factors):.2f}–"
        f"{max(factors):.2f} and {np.nanmin(growth):.2f}–{np.nanmax(growth):.2f}."
    )
    # Relative errors count: every scene is divided by what it measured.
    weighted = np.array(terms) / np.array(squares)[:, None]
    best, _ = nnls(weighted, np.ones(len(squares)))
    print(f"SIGMA_NOISE, SIGMA_MODEL = {np.sqrt(best[0]):.2f}, {np.sqrt(best[1]):.3f}")


if __name__ == "__main__":
    main()
