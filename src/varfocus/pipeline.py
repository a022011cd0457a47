"""The whole story on one screen: stack → align → contrast → curve → energy → minimise → fuse.

Each step is a module of that name and can be called by itself.
"""

from __future__ import annotations

import inspect
import math
import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from varfocus import engine, units
from varfocus.align import Alignment, align
from varfocus.bugs import guarded
from varfocus.canvas import Canvas, InTiles, Scratch, Whole
from varfocus.canvas.scratch import free_bytes, scratch_folder
from varfocus.errors import ParameterError, TooLargeError, VarfocusWarning
from varfocus.export.strokes import read_strokes
from varfocus.geometry import Rectangle
from varfocus.io.mask import read_mask
from varfocus.methods import classic, paper, robust
from varfocus.methods.estimate import Estimate
from varfocus.params import (
    DEFAULT_METHOD,
    Params,
    Resources,
)
from varfocus.plan import Plan, plan
from varfocus.products import OnDemand
from varfocus.progress import Progress, silent, track
from varfocus.result import Result
from varfocus.stack import ArrayFrame, FocusStack, Frame, FrameWindow
from varfocus.text import harmless, shown

END_SHARE = 0.25
"""A run warns if more pixels than this share, beyond those of a slope, lie at one end."""


@guarded
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
        where robust would not fit into memory even in tiles.
    focus : array_like of shape (n,), optional
        Focus position or distance of each frame; depth is then in its unit.
    unit : str, optional
        Name of that unit, for labels.
    threads : int, optional
        Number of threads; by default ``VARFOCUS_THREADS``, or as many as there are processors.
        The result does not depend on it.
    max_memory : str, optional
        Such as "4GB"; by default 60 % of what is free. What does not fit is processed in tiles: the
        arrays of the result are then mapped from files without names in ``TMPDIR`` or ``/var/tmp``,
        which vanish with it. Results that should stay are better written by
        `varfocus.reconstruct_into`. What does not fit in tiles either is refused beforehand.
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
        warnings.warn(message, VarfocusWarning, stacklevel=3)  # past the guard
    return result


def run(
    stack: FocusStack,
    params: Params,
    progress: Progress = silent,
    resources: Resources = Resources(),
    kept: Kept | None = None,
    sketch: bool = False,
    counts: NDArray[np.bool_] | None = None,
    planned: Plan | None = None,
    folder: Path | None = None,
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
        What earlier runs of the same stack left behind: a change of the smoothness alone then needs
        neither alignment nor contrast again. Costs the memory to hold it; not used in tiles.
    sketch : bool
        For small frames, to answer at once: depth jumps are not sharpened, and every pixel of the
        all-in-focus image is taken from a single frame. Aligned frames stay in memory.
    counts : ndarray of shape (H, W), bool, optional
        Which pixels of the frames count; by default what the mask of `params` says.
    planned : Plan, optional
        How to process the stack, from `varfocus.plan.plan`; by default it is made here.
    folder : Path, optional
        Where scratch files may lie if the image is processed in tiles; they have no names, and
        vanish with the result. By default `varfocus.canvas.scratch.scratch_folder`.

    Returns
    -------
    Result
        Warnings are listed in it and not issued.
    """
    _check_listener(progress)
    planned = planned or plan(stack, params, resources)
    params, box, original = planned.params, planned.params.area.box, stack
    if counts is None and params.area.mask is not None:
        counts = read_mask(params.area.mask, stack.shape)
    strokes = None if params.strokes.retouch is None else read_strokes(params.strokes.retouch)
    if strokes is not None:
        strokes.check_size(stack.shape)
    began = time.perf_counter()
    frames = Kept() if kept is None or planned.side else kept
    with engine.use_threads(resources.threads):
        finding = partial(_found, original, params, planned, progress)
        alignment = frames.once("alignment", params.align, finding)
        applying = partial(_applied, alignment, original, box, sketch, planned.holds)
        stack = frames.once("aligned", (params.align, box, sketch, planned.holds), applying)
        stack, canvas = _spread(stack, planned, folder, progress)
        seen = _counting(alignment, box, counts)
        params, notes = paper.fitting_degree(stack, params)
        asked = _without_edges(params) if sketch else params
        again = None if planned.side else kept
        found = estimate(stack, asked, progress, planned.room, again, canvas)
    known, extremes = _shares(found, seen, len(stack), canvas)
    notes = [*planned.warnings, *alignment.warnings, *notes, *out_of_range(extremes, len(stack))]
    if known is not None:
        notes += doubtful(known)
    if planned.side is not None and params.fusion.moving != "blend":
        notes.append("moving subjects were not looked for: the image is processed in tiles.")
    products = OnDemand(
        stack,
        found,
        params,
        alignment.depths(stack),
        seen,
        canvas,
        resources.threads,
        sketch,
        progress,
    )
    result = Result(
        products=products,
        stack=stack,
        params=params,
        index=found.index,
        trace=found.trace,
        warnings=tuple(notes),
        seconds=time.perf_counter() - began,
        known=found.known,
        findings=found.notes,
        alignment=alignment,
        original=original,
        counts=counts,
        canvas=canvas,
        plan=planned,
    )
    return result if strokes is None else result.retouched(strokes)


def _check_listener(progress: Progress) -> None:
    if not callable(progress) or isinstance(progress, type):
        raise ParameterError(
            f"received progress = {shown(progress)}", "expected a function of stage, done and total"
        )
    try:
        signature = inspect.signature(progress)
    except (TypeError, ValueError):  # some built-in functions have none
        return
    try:
        signature.bind("stage", 0, 1)
    except TypeError as error:
        raise ParameterError(
            f"received progress{harmless(str(signature))[:100]}",
            "expected a function of stage, done and total",
        ) from error


def _found(stack: FocusStack, params: Params, planned: Plan, progress: Progress) -> Alignment:
    """Return the alignment of the frames, or the assumption that they are aligned."""
    if planned.aligns:
        return align(stack, params.align, progress)[1]
    if params.align.align == "none":
        return Alignment.untouched(stack, "alignment was switched off")
    note = (
        f"frames of {math.prod(stack.shape) / 1e6:.0f} megapixels that do not fit into memory were "
        "assumed to be aligned. If they are not, align them before they are stitched."
    )
    return Alignment.untouched(stack, "they were assumed to be aligned", note)


def _applied(
    alignment: Alignment, stack: FocusStack, box: Rectangle | None, at_once: bool, holds: bool
) -> FocusStack:
    """Apply an alignment inside of a rectangle; resample every frame at once, or keep what is."""
    aligned = alignment.apply(stack, box)
    if at_once:
        frames = [ArrayFrame(f.name, aligned.read(k)) for k, f in enumerate(aligned.frames)]
        return replace(aligned, frames=frames)
    return aligned.held() if holds else aligned


def _spread(
    stack: FocusStack, planned: Plan, folder: Path | None, progress: Progress
) -> tuple[FocusStack, Canvas]:
    """Return where the maps will live and, for tiles, frames that can be read in parts."""
    if planned.side is None:
        return stack, Whole(stack.shape)
    folder = folder or scratch_folder()
    free = free_bytes(folder)
    if free < planned.disk:
        raise TooLargeError(
            f"{folder}: {units.size_words(free)} of disk space are free",
            f"expected at least {units.size_words(planned.disk)} for temporary files",
            "Choose a folder on a larger disk with -o; in Python, set TMPDIR to one or use "
            "reconstruct_into.",
        )
    scratch = Scratch(folder)
    if stack.windowed:  # never to be decoded whole, not even by a tile that sees all of it
        everything = Rectangle.whole(stack.shape).window
        frames: list[Frame] = [FrameWindow(frame, *everything) for frame in stack.frames]
    else:  # decoded once, because files without parts are decoded whole
        pixels = scratch.empty((len(stack), *stack.frames[0].shape), stack.dtype)
        frames = []
        for k, frame in enumerate(track(stack, "unpacking", len(stack), progress)):
            pixels[k] = frame
            scratch.release()
            frames.append(ArrayFrame(stack.names[k], pixels[k]))
    stack = replace(stack, frames=frames)
    return stack, InTiles(stack.shape, planned.side, scratch)


def _counting(
    alignment: Alignment,
    box: Rectangle | None,
    counts: NDArray[np.bool_] | None,
) -> NDArray[np.bool_] | None:
    """Return which pixels of the result all frames show and the user wants; None for all."""
    seen = alignment.seen_by_all(alignment.size)
    if counts is not None:
        seen = counts if seen is None else seen & counts
    if seen is None:
        return None
    seen = seen[alignment.extent(box).window]
    if not seen.any():
        raise ParameterError(
            "received a mask that leaves no pixel of the result",
            "expected some of it to be white inside the crop, and where all frames overlap",
        )
    return seen


def _shares(
    found: Estimate, seen: NDArray[np.bool_] | None, n: int, canvas: Canvas
) -> tuple[float | None, tuple[float, float]]:
    """Return the share of the pixels that count whose depth is known, and that lies at an end."""
    everywhere = np.broadcast_to(np.True_, found.index.shape)
    known = everywhere if found.known is None else found.known
    counts = np.zeros(4, np.int64)
    for index, sure, inside in canvas.blocks(
        found.index, known, everywhere if seen is None else seen
    ):
        ends = index < 0.5, index > n - 1.5
        counts += [np.count_nonzero(inside & each) for each in (everywhere[:1, :1], sure, *ends)]
    size, *rest = counts.tolist()
    share, first, last = (count / size for count in rest)
    return None if found.known is None else share, (first, last)


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
    canvas: Canvas | None = None,
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
        Bytes that the volumes of the robust method may take; None for no limit.
    kept : Kept, optional
        What earlier calls on the same stack left behind.
    canvas : Canvas, optional
        Where maps are kept; by default in memory.

    Returns
    -------
    Estimate
        Depth in frames, and what is known about it.
    """
    method = METHODS[params.method]

    def prepare() -> Any:
        return method.prepare(stack, params, progress, canvas)

    if kept is None:
        return method.solve(prepare(), params, progress, room)
    key = method.prepare, method.depends_on(params)
    return method.solve(kept.once("prepared", key, prepare), params, progress, room)


class Kept:
    """What stays the same while a stack is reconstructed again and again; `run` fills it."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[object, Any]] = {}

    def once(self, what: str, key: object, make: Callable[[], Any]) -> Any:
        """Return what was made under this key the last time, or make it.

        What was made later depends on it, and is made again, too.
        """
        known = self._known.get(what)
        if known is None or known[0] != key:
            names = list(self._known)
            for later in names[names.index(what) :] if known else ():
                del self._known[later]  # before the next one takes its memory
            self._known[what] = key, make()
        return self._known[what][1]


def doubtful(share: float) -> list[str]:
    """Warn if nothing in the stack determines the depth of most pixels, given which are known."""
    if share >= 0.5:
        return []
    return [
        f"the depth of {1.0 - share:.0%} of the pixels has no support beyond noise: they follow "
        'their neighbours. unknown="nan" marks them.'
    ]


def out_of_range(share: tuple[float, float], n: int) -> list[str]:
    """Warn if many pixels are sharpest at an end of the stack: they may lie beyond it."""
    end = int(np.argmax(share))
    # A surface spread evenly over the range has ½/(n − 1) of its pixels within ½ frame of an end.
    if share[end] < END_SHARE + 0.5 / (n - 1):
        return []
    return [
        f"{share[end]:.0%} of the pixels are sharpest in the {('first', 'last')[end]} frame: the "
        "surface may go on beyond the range of focus. More frames at that end would show it."
    ]


@dataclass(frozen=True)
class Method:
    """A method in its two halves.

    Attributes
    ----------
    prepare : callable
        Looks at every frame once: ``prepare(stack, params, progress, canvas)``.
    solve : callable
        Makes the depth of that: ``solve(prepared, params, progress, room) -> Estimate``.
    depends_on : callable
        Returns those of the parameters that concern the first half.
    """

    prepare: Callable[[FocusStack, Params, Progress, Canvas | None], Any]
    solve: Callable[[Any, Params, Progress, int | None], Estimate]
    depends_on: Callable[[Params], object]


_ROBUST = Method(
    robust.prepare,
    robust.solve,
    lambda p: (p.robust.coordinate, p.robust.support, p.robust.coarse_blur, p.sharpness),
)
METHODS: Mapping[str, Method] = {
    "auto": _ROBUST,
    "robust": _ROBUST,
    "paper": Method(
        paper.prepare, paper.solve, lambda p: (p.contrast, p.curve, p.start, p.sharpness)
    ),
    "classic": Method(
        classic.prepare,
        classic.solve,
        lambda p: (p.classic.window, p.classic.guided, p.classic.guided_edge, p.sharpness),
    ),
}
"""The two halves of each method."""
