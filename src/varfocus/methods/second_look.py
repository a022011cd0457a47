r"""A second look at a stack, in reduced size: which depths explain all frames.

Contrast peaks where a pixel is sharp, and also where the rim of a blurred edge passes it. Both look
alike to contrast, but only one explains all frames (`varfocus.explain`). So before the search, the
stack is looked at in a size of at most a hundred thousand pixels or so:

1. contrast and its semi-global answer, as in full size;
2. the lens: how wide it blurs, and whether with a rim;
3. three times: sharp picture A, re-blur cost G, and a search on it; the first time on G alone,
   which drops the ghosts that contrast believes in, then on G and contrast joined;
4. three times: pixels beside jumps take the depth of trusted pixels that look like them;
5. where little speaks, depth is continued, in second order and along the edges of the picture,
   from what explains the frames.

Where the two answers, of step 1 and of step 5, differ, the one that explains the frames better
counts. If they hardly do, the stack needs no second look and nothing changes. Else thin near things
that both overlook are added (`varfocus.explain.overlooked`), and evidence counts in full size only
around the chosen depth: `varfocus.energy.confine`. All that has the size of the image stays local,
so tiles and bands change nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from varfocus import explain
from varfocus.align.warp import shrink
from varfocus.canvas import Canvas, Tile, Whole
from varfocus.contrast import PLAIN_SHARE, jump_weight
from varfocus.contrast.kernel_scales import decoded
from varfocus.curve.coordinate import Coordinate
from varfocus.curve.likelihood import Model, cost_volume
from varfocus.edges import End, enough_frames, jump_height, near_end
from varfocus.edges.plain_areas import settle
from varfocus.energy.confine import PULL, Confinement
from varfocus.energy.operators import K
from varfocus.explain import Lens
from varfocus.explain.fill import continued, edge_weight
from varfocus.explain.reblur import local_mean
from varfocus.methods.evidence import beyond_noise
from varfocus.methods.prepared import front_and_model
from varfocus.methods.smoothness import light, penalties
from varfocus.methods.veto import end_labels, overshadowed
from varfocus.minimise.volume_search import VolumeSearch
from varfocus.params import Params, RobustParams
from varfocus.progress import Progress, silent
from varfocus.stack import FocusStack

Float = NDArray[np.float32]
Mask = NDArray[np.bool_]

MOST_PIXELS, MOST_VALUES = 1 << 17, 6_000_000
"""Pixels of the reduced frames, and of these times the labels, at most."""

MOST_FRAMES = 20
"""Frames that are looked at, spread evenly over the focus coordinate."""

FEWEST_FRAMES = 4
"""With fewer frames a depth explains nothing that another does not."""

LEAST_SIDE = 24
"""Pixels of the shorter side of the reduced frames, at least."""

STRONG = 60.0
"""Percentile of the contrast above which a pixel is strong."""

SURE = -0.8
"""Cost of contrast below which it is sure of itself."""

ROUNDS, VOTES = 3, 3

VOLUMES, PLANES = 12, 100
"""Volumes of labels, and images, that are held at once."""

BESIDE, JUMP = 6, 0.7
"""Pixels within so many pixels of a step above so many peak widths vote."""

MARGIN = 1.5
"""Depths within so many frames of those around a pixel explain the frames there."""

COMPARED = 1.5
"""σ in pixels over which the misfit of two depth maps is compared."""

CLEARLY = {"hard": 1.0, "soft": 1.2}
"""By what factor the answer of G alone must explain the frames better, where it differs from that
of contrast, to contradict it: blur that ends at once has a rim, and so ghosts; blur that fades has
none, and is doubted less."""

KEPT = 0.8
"""Once contrast is contradicted, its answer is kept where it leaves this share of the misfit."""

LIKELY = 0.5
"""The likeliest depth of a pixel is trusted so far at least, whatever it explains."""

SPEAKS = 0.25
"""Evidence around a pixel, in average wells, below which depth is continued from elsewhere."""

CONTRADICTED = {"hard": 0.001, "soft": 0.01}
"""Share of the pixels whose frames contradict their contrast, from which on that is believed."""

DOUBTED = {"hard": 0.001, "soft": 0.005}
"""The same, if the answer that follows shows clearly which end of the stack is near: then its jumps
are those of things that hide one another."""

PRICE = 2.0
"""α₁ of `varfocus.explain.fill` per peak width."""

MOST_WEIGHT = 1.5
"""A depth is worth its evidence, in average wells, up to this."""


@dataclass(frozen=True)
class Look:
    """What the second look found, in reduced size.

    Attributes
    ----------
    lens : Lens
        Blur in pixels of the full size.
    contradicted : float
        Share of the pixels whose frames contradict their contrast.
    changes : bool
        Whether that is believed; if not, all else but `nearest` is the answer of contrast.
    low, high, centre : ndarray of shape (h, w), float32
        Range of depth that explains the frames, and the depth itself, in frames.
    trust : ndarray of shape (h, w), float32
        How well it does, in [0, 1]; 1 where nothing changes, and nobody asks.
    factor : int
        Pixels of the full size, along a side, that make one.
    nearest : {"first", "last"} or None
        Which end of the stack is near, if what hides what, or the outlines of objects, tell.
    """

    lens: Lens
    contradicted: float
    changes: bool
    low: Float
    high: Float
    centre: Float
    trust: Float
    factor: int
    nearest: End | None

    def describe(self) -> dict[str, object]:
        """Return the findings, as plain data."""
        return {
            "rim": self.lens.rim,
            "blur_px": round(self.lens.radius, 2),
            "contradicted": round(self.contradicted, 5),
            "changes": self.changes,
        }

    def confinement(self, model: Model, canvas: Canvas) -> Confinement:
        """Return where costs count in full size, in labels of a model.

        Ranges are those of the closest pixel of the reduced size, or of both; depth and trust are
        linear between. What a pixel of it says of each of f × f pixels counts less: β/f.
        """
        per_label = np.float32(1.0 / model.step)

        def work(tile: Tile, _: Progress) -> tuple[Float, ...]:
            places = [
                place_in(part, whole, self.factor, side)
                for part, whole, side in zip(tile.outer, canvas.shape, self.low.shape, strict=True)
            ]
            low = _closest(self.low, places, np.minimum) * per_label
            high = _closest(self.high, places, np.maximum) * per_label
            centre, trust = (_between(each, places) for each in (self.centre, self.trust))
            return low, high, centre * per_label, trust

        low, high, centre, trust = canvas.map("second look", 0, work)
        width, ghosts = model.peak_width / model.step, self.lens.rim == "hard"
        pull = PULL / self.factor
        scale = 1.0 / (float(self.trust.mean(dtype=np.float64)) + pull)
        return Confinement(low, high, centre, trust, width, scale, pull, ghosts)


def second_look(
    stack: FocusStack,
    model: Model,
    params: Params,
    canvas: Canvas,
    progress: Progress = silent,
) -> Look | None:
    """Look at a stack in reduced size.

    Parameters
    ----------
    stack : FocusStack
        Frames; at most 20 of them are decoded once more.
    model : Model
        Of the stack in full size: its focus coordinate, and how many labels it takes.
    params : Params
        Of which `measure`, `support` and `coarse_blur` are used.
    canvas : Canvas
        Tells in which tiles the frames are read.
    progress : callable
        Listener.

    Returns
    -------
    Look or None
        None where there is too little to look at.
    """
    factor = reduction(stack.shape, model.labels)
    if min(stack.shape) // factor < LEAST_SIDE or len(stack) < FEWEST_FRAMES:
        return None
    numbers = spread(model.coordinate.x)
    progress("second look", 0, 1)
    small = reduced(stack, numbers, factor, canvas)
    found = _Small(small, params, model.coordinate.among(numbers), factor).answer()
    progress("second look", 1, 1)
    if found is None:
        return None
    among = np.array(numbers, np.float64)

    def whole(index: Float) -> Float:
        return np.interp(index, np.arange(among.size), among).astype(np.float32)

    lens = replace(found.lens, radius=found.lens.radius * factor)
    low, high, centre = (whole(each) for each in (found.low, found.high, found.centre))
    # One frame of those looked at may be several of all.
    margin = np.float32(MARGIN * (len(stack) - 1) / (len(numbers) - 1))
    return replace(
        found, lens=lens, low=low - margin, high=high + margin, centre=centre, factor=factor
    )


def reduction(shape: tuple[int, int], labels: int) -> int:
    """Return by how much frames are reduced along a side: the power of two that suffices."""
    most = min(MOST_PIXELS, MOST_VALUES // labels)
    factor = 1
    while (shape[0] // factor) * (shape[1] // factor) > most:
        factor *= 2
    return factor


def look_bytes(shape: tuple[int, int], n: int, channels: int, labels: int) -> int:
    """Return the memory that a look takes at most: volumes of labels, blurred pictures, frames."""
    factor = reduction(shape, labels)
    pixels = (shape[0] // factor) * (shape[1] // factor)
    return 4 * pixels * (VOLUMES * labels + PLANES + (channels + 5) * min(n, MOST_FRAMES))


def spread(x: NDArray[np.float64]) -> list[int]:
    """Return the numbers of at most 20 frames, spread evenly over the focus coordinate."""
    if x.size <= MOST_FRAMES:
        return list(range(x.size))
    return enough_frames(x, MOST_FRAMES)


def reduced(stack: FocusStack, numbers: list[int], factor: int, canvas: Canvas) -> FocusStack:
    """Return some frames of a stack, means over blocks of pixels, as floats in [0, 1].

    The blocks lie in the middle of the image: what is left over is cut off alike on both sides, so
    blocks may begin in the middle of a pixel, which then counts half in either.
    """
    height, width = (side // factor for side in stack.shape)
    some = replace(
        stack,
        frames=[stack.frames[k] for k in numbers],
        files=(),
        focus=None if stack.focus is None else stack.focus[numbers],
    )
    pixels = np.empty((len(numbers), height, width, stack.channels), np.float32)
    for tile in canvas.tiles():
        (down, rows), (across, columns) = (
            _blocks(part, side, factor) for part, side in zip(tile.inner, stack.shape, strict=True)
        )
        if down.start >= down.stop or across.start >= across.stop:
            continue
        part = some.window(_hull(rows), _hull(columns))
        for k, frame in enumerate(part.ahead()):
            image = frame.reshape(*part.shape, -1)
            cuts = [
                shrink(image[_within(y, rows), _within(x, columns)], factor, stack.scale)
                for y in rows
                for x in columns
            ]
            pixels[k, down, across] = cuts[0] if len(cuts) == 1 else np.mean(cuts, axis=0)
        canvas.release()
    top = float(pixels.max())
    if top > 0.0 and not np.issubdtype(stack.dtype, np.integer):
        pixels *= np.float32(1.0 / top)
    return replace(FocusStack.from_array(pixels), focus=some.focus)


class _Small:
    """The stack in reduced size, and the steps of the second look."""

    def __init__(self, stack: FocusStack, params: Params, axis: Coordinate, factor: int) -> None:
        self.factor = factor
        front, self.model = front_and_model(stack, params, Whole(stack.shape), axis=axis)
        self.stack = stack
        self.params = RobustParams()  # what is smooth here does not depend on taste
        self.axis = self.model.coordinate
        frames = np.stack([np.asarray(stack.read(k), np.float32) for k in range(len(stack))])
        self.frames: Float = frames if frames.ndim == 3 else frames.mean(axis=3, dtype=np.float32)
        self.weight: Float = jump_weight(
            front.gradient, reference=float(np.percentile(front.gradient, PLAIN_SHARE))
        )
        contrast = front.contrast
        if contrast.dtype == np.uint16:
            contrast = decoded(contrast)
        self.T = cost_volume(np.asarray(contrast, np.float32), self.model)
        lost = overshadowed(front.strength)
        for cost, end in zip(self.T, end_labels(self.model), strict=True):
            cost *= 1.0 - end * lost
        self.strong: Mask = front.strength > np.percentile(front.strength, STRONG)

    def answer(self) -> Look | None:
        """Return the look, with ranges not yet widened."""
        first = self.searched(self.T)
        lens = explain.learn_lens(self.frames, first, self.reliable(first), self.axis)
        if lens is None:
            return None
        alone = self.searched(explain.wells(self.explained(first, lens)[1]))
        _, contradicted = self.better(first, alone, lens, CLEARLY[lens.rim])
        if contradicted >= DOUBTED[lens.rim]:
            joined, second = self.second(alone, lens)
            chosen, share = self.better(first, second, lens, KEPT)
            A, G, noise = self.explained(chosen, lens)
            height = jump_height(len(self.frames))
            order = explain.order_of(self.frames, A, chosen, self.axis, lens, noise, height)
            believed = contradicted >= CONTRADICTED[lens.rim] or order.clear
            if believed and share >= CONTRADICTED[lens.rim]:
                nearest = agreed(order, self.near_end([first, joined]))
                trust = trusted(G, self.label(chosen), self.factor)
                chosen, things = self.with_overlooked(chosen, first, lens, nearest)
                trust[things] = 1.0  # where G is no judge
                low = ndimage.minimum_filter(chosen, 3, mode="nearest")
                high = ndimage.maximum_filter(chosen, 3, mode="nearest")
                return Look(lens, share, True, low, high, chosen, trust, 1, nearest)
        # Nobody asks how well it explains the frames.
        sure, nearest = np.ones_like(first), self.near_end([first])
        return Look(lens, contradicted, False, first, first, first, sure, 1, nearest)

    def second(self, index: Float, lens: Lens) -> tuple[Float, Float]:
        """Return the depth of G and contrast joined, given that of G alone; and the finished one.

        Beside jumps the latter is voted on, and where little speaks it is continued.
        """
        for _ in range(1, ROUNDS):
            G = self.explained(index, lens)[1]
            index = self.searched(explain.joined(self.T, G))
        joined = index
        for _ in range(VOTES):
            A, G, _ = self.explained(index, lens)
            asked = ndimage.maximum_filter(
                steepness(index) > JUMP * self.model.peak_width, 2 * BESIDE + 1
            )
            trust = explain.gate_at(G, self.label(index))
            index = explain.vote(index, trust, A, asked, self.model.step, self.model.labels)
        _, G, _ = self.explained(index, lens)
        gated = VolumeSearch(self.T * explain.gate(G), self.model.step)
        index = self.refined(gated, index / np.float32(self.model.step))
        return joined, self.filled(index, lens)

    def near_end(self, maps: list[Float]) -> End | None:
        """Return which end of the stack is near, if the outlines of objects tell."""
        n = len(self.frames)
        pictures = [frame[..., None] for frame in self.frames]
        return near_end(pictures, 1.0, np.arange(float(n)), maps, jump_height(n))

    def explained(self, index: Float, lens: Lens) -> tuple[Float, Float, float]:
        """Return the sharp picture of a depth map, G, and the noise."""
        A = explain.sharp_picture(self.frames, index, self.axis, lens)
        bank = explain.pictures(A, lens)
        noise = explain.noise_of(self.frames, bank, index, self.reliable(index), self.axis, lens)
        G = explain.reblur(self.frames, bank, self.axis, self.model.labels, lens, noise)
        return A, G, noise

    def better(
        self, first: Float, second: Float, lens: Lens, clearly: float
    ) -> tuple[Float, float]:
        """Return the better of two depths where they differ, and the share where it is the second.

        Each map has its own sharp picture, and is judged by what that explains around a pixel.
        """
        banks = [
            explain.pictures(explain.sharp_picture(self.frames, each, self.axis, lens), lens)
            for each in (first, second)
        ]
        sure = self.reliable(second)
        noise = explain.noise_of(self.frames, banks[1], second, sure, self.axis, lens)
        misfits = [
            local_mean(explain.misfit(self.frames, bank, each, self.axis, lens, noise), COMPARED)
            for bank, each in zip(banks, (first, second), strict=True)
        ]
        differ = np.abs(first - second) > MARGIN
        kept = differ & (misfits[0] < np.float32(clearly) * misfits[1])
        share = float((differ & ~kept).mean())
        return np.where(kept, first, second), share

    def with_overlooked(
        self, index: Float, contrast: Float, lens: Lens, near: End | None
    ) -> tuple[Float, Mask]:
        """Return a depth with the near things that it overlooks, and which pixels these are."""
        left = explain.unexplained(self.channels(), index, self.axis, lens)
        return explain.overlooked(left, index, contrast, self.axis, lens, near)

    def channels(self) -> list[Float]:
        """Return the frames ``(n, H, W)`` of every channel."""
        n, count = len(self.frames), self.stack.channels
        if count == 1:
            return [self.frames]
        frames = [np.asarray(self.stack.read(k), np.float32) for k in range(n)]
        return [np.stack([frame[..., c] for frame in frames]) for c in range(count)]

    def filled(self, index: Float, lens: Lens) -> Float:
        """Return the depth, where little speaks continued from what explains the frames."""
        A, G, noise = self.explained(index, lens)
        label, cost = self.label(index), self.at(self.T, index)
        explained = explain.gate_at(G, label) * explain.likely_at(G, label)
        evidence = np.clip(-cost, 0.0, MOST_WEIGHT)
        # Little by little the noise of a plain area would outweigh the few pixels around it.
        weight = explained * evidence * beyond_noise(cost, self.model)
        smooth = continued(index, weight, edge_weight(A, noise), PRICE / self.model.peak_width)
        return np.where(local_mean(evidence, COMPARED) < SPEAKS, smooth, index)

    def reliable(self, index: Float) -> Mask:
        """Return the pixels whose contrast is strong, and sure of a depth."""
        return self.strong & (self.at(self.T, index) < SURE)

    def at(self, volume: Float, index: Float) -> Float:
        """Return a volume ``(L, H, W)`` at the label closest to a depth in frames."""
        found: Float = np.take_along_axis(volume, self.label(index)[None], axis=0)[0]
        return found

    def label(self, index: Float) -> NDArray[np.intp]:
        """Return the label closest to a depth in frames."""
        label = np.rint(index / np.float32(self.model.step)).astype(np.intp)
        inside: NDArray[np.intp] = np.clip(label, 0, self.model.labels - 1)
        return inside

    def searched(self, cost: Float) -> Float:
        """Return the refined semi-global depth of a cost volume ``(L, H, W)``."""
        slope, jump = penalties(self.model, self.weight, self.params)
        search = VolumeSearch(cost, self.model.step)
        index = self.refined(search, search.start(slope, jump))
        settle(index, self.weight, self.params.cut * self.model.peak_width)
        return index

    def refined(self, search: VolumeSearch, label: Float) -> Float:
        """Return the depth in frames refined from one in labels."""
        d_0 = label * np.float32(self.model.step)
        return light(search.term(label), self.model, d_0, self.weight, self.params)[0]


def steepness(index: Float) -> Float:
    """Return the larger step along rows and the larger along columns, together, ``(H, W)``."""
    right, down = np.abs(K(index))
    right[:, 1:] = np.maximum(right[:, 1:], right[:, :-1])
    down[1:] = np.maximum(down[1:], down[:-1])
    steep: Float = np.hypot(right, down)
    return steep


def trusted(G: Float, label: NDArray[np.intp], factor: int) -> Float:
    r"""Return how far a depth is to be trusted where contrast is searched again, ``(H, W)``.

    .. math:: \max\bigl(V^{1/f},\; \tfrac12\, P^{1/f}\bigr),

    as far as it explains the frames, V; where no depth does, as beside what hides something, half
    as far as it is likely, P. What one pixel says of f × f counts less.
    """
    part = np.float32(1.0 / factor)
    likely = explain.likely_at(G, label) ** part * np.float32(LIKELY)
    trust: Float = np.maximum(explain.gate_at(G, label) ** part, likely)
    return trust


def agreed(order: explain.Order, outlines: End | None) -> End | None:
    """Return the near end by what hides what; in doubt only if the outlines say the same.

    With ghosts in them maps have outlines that lean to either end.
    """
    return order.nearest if order.clear or order.nearest == outlines else None


def _blocks(part: slice, side: int, factor: int) -> tuple[slice, list[slice]]:
    """Return the blocks that begin in a part of a side, and their pixels.

    These are two cuts if blocks begin in the middle of a pixel, of which the mean counts.
    """
    over = side % factor
    starts = sorted({over // 2, over - over // 2})
    first, stop = (
        min(max(-((starts[0] - end) // factor), 0), side // factor)
        for end in (part.start, part.stop)
    )
    cuts = [slice(start + first * factor, start + stop * factor) for start in starts]
    return slice(first, stop), cuts


def _hull(cuts: list[slice]) -> slice:
    return slice(cuts[0].start, cuts[-1].stop)


def _within(cut: slice, cuts: list[slice]) -> slice:
    return slice(cut.start - cuts[0].start, cut.stop - cuts[0].start)


def place_in(part: slice, whole: int, factor: int, side: int) -> NDArray[np.float64]:
    """Return where pixels of a side lie among the blocks of `reduced`; 0: amid the first.

    Parameters
    ----------
    part : slice
        Pixels.
    whole, factor, side : int
        Of how many, and how many blocks of how many pixels these make.
    """
    first = 0.5 * (whole % factor)
    place = (np.arange(part.start, part.stop) + (0.5 - first)) / factor - 0.5
    return np.clip(place, 0.0, side - 1)


def _closest(small: Float, places: list[NDArray[np.float64]], of_two: np.ufunc) -> Float:
    """Return a map enlarged, each pixel that of the closest; of two equally close, by a rule."""
    for axis, place in enumerate(places):
        low, high = (each.astype(np.intp) for each in (np.ceil(place - 0.5), np.floor(place + 0.5)))
        both = low != high
        near = small.take(high, axis=axis)
        if both.any():
            near = of_two(near, small.take(low, axis=axis))
        small = near
    return small


def _between(small: Float, places: list[NDArray[np.float64]]) -> Float:
    """Return a map enlarged, linear between the centres of its pixels."""
    for axis, place in enumerate(places):
        side = small.shape[axis]
        low = np.minimum(place.astype(np.intp), max(side - 2, 0))
        shape = [1, 1]
        shape[axis] = -1
        share = (place - low).astype(np.float32).reshape(shape)
        near, far = (small.take(np.minimum(low + i, side - 1), axis=axis) for i in (0, 1))
        small = near + share * (far - near)
    return small
