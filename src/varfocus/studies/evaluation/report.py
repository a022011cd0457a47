"""An evaluation in words, tables and pictures."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import mean

from varfocus.studies.comparison import SWEEP, fraction
from varfocus.studies.evaluation import figures
from varfocus.studies.evaluation.goals import Verdict, verdicts
from varfocus.studies.evaluation.runs import BEST, JUDGED, Record, scene_records
from varfocus.studies.evaluation.scores import MEASURES, mean_scores
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
            "one setting for all stacks: their defaults. Figures are means over seeds."
        )
    ]
    judged = verdicts(records)
    if judged:
        blocks += [goal_table(judged), Text(goal_words(judged)), Text(NOT_MEASURED)]
    blocks += [
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
    maps = [
        Figure(f"depth_{scene}", png, f"{scene}: depth, and error below it")
        for scene, png in pictures.items()
    ]
    return [
        Report(NAME, "Accuracy of every method", blocks),
        Report("depth_maps", "Depth maps", maps),
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


def raw_table(records: Sequence[Record]) -> RawTable:
    """Return every number of every run, for programs."""
    headings = ["scene", "group", "seed", "method", "best_alpha", "unit", "frames", *MEASURES]
    headings += [f"{name}_ratio" for name in MEASURES]
    headings += ["seconds", "memory_bytes", "difference", "change"]
    rows = [
        [
            *(r.scene.name, r.scene.group, str(r.seed), r.method, f"{r.best_alpha:g}"),
            *(r.unit, r.size),
            *(f"{getattr(r.scores, name):.6g}" for name in MEASURES),
            *(f"{getattr(r.ratios, name):.6g}" for name in MEASURES),
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
