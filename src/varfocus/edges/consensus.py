r"""Depths that no pixel around shares which looks like this one.

What search, outlines and rendering leave behind are islands, teeth along outlines and ramps beside
them: depths that the pixels around p which look like it do not have. Each of them, q, says what its
own surface would be at p, along its slope, with a weight:

.. math:: e_q = d_q + \nabla d_q·(p - q), \qquad
          w_{pq} = e^{-|p - q|^2/2σ_s^2}\Bigl(1 + \frac{|g_p - g_q|^2}{16 σ_c^2}\Bigr)^{-8},

∇d the smaller slope of those to either side. The picture g shows each pixel in the frame that is
focused on the nearest depth within a few pixels: there outlines are sharp, and what lies behind
them is blurred, so smooth. m is the weighted median of the e_q. Where it is further from d_p than
half the height of a jump, p takes the weighted mean of those e_q that are close to m; everywhere
else nothing changes, to the last bit. As slopes go on, a steep or bent surface is no disagreement.
A wire is a minority wherever it is: where the colour of p is clearly likelier among the pixels of
its own depth, however many they are, than among those of depth m, p stays.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from varfocus import engine
from varfocus.edges.outline import End, resemblance
from varfocus.edges.render import Float
from varfocus.edges.sides import Mask, closest, extent
from varfocus.engine import edges as kernels

ROUNDS = 3

REACH, NEAR = 8, 5.0
"""Radius of the window in pixels, and σ_s in pixels."""

COLOUR = 0.03
"""σ_c in brightness, of every channel."""

AROUND = 4
"""Pixels within which the nearest depth says which frame is looked at."""

SLOPE = 2
"""Pixels over which a slope is taken."""

CLEAR, ENOUGH = 1.5, 15.0
"""A pixel stays if its colour is so many times likelier among the pixels of its own depth, and
these have so much weight."""

BINS = 128
"""Into so many steps the range of focus is cut to find the median."""

BESIDE = int(np.ceil(np.hypot(AROUND, AROUND)))
"""Pixels around a pixel of the window, as the crow flies, that decide on its slope and focus."""

CONSENSUS_REACH = ROUNDS * (REACH + BESIDE)
"""Pixels around a pixel that decide on its depth."""


@dataclass(frozen=True)
class Consensus:
    """Depth that pixels agree on.

    Attributes
    ----------
    index : ndarray of shape (H, W), float32
        Depth in frames.
    moved : ndarray of shape (H, W), bool
        Pixels that changed.
    """

    index: Float
    moved: Mask


def consensus(
    frames: list[NDArray[Any]],
    scale: float,
    place: NDArray[np.float64],
    index: Float,
    near: End | None,
    height: float,
) -> Consensus:
    """Give the depth of those around that look like it to every pixel that stands alone.

    Parameters
    ----------
    frames : list of m ndarrays of shape (H, W, C)
        Frames in any number type.
    scale : float
        What maps them to [0, 1].
    place : ndarray of shape (m,)
        Their numbers in the stack, increasing; the last one is that of the last frame.
    index : ndarray of shape (H, W), float32
        Depth in frames of the stack.
    near : {"first", "last"} or None
        Which end of the stack is near; if nobody knows, pixels are looked at in their own frame.
    height : float
        Least height of a jump in frames.

    Returns
    -------
    Consensus
        Right up to `CONSENSUS_REACH` pixels from where the image was cut.
    """
    before, moved = index, None
    for _ in range(ROUNDS):
        jump = closest(uneven(index, height), 2 * REACH)[0]
        # Where nothing moved that a pixel depends on, it would decide as it did before.
        changed = np.zeros_like(jump) if moved is None else closest(moved, 2 * REACH + BESIDE)[0]
        asked = (jump <= np.float32(REACH)) & (changed <= np.float32(REACH + BESIDE))
        compared = (jump <= np.float32(2 * REACH)) & (changed <= np.float32(2 * REACH + BESIDE))
        picture = outlines_sharp(frames, scale, place, index, near, compared)
        settled = agreed(index, slopes(index), picture, asked, float(place[-1]), height)
        moved, index = settled != index, settled
    return Consensus(index, index != before)


def uneven(index: Float, height: float) -> Mask:
    """Return the pixels beside which depth changes by more than half the height of a jump."""
    low, high = extent(index, 1)
    return np.asarray(high - low > np.float32(0.5 * height))


def outlines_sharp(
    frames: list[NDArray[Any]],
    scale: float,
    place: NDArray[np.float64],
    index: Float,
    near: End | None,
    wanted: Mask,
) -> Float:
    """Return g ``(H, W, C)``: wanted pixels in the frame of the nearest depth around them.

    Parameters as for `consensus`; `wanted` is of shape (H, W), bool.
    """
    focus = index
    if near is not None:
        focus = extent(index, AROUND)[0 if near == "first" else 1]
    return focused(frames, scale, place, focus, wanted)


def focused(
    frames: list[NDArray[Any]],
    scale: float,
    place: NDArray[np.float64],
    index: Float,
    wanted: Mask,
) -> Float:
    """Return wanted pixels ``(H, W, C)`` as they look at a depth, linear between two frames."""
    channels = frames[0].shape[2]
    picture = np.zeros((*index.shape, channels), np.float32)
    pixels, light = np.flatnonzero(wanted), picture.reshape(-1, channels)
    at = np.interp(index.ravel()[pixels], place, np.arange(float(place.size))).astype(np.float32)
    below = np.clip(at.astype(np.intp), 0, len(frames) - 2)
    for k in np.unique(below).tolist():
        some = below == k
        here, share = pixels[some], (at[some] - np.float32(k))[:, None]
        low, high = (frames[i].reshape(-1, channels)[here] for i in (k, k + 1))
        light[here] = np.float32(scale) * (low + share * (high.astype(np.float32) - low))
    return picture


def slopes(index: Float) -> Float:
    """Return ∇d ``(2, H, W)`` in frames per pixel, downward and to the right.

    The smaller one of the slopes to either side, over two pixels each, and none where these do not
    agree on a direction: beside a jump the surface is that of the other side.
    """
    found = np.zeros((2, *index.shape), np.float32)
    for d, slope in ((index, found[0]), (index.T, found[1].T)):
        rise = (d[SLOPE:] - d[:-SLOPE]) * np.float32(1.0 / SLOPE)
        back, ahead = rise[:-SLOPE], rise[SLOPE:]
        least = np.where(np.abs(back) < np.abs(ahead), back, ahead)
        slope[SLOPE:-SLOPE] = np.where(back * ahead > 0, least, np.float32(0.0))
    return found


def agreed(
    index: Float, slopes: Float, picture: Float, asked: Mask, last: float, height: float
) -> Float:
    """Return the depth after one round.

    Parameters
    ----------
    index : ndarray of shape (H, W), float32
        Depth in frames, from 0 to `last`.
    slopes : ndarray of shape (2, H, W), float32
        ∇d.
    picture : ndarray of shape (H, W, C), float32
        g.
    asked : ndarray of shape (H, W), bool
        Pixels that may change.
    last : float
        Number of the last frame.
    height : float
        Least height of a jump in frames.

    Returns
    -------
    ndarray of shape (H, W), float32
        Depth in frames.
    """
    away = np.arange(-REACH, REACH + 1)
    squares = away[:, None] ** 2 + away[None] ** 2
    closeness = np.where(squares <= REACH**2, np.exp(-squares / (2.0 * NEAR**2)), 0.0)
    closeness = closeness.astype(np.float32)
    precision = 1.0 / (16.0 * COLOUR**2 * picture.shape[2])
    alike, apart = height, 0.5 * height
    if engine.accepts(index, picture):
        return kernels.consensus(
            index,
            slopes,
            picture,
            asked,
            closeness,
            BINS,
            last,
            precision,
            alike,
            apart,
            CLEAR,
            ENOUGH,
        )
    rows, columns = np.nonzero(asked)
    own, depth = picture[rows, columns], index[rows, columns]
    per_frame = np.float32((BINS - 1) / last)
    pixel = np.arange(rows.size)
    said = []
    histogram = np.zeros((rows.size, BINS), np.float32)
    for i, y in enumerate(away.tolist()):
        for j, x in enumerate(away.tolist()):
            v, u = rows + y, columns + x
            inside = (v >= 0) & (v < index.shape[0]) & (u >= 0) & (u < index.shape[1])
            v, u = np.clip(v, 0, index.shape[0] - 1), np.clip(u, 0, index.shape[1] - 1)
            close = np.where(inside, closeness[i, j], np.float32(0.0))
            weight = close * resemblance(picture[v, u], own, precision)
            rise = slopes[0, v, u] * np.float32(-y) + slopes[1, v, u] * np.float32(-x)
            there = np.clip(index[v, u] + rise, np.float32(0.0), np.float32(last))
            histogram[pixel, (there * per_frame + np.float32(0.5)).astype(np.intp)] += weight
            said.append((there, weight, close))
    counted = np.cumsum(histogram, axis=1)
    below = counted < np.float32(0.5) * counted[:, -1:]
    median = below.sum(axis=1).astype(np.float32) / per_frame
    room, total, sums, own_room, own_total = np.zeros((5, rows.size), np.float64)
    for there, *weighed in said:
        share, area = (each.astype(np.float64) for each in weighed)
        agrees = np.abs(there - median) <= np.float32(alike)
        room += agrees * area
        total += agrees * share
        sums += agrees * share * there
        ours = np.abs(there - depth) <= np.float32(alike)
        own_room += ours * area
        own_total += ours * share
    likelier = (own_room >= ENOUGH) & (own_total * room > CLEAR * total * own_room)
    moves = (np.abs(median - depth) > np.float32(apart)) & ~likelier & (total > 0)
    out = index.copy()
    out[rows[moves], columns[moves]] = (sums[moves] / total[moves]).astype(np.float32)
    return out
