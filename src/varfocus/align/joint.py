"""All frames improved at once: each registered to the sharpest view of every place.

The sharpest views, from where the maps put the frames now, become one picture; each frame is
compared with it cell by cell (`varfocus.align.links`), and one linear system makes better maps of
all that (`varfocus.align.system`). That is repeated with a new picture until nothing moves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from varfocus.align.cells import UNKNOWN, root_mean_square
from varfocus.align.links import LEAST_VARIANCE, Links, Mapper, linked
from varfocus.align.models import normaliser, step, unit
from varfocus.align.system import LENS, solved
from varfocus.align.template import Raster
from varfocus.progress import Progress, silent

Array = NDArray[np.float64]

ROUNDS = 4
SETTLED = 0.01
"""Changes in pixels at the corners that end the rounds."""

FARTHEST = 3.0
"""Largest change in pixels at the corners in one round: linearisation goes no farther."""

UNSETTLED = 0.5
"""Frames that the last round still changed by more pixels than this at the corners have found no
place: nothing is known of them."""

STILL_ROUNDS = 2
"""Times that the blur of frames that stand still is improved."""

EXACT = 0.05
"""Cells that are more exact than this, in pixels, count alike when two drawings are compared."""

FEWEST_CELLS = 6
"""Fewer cells do not tell which drawing is better."""


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
    links : Links
        What the cells said last.
    """

    maps: Array
    covariance: Array
    doubts: Array
    links: Links


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
    covariance, doubts = np.zeros((n, 0, n, 0)), np.zeros(n)
    betas: list[Array | None] = [None] * n
    length, lens = np.zeros((n, 1)), LENS
    for number in range(ROUNDS):
        links, betas = linked(greys, A, raster, betas, model, reference, mapper, lens)
        delta, lens, covariance, pretended = solved(links, n, reference, lens)
        doubts = root_mean_square(pretended[:, :, None] * pretended[:, None, :], model, shape)
        length = np.abs(delta).max(axis=1, keepdims=True)
        delta *= np.minimum(FARTHEST / np.maximum(length, 1e-9), 1.0)
        for k in range(n):
            A[k] = unit(A[k] @ back @ step(model, N[0, 0] * delta[k]) @ N)
        settled = length.max() < SETTLED
        progress("improving", ROUNDS if settled else number + 1, ROUNDS)
        if settled:
            break
    lost = length[:, 0] > UNSETTLED
    A[lost] = maps[lost]
    covariance[lost], covariance[:, :, lost] = 0.0, 0.0
    for i in range(covariance.shape[1]):
        covariance[lost, i, lost, i] = UNKNOWN**2
    return Refined(A, covariance, doubts, links)


def preferences(
    greys: Sequence[NDArray[np.floating]], found: Refined, reference: int, mapper: Mapper = map
) -> Array:
    r"""Return by how many standard errors motion explains each frame better than defocus does.

    The stack is drawn once more as if all frames had stood still, each blurred as it likes from
    place to place, and compared with how it was drawn with the maps found. Cells c that both drew:

    .. math:: t_k = \frac{\bar{l}}{\operatorname{se}(\bar{l})}, \qquad
              l_c = \log\frac{\text{unexplained, still}}{\text{unexplained, moved}},

    weighted by how exactly cells place the frame.

    Parameters
    ----------
    greys, reference, mapper
        As for `refined`.
    found : Refined
        What it returned.

    Returns
    -------
    ndarray of shape (n,)
        t; zero for frames that too few cells tell of.
    """
    n = len(greys)
    shape = (greys[0].shape[0], greys[0].shape[1])
    raster, still = Raster.over(shape), np.tile(np.eye(3), (n, 1, 1))
    betas: list[Array | None] = [None] * n
    moved, lens = found.links, LENS
    stood, betas = linked(greys, still, raster, betas, "shift", reference, mapper, lens)
    for _ in range(STILL_ROUNDS):
        _, lens, _, _ = solved(stood, n, reference, lens)
        stood, betas = linked(greys, still, raster, betas, "shift", reference, mapper, lens)
    count = len(raster.centres)
    _, first, second = np.intersect1d(
        moved.frame * count + moved.cell,
        stood.frame * count + stood.cell,
        assume_unique=True,
        return_indices=True,
    )
    better = np.log(
        (stood.variance[second] + LEAST_VARIANCE) / (moved.variance[first] + LEAST_VARIANCE)
    )
    precision = np.einsum("qii->q", moved.H[first])
    weight = 1.0 / (EXACT**2 + 2.0 / np.maximum(precision, 1e-12))
    t = np.zeros(n)
    for k in range(n):
        own = moved.frame[first] == k
        if np.count_nonzero(own) < FEWEST_CELLS:
            continue
        w, b = weight[own] / weight[own].sum(), better[own]
        mean = float((w * b).sum())
        t[k] = mean / max(float(np.sqrt((w**2 * (b - mean) ** 2).sum())), 1e-12)
    return t
