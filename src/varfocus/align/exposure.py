r"""Light made equal: one gain per frame and channel.

.. math:: \log g_k = \text{robust mean over cells of } \log \bar I_{ref} - \log \bar I_k

over cells of aligned pixels, large enough for defocus to leave their means alone. An offset is
not estimated: what looks like one is veiling glare of defocused highlights.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from varfocus.align.models import Matrix, overlap, scaling
from varfocus.align.warp import linear, warp

THUMB = 4
"""Pixels of a working image per side of a thumbnail's pixel."""

CELL = 4
"""Pixels of a thumbnail per side of a cell."""

DARKEST, BRIGHTEST = 0.02, 0.92
"""Cells outside are black or partly saturated, and say nothing."""

FEWEST_CELLS = 12
CAUCHY = 2.385
STEADY = 0.01
"""Light that changes by less is left as it is."""


SURELY = 0.25
"""Share of `STEADY` within which the medians of light that is surely steady lie."""


def grey(image: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the mean over the channels of an image of shape (h, w, C)."""
    total = image[:, :, 0].copy()
    for c in range(1, image.shape[2]):
        total += image[:, :, c]
    total *= np.float32(1.0 / image.shape[2])
    return total


def steady(thumbs: list[NDArray[np.float32]], reference: int) -> bool:
    """Tell, at little cost, whether the light of frames in place is surely steady.

    Parameters
    ----------
    thumbs : list of n ndarrays of shape (h, w, C), float32
        Thumbnails with values in [0, 1].
    reference : int
        Number of the frame that the others are compared with.
    """
    height, width = (s // CELL * CELL for s in thumbs[0].shape[:2])
    if min(height, width) == 0:
        return False
    cells = np.stack([thumb[:height, :width] for thumb in thumbs])
    cells = cells.reshape(len(cells), height // CELL, CELL, width, -1).sum(axis=2)
    cells = cells.reshape(len(cells), height // CELL, width // CELL, CELL, -1).sum(axis=3)
    cells = cells.reshape(len(cells), -1, cells.shape[3]) / np.float32(CELL * CELL)
    usable = ((cells > DARKEST) & (cells < BRIGHTEST)).all(axis=(0, 2))
    if np.count_nonzero(usable) < FEWEST_CELLS:
        return False
    ratios = np.median(cells[:, usable] / cells[reference, usable], axis=1)
    return bool(np.abs(np.log(ratios)).max() < SURELY * STEADY)


def gains(
    thumbs: list[NDArray[np.float32]], matrices: NDArray[np.float64], reference: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the factor on each channel that gives every frame the light of the reference.

    Parameters
    ----------
    thumbs : list of n ndarrays of shape (h, w, C), float32
        Thumbnails with values in [0, 1].
    matrices : ndarray of shape (n, 3, 3)
        Maps from the thumbnail of the reference to those of the frames.
    reference : int
        Number of the reference.

    Returns
    -------
    gains : ndarray of shape (n, C)
        1 where too few cells can be compared.
    errors : ndarray of shape (n, C)
        Standard errors of their logarithms, from how much cells differ.
    """
    fixed = thumbs[reference]
    found = np.ones((len(thumbs), fixed.shape[2]))
    errors = np.zeros_like(found)
    for k, (thumb, matrix) in enumerate(zip(thumbs, matrices, strict=True)):
        box = overlap(matrix, fixed.shape)
        if k == reference or box is None:
            continue
        for c in range(fixed.shape[2]):
            here = _cells(fixed[..., c][box])
            there = _cells(_warped(thumb[..., c], matrix, box))
            usable = (np.minimum(here, there) > DARKEST) & (np.maximum(here, there) < BRIGHTEST)
            if np.count_nonzero(usable) >= FEWEST_CELLS:
                ratios = np.log(here[usable] / there[usable])
                found[k, c] = np.exp(robust_mean(ratios))
                spread = 1.4826 * np.median(np.abs(ratios - np.median(ratios)))
                errors[k, c] = spread / np.sqrt(len(ratios))
    return found, errors


def to_thumb(matrix: Matrix, factor: int) -> Matrix:
    """Return a map between frames as one between their thumbnails, `factor` times smaller."""
    S = scaling(float(factor))
    return np.asarray(np.linalg.solve(S, matrix @ S), np.float64)


def robust_mean(values: NDArray[np.floating]) -> float:
    """Return the mean that ignores outliers: Cauchy weights from the median on."""
    centre = float(np.median(values))
    spread = max(1.4826 * float(np.median(np.abs(values - centre))), 1e-6)
    for _ in range(10):
        weights = 1.0 / (1.0 + ((values - centre) / (CAUCHY * spread)) ** 2)
        centre = float((weights * values).sum() / weights.sum())
    return centre


def _cells(plane: NDArray[np.float32]) -> NDArray[np.float32]:
    height, width = plane.shape[0] // CELL, plane.shape[1] // CELL
    whole = plane[: height * CELL, : width * CELL]
    means: NDArray[np.float32] = whole.reshape(height, CELL, width, CELL).mean(axis=(1, 3))
    return means


def _warped(
    plane: NDArray[np.float32], matrix: Matrix, box: tuple[slice, slice]
) -> NDArray[np.float32]:
    rows, columns = box
    origin = np.eye(3)
    origin[:2, 2] = columns.start, rows.start
    shape = (rows.stop - rows.start, columns.stop - columns.start)
    return warp(np.ascontiguousarray(plane), matrix @ origin, shape, table=linear())
