"""A stack with its truth, and a scene: the recipe that makes one for every seed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from varfocus.stack import FRAMES, FocusStack

Group: TypeAlias = Literal["known", "unknown", "noisy", "jumps", "smooth", "variant"]
"""Which goals a scene is judged by: Table 1's shapes with distances known or unknown, the same with
much noise, scenes with depth jumps, other people's smooth surfaces, variants of another scene."""

Map: TypeAlias = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Case:
    """One stack with known depth.

    Attributes
    ----------
    stack : FocusStack
        What a method sees: with focus positions only if they count as known.
    truth : ndarray of shape (H, W), float32
        Fractional 0-based frame in focus; NaN where unknown.
    positions : ndarray of shape (n,) or None
        Depth at each frame in `unit`, in which the mean errors are given; None for frames.
    unit : str
        Its unit.
    """

    stack: FocusStack
    truth: Map
    positions: NDArray[np.float64] | None = None
    unit: str = FRAMES


def unchanged(index: Any) -> Any:
    """Return a depth map as it is."""
    return index


@dataclass(frozen=True)
class Scene:
    """A recipe for cases.

    Attributes
    ----------
    name : str
        Its name on the command line, in tables and of its picture.
    group : str
        Which goals it is judged by.
    make : callable
        Makes the case of a seed.
    seeded : bool
        Whether seeds make a difference; a folder of frames has only one.
    plain : str, optional
        Name of the scene of which this is a variant with the same true depth.
    undo : callable
        Turns a depth map of this scene into one of `plain`.
    swept : bool
        Whether the paper's method is also tried at other weights than its default.
    """

    name: str
    group: Group
    make: Callable[[int], Case]
    seeded: bool = True
    plain: str | None = None
    undo: Callable[[Map], Map] = unchanged
    swept: bool = True
