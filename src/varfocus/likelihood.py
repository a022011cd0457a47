r"""How unlikely each depth is at each pixel, given its contrast over all frames.

At every scale the contrast curve F of a pixel is matched with the templates of
`varfocus.templates`. With v = F − mean_k F, s² = ‖v‖² and S_l what the best template at label l
explains,

.. math:: C_l = \sum_\text{scales} \log\frac{s^2 - S_l + e}{s^2 + e},
          \qquad e = 2 \operatorname{median}_\text{pixels}(s^2 - \max_l S_l):

a log likelihood ratio whose noise level comes from the stack, so that gain, exposure and bit depth
do not matter. The volume is divided by the mean over pixels of −min_l C_l: wells are 1 deep on
average, and the weight of smoothness is a pure number.

C is float32: half precision would halve the memory but is several times slower in array code, and
the refinement differentiates it. The focus volume of one scale is held at a time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from varfocus import coordinate, templates
from varfocus.coordinate import Coordinate
from varfocus.errors import NoContrastError, ParameterError
from varfocus.templates import Bank

Float = NDArray[np.float32]

NOISE_FACTOR = 2.0
"""e in units of the median residual."""

BAND_VALUES = 1 << 21
"""Size of a band's ``(L, pixels)`` arrays: large enough for BLAS, small enough for the cache."""

FIT_PIXELS = 4000
"""Pixels looked at to choose axis and templates; the more contrasty half of them is used."""

NOISE_PIXELS = 20000
"""Pixels looked at to measure the noise level."""

KNOWN_IS_BETTER = 0.8
"""An estimated axis replaces a known one only if its misfit is below this share of the other's."""


@dataclass(frozen=True)
class CostVolume:
    """The cost of every depth at every pixel.

    Attributes
    ----------
    cost : ndarray of shape (L, H, W), float32
        C, not positive, −1 at the bottom of the average well.
    depth_of_well : float
        What it was divided by, in nats: how decisive the stack is on average.
    coordinate : Coordinate
        The focus axis in use.
    banks : tuple of Bank
        The templates of each scale.
    """

    cost: Float
    depth_of_well: float
    coordinate: Coordinate
    banks: tuple[Bank, ...]

    @property
    def step(self) -> float:
        """Distance of two labels in frames."""
        return float(self.coordinate.n - 1) / float(self.cost.shape[0] - 1)

    @property
    def peak_width(self) -> float:
        """Half width in frames of a typical contrast peak: the natural unit of depth.

        The same scene with twice the frames has peaks twice as many frames wide.
        """
        return self.banks[-1].peak_width

    def describe(self) -> dict[str, object]:
        """Return what was learnt about the stack, as plain data."""
        return {
            "coordinate": self.coordinate.name,
            "exponents": [bank.exponent for bank in self.banks],
            "misfits": [round(bank.misfit, 5) for bank in self.banks],
            "peak_width_frames": round(self.peak_width, 3),
            "well_nats": round(self.depth_of_well, 4),
        }


def cost_volume(
    focus_volume: Callable[[int], Float],
    scales: int,
    *,
    wanted: str = "auto",
    focus: NDArray[np.float64] | None = None,
    labels: int | None = None,
) -> CostVolume:
    """Return the cost of every depth at every pixel.

    Parameters
    ----------
    focus_volume : callable
        Maps the number of a scale, coarsest last, to contrast of shape ``(n, H, W)``, float32.
        Called once or twice per scale; one result is held at a time.
    scales : int
        Number of scales.
    wanted : {"auto", "frames", "position", "reciprocal"}
        The focus coordinate.
    focus : ndarray of shape (n,), optional
        Focus positions.
    labels : int, optional
        L; by default `varfocus.coordinate.label_count`.

    Returns
    -------
    CostVolume
        Normalised.

    Raises
    ------
    NoContrastError
        If all frames are constant.
    ParameterError
        If the coordinate asked for needs focus positions that are not there.
    """
    volume = focus_volume(scales - 1)
    # The coarsest scale is the least noisy one: it shows best on which axis peaks are symmetric.
    axis = focus_axis(_sample(volume), wanted, focus)
    n, height, width = volume.shape
    fitted = templates.fit_bank(axis, _sample(volume))
    count = labels or coordinate.label_count(n, fitted.peak_width)
    cost = np.zeros((count, height, width), np.float32)
    banks = []
    for scale in reversed(range(scales)):
        if scale < scales - 1:
            del volume  # before the next one is made
            volume = focus_volume(scale)
            fitted = templates.fit_bank(axis, _sample(volume))
        bank = fitted.templates(count)
        noise = noise_level(volume, bank)
        for rows in _bands(height, width, count):
            add_cost(volume[:, rows], bank, noise, cost[:, rows])
        banks.append(fitted)
    well = float(-cost.min(axis=0).mean(dtype=np.float64))
    cost *= np.float32(1.0 / well)
    return CostVolume(cost, well, axis, tuple(reversed(banks)))


def focus_axis(
    v: Float, wanted: str = "auto", focus: NDArray[np.float64] | None = None
) -> Coordinate:
    """Return the focus coordinate: as asked for, or the one that fits the curves best.

    Parameters
    ----------
    v : ndarray of shape (n, P), float32
        Sampled curves without their mean.
    wanted : {"auto", "frames", "position", "reciprocal"}
        ``auto``: with focus positions known the better of z and, if all are of one sign, 1/z,
        unless an axis estimated from the stack explains clearly more; else that.
    focus : ndarray of shape (n,), optional
        Focus positions.

    Returns
    -------
    Coordinate
        Axis of n frames.
    """
    n = v.shape[0]
    if wanted == "frames":
        return coordinate.frames(n)
    if wanted in ("position", "reciprocal"):
        _check_focus(wanted, focus)
        assert focus is not None
        known_axis = coordinate.position if wanted == "position" else coordinate.reciprocal
        return known_axis(focus)
    estimated = templates.choose_axis(templates.candidate_axes(n), v)
    if focus is None:
        return estimated.coordinate
    axes = [coordinate.position(focus)]
    if coordinate.one_sign(focus):
        axes.append(coordinate.reciprocal(focus))
    known = templates.choose_axis(axes, v)
    better = estimated.misfit < KNOWN_IS_BETTER * known.misfit
    return (estimated if better else known).coordinate


def noise_level(volume: Float, bank: Float) -> float:
    """Return e = 2·median over pixels of s² − max_l S_l, of the pixels that vary at all."""
    v = templates.centred(_grid(volume, NOISE_PIXELS))
    energy = np.sum(v * v, axis=0)
    residual = energy - templates.explained(bank, v).max(axis=0)
    residual = residual[energy > 0]
    # Frames without any noise would leave nothing at all to compare with.
    floor = 1e-6 * float(energy.mean(dtype=np.float64))
    return max(NOISE_FACTOR * float(np.median(residual)), floor)


def add_cost(volume: Float, bank: Float, noise: float, cost: Float) -> None:
    """Add log((s² − S_l + e)/(s² + e)) of one band and one scale to the cost.

    Parameters
    ----------
    volume : ndarray of shape (n, h, W), float32
        Contrast.
    bank : ndarray of shape (widths, L, n), float32
        Templates.
    noise : float
        e > 0.
    cost : ndarray of shape (L, h, W), float32
        Added to in place.
    """
    n = volume.shape[0]
    v = templates.centred(volume.reshape(n, -1))
    whole = np.sum(v * v, axis=0) + np.float32(noise)
    ratio = templates.explained(bank, v)
    # Rounding may make S exceed s² by a hair where a template fits exactly.
    np.subtract(whole, ratio, out=ratio)
    np.maximum(ratio, np.float32(1e-3 * noise), out=ratio)
    ratio /= whole
    cost += np.log(ratio, out=ratio).reshape(cost.shape)


def _sample(volume: Float) -> Float:
    """Return the curves, less their mean, of the more contrasty half of a grid of pixels."""
    v = templates.centred(_grid(volume, FIT_PIXELS))
    energy = np.sum(v * v, axis=0)
    if not energy.any():
        raise NoContrastError()
    return v[:, energy >= np.median(energy[energy > 0])]


def _grid(volume: Float, wanted: int) -> Float:
    """Return about `wanted` curves ``(n, P)`` on a grid that lies symmetric in the image."""
    n, height, width = volume.shape
    step = max(int(np.sqrt(height * width / wanted)), 1)
    step += 1 - step % 2
    return volume[:, _centred_slice(height, step), _centred_slice(width, step)].reshape(n, -1)


def _centred_slice(length: int, step: int) -> slice:
    """Every step-th element, the same ones from either end, for an odd step."""
    steps = (length - 1) // step
    if (length - 1 - steps * step) % 2:
        if steps == 0:  # no single element is in the middle
            return slice(length // 2 - 1, length // 2 + 1)
        steps -= 1
    first = (length - 1 - steps * step) // 2
    return slice(first, first + steps * step + 1, step)


def _bands(height: int, width: int, labels: int) -> list[slice]:
    rows = max(BAND_VALUES // (labels * width), 1)
    return [slice(first, min(first + rows, height)) for first in range(0, height, rows)]


def _check_focus(wanted: str, focus: NDArray[np.float64] | None) -> None:
    if focus is None:
        raise ParameterError(
            f"received coordinate = {wanted!r} without focus positions",
            "expected the position or distance of each frame",
            "Give focus distances or a z-step, or leave the coordinate at 'auto'.",
        )
    if wanted == "reciprocal" and not coordinate.one_sign(focus):
        raise ParameterError(
            f"received coordinate = 'reciprocal' with focus from {focus.min():g} to "
            f"{focus.max():g}",
            "expected distances, all of one sign",
            "Take coordinate = 'position' for the height of a stage.",
        )
