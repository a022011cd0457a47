"""Mosaics from 1 to 144 megapixels in tiles: time, memory, seams.

``python benchmarks/huge.py FOLDER`` makes mosaics of simulated scenes as tiled BigTIFF in FOLDER,
works through each within the given memory in a process of its own, and writes results/huge.md,
huge.json and docs/images/huge.png. ``--seams`` compares tiles with the whole image where that fits,
and with tiles that know nothing of each other.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import tifffile

from varfocus import io, units
from varfocus.methods import robust
from varfocus.params import Params
from varfocus.pipeline import run
from varfocus.plan import in_tiles
from varfocus.simulation import simulate
from varfocus.stack import FocusStack

PIECE, FRAMES = 500, 8
SCENES = ("steps", "slants", "discs", "textureless", "wire")
RESULTS = Path(__file__).parent / "results"
IMAGES = Path(__file__).parents[1] / "docs" / "images"


def pieces(kept: Path) -> list[np.ndarray]:
    """Return scenes with jumps, one that is nearly plain, and mere noise, (8, 500, 500) each."""
    if kept.exists():
        return list(np.load(kept))
    found = [
        simulate(name, shape=(PIECE, PIECE), n=FRAMES, seed=5, colour=False).frames
        for name in SCENES
    ]
    rng = np.random.default_rng(7)
    faint = 128 + 0.05 * (found[0].astype(np.float32) - 128) + rng.normal(0, 1, found[0].shape)
    noise = 90 + rng.normal(0, 1.5, found[0].shape)
    found += [np.clip(np.rint(x), 0, 255).astype(np.uint8) for x in (faint, noise)]
    np.save(kept, np.stack(found))
    return found


def mosaic_tiff(path: Path, side: int, scenes: list[np.ndarray]) -> None:
    """Write a mosaic of the scenes, turned and dimmed at random, a row of tiles at a time."""
    count = -(-side // PIECE)
    rng = np.random.default_rng(12)
    number = rng.integers(0, len(scenes), (count, count))
    turn = rng.integers(0, 8, (count, count))
    gain = rng.uniform(0.6, 1.0, (count, count))

    def piece(k: int, i: int, j: int) -> np.ndarray:
        frame = scenes[number[i, j]][k]
        frame = np.rot90(frame if turn[i, j] < 4 else frame.T, turn[i, j] % 4)
        return (frame * gain[i, j]).astype(np.uint8)

    def squares(k: int):
        """Tiles of 512 cut from rows of pieces of 500."""
        rows = np.empty((0, count * PIECE), np.uint8)
        i = 0
        for top in range(0, side, 512):
            while len(rows) < min(512, side - top) and i < count:
                rows = np.vstack([rows, np.hstack([piece(k, i, j) for j in range(count)])])
                i += 1
            for left in range(0, side, 512):
                part = rows[: min(512, side - top), left : min(left + 512, side)]
                yield np.pad(part, [(0, 512 - part.shape[0]), (0, 512 - part.shape[1])])
            rows = rows[512:]

    with tifffile.TiffWriter(path, bigtiff=True) as file:
        for k in range(FRAMES):
            file.write(
                squares(k),
                shape=(side, side),
                dtype=np.uint8,
                tile=(512, 512),
                photometric="minisblack",
                metadata=None,
            )


def one(path: Path, out: Path, limit: str, kind: str, edges: str) -> dict[str, object]:
    """Work through one mosaic in this process, and return what it took."""
    stack = io.read_stack(path)
    params = Params.from_keywords("robust", align="none", edges=edges)
    planned = in_tiles(stack, params, units.parse_size(limit))
    stages: dict[str, list[float]] = {}

    def listen(stage: str, *_: int) -> None:
        now = time.perf_counter()
        stages.setdefault(stage, [now, now])[1] = now

    began, cpu = time.perf_counter(), time.process_time()
    out.mkdir(exist_ok=True)
    result = run(stack, params, listen, planned=planned, folder=out)
    done = result.write(out, overwrite=True, tiled_format=kind)
    listen("writing")
    return {
        "megapixels": stack.shape[0] * stack.shape[1] / 1e6,
        "seconds": time.perf_counter() - began,
        "cpu_seconds": time.process_time() - cpu,
        "peak_bytes": 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss,
        "edges": edges,
        "tile": planned.side,
        "scratch_bytes": planned.disk,
        "stages": {name: end - start for name, (start, end) in stages.items()},
        "findings": done.record["findings"],
    }


def seams(folder: Path, scenes: list[np.ndarray], side: int) -> dict[str, object]:
    """Compare tiles with the whole image, and with tiles that know nothing of each other."""
    path = folder / "seams.tif"
    mosaic_tiff(path, side, scenes)
    stack = io.read_stack(path)
    params = Params.from_keywords("robust", align="none", edges="off")
    whole = run(stack, params)
    planned = replace(in_tiles(stack, params, 2 * 10**9), side=512, room=100_000_000)
    files = run(stack, params, planned=planned, folder=folder).save(
        folder / "seams", overwrite=True
    )
    found = {name: tifffile.imread(files[name]) for name in ("depth", "confidence", "fused")}
    difference = np.abs(found["depth"] - whole.depth)
    answer: dict[str, object] = {
        "pixels": int(difference.size),
        "different": int((difference > 0).sum()),
        "largest_frames": float(difference.max()),
        "fused_different": int((found["fused"] != whole.fused).sum()),
        "confidence_largest": float(np.abs(found["confidence"] - whole.confidence).max()),
    }
    answer["independent"] = independent(FocusStack.from_array(np.stack(list(stack))))
    path.unlink()
    return answer


def independent(stack: FocusStack) -> dict[str, dict[str, float]]:
    """Return what tiles of 512 pixels would differ by if each were solved by itself."""
    params = Params.from_keywords("robust", align="none", edges="off")
    prepared = robust.prepare(stack, params)
    whole = robust.solve(prepared, params).index
    rows, columns = slice(512, 1024), slice(512, 1024)
    answer = {}
    for overlap in (32, 64, 128, 256, 512):
        box = slice(max(512 - overlap, 0), min(1024 + overlap, *stack.shape))
        part = stack.window(box, box)
        alone = robust.prepare(part, params)
        found = robust.solve(replace(alone, model=prepared.model), params)
        inner = slice(512 - box.start, 1024 - box.start)
        difference = np.abs(found.index[inner, inner] - whole[rows, columns])
        answer[str(overlap)] = {
            "rms": float(np.sqrt((difference**2).mean())),
            "above_a_tenth": float((difference > 0.1).mean()),
            "largest": float(difference.max()),
        }
    return answer


def report(results: dict) -> None:
    """Write the table and the plot of all runs so far."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    lines = [
        "| megapixels | edge stage | CPU s per megapixel | s per megapixel | peak memory | tiles |",
        "|---|---|---|---|---|---|",
    ]
    runs = sorted(results["runs"].values(), key=lambda run: (run["edges"], run["megapixels"]))
    for found in runs:
        size = found["megapixels"]
        stage = "off" if found["edges"] == "off" else "on"
        stage += ", closed" if stage == "on" and found["findings"]["edges"] is None else ""
        lines.append(
            f"| {size:.0f} | {stage} | {found['cpu_seconds'] / size:.2f} "
            f"| {found['seconds'] / size:.1f} | {found['peak_bytes'] / 1e9:.2f} GB "
            f"| {found['tile']} |"
        )
    (RESULTS / "huge.md").write_text("# Mosaics in tiles\n\n" + "\n".join(lines) + "\n")
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(9, 3.2), layout="constrained")
    for stage, colour in (("off", "C0"), ("auto", "C1")):
        some = [found for found in runs if found["edges"] == stage]
        x = [found["megapixels"] for found in some]
        y = [found["cpu_seconds"] / found["megapixels"] for found in some]
        words = "with the edge stage" if stage == "auto" else "without the edge stage"
        left.plot(x, y, "o-", color=colour, label=words)
        memory_used = [found["peak_bytes"] / 1e9 for found in some]
        right.plot(x, memory_used, "o-", color=colour, label=words)
    left.set(xscale="log", ylim=(0, None), xlabel="megapixels", ylabel="CPU s per megapixel")
    right.set(xscale="log", ylim=(0, 4.5), xlabel="megapixels", ylabel="peak memory (GB)")
    right.axhline(4.0, color="grey", linestyle=":")
    left.legend(frameon=False)
    figure.savefig(IMAGES / "huge.png", dpi=110)


def main() -> None:
    """Run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--sides", type=int, nargs="*", default=[1000, 2000, 4000, 6000, 12000])
    parser.add_argument("--memory", default="3.6GB")
    parser.add_argument("--format", default="tiff")
    parser.add_argument("--edges", default="auto", help="off: without the edge stage")
    parser.add_argument("--seams", type=int, metavar="SIDE")
    parser.add_argument("--keep", action="store_true")
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.one:
        print(json.dumps(one(*map(Path, chosen.one), chosen.memory, chosen.format, chosen.edges)))
        return
    chosen.folder.mkdir(parents=True, exist_ok=True)
    target = RESULTS / "huge.json"
    results = {"runs": {}} | (json.loads(target.read_text()) if target.exists() else {})
    scenes = pieces(chosen.folder / "pieces.npy")
    if chosen.seams:
        results["seams"] = seams(chosen.folder, scenes, chosen.seams)
        print(json.dumps(results["seams"], indent=1))
    for side in chosen.sides:
        path = chosen.folder / f"mosaic{side}.tif"
        if not path.exists():
            mosaic_tiff(path, side, scenes)
        out = chosen.folder / f"out{side}"
        command = [sys.executable, __file__, str(chosen.folder), "--memory", chosen.memory]
        command += ["--format", chosen.format, "--edges", chosen.edges]
        command += ["--one", str(path), str(out)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        results["runs"][f"{side} {chosen.edges}"] = found = json.loads(done.stdout)
        print(json.dumps(found))
        if not chosen.keep:
            path.unlink()
        target.write_text(json.dumps(results, indent=1) + "\n")
    target.write_text(json.dumps(results, indent=1) + "\n")
    if results["runs"]:
        report(results)


if __name__ == "__main__":
    main()
