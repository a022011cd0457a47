"""The robust method with its one setting against the paper's at its best α, scene by scene.

    python benchmarks/accuracy.py [data folder]

The folder may hold texture_rings.tif, motorcycle/, gt_1/, gt_2/ and gt_4/; what is missing is left
out, and Table 1's shapes then wear the built-in texture. Shapes are in centimetres, the rest in
frames. Bands give RMSE and bad pixels within 3 px of true depth jumps, within 8 px, and beyond, in
frames. Takes some minutes.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import tifffile
from PIL import Image

from varfocus import depth, metrics, read_stack
from varfocus.params import Params
from varfocus.pipeline import estimate, fitting_degree
from varfocus.simulation import SCENES, SHAPES, render_picture, simulate
from varfocus.stack import FocusStack

ALPHAS = (1.0, 1 / 4, 1 / 8, 1 / 16, 1 / 32)
Case = tuple[str, FocusStack, np.ndarray, np.ndarray | None]


def shapes(data: Path) -> Iterator[Case]:
    """Yield Table 1's shapes at two noise levels, distances known and unknown."""
    rings = data / "texture_rings.tif"
    texture = tifffile.imread(rings) if rings.exists() else None
    for noise in (0.05, 1.0):
        for name in SHAPES:
            scene = simulate(name, texture=texture, shape=(360, 360), noise=noise)
            unknown = FocusStack.from_array(scene.frames)
            yield f"{name} {noise:g}", unknown, scene.truth_index, scene.focus
            yield f"{name} {noise:g} known", scene.stack, scene.truth_index, scene.focus


def scenes(data: Path) -> Iterator[Case]:
    """Yield the layered scenes, the picture with dense truth, and other people's stacks."""
    for name in SCENES:
        for seed in (0, 1):
            scene = simulate(name, seed=seed)
            yield f"{name} {seed}", FocusStack.from_array(scene.frames), scene.truth_index, None
    if (data / "motorcycle").exists():
        picture = np.asarray(Image.open(data / "motorcycle/motorcycle_left.png"))[..., :3]
        with np.load(data / "motorcycle/motorcycle_disp.npz") as file:
            disparity = file[file.files[0]].astype(np.float64)
        z = np.where(np.isfinite(disparity), 994.978 * 0.193001 / (disparity + 31.086), np.nan)
        scene = render_picture(picture, z)
        yield "motorcycle", FocusStack.from_array(scene.frames), scene.truth_index, None
    for name in ("gt_1", "gt_2", "gt_4"):
        if (data / name).exists():
            stack = read_stack(data / name / "frames")
            truth = np.full(stack.shape, np.nan, np.float32)
            truth[20:379, 20:379] = np.load(data / name / "truth.npy")
            yield name, stack, truth, None


def errors(index: np.ndarray, truth: np.ndarray, focus: np.ndarray | None) -> tuple[float, float]:
    """Return RMSE (cm, or frames without focus distances) and the share of bad pixels."""
    bad = metrics.bad_pixels(index, truth)
    if focus is None:
        return metrics.rmse(index, truth), bad
    physical = depth.index_to_depth(truth.astype(np.float32), focus)
    return 100 * metrics.rmse(depth.index_to_depth(index, focus), physical), bad


def bands(index: np.ndarray, truth: np.ndarray) -> str:
    """Return RMSE and share of bad pixels within 3 px of jumps, within 8 px, and beyond."""
    found = metrics.edge_band_errors(index, truth)
    return " ".join(
        f"{found[name].rmse:.2f}/{found[name].bad:.1%}" for name in ("at", "near", "away")
    )


def main() -> None:
    """Print the table."""
    data = Path(sys.argv[1] if len(sys.argv) > 1 else "data")
    print(
        "| scene | paper | edges off | robust | ratio | bad, paper | bad, robust | bands, paper "
        "| bands, edges off | bands, robust | axis |\n" + "|---" * 11 + "|"
    )
    for make in (shapes, scenes):
        for name, stack, truth, focus in make(data):
            runs = []
            for alpha in ALPHAS:
                params = fitting_degree(stack, Params.from_keywords("paper", alpha=alpha))[0]
                index = estimate(stack, params).index
                runs.append((errors(index, truth, focus), bands(index, truth)))
            best, beside = min((r, text) for (r, _), text in runs)
            least_bad = min(b for (_, b), _ in runs)
            off = estimate(stack, Params.from_keywords("robust", edges="off")).index
            found = estimate(stack, Params.from_keywords("robust"))
            ours, bad = errors(found.index, truth, focus)
            axis = (found.notes or {}).get("coordinate")
            print(
                f"| {name} | {best:.3f} | {errors(off, truth, focus)[0]:.3f} | {ours:.3f} "
                f"| {ours / best:.2f} | {least_bad:.2%} | {bad:.2%} | {beside} "
                f"| {bands(off, truth)} | {bands(found.index, truth)} | {axis} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
