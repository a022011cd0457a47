r"""Outlines of near objects where the picture has them, whatever the aperture.

Contrast measures an edge in a window, so the near side of a depth jump, on whose outline the edge
lies, comes out a few pixels too large. In the frame g that is focused on the near side the outline
is sharp, and what lies beside it is the blurred background: smooth, and so alike from pixel to
pixel. A pixel p beside a jump is compared there with the pixels q around it that are far enough
from any jump to be sure of their side S:

.. math:: P_S(p) = \frac{\sum_{q ∈ S} s_{pq}\, a_{pq}}{\sum_{q ∈ S} s_{pq}}, \quad
          s_{pq} = e^{-|p - q|^2/2σ_s^2}, \quad
          a_{pq} = \Bigl(1 + \frac{|I_g(p) - I_g(q)|^2}{16 σ_c^2}\Bigr)^{-8},

an estimate of how likely the colour of p is on that side, however many pixels it has. Where
log(P_far/P_near), averaged over a pixel or so, is clear, p takes the depth of the pixels of that
side that look like it.

Which end of the stack is near must be known. It is told by the same comparison: with either end as
the near one, it is the near side that turns out to be too large. (Maps with ghosts have outlines
that lean to either end; there `varfocus.explain.occlusion` knows better.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from varfocus import engine
from varfocus.edges.constants import JUMP_WINDOW
from varfocus.edges.render import Float, convolved, kernel
from varfocus.edges.sides import Mask, closest, extent
from varfocus.engine import edges as kernels

End = Literal["first", "last"]

ZONE, UNSURE = 5.5, 2.0
"""Pixels from a jump up to which pixels are asked, and up to which they are not sure."""

REACH, NEAR = 9, 6.0
"""Half the window in pixels, and σ_s in pixels."""

COLOUR = 0.03
"""σ_c in brightness, of every channel."""

SIDE = 0.3
"""Share of a jump's height within which a depth belongs to a side."""

FEWEST = 1.0
"""Weight of the sure pixels without which a side is not known."""

FAINT = 1e-3
"""Likelihood below which a colour is strange to a side, and how strange does not count."""

MOST, CLEAR, SMOOTH = 3.0, 0.3, 1.0
"""Largest log ratio of a pixel, the least mean that decides, and σ in pixels of that mean."""

DOUBT, TOGETHER = 5.0, 10.0
"""Standard errors by which more pixels must leave the near side than come to it, for the near end
to be known, if so many neighbours move together."""

OUTLINE_REACH = 3 + REACH + 3 + JUMP_WINDOW
"""Pixels around a pixel that decide on its side: of the mean, the window, and what is sure."""


@dataclass(frozen=True)
class Outlined:
    """Depth with outlines.

    Attributes
    ----------
    index : ndarray of shape (H, W), float32
        Depth in frames.
    asked, moved : ndarray of shape (H, W), bool
        Pixels beside jumps, and those of them that changed sides.
    """

    index: Float
    asked: Mask
    moved: Mask


def jump_height(n: int) -> float:
    """Return how many frames high a jump is at least: one, or a fourteenth of the range."""
    return max(1.0, (n - 1) / 14.0)


def outlined(
    frames: list[NDArray[Any]],
    scale: float,
    place: NDArray[np.float64],
    index: Float,
    near: End,
    height: float,
) -> Outlined:
    """Put the pixels beside depth jumps on the side that they look like.

    Parameters
    ----------
    frames : list of m ndarrays of shape (H, W, C)
        Frames in any number type.
    scale : float
        What maps them to [0, 1].
    place : ndarray of shape (m,)
        Their numbers in the stack, increasing.
    index : ndarray of shape (H, W), float32
        Depth in frames of the stack.
    near : {"first", "last"}
        Which end of the stack is near.
    height : float
        Least height of a jump in frames.

    Returns
    -------
    Outlined
        Right up to `OUTLINE_REACH` pixels from where the image was cut.
    """
    nothing = np.zeros(index.shape, bool)
    low, high = extent(index, 1)
    jump = high - low > np.float32(height)
    if not jump.any():
        return Outlined(index, nothing, nothing)
    low, high = extent(index, JUMP_WINDOW)
    distance, at = closest(jump, int(np.ceil(ZONE)), low - high)
    sure = distance > np.float32(UNSURE)
    asked = distance <= np.float32(ZONE)
    low, high = low.take(at), high.take(at)
    ours, others = (low, high) if near == "first" else (high, low)
    guide = np.searchsorted(0.5 * (place[1:] + place[:-1]), ours)
    sums = np.zeros((6, *index.shape), np.float32)
    for k in np.unique(guide[asked]).tolist():
        picture = np.multiply(frames[k], np.float32(scale), dtype=np.float32)
        likeness(picture, index, sure, ours, others, asked & (guide == k), sums)
    count, alike, depth = sums[0::3], sums[1::3], sums[2::3]
    known = asked & (count > np.float32(FEWEST)).all(axis=0)
    likely = alike / np.maximum(count, np.float32(FEWEST)) + np.float32(FAINT)
    ratio = np.where(known, np.log(likely[1] / likely[0]), np.float32(0.0))
    ratio = np.clip(ratio, -np.float32(MOST), np.float32(MOST))
    ratio = convolved(ratio[None], kernel(SMOOTH))[0]
    is_near = np.abs(index - ours) < np.abs(index - others)
    out = index.copy()
    moved = nothing.copy()
    for side, leaves in enumerate(
        (~is_near & (ratio < -np.float32(CLEAR)), is_near & (ratio > np.float32(CLEAR)))
    ):
        goes = leaves & known & (alike[side] > 0)
        out[goes] = depth[side][goes] / alike[side][goes]
        moved |= goes
    return Outlined(out, asked, moved)


def likeness(
    picture: Float,
    index: Float,
    sure: Mask,
    near: Float,
    far: Float,
    asked: Mask,
    sums: Float,
) -> None:
    """Add up what pixels look like on either side of their jump, in place.

    Parameters
    ----------
    picture : ndarray of shape (H, W, C), float32
        The frame that is focused on the near side.
    index : ndarray of shape (H, W), float32
        Depth in frames.
    sure, asked : ndarray of shape (H, W), bool
        Pixels that are compared with, and that are compared.
    near, far : ndarray of shape (H, W), float32
        Depth of the two sides.
    sums : ndarray of shape (6, H, W), float32
        Receives Σs, Σsa and Σsad of the near side, and of the far one, where asked.
    """
    away = np.arange(-REACH, REACH + 1)
    closeness = np.exp(-(away[:, None] ** 2 + away[None] ** 2) / (2.0 * NEAR**2)).astype(np.float32)
    precision = 1.0 / (16.0 * COLOUR**2 * picture.shape[2])
    if engine.accepts(picture, index, sums):
        kernels.likeness(picture, index, sure, near, far, asked, closeness, precision, SIDE, sums)
        return
    rows, columns = np.nonzero(asked)
    height, width = asked.shape
    own, first, second = picture[rows, columns], near[rows, columns], far[rows, columns]
    reach = np.float32(SIDE) * np.abs(second - first)
    found = np.zeros((6, rows.size), np.float32)
    for i, y in enumerate(away.tolist()):
        for j, x in enumerate(away.tolist()):
            v, u = rows + y, columns + x
            inside = (v >= 0) & (v < height) & (u >= 0) & (u < width)
            v, u = np.clip(v, 0, height - 1), np.clip(u, 0, width - 1)
            inside &= sure[v, u]
            d = index[v, u]
            here = np.full(rows.size, closeness[i, j], np.float32)
            alike = here * resemblance(picture[v, u], own, precision)
            on_near = inside & (np.abs(d - first) <= reach)
            on_far = inside & ~on_near & (np.abs(d - second) <= reach)
            for side, chosen in ((0, on_near), (3, on_far)):
                for number, value in enumerate((here, alike, alike * d)):
                    found[side + number] += np.where(chosen, value, np.float32(0.0))
    sums[:, rows, columns] = found


def resemblance(colours: Float, own: Float, precision: float) -> Float:
    """Return (1 + precision·|c − c'|²)⁻⁸ of colours ``(P, C)``, in [0, 1]."""
    off = np.zeros(len(own), np.float32)
    for one, other in zip(colours.T, own.T, strict=True):
        step = one - other
        off += step * step
    root = np.float32(1.0) / (np.float32(1.0) + off * np.float32(precision))
    fourth = (root * root) * (root * root)
    return np.asarray(fourth * fourth)


def near_end(
    frames: list[NDArray[Any]],
    scale: float,
    place: NDArray[np.float64],
    maps: Sequence[Float],
    height: float,
) -> End | None:
    """Tell which end of a stack is near.

    Parameters
    ----------
    frames, scale, place, height
        As for `outlined`.
    maps : sequence of ndarray of shape (H, W), float32
        Depth in frames, by methods that know nothing of outlines.

    Returns
    -------
    {"first", "last"} or None
        The end whose side turns out to be too large; None where that is in doubt.
    """
    ends: tuple[End, End] = ("first", "last")
    leaning, count = 0.0, 0
    for index in maps:
        for end in ends:
            found = outlined(frames, scale, place, index, end, height)
            leaning += float(np.sign(found.index - index)[found.moved].sum(dtype=np.float64))
            count += int(np.count_nonzero(found.moved))
    if abs(leaning) <= DOUBT * np.sqrt(TOGETHER * count):
        return None
    return ends[0] if leaning > 0 else ends[1]
