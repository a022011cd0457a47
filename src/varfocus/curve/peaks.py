r"""What the peaks of contrast look like, learnt from those of the stack itself.

A formula says only roughly what a peak looks like. Frames whose blur is smaller than a pixel are
all as sharp, so a peak is flat on top; how it falls from there hangs on the aperture and on the
texture. Where both flanks are seen, their middle is the depth whatever the shape. At the ends of
the stack only one is, and then the shape decides: a pointed template puts its tip half way along
the flat top.

So each of the templates of `varfocus.curve.templates` is only a first guess s₀ of how high a peak
is at a distance t = |x − y| from its middle. With it a sample of pixels is matched, each with the
template w and the depth y that suit it best, and F_p ≈ a_p + b_p s_w(|x − y_p|). Given these, s is
the function, given at knots, that explains the pixels of its template best,

.. math:: \min_s \sum_{p, k} \frac{(F_p(k) - a_p - b_p s(|x_k - y_p|))^2}{‖v_p‖^2}
          + ρ \Bigl(‖D^2(s - s_0)‖^2 + \tfrac15‖s - s_0‖^2\Bigr),

D² second differences of neighbouring knots; it falls from 1 to 0 and never rises. Then the pixels
are matched again.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from varfocus import engine
from varfocus.curve import coordinate, templates
from varfocus.curve.coordinate import Coordinate, label_frames
from varfocus.curve.templates import FEW_EXPONENTS, TRIAL_LABELS, Bank

Float = NDArray[np.float32]
Real = NDArray[np.float64]

ROUNDS = 2
"""How often pixels are matched, and shapes learnt from them."""

KNOTS_PER_FRAME, KNOTS_PER_WIDTH = 4.0, 4.0
"""Knots to a step between frames, but no more than so many to the width of a template,"""

DENSE, GROWTH = 4.0, 1.3
"""up to so many widths; from there on each interval is longer than the one before."""

RIDGE = 3.0
"""ρ: the first guess counts as so many frames of a pixel, at every knot."""

FEWEST, ENOUGH = 30, 200
"""Pixels without which a template stays what it is, and pixels inside the range that suffice."""

WIDE, NARROW = 0.32, 0.05
"""Bends tried beside the best axis: so far away at first, then ever closer down to this."""

MOST_BENT = 3.0
"""Bends beyond this are not tried: no lens is that close."""

CLEARLY = 0.95
"""Frames at equal steps are taken unless another axis leaves less than this share unexplained."""


@dataclass(frozen=True)
class Peaks:
    """What peaks of contrast look like at one scale.

    Attributes
    ----------
    bank : Bank
        The formula they were learnt from: axis, exponent and widths.
    distance : tuple of W ndarrays of shape (J,)
        Knots of each template in the unit of x, from 0 on; J is its own.
    height : tuple of W ndarrays of shape (J,)
        s there, from 1 down to 0.
    """

    bank: Bank
    distance: tuple[Real, ...]
    height: tuple[Real, ...]

    @classmethod
    def of_formula(cls, bank: Bank) -> Peaks:
        """Return the peaks of a formula, before anything is learnt."""
        knots = tuple(_knots(bank.coordinate, float(width)) for width in bank.widths)
        heights = tuple(
            templates.formula(t, bank.exponent, float(width))
            for t, width in zip(knots, bank.widths, strict=True)
        )
        return cls(bank, knots, heights)

    @property
    def peak_width(self) -> float:
        """As `Bank.peak_width`."""
        return self.bank.peak_width

    def templates(self, labels: int) -> Float:
        """Return the templates at L labels, shape ``(W, L, n)``, of zero mean and unit norm."""
        away = templates.distances(self.bank.coordinate, labels)
        shapes = zip(self.distance, self.height, strict=True)
        return templates.normalised(np.stack([spline(t, s, away) for t, s in shapes]))

    def misfit(self, v: Float) -> float:
        """Return the mean unexplained share of curves ``(n, P)`` without their mean, in [0, 1]."""
        best, _, _ = templates.best_match(self.templates(TRIAL_LABELS), v)
        share = np.maximum(best, 0.0) ** 2 / np.sum(v * v, axis=0)
        return 1.0 - float(np.mean(share, dtype=np.float64))

    def typical(self) -> tuple[Real, Real]:
        """Return knots, in frames of the median step, and heights of the middle template."""
        steps = np.abs(np.diff(self.bank.coordinate.x))
        middle = len(self.distance) // 2
        return self.distance[middle] / float(np.median(steps)), self.height[middle]


def settled(axis: Coordinate, v: Float) -> Coordinate:
    """Return the axis of the family whose peaks explain most, looked for from one of it on.

    A formula that cannot follow the shape of peaks may make up for it by a skewed axis; so their
    shape is learnt on every axis that is tried. Frames at equal steps are taken unless another axis
    is clearly better.

    Parameters
    ----------
    axis : Coordinate
        That which a formula chose.
    v : ndarray of shape (n, P), float32
        Sampled curves without their mean, none of them zero; a single round of learning compares.
    """
    misfits: dict[float, float] = {}

    def misfit(bend: float) -> float:
        bank = templates.fit_bank(coordinate.bent(axis.n, bend), v, FEW_EXPONENTS)
        return learnt(bank, v, rounds=1).misfit(v)

    assert axis.bend is not None
    best, step = axis.bend, WIDE
    while step > NARROW:
        tried = [bend for bend in (best - step, best, best + step) if abs(bend) <= MOST_BENT]
        tried = [bend for bend in tried if bend not in misfits]
        misfits.update(zip(tried, engine.side_by_side(misfit, tried), strict=True))
        lowest = min(misfits, key=lambda bend: misfits[bend])
        if lowest == best:
            step *= 0.5
        best = lowest
    straight = misfits[0.0] if 0.0 in misfits else misfit(0.0)
    if misfits[best] >= CLEARLY * straight:
        return coordinate.bent(axis.n, 0.0)
    # Of bends that explain as much, rounding would choose one or the other.
    beside = [bend for bend in misfits if step < abs(bend - best) < 3.0 * step]
    return coordinate.bent(axis.n, lowest_between(misfits, [*beside, best]))


def lowest_between(misfits: dict[float, float], places: list[float]) -> float:
    """Return where the parabola through three places is lowest; the last of them if it opens down.

    Parameters
    ----------
    misfits : dict
        Value at each place.
    places : list of float
        Three, or the last one alone counts.
    """
    if len(places) != 3:
        return places[-1]
    curve, slope, _ = np.polyfit(np.array(places) - places[-1], [misfits[b] for b in places], 2)
    return places[-1] - 0.5 * float(slope / curve) if curve > 0.0 else places[-1]


def learnt(bank: Bank, v: Float, rounds: int = ROUNDS) -> Peaks:
    """Return what the peaks of a stack look like.

    Parameters
    ----------
    bank : Bank
        First guess.
    v : ndarray of shape (n, P), float32
        Sampled curves without their mean, none of them zero.
    rounds : int
        How often.

    Returns
    -------
    Peaks
        As many templates as the bank has.
    """
    guess = found = Peaks.of_formula(bank)
    axis, labels = bank.coordinate, TRIAL_LABELS
    x, y = axis.x, axis.at(label_frames(axis.n, labels))
    unit = v / np.linalg.norm(v, axis=0)
    for _ in range(rounds):
        _, number, label = templates.best_match(found.templates(labels), v)
        inside = (label > labels // 8) & (label < labels - 1 - labels // 8)
        if np.count_nonzero(inside) < ENOUGH:
            inside[:] = True
        heights = []
        for w, (t, s, first) in enumerate(
            zip(found.distance, found.height, guess.height, strict=True)
        ):
            mine = np.flatnonzero(inside & (number == w))
            if mine.size >= FEWEST:
                away = np.abs(x[:, None] - y[label[mine]][None])
                s = _shape(t, s, first, away, unit[:, mine].astype(np.float64))
            heights.append(s)
        found = Peaks(bank, found.distance, tuple(heights))
    return found


def spline(t: Real, s: Real, at: Real) -> Real:
    """Return the cubic spline through heights s at knots t that is flat at both ends.

    Smooth templates are combinations of few curves; polygons are not.
    """
    wide, rise = np.diff(t), np.diff(s) / np.diff(t)
    before, after = wide[:-1], wide[1:]
    left = np.eye(t.size)
    inner = np.arange(1, t.size - 1)
    left[inner, inner - 1], left[inner, inner], left[inner, inner + 1] = (
        after,
        2.0 * (before + after),
        before,
    )
    right = np.zeros(t.size)
    right[1:-1] = 3.0 * (after * rise[:-1] + before * rise[1:])
    slope = np.linalg.solve(left, right)
    low = np.clip(np.searchsorted(t, at, "right") - 1, 0, t.size - 2)
    h = wide[low]
    u = np.clip((at - t[low]) / h, 0.0, 1.0)
    v = 1.0 - u
    value: Real = (
        (1.0 + 2.0 * u) * v * v * s[low]
        + (1.0 + 2.0 * v) * u * u * s[low + 1]
        + u * v * h * (v * slope[low] - u * slope[low + 1])
    )
    return value


def _knots(axis: Coordinate, width: float) -> Real:
    """Return knots from 0 to the range of x: evenly spaced as far as the peak is high."""
    x = axis.x
    spacing = float(np.median(np.abs(np.diff(x))))
    step, last = max(spacing / KNOTS_PER_FRAME, width / KNOTS_PER_WIDTH), float(abs(x[-1] - x[0]))
    knots = np.arange(0.0, min(DENSE * width, last) + step, step).tolist()
    while knots[-1] < last:
        step *= GROWTH
        knots.append(knots[-1] + step)
    return np.array(knots)


def _shape(t: Real, s: Real, first: Real, away: Real, v: Real) -> Real:
    """Return the heights at knots t that explain some pixels best.

    Parameters
    ----------
    t, s, first : ndarray of shape (J,)
        Knots, present heights, and the first guess of them.
    away : ndarray of shape (n, P)
        Distance of every frame from the middle of each pixel's peak.
    v : ndarray of shape (n, P)
        Curves of zero mean and unit norm.
    """
    now = np.interp(away, t, s)
    mean = now.mean(axis=0)
    b = np.sum((now - mean) * v, axis=0) / np.maximum(np.sum((now - mean) ** 2, axis=0), 1e-12)
    place = np.interp(away, t, np.arange(t.size)).ravel()
    low = np.minimum(place.astype(np.intp), t.size - 2)
    share, slope = place - low, np.broadcast_to(b, away.shape).ravel()
    target = (v + b * mean).ravel()

    def sums(values: Real, at: NDArray[np.intp]) -> Real:
        return np.bincount(at, values, t.size).astype(np.float64, copy=False)

    square = slope * slope
    left = np.diag(sums(square * (1.0 - share) ** 2, low) + sums(square * share * share, low + 1))
    between = sums(square * share * (1.0 - share), low)[:-1]
    left += np.diag(between, 1) + np.diag(between, -1)
    right = sums(slope * target * (1.0 - share), low) + sums(slope * target * share, low + 1)
    bend = np.diff(np.eye(t.size), 2, axis=0)
    held = RIDGE * float(np.mean(b * b)) * (bend.T @ bend + 0.2 * np.eye(t.size))
    fitted = np.minimum.accumulate(np.linalg.solve(left + held, right + held @ first))
    rise = float(fitted[0] - fitted[-1])
    return (fitted - fitted[-1]) / rise if rise > 0.0 else s
