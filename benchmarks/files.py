"""Time what reading files adds to a run, and other tools on the same frames.

The paper's workload is written as PNG, JPEG and TIFF. For each, in turn and several times:
decoding alone on one core, the reconstruction from memory, and the reconstruction from files, which
decodes ahead on threads. Where enfuse or focus-stack are installed they fuse the same JPEG frames;
they give no depth map (enfuse) or a coarser one, so only the time compares.

    python benchmarks/files.py
"""

from __future__ import annotations

import io
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import tifffile
from bench import RESULTS
from PIL import Image
from workloads import PAPER

from varfocus import FocusStack, read_stack
from varfocus.export.images import picture
from varfocus.params import Params
from varfocus.pipeline import estimate, run

ROUNDS = 5


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


def others(folder: Path) -> list[list[str]]:
    """Return how long varfocus and other tools take from files to a fused image."""
    files = sorted(map(str, folder.iterdir()))
    tools = {
        "enfuse": [
            *("enfuse", "--exposure-weight=0", "--saturation-weight=0", "--contrast-weight=1"),
            *("--hard-mask", "--output={out}", *files),
        ],
        "focus-stack": ["focus-stack", "--no-align", "--output={out}", *files],
    }
    ours = seconds(lambda: run(read_stack(folder), Params.from_keywords("paper")))
    rows = [["varfocus: depth, confidence, fused image", f"{ours:.2f}", "1.0"]]
    for name, command in tools.items():
        if shutil.which(name) is None:
            rows.append([f"{name} (not installed)", "–", "–"])
            continue
        with tempfile.TemporaryDirectory() as place:
            call = [part.replace("{out}", f"{place}/fused.png") for part in command]
            taken = seconds(lambda call=call: subprocess.run(call, check=True, capture_output=True))
        rows.append([name, f"{taken:.2f}", f"{taken / ours:.1f}"])
    return rows


def markdown(headings: list[str], rows: list[list[str]]) -> list[str]:
    """Return a table."""
    return ["| " + " | ".join(cells) + " |" for cells in [headings, ["---"] * len(headings), *rows]]


def main() -> None:
    """Measure and write ``results/files.md``."""
    frames = PAPER.stack()
    rows, tools = [], []
    for kind in FORMATS:
        with tempfile.TemporaryDirectory() as place:
            rows.append(reading(Path(place), frames, kind))
            if kind == "JPEG":
                tools = others(Path(place))
    lines = [
        f"# From files: {PAPER.name}",
        "",
        "`python benchmarks/files.py` writes this file. Seconds are medians of interleaved runs;",
        "the last column is what files add to a run from memory, as a share of decoding alone.",
        "",
        *markdown(["format", "decoding alone", "from memory", "from files", "added"], rows),
        "",
        *markdown(["tool, from JPEG files", "seconds", "× varfocus"], tools),
    ]
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "files.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
