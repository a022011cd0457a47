r"""The all-in-focus image: the frames the depth points to, blended scale by scale.

Every frame I_k becomes a Laplacian pyramid, coefficients L_{k,l} at level l and a blurred rest.
With the weights of linear interpolation, w_k = max(0, 1 − |k − index|), reduced to each level,

.. math:: B_l = \sum_k w_{k,l} L_{k,l}

is the picture that the depth asks for. A slanted surface shows no seams, and where the depth jumps,
bright and dark are blended over as many pixels as their scale needs. There the depth may also be a
few pixels off, or miss a thin object altogether. So another frame may overrule it where it is
clearly sharper: with smoothed energies :math:`E_{k,l} = G * \sum_{channels} L_{k,l}^2`,

.. math:: L_l = B_l + m\,(L_{k^*,l} - B_l),\quad k^* = \arg\max_k E_{k,l}/ρ_k,

.. math:: m = \mathrm{clip}\Bigl(\frac{E_{k^*,l}/ρ_{k^*} - E_{B,l}}{γ \min_k E_{k,l}} - 1,
          0, 1\Bigr).

ρ_k is 1 for frames between the depths on both sides of a jump at hand, `sharper` for all others.
min_k E is what noise and the blurred picture amount to there; γ is such that the largest of n
energies of mere noise does not pass (`noise_gate`). So no noise is gathered, and no threshold
depends on the exposure. Last, each pixel is limited to the values it has in the frames, which rules
out halos brighter or darker than anything photographed.

The frames pass once; what is kept does not depend on their number.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage
from scipy.special import gammaincinv

from varfocus import engine
from varfocus.contrast import box_mean
from varfocus.errors import ParameterError
from varfocus.fuse.pyramid import add_expanded, reduce
from varfocus.params import FuseParams
from varfocus.progress import Progress, silent, track
from varfocus.stack import FocusStack

Array = NDArray[np.float32]

LEVELS, MOST_LEVELS = 3, 5
"""Levels of the pyramid up to `LARGE` pixels; one more for every four times as many, up to what a
large photograph needs: beyond that images are mosaics."""

LARGE = 2e6
"""Pixels of an image that needs a fourth level."""

JUMP = 1.2
"""Range of the depth, in frames, that makes a jump."""

REACH = 3
"""Distance in pixels at which a jump still matters."""

FREEDOM = 9.0
"""Independent numbers per channel behind a smoothed energy; measured on white noise."""

FLOOR_WINDOW = 5
"""Side in pixels of the window over which the least energy is averaged."""

SMOOTHING = np.array([1, 4, 6, 4, 1], np.float32) / 16
"""G along each axis."""


class Fused(NamedTuple):
    """The all-in-focus image, and where it comes from.

    Attributes
    ----------
    image : ndarray of shape (H, W) or (H, W, 3)
        In the dtype and range of the frames.
    source : ndarray of shape (H, W), uint16
        Number of the frame that contributes most of the fine detail of each pixel, from 0.
    """

    image: NDArray[Any]
    source: NDArray[np.uint16]


def fuse(
    stack: FocusStack,
    index: NDArray[np.float32],
    params: FuseParams = FuseParams(),
    progress: Progress = silent,
    levels: int | None = None,
) -> Fused:
    """Compose the all-in-focus image.

    Parameters
    ----------
    stack : FocusStack
        Frames; each is decoded once.
    index : ndarray of shape (H, W), float32
        Depth in fractional 0-based frame numbers.
    params : FuseParams
        How far the depth is trusted.
    progress : callable
        Listener.
    levels : int, optional
        Levels of the pyramid, `level_count` of the whole image if this is a part of it.

    Returns
    -------
    Fused
        Image and source map.

    Raises
    ------
    ParameterError
        If the depth does not belong to the frames.
    """
    n = len(stack)
    d = _checked(index, stack)
    if params.front:
        d = ndimage.minimum_filter(d, 2 * params.front + 1, mode="nearest")
    blend = Blend(d, n, stack.channels, 1.0 / params.sharper if params.sharper else 0.0, levels)
    least: NDArray[Any] | None = None
    for k, frame in enumerate(track(stack.ahead(), "fusing", n, progress)):
        pixels = frame.reshape(*d.shape, stack.channels)
        if least is None:
            least, most = pixels.copy(), pixels.copy()
        np.minimum(least, pixels, out=least)
        np.maximum(most, pixels, out=most)
        blend.add(k, pixels.astype(np.float32, order="C"))
    fused, source = blend.finish()
    if np.issubdtype(stack.dtype, np.integer):
        np.rint(fused, out=fused)
    image = np.clip(fused, least, most).astype(stack.dtype)
    return Fused(image.reshape(stack.frames[0].shape), source)


def pick(stack: FocusStack, index: NDArray[np.float32]) -> Fused:
    """Take each pixel from the frame nearest to its depth: a sketch of what `fuse` composes.

    Parameters
    ----------
    stack : FocusStack
        Frames; each is decoded once.
    index : ndarray of shape (H, W), float32
        Depth in fractional 0-based frame numbers.

    Returns
    -------
    Fused
        Image and source map.
    """
    source = np.rint(_checked(index, stack)).astype(np.uint16)
    image = np.empty(stack.frames[0].shape, stack.dtype)
    for k, frame in enumerate(stack.ahead()):
        chosen = source == k
        image[chosen] = frame[chosen]
    return Fused(image, source)


def level_count(size: int) -> int:
    """Return how many levels the pyramid of an image of `size` pixels has."""
    more = max(0, int(np.ceil(np.log(size / LARGE) / np.log(4))))
    return min(LEVELS + more, MOST_LEVELS)


class Blend:
    """What is kept while the frames pass: B_l, and the sharpest coefficient so far.

    Parameters
    ----------
    d : ndarray of shape (H, W), float32
        Depth in frames, within [0, n − 1].
    n : int
        Number of frames.
    channels : int
        Of each frame.
    doubt : float
        1/ρ of frames that the depth does not suggest.
    levels : int, optional
        Levels of the pyramid; by default what an image of this size needs.
    """

    def __init__(
        self, d: Array, n: int, channels: int, doubt: float, levels: int | None = None
    ) -> None:
        self._d = d
        self._rest: Array | float = 0.0
        self._levels: list[Level] = []
        low, high = jump_range(d, n)
        gate = noise_gate(n, channels)
        for _ in range(level_count(d.size) if levels is None else levels):
            if min(low.shape) < 4:
                break
            self._levels.append(Level(low, high, channels, doubt, gate))
            low, high = _coarser(low, np.minimum), _coarser(high, np.maximum)

    def add(self, k: int, image: Array) -> None:
        """Take in frame `k`, shape (H, W, C), which is overwritten."""
        weight = np.maximum(np.float32(0.0), 1.0 - np.abs(np.float32(k) - self._d))
        for level in self._levels:
            coarse = reduce(image)
            add_expanded(image, coarse, -1.0)
            level.add(k, image, weight)
            image, weight = coarse, reduce(weight)
        self._rest += weight[..., None] * image

    def finish(self) -> tuple[Array, NDArray[np.uint16]]:
        """Return the image (H, W, C) and the source map (H, W); the levels are used up."""
        image = np.asarray(self._rest, np.float32)
        source = np.rint(self._d).astype(np.uint16)
        for level in reversed(self._levels):
            share = level.correct()
            add_expanded(level.blended, image)
            image = level.blended
        if self._levels:
            source = np.where(share > 0.5, self._levels[0].chosen, source)
        return image, source


class Level:
    """One level of the pyramid while the frames pass.

    Parameters
    ----------
    low, high : ndarray of shape (h, w), uint16
        First and last frame that a jump nearby suggests; low > high where there is none.
    channels : int
        C.
    doubt : float
        1/ρ of all other frames.
    gate : float
        γ.
    """

    def __init__(
        self,
        low: NDArray[np.uint16],
        high: NDArray[np.uint16],
        channels: int,
        doubt: float,
        gate: float,
    ) -> None:
        self._low, self._high = low, high
        self._doubt, self._gate = np.float32(doubt), np.float32(gate)
        shape = low.shape
        self.blended: Array = np.zeros((*shape, channels), np.float32)
        self.chosen: NDArray[np.uint16] = np.zeros(shape, np.uint16)
        self._sharpest: Array = np.zeros((*shape, channels), np.float32)
        self._best: Array = np.full(shape, -1.0, np.float32)
        self._least: Array = np.full(shape, np.inf, np.float32)

    def add(self, k: int, coefficients: Array, weight: Array) -> None:
        """Take in the coefficients (h, w, C) of frame `k` with their weights (h, w)."""
        if engine.accepts(coefficients, weight):
            kept = (self.blended, self._sharpest, self._best, self._least)
            jump = (self._low, self._high)
            engine.fusion_level(
                coefficients, weight, k, float(self._doubt), jump, kept, self.chosen
            )
            return
        used = np.nonzero(weight)
        self.blended[used] += weight[used][:, None] * coefficients[used]
        e = energy(coefficients)
        np.minimum(self._least, e, out=self._least)
        suggested = (self._low <= k) & (k <= self._high)
        e *= np.where(suggested, np.float32(1.0), self._doubt)
        better = np.nonzero(e > self._best)
        self._best[better] = e[better]
        self._sharpest[better] = coefficients[better]
        self.chosen[better] = k

    def correct(self) -> Array:
        """Put the sharpest coefficients into `blended` where they stand out; return m (h, w)."""
        excess = self._best - energy(self.blended)
        gate = self._gate * box_mean(self._least, FLOOR_WINDOW)
        excess -= gate
        # Without noise the gate is zero: whatever is sharper at all then stands out.
        share = np.where(excess < gate, excess / np.where(gate > 0, gate, 1), excess > 0)
        share = np.clip(share, 0.0, 1.0).astype(np.float32)
        self.blended += share[..., None] * (self._sharpest - self.blended)
        return share


def noise_gate(n: int, channels: int) -> float:
    r"""Return γ, which keeps the largest of `n` energies of mere noise from being taken for detail.

    A smoothed energy of noise of variance σ² is σ² times a χ²_ν/ν variable, ν = 9 per channel. Of n
    such, the least is about q(1/(n+1)) and the largest seldom above q(1 − 1/3n), q the quantiles;
    what it is compared with is at least half a frame's noise:

    .. math:: γ = \frac{q(1 - 1/3n) - 1/2}{q(1/(n+1))}.
    """
    half = FREEDOM * channels / 2
    least = float(gammaincinv(half, 1 / (n + 1)))
    largest = float(gammaincinv(half, 1 - 1 / (3 * n)))
    return (largest - 0.5 * half) / least


def energy(coefficients: Array) -> Array:
    """Return the smoothed energy (h, w) of coefficients (h, w, C)."""
    square: Array = np.einsum("ijc,ijc->ij", coefficients, coefficients)
    for axis in (0, 1):
        square = ndimage.correlate1d(square, SMOOTHING, axis=axis, mode="nearest")
    return square


def jump_range(d: Array, n: int) -> tuple[NDArray[np.uint16], NDArray[np.uint16]]:
    """Return which frames the depths around each pixel suggest where they jump.

    Parameters
    ----------
    d : ndarray of shape (H, W), float32
        Depth in frames.
    n : int
        Number of frames.

    Returns
    -------
    tuple of two ndarrays of shape (H, W), uint16
        First and last frame, within half a frame of the depths within `REACH` pixels; n and 0
        where these differ by `JUMP` frames or less.
    """
    near = ndimage.minimum_filter(d, 2 * REACH + 1, mode="nearest")
    far = ndimage.maximum_filter(d, 2 * REACH + 1, mode="nearest")
    jump = far - near > JUMP
    low = np.where(jump, np.ceil(np.maximum(near - 0.5, 0)), n)
    high = np.where(jump, np.floor(far + 0.5), 0)
    return low.astype(np.uint16), high.astype(np.uint16)


def _coarser(frames: NDArray[np.uint16], extreme: np.ufunc) -> NDArray[np.uint16]:
    """Return the extreme of what each pixel of the next level covers, as `reduce` places it."""
    for axis in (0, 1):
        lines = np.moveaxis(frames, axis, 0)
        if len(lines) % 2:
            padded = np.concatenate([lines[:1], lines, lines[-1:]])
            lines = extreme(extreme(padded[:-2:2], padded[1:-1:2]), padded[2::2])
        else:
            lines = extreme(lines[::2], lines[1::2])
        frames = np.moveaxis(lines, 0, axis)
    return np.ascontiguousarray(frames)


def _checked(index: NDArray[np.float32], stack: FocusStack) -> Array:
    if index.shape != stack.shape:
        raise ParameterError(
            f"received a depth of {index.shape[1]}×{index.shape[0]} pixels"
            if index.ndim == 2
            else f"received a depth of shape {index.shape}",
            f"expected that of the frames, {stack.shape[1]}×{stack.shape[0]}",
        )
    if not np.isfinite(index).all():
        raise ParameterError(
            f"received a depth with {int((~np.isfinite(index)).sum())} unknown pixels",
            "expected a frame number for every pixel",
        )
    return np.clip(index, 0, len(stack) - 1).astype(np.float32)
