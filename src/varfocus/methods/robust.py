r"""The robust method: learnt likelihood, a second look, semi-global start, TGV refinement.

stack → contrast at two scales → focus coordinate and templates, both from the stack → cost volume
C, where frames contradict it confined by the second look → semi-global matching → minimum of

.. math:: E(d) = \min_v \sum_{ij} C_{ij}(d_{ij}) + α\, \mathrm{TGV}(d, v)

by a primal-dual method from coarse to fine, started at the semi-global answer, with α learnt place
by place (`varfocus.methods.detail`). d is in frames; its jumps are kept. Where surfaces hide one
another, `varfocus.methods.borders` then puts the pixels beside jumps on the right side.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from varfocus.canvas import Canvas, Tile, Whole
from varfocus.contrast import PLAIN_SHARE, jump_weight
from varfocus.curve.likelihood import Model
from varfocus.depth import heard
from varfocus.edges.plain_areas import settle
from varfocus.energy import VolumeTerm, WindowTerm
from varfocus.methods import detail, smoothness
from varfocus.methods.borders import RIVAL_DISTANCE, with_borders
from varfocus.methods.estimate import Estimate
from varfocus.methods.evidence import EVIDENCE_WINDOW, evidence
from varfocus.methods.prepared import Front, front_and_model
from varfocus.methods.second_look import Look, second_look
from varfocus.methods.smoothness import penalties
from varfocus.methods.veto import end_labels, overshadowed, veto_windows
from varfocus.minimise import tgv
from varfocus.minimise.banded_search import band_count
from varfocus.minimise.search import Searcher, search
from varfocus.minimise.semi_global import PATHS
from varfocus.params import Params, RobustParams
from varfocus.progress import Progress, silent
from varfocus.stack import FocusStack

Float = NDArray[np.float32]

MARGIN_LIMIT = 3.0
"""A lead over a rival beyond this adds no information."""

SIGMA_NOISE, SIGMA_MODEL = 0.66, 0.05
"""Standard error at unit curvature, in peak widths: what noise adds at a well of one nat in one
frame, and what remains without noise. The median scene of benchmarks/fit_uncertainty.py asks for
0.50 and 0.005, layers and strongly bent surfaces for more: an error bar had better be long."""

CURVATURE_REACH = 0.3
"""Distance in peak widths at which the curvature of the aggregated cost is taken."""

FLATTEST = 0.35
"""Curvatures below this are treated as equal to it."""


@dataclass(frozen=True)
class Prepared:
    """What was learnt from a stack, before anything is smoothed.

    Attributes
    ----------
    stack : FocusStack
        The frames.
    front : Front
        Their contrast at two scales.
    model : Model
        Focus coordinate, templates and noise.
    look : Look or None
        What the second look found, if there was one.
    canvas : Canvas
        Where the maps live.
    """

    stack: FocusStack
    front: Front
    model: Model
    look: Look | None
    canvas: Canvas


def prepare(
    stack: FocusStack, params: Params, progress: Progress = silent, canvas: Canvas | None = None
) -> Prepared:
    """Look at every frame once, learn what peaks look like, and which depths explain all frames.

    Parameters
    ----------
    stack : FocusStack
        At least three frames.
    params : Params
        Of which `measure`, `support`, `coarse_blur`, `coordinate` and `reblur` are used.
    progress : callable
        Listener.
    canvas : Canvas, optional
        Where maps are kept; by default in memory.

    Returns
    -------
    Prepared
        For `solve`, as often as wanted.
    """
    canvas = canvas or Whole(stack.shape)
    front, model = front_and_model(stack, params, canvas, progress)
    look = None
    if params.robust.reblur == "auto":
        look = second_look(stack, model, params, canvas, progress)
    return Prepared(stack, front, model, look, canvas)


def solve(
    prepared: Prepared, params: Params, progress: Progress = silent, room: int | None = None
) -> Estimate:
    """Estimate depth from what was measured.

    What concerns the whole image is learnt from the whole image. Contrast, its surroundings and the
    refinement are local: a pixel depends on a known number of pixels around it (the refinement, one
    per iteration). The semi-global search is not: across a plain area a path carries its costs as
    far as the area goes. It runs in bands of rows, and paths are handed on from band to band.

    Parameters
    ----------
    prepared : Prepared
        From `prepare`.
    params : Params
        Of which ``params.robust`` is used.
    progress : callable
        Listener.
    room : int, optional
        Bytes that the cost volumes may take. The engine then works in bands of rows, which takes
        longer and changes nothing else; array code always holds them whole.

    Returns
    -------
    Estimate
        With standard error and validity.
    """
    chosen = params.robust
    stack, front, model, canvas = prepared.stack, prepared.front, prepared.model, prepared.canvas
    confined = None
    if prepared.look is not None and prepared.look.changes:
        confined = prepared.look.confinement(model, canvas)
    lost = _around(front.strength, canvas, progress)
    if confined is not None:
        lost[:] = 0.0  # ghosts are known, and need not be guessed
    slope, weight, jump = _penalties(front.gradient, model, chosen, canvas)
    bands = band_count(stack.shape, len(stack), model.labels, room, on_disk=canvas.side is not None)
    passes = _Passes(canvas, progress)
    passes.begin("searching", 2 * bands - 1)
    found = search(
        front.contrast,
        model,
        lost,
        end_labels(model),
        slope,
        jump,
        confined,
        bands,
        canvas.empty,
        passes.done,
    )
    start = found.start()
    passes.end()
    index, strength = _refined(found.term(), model, start, weight, chosen, canvas, progress)
    if chosen.edges != "off":
        settle(index, weight, chosen.cut * model.peak_width)
        canvas.release()
    passes.begin("judging", bands)
    lead, bend, cost = judge(found, model, index, canvas)
    passes.end()
    sharpened, about_edges = None, dict[str, object](open=False, why="switched off")
    if chosen.edges == "auto":
        nearest = None if prepared.look is None else prepared.look.nearest
        at, ghosts = cost, confined is not None

        def alone() -> tuple[Float, Float, Float]:
            return *found.alone(), at

        sharpened, about_edges = with_borders(
            stack, index, alone, model, nearest, ghosts, canvas, progress
        )
    if sharpened is not None:
        canvas.drop(lead, index)  # and what lies beside the lead
        index = sharpened.index
        passes.begin("judging", bands)
        lead, bend, cost = judge(found, model, index, canvas)

    def conclude(tile: Tile, _: Progress) -> tuple[NDArray[Any], ...]:
        spoken = cost[tile.outer]
        if confined is not None:
            label = index[tile.outer] * np.float32(1.0 / model.step)
            spoken = confined.part(tile.outer).evidence(spoken, label)
        spoken = evidence(spoken, model)
        return (
            np.clip(lead[tile.outer], -MARGIN_LIMIT, MARGIN_LIMIT),
            standard_error(bend[tile.outer], model),
            spoken >= 1.0,
            heard(spoken),
        )

    margin, sigma, known, left = canvas.map("concluding", EVIDENCE_WINDOW, conclude)
    canvas.drop(lead)
    return Estimate(
        index=index,
        lead=margin,
        trace=None,
        sigma=sigma,
        known=known,
        heard=left,
        notes=model.describe()
        | {
            "reblur": None if prepared.look is None else prepared.look.describe(),
            "edges": about_edges,
            "refinement": {"median_strength": round(strength, 2)},
        },
        unmixed=None if sharpened is None else sharpened.unmixed,
    )


def _around(strength: Float, canvas: Canvas, progress: Progress) -> Float:
    """Return `overshadowed` of the whole image."""

    def work(tile: Tile, _: Progress) -> tuple[Float]:
        return (overshadowed(strength[tile.outer], strength.size),)

    reach = sum(veto_windows(strength.size)) // 2 + 1
    (lost,) = canvas.map("surroundings", reach, work, progress)
    return lost


def _penalties(
    gradient: Float, model: Model, params: RobustParams, canvas: Canvas
) -> tuple[float, Float, Float]:
    """Return P₁ of the search, `jump_weight`, and P₂ of every pixel."""
    reference = canvas.percentile(gradient, PLAIN_SHARE)

    def work(tile: Tile, _: Progress) -> tuple[Float, Float]:
        weight: Float = jump_weight(gradient[tile.outer], reference=reference)
        return weight, penalties(model, weight, params)[1]

    weight, jump = canvas.map("penalties", 0, work)
    return penalties(model, weight[:1], params)[0], weight, jump


class _Passes:
    """Counts the bands that are finished, and releases the memory they touched."""

    def __init__(self, canvas: Canvas, progress: Progress) -> None:
        self._canvas, self._progress = canvas, progress
        self._stage, self._count, self._total = "", 0, 0

    def begin(self, stage: str, total: int) -> None:
        """Begin to count for another stage."""
        self._stage, self._count, self._total = stage, 0, total
        self._progress(stage, 0, total)

    def done(self) -> None:
        """Count one more."""
        self._canvas.release()
        self._count += 1
        self._progress(self._stage, min(self._count, self._total), self._total)

    def end(self) -> None:
        """Report that all are finished: array code has no bands, and counts none."""
        if self._count < self._total:
            self._count = self._total
            self._progress(self._stage, self._total, self._total)


def _refined(
    term: VolumeTerm | WindowTerm,
    model: Model,
    label: Float,
    weight: Float,
    params: RobustParams,
    canvas: Canvas,
    progress: Progress,
) -> tuple[Float, float]:
    """Refine a start in labels; return the depth in frames, and the median strength."""
    size, total = label.size, len(smoothness.STRENGTHS) + 1
    passes = _Passes(canvas, progress)
    passes.begin("refining", total)

    def data(tile: Tile) -> VolumeTerm | WindowTerm:
        return _window_term(term, tile) if canvas.side else term

    def start(tile: Tile) -> Float:
        return label[tile.outer] * np.float32(model.step)

    def lightly(tile: Tile, _: Progress) -> tuple[NDArray[Any], ...]:
        part = data(tile), model, start(tile), weight[tile.outer]
        d, jump = smoothness.light(*part, params, size)
        return d, jump, jump.max(axis=0) + np.float32(1e-12)

    d, jump, highest = canvas.map("refining", smoothness.LIGHT_REACH, lightly)
    height = smoothness.steep(canvas.median(highest), model)
    canvas.drop(highest)
    passes.done()
    maps = [d]
    for strength in smoothness.STRENGTHS[1:]:

        def smoother(tile: Tile, _: Progress, strength: float = strength) -> tuple[Float]:
            tear = smoothness.torn(start(tile), model, params)
            tear = smoothness.softened(tear, jump[:, *tile.outer], height)
            part = data(tile), model, maps[-1][tile.outer], weight[tile.outer], tear
            return (smoothness.passed(*part, strength, params, size)[0],)

        maps.append(*canvas.map("refining", tgv.REACH + 1, smoother))
        passes.done()

    def best(tile: Tile, _: Progress) -> tuple[Float, Float]:
        parts = [each[tile.outer] for each in maps]
        around = tgv.parabolas(data(tile), parts[0], model.peak_width)
        number = detail.strength(around, parts, model.peak_width, params.smoothness)
        return detail.mixed(parts, number), number + np.float32(1.0)

    index, number = canvas.map("refining", detail.REACH, best)
    passes.end()
    usual = float(np.interp(canvas.median(number) - 1.0, range(len(maps)), smoothness.STRENGTHS))
    canvas.drop(jump, number, *maps)
    if isinstance(term, WindowTerm):
        canvas.drop(term.samples, term.scale, term.base)
    return index, params.smoothness * usual


def _window_term(term: VolumeTerm | WindowTerm, tile: Tile) -> WindowTerm:
    """Return a part of a data term; its energy lacks what does not depend on d."""
    assert isinstance(term, WindowTerm)  # tiles need the engine
    samples, scale, base = (
        np.ascontiguousarray(a[tile.outer]) for a in (term.samples, term.scale, term.base)
    )
    return WindowTerm(samples, scale, base, np.zeros(len(samples)), term.step)


def judge(
    found: Searcher, model: Model, index: Float, canvas: Canvas
) -> tuple[Float, Float, Float]:
    """Return lead over rivals, curvature and cost of a depth in frames; see `Searcher.judge`."""
    scale = np.float32(1.0 / model.step)
    (label,) = canvas.map("labels", 0, lambda tile, _: (index[tile.outer] * scale,))
    judged = found.judge(label, RIVAL_DISTANCE / model.step, curvature_reach(model))
    canvas.drop(label)
    return judged


def curvature_reach(model: Model) -> int:
    """Return the distance in labels at which the curvature of the aggregated cost is taken."""
    reach = round(CURVATURE_REACH * model.peak_width / model.step)
    return min(max(reach, 1), (model.labels - 1) // 2)


def standard_error(bend: Float, model: Model) -> Float:
    r"""Return the standard error of the depth where it is not grossly wrong.

    .. math:: σ^2 = \frac{u^2}{A''/8} \Bigl(\frac{a^2}{nW} + b^2\Bigr), \qquad A''/8 ≥ 0.35,

    A″ the curvature of the semi-global cost at the chosen depth with u as unit: a sharp valley that
    all eight paths agree on leaves little room. The cost is a mean over n frames, divided by the
    depth W in nats of the average well: nW is the information in the stack; b is the error that no
    stack removes (templates that do not quite fit, surfaces that bend). a and b are such that about
    68 % of the errors below one frame on simulated scenes are smaller than σ. Whether the whole
    valley is the wrong one is what the confidence describes.

    Parameters
    ----------
    bend : ndarray of shape (H, W), float32
        A″ per label².
    model : Model
        Gives the half width u of a peak, n and W.

    Returns
    -------
    ndarray of shape (H, W), float32
        σ in frames.
    """
    unit = model.peak_width
    curved = np.maximum(bend * np.float32((unit / model.step) ** 2 / PATHS), np.float32(FLATTEST))
    known = model.coordinate.n * model.depth_of_well
    scale = unit * float(np.sqrt(SIGMA_NOISE**2 / known + SIGMA_MODEL**2))
    sigma: Float = (np.float32(scale) / np.sqrt(curved)).astype(np.float32, copy=False)
    return sigma
