"""Depth from focus without a variational model: the baselines of the paper.

Windowed contrast, the frame where it is largest, three-point Gaussian interpolation [1]_, and
optionally a median filter or a total-variation denoising of the depth map.

The paper's MLAP 1 is a 9×9 window; MLAP 2 a 41×41 window and an 11×11 median. What others would put
beside ours: contrast averaged by a guided filter [3]_, whose guide is the picture of each pixel in
the frame where its contrast is largest, with the ring difference as the focus measure [4]_ and a
median afterwards.

References
----------
.. [1] S. K. Nayar, Y. Nakagawa, "Shape from focus", IEEE TPAMI 16(8), 1994.
.. [2] S. Pertuz, D. Puig, M. A. García, "Reliability measure for shape-from-focus", Image and
   Vision Computing 31(10), 2013.
.. [3] K. He, J. Sun, X. Tang, "Guided image filtering", IEEE TPAMI 35(6), 2013.
.. [4] J. Surh, H.-G. Jeon, Y. Park, S. Im, H. Ha, I. S. Kweon, "Noise robust depth from focus using
   a ring difference filter", CVPR 2017.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from varfocus.canvas import Canvas, Tile, Whole
from varfocus.contrast import box_mean, contrast_function, guided_mean, reach
from varfocus.depth import margin
from varfocus.errors import NoContrastError, ParameterError
from varfocus.methods.estimate import Estimate
from varfocus.minimise.rof import rof
from varfocus.params import ClassicParams, Params
from varfocus.progress import Progress, track
from varfocus.stack import FocusStack

Float: TypeAlias = NDArray[np.float32]


@dataclass(frozen=True)
class GaussPeak:
    """The Gaussian ``amplitude · exp(−(k − centre)² / (2 width²))`` of every pixel.

    Attributes
    ----------
    centre : ndarray of shape (H, W), float32
        Fractional 0-based frame number in [0, n − 1].
    amplitude, width : ndarray of shape (H, W), float32
        Height in units of contrast; width in frames. Where the three points are not
        concave no Gaussian passes through them: the centre lies uphill, the width is infinite.
    """

    centre: Float
    amplitude: Float
    width: Float


def default_gauss_step(n: int) -> int:
    """Return the distance of the interpolation points for n frames."""
    return 2 if n >= 12 else 1


def gauss_peak(volume: Float, step: int) -> GaussPeak:
    """Interpolate the maximum over frames by a Gaussian through three points.

    log y = a + b k + c k² through the largest value and its neighbours `step` frames away. A
    maximum closer than that to an end is interpolated around the nearest possible middle point, as
    in Pertuz's toolbox, and so may be found up to half a step inside the range.

    Parameters
    ----------
    volume : ndarray of shape (n, H, W), float32
        Windowed contrast, n ≥ 2·step + 1.
    step : int
        Distance in frames.

    Returns
    -------
    GaussPeak
        The fitted curves.
    """
    n = volume.shape[0]
    middle = np.clip(volume.argmax(axis=0), step, n - 1 - step)
    tiny = np.float32(np.finfo(np.float32).tiny)
    left, top, right = (
        np.log(np.maximum(np.take_along_axis(volume, (middle + s)[None], axis=0)[0], tiny))
        for s in (-step, 0, step)
    )
    curvature = (0.5 * (left + right) - top) / step**2
    slope = (right - left) / (2 * step)
    bent = curvature < 0
    # Where the three points have no maximum, |curvature| still makes the step lead uphill; the
    # vertex itself would be a minimum.
    steepness = np.maximum(np.abs(curvature), np.float32(1e-6))
    centre = np.clip(middle + slope / (2.0 * steepness), 0, n - 1)
    offset = centre - middle
    log_height = np.where(bent, top + slope * offset - steepness * offset**2, top)
    height = np.exp(np.minimum(log_height, 80.0))
    width = np.where(bent, np.sqrt(0.5 / steepness), np.inf)
    return GaussPeak(*(a.astype(np.float32) for a in (centre, height, width)))


def reliability(volume: Float, peak: GaussPeak, window: int = 9) -> Float:
    """Return Pertuz's reliability of each pixel in decibels.

    R = 20 log₁₀(n · F_max / smoothed Σ_k |F_k − Gaussian fit|), with F_max the largest focus
    **value** of the pixel. (The authors' public toolbox uses its position by mistake.)

    Parameters
    ----------
    volume : ndarray of shape (n, H, W), float32
        Windowed contrast.
    peak : GaussPeak
        Its Gaussian fit.
    window : int
        Side in pixels of the mean filter on the misfit.

    Returns
    -------
    ndarray of shape (H, W), float32
        Decibels; high is good. Zero where a pixel shows no contrast at all.
    """
    n = volume.shape[0]
    misfit = np.zeros(volume.shape[1:], np.float32)
    for k in range(n):
        fit = peak.amplitude * np.exp(-0.5 * ((k - peak.centre) / peak.width) ** 2)
        misfit += np.abs(volume[k] - fit)
    smoothed = box_mean(misfit, window)
    strength = n * volume.max(axis=0)
    alive = strength > 0
    strength = np.where(alive, strength, 1.0)
    ratio = np.where(alive, strength / np.maximum(smoothed, 1e-6 * strength), 1.0)
    decibels: Float = (20.0 * np.log10(ratio)).astype(np.float32)
    return decibels


def classic_index(volume: Float, params: ClassicParams, canvas: Canvas | None = None) -> Float:
    """Return the depth of every pixel in frames by the classical method.

    Parameters
    ----------
    volume : ndarray of shape (n, H, W), float32
        Contrast of every frame, windowed already.
    params : ClassicParams
        Interpolation step, median and TV weight.
    canvas : Canvas, optional
        Where maps are kept; by default in memory.

    Returns
    -------
    ndarray of shape (H, W), float32
        Fractional 0-based frame number.
    """
    n, height, width = volume.shape
    canvas = canvas or Whole((height, width))
    step = params.gauss_step or default_gauss_step(n)
    if n < 2 * step + 1:
        raise ParameterError(
            f"received gauss_step = {step} for {n} frames",
            f"expected at least {2 * step + 1} frames for that step",
            "Lower gauss_step.",
        )

    def peak(tile: Tile, _: Progress) -> tuple[Float]:
        centre = gauss_peak(volume[:, *tile.outer], step).centre
        if params.median > 1:
            centre = ndimage.median_filter(centre, size=params.median, mode="nearest")
        return (centre,)

    index: Float
    (index,) = canvas.map("peaks", params.median // 2, peak)
    if params.tv_weight > 0:  # couples all pixels
        index = rof(index, params.tv_weight).d
    return index


@dataclass(frozen=True)
class Windowed:
    """What the classical method measures in the frames.

    Attributes
    ----------
    volume : ndarray of shape (n, H, W), float32
        Contrast, averaged.
    canvas : Canvas
        Where maps live.
    """

    volume: Float
    canvas: Canvas


def prepare(
    stack: FocusStack, params: Params, progress: Progress, canvas: Canvas | None = None
) -> Windowed:
    """Look at every frame once, and return the windowed contrast of all.

    Parameters
    ----------
    stack : FocusStack
        Frames.
    params : Params
        The focus measure and the window.
    progress : callable
        Listener.
    canvas : Canvas, optional
        Where maps are kept; by default in memory.

    Returns
    -------
    Windowed
        For `solve`.
    """
    canvas, n = canvas or Whole(stack.shape), len(stack)
    window, guided = params.classic.window, params.classic.guided
    measure = contrast_function(params.sharpness.measure)
    contrast = False

    def look(tile: Tile, listen: Progress) -> tuple[Float]:
        nonlocal contrast
        part = stack.window(*tile.outer)
        volume = np.empty((n, *part.shape), np.float32)
        guide = np.zeros(part.shape, np.float32)
        best = np.full(part.shape, -1, np.float32)
        for k, frame in enumerate(track(part.ahead(), "contrast", n, listen)):
            unit = part.as_unit(frame)
            volume[k] = box_mean(measure(unit), window)
            if guided > 1:
                sharper = volume[k] > best
                np.copyto(best, volume[k], where=sharper)
                np.copyto(guide, unit if unit.ndim == 2 else unit.mean(axis=2), where=sharper)
        contrast = contrast or bool(volume.any())
        for layer in volume if guided > 1 else ():
            # A line through values that are not negative may be so itself.
            layer[:] = np.maximum(guided_mean(layer, guide, guided, params.classic.guided_edge), 0)
        return (volume,)

    around = window // 2 + guided - 1 + reach(params.sharpness.measure)
    (volume,) = canvas.map("contrast", around, look, progress)
    if not contrast:
        raise NoContrastError()
    return Windowed(volume, canvas)


def solve(windowed: Windowed, params: Params, progress: Progress, room: int | None) -> Estimate:
    """Return the maximum of contrast over focus, and what smooths the map afterwards.

    Parameters
    ----------
    windowed : Windowed
        Of `prepare`.
    params : Params
        What to do with the peaks.
    progress : callable
        Not called: this is quick.
    room : int or None
        Not used: the volume is all there is.

    Returns
    -------
    Estimate
        Depth in frames, and the margin by which contrast supports it.
    """
    del progress, room
    volume, canvas = windowed.volume, windowed.canvas
    index = classic_index(volume, params.classic, canvas)

    def lead(tile: Tile, _: Progress) -> tuple[Float]:
        part, here = volume[:, *tile.outer], index[tile.outer]

        def contrast_at(k: Any) -> NDArray[Any]:
            nearest = np.broadcast_to(np.rint(k).astype(np.intp), here.shape)[None]
            value: Float = np.take_along_axis(part, nearest, axis=0)[0]
            return value

        return (margin(contrast_at, here, len(part)),)

    (leads,) = canvas.map("judging", 0, lead)
    return Estimate(index, leads, None)
