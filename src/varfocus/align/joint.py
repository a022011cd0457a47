r"""All frames improved at once: each registered to the sharpest view of every place.

In cell c, frame k and the frame s that the template was taken from there have displacements that
differ by what `varfocus.align.template.compared` sees. With B as in `varfocus.align.models`, H and
g curvature and slope of the cell, w its weight, changes A_k ← A_k Δ(δ_k) of the maps solve

.. math:: \min_δ \sum_{k,c} w_{kc} \lVert H_{kc}^{1/2} B_c (δ_k - δ_{s(c)}) + H_{kc}^{-1/2} g_{kc}
          \rVert^2, \qquad δ_{\text{ref}} = 0,

one linear system for all frames, repeated with a new template until nothing moves. Weights are
inverse variances of what is not explained, and fall for cells that contradict the others. The
covariance of δ comes from how much cells contradict each other (a sandwich, cells being what is
independent, over all frames together since they share the template).

A surface whose blur changes from place to place seems displaced by up to 2∇β even when blurred by
a perfect lens, depending on whether pixels are thought to gather or to scatter light: the lens
itself lies in between. The map that ∇β pretends is what defocus may have added.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from varfocus.align.cells import columns_at, root_mean_square
from varfocus.align.models import normaliser, step, unit
from varfocus.align.template import (
    MARGIN,
    Comparison,
    Grey,
    Raster,
    compared,
    matching_blur,
    seen,
    sharpness,
    template,
)
from varfocus.progress import Progress, silent

Array = NDArray[np.float64]
Mapper = Callable[[Callable[[int], Any], Iterable[int]], Iterable[Any]]

ROUNDS = 4
SETTLED = 0.01
"""Changes in pixels at the corners that end the rounds."""

FARTHEST = 3.0
"""Largest change in pixels at the corners in one round: linearisation goes no farther."""

PRIOR = 0.25
"""Inverse variance in 1/px² of how far maps may be off at first: frames of which nothing can be
seen stay where they are."""

LUCK = 0.3
"""Share of the usual variance that is added to that of a cell: a small one may be luck."""

LEAST_VARIANCE = 1e-8
"""Mean square, white being 1, that rounding may cause."""

LEAST_ERROR = 0.02
"""Standard error in pixels that resampling leaves."""

PRETENDED = 0.25
"""Standard error of the answer in units of what ∇β pretends, as measured on simulated stacks."""

CAUCHY = 2.385
REWEIGHTED = 8
DARK = 1e-3


@dataclass(frozen=True)
class Refined:
    """Improved maps.

    Attributes
    ----------
    maps : ndarray of shape (n, 3, 3)
        From the reference to each frame.
    covariance : ndarray of shape (n, p, n, p)
        Of their parameters times half the diagonal, in px².
    doubts : ndarray of shape (n,)
        What defocus may have added, in pixels.
    """

    maps: Array
    covariance: Array
    doubts: Array


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
    pretended : ndarray of shape (q, 2)
        ∇β in pixels.
    """

    frame: NDArray[np.intp]
    source: NDArray[np.intp]
    cell: NDArray[np.intp]
    B: Array
    H: Array
    g: Array
    pretended: Array


def refined(
    greys: Sequence[NDArray[np.floating]],
    maps: Array,
    model: str,
    reference: int,
    mapper: Mapper = map,
    progress: Progress = silent,
) -> Refined:
    """Improve the maps of all frames.

    Parameters
    ----------
    greys : sequence of n ndarrays of shape (H, W)
        Frames; white is 1.
    maps : ndarray of shape (n, 3, 3)
        From the reference to each frame, off by no more than a few pixels.
    model : str
        What changes of them may be.
    reference : int
        The frame that stays where it is.
    mapper : callable
        As `map`; may call on several threads.
    progress : callable
        Listener.
    """
    shape = (greys[0].shape[0], greys[0].shape[1])
    raster, n = Raster.over(shape), len(greys)
    N = normaliser(shape)
    back = np.linalg.inv(N)
    A = np.array(maps, np.float64)
    covariance, doubts = np.zeros(0), np.zeros(n)
    betas: list[Array | None] = [None] * n
    for number in range(ROUNDS):
        links, betas = _compared(greys, A, raster, betas, model, reference, mapper)
        delta, covariance, pretended = _solved(links, n, reference)
        doubts = root_mean_square(pretended[:, :, None] * pretended[:, None, :], model, shape)
        length = np.abs(delta).max(axis=1, keepdims=True)
        delta *= np.minimum(FARTHEST / np.maximum(length, 1e-9), 1.0)
        for k in range(n):
            A[k] = unit(A[k] @ back @ step(model, N[0, 0] * delta[k]) @ N)
        settled = length.max() < SETTLED
        progress("improving", ROUNDS if settled else number + 1, ROUNDS)
        if settled:
            break
    return Refined(A, covariance, doubts)


def _compared(
    greys: Sequence[NDArray[np.floating]],
    A: Array,
    raster: Raster,
    betas: list[Array | None],
    model: str,
    reference: int,
    mapper: Mapper,
) -> tuple[Links, list[Array | None]]:
    """Make the template and compare every frame with it."""
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
        return compared(image, picture, beta, covered[k])

    found: list[Comparison] = list(mapper(compare, frames))
    parts = []
    columns = columns_at(raster.centres, model, raster.shape)
    for k, seen_k in enumerate(found):
        near = MARGIN * np.sqrt(2.0 * seen_k.beta) + 1.0 > raster.to_border
        cells = np.flatnonzero(covered[k] & (source != k) & ~near)
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
                raster.slopes(seen_k.beta)[cells],
            )
        )
    links = Links(*(np.concatenate(column) for column in zip(*map(_values, parts), strict=True)))
    return links, [c.beta for c in found]


def _values(links: Links) -> list[NDArray[Any]]:
    return list(vars(links).values())


def _solved(links: Links, n: int, reference: int) -> tuple[Array, Array, Array]:
    """Return δ of every frame, its covariance, and what defocus may have added to it."""
    p = links.B.shape[2]
    delta: Array = np.zeros((n, p))
    inverse: Array = np.eye(n * p)
    trust = np.ones(len(links.frame))
    misfit = links.g
    for _ in range(REWEIGHTED):
        weighted = replace(links, H=links.H * trust[:, None, None], g=links.g * trust[:, None])
        inverse = np.asarray(np.linalg.inv(_normal(weighted, n, reference)), np.float64)
        delta = (inverse @ _right(weighted, -weighted.g, n, reference)).reshape(n, p)
        apart = np.einsum("qia,qa->qi", links.B, delta[links.frame] - delta[links.source])
        misfit = links.g + np.einsum("qij,qj->qi", links.H, apart)
        trust = _trust(links, misfit, n)
    score = np.zeros((int(links.cell.max(initial=0)) + 1, n, p))
    pull = np.einsum("qia,qi->qa", links.B, misfit * trust[:, None])
    np.add.at(score, (links.cell, links.frame), pull)
    np.add.at(score, (links.cell, links.source), -pull)
    flat = score.reshape(len(score), n * p)
    flat[:, reference * p : (reference + 1) * p] = 0.0
    prior = np.full(n * p, PRIOR / p)
    prior[reference * p : (reference + 1) * p] = 0.0
    covariance = inverse @ (flat.T @ flat + np.diag(prior)) @ inverse
    kept = np.arange(n) != reference
    resampled = np.diag(np.repeat(LEAST_ERROR**2 / p * kept, p))
    telling = np.einsum("qij,qj->qi", links.H * trust[:, None, None], links.pretended)
    pretended = (inverse @ _right(links, telling, n, reference)).reshape(n, p)
    doubt = PRETENDED * pretended.ravel()
    covariance += resampled + np.outer(doubt, doubt)
    return delta, covariance.reshape(n, p, n, p), pretended


def _normal(links: Links, n: int, reference: int) -> Array:
    """Return the matrix of the linear system, with ones for the reference."""
    p = links.B.shape[2]
    blocks = np.einsum("qia,qij,qjb->qab", links.B, links.H, links.B, optimize=True)
    M = np.zeros((n, n, p, p))
    for row, column, sign in (
        (links.frame, links.frame, 1.0),
        (links.source, links.source, 1.0),
        (links.frame, links.source, -1.0),
        (links.source, links.frame, -1.0),
    ):
        np.add.at(M, (row, column), sign * blocks)
    whole = M.swapaxes(1, 2).reshape(n * p, n * p) + PRIOR / p * np.eye(n * p)
    fixed = np.arange(reference * p, (reference + 1) * p)
    whole[fixed] = 0.0
    whole[:, fixed] = 0.0
    whole[fixed, fixed] = 1.0
    return np.asarray(whole, np.float64)


def _right(links: Links, pull: Array, n: int, reference: int) -> Array:
    """Return the right side of the linear system, zero for the reference."""
    each = np.einsum("qia,qi->qa", links.B, pull)
    right = np.zeros((n, each.shape[1]))
    np.add.at(right, links.frame, each)
    np.add.at(right, links.source, -each)
    right[reference] = 0.0
    return np.asarray(right.ravel(), np.float64)


def _trust(links: Links, misfit: Array, n: int) -> Array:
    """Return weights in (0, 1] that fall for cells that contradict the others of their frame."""
    trace = np.trace(links.H, axis1=1, axis2=2)[:, None, None]
    H = links.H + (1e-3 * trace + 1e-12) * np.eye(2)
    chi = np.einsum("qi,qi->q", misfit, np.linalg.solve(H, misfit[..., None])[..., 0])
    usual = np.ones(n)
    for k in np.unique(links.frame):
        usual[k] = max(float(np.median(chi[links.frame == k])) / 1.386, 1e-9)
    return np.asarray(1.0 / (1.0 + chi / (CAUCHY**2 * usual[links.frame])), np.float64)
