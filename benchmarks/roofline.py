"""What this machine can do, and how much of it each kernel uses: writes docs/roofline.md.

One core, in processor time, so that a busy machine disturbs little. The roof is made of two numbers
measured here: bytes per second of a large copy, and float32 operations per second of a matrix
product. A kernel's bytes are those of the arrays it is given, each counted once: what must come
from memory at least. Its operations follow from its formula. The time that these take at the roof,
divided by the time it took, tells what is left.

    python benchmarks/roofline.py
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import bench
import numpy as np
from workloads import OCCLUDED, PAPER

from varfocus import engine

PAGE = Path(__file__).parent.parent / "docs" / "roofline.md"
RUNS = {"pyramid": PAPER, "admm": PAPER, "no_edges": PAPER, "robust": OCCLUDED}

INTRODUCTION = """# Roofline

Written by `python benchmarks/roofline.py`, which says how everything is counted. One core,
instruction set {0}: a copy moves {1:.1f} GB/s, a float32 matrix product by BLAS reaches {2:.0f}
Gop/s; below {3:.0f} operations per byte memory is the bound. The last column is the least time
that a kernel's bytes or operations would take at these rates, divided by the time it took: what
is missing to 100 % is left to gain. More than 100 % means that arrays were still in the cache.

BLAS multiplies and adds in one instruction. The kernels do not, so that every instruction set
gives the same bits; where a processor does both in the same unit, they can reach half of the
arithmetic roof. First writes into fresh memory are counted with the kernel that does them
(`cost`, `semi_global`).
"""

# Operations of one call, from its arguments x, in the order of `_kernels.pyi`.
OPERATIONS: dict[str, Callable[[tuple[Any, ...]], int]] = {
    "contrast": lambda x: 9 * x[0].size,
    # Products with the polynomials, and the window sum by doubling.
    "accumulate": lambda x: x[0].size * (2 * len(x[1]) + 14),
    "box_mean": lambda x: 12 * x[0].size,
    "halve": lambda x: x[0].size,
    "solve_columns": lambda x: 13 * x[0].size,
    # Curve and slope by Clenshaw's recurrence, then some 45 for the rest.
    "admm_update": lambda x: x[1].size * (6 * (len(x[0]) - 1) + 45),
    "energy_terms": lambda x: x[1].size * (6 * (len(x[0]) - 1) + 8),
    # x[5] iterations, each with two derivatives of the curve.
    "primal_dual": lambda x: x[5] * x[1].size * (8 * (len(x[0]) - 1) + 28),
    # Two smoothings, one of the frame and one of either contrast.
    "two_scales": lambda x: x[0].size * (6 * len(x[2]) + 22) + x[0][..., 0].size * 12 * len(x[3]),
    "best_match": lambda x: 2 * x[0].size * x[1].shape[1],
    "explained": lambda x: 2 * x[0].size * x[1].shape[1],
    # Per pixel of x[9]: products with the bank, projection on the basis, a logarithm per label.
    "cost": lambda x: x[9][..., 0].size * (2 * x[2].size + 2 * x[1].size + 24 * x[2].shape[3]),
    # Four paths with eight operations per label.
    "semi_global": lambda x: 4 * 8 * x[0].size,
    "lowest": lambda x: x[0].size,
    "judge": lambda x: 4 * x[0].size,
    "huber_primal_dual": lambda x: x[11] * x[1].size * 62,
}


def fastest(work: Callable[[], object], rounds: int = 5) -> float:
    """Return the least processor time of some rounds, in seconds."""
    times = []
    for _ in range(rounds):
        began = time.process_time()
        work()
        times.append(time.process_time() - began)
    return min(times)


def copied_bytes_per_second(size: int = 1 << 28) -> float:
    """Return what a copy far larger than the caches reads and writes."""
    source, target = np.ones(size, np.uint8), np.zeros(size, np.uint8)
    return 2 * size / fastest(lambda: np.copyto(target, source), 15)


def operations_per_second() -> float:
    """Return multiplications and additions of a float32 matrix product, by BLAS on one thread.

    How many threads BLAS starts is settled when it is loaded: hence a process of its own.
    """
    names = ("OPENBLAS", "OMP", "MKL", "VECLIB")
    alone = os.environ | {f"{name}_NUM_THREADS": "1" for name in names}
    command = [sys.executable, __file__, "--peak"]
    return float(
        subprocess.run(command, env=alone, check=True, capture_output=True, text=True).stdout
    )


def report_peak(side: int = 1024) -> None:
    """Print what `operations_per_second` wants to know."""
    a = np.random.default_rng(0).random((side, side), np.float32)
    print(2 * side**3 / fastest(lambda: a @ a, 25))


class Tally:
    """Seconds, bytes and operations of every kernel, while it is in place."""

    def __init__(self) -> None:
        self.calls: Counter[str] = Counter()
        self.seconds: Counter[str] = Counter()
        self.bytes: Counter[str] = Counter()
        self.operations: Counter[str] = Counter()
        self._kernels = {name: getattr(engine.kernels, name) for name in OPERATIONS}

    def __enter__(self) -> Tally:
        for name, kernel in self._kernels.items():
            setattr(engine.kernels, name, self._counted(name, kernel))
        return self

    def __exit__(self, *_: object) -> None:
        for name, kernel in self._kernels.items():
            setattr(engine.kernels, name, kernel)

    def _counted(self, name: str, kernel: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            began = time.thread_time()
            answer = kernel(*arguments)
            self.seconds[name] += time.thread_time() - began
            self.calls[name] += 1
            self.bytes[name] += sum(a.nbytes for a in arguments if isinstance(a, np.ndarray))
            self.operations[name] += int(OPERATIONS[name](arguments))
            return answer

        return call


def rows(tally: Tally, bandwidth: float, peak: float) -> list[str]:
    """Return the kernels that took longest, as rows of a table."""
    lines = []
    for name, seconds in tally.seconds.most_common(9):
        traffic, work = tally.bytes[name] / bandwidth, tally.operations[name] / peak
        bound = "memory" if traffic > work else "arithmetic"
        lines.append(
            f"| `{name}` | {tally.calls[name]} | {1e3 * seconds:.0f} | "
            f"{tally.bytes[name] / 1e9:.2f} | {tally.operations[name] / 1e9:.2f} | "
            f"{tally.operations[name] / max(tally.bytes[name], 1):.1f} | {bound} | "
            f"{100 * max(traffic, work) / max(seconds, 1e-9):.0f} % |"
        )
    return lines


def measured(name: str, rounds: int) -> tuple[float, Tally]:
    """Return the processor time of a run, and the tally of its fastest round."""
    stack = RUNS[name].stack()
    best: tuple[float, Tally] | None = None
    for _ in range(rounds):
        with Tally() as tally, engine.use_threads(1):
            began = time.process_time()
            bench.RUNS[name](stack)
            took = time.process_time() - began
        if best is None or took < best[0]:
            best = took, tally
    assert best is not None
    return best


def main() -> None:
    """Measure, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--peak", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.peak:
        return report_peak()
    bandwidth, peak = copied_bytes_per_second(), operations_per_second()
    numbers = (engine.instruction_set(), bandwidth / 1e9, peak / 1e9, peak / bandwidth)
    paper = PAPER.stack()
    plain = fastest(lambda: bench.RUNS["plain"](paper), options.rounds)
    lines = [
        INTRODUCTION.format(*numbers),
        f"For comparison, plain NumPy takes {plain:.2f} s of one core for the paper's method.",
    ]
    for name in RUNS:
        seconds, tally = measured(name, options.rounds)
        lines += [
            "",
            f"## {bench.NAMES[name]}, {RUNS[name].name}: {seconds:.2f} s of one core",
            "",
            "| kernel | calls | ms | GB | Gop | op/byte | bound by | of the roof |",
            "|---|---|---|---|---|---|---|---|",
            *rows(tally, bandwidth, peak),
            "",
            f"Outside of these kernels: {seconds - sum(tally.seconds.values()):.2f} s.",
        ]
    PAGE.write_text("\n".join(lines) + "\n")
    print(PAGE.read_text())
    return None


if __name__ == "__main__":
    main()
