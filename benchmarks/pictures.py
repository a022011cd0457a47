"""Measure depth on pictures that another program rendered: other lenses, noise, steps and JPEG.

    python benchmarks/pictures.py DATA/rgbd RENDERER.py --part test

RENDERER is a module with ``render(rgb, index, n, blur, noise, seed, kind, dioptre)`` and
``truth_of(disparity, n)`` that shares nothing with varfocus; DATA/rgbd holds folders with
picture.png and disparity.npz. Twelve stacks a part, 256×256 pixels each, with fixed settings. The
scenes of `dev` may be tuned on, those of `test` are for reporting. Prints a line per stack, and at
last what docs/reblur.md quotes. `--figure FILE` draws the ten worst: picture, true depth, depth
without the second look, and depth as it is by default.
"""

from __future__ import annotations

import argparse
import importlib.util
import io
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import numpy as np
from matplotlib import colormaps
from numpy.typing import NDArray
from PIL import Image

from varfocus import reconstruct
from varfocus.depth import SURE
from varfocus.stack import FocusStack
from varfocus.studies.evaluation.places import GHOST, areas

SCENES = {
    "dev": ("dishes", "greek", "boardgames", "medieval2", "bull", "tsukuba"),
    "test": ("kitchen", "museum", "tomb", "vinyl", "poster", "venus"),
}
FIRST_SEED = {"dev": 0, "test": 1000}
"""Of the places of the crops."""

ALPHAS = (1.0, 1 / 4, 1 / 8, 1 / 16, 1 / 32)
"""Of the paper's method, of which the best for the stack counts."""

SIDE = 256

SHOWN = 10
"""Stacks in the figure, the worst first."""


class Setting(NamedTuple):
    """How a stack is rendered: blur in pixels over the range of focus, JPEG quality or 0."""

    aperture: str
    noise: float
    frames: int
    blur: float
    dioptre: float = 0.0
    jpeg: int = 0


SETTINGS = (
    Setting("disc", 0.005, 15, 8),
    Setting("hexagon", 0.01, 12, 7),
    Setting("bubble", 0.005, 20, 10),
    Setting("square", 0.03, 15, 8),
    Setting("gauss", 0.01, 12, 8, dioptre=0.2),
    Setting("disc", 0.03, 24, 10),
    Setting("bubble", 0.01, 10, 6, jpeg=92),
    Setting("disc", 0.01, 30, 12),
    Setting("hexagon", 0.005, 8, 6),
    Setting("square", 0.01, 15, 12, dioptre=0.2),
    Setting("disc", 0.01, 15, 8, jpeg=90),
    Setting("gauss", 0.005, 20, 8),
)


class Scores(NamedTuple):
    """Root mean square error in frames, shares off by > 1 and > 4, and the error beside jumps."""

    rmse: float
    bad: float
    ghosts: float
    beside: float


def rendered(
    renderer: ModuleType, folder: Path, number: int, first_seed: int
) -> tuple[NDArray[np.uint8], NDArray[np.float32]]:
    """Return the frames of a stack, and the true frame of every pixel, NaN where unknown."""
    setting = SETTINGS[number]
    picture = np.asarray(Image.open(folder / "picture.png").convert("RGB"), float) / 255
    with np.load(folder / "disparity.npz") as file:
        index, known = renderer.truth_of(file["d"].astype(float), setting.frames)
    rng = np.random.default_rng(7 * number + first_seed)
    top, left = (int(rng.integers(0, max(size - SIDE, 0) + 1)) for size in index.shape)
    crop = np.s_[top : top + SIDE, left : left + SIDE]
    frames = renderer.render(
        picture[crop],
        index[crop],
        setting.frames,
        setting.blur,
        setting.noise,
        number,
        setting.aperture,
        setting.dioptre,
    )
    if setting.jpeg:
        frames = np.stack([_compressed(frame, setting.jpeg) for frame in frames])
    return frames, np.where(known, index, np.nan)[crop].astype(np.float32)


def _compressed(frame: NDArray[np.uint8], quality: int) -> NDArray[np.uint8]:
    file = io.BytesIO()
    Image.fromarray(frame).save(file, "JPEG", quality=quality)
    return np.asarray(Image.open(file))


def scored(
    index: NDArray[np.float32], truth: NDArray[np.float32], beside: NDArray[np.bool_]
) -> Scores:
    """Return the errors of a depth map; `beside` marks the pixels within 3 px of a jump."""
    error = np.abs(index - truth)
    known = np.isfinite(truth)
    near = error[beside]
    return Scores(
        float(np.sqrt(np.mean(error[known] ** 2))),
        float((error[known] > 1.0).mean()),
        float((error[known] > GHOST).mean()),
        float(np.sqrt(np.mean(near**2))) if near.size else np.nan,
    )


def row(
    frames: NDArray[np.uint8],
    truth: NDArray[np.float32],
    maps: Sequence[NDArray[np.float32]],
) -> NDArray[np.uint8]:
    """Return a picture, its true depth and depth maps side by side; what is unknown is white."""
    picture = frames[len(frames) // 2]
    shown = []
    for depth in (truth, *maps):
        colours = colormaps["turbo"](np.clip(depth / (len(frames) - 1), 0, 1))[..., :3]
        colours[~np.isfinite(depth)] = 1.0
        shown.append(np.rint(255 * colours).astype(np.uint8))
    sides = [
        np.pad(each, ((0, 6), (0, 6), (0, 0)), constant_values=255) for each in (picture, *shown)
    ]
    tall = np.concatenate(sides, axis=1)
    return np.pad(tall, ((0, 0), (0, 4 * (SIDE + 6) - tall.shape[1]), (0, 0)), constant_values=255)


def main() -> None:
    """Render, reconstruct and compare."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pictures", type=Path)
    parser.add_argument("renderer", type=Path)
    parser.add_argument("--part", choices=list(SCENES), default="dev")
    parser.add_argument("--figure", type=Path)
    chosen = parser.parse_args()
    spec = importlib.util.spec_from_file_location("renderer", chosen.renderer)
    assert spec is not None
    assert spec.loader is not None
    renderer = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(renderer)
    scenes = SCENES[chosen.part]
    rows, ends, right, drawn = [], [], [], []
    for number, setting in enumerate(SETTINGS):
        scene = scenes[number % len(scenes)]
        frames, truth = rendered(renderer, chosen.pictures / scene, number, FIRST_SEED[chosen.part])
        beside = areas(truth, len(frames), np.zeros(truth.shape, bool))["at"]
        stack = FocusStack.from_array(frames)
        paper = min(
            scored(
                reconstruct(stack, method="paper", alpha=alpha, align="none").index, truth, beside
            )
            for alpha in ALPHAS
        )
        result = reconstruct(stack, align="none")
        ours = scored(result.index, truth, beside)
        rows.append((ours, paper))
        ends.append(result.findings["edges"].get("nearest_frame"))
        sure = np.isfinite(truth) & (result.confidence >= SURE)
        right.append(float((np.abs(result.index - truth)[sure] <= 1.0).mean()))
        if chosen.figure:
            before = reconstruct(stack, align="none", reblur="off").index
            drawn.append((ours.rmse / paper.rmse, row(frames, truth, (before, result.index))))
        print(
            f"{scene:<11}{setting.aperture:<8}{setting.noise:<6}{setting.frames:>3} frames  "
            f"{ours.rmse:.2f} / {paper.rmse:.2f} = {ours.rmse / paper.rmse:.2f}  "
            f"off by > 1 {ours.bad:.1%} / {paper.bad:.1%}  ghosts {ours.ghosts:.2%}  "
            f"beside jumps {ours.beside / paper.beside:.2f}  sure right {right[-1]:.1%}  "
            f"near: {ends[-1]}",
            flush=True,
        )
    ratio = np.array([ours.rmse / paper.rmse for ours, paper in rows])
    near = np.array([ours.beside / paper.beside for ours, paper in rows])
    print(
        f"{chosen.part}: RMSE ÷ paper {np.exp(np.log(ratio).mean()):.2f} "
        f"(worst {ratio.max():.2f}), "
        f"beside jumps {np.exp(np.nanmean(np.log(near))):.2f}, "
        f"ghosts {np.mean([ours.ghosts for ours, _ in rows]):.1%}, "
        f"near end right, wrong, unknown: {ends.count('first')}, {ends.count('last')}, "
        f"{ends.count(None)}; least share of sure pixels that are right {min(right):.1%}"
    )
    if chosen.figure:
        worst = sorted(drawn, key=lambda one: -one[0])[:SHOWN]
        Image.fromarray(np.concatenate([each for _, each in worst])).save(chosen.figure, quality=85)


if __name__ == "__main__":
    main()
