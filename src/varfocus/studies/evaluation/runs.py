"""Every method on one stack with known depth, timed and judged."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from varfocus.params import DEFAULT_METHOD, Params
from varfocus.pipeline import METHODS
from varfocus.progress import Progress, silent
from varfocus.studies.comparison import SWEEP, VARIANTS, named
from varfocus.studies.evaluation.case import Case, Scene
from varfocus.studies.evaluation.memory import Scales
from varfocus.studies.evaluation.scores import Judgement, Scores, least, ratio, rms
from varfocus.studies.evaluation.single import (
    IN_PLACE,
    YARDSTICK,
    Run,
    paper_runs,
    ratios,
    run_one,
)

BEST = f"{YARDSTICK}, best α"
"""The run of the yardstick with the least RMSE of all weights."""

JUDGED = "robust"
"""The method that the goals are about: what "auto" means."""

METHOD_NAMES = (*(method for method in METHODS if method != DEFAULT_METHOD), *VARIANTS)
"""Methods, and variants of the classical one."""


@dataclass(frozen=True, eq=False)
class Outcome:
    """The outcome of one stack.

    Attributes
    ----------
    scene : Scene
        Where it is from.
    seed : int
        Of which seed.
    case : Case
        The stack.
    runs : mapping of str to Run
        By method, in the order of the tables; `BEST` among them.
    best_alpha : float
        Weight of that run.
    least : Scores
        The smallest of every error of the paper's method over all weights.
    smoothest : Scores
        Those of the paper's method at the largest weight.
    """

    scene: Scene
    seed: int
    case: Case
    runs: Mapping[str, Run]
    best_alpha: float
    least: Scores
    smoothest: Scores


@dataclass(frozen=True, eq=False)
class Record:
    """What is kept of one run without its maps.

    Attributes
    ----------
    scene : Scene
        Which scene.
    seed : int
        Which seed.
    method : str
        Which method; `BEST` is one.
    size : str
        Frames × width × height.
    unit : str
        Of RMSE and MAE.
    judgement : Judgement
        Scores and curves.
    ratios : Scores
        Each score divided by the paper's at the weight that is best for that score.
    seconds : float
        Time.
    memory : float or None
        Peak beyond the frames in bytes, where it is known.
    difference : float
        For variants: RMS difference to the plain run, divided by the RMSE of the plain run.
    change : float
        For variants: RMSE divided by that of the plain run.
    best_alpha : float
        The best weight of the paper's method for this stack.
    plain_ratio : float
        RMSE where nothing speaks, divided by that of the paper's method at its largest weight.
    """

    scene: Scene
    seed: int
    method: str
    size: str
    unit: str
    judgement: Judgement
    ratios: Scores
    seconds: float
    memory: float | None
    difference: float
    change: float
    best_alpha: float
    plain_ratio: float

    @property
    def scores(self) -> Scores:
        """The numbers of the judgement."""
        return self.judgement.scores


def evaluate(
    scenes: Sequence[Scene],
    methods: Sequence[str],
    seeds: Sequence[int],
    progress: Progress = silent,
    keep: Path | None = None,
) -> Iterator[Outcome]:
    """Run methods on scenes.

    Parameters
    ----------
    scenes : sequence of Scene
        Scenes.
    methods : sequence of str
        Of `METHOD_NAMES`; the paper's is run in any case.
    seeds : sequence of int
        Of those scenes that have any.
    progress : callable
        Listener.
    keep : Path, optional
        Folder in which the maps of the paper's method are kept, and found again.

    Yields
    ------
    Outcome
        One for each scene and seed.
    """
    stacks = [(scene, seed) for scene in scenes for seed in (seeds if scene.seeded else seeds[:1])]
    for done, (scene, seed) in enumerate(stacks):
        progress("evaluating", done, len(stacks))
        yield _outcome(scene, seed, methods, keep)
    progress("evaluating", len(stacks), len(stacks))


def _outcome(scene: Scene, seed: int, methods: Sequence[str], keep: Path | None) -> Outcome:
    case = scene.make(seed)
    usual = Params.from_keywords(YARDSTICK, **IN_PLACE)
    weights = SWEEP if scene.swept else (usual.solve.alpha,)
    sweep = paper_runs(case, weights, keep)
    best = min(sweep, key=lambda alpha: sweep[alpha].scores.rmse)
    runs = {YARDSTICK: sweep[usual.solve.alpha]}
    if scene.swept:
        runs[BEST] = sweep[best]
    others = [method for method in methods if method != YARDSTICK]
    runs |= {method: run_one(case, named(method, **IN_PLACE)) for method in others}
    # The yardstick after the others, the method that is judged by it last.
    order = sorted(runs, key=lambda method: (method == JUDGED, method == BEST, method == YARDSTICK))
    return Outcome(
        scene,
        seed,
        case,
        {method: runs[method] for method in order},
        best,
        least([each.scores for each in sweep.values()]),
        sweep[max(sweep)].scores,
    )


class Notebook:
    """Keeps the numbers of outcomes, and compares variants with their plain scenes.

    Parameters
    ----------
    scales : Scales, optional
        Measures the memory of a method; without it memory stays unknown.
    """

    def __init__(self, scales: Scales | None = None) -> None:
        self.records: list[Record] = []
        self._scales = scales
        self._plain: dict[tuple[str, int, str], Run] = {}

    def add(self, outcome: Outcome) -> None:
        """Keep the numbers of one outcome, whose plain scene, if any, was added before."""
        scene, case = outcome.scene, outcome.case
        height, width = case.stack.shape
        colour = f"×{case.stack.channels}" if case.stack.channels > 1 else ""
        for method, each in outcome.runs.items():
            difference = change = float("nan")
            if scene.plain is not None:
                plain = self._plain[scene.plain, outcome.seed, method]
                difference = _difference(scene, each, plain)
                change = ratio(each.scores.rmse, plain.scores.rmse)
            elif scene.group == "variant":
                self._plain[scene.name, outcome.seed, method] = each
            memory = None
            if self._scales is not None and scene.group not in ("variant", "pictures"):
                memory = self._scales.weigh(case.stack, method.partition(",")[0])
            self.records.append(
                Record(
                    scene=scene,
                    seed=outcome.seed,
                    method=method,
                    size=f"{len(case.stack)}×{width}×{height}{colour}",
                    unit=case.unit,
                    judgement=each.judgement,
                    ratios=ratios(each.scores, outcome.least),
                    seconds=each.seconds,
                    memory=memory,
                    difference=difference,
                    change=change,
                    best_alpha=outcome.best_alpha,
                    plain_ratio=ratio(each.scores.rmse_plain, outcome.smoothest.rmse_plain),
                )
            )


def _difference(scene: Scene, variant: Run, plain: Run) -> float:
    """Return the RMS difference in frames of the plain run, divided by its RMSE."""
    return ratio(rms(scene.undo(variant.index) - plain.index), plain.scores.rmse)


def scene_records(records: Sequence[Record]) -> dict[str, list[Record]]:
    """Return records by the name of their scene."""
    by_scene: dict[str, list[Record]] = {}
    for record in records:
        by_scene.setdefault(record.scene.name, []).append(record)
    return by_scene
