"""What this machine can do, and how much of it each kernel uses: writes docs/roofline.md.

One core, in processor time, so that a busy machine disturbs little, and the same with every
instruction set, in turn. The roof is made of two numbers measured here: bytes per second of a large
copy, and float32 operations per second of a matrix product, by BLAS held to the same instruction
set where it can be (OpenBLAS on x86). A kernel's bytes are those of the arrays it is given, each
counted once: what must come from memory at least. Its operations follow from its formula. The time
that these take at the roof, divided by the time it took, tells what is left.

    python benchmarks/roofline.py
"""

from __future__ import annotations

import argparse
import math
import os
import platform
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import bench
import numpy as np
from workloads import GHOSTS, OCCLUDED, PAPER

from varfocus import engine

PAGE = Path(__file__).parent.parent / "docs" / "roofline.md"
RUNS = (
    ("pyramid", PAPER),
    ("whole", PAPER),
    ("admm", PAPER),
    ("no_edges", PAPER),
    ("robust", OCCLUDED),
    ("robust", GHOSTS),
)

INTRODUCTION = """# Roofline

Written by `python benchmarks/roofline.py`, which says how everything is counted. One core: a copy
moves {copied:.1f} GB/s, a float32 matrix product by BLAS reaches {peaks}.
Milliseconds are those of the fastest of {rounds} rounds, the instruction sets in turn. In brackets
stands the least time that a kernel's bytes or operations would take at these rates, divided by the
time it took: what is missing to 100 % is left to gain. More than 100 % means that arrays were still
in the cache, or that the kernel is closer to the machine's peak than BLAS.

BLAS multiplies and adds in one instruction. The kernels do not, so that every instruction set
gives the same bits; where a processor does both in the same unit, they can reach half of the
arithmetic roof. First writes into fresh memory are counted with the kernel that does them
(`cost`, `semi_global`). Others may have used the machine at the same time: trust the ratios.
"""

CORE_TYPES = {"baseline": "NEHALEM", "avx2": "HASWELL", "avx512": "SKYLAKEX"}
"""What OpenBLAS calls a processor of each instruction set."""

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
    # x[5] iterations, each with two derivatives of the curve, as polynomials.
    "primal_dual": lambda x: x[5] * x[1].size * (4 * (len(x[0]) - 1) + 34),
    # Two Fourier transforms of pairs of rows, what makes them cosine transforms, the columns.
    "screened_poisson": lambda x: int(x[0].size * (5 * math.log2(x[0].shape[1]) + 20 + 13)),
    # Two smoothings, one of the frame and one of either contrast.
    "two_scales": lambda x: x[0].size * (6 * len(x[2]) + 22) + x[0][..., 0].size * 12 * len(x[3]),
    "best_match": lambda x: 2 * x[0].size * x[2].shape[1],
    "explained": lambda x: 2 * x[0].size * x[1].shape[1],
    # Per pixel of x[10]: products with the bank, projection on the basis, a logarithm per label.
    "cost": lambda x: x[10][..., 0].size * (2 * x[2].size + 2 * x[1].size + 24 * x[10].shape[2]),
    # Four paths with eight operations per label.
    "semi_global": lambda x: 4 * 8 * x[0].size,
    "lowest": lambda x: x[0].size,
    "judge": lambda x: 4 * x[0].size,
    # x[9] iterations, each with a quotient.
    "tgv_iterate": lambda x: 64 * x[9] * x[0].size,
    "parabolas": lambda x: 40 * x[1].size,
    # A difference, its square, and a logarithm for every three of them.
    "reblur": lambda x: 13 * x[0].size * x[2].shape[1],
    "compare": lambda x: 10 * x[0].size,
    # Of every pixel all votes within the window, with half a power of eight.
    "vote": lambda x: 14 * x[4].size * int(x[3].sum()),
    # x[7] iterations, each with nine quotients and two roots.
    "fill_depth": lambda x: 75 * x[7] * x[0].size,
    "confine": lambda x: 8 * x[0].size,
    "edge_convolve": lambda x: 4 * x[0].size * len(x[1]),
    # Features, their means, and 36 products.
    "cell_products": lambda x: x[0].size * (30 + 16 + 72),
    "shrink": lambda x: x[0].size,
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


def operations_per_second(isa: str) -> float:
    """Return multiplications and additions of a float32 matrix product, by BLAS on one thread.

    What BLAS may use is settled when it is loaded: hence a process of its own.
    """
    names = ("OPENBLAS", "OMP", "MKL", "VECLIB")
    alone = os.environ | {f"{name}_NUM_THREADS": "1" for name in names}
    if platform.machine() in ("x86_64", "AMD64"):
        alone["OPENBLAS_CORETYPE"] = CORE_TYPES[isa]
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


def rows(tallies: dict[str, Tally], bandwidth: float, peaks: dict[str, float]) -> list[str]:
    """Return the kernels that took longest, as rows of a table with a column per set."""
    widest = list(tallies)[-1]
    one = tallies[widest]
    lines = []
    for name, _ in one.seconds.most_common(10):
        traffic, work = one.bytes[name] / bandwidth, one.operations[name] / peaks[widest]
        cells = []
        for isa, tally in tallies.items():
            least = max(tally.bytes[name] / bandwidth, tally.operations[name] / peaks[isa])
            seconds = tally.seconds[name]
            cells.append(f"{1e3 * seconds:.1f} ({100 * least / max(seconds, 1e-9):.0f} %)")
        lines.append(
            f"| `{name}` | {one.calls[name]} | {one.bytes[name] / 1e9:.2f} | "
            f"{one.operations[name] / 1e9:.2f} | "
            f"{one.operations[name] / max(one.bytes[name], 1):.1f} | "
            f"{'memory' if traffic > work else 'arithmetic'} | {' | '.join(cells)} |"
        )
    return lines


def measured(
    name: str, stack: np.ndarray, sets: list[str], rounds: int
) -> dict[str, tuple[float, Tally]]:
    """Return the processor time of a run, and the tally of its fastest round, by set."""
    best: dict[str, tuple[float, Tally]] = {}
    for _ in range(rounds):
        for isa in sets:
            with engine.use_instruction_set(isa), engine.use_threads(1), Tally() as tally:
                began = time.process_time()
                bench.RUNS[name](stack)
                took = time.process_time() - began
            if isa not in best or took < best[isa][0]:
                best[isa] = took, tally
    return {isa: best[isa] for isa in sets}


def main() -> None:
    """Measure, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--peak", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.peak:
        return report_peak()
    sets = [name for name in engine.instruction_sets() if "wide" not in name]
    bandwidth, peaks = copied_bytes_per_second(), {isa: operations_per_second(isa) for isa in sets}
    told = ", ".join(f"{peak / 1e9:.0f} Gop/s with {isa}" for isa, peak in peaks.items())
    paper = PAPER.stack()
    plain = fastest(lambda: bench.RUNS["plain"](paper), options.rounds)
    lines = [
        INTRODUCTION.format(copied=bandwidth / 1e9, peaks=told, rounds=options.rounds),
        f"For comparison, plain NumPy takes {plain:.2f} s of one core for the paper's method.",
    ]
    for name, work in RUNS:
        found = measured(name, work.stack(), sets, options.rounds)
        seconds = ", ".join(f"{took:.2f} s with {isa}" for isa, (took, _) in found.items())
        outside = ", ".join(
            f"{took - sum(tally.seconds.values()):.2f} s" for took, tally in found.values()
        )
        lines += [
            "",
            f"## {bench.NAMES[name]}, {work.name}",
            "",
            f"{seconds}; outside of these kernels {outside}.",
            "",
            f"| kernel | calls | GB | Gop | op/byte | bound by | {' | '.join(sets)} |",
            "|---|---|---|---|---|---|" + "---|" * len(sets),
            *rows({isa: tally for isa, (_, tally) in found.items()}, bandwidth, peaks),
        ]
    PAGE.write_text("\n".join(lines) + "\n")
    print(PAGE.read_text())
    return None


if __name__ == "__main__":
    main()
