"""Time the paper's method three ways, and the robust one, side by side in one process.

(a) plain NumPy/SciPy, (b) the literal 400 iterations on the engine, (c) the default solver, all
from frames in memory to the depth map, without confidence and fused image; (d) the robust method
within 4 GB, with margin, standard error and validity, on a scene without and on one with occlusion,
where its edge stage runs. Everything but (a) once per instruction set of this machine. Runs are
interleaved, so that a busy machine slows all alike; ratios are the medians of the rounds' ratios.
Writes a report.

    python benchmarks/bench.py            # the paper's workload, scaling plots, memory
    python benchmarks/bench.py --large    # and the large stacks
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import plain_numpy
from workloads import LARGE, OCCLUDED, PAPER, Workload

from varfocus import curve, engine, pipeline, plan
from varfocus.contrast import box_mean
from varfocus.energy import ContrastTerm, energy
from varfocus.methods import paper
from varfocus.minimise import MINIMISERS
from varfocus.params import Params
from varfocus.progress import silent
from varfocus.stack import FocusStack

RESULTS = Path(__file__).parent / "results"
ALPHA = 0.125
NAMES = {
    "plain": "plain NumPy/SciPy",
    "admm": "literal ADMM, engine",
    "pyramid": "default solver",
    "robust": "robust method",
    "no_edges": "robust method, edges off",
}
ROBUST_LIMIT = 4_000_000_000
"""Bytes that the robust method may take."""

Depth = tuple[np.ndarray | None, np.ndarray]


def front_end(stack: np.ndarray, solver: str) -> tuple[np.ndarray, np.ndarray, Params]:
    """Return coefficients, start and parameters by the pipeline's own steps."""
    frames = FocusStack.from_array(stack)
    params = Params.from_keywords("paper", alpha=ALPHA, solver=solver)
    params, _ = paper.fitting_degree(frames, params)
    a, first_guess = paper.sharpness_curves(frames, params, silent)
    start = curve.index_to_x(box_mean(first_guess, params.start.start_blur), len(frames))
    return a, start, params


def on_engine(stack: np.ndarray, solver: str) -> Depth:
    """Return coefficients and depth."""
    a, start, params = front_end(stack, solver)
    return a, MINIMISERS[solver](ContrastTerm(a), start, params.solve).d


def robustly(stack: np.ndarray, **options: object) -> Depth:
    """Return the depth by the robust method, in as many bands as its limit demands."""
    frames, params = FocusStack.from_array(stack), Params.from_keywords("robust", **options)
    room = plan.room_for_volumes(frames, params, ROBUST_LIMIT)
    return None, pipeline.estimate(frames, params, room=room).index


RUNS: dict[str, Callable[[np.ndarray], Depth]] = {
    "plain": lambda stack: plain_numpy.run(stack, ALPHA),
    "admm": lambda stack: on_engine(stack, "admm"),
    "pyramid": lambda stack: on_engine(stack, "pyramid"),
    "robust": robustly,
    "no_edges": lambda stack: robustly(stack, edges="off"),
}
ROBUST = ("robust", "no_edges")


def compare(work: Workload, names: tuple[str, ...], weighed: tuple[str, ...], rounds: int) -> dict:
    """Time the named runs in turn, with every instruction set, and measure the memory of some."""
    stack = work.stack()
    sets = [name for name in engine.instruction_sets() if "wide" not in name]
    runs = [(name, isa) for name in names for isa in (sets if name != "plain" else sets[-1:])]
    seconds: dict[str, dict[str, list[float]]] = {name: {} for name in names}
    depths = {}
    for _ in range(rounds):
        for name, isa in runs:
            with engine.use_instruction_set(isa):
                began = time.perf_counter()
                _, depths[name] = RUNS[name](stack)
                seconds[name].setdefault(isa, []).append(time.perf_counter() - began)
    # Every depth is judged by the same energy, that of the engine's curves, but for that of the
    # robust method, which minimises another one.
    judged = {name: d for name, d in depths.items() if name not in ROBUST}
    term = ContrastTerm(front_end(stack, "pyramid")[0])
    plain = next(iter(seconds["plain"].values())) if "plain" in names else []
    return {
        "workload": work.name,
        "pixels": work.pixels,
        "sets": sets,
        "seconds": {
            name: {isa: statistics.median(times) for isa, times in by_set.items()}
            for name, by_set in seconds.items()
        },
        "all_seconds": seconds,
        "speedup": {
            name: {
                isa: statistics.median(p / t for p, t in zip(plain, times, strict=True))
                for isa, times in by_set.items()
                if plain
            }
            for name, by_set in seconds.items()
        },
        "energy": {name: energy(term, ALPHA, d.astype(np.float32)) for name, d in judged.items()},
        "extra_bytes_per_pixel": {name: extra_memory(work, name) for name in weighed},
    }


def extra_memory(work: Workload, name: str) -> float:
    """Measure, in a process of its own, the peak memory beyond the input, in bytes per pixel."""
    spec = json.dumps([work.n, work.height, work.width, work.channels, work.dtype, work.scene])
    command = [sys.executable, __file__, "--memory-of", name, "--spec", spec]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def report_memory(work: Workload, name: str) -> None:
    """Print what `extra_memory` wants to know (Linux only)."""
    stack = work.stack()
    # Imports and threads are not the method's memory: a tiny run first.
    RUNS[name](Workload(work.n, 40, 40, work.channels, work.dtype).stack())
    Path("/proc/self/clear_refs").write_text("5")  # forget the peak of making the stack
    before = _memory("VmRSS")
    RUNS[name](stack)
    print((_memory("VmHWM") - before) / work.pixels)


def _memory(field: str) -> int:
    status = Path("/proc/self/status").read_text()
    return 1024 * int(status.split(field + ":")[1].split()[0])


def scaling(rounds: int) -> dict:
    """Time the default solver, its front end and the robust method against pixels and frames."""
    sizes = [(96, 128), (192, 256), (384, 512), (768, 1024), (1152, 1536)]
    counts = [4, 8, 16, 32, 64, 128, 256, 400]
    timed: tuple[Callable[[np.ndarray], object], ...] = (
        RUNS["pyramid"],
        lambda stack: front_end(stack, "pyramid"),
        RUNS["robust"],
    )

    def fastest(work: Workload) -> list[float]:
        stack = work.stack()
        seconds: list[list[float]] = [[] for _ in timed]
        for _ in range(rounds):
            for run, times in zip(timed, seconds, strict=True):
                began = time.perf_counter()
                run(stack)
                times.append(time.perf_counter() - began)
        return [min(times) for times in seconds]

    return {
        "pixels": [(h * w, *fastest(Workload(15, h, w))) for h, w in sizes],
        "frames": [(n, *fastest(Workload(n, 240, 320))) for n in counts],
        "memory": [(n, extra_memory(Workload(n, 480, 640), "pyramid")) for n in (10, 33, 373)],
    }


def plot(points: dict, path: Path) -> None:
    """Draw time against pixels and against frames, each with its slope-one line."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
    labels = {"pixels": "pixels (15 colour frames)", "frames": "frames of 320×240, colour"}
    for axis, (key, label) in zip(axes, labels.items(), strict=True):
        x, whole, front, robust = np.array(points[key]).T
        axis.loglog(x, robust, "^-", label="robust method")
        axis.loglog(x, whole, "o-", label="paper's method")
        axis.loglog(x, front, "s-", label="its front end alone")
        # The minimisation does not depend on the number of frames: only the front end grows.
        reference = whole if key == "pixels" else front
        axis.loglog(x, reference[-1] * x / x[-1], "--", color="0.6", label="linear")
        axis.set(xlabel=label, ylabel="seconds")
        axis.legend()
    figure.savefig(path, dpi=110)


def cell(result: dict, name: str, isa: str) -> str:
    """Return seconds and how many times as fast as plain NumPy."""
    seconds = result["seconds"][name].get(isa)
    if seconds is None:
        return "–"
    ratio = result["speedup"][name].get(isa)
    return f"{seconds:.3f}" + ("" if ratio is None or name == "plain" else f" ({ratio:.1f} ×)")


def table(results: list[dict], points: dict) -> str:
    """Return the report in Markdown."""
    sets = results[0]["sets"]
    lines = [
        f"# Benchmark, {engine.thread_count()} threads, {platform.machine()}",
        "",
        "`python benchmarks/bench.py` writes this file. Seconds are medians of interleaved runs,",
        "in brackets how many times as fast as plain NumPy in the same rounds; the machine may be",
        "shared. A column per instruction set of the kernels.",
        "",
        f"| workload | method | {' | '.join(sets)} | energy | extra bytes per pixel |",
        "|---|---|" + "---|" * len(sets) + "---|---|",
    ]
    for result in results:
        for name in result["seconds"]:
            extra = result["extra_bytes_per_pixel"].get(name)
            judged = result["energy"].get(name)
            lines.append(
                f"| {result['workload']} | {NAMES[name]} | "
                f"{' | '.join(cell(result, name, isa) for isa in sets)} | "
                f"{'–' if judged is None else f'{judged:.1f}'} | "
                f"{'–' if extra is None else f'{extra:.0f}'} |"
            )
    for result in results:
        for name in ROBUST:
            for isa, ratio in result["speedup"].get(name, {}).items():
                lines += [
                    "",
                    f"{result['workload']}: {NAMES[name]} takes {1 / ratio:.2f} of plain NumPy's "
                    f"time with {isa}.",
                ]
    if points:
        extras = ", ".join(f"{n} frames {extra:.0f}" for n, extra in points["memory"])
        lines += [
            "",
            f"Extra memory of the default solver at 640×480, bytes per pixel: {extras}.",
            "",
            "![time against pixels and frames](scaling.png)",
        ]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Run what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--large", action="store_true", help="add the large stacks")
    parser.add_argument("--plain-large", action="store_true", help="run plain NumPy on them too")
    parser.add_argument(
        "--quick-large", action="store_true", help="only the default solver on them"
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--no-scaling", action="store_true")
    parser.add_argument("--memory-of", choices=RUNS, help=argparse.SUPPRESS)
    parser.add_argument("--spec", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.memory_of:
        return report_memory(Workload(*json.loads(options.spec)), options.memory_of)

    on_large = ["plain"] * options.plain_large + ["admm"] * (not options.quick_large)
    on_large += ["pyramid", "robust"]
    results: list[dict] = []
    for work in (PAPER, OCCLUDED, *(LARGE if options.large else ())):
        names, weighed = on_large, ["pyramid", "robust"]
        if work is PAPER:
            names, weighed = list(RUNS), [name for name in RUNS if name != "no_edges"]
        elif work is OCCLUDED:
            names, weighed = ["plain", "robust"], ["robust"]
        rounds = 1 if work in LARGE else options.rounds
        results.append(compare(work, tuple(names), tuple(weighed), rounds))
        save(results, {}, options.large)
        print(table(results[-1:], {}), flush=True)
    if not options.no_scaling:
        points = scaling(3)
        plot(points, RESULTS / "scaling.png")
        save(results, points, options.large)
    return None


def save(results: list[dict], points: dict, large: bool) -> None:
    """Write what is known so far."""
    RESULTS.mkdir(exist_ok=True)
    stem = "large" if large else "paper"
    (RESULTS / f"{stem}.md").write_text(table(results, points))
    record = {"runs": results, "scaling": points}
    (RESULTS / f"{stem}.json").write_text(json.dumps(record, indent=1))


if __name__ == "__main__":
    main()
