"""Figure 2: the contrast curve of a textured and of a textureless pixel."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from varfocus import curve
from varfocus.contrast import box_mean, mlap, normaliser
from varfocus.export.figures import to_png
from varfocus.params import ContrastParams, CurveParams
from varfocus.simulation import Simulation, simulate
from varfocus.studies.reproduce.report import Figure, Report, Text
from varfocus.studies.reproduce.setting import Setting

MARGIN = 12
"""Pixels this close to the border are not shown."""


def curves(setting: Setting) -> Report:
    """Show the contrast curve and its polynomial at two contrasting pixels.

    Parameters
    ----------
    setting : Setting
        Size of the scene.

    Returns
    -------
    Report
        One figure.
    """
    setting.step("curves", 0, 1)
    scene = simulate("textureless", n=15 if setting.quick else 33, colour=True)
    contrast = np.stack([mlap(scene.stack.read_unit(k)) for k in range(len(scene.stack))])
    degree = min(CurveParams().degree, curve.largest_degree(len(contrast)))
    a = curve.fit(contrast, degree)
    textured, plain = telling_pixels(contrast)
    png = _figure(scene, contrast, a, textured, plain)
    scale = normaliser(contrast.max(axis=0), ContrastParams())
    lift = [float(contrast[:, i, j].max() / scale[i, j]) for i, j in (textured, plain)]
    setting.step("curves", 1, 1)
    words = (
        f"MLAP over {len(contrast)} frames (dots) and the polynomial of degree {degree} fitted to "
        "it (line), in the same scale. Where there is texture the maximum is clear; where there is "
        "none the contrast is noise. Dividing by the maximum over the frames lifts noise: the "
        f"textured curve then peaks at {lift[0]:.2f}, the textureless one at {lift[1]:.2f}. That "
        "is the price of one α for strong and faint texture alike. Dashed: the true depth."
    )
    caption = "Contrast curves at a textured (green) and a textureless (cyan) pixel"
    return Report(
        "curves", "Figure 2: contrast curves", [Text(words), Figure("curves", png, caption)]
    )


def telling_pixels(contrast: NDArray[np.float32]) -> tuple[tuple[int, int], tuple[int, int]]:
    """Return the pixels whose neighbourhoods show the most and the least contrast.

    Parameters
    ----------
    contrast : ndarray of shape (n, H, W), float32
        Contrast of every frame.

    Returns
    -------
    tuple of two (row, column)
        The textured pixel, then the textureless one.
    """
    around = box_mean(contrast.max(axis=0), 9)
    inner = around[MARGIN:-MARGIN, MARGIN:-MARGIN]
    pixels = []
    for position in (int(inner.argmax()), int(inner.argmin())):
        row, column = np.unravel_index(position, inner.shape)
        pixels.append((int(row) + MARGIN, int(column) + MARGIN))
    return pixels[0], pixels[1]


def _figure(
    scene: Simulation,
    contrast: NDArray[np.float32],
    a: NDArray[np.float32],
    textured: tuple[int, int],
    plain: tuple[int, int],
) -> bytes:
    from matplotlib.figure import Figure as Canvas

    n = len(contrast)
    canvas = Canvas(figsize=(12, 3.6), layout="constrained")
    left, middle, right = canvas.subplots(1, 3)
    left.imshow(scene.sharp, cmap="gray")
    left.set_axis_off()
    fine = np.linspace(0, n - 1, 400)
    for axis, (i, j), colour, title in (
        (middle, textured, "tab:green", "textured pixel"),
        (right, plain, "tab:cyan", "textureless pixel"),
    ):
        left.plot(j, i, "o", markersize=9, markeredgecolor="white", color=colour)
        axis.plot(np.arange(n), contrast[:, i, j], "o", markersize=4, color=colour, label="MLAP")
        fitted = [float(curve.evaluate(a[:, i, j], curve.index_to_x(k, n))) for k in fine]
        axis.plot(fine, fitted, color="black", linewidth=1, label=f"degree {len(a) - 1}")
        axis.axvline(scene.truth_index[i, j], color="grey", linestyle="--", linewidth=1)
        axis.set(title=title, xlabel="frame", ylabel="contrast")
        axis.set_ylim(0, 1.05 * float(contrast[:, textured[0], textured[1]].max()))
        axis.legend(frameon=False)
    return to_png(canvas)
