"""One stack with known depth: the paper's method on it, and the figures of any depth map."""

from __future__ import annotations

import hashlib
import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import varfocus
from varfocus.export.atomic import write_atomically
from varfocus.params import Params
from varfocus.pipeline import run
from varfocus.stack import FocusStack
from varfocus.studies.comparison import SWEEP
from varfocus.studies.evaluation.case import Case, Map
from varfocus.studies.evaluation.scores import Judgement, Scores, judge, least, ratio

YARDSTICK = "paper"
"""The method that the others are divided by."""

IN_PLACE = {"align": "none"}
"""Where the truth is known pixel by pixel, frames must stay where they are."""


@dataclass(frozen=True, eq=False)
class Run:
    """One depth map.

    Attributes
    ----------
    index, confidence : ndarray of shape (H, W), float32
        Depth in frames, and how sure it is.
    judgement : Judgement
        How good they are.
    seconds : float
        Time of the whole reconstruction: contrast to confidence and fused image.
    """

    index: Map
    confidence: Map
    judgement: Judgement
    seconds: float

    @property
    def scores(self) -> Scores:
        """The numbers of the judgement."""
        return self.judgement.scores


def paper_runs(
    case: Case, weights: Sequence[float] = SWEEP, keep: Path | None = None
) -> dict[float, Run]:
    """Run the paper's method, what others are compared with.

    Parameters
    ----------
    case : Case
        Stack with truth.
    weights : sequence of float
        Values of α; its default is added.
    keep : Path, optional
        Folder in which its maps are kept, and found again for the same frames and parameters.

    Returns
    -------
    dict of float to Run
        By weight, the least first.
    """
    usual = Params.from_keywords(YARDSTICK).solve.alpha
    digest = None if keep is None else _digest(case.stack)
    runs = {}
    for alpha in sorted({*weights, usual}):
        params = Params.from_keywords(YARDSTICK, alpha=alpha, **IN_PLACE)
        if keep is None:
            runs[alpha] = run_one(case, params)
            continue
        key = hashlib.sha256(f"{digest} {varfocus.__version__} {params}".encode()).hexdigest()
        place = keep / f"{key[:32]}.npz"
        if not place.exists():
            found = run_one(case, params)
            maps = io.BytesIO()
            np.savez_compressed(
                maps, index=found.index, confidence=found.confidence, seconds=found.seconds
            )
            keep.mkdir(parents=True, exist_ok=True)
            write_atomically(place, maps.getvalue())
        with np.load(place) as maps:
            index, confidence, seconds = maps["index"], maps["confidence"], float(maps["seconds"])
        runs[alpha] = Run(index, confidence, judge(case, index, confidence), seconds)
    return runs


def row(
    case: Case,
    index: Map,
    confidence: Map | None = None,
    paper: Mapping[float, Run] | None = None,
) -> dict[str, float]:
    """Return the figures of one depth map, by name.

    Parameters
    ----------
    case : Case
        Stack with truth.
    index : ndarray of shape (H, W), float32
        Depth in frames.
    confidence : ndarray of shape (H, W), float32, optional
        How sure it is; without it what is said about confidence means nothing.
    paper : mapping of float to Run, optional
        Of `paper_runs`, to be divided by.

    Returns
    -------
    dict of str to float
        Every measure of `Scores`; with `paper`, also ``rmse_ratio`` and so on, the measure divided
        by the least of the paper's method over all weights, and ``plain_ratio``.

    Examples
    --------
    >>> from varfocus import FocusStack, simulate
    >>> from varfocus.studies.evaluation import Case, row
    >>> made = simulate("steps", shape=(32, 40), n=5)
    >>> case = Case(FocusStack.from_array(made.frames), made.truth_index)
    >>> row(case, made.truth_index)["rmse"]
    0.0
    """
    sure = np.ones_like(index) if confidence is None else confidence
    scores = judge(case, index, sure).scores
    figures = dict(vars(scores))
    if paper:
        best = least([each.scores for each in paper.values()])
        figures |= {f"{name}_ratio": value for name, value in vars(ratios(scores, best)).items()}
        figures["plain_ratio"] = ratio(scores.rmse_plain, paper[max(paper)].scores.rmse_plain)
    return figures


def _digest(stack: FocusStack) -> str:
    """Return what tells the frames of one stack from those of another."""
    seen = hashlib.sha256(f"{len(stack)} {stack.dtype}".encode())
    for frame in stack:
        seen.update(str(frame.shape).encode())
        seen.update(np.ascontiguousarray(frame).tobytes())
    if stack.focus is not None:
        seen.update(np.asarray(stack.focus, np.float64).tobytes())
    return seen.hexdigest()


def run_one(case: Case, params: Params) -> Run:
    """Reconstruct a stack, and judge the result."""
    result = run(case.stack, params)
    judgement = judge(case, result.index, result.confidence)
    return Run(result.index, result.confidence, judgement, result.seconds)


FEW = 0.001
"""Shares of bad pixels below this are as good as none: their ratio is that of a few pixels."""


def ratios(scores: Scores, reference: Scores) -> Scores:
    """Return every measure divided by that of a reference.

    Shares of bad pixels and ghosts below 0.1 % count as 0.1 %; if both are, there is no ratio.
    """
    found = {}
    for name, value in vars(reference).items():
        own = getattr(scores, name)
        if name.startswith(("bad_", "ghosts")):
            few = own <= FEW and value <= FEW
            found[name] = math.nan if few else ratio(max(own, FEW), max(value, FEW))
        else:
            found[name] = ratio(own, value)
    return Scores(**found)
