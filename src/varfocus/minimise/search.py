"""Costs of all depths and their semi-global sums, and what is read from them.

`Search` is the definition and holds both volumes. The engine's, in `banded_search`, goes
through the image in bands of rows when they would not fit, with the same result.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from varfocus import engine
from varfocus.curve.cubic import catmull_rom, curvature
from varfocus.curve.likelihood import Model, cost_volume
from varfocus.energy import VolumeTerm, WindowTerm
from varfocus.energy.confine import Confinement
from varfocus.minimise import banded_search
from varfocus.minimise.semi_global import lowest, second_well, semi_global

Float = NDArray[np.float32]


class Searcher(Protocol):
    """What both implementations offer."""

    def start(self) -> Float:
        """Return the label of the lowest semi-global cost, fractional, ``(H, W)``."""

    def term(self) -> VolumeTerm | WindowTerm:
        """Return Σ C(d), d in frames, as a data term around the start."""

    def alone(self) -> tuple[Float, Float]:
        """Return the fractional label of each pixel's own lowest cost, and that cost."""

    def judge(self, label: Float, distance: float, reach: int) -> tuple[Float, Float, Float]:
        """Return the evidence for a depth.

        Parameters
        ----------
        label : ndarray of shape (H, W), float32
            Chosen depth in labels.
        distance : float
            Labels closer than this are not rivals.
        reach : int
            Labels over which curvature is measured.

        Returns
        -------
        tuple of three ndarrays of shape (H, W), float32
            `varfocus.minimise.semi_global.second_well`, the `varfocus.curve.cubic.curvature` of the
            semi-global cost, and the cost C itself.
        """


class Search:
    """The definition, in array code.

    Parameters
    ----------
    contrast : ndarray of shape (scales · n, H, W), float32
        Contrast of all frames at the first scale, then at the next.
    model : Model
        What was learnt from the stack.
    lost, ends : ndarray of shape (H, W) and (L,), float32
        C is multiplied by 1 − ends·lost.
    slope : float
        P₁ of `varfocus.minimise.semi_global`.
    jump : ndarray of shape (H, W), float32
        P₂.
    confined : Confinement, optional
        Where costs count; by default everywhere.
    """

    def __init__(
        self,
        contrast: Float,
        model: Model,
        lost: Float,
        ends: Float,
        slope: float,
        jump: Float,
        confined: Confinement | None = None,
    ) -> None:
        self._step = model.step
        self._cost = cost_volume(contrast, model)
        for cost, end in zip(self._cost, ends, strict=True):
            if end > 0:
                cost *= 1.0 - end * lost
        self._own = self._cost
        if confined is not None:
            self._cost = confined.applied(self._cost)
            if confined.ghosts:
                self._own = self._cost
        self._total = semi_global(self._cost, slope, jump)

    def start(self) -> Float:
        """Return the label of the lowest semi-global cost."""
        return lowest(self._total)

    def term(self) -> VolumeTerm:
        """Return Σ C(d)."""
        return VolumeTerm(self._cost, self._step)

    def alone(self) -> tuple[Float, Float]:
        """Return the label of each pixel's own lowest cost, and that cost."""
        label = lowest(self._own)
        return label, catmull_rom(self._own, label)[0]

    def judge(self, label: Float, distance: float, reach: int) -> tuple[Float, Float, Float]:
        """Return lead, curvature and cost at a depth."""
        return (
            second_well(self._total, label, distance),
            curvature(self._total, label, reach),
            catmull_rom(self._cost, label)[0],
        )


def search(
    contrast: NDArray[Any],
    model: Model,
    lost: Float,
    ends: Float,
    slope: float,
    jump: Float,
    confined: Confinement | None = None,
    bands: int = 1,
    empty: Callable[..., NDArray[Any]] = np.empty,
    after_band: Callable[[], None] = lambda: None,
) -> Searcher:
    """Return the search for a stack: on the kernels if its contrast comes from them.

    Parameters
    ----------
    contrast, model, lost, ends, slope, jump, confined
        As for `Search`; 16-bit contrast is the engine's.
    bands : int
        Number of bands of rows the engine may hold one at a time.
    empty, after_band : callable
        As for `varfocus.minimise.banded_search.Search`; array code holds all in memory.
    """
    if contrast.dtype == np.uint16 and engine.in_use():
        return banded_search.Search(
            contrast, model, lost, ends, slope, jump, confined, bands, empty, after_band
        )
    return Search(contrast, model, lost, ends, slope, jump, confined)
