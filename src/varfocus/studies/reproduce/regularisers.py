"""Other regularisers than total variation, and the Bregman iterations that the paper plans."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from varfocus import curve
from varfocus.contrast import box_mean
from varfocus.depth import index_to_depth
from varfocus.energy import ContrastTerm
from varfocus.export.figures import Panel, panels
from varfocus.methods.paper import picture_weight, sharpness_curves
from varfocus.minimise import minimise
from varfocus.params import ContrastParams, Params, SolverParams
from varfocus.progress import silent
from varfocus.simulation import Simulation, simulate
from varfocus.studies.comparison import fraction
from varfocus.studies.metrics import bad_pixels, rmse
from varfocus.studies.reproduce.report import Figure, Report, Table, Text
from varfocus.studies.reproduce.setting import PUBLISHED_CONTRAST, Setting
from varfocus.studies.reproduce.table1 import SHAPE_ORDER

LAYERED = ("slants", "steps")
ALPHAS = (1 / 4, 1 / 8, 1 / 16)
FIXED_ALPHA = 1 / 8
BREGMAN_FACTOR = 4.0
"""How much larger α is for Bregman iterations, which start too smooth."""

PICTURED = "cone"
QUICK_SHAPE = (120, 120)

Map: TypeAlias = NDArray[np.float32]
Run: TypeAlias = tuple[float, float, Map]
"""Error, share of pixels off by more than a frame, and depth in frames."""


def regularisers(setting: Setting) -> Report:
    """Compare TV, Huber-TV, TGV, weighted TV and Bregman iterations, each at its best and one α.

    Parameters
    ----------
    setting : Setting
        Texture and size.

    Returns
    -------
    Report
        Three tables and a figure.
    """
    scenes = (*SHAPE_ORDER, *LAYERED)
    runs: dict[str, dict[str, dict[float, Run]]] = {}
    truth: Map = np.empty(0, np.float32)
    for done, name in enumerate(scenes):
        setting.step("regularisers", done, len(scenes))
        scene, scale = _scene(name, setting)
        runs[name] = measure(scene, scale, name in SHAPE_ORDER)
        if name == PICTURED:
            truth = scene.truth_index
    setting.step("regularisers", len(scenes), len(scenes))
    names = list(runs[PICTURED])
    best = [[n, *(_best(runs[s][n]) for s in scenes)] for n in names]
    fixed = [[n, *(_cell(runs[s][n][FIXED_ALPHA]) for s in scenes)] for n in names]
    headings = ["regulariser", *scenes]
    pictures = [Panel("true depth", truth)] + [
        Panel(f"{n}\nRMSE {min(runs[PICTURED][n].values(), key=_error)[0]:.2f} cm", shown)
        for n in names
        for shown in [min(runs[PICTURED][n].values(), key=_error)[2]]
    ]
    figure = panels(pictures, "frames", columns=3, width=11)
    height, width = truth.shape
    return Report(
        "regularisers",
        "Beyond the paper: other regularisers",
        [
            Text(
                "Root-mean-square error (the four shapes in centimetres, slants and steps in "
                "frames) and share of pixels off by more than a frame. 15 frames, shapes of "
                f"{width}×{height} pixels, {setting.texture_words}, contrast curves and solver "
                "(400 iterations of the ADMM, per round) the same for all; α, the slope of Huber "
                "and β of TGV follow the width of the image. Bregman iterations have "
                f"{BREGMAN_FACTOR:g} times the α of the others."
            ),
            Text(f"At the best α of {', '.join(map(fraction, ALPHAS))}:"),
            Table("regularisers_best", headings, best),
            Text(f"At α = {fraction(FIXED_ALPHA)} for all:"),
            Table("regularisers_fixed", headings, fixed),
            Figure("regularisers", figure, f"“{PICTURED}”, each at its best α"),
        ],
    )


def choices(scale: float) -> Mapping[str, Mapping[str, Any]]:
    """Return the parameters of each row for images `scale` times as wide as the standard ones."""
    standard = SolverParams()
    return {
        "TV": {},
        "Huber-TV": {"regulariser": "huber", "huber_slope": standard.huber_slope / scale},
        "weighted TV": {"regulariser": "weighted"},
        "TGV": {"regulariser": "tgv", "tgv_ratio": standard.tgv_ratio * scale},
        "TV, 2 Bregman rounds": {"bregman": 2},
    }


def measure(
    scene: Simulation, scale: float, physical: bool, alphas: tuple[float, ...] = ALPHAS
) -> dict[str, dict[float, Run]]:
    """Return the run of every regulariser at every α; errors in cm if `physical`, else frames."""
    stack, n = scene.stack, len(scene.stack)
    # The published ε suits the shapes' grey texture; layered scenes are in colour.
    contrast = PUBLISHED_CONTRAST if physical else ContrastParams()
    params = Params("paper", contrast=contrast)
    a, guess = sharpness_curves(stack, params, silent)
    start = curve.index_to_x(box_mean(guess, params.start.start_blur), n)
    weight = picture_weight(stack)
    runs: dict[str, dict[float, Run]] = {}
    for name, choice in choices(scale).items():
        factor = BREGMAN_FACTOR if "bregman" in choice else 1.0
        runs[name] = {}
        for alpha in alphas:
            solve = SolverParams(alpha=alpha * scale * factor, **{"solver": "admm", **choice})
            d = minimise(ContrastTerm(a), start, solve, weight=weight).d
            index = np.clip(curve.x_to_index(d, n), 0, n - 1).astype(np.float32)
            error = rmse(index, scene.truth_index)
            if physical:
                error = 100 * rmse(index_to_depth(index, stack.focus), scene.truth_depth)
            runs[name][alpha] = (error, bad_pixels(index, scene.truth_index), index)
    return runs


def _scene(name: str, setting: Setting) -> tuple[Simulation, float]:
    """Return a scene, and its width relative to the size for which parameters are meant."""
    if name in SHAPE_ORDER:
        shape = QUICK_SHAPE if setting.quick else setting.size
        return simulate(name, shape=shape, texture=setting.texture), shape[1] / 360
    scene = simulate(name, shape=(96, 120) if setting.quick else None)
    return scene, scene.truth_index.shape[1] / 320


def _error(run: Run) -> float:
    return run[0]


def _cell(run: Run) -> str:
    return f"{run[0]:.2f}, {100 * run[1]:.1f} %"


def _best(runs: Mapping[float, Run]) -> str:
    alpha = min(runs, key=lambda key: runs[key][0])
    return f"{_cell(runs[alpha])} at {fraction(alpha)}"
