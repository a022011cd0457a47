"""A stack with its truth, and a scene: the recipe that makes one for every seed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from varfocus.stack import FRAMES, FocusStack
from varfocus.studies.evaluation.places import Mask, areas, nothing_speaks

Group: TypeAlias = Literal["known", "unknown", "noisy", "jumps", "smooth", "pictures", "variant"]
"""Which goals a scene is judged by: Table 1's shapes with distances known or unknown, the same with
much noise, scenes with depth jumps, other people's smooth surfaces, pictures with objects seen by
other lenses, variants of another scene."""

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

    @cached_property
    def areas(self) -> dict[str, Mask]:
        """Where the errors may lie, see `places.areas`."""
        plain = nothing_speaks(self.stack, self.truth)
        return areas(self.truth, len(self.stack), plain)

    def cropped(self, side: int | None) -> Case:
        """Return the middle, at most `side` pixels high and wide; all of it for None."""
        if side is None:
            return self
        window = centre(self.truth.shape, side)
        return replace(self, stack=self.stack.window(*window), truth=self.truth[window].copy())


def centre(shape: tuple[int, ...], side: int) -> tuple[slice, slice]:
    """Return rows and columns of the middle, at most `side` of each."""
    starts = [max(length - side, 0) // 2 for length in shape[:2]]
    rows, columns = (
        slice(start, start + min(side, length))
        for start, length in zip(starts, shape[:2], strict=True)
    )
    return rows, columns


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
    noise : float, optional
        Standard deviation at mid-grey, as a share of white, where it is known.
    """

    name: str
    group: Group
    make: Callable[[int], Case]
    seeded: bool = True
    plain: str | None = None
    undo: Callable[[Map], Map] = unchanged
    swept: bool = True
    noise: float | None = None
