"""Time what reading files adds to a run, and the whole way from photographs to a fused image.

The paper's workload is written as PNG, JPEG and TIFF. For each, in turn and several times:
decoding alone on one core, the reconstruction from memory, and the reconstruction from files, which
decodes ahead on threads.

Then seven JPEG of 3 megapixels, as a breathing lens gives them, go from files to aligned frames,
depth and fused image with no option given: seconds per stage by both clocks, and, in turn with it,
the same with frames decoded and aligned anew for every stage, enfuse, and focus-stack on the same
files where they are installed. enfuse neither aligns nor gives a depth map. Processor time over
elapsed time tells how many processors a stage keeps busy, on a machine that does nothing else.

    python benchmarks/files.py [folder]     # photographs of your own instead of simulated ones
"""

from __future__ import annotations

import io
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from unittest import mock

import numpy as np
import tifffile
from bench import RESULTS, Clock
from PIL import Image
from workloads import PAPER

from varfocus import FocusStack, read_stack
from varfocus.export.images import encode, picture
from varfocus.params import Params
from varfocus.pipeline import estimate, run
from varfocus.simulation import simulate, unsteady

ROUNDS = 5
JOURNEYS = 3


def jpeg(frame: np.ndarray) -> bytes:
    """Return a frame as JPEG of quality 95."""
    file = io.BytesIO()
    Image.fromarray(frame).save(file, "JPEG", quality=95)
    return file.getvalue()


def tiff(frame: np.ndarray) -> bytes:
    """Return a frame as uncompressed TIFF."""
    file = io.BytesIO()
    tifffile.imwrite(file, frame, photometric="rgb")
    return file.getvalue()


FORMATS: dict[str, Callable[[np.ndarray], bytes]] = {
    "PNG": lambda frame: picture(frame)[1],
    "JPEG": jpeg,
    "TIFF": tiff,
}


def seconds(work: Callable[[], object]) -> float:
    """Return how long one call takes."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def reading(folder: Path, frames: np.ndarray, kind: str) -> list[str]:
    """Return one line of the table on reading."""
    for k, frame in enumerate(frames):
        (folder / f"{k:03d}.{kind.lower()}").write_bytes(FORMATS[kind](frame))
    memory, params = FocusStack.from_array(frames), Params.from_keywords("paper")
    times: dict[str, list[float]] = {"decode": [], "memory": [], "files": []}
    for _ in range(ROUNDS):
        times["decode"].append(seconds(lambda: [frame.shape for frame in read_stack(folder)]))
        times["memory"].append(seconds(lambda: estimate(memory, params)))
        times["files"].append(seconds(lambda: estimate(read_stack(folder), params)))
    decode, in_memory, from_files = (statistics.median(t) for t in times.values())
    added = statistics.median(
        (f - m) / d
        for d, m, f in zip(times["decode"], times["memory"], times["files"], strict=True)
    )
    per_pixel = 1e9 * decode / frames[..., 0].size
    cells = f"{decode:.3f} ({per_pixel:.1f} ns per pixel)", f"{in_memory:.3f}", f"{from_files:.3f}"
    return [kind, *cells, f"{added:.2f}"]


def photographs(folder: Path) -> None:
    """Write seven photographs of 2048×1536 pixels: layers, 4 % breathing, flicker.

    Like most photographs they are not sharp to the pixel: they are enlarged twice.
    """
    steady = simulate("table", shape=(896, 1194), n=7, noise=0.0, seed=5)
    made = unsteady(steady, breathing=0.04, shift=1.0, rotation=0.05, flicker=0.03, margin=0.0711)
    for k, frame in enumerate(made.simulation.frames):
        large = Image.fromarray(frame).resize((2048, 1536), Image.Resampling.BICUBIC)
        (folder / f"{k:03d}.jpg").write_bytes(jpeg(np.asarray(large)))


class Stages:
    """A listener that adds up the time between one report and the next, by stage."""

    def __init__(self) -> None:
        self.took: dict[str, Clock] = {}
        self._last = Clock.now()

    def __call__(self, stage: str, done: int, _total: int) -> None:
        """Count what has passed to the stage that reports, or to what came before its start."""
        now = Clock.now()
        name = stage if done else "between the stages"
        before, passed = self.took.get(name, Clock(0.0, 0.0)), now.since(self._last)
        self.took[name] = Clock(*(a + b for a, b in zip(before, passed, strict=True)))
        self._last = now


def ours(files: list[Path], out: Path) -> Stages:
    """Go from files to a fused image, and return the time of each stage."""
    stages = Stages()
    fused = run(read_stack(files), Params(), stages).fused
    out.write_bytes(encode(out, fused))
    stages("writing", 1, 1)
    return stages


def theirs(command: list[str], out: Path) -> Clock:
    """Run another tool, and return its time."""
    began = Clock.now(), resource.getrusage(resource.RUSAGE_CHILDREN)
    call = [part.replace("{out}", str(out)) for part in command]
    subprocess.run(call, check=True, capture_output=True)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    own = used.ru_utime + used.ru_stime - began[1].ru_utime - began[1].ru_stime
    return Clock(Clock.now().since(began[0]).elapsed, own)


def journey(files: list[Path]) -> tuple[list[list[str]], list[list[str]]]:
    """Return the time per stage, and that of other tools, in turn, from files to a fused image."""
    names = list(map(str, files))
    tools = {
        "enfuse, which does not align": [
            *("enfuse", "--exposure-weight=0", "--saturation-weight=0", "--contrast-weight=1"),
            *("--hard-mask", "--output={out}", *names),
        ],
        "focus-stack": ["focus-stack", "--output={out}", *names],
    }
    ways: dict[str, list[Stages]] = {"now": [], "every time anew": []}
    others: dict[str, list[Clock]] = {name: [] for name in tools}
    for _ in range(JOURNEYS):
        with tempfile.TemporaryDirectory() as place:
            ways["now"].append(ours(files, Path(place) / "fused.jpg"))
            with mock.patch("varfocus.plan.MOST_HELD", 0):
                ways["every time anew"].append(ours(files, Path(place) / "fused.jpg"))
            for name, command in tools.items():
                if shutil.which(command[0]) is not None:
                    others[name].append(theirs(command, Path(place) / "other.jpg"))
    stages = list(ways["now"][0].took)
    per_stage = [
        [name, *(cell for way in ways.values() for cell in told([s.took[name] for s in way]))]
        for name in stages
    ]
    totals = {name: [total(stages) for stages in way] for name, way in ways.items()}
    per_stage.append(["**in all**", *(cell for way in totals.values() for cell in told(way))])
    rows = [["varfocus: aligned, depth, confidence, fused", *told(totals["now"]), "1.0"]]
    for name, times in others.items():
        if times:
            ratio = statistics.median(
                t.processor / o.processor for t, o in zip(times, totals["now"], strict=True)
            )
            rows.append([name, *told(times), f"{ratio:.2f}"])
        else:
            rows.append([f"{name} (not installed)", "–", "–", "–"])
    return per_stage, rows


def total(stages: Stages) -> Clock:
    """Return the time of all stages."""
    return Clock(*(sum(column) for column in zip(*stages.took.values(), strict=True)))


def told(times: list[Clock]) -> tuple[str, str]:
    """Return the medians of processor time and of elapsed time."""
    processor, elapsed = (
        statistics.median(getattr(clock, name) for clock in times)
        for name in ("processor", "elapsed")
    )
    return f"{processor:.2f}", f"{elapsed:.2f}"


def markdown(headings: list[str], rows: list[list[str]]) -> list[str]:
    """Return a table."""
    return ["| " + " | ".join(cells) + " |" for cells in [headings, ["---"] * len(headings), *rows]]


def main() -> None:
    """Measure and write ``results/files.md``."""
    frames = PAPER.stack()
    rows = []
    for kind in FORMATS:
        with tempfile.TemporaryDirectory() as place:
            rows.append(reading(Path(place), frames, kind))
    with tempfile.TemporaryDirectory() as place:
        if len(sys.argv) > 1:
            files = sorted(p for p in Path(sys.argv[1]).glob("*.jpg") if "fused" not in p.name)
        else:
            photographs(Path(place))
            files = sorted(Path(place).iterdir())
        per_stage, tools = journey(files)
    what = "photographs given" if len(sys.argv) > 1 else "simulated, 4 % breathing"
    lines = [
        f"# From files: {PAPER.name}",
        "",
        "`python benchmarks/files.py` writes this file. Seconds are medians of interleaved runs;",
        "the last column is what files add to a run from memory, as a share of decoding alone.",
        "",
        *markdown(["format", "decoding alone", "from memory", "from files", "added"], rows),
        "",
        f"## Files to fused image: {len(files)} JPEG of 3 megapixels, {what}",
        "",
        "Processor seconds and elapsed seconds; on the right with frames decoded and aligned anew",
        "for contrast, edges and fusion each.",
        "",
        *markdown(["stage", "processor", "elapsed", "anew: processor", "elapsed"], per_stage),
        "",
        *markdown(["tool", "processor", "elapsed", "processor ÷ varfocus"], tools),
    ]
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "files.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
