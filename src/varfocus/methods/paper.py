"""The paper's method: contrast → polynomial curves → energy → linearised ADMM.

References
----------
M. Moeller, M. Benning, C. Schönlieb, D. Cremers, Variational Depth from Focus Reconstruction,
IEEE Transactions on Image Processing 24(12), 2015.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from varfocus import curve, depth
from varfocus.canvas import Canvas, Tile, Whole
from varfocus.contrast import (
    PLAIN_SHARE,
    box_mean,
    gaussian,
    gradient_energy,
    jump_weight,
    normaliser,
    reach,
)
from varfocus.curve.frame_pass import contrast_pass
from varfocus.energy import ContrastTerm
from varfocus.methods.estimate import Estimate, Later
from varfocus.minimise import minimise
from varfocus.params import CurveParams, Params
from varfocus.progress import Progress, silent, track
from varfocus.stack import FocusStack

CONFIDENCE_WINDOW = 9
"""Side in pixels of the window over which contrast curves are averaged to judge the result."""

BAND = 64
"""Rows that are judged at a time."""

SMOOTHING_REACH = 6
"""Pixels around a pixel that its gradient depends on, once smoothed by 1 px."""


@dataclass(frozen=True)
class Sharpness:
    """What the first half of the paper's method measures in the frames.

    Attributes
    ----------
    stack : FocusStack
        The frames.
    canvas : Canvas
        Where maps live.
    a : ndarray of shape (degree + 1, H, W), float32
        Chebyshev coefficients of the normalised contrast curves.
    first_guess : ndarray of shape (H, W), float32
        Frame of the largest windowed contrast.
    """

    stack: FocusStack
    canvas: Canvas
    a: NDArray[np.float32]
    first_guess: NDArray[np.float32]


def prepare(
    stack: FocusStack, params: Params, progress: Progress, canvas: Canvas | None = None
) -> Sharpness:
    """Look at every frame once.

    Parameters
    ----------
    stack : FocusStack
        Frames.
    params : Params
        Contrast, curve and start parameters.
    progress : callable
        Listener.
    canvas : Canvas, optional
        Where maps are kept; by default in memory.

    Returns
    -------
    Sharpness
        For `solve`, with any weight α.
    """
    canvas = canvas or Whole(stack.shape)
    return Sharpness(stack, canvas, *sharpness_curves(stack, params, progress, canvas))


def solve(sharpness: Sharpness, params: Params, progress: Progress, room: int | None) -> Estimate:
    """Go from contrast curves to the minimum of E(d) = −Σ c(d) + α‖Kd‖₂,₁.

    The minimisation sees the whole image at once, wherever the curves lie: what it takes beside
    them must fit into memory.

    Parameters
    ----------
    sharpness : Sharpness
        Of `prepare`.
    params : Params
        α, regulariser and solver.
    progress : callable
        Listener.
    room : int or None
        Not used: the minimisation holds no volume over focus.

    Returns
    -------
    Estimate
        Depth in frames, the margin by which contrast supports it, and the trace of the solver.
    """
    del room
    stack, canvas, a, n = sharpness.stack, sharpness.canvas, sharpness.a, len(sharpness.stack)
    trace = None
    if params.solve.alpha == 0.0:
        d = curve.argmax(a)
    else:
        d_0 = curve.index_to_x(box_mean(sharpness.first_guess, params.start.start_blur), n)
        solution = minimise(
            ContrastTerm(a),
            d_0,
            params.solve,
            lambda done, *_: progress("minimising", done, params.solve.iterations),
            picture_weight(stack, progress, canvas)
            if params.solve.regulariser == "weighted"
            else None,
        )
        d, trace = solution.d, solution.trace
    index = np.clip(curve.x_to_index(d, n), 0.0, n - 1.0)
    return Estimate(index, Later(partial(_margin, a, index, n, canvas)), trace)


def sharpness_curves(
    stack: FocusStack, params: Params, progress: Progress, canvas: Canvas | None = None
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Look at every frame once, and return what the energy is made of.

    Parameters
    ----------
    stack : FocusStack
        Frames.
    params : Params
        Contrast, curve and start parameters.
    progress : callable
        Listener.
    canvas : Canvas, optional
        Where maps are kept; by default in memory.

    Returns
    -------
    a : ndarray of shape (degree + 1, H, W), float32
        Chebyshev coefficients of the normalised contrast curves.
    index : ndarray of shape (H, W), float32
        Frame of the largest windowed contrast.
    """
    canvas, n, window = canvas or Whole(stack.shape), len(stack), params.start.start_window
    measure = params.sharpness.measure

    def look(tile: Tile, listen: Progress) -> tuple[NDArray[np.float32], ...]:
        front, part = None, stack.window(*tile.outer)
        for k, frame in enumerate(track(part.ahead(), "contrast", n, listen)):
            if front is None:
                front = contrast_pass(frame, n, params.curve.degree, window, stack.scale, measure)
            front.add(k, frame)
        assert front is not None  # a stack has frames
        return front.coefficients, front.peak, front.index

    a, peak, index = canvas.map("contrast", window // 2 + reach(measure), look, progress)
    typical = canvas.percentile(peak, 50.0, "lower")
    for tile in canvas.tiles():
        a[:, *tile.inner] /= normaliser(peak[tile.inner], params.contrast, typical)
        canvas.release()
    canvas.drop(peak)
    return a, index


def picture_weight(
    stack: FocusStack, progress: Progress = silent, canvas: Canvas | None = None
) -> NDArray[np.float32]:
    """Return the cost of a depth jump at each pixel, from the edges of the sharp picture.

    Parameters
    ----------
    stack : FocusStack
        Frames; each is decoded once.
    progress : callable
        Listener.
    canvas : Canvas, optional
        Where maps are kept; by default in memory.

    Returns
    -------
    ndarray of shape (H, W), float32
        `varfocus.contrast.jump_weight` of the largest gradient over the frames, smoothed by 1 px.
    """
    canvas = canvas or Whole(stack.shape)

    def look(tile: Tile, listen: Progress) -> tuple[NDArray[np.float32]]:
        part = stack.window(*tile.outer)
        gradient = np.zeros(part.shape, np.float32)
        for frame in track(part.ahead(), "edges", len(part), listen):
            np.maximum(gradient, gradient_energy(gaussian(part.as_unit(frame), 1.0)), out=gradient)
        return (gradient,)

    (gradient,) = canvas.map("edges", SMOOTHING_REACH, look, progress)
    weight: NDArray[np.float32] = jump_weight(
        gradient, reference=canvas.percentile(gradient, PLAIN_SHARE)
    )
    return weight


def _margin(
    a: NDArray[np.float32], index: NDArray[np.float32], n: int, canvas: Canvas
) -> NDArray[np.float32]:
    """Judge the depth against windowed curves, in bands of rows that need little memory."""
    height, around = index.shape[0], CONFIDENCE_WINDOW // 2
    M = np.empty_like(index)
    for top in range(0, height, BAND):
        bottom = min(top + BAND, height)
        above, below = max(top - around, 0), min(bottom + around, height)
        inside = slice(top - above, bottom - above)
        windowed = np.stack([box_mean(a_m[above:below], CONFIDENCE_WINDOW)[inside] for a_m in a])
        M[top:bottom] = depth.curve_margin(windowed, index[top:bottom], n)
        canvas.release()
    return M


def fitting_degree(stack: FocusStack, params: Params) -> tuple[Params, list[str]]:
    """Lower the degree of the curve to what the number of frames supports, and say so.

    Parameters
    ----------
    stack : FocusStack
        Frames.
    params : Params
        Parameters as asked for.

    Returns
    -------
    tuple of Params and list of str
        Parameters as they can be used, and what was changed, in words.
    """
    n, degree = len(stack), params.curve.degree
    if params.method != "paper" or degree <= curve.largest_degree(n):
        return params, []
    lowered = replace(params, curve=CurveParams(curve.largest_degree(n)))
    note = (
        f"{n} frames support a contrast curve of degree {lowered.curve.degree}, not {degree}; "
        "the lower degree was used. More frames give a sharper answer."
    )
    return lowered, [note]
