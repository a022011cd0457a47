"""The all-in-focus image against enfuse and focus-stack: PSNR to the true picture, scene by scene.

    python benchmarks/fusion.py [data folder]

Every layered scene, a bright edge before a dark background and, if the data folder has it, the
motorcycle. varfocus runs with its defaults; of enfuse's settings the best for each scene counts,
which is generous to it. Tools that are not installed are left out, and said so. Takes some minutes.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from evaluation import motorcycle
from PIL import Image

from varfocus.fuse import fuse
from varfocus.params import Params
from varfocus.pipeline import estimate
from varfocus.simulation import SCENES, Layer, Simulation, render_layers, simulate
from varfocus.simulation.camera import chosen_focus
from varfocus.simulation.canvas import FAR, NEAR, SCENE_KAPPA, Canvas, depth_at
from varfocus.stack import FocusStack
from varfocus.studies.metrics import psnr

_CONTRAST = ("--exposure-weight=0", "--saturation-weight=0", "--contrast-weight=1")
_ENFUSE = {
    "soft": (),
    "hard": ("--hard-mask",),
    "hard, window 9": ("--hard-mask", "--contrast-window-size=9"),
    "hard, luminance, window 7": (
        *("--hard-mask", "--gray-projector=luminance", "--contrast-window-size=7"),
    ),
    "hard, edges": ("--hard-mask", "--contrast-edge-scale=0.3"),
    "hard, curvature": ("--hard-mask", "--contrast-min-curvature=-0.5%"),
}
SETTINGS = {
    **{
        f"enfuse {name}": ("enfuse", *_CONTRAST, *options, "--output={out}")
        for name, options in _ENFUSE.items()
    },
    "focus-stack": ("focus-stack", "--no-align", "--output={out}"),
    "focus-stack, consistency 2": (
        *("focus-stack", "--no-align", "--consistency=2", "--output={out}"),
    ),
}


def bright_edge() -> Simulation:
    """Return a bright card and disc before a dark background."""
    canvas = Canvas((256, 320), 0, True)

    def sheet(number: int, mean: float, contrast: float) -> np.ndarray:
        texture = canvas.paint(number)
        return np.clip(mean + contrast * (texture - texture.mean()), 0, 1).astype(np.float32)

    layers = [
        Layer(sheet(0, 0.82, 0.16), float(depth_at(0.1)), canvas.card(0.35, 0.45, 0.5, 0.6, 0.2)),
        Layer(sheet(1, 0.9, 0.1), float(depth_at(0.45)), canvas.disc(0.75, 0.5, 0.2)),
        Layer(sheet(11, 0.07, 0.12), float(depth_at(0.9))),
    ]
    focus = chosen_focus(None, NEAR, FAR, 15, "dioptre")
    return render_layers("bright edge", layers, focus, SCENE_KAPPA)


def scenes(data: Path) -> Iterator[Simulation]:
    """Yield simulated stacks with their true pictures."""
    for name in SCENES:
        yield simulate(name)
    yield bright_edge()
    if (data / "motorcycle").exists():
        yield motorcycle(data / "motorcycle")


def others(frames: np.ndarray, sharp: np.ndarray) -> dict[str, float]:
    """Return the PSNR in dB of every setting of the tools that are installed."""
    found = {}
    with tempfile.TemporaryDirectory() as place:
        files = [f"{place}/{k:03d}.png" for k in range(len(frames))]
        for file, frame in zip(files, frames, strict=True):
            Image.fromarray(frame).save(file)
        for name, command in SETTINGS.items():
            if shutil.which(command[0]):
                out = f"{place}/fused.png"
                call = [part.replace("{out}", out) for part in command]
                subprocess.run([*call, *files], check=True, capture_output=True)
                found[name] = psnr(np.asarray(Image.open(out))[..., :3] / 255, sharp)
    return found


def tent(frames: np.ndarray, index: np.ndarray) -> np.ndarray:
    """Return plain linear interpolation between the frames at the depth."""
    fused = np.zeros(frames.shape[1:], np.float32)
    for k, frame in enumerate(frames):
        fused += np.maximum(0, 1 - np.abs(k - index))[..., None] * frame
    return fused


def main() -> None:
    """Print the table."""
    data = Path(sys.argv[1] if len(sys.argv) > 1 else "data")
    for tool in sorted({command[0] for command in SETTINGS.values()}):
        if shutil.which(tool) is None:
            print(f"{tool} is not installed and left out.\n")
    methods = ("robust", "paper", "classic")
    columns = ("scene", *methods, "robust, plain sampling", "best other", "dB", "lead of robust")
    print(f"| {' | '.join(columns)} |\n" + "|---" * len(columns) + "|")
    for scene in scenes(data):
        stack = FocusStack.from_array(scene.frames)
        row = []
        for method in methods:
            index = estimate(stack, Params.from_keywords(method)).index
            row.append(psnr(fuse(stack, index).image / 255, scene.sharp))
            if method == "robust":
                plain = psnr(tent(scene.frames, index) / 255, scene.sharp)
        rivals = others(scene.frames, scene.sharp)
        best = max(rivals, key=lambda name: rivals[name], default=None)
        numbers = " | ".join(f"{value:.2f}" for value in (*row, plain))
        rival = (
            f"{best} | {rivals[best]:.2f} | {row[0] - rivals[best]:+.2f}" if best else "– | – | –"
        )
        print(f"| {scene.name} | {numbers} | {rival} |", flush=True)


if __name__ == "__main__":
    main()
