"""Compare the energy of the default solver with the best iterate of the literal ADMM.

Runs both on every simulated scene and on every stack in ``$VARFOCUS_DATA`` (folders of frames,
``frames/`` inside a folder counts), for four values of α, and writes ``results/energy.md``:

    VARFOCUS_DATA=stacks/ python benchmarks/energy.py
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from bench import RESULTS, front_end

from varfocus.curve import x_to_index
from varfocus.energy import ContrastTerm
from varfocus.errors import VarfocusError
from varfocus.io import read_stack
from varfocus.metrics import rmse
from varfocus.minimise import MINIMISERS
from varfocus.params import SolverParams
from varfocus.simulation import SCENES, SHAPES, simulate

ALPHAS = (1 / 4, 1 / 8, 1 / 16, 1 / 32)
SEED = 7
"""A seed that nothing was tuned on."""

LARGEST_SIDE = 1024
Stack = tuple[str, np.ndarray, np.ndarray | None]


def stacks() -> Iterator[Stack]:
    """Yield name, frames and, where it is known, the true index."""
    for name in (*SHAPES, *SCENES):
        scene = simulate(name, seed=SEED)
        yield name, scene.frames, scene.truth_index
    data = os.environ.get("VARFOCUS_DATA")
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
    worst = max(float(r[3].split()[0]) for r in rows)
    ratio = max(float(r[4]) for r in rows if r[4] != "–")
    lines = [
        "# Energy of the default solver against the best iterate of the literal ADMM",
        "",
        "`python benchmarks/energy.py` writes this file. Negative: better than the literal solver;",
        "the last column is the error against the known truth, divided by the literal solver's.",
        "",
        f"Worst excess {worst:+.3f} %, worst RMSE ratio {ratio:.3f}, over {len(rows)} cases.",
        "",
        *("| " + " | ".join(r) + " |" for r in [headings, ["---"] * len(headings), *rows]),
    ]
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "energy.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
