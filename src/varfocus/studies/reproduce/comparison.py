"""Figures 3 to 5: depth maps by every method, with their errors."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from varfocus.export.figures import Panel, panels, to_png
from varfocus.params import Params
from varfocus.pipeline import estimate
from varfocus.simulation import Simulation, simulate
from varfocus.studies.comparison import MLAP_1, MLAP_2, compare, fraction
from varfocus.studies.metrics import bad_pixels, mse, rmse
from varfocus.studies.reproduce.report import Figure, Report, Table, Text
from varfocus.studies.reproduce.setting import PUBLISHED, Setting

SMOOTH_SHAPE = "cosine"
SMOOTH_ALPHA = 1 / 16
SCENE = "table"


def comparison(setting: Setting) -> Report:
    """Compare the methods on a smooth surface (figure 3) and on a scene with jumps (4 and 5).

    Parameters
    ----------
    setting : Setting
        Texture and size.

    Returns
    -------
    Report
        Two figures and a table.
    """
    setting.step("comparison", 0, 2)
    smooth = simulate(SMOOTH_SHAPE, shape=setting.size, texture=setting.texture)
    surface = _smooth_figure(smooth, setting)
    setting.step("comparison", 1, 2)
    scene = simulate(
        SCENE, shape=(160, 200) if setting.quick else None, n=15 if setting.quick else 33
    )
    maps = compare(scene.stack, solver="admm")
    rows = [
        [
            name,
            f"{mse(index, scene.truth_index):.2f}",
            f"{rmse(index, scene.truth_index):.2f}",
            f"{100 * bad_pixels(index, scene.truth_index, 1.0):.1f} %",
        ]
        for name, index in maps.items()
    ]
    setting.step("comparison", 2, 2)
    variational = [name for name in maps if name.startswith("variational")]
    best = min(maps, key=lambda name: rmse(maps[name], scene.truth_index))
    words = f"Of all {len(maps)} maps, “{best}” is the most accurate on this scene" + (
        ", as the paper finds on its photographs." if best in variational else ", unlike the paper."
    )
    caption = "Texture, truth and its surface; below, the estimates with their mean squared errors"
    return Report(
        "comparison",
        "Figures 3 to 5: depth maps side by side",
        [
            Text(
                f"Figure 3: a smooth surface ({SMOOTH_SHAPE}), {setting.texture_words}, 15 frames. "
                "The paper prints α = 1/2 for its best picture; in our scaling that is "
                f"α = {fraction(SMOOTH_ALPHA)} (see Table 1)."
            ),
            Figure("comparison_surface", surface, caption),
            Text(
                "Figures 4 and 5: the paper's photographs are not ours to ship, so a simulated "
                f"scene with jumps, a wire and a plain patch stands for them, {len(scene.stack)} "
                "frames. `varfocus compare` draws the same picture for any stack."
            ),
            Figure("comparison_scene", _scene_figure(scene, maps), "A scene with depth jumps"),
            Table(
                "comparison",
                ["method", "MSE (frames²)", "RMSE (frames)", "off by more than a frame"],
                rows,
            ),
            Text(words),
        ],
    )


def _smooth_figure(scene: Simulation, setting: Setting) -> bytes:
    from matplotlib.figure import Figure as Canvas

    alpha = SMOOTH_ALPHA * setting.alpha_scale
    runs = {
        "MLAP 9×9": Params.from_keywords("classic", **MLAP_1),
        "MLAP 41×41, median 11×11": Params.from_keywords("classic", **MLAP_2),
        f"variational, α = {fraction(alpha)}": Params.from_keywords(
            "paper", alpha=alpha, **PUBLISHED
        ),
    }
    canvas = Canvas(figsize=(11, 7), layout="constrained")
    n, truth = len(scene.stack), scene.truth_index
    texture = canvas.add_subplot(2, 3, 1, title="texture")
    texture.imshow(scene.sharp, cmap="gray")
    texture.set_axis_off()
    flat = canvas.add_subplot(2, 3, 2, title="true depth")
    flat.imshow(truth, cmap="viridis", vmin=0, vmax=n - 1)
    flat.set_axis_off()
    surface = canvas.add_subplot(2, 3, 3, projection="3d", title="surface")
    rows, columns = np.indices(truth.shape)
    surface.plot_surface(columns, rows, -truth, cmap="viridis_r", rcount=60, ccount=60)
    surface.set_axis_off()
    for place, (name, params) in enumerate(runs.items(), start=4):
        index = estimate(scene.stack, params).index
        title = f"{name}\nMSE {mse(index, truth):.2f} frames²"
        axis = canvas.add_subplot(2, 3, place, title=title)
        shown = axis.imshow(index, cmap="viridis", vmin=0, vmax=n - 1)
        axis.set_axis_off()
    canvas.colorbar(shown, ax=canvas.axes, label="depth (frames)", shrink=0.7)
    return to_png(canvas, dpi=100)


def _scene_figure(scene: Simulation, maps: Mapping[str, NDArray[np.float32]]) -> bytes:
    truth = scene.truth_index
    pictures = [Panel("all in focus", scene.sharp, photo=True), Panel("true depth", truth)]
    pictures += [
        Panel(f"{name}\nMSE {mse(index, truth):.2f}", index) for name, index in maps.items()
    ]
    return panels(pictures, "frames", columns=3, width=11, limits=(0, len(scene.stack) - 1))
