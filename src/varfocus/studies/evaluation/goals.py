"""The goals, and whether they are met: arithmetic on records, nothing else."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from varfocus.studies.evaluation.case import Group
from varfocus.studies.evaluation.runs import JUDGED, Record
from varfocus.studies.evaluation.scores import geometric_mean, mean, ratio

ALL_BUT_VARIANTS: tuple[Group, ...] = (
    "known",
    "unknown",
    "noisy",
    "jumps",
    "smooth",
    "pictures",
)

FAINT_NOISE = 0.01
"""Noise up to which there is no excuse for ghosts: 1 % of white."""


@dataclass(frozen=True)
class Goal:
    """A figure to reach on each of some scenes, or on all of them together.

    Attributes
    ----------
    words : str
        On what, and which figure.
    value : callable
        The figure of a record; NaN where it does not apply.
    limit : float
        What it must not exceed, or reach.
    groups : tuple of str
        Scenes that it applies to.
    least : bool
        Whether the limit is a least and not a largest value.
    percent : bool
        Whether the figure is shown in per cent.
    together : bool
        Whether the geometric mean of all scenes must reach it, and not each of them.
    """

    words: str
    value: Callable[[Record], float]
    limit: float
    groups: tuple[Group, ...]
    least: bool = False
    percent: bool = False
    together: bool = False

    def met(self, value: float) -> bool:
        """Tell whether a figure meets the goal."""
        return value >= self.limit if self.least else value <= self.limit

    def shown(self, value: float) -> str:
        """Return a figure for people."""
        return f"{100 * value:.3g} %" if self.percent else f"{value:.2f}"


NAMED = 12
"""Scenes that a verdict names."""


@dataclass(frozen=True)
class Verdict:
    """How far a goal is met.

    Attributes
    ----------
    goal : Goal
        Which.
    values : mapping of str to float
        The figure of every scene, averaged over seeds.
    """

    goal: Goal
    values: Mapping[str, float]

    @property
    def worst(self) -> str:
        """Scene that is farthest from the goal."""
        pick = min if self.goal.least else max
        return pick(self.values, key=lambda scene: self.values[scene])

    @property
    def missed(self) -> list[str]:
        """Scenes that miss the goal, the farthest first."""
        missed = [scene for scene, value in self.values.items() if not self.goal.met(value)]
        return sorted(missed, key=lambda s: self.values[s], reverse=not self.goal.least)

    @property
    def judged(self) -> float:
        """The figure that is judged: that of the worst scene, or the geometric mean of all."""
        if self.goal.together:
            return geometric_mean(list(self.values.values()))
        return self.values[self.worst]

    @property
    def met(self) -> bool:
        """Whether every scene meets it, or all together."""
        return self.goal.met(self.judged)

    @property
    def words(self) -> str:
        """Met or missed, by how much and where."""
        goal, value = self.goal, self.judged
        if goal.percent:
            by = f"by {100 * abs(value - goal.limit):.2g} points"
        else:
            by = f"by {100 * abs(value / goal.limit - 1.0):.0f} %"
        if self.met:
            return f"met {by}"
        if goal.together:
            return f"**missed** {by}; {len(self.missed)} scenes above"
        named = ", ".join(self.missed[:NAMED])
        more = len(self.missed) - NAMED
        return f"**missed** {by}; on {named}" + (f" and {more} more" if more > 0 else "")


def _faint(value: Callable[[Record], float]) -> Callable[[Record], float]:
    """Return a figure of the scenes with little noise alone; NaN for others."""

    def of(record: Record) -> float:
        noise = record.scene.noise
        return value(record) if noise is None or noise <= FAINT_NOISE else math.nan

    return of


def _doubtful(record: Record) -> float:
    """Return the mean confidence where nothing speaks, if much is wrong there."""
    return record.scores.sure_plain if record.scores.bad_plain > 0.4 else math.nan


GOALS = (
    Goal(
        "Table-1 shapes, distances known: RMSE ÷ paper", lambda r: r.ratios.rmse, 0.25, ("known",)
    ),
    Goal(
        "Table-1 shapes, distances unknown: RMSE ÷ paper",
        lambda r: r.ratios.rmse,
        0.25,
        ("unknown",),
    ),
    Goal(
        "Table-1 shapes, noise level 1.0: RMSE ÷ paper", lambda r: r.ratios.rmse, 0.28, ("noisy",)
    ),
    Goal("scenes with jumps: RMSE ÷ paper", lambda r: r.ratios.rmse, 0.40, ("jumps",)),
    Goal(
        "scenes with jumps: pixels off by > 1 frame ÷ paper",
        lambda r: r.ratios.bad_one,
        0.20,
        ("jumps",),
    ),
    Goal("within 3 px of a jump: RMSE ÷ paper", lambda r: r.ratios.rmse_at, 0.45, ("jumps",)),
    Goal(
        "within 3 px of a jump: pixels off by > 1 frame ÷ paper",
        lambda r: r.ratios.bad_at,
        0.2,
        ("jumps",),
    ),
    Goal(
        "smooth surfaces of others (folders): RMSE ÷ paper",
        lambda r: r.ratios.rmse,
        0.25,
        ("smooth",),
    ),
    Goal(
        "pictures, other lenses: RMSE ÷ paper, geometric mean",
        lambda r: r.ratios.rmse,
        0.5,
        ("pictures",),
        together=True,
    ),
    Goal("pictures, other lenses: RMSE ÷ paper", lambda r: r.ratios.rmse, 1.0, ("pictures",)),
    Goal(
        "pictures, other lenses: pixels off by > 1 frame ÷ paper, geometric mean",
        lambda r: r.ratios.bad_one,
        0.35,
        ("pictures",),
        together=True,
    ),
    Goal(
        "pictures, noise ≤ 1 %: ghosts (off by > 4 frames)",
        _faint(lambda r: r.scores.ghosts),
        0.003,
        ("pictures",),
        percent=True,
    ),
    Goal(
        "pictures, noise ≤ 1 %, within 3 px of a jump: RMSE ÷ paper",
        _faint(lambda r: r.ratios.rmse_at),
        0.5,
        ("pictures",),
    ),
    Goal(
        "pictures, noise ≤ 1 %, within 3 px of a jump: pixels off by > 1 frame ÷ paper",
        _faint(lambda r: r.ratios.bad_at),
        0.3,
        ("pictures",),
    ),
    Goal(
        "pictures, where nothing speaks: RMSE ÷ paper at α = 1",
        lambda r: r.plain_ratio,
        1.0,
        ("pictures",),
    ),
    Goal(
        "pictures, where nothing speaks and > 40 % are wrong: mean confidence",
        _doubtful,
        0.6,
        ("pictures",),
    ),
    Goal(
        "gain, bit depth, order, flips: difference to the plain run ÷ its RMSE",
        lambda r: math.nan if r.scene.swept else r.difference,
        0.02,
        ("variant",),
        percent=True,
    ),
    Goal(
        "few and many frames: RMSE ÷ that of 15 frames",
        lambda r: r.change if r.scene.swept else math.nan,
        1.10,
        ("variant",),
    ),
    Goal(
        "confidence, scenes with jumps: RMSE left without the least confident fifth",
        lambda r: r.scores.kept,
        0.4,
        ("jumps", "pictures"),
    ),
    Goal(
        "confidence: right to 1 frame where it says ≥ 0.9",
        lambda r: r.scores.sure_right,
        0.97,
        ALL_BUT_VARIANTS,
        least=True,
        percent=True,
    ),
    Goal(
        "confidence: expected calibration error",
        lambda r: r.scores.calibration,
        0.03,
        ALL_BUT_VARIANTS,
    ),
    Goal("no scene lost: RMSE ÷ paper", lambda r: r.ratios.rmse, 1.0, ALL_BUT_VARIANTS),
)

CLASSIC = Goal(
    "smooth surfaces of others (folders): RMSE ÷ plain 9×9 MLAP",
    lambda _: math.nan,
    0.5,
    ("smooth",),
)
"""Compares two methods, so its figures do not come from one record."""


def verdicts(records: Sequence[Record]) -> list[Verdict]:
    """Return how far the goals are met that can be judged by these records.

    Parameters
    ----------
    records : sequence of Record
        Of all methods, scenes and seeds; only the default method is judged.

    Returns
    -------
    list of Verdict
        Goals without any scene are left out.
    """
    ours = [record for record in records if record.method == JUDGED]
    found = []
    for goal in GOALS:
        values = _values(ours, goal.groups, goal.value)
        if values:
            found.append(Verdict(goal, values))
    classic = _values(
        [record for record in records if record.method == "classic"],
        CLASSIC.groups,
        lambda r: r.scores.rmse,
    )
    best = _values(ours, CLASSIC.groups, lambda r: r.scores.rmse)
    compared = {scene: ratio(best[scene], classic[scene]) for scene in best if scene in classic}
    if compared:
        found.append(Verdict(CLASSIC, compared))
    return found


def _values(
    records: Sequence[Record], groups: Sequence[Group], value: Callable[[Record], float]
) -> dict[str, float]:
    """Return the mean over seeds by scene, without scenes that have none."""
    by_scene: dict[str, list[float]] = {}
    for record in records:
        if record.scene.group in groups:
            by_scene.setdefault(record.scene.name, []).append(value(record))
    means = {scene: mean(values) for scene, values in by_scene.items()}
    return {scene: value for scene, value in means.items() if not math.isnan(value)}
