r"""The robust method: template likelihood, semi-global start, Huber-TV refinement.

stack → contrast at two scales → focus coordinate and templates, both from the stack → cost volume
C → semi-global matching → minimum of

.. math:: E(d) = \sum_{ij} C_{ij}(d_{ij}) + α \sum_{ij} w_{ij} φ_ε(|Kd|_{ij})

by the paper's linearised ADMM, started at the semi-global answer. d is in frames; w makes jumps
dear where the picture is plain. Where surfaces hide one another, `varfocus.edges` then puts the
pixels beside jumps on the right side.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from varfocus import edges
from varfocus.contrast import box_mean, gaussian, gradient_energy, jump_weight, mlap
from varfocus.energy import VolumeTerm
from varfocus.estimate import Estimate
from varfocus.likelihood import CostVolume, cost_volume
from varfocus.minimise import Solution, linearised_admm
from varfocus.minimise.semi_global import PATHS, lowest, second_well, semi_global
from varfocus.operators import K, magnitude
from varfocus.params import Params, RobustParams, SolverParams
from varfocus.progress import Progress, silent, track
from varfocus.regulariser import HuberTV
from varfocus.stack import FocusStack
from varfocus.volume import catmull_rom, curvature, steepest_curvature

Float = NDArray[np.float32]

RIVAL_DISTANCE = 1.5
"""Wells further away than this many frames are rivals."""

CLEAR_LEAD = 0.1
"""A pixel by itself prefers another depth if that is cheaper by this much of an average well."""

MARGIN_LIMIT = 3.0
"""The lead over a rival says no more beyond this."""

VETO_WINDOW = 21
"""Side in pixels of the window in which `veto_ends` looks for something stronger."""

REFERENCE_SIZE = 320.0
"""Side in pixels of the square image for which the weight of the refinement is meant."""

TORN = 0.1
"""Weight of the regulariser across a jump of the start."""

SIGMA_SCALE = 0.11
"""Standard error at unit curvature, in peak widths; fitted by benchmarks/fit_confidence.py."""

CURVATURE_REACH = 0.3
"""Distance in peak widths at which the curvature of the aggregated cost is taken."""

FLATTEST = 0.35
"""Curvatures below this say no more."""

EVIDENCE_WINDOW = 9
"""Side in pixels of the window over which the evidence for a depth is averaged."""

NOISE_EVIDENCE = 5.5
"""Evidence, in nats and divided by the number of frames, that 95 % of pure noise stays below."""


def robust(stack: FocusStack, params: Params, progress: Progress = silent) -> Estimate:
    """Estimate depth by the robust method.

    Parameters
    ----------
    stack : FocusStack
        At least three frames.
    params : Params
        Of which ``params.robust`` is used.
    progress : callable
        Listener.

    Returns
    -------
    Estimate
        With standard error and validity.
    """
    chosen = params.robust
    front = FrontEnd(stack, chosen, progress)
    volume = cost_volume(front, scales=2, wanted=chosen.coordinate, focus=stack.focus)
    veto_ends(volume, front.strength)
    weight = jump_weight(front.gradient)
    progress("searching", 0, 1)
    slope = chosen.smoothness * chosen.slope_penalty * volume.step / volume.peak_width
    jump = chosen.smoothness * chosen.jump_penalty * weight
    total = semi_global(volume.cost, slope, np.maximum(jump, slope))
    progress("searching", 1, 1)
    solution = refine(volume, lowest(total) * np.float32(volume.step), weight, chosen, progress)
    sharpened = None
    if chosen.edges == "auto":
        rival = lone_wells(volume, solution.d)
        sharpened = sharpen_edges(stack, solution.d, rival, volume.coordinate.x, progress)
    index = solution.d if sharpened is None else sharpened.index
    label = index * np.float32(1.0 / volume.step)
    margin = second_well(total, label, RIVAL_DISTANCE / volume.step)
    return Estimate(
        index=index,
        margin=np.clip(margin, -MARGIN_LIMIT, MARGIN_LIMIT),
        trace=solution.trace,
        sigma=standard_error(total, label, volume.step, volume.peak_width),
        known=evidence(volume, label) >= NOISE_EVIDENCE / len(stack),
        notes=volume.describe() | {"edges": None if sharpened is None else sharpened.describe()},
        unmixed=None if sharpened is None else (sharpened.colour, sharpened.seen),
    )


def lone_wells(volume: CostVolume, index: Float) -> Float:
    """Return the depth that each pixel would have by itself, where that is clearly another one.

    Things a few pixels wide are outvoted by what is around them, and yet their pixels know.

    Parameters
    ----------
    volume : CostVolume
        C.
    index : ndarray of shape (H, W), float32
        Chosen depth in frames.

    Returns
    -------
    ndarray of shape (H, W), float32
        In frames: where C is lowest, if that is a rival and lower by a tenth of an average well;
        else `index`.
    """
    label = volume.cost.argmin(axis=0)
    lowest_cost = np.take_along_axis(volume.cost, label[None], axis=0)[0]
    lead = catmull_rom(volume.cost, index * np.float32(1.0 / volume.step))[0] - lowest_cost
    alone = label.astype(np.float32) * np.float32(volume.step)
    other = (np.abs(alone - index) > RIVAL_DISTANCE) & (lead > CLEAR_LEAD)
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
    frames = [stack.read(k).reshape(*stack.shape, -1) for k in numbers]
    within, beside = (
        np.interp(depth, numbers, np.arange(len(numbers))).astype(np.float32)
        for depth in (index, rival)
    )
    scale = stack.scale
    if not np.issubdtype(stack.dtype, np.integer):  # floats need not end at 1
        scale /= max(1.0, max(float(frame.max()) for frame in frames) * scale)
    found = edges.sharpen(frames, scale, within, x[numbers], beside)
    progress("edges", 1, 1)
    if found is None:
        return None
    found = replace(found, colour=found.colour * np.float32(stack.scale / scale))
    whole = np.interp(found.index, np.arange(len(numbers)), numbers).astype(np.float32)
    # Pixels that stayed keep their depth to the last bit.
    return replace(found, index=np.where(found.moved, whole, index))


def veto_ends(volume: CostVolume, strength: Float, reach: float = 1.0) -> None:
    r"""Weaken, in place, depths at the ends of the range that only a strong neighbour suggests.

    One blur radius beside something bright, a plain pixel is sharpest in the first or last frame.
    Within `reach` frames of either end C is multiplied by 1 − r(1 − f²), r rising to 1 at the end,
    with f = min(1, 5·strength / strongest within 21×21 pixels): a peak at an end counts if it is
    a fifth as strong as what is around it.

    Parameters
    ----------
    volume : CostVolume
        Changed in place.
    strength : ndarray of shape (H, W), float32
        Range over focus of each pixel's contrast.
    reach : float
        In frames.
    """
    around = ndimage.maximum_filter(strength, VETO_WINDOW, mode="nearest")
    around = ndimage.gaussian_filter(around, VETO_WINDOW / 4, mode="nearest")
    share = np.clip(5.0 * strength / np.maximum(around, np.finfo(np.float32).tiny), 0.0, 1.0)
    lost = 1.0 - share**2
    last = volume.coordinate.n - 1
    for label, cost in enumerate(volume.cost):
        distance = min(label * volume.step, last - label * volume.step)
        if distance < reach:
            cost *= 1.0 - np.float32(1.0 - distance / reach) * lost


def standard_error(total: Float, label: Float, step: float, unit: float) -> Float:
    r"""Return the standard error of the depth where it is not grossly wrong.

    .. math:: σ = σ_1 u / \sqrt{A''/8}, \qquad A''/8 ≥ 0.35,

    A″ the curvature of the semi-global cost at the chosen depth with u as unit: a sharp valley that
    all eight paths agree on leaves little room. σ₁ is such that 68 % of the errors below one frame
    on simulated scenes are smaller than σ. That the whole valley may be the wrong one is what the
    confidence is about.

    Parameters
    ----------
    total : ndarray of shape (L, H, W), float32
        Aggregated cost A.
    label : ndarray of shape (H, W), float32
        Chosen depth in labels.
    step : float
        Distance of labels in frames.
    unit : float
        Half width u of a peak in frames.

    Returns
    -------
    ndarray of shape (H, W), float32
        σ in frames.
    """
    reach = min(max(round(CURVATURE_REACH * unit / step), 1), (total.shape[0] - 1) // 2)
    bend = curvature(total, label, reach) * np.float32((unit / step) ** 2 / PATHS)
    sigma: Float = np.float32(SIGMA_SCALE * unit) / np.sqrt(np.maximum(bend, np.float32(FLATTEST)))
    return sigma


def evidence(volume: CostVolume, label: Float) -> Float:
    """Return what speaks for the chosen depth around each pixel, in nats.

    The mean over 9×9 pixels of −C(d): how much better a peak at that depth explains the contrast
    curves than none. A depth is called unknown where this is no more than what noise alone would
    give, 5.5/n nats for n frames (measured on white noise; more frames are fooled less).

    Parameters
    ----------
    volume : CostVolume
        C.
    label : ndarray of shape (H, W), float32
        Chosen depth in labels.

    Returns
    -------
    ndarray of shape (H, W), float32
        Not below zero but for interpolation.
    """
    value = catmull_rom(volume.cost, label)[0] * np.float32(-volume.depth_of_well)
    mean: Float = box_mean(value, EVIDENCE_WINDOW)
    return mean


class FrontEnd:
    """Measures contrast at one scale after the other, and in passing the edges of the picture.

    Parameters
    ----------
    stack : FocusStack
        Frames; each is decoded once per scale.
    params : RobustParams
        Blur and support.
    progress : callable
        Listener.

    Attributes
    ----------
    gradient : ndarray of shape (H, W), float32
        Largest squared brightness gradient over the frames at the coarse scale.
    strength : ndarray of shape (H, W), float32
        Range over the frames of the contrast at the coarse scale.
    """

    def __init__(
        self, stack: FocusStack, params: RobustParams, progress: Progress = silent
    ) -> None:
        self._stack, self._params, self._progress = stack, params, progress
        self.gradient: Float = np.zeros(stack.shape, np.float32)
        self.strength: Float = np.zeros(stack.shape, np.float32)

    def __call__(self, scale: int) -> Float:
        """Return the contrast ``(n, H, W)`` of the frames (0), or of the smoothed frames (1)."""
        stack, n = self._stack, len(self._stack)
        volume = np.empty((n, *stack.shape), np.float32)
        stage = "contrast, coarse" if scale else "contrast, fine"
        for k, frame in enumerate(track(stack.ahead(), stage, n, self._progress)):
            image = stack.as_unit(frame)
            if scale:
                image = gaussian(image, self._params.coarse_blur)
                np.maximum(self.gradient, gradient_energy(image), out=self.gradient)
            volume[k] = gaussian(mlap(image), self._params.support)
        if scale:
            self.strength = volume.max(axis=0) - volume.min(axis=0)
        return volume


def refine(
    volume: CostVolume,
    d_0: Float,
    weight: Float,
    params: RobustParams,
    progress: Progress = silent,
) -> Solution:
    """Minimise E(d) from a first guess.

    Parameters
    ----------
    volume : CostVolume
        C at its labels.
    d_0 : ndarray of shape (H, W), float32
        First guess in frames.
    weight : ndarray of shape (H, W), float32
        How dear jumps are at each pixel.
    params : RobustParams
        α, ε, iterations.
    progress : callable
        Listener.

    Returns
    -------
    Solution
        d in frames.
    """
    unit = volume.peak_width
    # A picture twice as wide has twice the jumps to cross but four times the data to hold them.
    size = float(np.clip(np.sqrt(d_0.size) / REFERENCE_SIZE, 0.125, 8.0))
    # Dearer than texture a plain area need not be here: it would flatten faint slopes. And what the
    # start tore apart stays apart: its jumps are decided, to smooth them would only blur them.
    torn = magnitude(K(d_0)) > params.cut * unit
    weight = np.minimum(weight, 1.0) * np.where(torn, np.float32(TORN), np.float32(1.0))
    # The step must suit all but the most sharply bent curves; those are held by their depth.
    bend = float(np.percentile(steepest_curvature(volume.cost), 90)) / volume.step**2
    solver = SolverParams(
        alpha=params.smoothness * params.huber_weight * size / unit,
        iterations=params.refinement,
        tau=1.0 / max(bend, 1e-6),
    )
    return linearised_admm(
        VolumeTerm(volume.cost, volume.step),
        d_0,
        solver,
        lambda done, *_: progress("refining", done, solver.iterations),
        regulariser=HuberTV(params.huber * unit, weight),
        warm=True,
    )
