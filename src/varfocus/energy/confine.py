r"""Costs that count only in the range of depth that explains the frames.

.. math:: C'(p, l) = s\,\Bigl(V_p\,[l_p^- ≤ l ≤ l_p^+]\,C(p, l)
          + β\,\bigl(\min(((l - u_p)/w)^2, 1) - 1\bigr)\Bigr):

evidence outside the range is that of a ghost; inside it weighs as much as the depth u explains the
frames there, V; and where there is none, a weak pull leads to u. s = 1/(mean V + β) keeps wells 1
deep on average.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Float = NDArray[np.float32]

PULL = 0.15
"""β: depth of the well at u in units of an average one, if u is known for every pixel."""


@dataclass(frozen=True)
class Confinement:
    """Where costs count.

    Attributes
    ----------
    low, high, centre : ndarray of shape (H, W), float32
        l⁻, l⁺ and u in labels.
    trust : ndarray of shape (H, W), float32
        V.
    width : float
        w: half width of a contrast peak in labels.
    scale : float
        s.
    pull : float
        β.
    ghosts : bool
        Whether blur has a rim, so that what a pixel says by itself outside of the range is doubted.
    """

    low: Float
    high: Float
    centre: Float
    trust: Float
    width: float
    scale: float
    pull: float = PULL
    ghosts: bool = True

    def applied(self, cost: Float) -> Float:
        """Return C' of a volume ``(L, H, W)``."""
        confined = np.empty_like(cost)
        for label, plane in enumerate(cost):
            number = np.float32(label)
            inside = (self.low <= number) & (number <= self.high)
            share = np.where(inside, self.trust * np.float32(self.scale), np.float32(0.0))
            confined[label] = plane * share + self._pull(number)
        return confined

    def evidence(self, cost: Float, label: Float) -> Float:
        """Return V·C at some labels, given C' there: what the contrast says, without the pull."""
        found: Float = (cost - self._pull(label)) / np.float32(self.scale)
        return found

    def part(self, box: tuple[slice, slice]) -> Confinement:
        """Return that of a part of the image."""
        low, high, centre, trust = (
            each[box] for each in (self.low, self.high, self.centre, self.trust)
        )
        return Confinement(low, high, centre, trust, self.width, self.scale, self.pull, self.ghosts)

    def _pull(self, label: Float | np.float32) -> Float:
        away = (label - self.centre) * np.float32(1.0 / self.width)
        square = np.minimum(away * away, np.float32(1.0))
        pull: Float = (square - np.float32(1.0)) * np.float32(self.pull * self.scale)
        return pull
