"""The variables of a method that splits the gradient off: `varfocus.minimise.admm`."""

from __future__ import annotations

from dataclasses import dataclass

from varfocus.arrays import Array


@dataclass(frozen=True)
class State:
    """The variables of the iteration.

    Attributes
    ----------
    d : array of shape (H, W)
        Depth.
    g : array of shape (2, H, W)
        Its gradient, split off; ``(5, H, W)`` for TGV.
    b : array of the shape of g
        Scaled multiplier of g = Kd.
    lam : float
        Coupling λ of this iteration.
    v : array of shape (2, H, W), optional
        The slope that TGV does not count.
    """

    d: Array
    g: Array
    b: Array
    lam: float
    v: Array = None
