"""Pictures of an evaluation: depth maps beside the truth, and curves of the confidence."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from varfocus.export.figures import DEPTH_COLOURS, to_png
from varfocus.export.images import displayable
from varfocus.studies.evaluation.runs import JUDGED, Outcome, Record, scene_records
from varfocus.studies.evaluation.single import YARDSTICK

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ERROR_COLOURS = "magma"
ERROR_LIMIT = 2.0
ERROR_SHARE = 1 / 40
"""Errors at which the colours saturate: in frames, and as a share of the range if larger."""

COLUMNS = 5
FEW = 0.001
"""Bins with a smaller share of the pixels say little and are not drawn."""


def depth_maps(outcome: Outcome) -> bytes:
    """Return a PNG: a frame, truth and depth maps above, confidence and errors below.

    Parameters
    ----------
    outcome : Outcome
        One stack; the paper's method is shown at its best weight if that was searched for.

    Returns
    -------
    bytes
        The PNG.
    """
    from matplotlib.figure import Figure

    stack, truth = outcome.case.stack, outcome.case.truth
    shown = {m: run for m, run in outcome.runs.items() if m != YARDSTICK or len(outcome.runs) < 3}
    height, width = stack.shape
    cell = 2.6
    figure = Figure(
        figsize=(cell * (len(shown) + 2) + 0.6, 2 * (cell * min(height / width, 2.0) + 0.45)),
        layout="constrained",
    )
    axes = figure.subplots(2, len(shown) + 2, squeeze=False)
    for axis in axes.flat:
        axis.set_axis_off()
    middle = len(stack) // 2
    _picture(axes[0, 0], displayable(stack.read(middle)), f"frame {middle + 1} of {len(stack)}")
    coloured = {"cmap": DEPTH_COLOURS, "vmin": 0, "vmax": len(stack) - 1}
    depth = _picture(axes[0, 1], truth, "true depth", **coloured)
    limit = max(ERROR_LIMIT, ERROR_SHARE * (len(stack) - 1))
    surest = shown.get(JUDGED, next(iter(shown.values())))
    name = JUDGED if JUDGED in shown else next(iter(shown))
    _picture(axes[1, 0], surest.confidence, f"confidence, {name}", vmin=0, vmax=1)
    for axis, (method, run) in zip(axes[:, 2:].T, shown.items(), strict=True):
        _picture(axis[0], run.index, method, **coloured)
        words = f"RMSE {run.scores.rmse:.2f} {outcome.case.unit}\n{run.scores.bad_one:.1%} bad"
        wrong = _picture(
            axis[1], np.abs(run.index - truth), words, cmap=ERROR_COLOURS, vmin=0, vmax=limit
        )
    figure.colorbar(depth, ax=axes[0], label="depth (frames)", shrink=0.9, pad=0.01)
    figure.colorbar(wrong, ax=axes[1], label="error (frames)", shrink=0.9, pad=0.01, extend="max")
    return to_png(figure, dpi=90)


def reliability(records: Sequence[Record]) -> bytes:
    """Return a PNG with a reliability diagram per scene: how often each confidence is right."""

    def draw(axis: Axes, record: Record, colour: str) -> None:
        curve = record.judgement.reliability
        many = curve.pixels > FEW * curve.pixels.sum()
        axis.plot(
            curve.confidence[many], curve.accuracy[many], ".-", color=colour, label=record.method
        )

    def frame(axis: Axes, of_scene: Sequence[Record]) -> None:
        axis.plot([0, 1], [0, 1], "--", color="0.6", linewidth=1)
        axis.set(xlim=(0, 1), ylim=(0, 1.02))
        _caption(axis, of_scene, lambda r: f"ECE {r.scores.calibration:.3f}")

    return _grid(records, draw, frame, "confidence", "share right to 1 frame")


def sparsification(records: Sequence[Record]) -> bytes:
    """Return a PNG with a sparsification curve per scene: the error left of the surest pixels."""

    def draw(axis: Axes, record: Record, colour: str) -> None:
        curve = record.judgement.sparsification
        whole = curve.rmse[0] or 1.0
        axis.plot(curve.dropped, curve.rmse / whole, color=colour, label=record.method)
        if record.method == JUDGED:
            axis.plot(curve.dropped, curve.oracle / whole, ":", color=colour, label="oracle")

    def frame(axis: Axes, of_scene: Sequence[Record]) -> None:
        axis.set(xlim=(0, 1), ylim=(0, 1.3))
        axis.axvline(0.2, color="0.8", linewidth=1, zorder=0)
        _caption(axis, of_scene, lambda r: f"a fifth dropped: {r.scores.kept:.2f}")

    return _grid(records, draw, frame, "share dropped, least confident first", "RMSE left")


def _picture(axis: Axes, image: Any, title: str, **how: Any) -> Any:
    axis.set_title(title, fontsize=9)
    return axis.imshow(image, interpolation="nearest", **{"cmap": "gray", **how})


def _caption(axis: Axes, of_scene: Sequence[Record], words: Callable[[Record], str]) -> None:
    judged = next((record for record in of_scene if record.method == JUDGED), of_scene[0])
    axis.set_title(f"{judged.scene.name}\n{words(judged)}", fontsize=8)


def _grid(
    records: Sequence[Record],
    draw: Callable[[Axes, Record, str], None],
    frame: Callable[[Axes, Sequence[Record]], None],
    across: str,
    up: str,
) -> bytes:
    """Draw one small axis per scene, with a line for each method at the first seed."""
    from matplotlib.figure import Figure

    by_scene = [
        [r for r in of_scene if r.seed == of_scene[0].seed]
        for of_scene in scene_records(records).values()
    ]
    methods = list(dict.fromkeys(record.method for record in records))
    columns = min(COLUMNS, len(by_scene))
    rows = -(-len(by_scene) // columns)
    figure = Figure(figsize=(2.3 * columns + 1.5, 2.2 * rows + 0.6), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False, sharex=True, sharey=True)
    for axis in axes.flat[len(by_scene) :]:
        axis.set_axis_off()
    for axis in axes.flat[max(len(by_scene) - columns, 0) : len(by_scene)]:
        axis.tick_params(labelbottom=True)  # also where nothing follows below
    for axis, of_scene in zip(axes.flat, by_scene, strict=False):
        for record in of_scene:
            draw(axis, record, f"C{methods.index(record.method)}")
        frame(axis, of_scene)
        axis.tick_params(labelsize=7)
    figure.supxlabel(across, fontsize=9)
    figure.supylabel(up, fontsize=9)
    lines, names = axes.flat[0].get_legend_handles_labels()
    figure.legend(lines, names, loc="outside right upper", fontsize=8)
    return to_png(figure, dpi=90)
