r"""The robust method: template likelihood, semi-global start, Huber-TV refinement.

stack → contrast at two scales → focus coordinate and templates, both from the stack → cost volume
C → semi-global matching → minimum of

.. math:: E(d) = \sum_{ij} C_{ij}(d_{ij}) + α \sum_{ij} w_{ij} φ_ε(|Kd|_{ij})

by a primal-dual method, started at the semi-global answer. d is in frames; w makes jumps
dear where the picture is plain. Where surfaces hide one another, `varfocus.edges` then puts the
pixels beside jumps on the right side.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from varfocus import edges, engine
from varfocus.contrast import box_mean, jump_weight
from varfocus.contrast.scales import SCALES, Scales, two_scales
from varfocus.curve.likelihood import Model, learn
from varfocus.edges.plain_areas import settle
from varfocus.energy import VolumeTerm, WindowTerm
from varfocus.energy.operators import K, magnitude
from varfocus.energy.regulariser import TGV, HuberTV
from varfocus.methods.estimate import Estimate
from varfocus.minimise import Solution, huber_primal_dual, linearised_admm
from varfocus.minimise.search import Searcher, search
from varfocus.minimise.semi_global import PATHS
from varfocus.params import Params, RobustParams, SolverParams
from varfocus.progress import Progress, silent, track
from varfocus.stack import FocusStack

Float = NDArray[np.float32]

RIVAL_DISTANCE = 1.5
"""Wells further away than this many frames are rivals."""

CLEAR_LEAD = 0.1
"""A pixel by itself prefers another depth if that is cheaper by this much of an average well."""

MARGIN_LIMIT = 3.0
"""The lead over a rival says no more beyond this."""

VETO_WINDOW = 21
"""Side in pixels of the window in which `overshadowed` looks for something stronger."""

VETO_RATIO = 4.0
"""Pixels weaker than what is around them by more than this factor are disbelieved."""

VETO_REACH, VETO_INSIDE = 1.0, 0.9
"""Within so many frames of an end of the range entirely, and further inside to this share."""

REFERENCE_SIZE = 320.0
"""Side in pixels of the square image for which the weight of the refinement is meant."""

MOST_MAGNIFIED = 16.0
"""Images wider than this many times that are mosaics, whose blur grows no further."""

TORN = 0.1
"""Weight of the regulariser across a jump of the start."""

SIGMA_NOISE, SIGMA_MODEL = 0.95, 0.077
"""Standard error at unit curvature, in peak widths: what noise adds at a well of one nat in one
frame, and what remains without noise; fitted by benchmarks/fit_uncertainty.py."""

CURVATURE_REACH = 0.3
"""Distance in peak widths at which the curvature of the aggregated cost is taken."""

FLATTEST = 0.35
"""Curvatures below this say no more."""

EVIDENCE_WINDOW = 9
"""Side in pixels of the window over which the evidence for a depth is averaged."""

NOISE_EVIDENCE = 5.5
"""Evidence, in nats and divided by the number of frames, that 95 % of pure noise stays below."""


@dataclass(frozen=True)
class Prepared:
    """What a stack has taught, before anything is smoothed.

    Attributes
    ----------
    stack : FocusStack
        The frames.
    front : Scales
        Their contrast at two scales.
    model : Model
        Focus coordinate, templates and noise.
    """

    stack: FocusStack
    front: Scales
    model: Model


def prepare(stack: FocusStack, params: Params, progress: Progress = silent) -> Prepared:
    """Look at every frame once, and learn what peaks look like.

    Parameters
    ----------
    stack : FocusStack
        At least three frames.
    params : Params
        Of which `measure`, `support`, `coarse_blur` and `coordinate` are used.
    progress : callable
        Listener.

    Returns
    -------
    Prepared
        For `solve`, as often as wanted.
    """
    chosen = params.robust
    front = measure(stack, params, progress)
    progress("learning", 0, 1)
    model = learn(front.curves, stack.shape, SCALES, wanted=chosen.coordinate, focus=stack.focus)
    progress("learning", 1, 1)
    return Prepared(stack, front, model)


def solve(
    prepared: Prepared, params: Params, progress: Progress = silent, room: int | None = None
) -> Estimate:
    """Estimate depth from what was measured.

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
    stack, front, model = prepared.stack, prepared.front, prepared.model
    progress("searching", 0, 1)
    weight = jump_weight(front.gradient)
    slope, jump = penalties(model, weight, chosen)
    found = search(
        front.contrast,
        model,
        overshadowed(front.strength),
        end_labels(model),
        slope,
        jump,
        band_count(stack.shape, model.labels, room),
    )
    d_0 = found.start() * np.float32(model.step)
    progress("searching", 1, 1)
    solution = refine(found.term(), model, d_0, weight, chosen, progress)
    progress("judging", 0, 1)
    index = solution.d
    if chosen.edges != "off":
        settle(index, weight, chosen.cut * model.peak_width)
    margin, bend, cost = judge(found, model, index)
    progress("judging", 1, 1)
    sharpened = None
    if chosen.edges == "auto":
        rival = lone_wells(*found.alone(), cost, index, model.step)
        sharpened = sharpen_edges(stack, index, rival, model.coordinate.x, progress)
    if sharpened is not None:
        index = sharpened.index
        margin, bend, cost = judge(found, model, index)
    return Estimate(
        index=index,
        margin=np.clip(margin, -MARGIN_LIMIT, MARGIN_LIMIT),
        trace=solution.trace,
        sigma=standard_error(bend, model),
        known=evidence(cost, model) >= NOISE_EVIDENCE / len(stack),
        notes=model.describe() | {"edges": None if sharpened is None else sharpened.describe()},
        unmixed=None if sharpened is None else (sharpened.colour, sharpened.seen),
    )


def penalties(model: Model, weight: Float, params: RobustParams) -> tuple[float, Float]:
    """Return P₁ and, for every pixel of `weight`, P₂ of the semi-global search."""
    slope = params.smoothness * params.slope_penalty * model.step / model.peak_width
    jump: Float = np.maximum(np.float32(params.smoothness * params.jump_penalty) * weight, slope)
    return slope, jump


def judge(found: Searcher, model: Model, index: Float) -> tuple[Float, Float, Float]:
    """Return lead over rivals, curvature and cost of a depth in frames; see `Searcher.judge`."""
    label = index * np.float32(1.0 / model.step)
    return found.judge(label, RIVAL_DISTANCE / model.step, curvature_reach(model))


def lone_wells(label: Float, lowest: Float, cost: Float, index: Float, step: float) -> Float:
    """Return the depth that each pixel would have by itself, where that is clearly another one.

    Things a few pixels wide are outvoted by what is around them, and yet their pixels know.

    Parameters
    ----------
    label, lowest : ndarray of shape (H, W), float32
        Where C is lowest, in labels, and C there.
    cost : ndarray of shape (H, W), float32
        C at the chosen depth.
    index : ndarray of shape (H, W), float32
        Chosen depth in frames.
    step : float
        Distance of labels in frames.

    Returns
    -------
    ndarray of shape (H, W), float32
        In frames: where C is lowest, if that is a rival and lower by a tenth of an average well;
        else `index`.
    """
    alone = label * np.float32(step)
    other = (np.abs(alone - index) > RIVAL_DISTANCE) & (cost - lowest > CLEAR_LEAD)
    return np.where(other, alone, index)


def sharpen_edges(
    stack: FocusStack,
    index: Float,
    rival: Float,
    x: NDArray[np.float64],
    progress: Progress = silent,
) -> edges.Sharpened | None:
    """Put the pixels beside depth jumps on the side that explains the frames better.

    Parameters
    ----------
    stack : FocusStack
        Frames; at most 16 of them are decoded once more.
    index, rival : ndarray of shape (H, W), float32
        Depth in frames, and where `lone_wells` would have it.
    x : ndarray of shape (n,)
        Focus coordinate.
    progress : callable
        Listener.

    Returns
    -------
    Sharpened or None
        None where the frames show no occlusion, and the depth should stay as it is.
    """
    numbers = edges.enough_frames(x)
    progress("edges", 0, 1)
    frames = frames_for_edges(stack, numbers)
    within, beside = (among(numbers, depth) for depth in (index, rival))
    brightest = 1.0
    if not np.issubdtype(stack.dtype, np.integer):
        brightest = max(float(frame.max()) for frame in frames)
    scale = scale_for_edges(stack, brightest)
    found = edges.sharpen(frames, scale, within, x[numbers], beside)
    progress("edges", 1, 1)
    return None if found is None else restored(found, numbers, index, stack.scale / scale)


def frames_for_edges(stack: FocusStack, numbers: list[int]) -> list[NDArray[Any]]:
    """Return some of the frames, each ``(H, W, C)``."""
    some = replace(stack, frames=[stack.frames[k] for k in numbers], files=(), focus=None)
    return [frame.reshape(*stack.shape, -1) for frame in some.ahead()]


def scale_for_edges(stack: FocusStack, brightest: float) -> float:
    """Return what maps pixel values to [0, 1]; floats need not end at 1."""
    if np.issubdtype(stack.dtype, np.integer):
        return stack.scale
    return stack.scale / max(1.0, brightest * stack.scale)


def among(numbers: list[int], index: Float) -> Float:
    """Return a depth in frames as one in some of them."""
    return np.interp(index, numbers, np.arange(len(numbers))).astype(np.float32)


def restored(
    found: edges.Sharpened, numbers: list[int], index: Float, gain: float
) -> edges.Sharpened:
    """Return what was found among some frames in all of them, colours multiplied by a gain."""
    whole = np.interp(found.index, np.arange(len(numbers)), numbers).astype(np.float32)
    # Pixels that stayed keep their depth to the last bit.
    depth = np.where(found.moved, whole, index)
    return replace(found, colour=found.colour * np.float32(gain), index=depth)


def measure(stack: FocusStack, params: Params, progress: Progress = silent) -> Scales:
    """Look at every frame once, and return its contrast at two scales."""
    front, how = None, (params.robust, params.sharpness.measure)
    for k, frame in enumerate(track(stack.ahead(), "contrast", len(stack), progress)):
        if front is None:
            front = two_scales(frame, len(stack), stack.shape, stack.scale, *how)
        front.add(k, frame)
    assert front is not None  # a stack has frames
    return front


def band_count(shape: tuple[int, int], labels: int, room: int | None) -> int:
    """Return in how many bands the volumes fit into `room` bytes; one without a limit."""
    if room is None or not engine.in_use():
        return 1
    from varfocus.minimise.banded_search import band_count as of_engine

    return of_engine(shape, labels, room)


def overshadowed(strength: Float, size: int | None = None) -> Float:
    r"""Return how much of a pixel's evidence is to be disbelieved for what is around it, 0 … 1.

    Beside something bright, a plain pixel has a contrast peak of its own in the frame whose blur
    just reaches it: a ghost. 1 − f² with f = min(1, 4·strength / strongest around): a peak counts
    if it is a quarter as strong as what is around it. Around means 21×21 pixels in an image of
    320×320, and as much more as the image is larger, for so is its blur: `veto_windows`.

    Parameters
    ----------
    strength : ndarray of shape (H, W), float32
        Range over focus of each pixel's contrast.
    size : int, optional
        Pixels of the whole image, if this is a part of it.

    Returns
    -------
    ndarray of shape (H, W), float32
        What C loses: see `end_labels`.
    """
    widest, mean = veto_windows(size or strength.size)
    around = ndimage.maximum_filter(strength, widest, mode="nearest")
    around = box_mean(around, mean)
    ratio = strength / np.maximum(around, np.finfo(np.float32).tiny)
    lost: Float = (1.0 - np.minimum(VETO_RATIO * ratio, 1.0) ** 2).astype(np.float32, copy=False)
    return lost


def veto_windows(size: int) -> tuple[int, int]:
    """Return the sides in pixels over which `overshadowed` takes the maximum, and its mean.

    They grow with the side of an image of `size` pixels, up to 26 megapixels: what is larger is not
    one picture at a higher magnification but many beside each other.
    """
    side = VETO_WINDOW * float(np.clip(np.sqrt(size) / REFERENCE_SIZE, 1.0, MOST_MAGNIFIED))
    return round(side), round(side / 2) // 2 * 2 + 1


def end_labels(model: Model) -> Float:
    """Return the share of `overshadowed` that C loses at each label, shape ``(L,)``.

    All of it at the ends of the range, where ghosts are most frequent; a tenth is spared elsewhere,
    so that faint surfaces keep a say.
    """
    label = np.arange(model.labels, dtype=np.float64)
    distance = model.step * np.minimum(label, model.labels - 1 - label)
    return np.maximum(1.0 - distance / VETO_REACH, VETO_INSIDE).astype(np.float32)


def curvature_reach(model: Model) -> int:
    """Return the distance in labels at which the curvature of the aggregated cost is taken."""
    reach = round(CURVATURE_REACH * model.peak_width / model.step)
    return min(max(reach, 1), (model.labels - 1) // 2)


def standard_error(bend: Float, model: Model) -> Float:
    r"""Return the standard error of the depth where it is not grossly wrong.

    .. math:: σ^2 = \frac{u^2}{A''/8} \Bigl(\frac{a^2}{nW} + b^2\Bigr), \qquad A''/8 ≥ 0.35,

    A″ the curvature of the semi-global cost at the chosen depth with u as unit: a sharp valley that
    all eight paths agree on leaves little room. The cost is a mean over n frames, divided by the
    depth W in nats of the average well: nW is how much the stack knows, and what b stands for no
    stack does (templates that do not quite fit, surfaces that bend). a and b are such that about
    68 % of the errors below one frame on simulated scenes are smaller than σ. That the whole valley
    may be the wrong one is what the confidence is about.

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


def evidence(cost: Float, model: Model) -> Float:
    """Return what speaks for the chosen depth around each pixel, in nats.

    The mean over 9×9 pixels of −C(d): how much better a peak at that depth explains the contrast
    curves than none. A depth is called unknown where this is no more than what noise alone would
    give, 5.5/n nats for n frames (measured on white noise; more frames are fooled less).

    Parameters
    ----------
    cost : ndarray of shape (H, W), float32
        C(d).
    model : Model
        Tells the unit of C.

    Returns
    -------
    ndarray of shape (H, W), float32
        Not below zero but for interpolation.
    """
    mean: Float = box_mean(cost * np.float32(-model.depth_of_well), EVIDENCE_WINDOW)
    return mean


def refine(
    data: VolumeTerm | WindowTerm,
    model: Model,
    d_0: Float,
    weight: Float,
    params: RobustParams,
    progress: Progress = silent,
    size: int | None = None,
) -> Solution:
    """Minimise E(d) from a first guess.

    Parameters
    ----------
    data : VolumeTerm or WindowTerm
        Σ C(d).
    model : Model
        Tells the unit of depth and how sharply C bends.
    d_0 : ndarray of shape (H, W), float32
        First guess in frames.
    weight : ndarray of shape (H, W), float32
        How dear jumps are at each pixel.
    params : RobustParams
        α, ε, iterations; `tgv` above 0 puts second-order TGV in the place of Huber-TV, which is
        minimised by the paper's linearised ADMM.
    progress : callable
        Listener.
    size : int, optional
        Pixels of the whole image, if this is a part of it.

    Returns
    -------
    Solution
        d in frames.
    """
    unit = model.peak_width
    # A picture twice as wide has twice the jumps to cross but four times the data to hold them.
    side = float(np.clip(np.sqrt(size or d_0.size) / REFERENCE_SIZE, 0.125, 8.0))
    # Dearer than texture a plain area need not be here: it would flatten faint slopes. And what the
    # start tore apart stays apart: its jumps are decided, to smooth them would only blur them.
    torn = magnitude(K(d_0)) > params.cut * unit
    weight = np.minimum(weight, 1.0) * np.where(torn, np.float32(TORN), np.float32(1.0))
    solver = SolverParams(
        alpha=params.smoothness * params.huber_weight * side / unit,
        iterations=params.refinement,
        # The step must suit all but the most sharply bent curves; those are held by their depth.
        tau=1.0 / max(model.sharpest_bend, 1e-6),
    )

    def report(done: int, *_: object) -> None:
        progress("refining", done, solver.iterations)

    if params.tgv:
        smooth = TGV(params.tgv, weight)
        return linearised_admm(data, d_0, solver, report, regulariser=smooth, warm=True)
    huber = HuberTV(params.huber * unit, weight)
    return huber_primal_dual(data, d_0, solver, report, regulariser=huber, unit=unit)
