r"""The edge stage: pixels beside depth jumps go to the side that explains the frames better.

`varfocus.edges.judge` says by how much the squared error of the rendered frames changes if a pixel
changes sides. A pixel of the background, sharp nowhere in the frames where the foreground is
sharp, fits either side there: so the near side must earn its place by more than noise, and by a
share of what its other pixels earn. What neighbours say is averaged over a pixel or so; where
nobody earns anything, a pixel stays where it is.

The stage has work to do only if surfaces hide one another. It first tries some patches, with
either end of the stack as the near one, and leaves the depth alone unless rendering with occlusion
explains the frames clearly better than blurring every pixel by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from varfocus import engine
from varfocus.canvas.tiles import Box, grown, tiles
from varfocus.edges.judge import SHARP, judge, plain_error
from varfocus.edges.render import Float, Patch, convolved, kernel
from varfocus.edges.scale import CLEAR, BlurScale, Part, blur_scale, sample_windows
from varfocus.edges.sides import BAND, FAR_ENOUGH, Mask, Sides, closest, find_sides, hopeful
from varfocus.progress import Progress, silent, track

TILE = 64
"""Side in pixels of the tiles whose askers are judged together."""

LAYER_STEP, MOST_LAYERS = 0.4, 16
"""Layers are frames at least this many pixels of blur σ apart, and so many at most."""

SURE_LAYERS = 1
"""Sides that are fewer layers apart cannot be told from one another."""

HALO = (6, 24)
"""Least and most pixels around the askers of a tile that are rendered along."""

TRIAL_TILES = 24
"""Tiles on which the stage first tries whether, and from which end, surfaces hide one another."""

TRIAL_ROUNDS = 2
"""How often the pixels of these tiles are asked."""

OCCLUSION = 0.75
"""The stage runs if rendering with occlusion leaves at most this share of the error without."""

DIRECTION = 0.85
"""and at most this share of what the other end as the near one leaves."""

ROUNDS = 3
"""How often all pixels are asked."""

ROBUST = 36.0
"""τ² of the judge in units of the noise."""

EARNED = 6.0
"""What the near side must earn, in units of the noise per frame that is asked."""

SHARE = 0.25
"""What it must earn at least, as a share of what its pixels earn nearby."""

PLENTY = 6.0
"""Where the near side earns this many times the least on average, who earns nothing is far."""

NEARBY = 3.0
"""σ in pixels of that average."""

TOGETHER = 0.7
"""σ in pixels over which neighbours decide together."""

REACH_OF_VOTES = (kernel(NEARBY).size + kernel(TOGETHER).size) // 2
"""Distance in pixels from which what is said has a part in a decision."""

STAY, SURE = 0.05, 0.5
"""Weight of the present side, and of pixels that are not asked."""

EXPLAINED = 4.0
"""Un-mixed colours are believed where the error, in units of the noise per frame, is below."""


@dataclass(frozen=True)
class Sharpened:
    """What the edge stage gives back.

    Attributes
    ----------
    index : ndarray of shape (H, W), float32
        Depth in frames.
    moved : ndarray of shape (H, W), bool
        Pixels whose depth the stage has changed.
    colour : ndarray of shape (H, W, C), float32
        Un-mixed colours in [0, 1], where `seen`.
    seen : ndarray of shape (H, W), bool
        Pixels on the far side of jumps whose un-mixed colours explain the frames.
    ratio : float
        Error with occlusion over error without, in the trial.
    near_first : bool
        Whether the first frame is the nearest.
    """

    index: Float
    moved: Mask
    colour: Float
    seen: Mask
    ratio: float
    near_first: bool

    def describe(self) -> dict[str, object]:
        """Return what was found out, as plain data."""
        return {
            "nearest_frame": "first" if self.near_first else "last",
            "error_ratio": round(self.ratio, 3),
            "moved_pixels": int(self.moved.sum()),
        }


@dataclass(frozen=True)
class _Scene:
    """Frames in order from near to far, what maps them to [0, 1], and depth as a blur in pixels."""

    frames: list[NDArray[Any]]
    scale: float
    position: NDArray[np.float64]
    blur: Float
    noise: float


Tile = Box
Done = TypeVar("Done")

GRID = BAND
"""Parts of an image begin at multiples of this many pixels, so that tiles, and the rows in which
distances are measured, divide them like the whole."""

JUMP_REACH = FAR_ENOUGH + 2 * TILE
"""Pixels around a tile that its jumps depend on."""

TRIAL_REACH = JUMP_REACH + TRIAL_ROUNDS * (HALO[1] + REACH_OF_VOTES)
"""Pixels around a tile that a trial depends on."""

PART_REACH = JUMP_REACH + 2 * ROUNDS * (HALO[1] + REACH_OF_VOTES)
"""Pixels around a part that its depth depends on: those that may move ask twice."""


def enough_frames(x: NDArray[np.float64]) -> list[int]:
    """Return the numbers of at most 16 frames, spread evenly over the focus coordinate x."""
    unit = np.abs(x - x[0]) / abs(x[-1] - x[0])
    wanted = np.linspace(0.0, 1.0, MOST_LAYERS)
    return sorted({int(np.abs(unit - w).argmin()) for w in wanted})


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


View: TypeAlias = Callable[[Box], tuple[list[NDArray[Any]], Float]]
"""Gives the frames, n of shape ``(h, w, C)``, and the depth in frames of a part of the image."""


def sharpen(
    frames: list[NDArray[Any]],
    scale: float,
    index: Float,
    x: NDArray[np.float64],
    rival: Float | None = None,
) -> Sharpened | None:
    """Put the pixels beside depth jumps on the right side.

    Parameters
    ----------
    frames : list of n ndarrays of shape (H, W, C)
        Frames in any number type; `enough_frames` are enough.
    scale : float
        What maps them to [0, 1].
    index : ndarray of shape (H, W), float32
        Depth in these frames.
    x : ndarray of shape (n,)
        Focus coordinate of these frames, monotone.
    rival : ndarray of shape (H, W), float32, optional
        Another depth that a pixel by itself would prefer, or else the same: things too thin for
        the neighbourhood to believe in.

    Returns
    -------
    Sharpened or None
        None if there are no jumps, or no signs of occlusion: the depth should stay as it is.
    """
    found = survey(lambda box: ([f[box] for f in frames], index[box]), index.shape, scale, x)
    return None if found is None else sharpen_part(frames, scale, index, found, rival)


def survey(
    view: View,
    shape: tuple[int, ...],
    scale: float,
    x: NDArray[np.float64],
    side: int | None = None,
    progress: Progress = silent,
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

    Returns
    -------
    Occlusion or None
        None if there are no jumps, or no signs of occlusion.
    """
    parts = []
    for box in sample_windows(shape):
        tile = grown(box, shape, CLEAR + 2)
        frames, index = view(tile.outer)
        inner = [frame[tile.within] for frame in frames]
        parts.append(Part(inner, index[tile.within], _calm(index)[tile.within]))
    measured = blur_scale(parts, scale, x)
    if measured is None:
        return None
    places: list[Tile] = []
    pieces = tiles(shape, side or max(shape), JUMP_REACH, GRID)
    sides = None
    for piece in track(pieces, "edges", len(pieces), progress):
        sides = _jumps(*view(piece.outer), scale, measured)
        if sides is not None:
            top, left = (s.start for s in piece.inner)
            places += [_moved(place, top, left) for place in _tiles(sides.asks[piece.within])]
    if not places:
        return None
    places.sort(key=lambda place: (place[0].start // TILE, place[1].start // TILE))
    some = _spread(places, TRIAL_TILES)
    whole = sides if len(pieces) == 1 else None
    if whole is not None:
        sums = _trial(*view(pieces[0].outer), scale, measured, whole, some, some)
    else:
        sums = []
        for place in some:
            outer = grown(place, shape, TRIAL_REACH, GRID).outer
            frames, index = view(outer)
            sides = _jumps(frames, index, scale, measured)
            assert sides is not None  # there is a jump in this place
            top, left = (-s.start for s in outer)
            # Neighbours have a say, if they are tried at all.
            near_by = [_moved(other, top, left) for other in some if _inside(other, outer)]
            here = [_moved(place, top, left)]
            sums += _trial(frames, index, scale, measured, sides, near_by, here)
    # Either order has its own frames and pixels to explain: only the ratios compare.
    ratios = [_ratio([pair[order] for pair in sums]) for order in (0, 1)]
    ratio, near_first = min(ratios), ratios[0] <= ratios[1]
    # Where both ends could be the near one, it is not occlusion that the renderer explains.
    if ratio > OCCLUSION or ratio > DIRECTION * max(ratios):
        return None
    return Occlusion(measured, near_first, ratio, whole)


Sums: TypeAlias = tuple[float, float, int]
"""Error with occlusion, error without, and of how many pixels."""


def _trial(
    frames: list[NDArray[Any]],
    index: Float,
    scale: float,
    measured: BlurScale,
    sides: Sides,
    asked: list[Tile],
    counted: list[Tile],
) -> list[tuple[Sums, Sums]]:
    """Return the errors of some tiles, with either end of the stack as the near one."""
    most = np.float32(measured.position[-1])
    orders = []
    for near_first in (True, False):
        scene = _scene(frames, scale, index, measured, near_first)
        jumps = sides if near_first else sides.turned(most)
        orders.append(_errors(scene, _asked(scene, jumps, asked, TRIAL_ROUNDS), counted))
    return list(zip(*orders, strict=True))


def _ratio(sums: list[Sums]) -> float:
    # Sorted, so that the sum does not depend on the order.
    error, plain, _ = np.sum(np.array(sorted(sums)), axis=0)
    return float(error) / max(float(plain), 1e-12)


def _inside(box: Box, outer: Box) -> bool:
    return all(o.start <= s.start and s.stop <= o.stop for s, o in zip(box, outer, strict=True))


def _jumps(
    frames: list[NDArray[Any]], index: Float, scale: float, measured: BlurScale
) -> Sides | None:
    """Return the jumps with the first frame as the nearest."""
    return find_sides(_scene(frames, scale, index, measured, near_first=True).blur)


def sharpen_part(
    frames: list[NDArray[Any]],
    scale: float,
    index: Float,
    found: Occlusion,
    rival: Float | None = None,
) -> Sharpened:
    """Put the pixels beside depth jumps on the right side, in an image or a part of one.

    Parameters
    ----------
    frames, scale, index, rival
        As for `sharpen`.
    found : Occlusion
        From `survey`.

    Returns
    -------
    Sharpened
        Right up to `PART_REACH` pixels from where the part was cut.
    """
    measured, near_first = found.blur, found.near_first
    scene = _scene(frames, scale, index, measured, near_first)
    sides = found.jumps or _jumps(frames, index, scale, measured)
    if sides is not None and not near_first:
        sides = sides.turned(np.float32(measured.position[-1]))
    start = scene.blur
    if rival is not None:
        other = _scene(frames, scale, rival, measured, near_first).blur
        hopes = hopeful(scene.blur, other)
        hopes = _asked(scene, hopes, _tiles(hopes.asks), ROUNDS)
        scene = replace(scene, blur=np.where(hopes.is_near, hopes.near, scene.blur))
        sides = find_sides(scene.blur) or sides
    colour = np.zeros((*index.shape, frames[0].shape[2]), np.float32)
    seen = np.zeros(index.shape, bool)
    if sides is not None:
        places = _tiles(sides.asks)
        residue = np.zeros(index.shape, np.float32)
        sides = _asked(scene, sides, places, ROUNDS, (colour, residue))
        blur = np.where(sides.is_near, sides.near, sides.far)
        scene = replace(scene, blur=np.where(sides.asks, blur, scene.blur))
        for place in places:
            seen[place] = sides.zone[place] & ~sides.is_near[place]
        # Where light would have to be negative, or more than white, the veil was another one.
        seen &= (residue <= EXPLAINED * scene.noise) & ((colour > 0) & (colour < 1)).all(axis=2)
    moved = scene.blur != start
    depth = np.where(moved, _to_frames(measured, scene.blur, near_first), index)
    return Sharpened(depth, moved, colour, seen, found.ratio, near_first)


def _calm(index: Float) -> Mask:
    """Pixels some way from anything steep."""
    high = ndimage.maximum_filter(index, 3, mode="nearest")
    steep = high - ndimage.minimum_filter(index, 3, mode="nearest") > 1.0
    calm: Mask = closest(steep, CLEAR)[0] > CLEAR
    return calm


def _scene(
    frames: list[NDArray[Any]], scale: float, index: Float, measured: BlurScale, near_first: bool
) -> _Scene:
    position = measured.position
    blur = np.interp(index, np.arange(len(frames)), position).astype(np.float32)
    if not near_first:
        frames, blur = frames[::-1], np.float32(position[-1]) - blur
        position = position[-1] - position[::-1]
    chosen = [0]
    for k in range(1, len(frames)):
        if position[k] - position[chosen[-1]] >= 0.999 * LAYER_STEP:
            chosen.append(k)
    return _Scene([frames[k] for k in chosen], scale, position[chosen], blur, measured.noise)


def _to_frames(scale: BlurScale, blur: Float, near_first: bool) -> Float:
    """Turn depth in pixels of blur into depth in frames."""
    if not near_first:
        blur = np.float32(scale.position[-1]) - blur
    return np.interp(blur, scale.position, np.arange(scale.position.size)).astype(np.float32)


def _tiles(asks: Mask) -> list[Tile]:
    """Return the bounding boxes of the askers in every tile that has any."""
    boxes = []
    for top in range(0, asks.shape[0], TILE):
        for left in range(0, asks.shape[1], TILE):
            here = asks[top : top + TILE, left : left + TILE]
            rows, columns = np.flatnonzero(here.any(axis=1)), np.flatnonzero(here.any(axis=0))
            if rows.size:
                down = slice(top + int(rows[0]), top + int(rows[-1]) + 1)
                boxes.append((down, slice(left + int(columns[0]), left + int(columns[-1]) + 1)))
    return boxes


def _moved(tile: Tile, rows: int, columns: int) -> Tile:
    return (
        slice(tile[0].start + rows, tile[0].stop + rows),
        slice(tile[1].start + columns, tile[1].stop + columns),
    )


def _spread(tiles: list[Tile], count: int) -> list[Tile]:
    return [tiles[i] for i in np.unique(np.linspace(0, len(tiles) - 1, count).astype(int))]


def _grown(tile: Tile, halo: int, shape: tuple[int, ...]) -> tuple[Tile, Tile]:
    """Return a tile with its halo, and where the tile lies in it."""
    outer = [
        slice(max(s.start - halo, 0), min(s.stop + halo, n))
        for s, n in zip(tile, shape, strict=True)
    ]
    inner = [slice(s.start - o.start, s.stop - o.start) for s, o in zip(tile, outer, strict=True)]
    return (outer[0], outer[1]), (inner[0], inner[1])


def _around(sides: Sides, tile: Tile) -> tuple[Tile, Tile]:
    """Return a tile with what is rendered along, and where the tile lies in it."""
    height = float((sides.far[tile] - sides.near[tile]).max())
    return _grown(tile, int(np.clip(np.ceil(2.0 * height), *HALO)), sides.near.shape)


def _patch(scene: _Scene, sides: Sides, tile: Tile) -> tuple[Patch, Tile]:
    """Return a tile with its halo, cut into layers, and where the tile lies in it."""
    box, inner = _around(sides, tile)
    zone, near, far = sides.zone[box], sides.near[box], sides.far[box]
    blur = np.where(zone, np.where(sides.is_near[box], near, far), scene.blur[box])
    middle = 0.5 * (scene.position[1:] + scene.position[:-1])
    label, low, high = (np.searchsorted(middle, value) for value in (blur, near, far))
    sure = zone & (high - low >= SURE_LAYERS)
    low, high = np.where(sure, low, label), np.where(sure, high, label)
    layers = np.unique(np.stack([label, low, high]))
    # A layer lies where its pixels lie on average.
    place = np.array(
        [
            blur[label == layer].mean() if (label == layer).any() else scene.position[layer]
            for layer in layers
        ]
    )
    sigma = np.abs(scene.position[:, None] - place[None])
    # Frames that are asked about a near side, and the sharpest of every layer.
    wanted = np.zeros(len(scene.frames), bool)
    wanted[sigma.argmin(axis=0)] = True
    wanted |= (sigma[:, np.isin(layers, low[sure])] <= SHARP).any(axis=1)
    kept = np.flatnonzero(wanted)
    frames = np.stack([np.moveaxis(scene.frames[k][box], 2, 0) for k in kept]).astype(np.float32)
    frames *= np.float32(scene.scale)
    shown, front, behind = (
        np.searchsorted(layers, each).astype(np.int32) for each in (label, low, high)
    )
    return Patch(frames, shown, front, behind, sigma[kept].astype(np.float32)), inner


def _on_threads(work: Callable[[Tile], Done], tiles: Iterable[Tile]) -> list[Done]:
    """Do the tiles, which do not depend on each other, on as many threads as allowed."""
    if engine.in_use():
        with ThreadPoolExecutor(engine.thread_count(), thread_name_prefix="varfocus-edge") as pool:
            return list(pool.map(work, tiles))
    return [work(tile) for tile in tiles]


def _asked(
    scene: _Scene,
    sides: Sides,
    tiles: list[Tile],
    rounds: int,
    shown: tuple[Float, Float] | None = None,
) -> Sides:
    """Ask all pixels of some tiles so many times, and let them change sides.

    Un-mixed colours of what they show in the end, and the error per frame, are put into `shown`.
    """
    shape = scene.blur.shape
    change, least = np.zeros(shape, np.float32), np.ones(shape, np.float32)
    asks = np.zeros(shape, bool)

    def ask(tile: Tile) -> None:
        patch, inner = _patch(scene, sides, tile)
        found, error, mixed = judge(patch, ROBUST * scene.noise)
        change[tile] = found[inner]
        asked = np.maximum((patch.sigma <= SHARP).sum(axis=0), 1) * np.float32(EARNED * scene.noise)
        least[tile] = asked[patch.near[inner]]
        asks[tile] = sides.asks[tile] & (patch.near < patch.far)[inner]
        if shown is not None:
            shown[0][tile] = np.moveaxis(mixed, 0, 2)[inner]
            shown[1][tile] = error[inner] / np.float32(len(patch.frames))

    todo = tiles
    for _ in range(rounds):
        _on_threads(ask, todo)
        before, is_near = sides.is_near, sides.is_near.copy()
        for tile in tiles:
            box, inner = _grown(tile, REACH_OF_VOTES, shape)
            is_near[tile] = decide(change[box], least[box], before[box], asks[box])[inner]
        moved = is_near != before
        sides = replace(sides, is_near=is_near)
        # Where nobody moved, the judge would say the same again.
        todo = [tile for tile in tiles if moved[_around(sides, tile)[0]].any()]
    if shown is not None:
        _on_threads(ask, todo)
    return sides


def decide(change: Float, least: Float, is_near: Mask, asks: Mask) -> Mask:
    r"""Return who is on the near side from now on.

    With D = E(near) − E(far), λ the least to be earned, and V the average of what the near side
    earns around a pixel (at most 20 λ), the vote of a pixel for the far side is

    .. math:: u = \operatorname{clip}\Bigl(\frac{D + t}{t}, -1, 1\Bigr), \quad
              t = \max(λ, V/4),

    its positive part multiplied by min(1, V/6λ).

    Parameters
    ----------
    change, least : ndarray of shape (H, W), float32
        D and λ.
    is_near, asks : ndarray of shape (H, W), bool
        The present side, and who may change it.

    Returns
    -------
    ndarray of shape (H, W), bool
        The new side.
    """
    earners = (asks & is_near).astype(np.float32)

    gain = np.clip(-change, 0.0, 20.0 * least) * earners
    earned, count = convolved(np.stack([gain, earners]), kernel(NEARBY))
    earned /= np.maximum(count, np.float32(1e-3))
    threshold = np.maximum(least, np.float32(SHARE) * earned)
    vote = np.clip((change + threshold) / threshold, -1.0, 1.0)
    vote = np.where(vote > 0, vote * np.clip(earned / (PLENTY * least), 0.0, 1.0), vote)
    present = np.where(is_near, np.float32(-1.0), np.float32(1.0))
    vote = np.where(asks, vote, np.float32(SURE) * present)
    vote = convolved(vote[None], kernel(TOGETHER))[0] + np.float32(STAY) * present
    side: Mask = np.where(asks, vote < 0, is_near)
    return side


def _errors(scene: _Scene, sides: Sides, tiles: list[Tile]) -> list[Sums]:
    """Return the summed errors of the askers of each tile."""

    def work(tile: Tile) -> Sums:
        patch, inner = _patch(scene, sides, tile)
        tau2 = ROBUST * scene.noise
        asks = sides.asks[tile]
        error = judge(patch, tau2)[1][inner][asks]
        plain = plain_error(patch, tau2)[inner][asks]
        return float(error.sum()), float(plain.sum()), error.size

    return _on_threads(work, tiles)
