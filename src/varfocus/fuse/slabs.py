"""Slabs: a stack fused a few neighbouring frames at a time.

Where parts of a scene hide one another, no single picture shows all of them well; a slab shows one
range of depth alone, and is a good picture to retouch from. Slabs may also be fused again, as
frames of a shorter stack.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from varfocus.errors import ParameterError
from varfocus.fuse.blend import Fused, fuse
from varfocus.params import FuseParams
from varfocus.progress import Progress, silent
from varfocus.stack import FocusStack


class Slab(NamedTuple):
    """Some frames of a stack, fused.

    Attributes
    ----------
    frames : range
        Which, from 0.
    fused : Fused
        Image, and the frame of the stack that each pixel comes from.
    """

    frames: range
    fused: Fused


def slab_ranges(n: int, size: int, overlap: int = 0) -> list[range]:
    """Return which frames make which slab.

    Parameters
    ----------
    n : int
        Number of frames.
    size : int
        Frames in a slab, at least 3. The last slab begins earlier if need be, so that all have as
        many.
    overlap : int
        Frames that neighbouring slabs share, at least.

    Returns
    -------
    list of range
        Every frame is in at least one.
    """
    if not 3 <= size <= n:
        raise ParameterError(
            f"received a slab size of {size} for {n} frames", f"expected 3 to {n} frames"
        )
    if not 0 <= overlap < size:
        raise ParameterError(
            f"received a slab overlap of {overlap} for slabs of {size} frames",
            f"expected 0 to {size - 1} frames",
        )
    starts = [*range(0, n - size, size - overlap), n - size]
    return [range(start, start + size) for start in starts]


def fuse_slabs(
    stack: FocusStack,
    index: NDArray[np.float32],
    ranges: list[range],
    params: FuseParams = FuseParams(),
    progress: Progress = silent,
) -> Iterator[Slab]:
    """Fuse slabs one after the other.

    Parameters
    ----------
    stack : FocusStack
        Aligned frames.
    index : ndarray of shape (H, W), float32
        Depth in frames. Where it lies outside of a slab, the slab shows its frame nearest to it.
    ranges : list of range
        From `slab_ranges`.
    params : FuseParams
        How far the depth is trusted.
    progress : callable
        Listener: slabs that are done.

    Yields
    ------
    Slab
        In the order of `ranges`.
    """
    for done, frames in enumerate(ranges):
        progress("slabs", done, len(ranges))
        part = replace(
            stack,
            frames=stack.frames[frames.start : frames.stop],
            focus=None if stack.focus is None else stack.focus[frames.start : frames.stop],
        )
        part.__dict__["scale"] = stack.scale  # a cached property: slabs go together
        inside = np.clip(index, frames.start, frames.stop - 1) - np.float32(frames.start)
        fused = fuse(part, inside.astype(np.float32), params)
        yield Slab(frames, Fused(fused.image, fused.source + np.uint16(frames.start)))
    progress("slabs", len(ranges), len(ranges))
