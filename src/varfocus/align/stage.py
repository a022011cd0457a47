"""The alignment stage: look at every frame once, decide, and return a stack that is aligned.

Look (shrink, signature, thumbnail) → order → pairs (k, k+1), (k, k+2) → broken frames → least
squares over all pairs → does it need alignment? → light → common area. Nothing here ends a run:
what cannot be aligned is left as it is, with a warning.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass, replace
from itertools import pairwise, takewhile

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from varfocus import engine
from varfocus.align import exposure, order
from varfocus.align.alignment import Alignment, read_record
from varfocus.align.area import common_area
from varfocus.align.continuation import continued
from varfocus.align.graph import absolute, reachable
from varfocus.align.models import scaling, unit
from varfocus.align.register import COARSEST, Grey, Pair, pyramid, register
from varfocus.align.warp import shrink
from varfocus.errors import ParameterError
from varfocus.params import AlignParams
from varfocus.progress import Progress, silent, track
from varfocus.stack import FocusStack

WORKING_PIXELS = 500_000
"""Frames are shrunk by a whole factor to at most this many pixels to be looked at."""

STILL = 0.75
"""A stack of which no frame moves by more pixels than this (root mean square) is aligned:
resampling would only blur it. Defocus alone measures up to 0.5."""

UNLIKE = 0.97
STILL_UNLIKE = 3.0
"""A frame that correlates less than `UNLIKE` with its neighbours, defocused as it is, must move by
more pixels than this to be a sign of motion."""

SMALLEST = COARSEST + 8
SMALLEST_AUTO = 128
"""Shortest sides in pixels of frames that can be aligned, and that are without being told to: on
very small frames defocus looks like motion."""

SAME_LIGHT = 1.5
"""Frames whose mean brightness differs by no more than this factor may show the same scene."""

STRUCTURE_BLUR = 2.5
"""σ in pixels of the Gaussian that takes the noise off before structure is measured."""

SMALLEST_CROP = 0.25
"""Share of the frame's area below which a common area is no sign of a good alignment."""


@dataclass(frozen=True)
class Look:
    """What is kept of the frames while they are compared.

    Attributes
    ----------
    factor : int
        By which the frames were shrunk.
    greys : list of ndarray of shape (h, w), float16
        Working images.
    thumbs : list of ndarray of shape (h', w', C), float32
        Smaller, and in colour.
    signatures : ndarray of shape (n, m)
        Of `varfocus.align.order.signature`.
    """

    factor: int
    greys: list[NDArray[np.float16]]
    thumbs: list[NDArray[np.float32]]
    signatures: NDArray[np.float32]


def align(
    stack: FocusStack, params: AlignParams | None = None, progress: Progress = silent
) -> tuple[FocusStack, Alignment]:
    """Align a stack.

    Parameters
    ----------
    stack : FocusStack
        Frames; each is decoded once, and again whenever the aligned stack is read.
    params : AlignParams, optional
        How.
    progress : callable
        Listener.

    Returns
    -------
    stack : FocusStack
        The aligned stack, lazy like the one given; the same object if nothing had to be done.
    alignment : Alignment
        What was found, with reasons and warnings.
    """
    params = AlignParams() if params is None else params
    if params.reference is not None and not params.reference < len(stack):
        raise ParameterError(
            f"received reference = {params.reference} for {len(stack)} frames",
            f"expected a frame number from 0 to {len(stack) - 1}",
        )
    found = _found(stack, params, progress)
    return found.apply(stack), found


def _found(stack: FocusStack, params: AlignParams, progress: Progress) -> Alignment:
    if params.transforms_from is not None:
        known = read_record(params.transforms_from, stack)
        if params.exposure == "none":
            return known
        return _equalised(known, look(stack, progress))
    if params.align == "none" and not params.auto_order:
        return Alignment.untouched(stack, "alignment was switched off")
    smallest = SMALLEST_AUTO if params.align == "auto" else SMALLEST
    if min(stack.shape) < smallest:
        return Alignment.untouched(stack, f"frames below {smallest} pixels are too small to align")
    seen = look(stack, progress)
    plain = _ordered(Alignment.untouched(stack, "alignment was switched off"), seen, params, stack)
    if params.align == "none":
        return plain
    model = "similarity" if params.align == "auto" else params.align
    found = _registered(plain, seen, model, params, stack, progress)
    if found.model == "none":  # given up
        return found
    if params.align == "auto":
        used = [k for k in found.order if k not in found.left_out]
        limits = np.where(found.correlations < UNLIKE, STILL_UNLIKE, STILL)
        if all(found.motion(k) < limits[k] for k in used):
            motion = max(found.motion(k) for k in used)
            reason = f"they are aligned to within {motion:.2f} pixels, as well as can be told"
            found = replace(
                found,
                model="none",
                reason=reason,
                matrices=plain.matrices,
                crop=plain.crop,
            )
        else:
            found = replace(
                found, reason=f"they move by up to {found.largest_displacement:.1f} pixels"
            )
    return found if params.exposure == "none" else _equalised(found, seen)


def look(stack: FocusStack, progress: Progress = silent) -> Look:
    """Decode every frame once and keep what comparing them needs: 2 bytes per working pixel."""
    height, width = stack.shape
    factor = max(math.ceil(math.sqrt(height * width / WORKING_PIXELS)), 1)
    greys, thumbs, signatures = [], [], []
    for frame in track(stack.ahead(), "looking", len(stack), progress):
        small = shrink(frame, factor, stack.scale)
        grey = small.mean(axis=2)
        greys.append(np.clip(grey, -6e4, 6e4).astype(np.float16))
        thumbs.append(shrink(small, min(exposure.THUMB, *small.shape[:2]), 1.0))
        signatures.append(order.signature(grey))
    return Look(factor, greys, thumbs, np.stack(signatures))


def _ordered(plain: Alignment, seen: Look, params: AlignParams, stack: FocusStack) -> Alignment:
    """Compare the order of the frames with the shortest path through them."""
    best, ratio = order.best_order(seen.signatures)
    if ratio >= order.DOUBTFUL:
        return replace(plain, order_ratio=ratio)
    names = ", ".join(stack.names[k] for k in best[:12]) + (" …" if len(best) > 12 else "")
    if params.auto_order:
        note = f"the frames were out of order and were put into this one: {names}"
        return replace(plain, order=tuple(best), order_ratio=ratio, warnings=(note,))
    degree = "are not" if ratio < order.WRONG else "may not be"
    note = (
        f"the frames {degree} in the order of focus: another one changes by "
        f"{1.0 - ratio:.0%} less from frame to frame ({names}). --auto-order uses it."
    )
    return replace(plain, order_ratio=ratio, warnings=(note,))


def _registered(
    plain: Alignment,
    seen: Look,
    model: str,
    params: AlignParams,
    stack: FocusStack,
    progress: Progress,
) -> Alignment:
    """Register neighbours, find broken frames, and combine the rest."""
    n, way = len(stack), plain.order
    steps = [(way[r], way[r + d]) for r in range(n) for d in (1, 2) if r + d < n]
    pairs = _pairs(steps, seen, model, progress)
    correlations = np.zeros(n)
    for pair in pairs:
        for k in (pair.i, pair.j):
            correlations[k] = max(correlations[k], pair.correlation)
    threshold = float(np.clip(1.0 - 6.0 * (1.0 - np.median(correlations)), 0.3, 0.6))
    faint = _faint(seen, [way[r] for r in range(n) if correlations[way[r]] < threshold], way)
    left_out = _broken(correlations, threshold, seen.signatures[list(way)], way, faint)
    plain = replace(plain, correlations=correlations)
    if n - len(left_out) < 3:
        return _given_up(plain, "no three frames look alike")
    notes = [f"{stack.names[k]} was left out: {why}" for k, why in sorted(left_out.items())]
    kept = [k for k in way if k not in left_out]
    pairs = [
        p
        for p in pairs
        if p.i not in left_out and p.j not in left_out and p.correlation >= threshold
    ]
    plainly = [k for k in kept if k not in faint]
    bridges = [(i, j) for i, j in pairwise(plainly) if j not in reachable(pairs, n, i)]
    pairs += [p for p in _pairs(bridges, seen, model, silent) if p.correlation >= threshold]
    if not set(plainly) <= reachable(pairs, n, plainly[0]):
        return _given_up(plain, "the frames fall into parts that do not fit together")
    reference = _reference(params, kept, way)
    sure = [p for p in pairs if math.isfinite(p.error)]
    # The reference itself may be one of those that tell nothing.
    told = max((reachable(sure, n, k) for k in (reference, *plainly)), key=len)
    anchor = reference if reference in told else min(told, key=lambda k: abs(k - reference))
    shape = (seen.greys[0].shape[0], seen.greys[0].shape[1])
    small = absolute(sure, n, anchor, model, shape)
    # What blur has wiped out cannot be registered; it goes on as those around it do.
    places = [r for r, k in enumerate(way) if k in told]
    small[list(way)] = continued(small[list(way)], places, shape)
    small = small @ np.linalg.inv(small[reference])
    S = scaling(float(seen.factor))
    matrices = np.stack([unit(S @ m @ np.linalg.inv(S)) for m in small])
    matrices[reference] = np.eye(3)
    crop = common_area([matrices[k] for k in kept], stack.shape)
    if crop.width * crop.height < SMALLEST_CROP * stack.shape[0] * stack.shape[1]:
        return _given_up(plain, "the frames would have too little in common")
    return replace(
        plain,
        model=model,
        reason="alignment was asked for",
        reference=reference,
        matrices=matrices,
        left_out=left_out,
        crop=crop,
        masked=params.border == "mask",
        warnings=(*plain.warnings, *notes),
    )


def _given_up(plain: Alignment, why: str) -> Alignment:
    note = f"the frames could not be aligned and were left as they are: {why}"
    return replace(plain, reason=note, warnings=(*plain.warnings, note))


def _faint(seen: Look, unmatched: Sequence[int], way: Sequence[int]) -> set[int]:
    """Return the frames at the ends that defocus has wiped out.

    They match no neighbour because only noise is left, not because they show something else: they
    are as bright as the first frame that matches, and have less structure.
    """
    faint: set[int] = set()
    for inward in (list(way), list(way)[::-1]):
        run = list(takewhile(lambda k: k in unmatched, inward))
        if len(run) == len(way):
            continue
        level, structure = _structure(seen.greys[inward[len(run)]])
        for k in run:
            own_level, own = _structure(seen.greys[k])
            if own < structure and abs(math.log(own_level / level)) < math.log(SAME_LIGHT):
                faint.add(k)
    return faint


def _structure(grey: NDArray[np.float16]) -> tuple[float, float]:
    """Return the mean of a frame, and the deviation from it, relative to it, above the noise."""
    smooth = ndimage.gaussian_filter(grey.astype(np.float32), STRUCTURE_BLUR)
    level = max(float(smooth.mean()), 1e-6)
    return level, float(smooth.std()) / level


def _broken(
    correlations: NDArray[np.float64],
    threshold: float,
    signatures: NDArray[np.float32],
    way: Sequence[int],
    faint: set[int],
) -> dict[int, str]:
    """Return the frames that belong to another picture, or were blurred by motion, and why."""
    broken = {
        k: f"it matches no neighbour (correlation {correlations[k]:.2f}, usually "
        f"{np.median(correlations):.2f})"
        for k in way
        if correlations[k] < threshold and k not in faint
    }
    sound = [r for r, k in enumerate(way) if k not in broken and k not in faint]
    if len(sound) >= 5:
        for r in order.dips(signatures[sound]):
            broken[way[sound[r]]] = "it is less sharp than both its neighbours everywhere"
    return broken


def _reference(params: AlignParams, kept: Sequence[int], way: Sequence[int]) -> int:
    """Return the frame asked for, or the middle one, or the nearest to it that is not broken."""
    wanted = len(way) // 2 if params.reference is None else way.index(params.reference)
    return min(kept, key=lambda k: abs(way.index(k) - wanted))


def _pairs(
    steps: Iterable[tuple[int, int]], seen: Look, model: str, progress: Progress
) -> list[Pair]:
    """Register pairs of frames on threads; pyramids live as long as they are needed."""
    steps = list(steps)
    last_use = {k: number for number, step in enumerate(steps) for k in step}
    pyramids: dict[int, list[Grey]] = {}

    def one(i: int, j: int, fixed: list[Grey], moving: list[Grey]) -> Pair:
        with engine.use_threads(1):
            return Pair(i, j, *register(fixed, moving, model))

    workers = engine.thread_count()
    found = []
    with ThreadPoolExecutor(workers, thread_name_prefix="varfocus-align") as pool:
        for begin in range(0, len(steps), 2 * workers):
            batch = steps[begin : begin + 2 * workers]
            for k in dict.fromkeys(k for step in batch for k in step):
                if k not in pyramids:
                    pyramids[k] = pyramid(seen.greys[k].astype(np.float32))
            futures = [
                pool.submit(copy_context().run, one, i, j, pyramids[i], pyramids[j])
                for i, j in batch
            ]
            found += [future.result() for future in futures]
            done = begin + len(batch)
            for k in [k for k in pyramids if last_use[k] < done]:
                del pyramids[k]
            progress("aligning", done, len(steps))
    return found


def _equalised(found: Alignment, seen: Look) -> Alignment:
    """Give every frame the light of the reference, if the light was unsteady."""
    factor = seen.factor * exposure.THUMB
    matrices = np.stack([exposure.to_thumb(m, factor) for m in found.matrices])
    gains = exposure.gains(seen.thumbs, matrices, found.reference)
    for k in found.left_out:
        gains[k] = 1.0
    if np.abs(np.log(gains)).max() < exposure.STEADY:
        return found
    return replace(found, gains=gains)
