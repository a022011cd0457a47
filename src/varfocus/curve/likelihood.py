r"""How unlikely each depth is at each pixel, given its contrast over all frames.

At every scale the contrast curve F of a pixel is matched with the templates of
`peaks`. With v = F − mean_k F, s² = ‖v‖² and S_l what the best template at label l
explains,

.. math:: C_l = \sum_\text{scales} \log\frac{s^2 - S_l + e}{s^2 + e},
          \qquad e = 2 \operatorname{median}_\text{pixels}(s^2 - \max_l S_l):

a log likelihood ratio whose noise level comes from the stack, so that gain, exposure and bit depth
do not matter. The volume is divided by the mean over pixels of −min_l C_l: wells are 1 deep on
average, and the weight of smoothness is a pure number.

Everything that concerns the whole stack, axis, templates, noise levels and the normalisation, is
learnt once from a grid of pixels: a `Model`. Given it, the cost of any part of the image can be
computed by itself.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from varfocus import engine
from varfocus.curve import coordinate, peaks, templates
from varfocus.curve.coordinate import Coordinate
from varfocus.curve.peaks import Peaks
from varfocus.errors import NoContrastError, ParameterError

Float = NDArray[np.float32]

NOISE_FACTOR = 2.0
"""e in units of the median residual."""

BAND_VALUES = 1 << 21
"""Size of a band's ``(L, pixels)`` arrays: large enough for BLAS, small enough for the cache."""

FIT_PIXELS = 4000
"""Pixels looked at to choose axis and templates; the more contrasty half of them is used."""

NOISE_PIXELS = 10000
"""Pixels looked at to measure the noise level and the depth of wells."""

KNOWN_IS_BETTER = 0.8
"""An estimated axis replaces a known one only if its misfit is below this share of the other's."""


@dataclass(frozen=True)
class Model:
    """What is learnt from a stack about its contrast curves.

    Attributes
    ----------
    coordinate : Coordinate
        The focus axis in use.
    banks : tuple of Peaks
        The templates of each scale.
    noise : tuple of float
        e of each scale.
    labels : int
        L.
    depth_of_well : float
        Mean over pixels of −min_l C_l before normalisation, in nats: how decisive the stack is.
    """

    coordinate: Coordinate
    banks: tuple[Peaks, ...]
    noise: tuple[float, ...]
    labels: int
    depth_of_well: float

    @property
    def step(self) -> float:
        """Distance of two labels in frames."""
        return float(self.coordinate.n - 1) / float(self.labels - 1)

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
            "peak_width_frames": round(self.peak_width, 3),
            "peak": [np.round(each, 4).tolist() for each in self.banks[-1].typical()],
            "well_nats": round(self.depth_of_well, 4),
        }


def learn(
    curves: Callable[[int, slice, slice], Float],
    shape: tuple[int, int],
    scales: int,
    *,
    wanted: str = "auto",
    focus: NDArray[np.float64] | None = None,
    labels: int | None = None,
    axis: Coordinate | None = None,
) -> Model:
    """Learn from a grid of pixels what holds for the whole stack.

    Parameters
    ----------
    curves : callable
        Maps the number of a scale, coarsest last, and a slice of rows and of columns to the
        contrast of those pixels, shape ``(n, P)``, float32.
    shape : tuple of int
        Height and width of the image.
    scales : int
        Number of scales.
    wanted : {"auto", "frames", "position", "reciprocal"}
        The focus coordinate.
    focus : ndarray of shape (n,), optional
        Focus positions.
    labels : int, optional
        L; by default `varfocus.curve.coordinate.label_count`.
    axis : Coordinate, optional
        The focus coordinate, if it is known already.

    Returns
    -------
    Model
        All that `cost_volume` needs besides the contrast.

    Raises
    ------
    NoContrastError
        If all frames are constant.
    ParameterError
        If the coordinate asked for needs focus positions that are not known.
    """
    some, more = grid(shape, FIT_PIXELS), grid(shape, NOISE_PIXELS)
    sampled = [curves(k, *some) for k in range(scales)]
    samples = [_contrasty(each) for each in _ordered(sampled)]
    if axis is None:
        # The coarsest scale is the least noisy: it shows best on which axis peaks are symmetric.
        half = np.ascontiguousarray(sampled[-1][:, checkered(shape, some)])
        axis = focus_axis(samples[-1], wanted, focus, _contrasty(_ordered([half])[0]))
    banks = engine.side_by_side(
        lambda sample: peaks.learnt(templates.fit_bank(axis, sample), sample), samples
    )
    count = labels or coordinate.label_count(axis.n, banks[-1].peak_width)
    seen = _ordered([curves(scale, *more) for scale in range(scales)])

    def wells(scale: int) -> tuple[float, Float]:
        v = templates.centred(seen[scale])
        energy = np.sum(v * v, axis=0)
        S = templates.explained(banks[scale].templates(count), v)
        noise = noise_level(energy, S)
        return noise, log_ratio(energy, S, noise)

    noise, nats = zip(*engine.side_by_side(wells, range(scales)), strict=True)
    cost: Float = functools.reduce(np.add, nats)
    well = float(-cost.min(axis=0).mean(dtype=np.float64))
    return Model(axis, tuple(banks), noise, count, well)


def cost_volume(contrast: Float, model: Model) -> Float:
    """Return the cost of every depth at every pixel.

    Parameters
    ----------
    contrast : ndarray of shape (scales · n, H, W), float32
        Contrast of all frames at the first scale, then at the next.
    model : Model
        What was learnt from the stack.

    Returns
    -------
    ndarray of shape (L, H, W), float32
        C, not positive, −1 at the bottom of the average well.
    """
    n = model.coordinate.n
    height, width = contrast.shape[1:]
    cost = np.zeros((model.labels, height, width), np.float32)
    for scale, (fitted, noise) in enumerate(zip(model.banks, model.noise, strict=True)):
        bank = fitted.templates(model.labels)
        for rows in _bands(height, width, model.labels):
            v = templates.centred(contrast[scale * n : (scale + 1) * n, rows].reshape(n, -1))
            nats = log_ratio(np.sum(v * v, axis=0), templates.explained(bank, v), noise)
            cost[:, rows] += nats.reshape(cost[:, rows].shape)
    cost *= np.float32(1.0 / model.depth_of_well)
    return cost


def focus_axis(
    v: Float,
    wanted: str = "auto",
    focus: NDArray[np.float64] | None = None,
    some: Float | None = None,
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
    some : ndarray of shape (n, Q), float32, optional
        Curves on which axes between the candidates are compared, which takes long; by default `v`.

    Returns
    -------
    Coordinate
        Axis of n frames.
    """
    n = v.shape[0]
    some = v if some is None else some
    if wanted == "frames":
        return coordinate.frames(n)
    if wanted in ("position", "reciprocal"):
        _check_focus(wanted, focus)
        assert focus is not None
        known_axis = coordinate.position if wanted == "position" else coordinate.reciprocal
        return known_axis(focus)
    estimated = templates.choose_axis(templates.candidate_axes(n), v)
    if focus is None:
        return peaks.settled(estimated.coordinate, some)
    axes = [coordinate.position(focus)]
    if coordinate.one_sign(focus):
        axes.append(coordinate.reciprocal(focus))
    known = templates.choose_axis(axes, v)
    if estimated.misfit < KNOWN_IS_BETTER * known.misfit:
        return peaks.settled(estimated.coordinate, some)
    return known.coordinate


def noise_level(energy: Float, S: Float) -> float:
    """Return e = 2·median over pixels of s² − max_l S_l, of the pixels that vary at all.

    Parameters
    ----------
    energy : ndarray of shape (P,), float32
        s².
    S : ndarray of shape (L, P), float32
        What the templates explain of it.
    """
    residual = (energy - S.max(axis=0))[energy > 0]
    # Frames without any noise would make e zero.
    floor = 1e-6 * float(energy.mean(dtype=np.float64))
    return max(NOISE_FACTOR * float(np.median(residual)), floor)


def log_ratio(energy: Float, S: Float, noise: float) -> Float:
    """Return log((s² − S_l + e)/(s² + e)) of one scale, ``(L, P)``; overwrites `S`."""
    whole = energy + np.float32(noise)
    np.subtract(whole, S, out=S)
    # Rounding may make S exceed s² by a hair where a template fits exactly.
    np.maximum(S, np.float32(1e-3 * noise), out=S)
    S /= whole
    return np.log(S, out=S)


def _ordered(curves: list[Float]) -> list[Float]:
    """Return the curves of every scale, ``(n, P)``, by energy: in turned images the same order.

    Sums over them are then rounded alike.
    """
    order = np.argsort(np.sum(curves[-1] * curves[-1], axis=0), kind="stable")
    return [each[:, order] for each in curves]


def _contrasty(curves: Float) -> Float:
    """Return the curves, less their mean, of the more contrasty half of some pixels."""
    v = templates.centred(curves)
    energy = np.sum(v * v, axis=0)
    if not energy.any():
        raise NoContrastError()
    return v[:, energy >= np.median(energy[energy > 0])]


def grid(shape: tuple[int, int], wanted: int) -> tuple[slice, slice]:
    """Return about `wanted` pixels, as rows and columns that lie symmetric in the image."""
    height, width = shape
    step = max(int(np.sqrt(height * width / wanted)), 1)
    step += 1 - step % 2
    return _centred_slice(height, step), _centred_slice(width, step)


def checkered(shape: tuple[int, int], part: tuple[slice, slice]) -> NDArray[np.bool_]:
    """Return every other pixel of a `grid`, flat: black squares, also if the image is turned over.

    Which curves are compared must not hang on the order of their energies, which rounding changes.
    """
    down, across = (
        np.abs(2 * np.arange(side)[chosen] - (side - 1)) // (2 * (chosen.step or 1))
        for side, chosen in zip(shape, part, strict=True)
    )
    black: NDArray[np.bool_] = (down[:, None] + across) % 2 == 0
    return black.ravel()


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
