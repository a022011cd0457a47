"""The table of the light-field benchmark: printed rows, and ours below them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from varfocus.studies.evaluation.lightfield import BAD, PRINTED, TEST_SCENES, measures
from varfocus.studies.evaluation.runs import Outcome
from varfocus.studies.reproduce.report import Table

COLUMNS = {
    "mse": "MSE (px²)",
    "rmse": "RMSE (px)",
    "bad": f"off by > {BAD:g} px",
    "bumpiness": "bumpiness",
}


@dataclass(frozen=True)
class Line:
    """The measures of one method on one scene."""

    scene: str
    method: str
    figures: dict[str, float]


def lines(outcome: Outcome) -> list[Line]:
    """Return what the benchmark prints of every method on one scene."""
    truth = outcome.case.truth
    return [
        Line(outcome.scene.name, method, measures(run.index, truth))
        for method, run in outcome.runs.items()
    ]


def mean_table(found: Sequence[Line]) -> Table:
    """Return the means over all scenes, below what others printed."""
    rows = [[name, "–", f"{rmse:.3f}", "–", "–", "printed"] for name, rmse in PRINTED.items()]
    for method, figures in means(found).items():
        cells = [_shown(name, figures[name]) for name in COLUMNS]
        rows.append([f"varfocus {method}", *cells, "measured here"])
    return Table("lightfield", ["method", *COLUMNS.values(), ""], rows)


def scene_table(found: Sequence[Line]) -> Table:
    """Return every scene by itself."""
    rows = [
        [line.scene, line.method, *(_shown(name, line.figures[name]) for name in COLUMNS)]
        for line in found
    ]
    return Table("lightfield_scenes", ["scene", "method", *COLUMNS.values()], rows)


def means(found: Sequence[Line]) -> dict[str, dict[str, float]]:
    """Return the mean of every measure over the scenes, by method."""
    return {
        method: {
            name: float(np.mean([line.figures[name] for line in found if line.method == method]))
            for name in COLUMNS
        }
        for method in dict.fromkeys(line.method for line in found)
    }


def words(found: Sequence[Line]) -> str:
    """Say which scenes these are, and whether the printed rows are about the same."""
    scenes = list(dict.fromkeys(line.scene for line in found))
    printed = f"The printed rows are means over {', '.join(TEST_SCENES)}"
    same = sorted(scenes) == sorted(TEST_SCENES)
    compare = ", as are ours." if same else f", ours over {', '.join(scenes)}: not the same scenes."
    return (
        f"{printed}{compare} Ten frames at disparities from −2.5 to 2.5 px, 9×9 views shifted and "
        "averaged. RMSE is the mean of the scenes' RMSE, in pixels of disparity (frames × 5/9). "
        "The networks were trained on scenes of the same data set; nothing here is trained."
    )


def document(found: Sequence[Line]) -> dict[str, Any]:
    """Return all figures for programs."""
    return {
        "printed_rmse": PRINTED,
        "means": means(found),
        "scenes": [{"scene": line.scene, "method": line.method, **line.figures} for line in found],
    }


def _shown(name: str, value: float) -> str:
    return f"{100 * value:.1f} %" if name == "bad" else f"{value:.3f}"
