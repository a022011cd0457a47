"""What every method returns: depth in frames, before conversion to physical units."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from varfocus.minimise import Trace


class Later:
    """A map that is made when it is first asked for; what it is made of is then let go.

    Parameters
    ----------
    make : callable
        Returns the map.
    """

    def __init__(self, make: Callable[[], NDArray[np.float32]]) -> None:
        self._make: Callable[[], NDArray[np.float32]] | None = make
        self._made: NDArray[np.float32] | None = None

    def __call__(self) -> NDArray[np.float32]:
        """Return the map."""
        make = self._make
        if make is not None:
            self._made, self._make = make(), None
        assert self._made is not None
        return self._made


@dataclass(frozen=True)
class Estimate:
    """Depth in frames.

    Attributes
    ----------
    index : ndarray of shape (H, W), float32
        Fractional 0-based frame number.
    lead : ndarray of shape (H, W), float32, or Later
        What `margin` is, or will be.
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
    lead: NDArray[np.float32] | Later
    trace: Trace | None
    sigma: NDArray[np.float32] | None = None
    known: NDArray[np.bool_] | None = None
    heard: NDArray[np.float32] | None = None
    notes: dict[str, object] | None = None
    unmixed: tuple[NDArray[np.float32], NDArray[np.bool_]] | None = None

    @property
    def margin(self) -> NDArray[np.float32]:
        """Lead of the depth over its best rival, shape ``(H, W)``.

        See `varfocus.depth.curve_margin` and, for the robust method,
        `varfocus.minimise.semi_global.second_well`.
        """
        return self.lead() if isinstance(self.lead, Later) else self.lead
