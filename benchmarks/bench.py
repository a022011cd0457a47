"""Time the paper's method four ways, and the default one, side by side in one process.

(a) plain NumPy/SciPy, (b) the literal 400 iterations on the engine, (c) the default solver, all
from frames in memory to the depth map, without confidence and fused image; (d) the whole call that
a user makes for it, which also looks whether the camera moved; (e) the default method within 4 GB,
with margin, standard error and validity, on a scene without occlusion, on one with it, where its
edge stage runs, and on one where the second look changes something; and without either of these
stages. Everything but (a) once per instruction set of this machine. Runs are interleaved,
so that a busy machine slows all alike; ratios are the medians of the rounds' ratios. Processor time
counts all threads, and a busy machine disturbs it little; elapsed time is told beside it. Writes a
report.

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
from typing import Any, NamedTuple

import numpy as np
import plain_numpy
from workloads import GHOSTS, LARGE, OCCLUDED, PAPER, Workload

from varfocus import curve, engine, pipeline, plan, reconstruct
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
    "pyramid": "paper's method",
    "whole": "whole call of the paper's method",
    "robust": "default method",
    "no_edges": "default method, edges off",
    "no_look": "default method, second look off",
}
ROBUST_LIMIT = 4_000_000_000
"""Bytes that the default method may take."""

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


def whole_call(stack: np.ndarray) -> Depth:
    """Return the depth by the call that a user makes."""
    result = reconstruct(stack, "paper", alpha=ALPHA)
    assert result.depth is not None  # is made when it is read
    return None, curve.index_to_x(result.index, len(stack))


def robustly(stack: np.ndarray, **options: object) -> Depth:
    """Return the depth by the robust method, in as many bands as its limit demands."""
    frames, params = FocusStack.from_array(stack), Params.from_keywords("robust", **options)
    room = plan.room_for_volumes(frames, params, ROBUST_LIMIT)
    return None, pipeline.estimate(frames, params, room=room).index


RUNS: dict[str, Callable[[np.ndarray], Depth]] = {
    "plain": lambda stack: plain_numpy.run(stack, ALPHA),
    "admm": lambda stack: on_engine(stack, "admm"),
    "pyramid": lambda stack: on_engine(stack, "pyramid"),
    "whole": whole_call,
    "robust": robustly,
    "no_edges": lambda stack: robustly(stack, edges="off"),
    "no_look": lambda stack: robustly(stack, reblur="off"),
}
ROBUST = ("robust", "no_edges", "no_look")


class Clock(NamedTuple):
    """Seconds since whenever: elapsed, and of all processors."""

    elapsed: float
    processor: float

    @classmethod
    def now(cls) -> Clock:
        """Read both clocks."""
        return cls(time.perf_counter(), time.process_time())

    def since(self, other: Clock) -> Clock:
        """Return the time that has passed."""
        return Clock(self.elapsed - other.elapsed, self.processor - other.processor)


def compare(work: Workload, names: tuple[str, ...], weighed: tuple[str, ...], rounds: int) -> dict:
    """Time the named runs in turn, with every instruction set, and measure the memory of some."""
    stack = work.stack()
    sets = [name for name in engine.instruction_sets() if "wide" not in name]
    runs = [(name, isa) for name in names for isa in (sets if name != "plain" else sets[-1:])]
    took: dict[tuple[str, str], list[Clock]] = {run: [] for run in runs}
    depths = {}
    for _ in range(rounds):
        for name, isa in runs:
            with engine.use_instruction_set(isa):
                began = Clock.now()
                _, depths[name] = RUNS[name](stack)
                took[name, isa].append(Clock.now().since(began))
    # Every depth is judged by the same energy, that of the engine's curves, but for that of the
    # robust method, which minimises another one.
    judged = {name: d for name, d in depths.items() if name not in ROBUST}
    term = ContrastTerm(front_end(stack, "pyramid")[0])
    plain = took.get(("plain", sets[-1]), [])
    return {
        "workload": work.name,
        "pixels": work.pixels,
        "sets": sets,
        "runs": {
            name: {isa: summary(took[name, isa], plain) for isa in sets if (name, isa) in took}
            for name in names
        },
        "energy": {name: energy(term, ALPHA, d.astype(np.float32)) for name, d in judged.items()},
        "extra_bytes_per_pixel": {name: extra_memory(work, name) for name in weighed},
    }


def summary(took: list[Clock], plain: list[Clock]) -> dict[str, Any]:
    """Return medians of both times, of their ratios to plain NumPy's, and all of them."""
    about: dict[str, Any] = {"all": took}
    for k, name in enumerate(Clock._fields):
        about[name] = statistics.median(clock[k] for clock in took)
        if plain:
            pairs = zip(plain, took, strict=True)
            about[f"{name}_ratio"] = statistics.median(p[k] / t[k] for p, t in pairs)
    return about


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
        axis.loglog(x, robust, "^-", label="default method")
        axis.loglog(x, whole, "o-", label="paper's method")
        axis.loglog(x, front, "s-", label="its front end alone")
        # The minimisation does not depend on the number of frames: only the front end grows.
        reference = whole if key == "pixels" else front
        axis.loglog(x, reference[-1] * x / x[-1], "--", color="0.6", label="linear")
        axis.set(xlabel=label, ylabel="seconds")
        axis.legend()
    figure.savefig(path, dpi=110)


def cell(about: dict[str, Any] | None, name: str) -> str:
    """Return processor seconds, and how many times as fast as plain NumPy by either clock."""
    if about is None:
        return "–"
    if name == "plain" or "processor_ratio" not in about:
        return f"{about['processor']:.3f}"
    ratios = f"{about['processor_ratio']:.1f} ×, {about['elapsed_ratio']:.1f} ×"
    return f"{about['processor']:.3f} ({ratios})"


def table(results: list[dict], points: dict) -> str:
    """Return the report in Markdown."""
    sets = results[0]["sets"]
    lines = [
        f"# Benchmark, {engine.thread_count()} threads, {platform.machine()}",
        "",
        "`python benchmarks/bench.py` writes this file. A column per instruction set of the",
        "kernels: processor seconds of all threads, medians of interleaved runs; in brackets how",
        "many times as fast as plain NumPy in the same rounds, by processor time and by elapsed",
        "time. The machine may be shared, which elapsed time suffers from.",
        "",
        f"| workload | method | {' | '.join(sets)} | energy | extra bytes per pixel |",
        "|---|---|" + "---|" * len(sets) + "---|---|",
    ]
    for result in results:
        for name, by_set in result["runs"].items():
            extra = result["extra_bytes_per_pixel"].get(name)
            judged = result["energy"].get(name)
            lines.append(
                f"| {result['workload']} | {NAMES[name]} | "
                f"{' | '.join(cell(by_set.get(isa), name) for isa in sets)} | "
                f"{'–' if judged is None else f'{judged:.1f}'} | "
                f"{'–' if extra is None else f'{extra:.0f}'} |"
            )
    lines += ["", *shares(results), "", *looks(results), "", *narrower(results)]
    if points:
        extras = ", ".join(f"{n} frames {extra:.0f}" for n, extra in points["memory"])
        lines += [
            "",
            f"Extra memory of the paper's method at 640×480, bytes per pixel: {extras}.",
            "",
            "![time against pixels and frames](scaling.png)",
        ]
    return "\n".join(lines) + "\n"


def shares(results: list[dict]) -> list[str]:
    """Return what the default method takes of plain NumPy's time, by either clock."""
    lines = ["| default method, of plain NumPy's time | set | processor | elapsed |"]
    lines.append("|---|---|---|---|")
    for result in results:
        for name in ROBUST:
            for isa, about in result["runs"].get(name, {}).items():
                if "processor_ratio" in about:
                    parts = 1 / about["processor_ratio"], 1 / about["elapsed_ratio"]
                    told = f"{result['workload']}: {NAMES[name]} | {isa}"
                    lines.append(f"| {told} | {parts[0]:.2f} | {parts[1]:.2f} |")
    return lines


def looks(results: list[dict]) -> list[str]:
    """Return what the second look takes of the default method's processor time."""
    sets = results[0]["sets"]
    lines = [f"| second look, share of the default method | {' | '.join(sets)} |"]
    lines.append("|---|" + "---|" * len(sets))
    for result in results:
        runs = result["runs"]
        if "no_look" in runs:
            pairs = [
                zip(runs["robust"][isa]["all"], runs["no_look"][isa]["all"], strict=True)
                for isa in sets
            ]
            parts = [statistics.median(1.0 - b[1] / a[1] for a, b in pair) for pair in pairs]
            told = " | ".join(f"{max(part, 0.0):.2f}" for part in parts)
            lines.append(f"| {result['workload']} | {told} |")
    return lines


def narrower(results: list[dict]) -> list[str]:
    """Return how much longer narrower instruction sets take, in processor time."""
    sets = results[0]["sets"]
    lines = [f"| processor time ÷ that of {sets[-1]} | {' | '.join(sets[:-1])} |"]
    lines.append("|---|" + "---|" * (len(sets) - 1))
    for result in results:
        for name, by_set in result["runs"].items():
            if all(isa in by_set for isa in sets):
                ratios = [
                    statistics.median(
                        one[1] / other[1]
                        for one, other in zip(
                            by_set[isa]["all"], by_set[sets[-1]]["all"], strict=True
                        )
                    )
                    for isa in sets[:-1]
                ]
                told = " | ".join(f"{ratio:.2f}" for ratio in ratios)
                lines.append(f"| {result['workload']}: {NAMES[name]} | {told} |")
    return lines


def main() -> None:
    """Run what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--large", action="store_true", help="add the large stacks")
    parser.add_argument("--plain-large", action="store_true", help="run plain NumPy on them too")
    parser.add_argument("--quick-large", action="store_true", help="leave out the literal ADMM")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--no-scaling", action="store_true")
    parser.add_argument("--no-memory", action="store_true")
    parser.add_argument("--memory-of", choices=RUNS, help=argparse.SUPPRESS)
    parser.add_argument("--spec", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.memory_of:
        return report_memory(Workload(*json.loads(options.spec)), options.memory_of)

    on_large = ["plain"] * options.plain_large + ["admm"] * (not options.quick_large)
    on_large += ["pyramid", "robust"]
    results: list[dict] = []
    for work in (PAPER, OCCLUDED, GHOSTS, *(LARGE if options.large else ())):
        names, weighed = on_large, ["pyramid", "robust"]
        if work is PAPER:
            names, weighed = list(RUNS), ["plain", "admm", "pyramid", "robust"]
        elif work in (OCCLUDED, GHOSTS):
            names, weighed = ["plain", "robust", "no_look"], ["robust"]
        if options.no_memory:
            weighed = []
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
