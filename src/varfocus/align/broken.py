"""Frames that take no part: those of another picture, or blurred by motion; and those wiped out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import takewhile

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from varfocus.align import order
from varfocus.align.look import Look

SAME_LIGHT = 1.5
"""Frames whose mean brightness differs by no more than this factor may show the same scene."""

STRUCTURE_BLUR = 2.5
"""σ in pixels of the Gaussian that takes the noise off before structure is measured."""


def faint_ends(seen: Look, unmatched: Sequence[int], way: Sequence[int]) -> set[int]:
    """Return the frames at the ends that defocus has wiped out.

    They match no neighbour because only noise is left, not because they show something else: they
    are as bright as the first frame that matches, and have less structure.

    Parameters
    ----------
    seen : Look
        Working images.
    unmatched : sequence of int
        Frames that match no neighbour.
    way : sequence of int
        All frames in the order of focus.
    """
    faint: set[int] = set()
    for inward in (list(way), list(way)[::-1]):
        run = list(takewhile(lambda k: k in unmatched, inward))
        if len(run) == len(way):
            continue
        level, structure = _structure(seen.grey(inward[len(run)]))
        for k in run:
            own_level, own = _structure(seen.grey(k))
            if own < structure and abs(math.log(own_level / level)) < math.log(SAME_LIGHT):
                faint.add(k)
    return faint


def _structure(grey: NDArray[np.float16]) -> tuple[float, float]:
    """Return the mean of a frame, and the deviation from it, relative to it, above the noise."""
    smooth = ndimage.gaussian_filter(grey.astype(np.float32), STRUCTURE_BLUR)
    level = max(float(smooth.mean()), 1e-6)
    return level, float(smooth.std()) / level


def broken(
    correlations: NDArray[np.float64],
    threshold: float,
    signatures: NDArray[np.float32],
    way: Sequence[int],
    faint: set[int],
) -> dict[int, str]:
    """Return the frames that belong to another picture, or were blurred by motion, and why.

    Parameters
    ----------
    correlations : ndarray of shape (n,)
        Largest correlation of each frame with a neighbour.
    threshold : float
        Below which it matches none.
    signatures : ndarray of shape (n, m)
        Of `varfocus.align.order.signature`, in the order of focus.
    way : sequence of int
        The frames in that order.
    faint : set of int
        Frames that defocus has wiped out; these are not broken.
    """
    unlike = {
        k: f"it matches no neighbour (correlation {correlations[k]:.2f}, usually "
        f"{np.median(correlations):.2f})"
        for k in way
        if correlations[k] < threshold and k not in faint
    }
    sound = [r for r, k in enumerate(way) if k not in unlike and k not in faint]
    if len(sound) >= 5:
        for r in order.dips(signatures[sound]):
            unlike[way[sound[r]]] = "it is less sharp than both its neighbours everywhere"
    return unlike
