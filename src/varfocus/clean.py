r"""What belongs to the sensor and not to the scene: hot and dead pixels, dust, vignetting.

A hot pixel differs from its surroundings by the same amount in every frame, while the scene is
sharp there in a few at most. With the residual r_k of frame k, the pixel less the mean of the 16
pixels at the border of the 5×5 window around it,

.. math:: m = \min_k \max_c r_{k,c} \text{ (bright)} \quad\text{or}\quad
          m = \min_k \max_c -r_{k,c} \text{ (dark)}, \quad c \text{ the channels},

is large only where the outlier never goes away. A pixel is taken for defective where m exceeds

- `VISIBLE`, as a share of the range;
- `SURE` standard deviations of r, which noise does not do in every frame;
- `APART` times the mean of :math:`\max(m, 0)` around it, and a quarter of it nearly everywhere
  close by, so that edges and texture that all frames show sharply are left alone;
- `STEADY` times its mean over the frames, because detail of the scene loses contrast out of focus.

So are its neighbours that share a part of it: a camera that interpolates colours spreads it.

Dust on the sensor cannot be told from dark dots of the scene that way; a flat field shows it.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from varfocus.errors import ParameterError
from varfocus.stack import FocusStack, Frame, FrameOver

AROUND = 15
"""Side in pixels of the window in which an outlier must be one."""

SURE, APART, STEADY = 4.0, 12.0, 0.4
"""See above."""

VISIBLE = 0.025
"""Least m, as a share of the range: less is neither seen nor told from the blocks of a JPEG."""

ALONE = 5, 2, 2
"""Within 5 pixels, but not within 2, at most 2 others may have a quarter of a defect's m."""

MOST_SEEDS = 50_000
"""More candidates than this are no defects but the scene."""

CAPPED = 8.0
"""Standard deviations of a dark frame's noise from which on a pixel is hot."""

SPREAD = 0.15
"""Share of a defect that makes its neighbour one."""

MOST = 0.01
"""If more than this share of the pixels seem defective, none of them is believed to be."""

LEAST_FRAMES = 3

NOISE = 1.4826
"""Standard deviation of normal noise over its median absolute deviation."""

_LOCK = threading.Lock()


def fixed_outliers(frames: Iterable[NDArray[np.float32]]) -> NDArray[np.bool_]:
    """Return the pixels that differ from their surroundings in every frame, see above.

    Parameters
    ----------
    frames : iterable of ndarray of shape (H, W) or (H, W, C), float32
        As they come from the sensor, not aligned.

    Returns
    -------
    ndarray of shape (H, W), bool
        True where a pixel is defective in any channel.
    """
    tallies: list[_Tally] = []
    noise, n = 0.0, 0
    for frame in frames:
        r = _residual(frame)
        tallies = tallies or [_Tally(r.shape[:2]), _Tally(r.shape[:2])]
        noise += NOISE * float(np.median(np.abs(r)))
        n += 1
        for tally, signed in zip(tallies, (r, -r), strict=True):
            tally.add(signed.max(axis=2))
    if n < LEAST_FRAMES:
        raise ParameterError(f"received {n} frames", f"expected at least {LEAST_FRAMES}")
    bright, dark = (tally.outliers(noise / n, n) for tally in tallies)
    found = bright | dark
    return found if found.mean() <= MOST else np.zeros_like(found)


class _Tally:
    """The least and the mean of what is added, pixel by pixel."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.least = np.full(shape, np.inf, np.float32)
        self.total = np.zeros(shape, np.float32)

    def add(self, r: NDArray[np.float32]) -> None:
        np.minimum(self.least, r, out=self.least)
        self.total += r

    def outliers(self, noise: float, n: int) -> NDArray[np.bool_]:
        """Return what stands out in all of n frames, and what is spread from there."""
        m = np.maximum(self.least, 0.0)
        usual = ndimage.uniform_filter(m, AROUND, mode="nearest")
        usual = (usual * AROUND**2 - m) / (AROUND**2 - 1)  # of the others
        seeds = (
            (m > max(SURE * noise, VISIBLE)) & (m > APART * usual) & (m > STEADY * self.total / n)
        )
        seeds = _alone(seeds, m)
        around = ndimage.grey_dilation(np.where(seeds, m, 0.0), (3, 3), mode="nearest")
        return np.asarray(seeds | ((m > SPREAD * around) & (around > 0.0)))


def _alone(seeds: NDArray[np.bool_], m: NDArray[np.float32]) -> NDArray[np.bool_]:
    """Return those of the seeds that are points, and not parts of an edge or a texture."""
    far, near, others = ALONE
    kept = np.zeros_like(seeds)
    if np.count_nonzero(seeds) > MOST_SEEDS:
        return kept
    padded = np.pad(m, far)
    for y, x in zip(*np.nonzero(seeds), strict=True):
        window = padded[y : y + 2 * far + 1, x : x + 2 * far + 1] > 0.25 * m[y, x]
        inner = window[far - near : far + near + 1, far - near : far + near + 1]
        kept[y, x] = np.count_nonzero(window) - np.count_nonzero(inner) <= others
    return kept


def dark_outliers(dark: NDArray[np.float32]) -> NDArray[np.bool_]:
    """Return the pixels that are bright in a frame taken with the lens capped.

    Parameters
    ----------
    dark : ndarray of shape (H, W) or (H, W, C), float32
        The dark frame.

    Returns
    -------
    ndarray of shape (H, W), bool
        True where a pixel is defective in any channel.

    Raises
    ------
    ParameterError
        If there are so many of them that it shows a scene.
    """
    r = _residual(dark)
    quantum = 1e-3  # of a sensor without noise
    noise = max(NOISE * float(np.median(np.abs(r))), quantum)
    found = np.asarray((r > CAPPED * noise).any(axis=2))
    if found.mean() > MOST:
        raise ParameterError(
            f"received a dark frame in which {found.mean():.1%} of the pixels stand out",
            "expected one taken with the lens capped",
        )
    return found


def _residual(frame: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the pixels less the mean of the 16 at the border of the 5×5 window around each."""
    planes = frame.reshape(*frame.shape[:2], -1)
    whole = ndimage.uniform_filter(planes, (5, 5, 1), mode="nearest")
    inner = ndimage.uniform_filter(planes, (3, 3, 1), mode="nearest")
    return np.asarray(planes - (25.0 * whole - 9.0 * inner) / 16.0, np.float32)


def repaired(pixels: NDArray[Any], defects: NDArray[np.bool_]) -> NDArray[Any]:
    """Return a frame whose defective pixels are means of the good ones around them.

    Parameters
    ----------
    pixels : ndarray of shape (H, W) or (H, W, C)
        As they come from the sensor.
    defects : ndarray of shape (H, W), bool
        Which pixels to replace.

    Returns
    -------
    ndarray
        Of the same shape and dtype; good pixels are the same bits.
    """
    fixed = pixels.copy()
    height, width = defects.shape
    for y, x in zip(*np.nonzero(defects), strict=True):
        for reach in range(1, max(height, width)):  # clusters have their good pixels farther away
            window = np.s_[max(y - reach, 0) : y + reach + 1, max(x - reach, 0) : x + reach + 1]
            good = ~defects[window]
            if good.any():
                mean = pixels[window][good].astype(np.float64).mean(axis=0)
                if np.issubdtype(pixels.dtype, np.integer):
                    mean = np.rint(mean)
                fixed[y, x] = mean
                break
    return fixed


def levelled(pixels: NDArray[Any], flat: NDArray[np.float32]) -> NDArray[Any]:
    """Return a frame divided by a flat field.

    Parameters
    ----------
    pixels : ndarray of shape (H, W) or (H, W, C)
        As they come from the sensor.
    flat : ndarray of shape (H, W, 1) or (H, W, C), float32
        An even, bright surface, relative to its median: 1 where the sensor sees it as usual. If
        numbers follow brightness by a power law, as after a gamma, so does their ratio.

    Returns
    -------
    ndarray
        Of the same shape and dtype; what would exceed the range of integers is cut off.
    """
    planes = pixels.reshape(*pixels.shape[:2], -1) / flat
    if np.issubdtype(pixels.dtype, np.integer):
        planes = np.clip(np.rint(planes), 0, np.iinfo(pixels.dtype).max)
    return planes.astype(pixels.dtype).reshape(pixels.shape)


def relative_flat(flat: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return a flat field relative to its median in each channel.

    Raises
    ------
    ParameterError
        If it is black in places, or not nearly even.
    """
    planes = flat.reshape(*flat.shape[:2], -1)
    middle = np.median(planes, axis=(0, 1))
    least = float((planes / np.maximum(middle, 1e-9)).min()) if (middle > 0).all() else 0.0
    if least < 0.05:
        raise ParameterError(
            f"received a flat field whose darkest pixel has {least:.0%} of its median",
            "expected a picture of an even, bright surface out of focus",
        )
    return np.asarray(planes / middle, np.float32)


@dataclass(frozen=True, eq=False)
class Sensor:
    """What is known of the sensor that took a stack.

    Parameters
    ----------
    stack : FocusStack
        Frames as they come from it.
    find : bool
        Look for hot and dead pixels in the frames; done when the first of them is read.
    dark : ndarray of shape (H, W), bool, optional
        Pixels that are defective by a dark frame.
    flat : ndarray of shape (H, W, 1) or (H, W, C), float32, optional
        Flat field, from `relative_flat`.
    """

    stack: FocusStack
    find: bool = False
    dark: NDArray[np.bool_] | None = None
    flat: NDArray[np.float32] | None = None

    @cached_property
    def defects(self) -> NDArray[np.bool_]:
        """Pixels that are replaced, of shape ``(H, W)``."""
        found = np.zeros(self.stack.shape, bool) if self.dark is None else self.dark
        if self.find:
            found = found | fixed_outliers(map(self.stack.as_unit, self.stack.ahead()))
        return found

    def corrected(self, pixels: NDArray[Any]) -> NDArray[Any]:
        """Return a frame as a sensor without faults would have seen it."""
        with _LOCK:  # frames are decoded on several threads, and it should be found once
            defects = self.defects
        if self.flat is not None:
            pixels = levelled(pixels, self.flat)
        return repaired(pixels, defects) if defects.any() else pixels

    def cleaned(self) -> FocusStack:
        """Return the stack, its frames corrected when they are read."""
        frames = [CleanFrame(frame, self) for frame in self.stack.frames]
        return replace(self.stack, frames=frames)


@dataclass(frozen=True, eq=False)
class CleanFrame(FrameOver):
    """A frame without the faults of its sensor."""

    frame: Frame
    sensor: Sensor

    def read(self) -> NDArray[Any]:
        """Decode and correct the pixels."""
        return self.sensor.corrected(self.frame.read())
