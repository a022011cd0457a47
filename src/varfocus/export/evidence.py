r"""A few chosen pixels and their contrast curves: the evidence behind a depth map.

One pixel that is sure, one that is typical, one that is doubtful, one at a depth jump. Of each the
contrast over focus as the method sees it, the model the method explains it by, and the depth that
was chosen: neighbours and regulariser may have moved it away from the curve's own maximum.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from varfocus import curve
from varfocus.contrast import box_mean, contrast_function, gaussian
from varfocus.curve import coordinate
from varfocus.curve.coordinate import Coordinate
from varfocus.geometry import Rectangle
from varfocus.params import Params
from varfocus.stack import FocusStack

Float = NDArray[np.float32]

MARGIN = 16
"""Pixels around a witness that its contrast may depend on."""

JUMP_WINDOW = 7
"""Side in pixels of the window over which the range of the depth is taken."""

MODEL_SAMPLES = 161
"""Points at which a model is drawn."""


@dataclass(frozen=True)
class Place:
    """A pixel worth looking at.

    Attributes
    ----------
    role : str
        Why: "sure", "typical", "doubtful" or "at a depth jump".
    x, y : int
        Column and row.
    """

    role: str
    x: int
    y: int


@dataclass(frozen=True)
class Witness:
    """A pixel and its contrast curve.

    Attributes
    ----------
    place : Place
        Where, and why there.
    contrast : ndarray of shape (n,), float32
        Contrast in every frame, as the method measures it.
    model : ndarray of shape (m, 2) or None
        Fractional frame number and contrast of the model; None for methods without one.
    index : float
        Chosen depth as a fractional frame number.
    """

    place: Place
    contrast: Float
    model: NDArray[np.float64] | None
    index: float


def telling_places(index: Float, confidence: Float) -> list[Place]:
    """Return pixels that show what a result rests on; fewer in small or uniform maps.

    Parameters
    ----------
    index : ndarray of shape (H, W), float32
        Depth as a fractional frame number.
    confidence : ndarray of shape (H, W), float32
        Confidence.

    Returns
    -------
    list of Place
        Up to four, none within `MARGIN` pixels of the border where the map is large enough.
    """
    around = box_mean(confidence, 5)
    span = ndimage.maximum_filter(index, JUMP_WINDOW) - ndimage.minimum_filter(index, JUMP_WINDOW)
    inner = np.zeros(index.shape, bool)
    cut = tuple(min(MARGIN, (size - 1) // 2) for size in index.shape)
    inner[cut[0] : index.shape[0] - cut[0], cut[1] : index.shape[1] - cut[1]] = True
    even = inner & (span < 1.0)
    if not even.any():
        even = inner
    typical = float(np.median(around[even]))
    candidates = [
        ("sure", np.where(even, around, -np.inf)),
        ("typical", np.where(even, -np.abs(around - typical), -np.inf)),
        ("doubtful", np.where(even, -around, -np.inf)),
        ("at a depth jump", np.where(inner & (span > 1.5), box_mean(span, 3), -np.inf)),
    ]
    places: list[Place] = []
    for role, score in candidates:
        for place in places:  # not beside an earlier one
            score[_near(place.y, score.shape[0]), _near(place.x, score.shape[1])] = -np.inf
        if np.isfinite(score.max()):
            y, x = np.unravel_index(int(score.argmax()), score.shape)
            places.append(Place(role, int(x), int(y)))
    return places


def _near(at: int, size: int) -> slice:
    reach = max(size // 12, 3)
    return slice(max(at - reach, 0), at + reach + 1)


def contrast_curves(
    stack: FocusStack,
    params: Params,
    index: Float,
    places: Sequence[Place],
    findings: dict[str, object] | None = None,
) -> list[Witness]:
    """Measure the contrast at a few pixels over all frames, each decoded once.

    Parameters
    ----------
    stack : FocusStack
        Frames.
    params : Params
        How the result was made.
    index : ndarray of shape (H, W), float32
        Depth as a fractional frame number.
    places : sequence of Place
        Pixels.
    findings : dict, optional
        What the method found out about the stack.

    Returns
    -------
    list of Witness
        In the order of `places`.
    """
    curves = np.zeros((len(places), len(stack)), np.float32)
    patches = [_around(place, stack.shape) for place in places]

    def look(row: int, k: int, pixels: NDArray[Any]) -> None:
        contrast = _contrast(stack.as_unit(pixels), params)
        place, patch = places[row], patches[row]
        curves[row, k] = contrast[place.y - patch.top, place.x - patch.left]

    if stack.windowed:  # the frames may be too large to be decoded whole
        for row, patch in enumerate(patches):
            for k, pixels in enumerate(stack.window(*patch.window)):
                look(row, k, pixels)
    else:
        for k, frame in enumerate(stack.ahead()):
            for row, patch in enumerate(patches):
                look(row, k, frame[patch.window])
    witnesses = []
    for place, contrast in zip(places, curves, strict=True):
        chosen = float(index[place.y, place.x])
        model = _model(contrast, chosen, params, findings or {}, stack.focus)
        witnesses.append(Witness(place, contrast, model, chosen))
    return witnesses


def _around(place: Place, shape: tuple[int, int]) -> Rectangle:
    """Return the pixels that the contrast at a place may depend on."""
    side = 2 * MARGIN + 1
    wanted = Rectangle(place.x - MARGIN, place.y - MARGIN, side, side)
    return wanted.common(Rectangle.whole(shape))


def _contrast(patch: Float, params: Params) -> Float:
    """Return the contrast of a piece of a frame as the method measures it."""
    measure = contrast_function(params.sharpness.measure)
    if params.method == "classic":
        return np.asarray(box_mean(measure(patch), params.classic.window))
    if params.method == "paper":
        return np.asarray(measure(patch))
    chosen = params.robust
    return np.asarray(gaussian(measure(gaussian(patch, chosen.coarse_blur)), chosen.support))


def _model(
    contrast: Float,
    chosen: float,
    params: Params,
    findings: dict[str, object],
    focus: NDArray[np.float64] | None,
) -> NDArray[np.float64] | None:
    n = len(contrast)
    k = np.linspace(0.0, n - 1.0, MODEL_SAMPLES)
    if params.method == "paper":
        a = np.asarray(curve.fit(contrast[:, None, None], params.curve.degree))
        x = curve.index_to_x(k, n).astype(np.float32)
        value = curve.evaluate(np.repeat(a, len(k), axis=2), x[None])[0]
        return np.stack([k, np.asarray(value, np.float64)], axis=1)
    peak = findings.get("peak")
    if not isinstance(peak, list):
        return None
    axis = coordinate.by_name(str(findings.get("coordinate", "frames")), n, focus)
    return np.stack([k, _peak(contrast, chosen, k, axis, peak)], axis=1)


def _peak(
    contrast: Float,
    chosen: float,
    k: NDArray[np.float64],
    axis: Coordinate,
    peak: list[list[float]],
) -> NDArray[np.float64]:
    """Return offset and positive multiple of the learnt peak at the chosen depth that fit best.

    The peak is symmetric on the learnt axis, its heights given at distances in frames. It may be up
    to twice as wide as the stack's typical one, or half as wide.
    """
    spacing = float(np.median(np.abs(np.diff(axis.x))))
    centre = float(axis.at(np.array([chosen]))[0])
    t, s = (np.array(each, np.float64) for each in peak)

    def shape(x: NDArray[np.float64], w: float) -> NDArray[np.float64]:
        height: NDArray[np.float64] = np.interp(np.abs(x - centre) / (w * spacing), t, s)
        return height

    best, least = np.full(len(k), float(contrast.mean())), np.inf
    for w in np.geomspace(0.5, 2.0, 13):
        terms = np.stack([shape(axis.x, w), np.ones(len(contrast))], axis=1)
        (gain, offset), *_ = np.linalg.lstsq(terms, contrast.astype(np.float64), rcond=None)
        misfit = float(np.sum((terms @ (gain, offset) - contrast) ** 2))
        if gain > 0.0 and misfit < least:
            best, least = gain * shape(axis.at(k), w) + offset, misfit
    return best
