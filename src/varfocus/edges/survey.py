"""Find out whether, and from which end, surfaces hide one another.

The edge stage has work to do only where they do. Some patches are tried with either end of the
stack as the near one; unless rendering with occlusion explains the frames clearly better than
blurring every pixel by itself, the depth is left unchanged.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from varfocus.canvas.tiles import Box, grown, tiles
from varfocus.edges.constants import (
    CLEAR,
    FAR_ENOUGH,
    FITTED,
    GRID,
    HALO,
    MOST_LAYERS,
    TILE,
    TRIAL_ROUNDS,
    TRIAL_TILES,
    EdgeConstants,
)
from varfocus.edges.judge import judge, plain_error
from varfocus.edges.patches import Scene, as_scene, cut_patch, occupied_tiles, on_threads
from varfocus.edges.render import Float
from varfocus.edges.scale import BlurScale, Part, blur_scale, sample_windows
from varfocus.edges.sides import Mask, Sides, closest, find_sides
from varfocus.edges.vote import reach_of_votes, vote
from varfocus.progress import Progress, silent, track

JUMP_REACH = FAR_ENOUGH + 2 * TILE
"""Pixels around a tile that its jumps depend on."""

TRIAL_REACH = JUMP_REACH + TRIAL_ROUNDS * (HALO[1] + reach_of_votes())
"""Pixels around a tile that a trial depends on."""

View: TypeAlias = Callable[[Box], tuple[list[NDArray[Any]], Float]]
"""Gives the frames, n of shape ``(h, w, C)``, and the depth in frames of a part of the image."""

Sums: TypeAlias = tuple[float, float, int]
"""Error with occlusion, error without, and of how many pixels."""


@dataclass(frozen=True)
class Occlusion:
    """How surfaces hide one another in a stack.

    Attributes
    ----------
    blur : BlurScale
        How strongly the camera blurs.
    near_first : bool
        Whether the first frame is the nearest.
    ratio : float
        Error with occlusion over error without, in the trial.
    jumps : Sides or None
        Of the whole image, if it was looked at in one piece.
    """

    blur: BlurScale
    near_first: bool
    ratio: float
    jumps: Sides | None = None


@dataclass(frozen=True)
class Trial:
    """How well occlusion explains some tiles of a stack.

    Attributes
    ----------
    blur : BlurScale
        How strongly the camera blurs.
    ratios : tuple of float
        Error with occlusion over error without, if the first frame is the nearest, and if the last
        is. Either order has its own frames and pixels to explain: only the ratios can be compared.
    jumps : Sides or None
        Of the whole image, if it was looked at in one piece.
    """

    blur: BlurScale
    ratios: tuple[float, float]
    jumps: Sides | None


def enough_frames(x: NDArray[np.float64]) -> list[int]:
    """Return the numbers of at most 16 frames, spread evenly over the focus coordinate x."""
    unit = np.abs(x - x[0]) / abs(x[-1] - x[0])
    wanted = np.linspace(0.0, 1.0, MOST_LAYERS)
    return sorted({int(np.abs(unit - w).argmin()) for w in wanted})


def survey(
    view: View,
    shape: tuple[int, ...],
    scale: float,
    x: NDArray[np.float64],
    side: int | None = None,
    progress: Progress = silent,
    constants: EdgeConstants = FITTED,
) -> Occlusion | None:
    """Find out whether, and from which end, surfaces hide one another.

    Parameters
    ----------
    view : callable
        Gives any part of the frames and of the depth.
    shape : tuple of int
        Height and width of the image.
    scale : float
        What maps pixel values to [0, 1].
    x : ndarray of shape (n,)
        Focus coordinate of the frames, monotone.
    side : int, optional
        Side in pixels of the tiles in which jumps are looked for; by default all at once.
    progress : callable
        Listener.
    constants : EdgeConstants
        What decides.

    Returns
    -------
    Occlusion or None
        None if there are no jumps, or no signs of occlusion.
    """
    trial = try_both_ends(view, shape, scale, x, side, progress, constants)
    if trial is None:
        return None
    first, last = trial.ratios
    ratio, other = min(first, last), max(first, last)
    # Where both ends could be the near one, it is not occlusion that the renderer explains.
    if ratio > constants.occlusion or ratio > constants.direction * other:
        return None
    return Occlusion(trial.blur, first <= last, ratio, trial.jumps)


def try_both_ends(
    view: View,
    shape: tuple[int, ...],
    scale: float,
    x: NDArray[np.float64],
    side: int | None = None,
    progress: Progress = silent,
    constants: EdgeConstants = FITTED,
) -> Trial | None:
    """Render some tiles with either end of the stack as the near one; parameters as for `survey`.

    Returns
    -------
    Trial or None
        None if there are no jumps, or too few pixels to measure the blur.
    """
    measured = measured_blur(view, shape, scale, x)
    if measured is None:
        return None
    pieces = tiles(shape, side or max(shape), JUMP_REACH, GRID)
    places: list[Box] = []
    sides = None
    for piece in track(pieces, "edges", len(pieces), progress):
        sides = jumps(*view(piece.outer), scale, measured, constants)
        if sides is not None:
            top, left = (s.start for s in piece.inner)
            here = occupied_tiles(sides.asks[piece.within])
            places += [_shifted(place, top, left) for place in here]
    if not places:
        return None
    places.sort(key=lambda place: (place[0].start // TILE, place[1].start // TILE))
    some = _spread(places, TRIAL_TILES)
    whole = sides if len(pieces) == 1 else None
    if whole is not None:
        frames, index = view(pieces[0].outer)
        sums = _trial(frames, index, scale, measured, whole, some, some, constants)
    else:
        sums = []
        for place in some:
            sums += _trial_apart(view, shape, scale, measured, place, some, constants)
    first, last = (_ratio([pair[order] for pair in sums]) for order in (0, 1))
    return Trial(measured, (first, last), whole)


def measured_blur(
    view: View, shape: tuple[int, ...], scale: float, x: NDArray[np.float64]
) -> BlurScale | None:
    """Return how strongly the camera blurs, measured in windows spread over the image."""
    parts = []
    for box in sample_windows(shape):
        tile = grown(box, shape, CLEAR + 2)
        frames, index = view(tile.outer)
        inner = [frame[tile.within] for frame in frames]
        parts.append(Part(inner, index[tile.within], _calm(index)[tile.within]))
    return blur_scale(parts, scale, x)


def jumps(
    frames: list[NDArray[Any]],
    index: Float,
    scale: float,
    measured: BlurScale,
    constants: EdgeConstants = FITTED,
) -> Sides | None:
    """Return the jumps with the first frame as the nearest."""
    scene = as_scene(frames, scale, index, measured, True, constants)
    return find_sides(scene.blur, constants)


def _calm(index: Float) -> Mask:
    """Pixels some way from anything steep."""
    high = ndimage.maximum_filter(index, 3, mode="nearest")
    steep = high - ndimage.minimum_filter(index, 3, mode="nearest") > 1.0
    calm: Mask = closest(steep, CLEAR)[0] > CLEAR
    return calm


def _trial_apart(
    view: View,
    shape: tuple[int, ...],
    scale: float,
    measured: BlurScale,
    place: Box,
    some: list[Box],
    constants: EdgeConstants,
) -> list[tuple[Sums, Sums]]:
    """Return the errors of one tile of an image that is not held in one piece."""
    outer = grown(place, shape, TRIAL_REACH, GRID).outer
    frames, index = view(outer)
    sides = jumps(frames, index, scale, measured, constants)
    assert sides is not None  # there is a jump in this place
    top, left = (-s.start for s in outer)
    # Neighbours count, too, if they are tried at all.
    near_by = [_shifted(other, top, left) for other in some if _inside(other, outer)]
    here = [_shifted(place, top, left)]
    return _trial(frames, index, scale, measured, sides, near_by, here, constants)


def _trial(
    frames: list[NDArray[Any]],
    index: Float,
    scale: float,
    measured: BlurScale,
    sides: Sides,
    asked: list[Box],
    counted: list[Box],
    constants: EdgeConstants,
) -> list[tuple[Sums, Sums]]:
    """Return the errors of some tiles, with either end of the stack as the near one."""
    most = np.float32(measured.position[-1])
    orders = []
    for near_first in (True, False):
        scene = as_scene(frames, scale, index, measured, near_first, constants)
        found = vote(scene, sides if near_first else sides.turned(most), asked, TRIAL_ROUNDS)
        orders.append(_errors(scene, found, counted))
    return list(zip(*orders, strict=True))


def _errors(scene: Scene, sides: Sides, boxes: list[Box]) -> list[Sums]:
    """Return the summed errors of the tested pixels of each box."""
    tau2 = scene.constants.robust * scene.noise

    def work(box: Box) -> Sums:
        patch, inner = cut_patch(scene, sides, box)
        asks = sides.asks[box]
        error = judge(patch, tau2, scene.constants.sharp)[1][inner][asks]
        plain = plain_error(patch, tau2)[inner][asks]
        return float(error.sum()), float(plain.sum()), error.size

    return on_threads(work, boxes)


def _ratio(sums: list[Sums]) -> float:
    # Sorted, so that the sum does not depend on the order.
    error, plain, _ = np.sum(np.array(sorted(sums)), axis=0)
    return float(error) / max(float(plain), 1e-12)


def _spread(boxes: list[Box], count: int) -> list[Box]:
    return [boxes[i] for i in np.unique(np.linspace(0, len(boxes) - 1, count).astype(int))]


def _shifted(box: Box, rows: int, columns: int) -> Box:
    return (
        slice(box[0].start + rows, box[0].stop + rows),
        slice(box[1].start + columns, box[1].stop + columns),
    )


def _inside(box: Box, outer: Box) -> bool:
    return all(o.start <= s.start and s.stop <= o.stop for s, o in zip(box, outer, strict=True))
