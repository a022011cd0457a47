"""The alignment stage: look at every frame once, decide, and return a stack that is aligned.

Look (thumbnail, signature) → order → did it move at all? → pairs (k, k+1), (k, k+2) → broken frames
→ least squares over all pairs → is motion likely? → all frames registered to what is sharp → is it
still? → light → common area. Nothing here ends a run: what cannot be aligned is left as it is, with
a warning.

Motion is likely where pairs put a frame farther from the reference than resampling is worth, beyond
what they are unsure by and what defocus may pretend: distance > `STILL` + `SURE` · standard error +
doubt. It is proven where the frame, registered to what is sharp, lies there as well: distance >
`STILL` + `SURE` · standard error, in which blur is counted; and where, on the same pixels, motion
explains it better than standing still and being blurred place by place, by `DECISIVE` standard
errors.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from varfocus import engine
from varfocus.align import exposure, order
from varfocus.align.alignment import Alignment, read_record
from varfocus.align.area import common_area
from varfocus.align.broken import broken, faint_ends
from varfocus.align.continuation import continued, independent
from varfocus.align.graph import absolute, doubts, reachable
from varfocus.align.joint import preferences, refined
from varfocus.align.links import Mapper
from varfocus.align.look import Look, look
from varfocus.align.models import scaling, unit
from varfocus.align.pairs import registered_pairs
from varfocus.align.register import DECISIVE
from varfocus.align.steady import steadiness
from varfocus.align.whole import COARSEST
from varfocus.errors import ParameterError
from varfocus.params import AlignParams
from varfocus.progress import Progress, silent
from varfocus.stack import FocusStack

STILL = 0.75
"""Frames that move by fewer pixels than this (root mean square) are left alone: resampling would
only blur them."""

SURE = 3.0
"""Motion is likely, and proven, beyond `STILL` by more than this many standard errors."""

QUIET = 0.5
CALM_ERROR = 0.35
ROUGH_ERROR = 1.5
"""Thumbnails show a steady stack if no frame seems to move by more pixels than `QUIET` and what
defocus may pretend, half of the frames to within `CALM_ERROR` and all to within `ROUGH_ERROR`."""

ALIKE = 0.6
"""and if every frame correlates with one of its neighbours by at least this much."""

LARGEST_ERROR = 2.0
"""Pairs with a larger standard error in pixels of the working image tell nothing."""

SMALLEST = COARSEST + 8
SMALLEST_AUTO = 128
"""Shortest sides in pixels of frames that can be aligned, and that are without being told to: on
very small frames defocus looks like motion."""

SMALLEST_CROP = 0.25
"""Share of the frame's area below which a common area is no sign of a good alignment."""


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
    found = _steady(plain, seen, params) if params.align == "auto" else None
    if found is None:
        model = "similarity" if params.align == "auto" else params.align
        found = _registered(plain, seen, model, params, stack, progress)
        if found.model == "none":  # given up
            return found
        if params.align == "auto":
            found = _judged(found, plain, found.doubts)
        if found.model != "none":
            automatic = params.align == "auto"
            found, proofs = _improved(found, seen, automatic, progress)
            if automatic:
                # What was registered to blurred frames has blur in its errors.
                found = _judged(found, plain, np.where(proofs < DECISIVE, np.inf, 0.0))
            if params.align == "auto" and found.model != "none":
                farthest = found.largest_displacement
                found = replace(found, reason=f"they move by up to {farthest:.1f} pixels")
    return found if params.exposure == "none" else _equalised(found, seen)


def _steady(plain: Alignment, seen: Look, params: AlignParams) -> Alignment | None:
    """Return that the frames stay where they are, if thumbnails show that they stand still."""
    way = list(plain.order)
    reference = _reference(params, way, way)
    signatures = seen.signatures[way]
    if len(way) >= 5 and order.dips(signatures):
        return None
    greys = np.stack([exposure.grey(thumb) for thumb in seen.thumbs])[way]
    found = steadiness(greys, seen.factor * exposure.THUMB, way.index(reference))
    if found is None or (found.correlation < ALIKE).any():
        return None
    calm = (found.motion < QUIET + found.doubt).all() and (found.error < ROUGH_ERROR).all()
    if not calm or np.median(found.error) > CALM_ERROR:
        return None
    back = np.argsort(way)
    return replace(
        plain,
        reason=_still(float(found.motion.max())),
        reference=reference,
        correlations=found.correlation[back],
        motions=found.motion[back],
        errors=found.error[back],
        doubts=found.doubt[back],
    )


def _judged(found: Alignment, plain: Alignment, doubts: NDArray[np.float64]) -> Alignment:
    """Keep the maps only if one frame moved, beyond doubts in pixels."""
    used = [k for k in found.order if k not in found.left_out]
    known = [k for k in used if np.isfinite(found.errors[k])]
    if found.reference not in known:  # nor can motion relative to it be
        known = []
    if any(found.motions[k] - SURE * found.errors[k] - doubts[k] > STILL for k in known):
        return found
    motion = max((float(found.motions[k]) for k in known), default=0.0)
    lost = len(used) - sum(found.errors[k] < LARGEST_ERROR for k in known)
    untold = f"; blur leaves too little of {lost} of them to tell" if lost else ""
    return replace(
        found,
        model="none",
        reason=_still(motion) + untold,
        matrices=plain.matrices,
        crop=plain.crop,
    )


def _still(motion: float) -> str:
    if motion < STILL:
        return f"they are aligned to within {motion:.2f} pixels, as well as can be told"
    return (
        f"they seem to move by {motion:.1f} pixels, which cannot be told from a change of defocus"
    )


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
    pairs = registered_pairs(steps, seen, model, progress)
    correlations = np.zeros(n)
    for pair in pairs:
        for k in (pair.i, pair.j):
            correlations[k] = max(correlations[k], pair.correlation)
    threshold = float(np.clip(1.0 - 6.0 * (1.0 - np.median(correlations)), 0.3, 0.6))
    faint = faint_ends(seen, [way[r] for r in range(n) if correlations[way[r]] < threshold], way)
    left_out = broken(correlations, threshold, seen.signatures[list(way)], way, faint)
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
    pairs += [
        p for p in registered_pairs(bridges, seen, model, silent) if p.correlation >= threshold
    ]
    if not set(plainly) <= reachable(pairs, n, plainly[0]):
        return _given_up(plain, "the frames fall into parts that do not fit together")
    reference = _reference(params, kept, way)
    sure = [p for p in pairs if p.error < LARGEST_ERROR]
    # The reference itself may be one of those that tell nothing.
    told = max((reachable(sure, n, k) for k in (reference, *plainly)), key=len)
    anchor = reference if reference in told else min(told, key=lambda k: abs(k - reference))
    shape = (seen.grey(0).shape[0], seen.grey(0).shape[1])
    small, errors = absolute(sure, n, anchor, model, shape)
    biases = doubts(sure, n, anchor)
    # What blur has wiped out cannot be registered; it goes on as those around it do.
    likely, _ = continued(
        small[list(way)], independent(errors[list(way)], model, shape), model, shape
    )
    for r, k in enumerate(way):
        if k not in told:
            small[k] = likely[r]
    small = small @ np.linalg.inv(small[reference])
    S = scaling(float(seen.factor))
    matrices = np.stack([unit(S @ m @ np.linalg.inv(S)) for m in small])
    matrices[reference] = np.eye(3)
    crop = common_area([matrices[k] for k in kept], stack.shape)
    if crop.width * crop.height < SMALLEST_CROP * stack.shape[0] * stack.shape[1]:
        return _given_up(plain, "the frames would have too little in common")
    found = replace(
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
    return replace(
        found,
        motions=np.array([found.motion(k) for k in range(n)]),
        errors=seen.factor * errors,
        doubts=seen.factor * biases,
    )


def _improved(
    found: Alignment, seen: Look, proving: bool, progress: Progress
) -> tuple[Alignment, NDArray[np.float64]]:
    """Register all frames in use to what is sharp, and continue those that show nothing.

    Also returned is by how many standard errors motion explains each frame better than defocus
    does, if that is to be proven.
    """
    used = [k for k in found.order if k not in found.left_out]
    S = scaling(float(seen.factor))
    small = np.linalg.inv(S) @ found.matrices[used] @ S
    reference = used.index(found.reference)
    greys = [seen.grey(k) for k in used]
    with ThreadPoolExecutor(engine.thread_count(), thread_name_prefix="varfocus-align") as pool:
        better = refined(greys, small, found.model, reference, _mapper(pool), progress)
        proofs = np.zeros(len(found.matrices))
        if proving:
            proofs[used] = preferences(greys, better, reference, _mapper(pool))
    shape = (seen.grey(0).shape[0], seen.grey(0).shape[1])
    maps, unsure = continued(better.maps, better.covariance, found.model, shape)
    matrices = found.matrices.copy()
    matrices[used] = [unit(S @ m @ np.linalg.inv(S)) for m in maps]
    matrices[found.reference] = np.eye(3)
    errors, doubts = found.errors.copy(), found.doubts.copy()
    errors[used], doubts[used] = seen.factor * unsure, seen.factor * better.doubts
    crop = common_area([matrices[k] for k in used], found.size)
    if crop.width * crop.height < SMALLEST_CROP * found.size[0] * found.size[1]:
        return found, proofs
    improved = replace(found, matrices=matrices, errors=errors, doubts=doubts, crop=crop)
    motions = np.array([improved.motion(k) for k in range(len(matrices))])
    return replace(improved, motions=motions), proofs


def _given_up(plain: Alignment, why: str) -> Alignment:
    note = f"the frames could not be aligned and were left as they are: {why}"
    return replace(plain, reason=note, warnings=(*plain.warnings, note))


def _reference(params: AlignParams, kept: Sequence[int], way: Sequence[int]) -> int:
    """Return the frame asked for, or the middle one, or the nearest to it that is not broken."""
    wanted = len(way) // 2 if params.reference is None else way.index(params.reference)
    return min(kept, key=lambda k: abs(way.index(k) - wanted))


def _mapper(pool: ThreadPoolExecutor) -> Mapper:
    """Return a `map` that works on threads, each of which uses one."""
    return lambda work, items: list(engine.each(pool, work, items))


def _equalised(found: Alignment, seen: Look) -> Alignment:
    """Give every frame the light of the reference, if the light was unsteady."""
    if found.model == "none" and exposure.steady(seen.thumbs, found.reference):
        return found
    factor = seen.factor * exposure.THUMB
    matrices = np.stack([exposure.to_thumb(m, factor) for m in found.matrices])
    gains, errors = exposure.gains(seen.thumbs, matrices, found.reference)
    for k in found.left_out:
        gains[k] = 1.0
    if (np.abs(np.log(gains)) < exposure.STEADY + SURE * errors).all():
        return found
    return replace(found, gains=gains)
