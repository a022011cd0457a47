"""The four pictures of the start page: python docs/images/cards.py."""

from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from PIL import Image

import varfocus

HERE = Path(__file__).parent
SIZE = (4.8, 3.2)
DPI = 120


def save(figure: Figure, name: str) -> None:
    """Write a figure as a JPEG."""
    figure.savefig(HERE / f"card-{name}.jpg", dpi=DPI, pil_kwargs={"quality": 88})


def photographer() -> None:
    """Draw half of a frame, half of the picture with everything in focus."""
    scene = varfocus.simulate("table", n=15, shape=(384, 480))
    fused = varfocus.reconstruct(scene.stack).fused
    picture = np.where(np.arange(480)[None, :, None] < 240, scene.frames[13], fused)
    picture[:, 239:241] = 255
    cut = Image.fromarray(picture[40:360]).resize((576, 384), Image.Resampling.LANCZOS)
    cut.save(HERE / "card-photographer.jpg", quality=88)


def microscopist() -> None:
    """Draw a relief in micrometres."""
    scene = varfocus.simulate("cosine", shape=(220, 220), n=25, noise=0.2)
    result = varfocus.reconstruct(scene.frames, focus=2.0 * np.arange(25), unit="um")
    height = -result.depth[::3, ::3]
    y, x = np.mgrid[: height.shape[0], : height.shape[1]]
    figure = Figure(figsize=SIZE)
    axis = figure.add_axes((-0.12, -0.2, 1.24, 1.4), projection="3d")
    axis.plot_surface(x, y, height, cmap="viridis", rstride=1, cstride=1, lw=0)
    axis.set_box_aspect((1, 1, 0.5))
    axis.view_init(40, -50)
    axis.set_axis_off()
    save(figure, "microscopist")


def researcher() -> None:
    """Draw a contrast curve, and what is believed about its peak."""
    scene = varfocus.simulate("table", n=21)
    stack, (y, x) = scene.stack, (78, 25)
    planes = (varfocus.contrast.mlap(stack.read_unit(k)) for k in range(21))
    curve = np.array([varfocus.contrast.gaussian(plane, 1.25)[y, x] for plane in planes])
    found = varfocus.reconstruct(stack)
    figure = Figure(figsize=SIZE, layout="constrained")
    axis = figure.add_subplot()
    axis.plot(curve / curve.max(), "o-", lw=2, color="#0b6b72")
    axis.axvline(found.index[y, x], color="#b4690e", lw=2)
    axis.annotate("here", (found.index[y, x] + 0.3, 1.02), color="#b4690e")
    axis.annotate("a blurred cord\nin front of it", (2.2, 0.86), color="0.35")
    axis.set(xlabel="frame", ylabel="contrast", yticks=[], ylim=(0, 1.15))
    axis.spines[["top", "right"]].set_visible(False)
    save(figure, "researcher")


def lab() -> None:
    """Draw many stacks."""
    figure = Figure(figsize=SIZE)
    axes = figure.subplots(4, 6)
    figure.subplots_adjust(0.02, 0.02, 0.98, 0.98, 0.06, 0.06)
    names = ("steps", "slants", "discs", "wire")
    for k, axis in enumerate(axes.flat):
        scene = varfocus.simulate(names[k % 4], shape=(72, 72), n=7, seed=k // 4)
        axis.imshow(varfocus.reconstruct(scene.frames, align="none").index, cmap="viridis")
        axis.set_axis_off()
    save(figure, "lab")


if __name__ == "__main__":
    mpl.rcParams["font.size"] = 11
    for draw in (photographer, microscopist, researcher, lab):
        draw()
