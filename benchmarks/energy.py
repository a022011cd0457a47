"""Compare the energy of the default solver with the best iterate of the literal ADMM.

Runs both on every simulated scene with two seeds, on the four shapes under the picture
``$VARFOCUS_DATA/texture_rings.tif``, and on every stack in ``$VARFOCUS_DATA`` (folders of frames,
``frames/`` inside a folder counts), for four values of α, and writes ``results/energy.md``:

    VARFOCUS_DATA=stacks/ python benchmarks/energy.py
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import tifffile
from bench import RESULTS, front_end

from varfocus.curve import x_to_index
from varfocus.energy import ContrastTerm
from varfocus.errors import VarfocusError
from varfocus.io import read_stack
from varfocus.minimise import MINIMISERS
from varfocus.params import SolverParams
from varfocus.simulation import SCENES, SHAPES, simulate
from varfocus.studies.metrics import rmse

ALPHAS = (1 / 4, 1 / 8, 1 / 16, 1 / 32)
SEEDS = (7, 11)
"""Seeds that nothing was tuned on."""

LARGEST_SIDE = 1024
Stack = tuple[str, np.ndarray, np.ndarray | None]


def stacks() -> Iterator[Stack]:
    """Yield name, frames and, where it is known, the true index."""
    data = os.environ.get("VARFOCUS_DATA")
    picture = Path(data) / "texture_rings.tif" if data else None
    rings = tifffile.imread(picture) if picture is not None and picture.is_file() else None
    for seed in SEEDS:
        for name in (*SHAPES, *SCENES):
            scene = simulate(name, seed=seed)
            yield f"{name}, seed {seed}", scene.frames, scene.truth_index
        for name in SHAPES if rings is not None else ():
            scene = simulate(name, seed=seed, texture=rings)
            yield f"{name}, rings, seed {seed}", scene.frames, scene.truth_index
    folders = sorted(path for path in Path(data).iterdir() if path.is_dir()) if data else []
    for folder in folders:
        inner = folder / "frames"
        try:
            stack = read_stack(inner if inner.is_dir() else folder)
        except VarfocusError:
            continue  # not a stack
        step = -(-max(stack.shape) // LARGEST_SIDE)
        yield folder.name, np.stack([frame[::step, ::step] for frame in stack]), None


def row(name: str, frames: np.ndarray, truth: np.ndarray | None, alpha: float) -> list[str]:
    """Return one line of the report."""
    a, start, _ = front_end(frames, "admm")
    data, params = ContrastTerm(a), SolverParams(alpha=alpha)
    literal = MINIMISERS["admm"](data, start, params)
    fast = MINIMISERS["pyramid"](data, start, params)
    best = min(literal.trace.energy)
    excess = 100 * (fast.trace.energy[-1] - best) / abs(best)
    ratio = "–"
    if truth is not None:
        errors = [rmse(x_to_index(s.d, len(frames)), truth) for s in (fast, literal)]
        ratio = f"{errors[0] / errors[1]:.3f}"
    return [name, f"1/{round(1 / alpha)}", f"{best:.1f}", f"{excess:+.3f} %", ratio]


def main() -> None:
    """Compare and write the report."""
    headings = ["stack", "α", "best literal energy", "default against it", "RMSE ratio"]
    rows = []
    for name, frames, truth in stacks():
        for alpha in ALPHAS:
            rows.append(row(name, frames, truth, alpha))
            print(*rows[-1], flush=True)
    excess = [float(r[3].split()[0]) for r in rows]
    ratios = [float(r[4]) for r in rows if r[4] != "–"]
    lines = [
        "# Energy of the default solver against the best iterate of the literal ADMM",
        "",
        "`python benchmarks/energy.py` writes this file. Negative: better than the literal solver;",
        "the last column is the error against the known truth, divided by the literal solver's.",
        "",
        f"Energy: worst excess {max(excess):+.3f} %; more than 0.1 % in "
        f"{sum(e > 0.1 for e in excess)} of {len(excess)} cases.",
        f"RMSE ratio: worst {max(ratios):.3f}, mean {np.mean(ratios):.3f}; more than 1.02 in "
        f"{sum(r > 1.02 for r in ratios)} of {len(ratios)} cases.",
        "",
        *("| " + " | ".join(r) + " |" for r in [headings, ["---"] * len(headings), *rows]),
    ]
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "energy.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
