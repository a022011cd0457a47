"""What every method returns: depth in frames, before conversion to physical units."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from varfocus.minimise import Trace


@dataclass(frozen=True)
class Estimate:
    """Depth in frames.

    Attributes
    ----------
    index : ndarray of shape (H, W), float32
        Fractional 0-based frame number.
    margin : ndarray of shape (H, W), float32
        Lead of that depth over its best rival: see `varfocus.depth.margin` and, for the robust
        method, `varfocus.minimise.semi_global.second_well`.
    trace : Trace or None
        How the minimisation went.
    sigma : ndarray of shape (H, W), float32, or None
        Standard error of `index` in frames, if the method knows it.
    known : ndarray of shape (H, W), bool, or None
        False where nothing in the stack determines the depth; None if the method cannot tell.
    heard : ndarray of shape (H, W), float32, or None
        What is left of the confidence where little speaks: `varfocus.depth.heard`.
    notes : dict
        What the method learnt about the stack, for the record.
    unmixed : tuple of ndarray (H, W, C), float32, and ndarray (H, W), bool, or None
        Colours in [0, 1] without the veil of blurred foregrounds, and where they are known:
        beside depth jumps; see `varfocus.edges`.
    """

    index: NDArray[np.float32]
    margin: NDArray[np.float32]
    trace: Trace | None
    sigma: NDArray[np.float32] | None = None
    known: NDArray[np.bool_] | None = None
    heard: NDArray[np.float32] | None = None
    notes: dict[str, object] | None = None
    unmixed: tuple[NDArray[np.float32], NDArray[np.bool_]] | None = None
