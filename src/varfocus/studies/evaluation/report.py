"""An evaluation in words, tables and pictures."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import mean
from typing import Any

from varfocus.studies.comparison import SWEEP, fraction
from varfocus.studies.evaluation import figures
from varfocus.studies.evaluation.goals import Verdict, verdicts
from varfocus.studies.evaluation.places import PLACES
from varfocus.studies.evaluation.runs import BEST, JUDGED, Record, scene_records
from varfocus.studies.evaluation.scores import MEASURES, geometric_mean, mean_scores
from varfocus.studies.reproduce.report import Block, Figure, Report, Table, Text
from varfocus.units import size_words

NAME = "evaluation"
NOT_MEASURED = (
    "Not measured here: alignment, the all-in-focus image, and the paper's own Table 1, which "
    "`varfocus reproduce table1` repeats."
)


@dataclass(frozen=True)
class RawTable(Table):
    """A table too long to read: only its file is named."""

    def markdown(self) -> str:
        """Return where it is."""
        return f"Every run by itself is in `{self.name}.csv`, beside the report."

    def html(self) -> str:
        """Return where it is."""
        return f'<p>Every run by itself is in <a href="{self.name}.csv">{self.name}.csv</a>.</p>'


def reports(records: Sequence[Record], pictures: Mapping[str, bytes], setting: str) -> list[Report]:
    """Return the whole evaluation: numbers first, depth maps after them.

    Parameters
    ----------
    records : sequence of Record
        Everything that was measured.
    pictures : mapping of str to bytes
        PNG of the depth maps by scene.
    setting : str
        What was run, in words.

    Returns
    -------
    list of Report
        "evaluation" and "depth_maps".
    """
    plain = [record for record in records if record.scene.group != "variant"]
    blocks: list[Block] = [
        Text(
            f"{setting} “paper” is the method of Moeller et al.; ratios to it divide by its error "
            f"at the best weight α of {', '.join(map(fraction, SWEEP))}, chosen by the truth for "
            "every stack and every measure anew, which is generous to it. All other methods have "
            "one setting for all stacks: their defaults. Shares of bad pixels below 0.1 % count as "
            "0.1 % in ratios. Figures are means over seeds."
        )
    ]
    judged = verdicts(records)
    if judged:
        blocks += [goal_table(judged), Text(goal_words(judged)), Text(NOT_MEASURED)]
    seen = [record for record in records if record.scene.group == "pictures"]
    if seen:
        blocks += [
            Text(
                "Pictures with objects, seen by lenses of every kind: geometric means of the "
                "ratios to the paper's method, the worst of them in brackets; ghosts are pixels "
                "off by more than 4 frames."
            ),
            summary_table(seen),
        ]
    blocks += [
        Text(
            "Where the error lies: share of the pixels, RMSE in frames, pixels off by more than a "
            "frame, and share of the sum of squared errors, up to 3 px from a depth jump, from "
            "there to 8 px, beyond that where nothing speaks (contrast in focus does not exceed "
            "that out of focus), and elsewhere."
        ),
        where_table(plain),
        Text(
            "RMSE and MAE are in the unit named, all else in frames. “≤ 3 px” is the RMSE up to "
            "3 pixels from a depth jump of more than a frame (1/14 of the range in longer stacks), "
            "and so on. Seconds are of this "
            "machine on this day: compare them within a row of methods only. Memory is the peak "
            "beyond the frames, in a process of its own (Linux)."
        ),
        score_table(records),
    ]
    if plain:
        blocks += [
            Text(
                "Confidence: expected calibration error (ECE), the share of pixels of confidence "
                "≥ 0.9 and how many of those are right to one frame, and what is left of the RMSE "
                "without the least confident fifth."
            ),
            confidence_table(plain),
            Figure(
                "reliability",
                figures.reliability(shown_curves(plain)),
                "Reliability: how often a confidence is right; the dashed line would be perfect",
            ),
            Figure(
                "sparsification",
                figures.sparsification(shown_curves(plain)),
                "Sparsification: RMSE left when the least confident pixels go; “oracle” drops the "
                "worst ones first",
            ),
        ]
    variants = [record for record in records if record.scene.plain is not None]
    if variants:
        blocks += [
            Text(
                "Variants of a stack that should not matter: RMS difference to the depth of the "
                "plain stack, in per cent of the RMSE of that one; in brackets the RMSE in "
                "multiples of it. Other numbers of frames are other photographs with noise of "
                "their own: the difference cannot vanish there, but the RMSE should not grow."
            ),
            variant_table(variants),
        ]
    blocks.append(raw_table(records))
    worst = {r.scene.name: r.ratios.rmse for r in records if r.method == JUDGED}
    ordered = sorted(pictures, key=lambda scene: -worst.get(scene, 0.0))
    maps = [
        Figure(f"depth_{scene}", pictures[scene], f"{scene}: depth, and error below it")
        for scene in ordered
    ]
    return [
        Report(NAME, "Accuracy of every method", blocks),
        Report("depth_maps", "Depth maps, the worst first", maps),
    ]


def goal_table(judged: Sequence[Verdict]) -> Table:
    """Return the goals and how far they are met."""
    rows = []
    for verdict in judged:
        goal, values = verdict.goal, verdict.values
        bounds = sorted(values.values(), reverse=goal.least)
        span = goal.shown(bounds[0])
        if len(bounds) > 1:
            span += f" … {goal.shown(bounds[-1])} ({verdict.worst})"
        if goal.together:
            span = f"{goal.shown(verdict.judged)}; {span}"
        count = f"{len(values) - len(verdict.missed)} of {len(values)}"
        limit = ("≥ " if goal.least else "≤ ") + goal.shown(goal.limit)
        rows.append([goal.words, limit, span, count, verdict.words])
    return Table("goals", ["goal", "limit", "measured", "scenes", "verdict"], rows)


def goal_words(judged: Sequence[Verdict]) -> str:
    """Count the goals that are met."""
    met = sum(verdict.met for verdict in judged)
    return f"{met} of {len(judged)} goals met by the default method, {JUDGED}."


def score_table(records: Sequence[Record]) -> Table:
    """Return errors, time and memory by scene and method, variants by turning left out."""
    rows = []
    for same in grouped([r for r in records if r.scene.swept]):
        scores = mean_scores([record.scores for record in same])
        ratios = mean_scores([record.ratios for record in same])
        first = same[0]
        rows.append(
            [
                first.scene.name,
                method_words(same),
                f"{number(scores.rmse)} {first.unit}",
                number(scores.mae),
                *(share(value) for value in (scores.bad_half, scores.bad_one, scores.bad_two)),
                *(number(v) for v in (scores.rmse_at, scores.rmse_near, scores.rmse_away)),
                share(scores.bad_at),
                number(ratios.rmse),
                number(ratios.bad_one),
                number(mean(r.seconds for r in same)),
                "–" if first.memory is None else size_words(first.memory),
                first.size,
            ]
        )
    headings = ["scene", "method", "RMSE", "MAE", "> ½", "> 1", "> 2 frames", "≤ 3 px", "3–8 px"]
    headings += ["beyond", "> 1 at ≤ 3 px", "RMSE ÷ paper", "> 1 ÷ paper", "seconds", "memory"]
    return Table("scores", [*headings, "frames"], rows)


PLACE_WORDS = {"at": "≤ 3 px", "near": "3–8 px", "plain": "nothing speaks", "rest": "rest"}


def where_table(records: Sequence[Record]) -> Table:
    """Return where the error of every method lies, by scene."""
    rows = []
    for same in grouped(records):
        if same[0].method not in (BEST, JUDGED):
            continue
        scores = mean_scores([record.scores for record in same])
        cells = []
        for place in PLACES:
            found = [getattr(scores, f"{what}_{place}") for what in ("share", "bad", "squared")]
            part, bad, squared = map(share, found)
            cells.append(f"{part}: {number(getattr(scores, f'rmse_{place}'))}, {bad}, {squared}")
        ghosts = f"{share(scores.ghosts)}, {share(scores.squared_ghosts)}"
        rows.append([same[0].scene.name, method_words(same), ghosts, *cells])
    headings = ["scene", "method", "ghosts: pixels, squared error"]
    headings += [f"{words}: pixels, RMSE, > 1, squared error" for words in PLACE_WORDS.values()]
    return Table("where", headings, rows)


def summary_table(records: Sequence[Record]) -> Table:
    """Return every method on all scenes together."""
    rows = []
    for method in dict.fromkeys(record.method for record in records):
        same = [record for record in records if record.method == method]
        cells = []
        for name in ("rmse", "bad_one", "rmse_at", "bad_at"):
            ratios = [getattr(record.ratios, name) for record in same]
            worst = max((value for value in ratios if not math.isnan(value)), default=math.nan)
            cells.append(f"{number(geometric_mean(ratios))} ({number(worst)})")
        scores = mean_scores([record.scores for record in same])
        plain = geometric_mean([record.plain_ratio for record in same])
        right = min(
            (r.scores.sure_right for r in same if r.scores.sure_right >= 0), default=math.nan
        )
        rows.append(
            [
                *(method, str(len(same)), *cells, share(scores.ghosts)),
                *(number(plain), f"{scores.calibration:.3f}"),
                f"{share(scores.sure_right)} ({share(right)})",
            ]
        )
    headings = ["method", "stacks", "RMSE ÷ paper", "> 1 ÷ paper", "≤ 3 px: RMSE ÷ paper"]
    headings += ["≤ 3 px: > 1 ÷ paper", "ghosts", "nothing speaks: RMSE ÷ paper, α = 1", "ECE"]
    return Table("summary", [*headings, "right where ≥ 0.9"], rows)


def confidence_table(records: Sequence[Record]) -> Table:
    """Return how good the confidence is, by scene and method."""
    rows = []
    for same in grouped(shown_curves(records)):
        scores = mean_scores([record.scores for record in same])
        rows.append(
            [
                same[0].scene.name,
                same[0].method,
                f"{scores.calibration:.3f}",
                share(scores.sure),
                share(scores.sure_right),
                number(scores.kept),
            ]
        )
    headings = ["scene", "method", "ECE", "≥ 0.9", "of those right", "RMSE left"]
    return Table("confidence", headings, rows)


def variant_table(records: Sequence[Record]) -> Table:
    """Return the difference to the plain run, variants down and methods across."""
    methods = list(dict.fromkeys(r.method for r in records if r.method != BEST))
    rows = []
    for scene, of_scene in scene_records(records).items():
        cells = []
        for method in methods:
            same = [record for record in of_scene if record.method == method]
            difference, change = mean(r.difference for r in same), mean(r.change for r in same)
            cells.append(f"{100 * difference:.3g} % (× {change:.3f})")
        rows.append([scene, *cells])
    return Table("variants", ["variant", *methods], rows)


def document(records: Sequence[Record], setting: str) -> dict[str, Any]:
    """Return all figures for programs: NaN, which JSON does not know, as None."""

    def plain(figures: Mapping[str, float]) -> dict[str, float | None]:
        return {name: value if math.isfinite(value) else None for name, value in figures.items()}

    return {
        "setting": setting,
        "goals": [
            {
                "goal": verdict.goal.words,
                "limit": verdict.goal.limit,
                "met": verdict.met,
                "judged": verdict.judged,
                "values": plain(verdict.values),
            }
            for verdict in verdicts(records)
        ],
        "runs": [
            {
                "scene": r.scene.name,
                "group": r.scene.group,
                "seed": r.seed,
                "method": r.method,
                "frames": r.size,
                "unit": r.unit,
                "noise": r.scene.noise,
                "best_alpha": r.best_alpha,
                "scores": plain(vars(r.scores)),
                "ratios": plain({**vars(r.ratios), "plain": r.plain_ratio}),
                "seconds": r.seconds,
            }
            for r in records
        ],
    }


def raw_table(records: Sequence[Record]) -> RawTable:
    """Return every number of every run, for programs."""
    headings = ["scene", "group", "seed", "method", "best_alpha", "unit", "frames", *MEASURES]
    headings += [f"{name}_ratio" for name in MEASURES]
    headings += ["plain_ratio", "seconds", "memory_bytes", "difference", "change"]
    rows = [
        [
            *(r.scene.name, r.scene.group, str(r.seed), r.method, f"{r.best_alpha:g}"),
            *(r.unit, r.size),
            *(f"{getattr(r.scores, name):.6g}" for name in MEASURES),
            *(f"{getattr(r.ratios, name):.6g}" for name in MEASURES),
            f"{r.plain_ratio:.6g}",
            f"{r.seconds:.4g}",
            "" if r.memory is None else f"{r.memory:.0f}",
            *(f"{r.difference:.6g}", f"{r.change:.6g}"),
        ]
        for r in records
    ]
    return RawTable("runs", headings, rows)


def grouped(records: Sequence[Record]) -> list[list[Record]]:
    """Return records in lists of one scene and method, which differ by seed."""
    groups: dict[tuple[str, str], list[Record]] = {}
    for record in records:
        groups.setdefault((record.scene.name, record.method), []).append(record)
    return list(groups.values())


def shown_curves(records: Sequence[Record]) -> list[Record]:
    """Return the records whose confidence is shown: of the paper's, the default weight."""
    return [record for record in records if record.method != BEST]


def method_words(same: Sequence[Record]) -> str:
    """Return the method of records of several seeds, with the weights that were best."""
    if same[0].method != BEST:
        return same[0].method
    return f"{BEST}: " + ", ".join(dict.fromkeys(fraction(r.best_alpha) for r in same))


def number(value: float) -> str:
    """Return a number with two or three figures; – for none."""
    if math.isnan(value):
        return "–"
    return f"{value:.3f}" if abs(value) < 1 else f"{value:.2f}"


def share(value: float) -> str:
    """Return a share in per cent; – for none."""
    return "–" if math.isnan(value) else f"{100 * value:.1f} %"
