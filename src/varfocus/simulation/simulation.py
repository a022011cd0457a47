"""What a simulation gives: the frames, where they were focused, and the truth behind them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from varfocus.stack import FocusStack


@dataclass(frozen=True, eq=False)
class Simulation:
    """A simulated focus stack together with its truth.

    Parameters
    ----------
    name : str
        The scene.
    frames : ndarray of uint8, uint16 or float32, shape (n, H, W) or (n, H, W, 3)
        What the camera saw.
    focus : ndarray of float64, shape (n,)
        Focus distances in metres, strictly monotone.
    truth_index : ndarray of float32, shape (H, W)
        Fractional 0-based frame in which each pixel is in focus; NaN where the depth is unknown
        or outside the focus distances.
    truth_depth : ndarray of float32, shape (H, W)
        Distance of the visible surface in metres; NaN where unknown.
    sharp : ndarray of float32, shape (H, W) or (H, W, 3)
        The all-in-focus picture without noise, in [0, 1].
    """

    name: str
    frames: NDArray[Any]
    focus: NDArray[np.float64]
    truth_index: NDArray[np.float32]
    truth_depth: NDArray[np.float32]
    sharp: NDArray[np.float32]

    def __len__(self) -> int:
        return len(self.frames)

    @property
    def stack(self) -> FocusStack:
        """The frames as a focus stack with distances in metres."""
        return FocusStack.from_array(self.frames, self.focus, "m")


def index_of_depth(depth: NDArray[Any], focus: NDArray[np.float64]) -> NDArray[np.float32]:
    """Return the fractional frame number at which a depth is in focus.

    The inverse of linear interpolation of the focus distances between frames, which is how an
    index becomes a depth everywhere in varfocus.

    Parameters
    ----------
    depth : ndarray, any shape
        Distances in metres.
    focus : ndarray of shape (n,)
        Focus distances in metres, strictly monotone.

    Returns
    -------
    ndarray of float32, shape of `depth`
        Values in [0, n − 1]; NaN where the depth is NaN or never in focus.
    """
    order = slice(None) if focus[-1] > focus[0] else slice(None, None, -1)
    frames = np.arange(len(focus), dtype=np.float64)[order]
    z = np.asarray(depth, dtype=np.float64)
    # Depth maps are float32: one that reaches exactly to the last frame may overshoot by a bit.
    slack = 1e-6 * float(np.max(focus))
    inside = (z >= focus.min() - slack) & (z <= focus.max() + slack)
    index = np.where(inside, np.interp(z, focus[order], frames), np.nan)
    return index.astype(np.float32)
