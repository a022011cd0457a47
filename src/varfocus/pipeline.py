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

from varfocus import depth, engine, plan, units
from varfocus.align import Alignment, align
from varfocus.canvas import budget
from varfocus.edges import unveiled
from varfocus.errors import ParameterError, VarfocusWarning
from varfocus.fuse import fuse, pick
from varfocus.geometry import Rectangle
from varfocus.io.mask import read_mask
from varfocus.methods import classic, paper, robust
from varfocus.methods.estimate import Estimate
from varfocus.params import (
    COMMON_STAGES,
    DEFAULT_METHOD,
    Params,
    Resources,
    RobustParams,
)
from varfocus.progress import Progress, silent
from varfocus.result import Result
from varfocus.stack import ArrayFrame, FocusStack

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
    counts: NDArray[np.bool_] | None = None,
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
    counts : ndarray of shape (H, W), bool, optional
        Which pixels of the frames count; by default what the mask of `params` says.

    Returns
    -------
    Result
        Warnings are listed in it and not issued.
    """
    limit = None if resources.max_memory is None else units.parse_size(resources.max_memory)
    box = params.area.box
    part = stack if box is None else stack.cropped(box)
    params, changes = settled_method(part, params, limit)
    plan.admit(part, params, limit)
    if counts is None and params.area.mask is not None:
        counts = read_mask(params.area.mask, stack.shape)
    began = time.perf_counter()
    original, frames = stack, kept or Kept()
    with engine.use_threads(resources.threads):
        finding = partial(align, original, params.align, progress)
        _, alignment = frames.once("alignment", params.align, finding)
        applying = partial(_applied, alignment, original, box, sketch)
        stack = frames.once("aligned", (params.align, box, sketch), applying)
        seen = _counting(alignment, box, counts)
        params, notes = paper.fitting_degree(stack, params)
        notes = [*changes, *alignment.warnings, *notes]
        room = plan.room_for_volumes(stack, params, limit)
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
    inside = np.s_[:] if seen is None else seen
    notes += out_of_range(ends_share(found.index[inside], len(stack)), len(stack))
    if found.known is not None:
        notes += doubtful(float(found.known[inside].mean()))
        if params.robust.unknown == "nan":
            physical = np.where(found.known, physical, np.float32(np.nan))
    confidence = depth.confidence(
        found.margin, depth.flatness(found.index), CONFIDENCE_WEIGHTS[params.method]
    )
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
        counts=counts,
    )


def _applied(
    alignment: Alignment, stack: FocusStack, box: Rectangle | None, hold: bool
) -> FocusStack:
    """Apply an alignment inside of a rectangle, and on request resample every frame for good."""
    aligned = alignment.apply(stack, box)
    if hold:
        frames = [ArrayFrame(f.name, aligned.read(k)) for k, f in enumerate(aligned.frames)]
        aligned = replace(aligned, frames=frames)
    return aligned


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
        """Return what was made under this key the last time, or make it.

        What was made later rests on it, and is made again too.
        """
        known = self._known.get(what)
        if known is None or known[0] != key:
            names = list(self._known)
            for later in names[names.index(what) :] if known else ():
                del self._known[later]  # before the next one takes its memory
            self._known[what] = key, make()
        return self._known[what][1]


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
    needed, allowed = plan.needed_bytes(stack, wanted), budget.allowed_bytes(limit)
    if needed <= allowed:
        return wanted, []
    plain = replace(wanted, robust=replace(wanted.robust, edges="off"))
    least = plan.needed_bytes(stack, plain)
    if least <= allowed and least < needed:
        return plain, [
            f"the edge stage would need {units.size_words(needed)} in all and may use "
            f"{units.size_words(allowed)}; it was left out, and depth jumps are less accurate. "
            "Smaller frames or more memory (--max-memory) allow it."
        ]
    if params.method == "robust":
        return plain, []  # too large even so
    needed = least
    note = (
        f"the method “robust” would need {units.size_words(needed)} and may use "
        f"{units.size_words(allowed)}; “paper” was used instead, which is less accurate. "
        "Smaller frames or more memory (--max-memory) allow “robust”."
    )
    if wanted.robust != RobustParams():
        note += " The parameters of “robust” that were given had no effect."
    kept = {name: getattr(params, name) for name in COMMON_STAGES}
    return Params("paper", **kept), [note]


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
    lambda p: (p.robust.coordinate, p.robust.support, p.robust.coarse_blur, p.sharpness),
)
METHODS: Mapping[str, Method] = {
    "auto": _ROBUST,
    "robust": _ROBUST,
    "paper": Method(
        paper.prepare, paper.solve, lambda p: (p.contrast, p.curve, p.start, p.sharpness)
    ),
    "classic": Method(classic.prepare, classic.solve, lambda p: (p.classic.window, p.sharpness)),
}
"""The two halves of each method."""
