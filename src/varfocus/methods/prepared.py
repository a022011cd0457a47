"""What is measured and learnt before anything is smoothed: contrast at two scales, and a model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from varfocus import engine
from varfocus.canvas import Canvas, Tile
from varfocus.contrast import reach
from varfocus.contrast.kernel_scales import TRUNCATE, WIDEST_SIGMA, decoded
from varfocus.contrast.scales import SCALES, Scales, two_scales
from varfocus.curve.coordinate import Coordinate
from varfocus.curve.likelihood import Model, learn
from varfocus.params import Params, RobustParams
from varfocus.progress import Progress, silent, track
from varfocus.stack import FocusStack

Float = NDArray[np.float32]


@dataclass(frozen=True)
class Front:
    """Contrast of all frames, and what else is measured in the same pass.

    Attributes
    ----------
    contrast : ndarray of shape (2n, H, W)
        Fine contrast of all frames, then coarse; float32, or the engine's 16-bit numbers.
    gradient : ndarray of shape (H, W), float32
        Largest squared brightness gradient over the frames at the coarse scale.
    strength : ndarray of shape (H, W), float32
        Range over the frames of the coarse contrast.
    """

    contrast: NDArray[Any]
    gradient: Float
    strength: Float

    def curves(self, scale: int, rows: slice, columns: slice) -> Float:
        """Return the contrast of some pixels over all frames, shape ``(n, P)``."""
        n = len(self.contrast) // SCALES
        part = self.contrast[scale * n : (scale + 1) * n, rows, columns]
        if part.dtype == np.uint16:
            part = decoded(part)
        return np.asarray(part, np.float32).reshape(n, -1)


def front_and_model(
    stack: FocusStack,
    params: Params,
    canvas: Canvas,
    progress: Progress = silent,
    axis: Coordinate | None = None,
) -> tuple[Front, Model]:
    """Look at every frame once, and learn what peaks look like.

    Parameters
    ----------
    stack : FocusStack
        At least three frames.
    params : Params
        Of which `measure`, `support`, `coarse_blur` and `coordinate` are used.
    canvas : Canvas
        Where maps are kept.
    progress : callable
        Listener.
    axis : Coordinate, optional
        The focus coordinate, if it is known already.
    """

    def look(tile: Tile, listen: Progress) -> tuple[NDArray[Any], ...]:
        seen = measure(stack.window(*tile.outer), params, listen)
        return seen.contrast, seen.gradient, seen.strength

    front = Front(*canvas.map("contrast", contrast_reach(params), look, progress))
    progress("learning", 0, 1)
    wanted = params.robust.coordinate
    model = learn(front.curves, stack.shape, SCALES, wanted=wanted, focus=stack.focus, axis=axis)
    canvas.release()
    progress("learning", 1, 1)
    return front, model


def measure(stack: FocusStack, params: Params, progress: Progress = silent) -> Scales:
    """Look at every frame once, and return its contrast at two scales."""
    front, how = None, (params.robust, params.sharpness.measure)
    for k, frame in enumerate(track(stack.ahead(), "contrast", len(stack), progress)):
        if front is None:
            front = two_scales(frame, len(stack), stack.shape, stack.scale, *how)
        front.add(k, frame)
    assert front is not None  # a stack has frames
    return front


def contrast_reach(params: Params) -> int:
    """Return how many pixels around a pixel its contrast depends on."""
    sigmas = params.robust.coarse_blur, params.robust.support
    around = sum(int(TRUNCATE * sigma + 0.5) for sigma in sigmas)
    return around + reach(params.sharpness.measure) + 1


def in_tiles(params: RobustParams) -> bool:
    """Tell whether the method can work in tiles: the kernels must do it, which search in bands."""
    return engine.in_use() and max(params.coarse_blur, params.support) <= WIDEST_SIGMA
