r"""What every cell of every frame says about how frames lie to each other.

The sharpest view of every place, from the frames where the maps put them now, is one picture
(`varfocus.align.template`). Each frame is compared with it. A cell links two frames: the one
compared, and the one that the picture was taken from there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from varfocus.align.cells import columns_at
from varfocus.align.template import (
    Comparison,
    Grey,
    Raster,
    compared,
    matching_blur,
    seen,
    sharpness,
    template,
)

Array = NDArray[np.float64]
Mapper = Callable[[Callable[[int], Any], Iterable[int]], Iterable[Any]]

LUCK = 0.3
"""Share of the usual variance that is added to that of a cell: a small one may be luck."""

LEAST_VARIANCE = 1e-8
"""Mean square, white being 1, that rounding may cause."""

DARK = 1e-3
"""Mean of a cell, white being 1, below which its light is not compared."""


@dataclass(frozen=True)
class Links:
    """What all cells of all frames say: q of them, each about two frames.

    Attributes
    ----------
    frame, source, cell : ndarray of shape (q,), int
        Frame, frame of the template, and cell.
    B : ndarray of shape (q, 2, p)
        Motion of the cell per parameter.
    H : ndarray of shape (q, 2, 2)
        Curvature, times the weight.
    g : ndarray of shape (q, 2)
        Slope, times the weight.
    variance : ndarray of shape (q,)
        Mean square of what is not explained.
    sigma : ndarray of shape (q,)
        Blur relative to the template in pixels.
    tilt : ndarray of shape (q, 2)
        d, the slope that uneven blur causes per λ, times the weight.
    """

    frame: NDArray[np.intp]
    source: NDArray[np.intp]
    cell: NDArray[np.intp]
    B: Array
    H: Array
    g: Array
    variance: Array
    sigma: Array
    tilt: Array

    @property
    def group(self) -> NDArray[np.intp]:
        """Number of the cell and the side of its focus, shape ``(q,)``."""
        return np.asarray(2 * self.cell + (self.frame > self.source), np.intp)


def linked(
    greys: Sequence[NDArray[np.floating]],
    A: Array,
    raster: Raster,
    betas: list[Array | None],
    model: str,
    reference: int,
    mapper: Mapper,
    lens: float,
) -> tuple[Links, list[Array | None]]:
    """Make the template and compare every frame with it.

    Parameters
    ----------
    greys : sequence of n ndarrays of shape (H, W)
        Frames; white is 1.
    A : ndarray of shape (n, 3, 3)
        Maps from the reference to each frame.
    raster : Raster
        Cells.
    betas : list of (ndarray of shape (m,) or None)
        Blur of each frame relative to the template in px²; None if it is to be looked for.
    model : str
        What changes of the maps may be.
    reference : int
        The frame whose light the others are given.
    mapper : callable
        As `map`; may call on several threads.
    lens : float
        λ of `varfocus.align.template`.

    Returns
    -------
    links : Links
        What the cells say.
    betas : list of ndarray of shape (m,)
        Blur, improved by what was seen.
    """
    frames = range(len(greys))
    covered = np.stack([raster.covered(A[k]) for k in frames])
    covered[reference] = True
    home = raster.means(seen(greys[reference], A[reference], raster.shape))

    def lit(k: int) -> Grey:
        """Return a frame on the reference, with its light."""
        image = seen(greys[k], A[k], raster.shape)
        ratios = np.maximum(home, DARK) / np.maximum(raster.means(image), DARK)
        return image * np.float32(np.median(ratios[covered[k]]) if covered[k].any() else 1.0)

    sharp = np.stack(list(mapper(lambda k: sharpness(lit(k), raster, covered[k]), frames)))
    source = sharp.argmax(axis=0)
    used = np.unique(source)
    picture = template(dict(zip(used, mapper(lit, used), strict=True)), source, raster)

    def compare(k: int) -> Comparison:
        image, beta = lit(k), betas[k]
        if beta is None:
            beta = matching_blur(image, picture, covered[k])
        return compared(image, picture, beta, covered[k], lens)

    found: list[Comparison] = list(mapper(compare, frames))
    parts = []
    columns = columns_at(raster.centres, model, raster.shape)
    for k, seen_k in enumerate(found):
        cells = np.flatnonzero(covered[k] & (source != k) & raster.matched(seen_k.beta))
        usual = np.median(seen_k.variance[cells]) if len(cells) else 1.0
        weight = 1.0 / (seen_k.variance[cells] + LUCK * usual + LEAST_VARIANCE)
        parts.append(
            Links(
                np.full(len(cells), k),
                source[cells],
                cells,
                columns[cells],
                weight[:, None, None] * seen_k.curvature[cells],
                weight[:, None] * seen_k.slope[cells],
                seen_k.variance[cells],
                np.sqrt(2.0 * seen_k.beta[cells]),
                weight[:, None] * seen_k.tilt[cells],
            )
        )
    links = Links(*(np.concatenate(column) for column in zip(*map(_values, parts), strict=True)))
    return links, [c.beta for c in found]


def _values(links: Links) -> list[NDArray[Any]]:
    return list(vars(links).values())
