r"""What a contrast curve looks like around its maximum, by a formula fitted to the stack.

The template of depth label y and width w is

.. math:: T_{l,w}(k) = \Bigl(1 + \frac{(x_k - y_l)^2}{p\,w^2}\Bigr)^{-p},

its mean over the frames removed and scaled to unit norm; p → ∞ is a Gaussian, p = 1 a Lorentzian.
With v = F − mean_k F the contrast curve of a pixel, ⟨T, v⟩² is what the template explains of ‖v‖²,
and ‖v‖² − ⟨T, v⟩² the least squares residual of an offset and a positive multiple of the template.

Focus coordinate x, exponent p and the range of widths are those that explain a sample of contrasty
pixels best. The widths matter: on the right axis the peaks of one texture are all equally wide, so
the range can be narrow; a wide one lets a one-sided curve at the end of the stack trade position
for width, which doubles the error there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from varfocus import engine
from varfocus.curve import coordinate
from varfocus.curve.coordinate import Coordinate, label_frames

Float = NDArray[np.float32]
Real = TypeVar("Real", np.float32, np.float64)
Match: TypeAlias = tuple[Float, NDArray[np.intp], NDArray[np.intp]]

EXPONENTS = (0.75, 1.0, 1.5, 2.0, 3.0, 6.0, 16.0)
"""Shapes to choose from, Lorentzian to nearly Gaussian."""

FEW_EXPONENTS = (1.0, 3.0, 16.0)
"""Shapes that suffice to compare axes."""

WIDTHS = 5
"""Widths of the bank."""

TRIAL_WIDTHS = 15
"""Widths tried while looking for the range of those that occur: up to half the range of x."""

TRIAL_LABELS = 57
"""Labels tried while fitting; a quarter of a frame for 15 frames."""

WIDTH_QUANTILES = (0.1, 0.9)
"""Share of the sampled peaks that are narrower than the narrowest, and than the widest template."""


@dataclass(frozen=True)
class Bank:
    """The templates of one stack at one scale.

    Attributes
    ----------
    coordinate : Coordinate
        Axis on which they are symmetric.
    exponent : float
        p.
    widths : ndarray of shape (W,)
        In the unit of x.
    misfit : float
        Mean unexplained share of the sampled curves, in [0, 1].
    """

    coordinate: Coordinate
    exponent: float
    widths: NDArray[np.float64]
    misfit: float

    @property
    def peak_width(self) -> float:
        """Half width in frames of a typical contrast peak, the geometric mean of the widths."""
        spacing = float(np.median(np.abs(np.diff(self.coordinate.x))))
        width = float(np.exp(np.log(self.widths).mean())) / spacing
        return min(max(width, 0.5), (self.coordinate.n - 1) / 2)


def make_templates(
    axis: Coordinate, exponent: float, widths: NDArray[np.float64], labels: int
) -> Float:
    """Return templates of zero mean and unit norm over the frames.

    Parameters
    ----------
    axis : Coordinate
        Focus coordinate of n frames.
    exponent : float
        p > 0.
    widths : ndarray of shape (W,)
        Widths w > 0 in the unit of x.
    labels : int
        L depths, evenly spaced in frames.

    Returns
    -------
    ndarray of shape (W, L, n), float32
        A template too narrow to reach any frame beside its own works like any other; one that is
        constant over all frames is zero.
    """
    away = distances(axis, labels)
    return normalised(np.stack([formula(away, exponent, float(width)) for width in widths]))


def distances(axis: Coordinate, labels: int) -> NDArray[np.float64]:
    r"""Return \|x_k − y_l\|, shape ``(L, n)``, of L depths that are evenly spaced in frames."""
    away: NDArray[np.float64] = np.abs(axis.x - axis.at(label_frames(axis.n, labels))[:, None])
    return away


def formula(distance: NDArray[np.float64], exponent: float, width: float) -> NDArray[np.float64]:
    """Return (1 + t²/(p w²))^−p at distances t from the middle of a peak."""
    height: NDArray[np.float64] = (1.0 + distance**2 / (exponent * width**2)) ** -exponent
    return height


def normalised(raw: NDArray[np.float64]) -> Float:
    """Return templates ``(…, n)`` without their mean, scaled to unit norm; of a constant, zero."""
    raw = raw - raw.mean(axis=-1, keepdims=True)
    norm = np.linalg.norm(raw, axis=-1, keepdims=True)
    return (raw / np.where(norm > 1e-12, norm, np.inf)).astype(np.float32)


def explained(templates: Float, v: Float) -> Float:
    """Return S_l = max_w max(⟨T_{l,w}, v⟩, 0)².

    Parameters
    ----------
    templates : ndarray of shape (W, L, n), float32
        Unit templates.
    v : ndarray of shape (n, P), float32
        Curves of P pixels, their mean over frames removed.

    Returns
    -------
    ndarray of shape (L, P), float32
        What the best template at each label explains of ‖v‖².
    """
    if engine.accepts(templates, v):
        return engine.explained(templates, v)
    best: Float = templates[0] @ v
    for wider in templates[1:]:
        np.maximum(best, wider @ v, out=best)
    np.maximum(best, 0.0, out=best)
    best *= best
    return best


def best_match(templates: Float, v: Float) -> Match:
    """Return max_{w,l} ⟨T_{l,w}, v⟩ of each curve, and at which width and label it is.

    Parameters
    ----------
    templates : ndarray of shape (W, L, n), float32
        Unit templates.
    v : ndarray of shape (n, P), float32
        Curves of P pixels, their mean over frames removed.

    Returns
    -------
    tuple of three ndarrays of shape (P,)
        Value, 0-based width and label; the first of equals.
    """
    if engine.accepts(templates, v):
        best, number = engine.best_match(templates, v)
        return best[0], *np.divmod(number[0].astype(np.intp), templates.shape[1])
    best = np.full(v.shape[1], -np.inf, np.float32)
    width, label = np.zeros((2, v.shape[1]), np.intp)
    for w, of_width in enumerate(templates):
        match = of_width @ v
        at = match.argmax(axis=0)
        value = np.take_along_axis(match, at[None], axis=0)[0]
        better = value > best
        best = np.where(better, value, best)
        width, label = np.where(better, w, width), np.where(better, at, label)
    return best, width, label


def best_matches(templates: Float, v: Float) -> tuple[Match, Match]:
    """Return `best_match` on an axis and on its mirror image, for the work of one of them.

    On the mirrored axis, whose x(k) is −x(n−1−k) of the other one, label l has the template of
    label L−1−l seen backwards. With even and odd halves of curve and template, both products follow
    from the same two: ⟨T, v⟩ = ⟨T₊, v₊⟩ + ⟨T₋, v₋⟩, and the difference.

    Parameters
    ----------
    templates : ndarray of shape (W, L, n), float32
        Unit templates on the axis.
    v : ndarray of shape (n, P), float32
        Curves of P pixels, their mean over frames removed.

    Returns
    -------
    tuple of two matches
        As of `best_match`; on the mirrored axis the last label of equals.
    """
    if not engine.accepts(templates, v):
        return best_match(templates, v), best_match(templates[:, ::-1, ::-1], v)
    labels, n = templates.shape[1:]
    best, number = engine.best_match(folded_templates(templates), folded(v), even_half(n))
    width, label = np.divmod(number.astype(np.intp), labels)
    return (best[0], width[0], label[0]), (best[1], width[1], labels - 1 - label[1])


def even_half(n: int) -> int:
    """Return how many numbers describe the even half of a curve of n numbers."""
    return (n + 1) // 2


def folded(v: NDArray[Real]) -> NDArray[Real]:
    """Return the even halves of curves, then the odd ones.

    Parameters
    ----------
    v : ndarray of shape (n, …)
        Curves.

    Returns
    -------
    ndarray of shape (n, …)
        v(k) + v(n−1−k) for k < n/2, the number in the middle alone if there is one, and
        v(k) − v(n−1−k) from the middle outwards.
    """
    even, backwards = even_half(len(v)), v[::-1]
    halves = np.concatenate([(v + backwards)[:even], (backwards - v)[even:]])
    if len(v) % 2:
        halves[even - 1] = v[even - 1]
    return halves


def folded_templates(templates: NDArray[Real]) -> NDArray[Real]:
    """Return templates ``(…, n)`` whose products with `folded` curves are those of plain ones."""
    halves = folded(np.moveaxis(templates, -1, 0))
    halves *= np.asarray(0.5, halves.dtype)
    if len(halves) % 2:
        halves[even_half(len(halves)) - 1] *= 2.0
    return np.moveaxis(halves, 0, -1)


def centred(curves: Float) -> Float:
    """Return ``(n, P)`` curves less their mean over frames."""
    v: Float = curves - curves.mean(axis=0)
    return v


def fit_bank(
    axis: Coordinate, v: Float, exponents: Sequence[float] = EXPONENTS, widths: int = WIDTHS
) -> Bank:
    """Return the exponent and the range of widths that explain curves best on a given axis.

    Parameters
    ----------
    axis : Coordinate
        Focus coordinate of n frames.
    v : ndarray of shape (n, P), float32
        Sampled curves without their mean, none of them zero.
    exponents : sequence of float
        Candidates of p.
    widths : int
        How many widths the bank has.

    Returns
    -------
    Bank
        With its misfit.
    """
    return _fit_banks((axis,), v, exponents, widths)[0]


def _fit_banks(
    axes: tuple[Coordinate, ...], v: Float, exponents: Sequence[float], widths: int
) -> list[Bank]:
    """Return `fit_bank` of an axis and, if there are two, of its mirror image."""
    x = axes[0].x
    narrow, wide = 0.3 * np.median(np.abs(np.diff(x))), 0.5 * abs(x[-1] - x[0])
    trial = np.geomspace(narrow, max(wide, 2.0 * narrow), TRIAL_WIDTHS)
    energy = np.sum(v * v, axis=0)
    fits: list[list[Bank]] = [[] for _ in axes]
    for exponent in exponents:
        tried = make_templates(axes[0], exponent, trial, TRIAL_LABELS)
        matches = best_matches(tried, v) if len(axes) > 1 else (best_match(tried, v),)
        for axis, (_, width, label), found in zip(axes, matches, fits, strict=True):
            grid = np.geomspace(*_common_widths(width, label, trial), widths)
            best, _, _ = best_match(make_templates(axis, exponent, grid, TRIAL_LABELS), v)
            share = np.maximum(best, 0.0) ** 2 / energy
            misfit = 1.0 - float(np.mean(share, dtype=np.float64))
            found.append(Bank(axis, exponent, grid, misfit))
    return [min(found, key=lambda fit: fit.misfit) for found in fits]


def _common_widths(
    width: NDArray[np.intp], label: NDArray[np.intp], widths: NDArray[np.float64]
) -> tuple[float, float]:
    """Return the quantiles of the width of the best template over curves that peak inside."""
    margin = TRIAL_LABELS // 8
    inside = (label > margin) & (label < TRIAL_LABELS - 1 - margin)
    counted = width[inside] if inside.sum() >= 50 else width
    histogram = np.bincount(counted, minlength=len(widths))
    # Widths lie on a grid; quantiles between its points need the histogram's linear interpolation.
    half = 0.5 * np.log(widths[1] / widths[0])
    edges = np.concatenate([np.log(widths) - half, [np.log(widths[-1]) + half]])
    cumulative = np.concatenate([[0.0], np.cumsum(histogram) / histogram.sum()])
    low, high = np.exp(np.interp(WIDTH_QUANTILES, cumulative, edges))
    return float(low), float(max(high, 1.01 * low))


def candidate_axes(n: int) -> list[Coordinate]:
    """Return the axes to choose from when no focus positions are known.

    Neighbours are alike: from frames at equal steps of distance with the last one nearest to those
    with the first one nearest, frames at equal steps of blur in the middle.
    """
    mirrored, plain = (
        [coordinate.hyperbolic(n, kappa, mirrored=turned) for kappa in coordinate.KAPPAS]
        for turned in (True, False)
    )
    return [*mirrored[::-1], coordinate.frames(n), *plain]


def choose_axis(axes: Sequence[Coordinate], v: Float) -> Bank:
    """Return the axis on which the curves are most alike, with a rough fit of its templates.

    Parameters
    ----------
    axes : sequence of Coordinate
        Candidates; the first of equals wins.
    v : ndarray of shape (n, P), float32
        Sampled curves without their mean.

    Returns
    -------
    Bank
        The one of least misfit.
    """
    groups: list[tuple[Coordinate, ...]] = []
    for axis in axes:
        for i, group in enumerate(groups):
            if len(group) == 1 and np.array_equal(axis.x, -group[0].x[::-1]):
                groups[i] = (*group, axis)
                break
        else:
            groups.append((axis,))
    fits = engine.side_by_side(lambda group: _fit_banks(group, v, FEW_EXPONENTS, 3), groups)
    return min((fit for group in fits for fit in group), key=lambda fit: fit.misfit)
