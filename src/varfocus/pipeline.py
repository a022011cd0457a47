"""The whole story on one screen: stack → align → contrast → curve → energy → minimise → fuse.

Each step is a module of that name and can be called by itself.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from varfocus import classic, curve, depth, memory, native, robust
from varfocus.align import Alignment, align
from varfocus.contrast import (
    box_mean,
    gaussian,
    gradient_energy,
    jump_weight,
    mlap,
    normaliser,
)
from varfocus.edges import unveiled
from varfocus.energy import ContrastTerm
from varfocus.errors import NoContrastError, VarfocusWarning
from varfocus.estimate import Estimate
from varfocus.front import contrast_pass
from varfocus.fuse import fuse, pick
from varfocus.minimise import minimise
from varfocus.params import (
    DEFAULT_METHOD,
    AlignParams,
    CurveParams,
    Params,
    Resources,
    RobustParams,
)
from varfocus.progress import Progress, silent, track
from varfocus.result import Result
from varfocus.stack import ArrayFrame, FocusStack

CONFIDENCE_WINDOW = 9
"""Side in pixels of the window over which contrast curves are averaged to judge the result."""

BAND = 64
"""Rows that are judged at a time."""

END_SHARE = 0.25
"""Share of the pixels at one end, beyond what a slope would have there, that a run warns of."""

CONFIDENCE_WEIGHTS = {
    "paper": (4.13, 2.77, 0.59),
    "classic": (3.75, 6.87, -1.07),
    "robust": (1.37, 2.26, 0.95),
}
"""w_M, w_f, w_0 of each method, fitted by benchmarks/fit_confidence.py."""


def reconstruct(
    stack: FocusStack | ArrayLike,
    method: str = DEFAULT_METHOD,
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
    method : {"auto", "robust", "paper", "classic"}
        robust: templates learnt from the stack with a global search, which needs no tuning; paper:
        the variational method of Moeller et al.; classic: the windowed maximum of contrast. auto
        is the method whose parameters are given; if none are, robust, or paper, with a warning,
        where robust would not fit into memory.
    focus : array_like of shape (n,), optional
        Focus position or distance of each frame; depth is then in its unit.
    unit : str, optional
        Name of that unit, for labels.
    threads : int, optional
        Number of threads; by default ``VARFOCUS_THREADS``, or as many as there are processors.
        The result does not depend on it.
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
        ``depth``, ``index``, ``confidence``, ``uncertainty``, ``fused``, ``source``, …;
        ``save(folder)``.

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
    kept: Kept | None = None,
    sketch: bool = False,
) -> Result:
    """Reconstruct with validated parameters; `reconstruct` is the friendlier way in.

    Parameters
    ----------
    stack : FocusStack
        Frames.
    params : Params
        All parameters.
    progress : callable
        Listener.
    resources : Resources
        Threads and memory it may use.
    kept : Kept, optional
        What earlier runs of the same stack have left: a change of the smoothness alone then needs
        neither alignment nor contrast again. Costs the memory to hold it.
    sketch : bool
        For small frames, to answer at once: depth jumps are not sharpened, and every pixel of the
        all-in-focus image is taken from a single frame. Aligned frames stay in memory.

    Returns
    -------
    Result
        Warnings are listed in it and not issued.
    """
    limit = None if resources.max_memory is None else memory.parse_size(resources.max_memory)
    params, changes = settled_method(stack, params, limit)
    memory.admit(stack, params, limit)
    began = time.perf_counter()
    original = stack
    with native.use_threads(resources.threads):
        aligning = partial(_aligned, original, params.align, progress, sketch)
        key = params.align, sketch
        stack, alignment = kept.once("aligned", key, aligning) if kept else aligning()
        params, notes = fitting_degree(stack, params)
        notes = [*changes, *alignment.warnings, *notes]
        room = memory.room_for_volumes(stack, params, limit)
        if sketch:
            found = estimate(stack, _without_edges(params), progress, room, kept)
            fused = pick(stack, found.index)
        else:
            found = estimate(stack, params, progress, room, kept)
            fused = fuse(stack, found.index, params.fusion, progress)
    image = fused.image
    if found.unmixed is not None:
        image = unveiled(image, *found.unmixed, stack.scale)
    positions = alignment.depths(stack)
    physical = depth.index_to_depth(found.index, positions)
    notes += out_of_range(ends_share(found.index, len(stack)), len(stack))
    if found.known is not None:
        notes += doubtful(float(found.known.mean()))
        if params.robust.unknown == "nan":
            physical = np.where(found.known, physical, np.float32(np.nan))
    confidence = depth.confidence(
        found.margin, depth.flatness(found.index), CONFIDENCE_WEIGHTS[params.method]
    )
    seen = alignment.seen_by_all(stack.shape)
    if seen is not None:
        physical = np.where(seen, physical, np.float32(np.nan))
        confidence = np.where(seen, confidence, np.float32(0.0))
    uncertainty = None
    if found.sigma is not None:
        uncertainty = depth.physical_error(found.index, found.sigma, positions)
    return Result(
        stack=stack,
        params=params,
        index=found.index,
        depth=physical,
        confidence=confidence,
        fused=image,
        trace=found.trace,
        warnings=tuple(notes),
        seconds=time.perf_counter() - began,
        uncertainty=uncertainty,
        known=found.known,
        findings=found.notes,
        source=fused.source,
        alignment=alignment,
        original=original,
    )


def _aligned(
    stack: FocusStack, params: AlignParams, progress: Progress, hold: bool
) -> tuple[FocusStack, Alignment]:
    """Align, and on request resample every frame for good."""
    aligned, alignment = align(stack, params, progress)
    if hold:
        frames = [ArrayFrame(f.name, aligned.read(k)) for k, f in enumerate(aligned.frames)]
        aligned = replace(aligned, frames=frames)
    return aligned, alignment


def _without_edges(params: Params) -> Params:
    if params.method != "robust":
        return params
    return replace(params, robust=replace(params.robust, edges="off"))


def estimate(
    stack: FocusStack,
    params: Params,
    progress: Progress = silent,
    room: int | None = None,
    kept: Kept | None = None,
) -> Estimate:
    """Estimate the depth alone, by the method that `params` names; "auto" means robust.

    Parameters
    ----------
    stack : FocusStack
        Frames.
    params : Params
        All parameters.
    progress : callable
        Listener.
    room : int, optional
        Bytes that the volumes of the robust method may take; None: as much as they like.
    kept : Kept, optional
        What earlier calls on the same stack have left.

    Returns
    -------
    Estimate
        Depth in frames, and what is known about it.
    """
    method = METHODS[params.method]
    if kept is None:
        return method.solve(method.prepare(stack, params, progress), params, progress, room)
    key = method.prepare, method.depends_on(params)
    prepared = kept.once("prepared", key, lambda: method.prepare(stack, params, progress))
    return method.solve(prepared, params, progress, room)


class Kept:
    """What stays the same while a stack is reconstructed again and again; `run` fills it."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[object, Any]] = {}

    def once(self, what: str, key: object, make: Callable[[], Any]) -> Any:
        """Return what was made under this key the last time, or make it."""
        known = self._known.get(what)
        if known is None or known[0] != key:
            self._known.pop(what, None)  # before the next one takes its memory
            self._known[what] = key, make()
        return self._known[what][1]


@dataclass(frozen=True)
class Sharpness:
    """What the paper's method takes from the frames: the first half of it."""

    stack: FocusStack
    a: NDArray[np.float32]
    first_guess: NDArray[np.float32]


def _measured(stack: FocusStack, params: Params, progress: Progress) -> Sharpness:
    return Sharpness(stack, *sharpness_curves(stack, params, progress))


def _minimised(
    sharpness: Sharpness, params: Params, progress: Progress, room: int | None
) -> Estimate:
    """Moeller et al.: from contrast curves to the minimum of E(d) = −Σ c(d) + α‖Kd‖₂,₁."""
    del room
    stack, a, n = sharpness.stack, sharpness.a, len(sharpness.stack)
    trace = None
    if params.solve.alpha == 0.0:
        d = curve.argmax(a)
    else:
        d_0 = curve.index_to_x(box_mean(sharpness.first_guess, params.start.start_blur), n)
        solution = minimise(
            ContrastTerm(a),
            d_0,
            params.solve,
            lambda done, *_: progress("minimising", done, params.solve.iterations),
            picture_weight(stack, progress) if params.solve.regulariser == "weighted" else None,
        )
        d, trace = solution.d, solution.trace
    index = np.clip(curve.x_to_index(d, n), 0.0, n - 1.0)
    return Estimate(index, _margin(a, index, n), trace)


def sharpness_curves(
    stack: FocusStack, params: Params, progress: Progress
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Look at every frame once, and return what the energy is made of.

    Parameters
    ----------
    stack : FocusStack
        Frames.
    params : Params
        Contrast, curve and start parameters.
    progress : callable
        Listener.

    Returns
    -------
    a : ndarray of shape (degree + 1, H, W), float32
        Chebyshev coefficients of the normalised contrast curves.
    index : ndarray of shape (H, W), float32
        Frame of the largest windowed contrast.
    """
    n = len(stack)
    front = None
    for k, frame in enumerate(track(stack.ahead(), "contrast", n, progress)):
        if front is None:
            front = contrast_pass(
                frame, n, params.curve.degree, params.start.start_window, stack.scale
            )
        front.add(k, frame)
    assert front is not None  # a stack has frames
    a = front.coefficients
    a /= normaliser(front.peak, params.contrast)
    return a, front.index


def picture_weight(stack: FocusStack, progress: Progress = silent) -> NDArray[np.float32]:
    """Return how dear a depth jump is at each pixel, from the edges of the sharp picture.

    Parameters
    ----------
    stack : FocusStack
        Frames; each is decoded once.
    progress : callable
        Listener.

    Returns
    -------
    ndarray of shape (H, W), float32
        `varfocus.contrast.jump_weight` of the largest gradient over the frames, smoothed by 1 px.
    """
    gradient = np.zeros(stack.shape, np.float32)
    for frame in track(stack.ahead(), "edges", len(stack), progress):
        np.maximum(gradient, gradient_energy(gaussian(stack.as_unit(frame), 1.0)), out=gradient)
    weight: NDArray[np.float32] = jump_weight(gradient)
    return weight


def _margin(a: NDArray[np.float32], index: NDArray[np.float32], n: int) -> NDArray[np.float32]:
    """Judge the depth against windowed curves, in bands of rows that need little memory."""
    height, around = index.shape[0], CONFIDENCE_WINDOW // 2
    M = np.empty_like(index)
    for top in range(0, height, BAND):
        bottom = min(top + BAND, height)
        above, below = max(top - around, 0), min(bottom + around, height)
        inside = slice(top - above, bottom - above)
        windowed = np.stack([box_mean(a_m[above:below], CONFIDENCE_WINDOW)[inside] for a_m in a])
        M[top:bottom] = depth.curve_margin(windowed, index[top:bottom], n)
    return M


def _windowed(stack: FocusStack, params: Params, progress: Progress) -> NDArray[np.float32]:
    """Return the windowed contrast of all frames."""
    n = len(stack)
    volume = np.empty((n, *stack.shape), np.float32)
    for k, frame in enumerate(track(stack.ahead(), "contrast", n, progress)):
        volume[k] = box_mean(mlap(stack.as_unit(frame)), params.classic.window)
    if not volume.any():
        raise NoContrastError()
    return volume


def _highest(
    volume: NDArray[np.float32], params: Params, progress: Progress, room: int | None
) -> Estimate:
    """Return the maximum of contrast over focus, and what smooths the map afterwards."""
    del progress, room
    index = classic.classic_index(volume, params.classic)

    def contrast_at(k: Any) -> NDArray[Any]:
        nearest = np.broadcast_to(np.rint(k).astype(np.intp), index.shape)[None]
        value: NDArray[np.float32] = np.take_along_axis(volume, nearest, axis=0)[0]
        return value

    return Estimate(index, depth.margin(contrast_at, index, len(volume)), None)


def doubtful(share: float) -> list[str]:
    """Say so if nothing in the stack determines the depth of most pixels, given who is known."""
    if share >= 0.5:
        return []
    return [
        f"no more than noise speaks for the depth of {1.0 - share:.0%} of the pixels: they follow "
        'their neighbours. unknown="nan" marks them.'
    ]


def ends_share(index: NDArray[np.float32], n: int) -> tuple[float, float]:
    """Return the share of the pixels that are sharpest in the first and in the last frame."""
    return float((index < 0.5).mean()), float((index > n - 1.5).mean())


def out_of_range(share: tuple[float, float], n: int) -> list[str]:
    """Say so if many pixels are sharpest at an end of the stack: they may lie beyond it."""
    end = int(np.argmax(share))
    # A surface spread evenly over the range has ½/(n − 1) of its pixels within ½ frame of an end.
    if share[end] < END_SHARE + 0.5 / (n - 1):
        return []
    return [
        f"{share[end]:.0%} of the pixels are sharpest in the {('first', 'last')[end]} frame: the "
        "surface may go on beyond the range of focus. More frames at that end would tell."
    ]


def settled_method(
    stack: FocusStack, params: Params, limit: int | None
) -> tuple[Params, list[str]]:
    """Settle what "auto" means: robust if it fits into memory, else paper, and say so.

    The edge stage of robust is left out where only that does not fit.

    Parameters
    ----------
    stack : FocusStack
        Frames.
    params : Params
        Parameters as asked for.
    limit : int or None
        Bytes that may be used; None allows 60 % of what is free.

    Returns
    -------
    tuple of Params and list of str
        Parameters with a definite method, and what was changed, in words.
    """
    if params.method not in ("auto", "robust"):
        return params, []
    wanted = replace(params, method="robust")
    needed, allowed = memory.needed_bytes(stack, wanted), memory.allowed_bytes(limit)
    if needed <= allowed:
        return wanted, []
    plain = replace(wanted, robust=replace(wanted.robust, edges="off"))
    least = memory.needed_bytes(stack, plain)
    if least <= allowed and least < needed:
        return plain, [
            f"the edge stage would need {memory.size_words(needed)} in all and may use "
            f"{memory.size_words(allowed)}; it was left out, and depth jumps are less accurate. "
            "Smaller frames or more memory (--max-memory) allow it."
        ]
    if params.method == "robust":
        return plain, []  # too large even so
    needed = least
    note = (
        f"the method “robust” would need {memory.size_words(needed)} and may use "
        f"{memory.size_words(allowed)}; “paper” was used instead, which is less accurate. "
        "Smaller frames or more memory (--max-memory) allow “robust”."
    )
    if wanted.robust != RobustParams():
        note += " The parameters of “robust” that were given had no effect."
    return Params("paper", fusion=params.fusion), [note]


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


@dataclass(frozen=True)
class Method:
    """A method in its two halves.

    Attributes
    ----------
    prepare : callable
        Looks at every frame once: ``prepare(stack, params, progress)``.
    solve : callable
        Makes the depth of that: ``solve(prepared, params, progress, room) -> Estimate``.
    depends_on : callable
        Returns those of the parameters that concern the first half.
    """

    prepare: Callable[[FocusStack, Params, Progress], Any]
    solve: Callable[[Any, Params, Progress, int | None], Estimate]
    depends_on: Callable[[Params], object]


_ROBUST = Method(
    robust.prepare,
    robust.solve,
    lambda p: (p.robust.coordinate, p.robust.support, p.robust.coarse_blur),
)
METHODS: Mapping[str, Method] = {
    "auto": _ROBUST,
    "robust": _ROBUST,
    "paper": Method(_measured, _minimised, lambda p: (p.contrast, p.curve, p.start)),
    "classic": Method(_windowed, _highest, lambda p: p.classic.window),
}
"""The two halves of each method."""
