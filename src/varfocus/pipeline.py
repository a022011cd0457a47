"""The whole story on one screen: stack → contrast → curve → energy → minimise → depth → fused.

Each step is a module of that name and can be called by itself.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from varfocus import classic, curve, depth, memory
from varfocus.contrast import box_mean, mlap, normaliser
from varfocus.energy import ContrastTerm
from varfocus.errors import NoContrastError, TooFewFramesError, VarfocusWarning
from varfocus.estimate import Estimate
from varfocus.fuse import fuse
from varfocus.minimise import MINIMISERS
from varfocus.params import CurveParams, Params, Resources
from varfocus.progress import Progress, silent, track
from varfocus.result import Result
from varfocus.robust import robust
from varfocus.stack import FocusStack

CONFIDENCE_WINDOW = 9
"""Side in pixels of the window over which contrast curves are averaged to judge the result."""

CONFIDENCE_WEIGHTS = {
    "paper": (4.13, 2.77, 0.59),
    "classic": (3.75, 6.87, -1.07),
    "robust": (2.67, 2.50, -0.78),
}
"""w_M, w_f, w_0 of each method, fitted by benchmarks/fit_confidence.py."""


def reconstruct(
    stack: FocusStack | ArrayLike,
    method: str = "robust",
    *,
    focus: ArrayLike | None = None,
    unit: str | None = None,
    threads: int | None = None,
    max_memory: str | None = None,
    progress: Progress = silent,
    **parameters: Any,
) -> Result:
    """Reconstruct depth, confidence and the all-in-focus image of a focus stack.

    Parameters
    ----------
    stack : FocusStack or array_like
        From `varfocus.read_stack`, or an array of shape ``(n, H, W)`` or ``(n, H, W, 3)`` of
        uint8, uint16 or floats.
    method : {"robust", "paper", "classic"}
        Templates learnt from the stack with a global search, which needs no tuning; the variational
        method of Moeller et al.; or the windowed maximum of contrast.
    focus : array_like of shape (n,), optional
        Focus position or distance of each frame; depth is then in its unit.
    unit : str, optional
        Name of that unit, for labels.
    threads : int, optional
        Number of threads; by default all cores.
    max_memory : str, optional
        Such as "4GB"; by default 60 % of what is free. What does not fit is refused beforehand.
    progress : callable
        Called as ``progress(stage, done, total)``; may raise to cancel.
    **parameters
        Any field of the classes in `varfocus.params`, such as ``smoothness=2``, ``alpha=1/8`` or
        ``window=41``.

    Returns
    -------
    Result
        ``depth``, ``index``, ``confidence``, ``uncertainty``, ``fused``, …; ``save(folder)``.

    Raises
    ------
    VarfocusError
        One of `varfocus.errors`, for anything wrong with the input.

    Warns
    -----
    VarfocusWarning
        If something was adjusted, such as the degree for a short stack.
    """
    params = Params.from_keywords(method, **parameters)
    if not isinstance(stack, FocusStack):
        stack = FocusStack.from_array(stack)
    stack = stack.with_focus(focus, unit)
    result = run(stack, params, progress, Resources(threads, max_memory))
    for message in result.warnings:
        warnings.warn(message, VarfocusWarning, stacklevel=2)
    return result


def run(
    stack: FocusStack,
    params: Params,
    progress: Progress = silent,
    resources: Resources = Resources(),
) -> Result:
    """Reconstruct with validated parameters; `reconstruct` is the friendlier way in.

    Parameters
    ----------
    stack : FocusStack
        At least three frames.
    params : Params
        All parameters.
    progress : callable
        Listener.
    resources : Resources
        Threads and memory it may use.

    Returns
    -------
    Result
        Warnings are listed in it and not issued.
    """
    if len(stack) < 3:
        raise TooFewFramesError(
            f"received {len(stack)} frames: " + ", ".join(stack.names),
            "expected at least 3: two frames cannot show where focus is best",
            "Add the missing frames.",
        )
    limit = None if resources.max_memory is None else memory.parse_size(resources.max_memory)
    memory.admit(stack, params, limit)
    began = time.perf_counter()
    params, notes = fitting_degree(stack, params)
    found = estimate(stack, params, progress)
    physical = depth.index_to_depth(found.index, stack.focus)
    if found.known is not None:
        notes += doubtful(found.known)
        if params.robust.unknown == "nan":
            physical = np.where(found.known, physical, np.float32(np.nan))
    uncertainty = None
    if found.sigma is not None:
        uncertainty = depth.physical_error(found.index, found.sigma, stack.focus)
    return Result(
        stack=stack,
        params=params,
        index=found.index,
        depth=physical,
        confidence=depth.confidence(
            found.margin, depth.flatness(found.index), CONFIDENCE_WEIGHTS[params.method]
        ),
        fused=fuse(stack, found.index, progress),
        trace=found.trace,
        warnings=tuple(notes),
        seconds=time.perf_counter() - began,
        uncertainty=uncertainty,
        known=found.known,
        findings=found.notes,
    )


def estimate(stack: FocusStack, params: Params, progress: Progress = silent) -> Estimate:
    """Estimate the depth alone, by the method that `params` names."""
    return METHODS[params.method](stack, params, progress)


def _paper(stack: FocusStack, params: Params, progress: Progress) -> Estimate:
    """Moeller et al.: contrast curves, then the minimum of E(d) = −Σ c(d) + α‖Kd‖₂,₁."""
    n = len(stack)
    fit = curve.CurveFit(n, params.curve.degree)
    first_guess = classic.PeakSearch(params.start.start_window)
    peak = np.zeros(stack.shape, np.float32)
    for k, frame in enumerate(track(stack.ahead(), "contrast", n, progress)):
        contrast = mlap(frame.astype(np.float32) * np.float32(stack.scale))
        fit.add(k, contrast)
        first_guess.add(k, contrast)
        np.maximum(peak, contrast, out=peak)
    a = fit.coefficients / normaliser(peak, params.contrast)

    trace = None
    if params.solve.alpha == 0.0:
        d = curve.argmax(a)
    else:
        d_0 = curve.index_to_x(box_mean(first_guess.index, params.start.start_blur), n)
        solution = MINIMISERS[params.solve.solver](
            ContrastTerm(a),
            d_0,
            params.solve,
            lambda done, *_: progress("minimising", done, params.solve.iterations),
        )
        d, trace = solution.d, solution.trace
    index = np.clip(curve.x_to_index(d, n), 0.0, n - 1.0)

    windowed = np.stack([box_mean(a_m, CONFIDENCE_WINDOW) for a_m in a])
    M = depth.margin(lambda k: curve.evaluate(windowed, curve.index_to_x(k, n)), index, n)
    return Estimate(index, M, trace)


def _classic(stack: FocusStack, params: Params, progress: Progress) -> Estimate:
    """Windowed contrast, its maximum over focus, and what smooths the map afterwards."""
    n = len(stack)
    volume = np.empty((n, *stack.shape), np.float32)
    for k, frame in enumerate(track(stack.ahead(), "contrast", n, progress)):
        contrast = mlap(frame.astype(np.float32) * np.float32(stack.scale))
        volume[k] = box_mean(contrast, params.classic.window)
    if not volume.any():
        raise NoContrastError(
            "received frames that are constant: no pixel differs from its neighbours",
            "expected frames that show some structure when in focus",
            "Check that the frames are not all black or saturated.",
        )
    index = classic.classic_index(volume, params.classic)

    def contrast_at(k: Any) -> NDArray[Any]:
        nearest = np.broadcast_to(np.rint(k).astype(np.intp), stack.shape)[None]
        value: NDArray[np.float32] = np.take_along_axis(volume, nearest, axis=0)[0]
        return value

    return Estimate(index, depth.margin(contrast_at, index, n), None)


def doubtful(known: NDArray[np.bool_]) -> list[str]:
    """Say so if nothing in the stack determines the depth of most pixels."""
    share = float(known.mean())
    if share >= 0.5:
        return []
    return [
        f"no more than noise speaks for the depth of {1.0 - share:.0%} of the pixels: they follow "
        'their neighbours. unknown="nan" marks them.'
    ]


def fitting_degree(stack: FocusStack, params: Params) -> tuple[Params, list[str]]:
    """Lower the degree of the curve to what the number of frames supports, and say so.

    Parameters
    ----------
    stack : FocusStack
        Frames.
    params : Params
        Parameters as asked for.

    Returns
    -------
    tuple of Params and list of str
        Parameters as they can be used, and what was changed, in words.
    """
    n, degree = len(stack), params.curve.degree
    if params.method != "paper" or degree <= curve.largest_degree(n):
        return params, []
    lowered = replace(params, curve=CurveParams(curve.largest_degree(n)))
    note = (
        f"{n} frames support a contrast curve of degree {lowered.curve.degree}, not {degree}; "
        "the lower degree was used. More frames give a sharper answer."
    )
    return lowered, [note]


METHODS: Mapping[str, Callable[[FocusStack, Params, Progress], Estimate]] = {
    "robust": robust,
    "paper": _paper,
    "classic": _classic,
}
"""The estimator behind each method."""
