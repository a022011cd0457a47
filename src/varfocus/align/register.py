"""One frame registered to another, and how sure that is.

The images as wholes give a first guess (`varfocus.align.whole`). Cells with a defocus of their own
(`varfocus.align.cells`) improve it, and tell how far it may be off.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from varfocus.align.cells import (
    BIAS,
    EDGE,
    Cells,
    Fit,
    cell_side,
    fitted,
    measured,
    root_mean_square,
)
from varfocus.align.models import (
    Matrix,
    grid,
    moved,
    normaliser,
    overlap,
    scaling,
    step,
    unit,
    zoomed,
)
from varfocus.align.whole import SETTLED, Grey, guessed, matched, plausible, warped

LEVELS = 3
"""Levels of the pyramid, from the finest, on which cells are asked: blurred frames tell more on a
coarse one, where noise is averaged, sharp ones on a fine one."""

LARGEST_BLUR = 1.0
"""Changes of blur b₁ in px² above which a level is too fine for `varfocus.align.cells`."""

STEPS = 4
"""Most Gauss–Newton steps by cells on one level."""

FARTHEST = 1.5
"""Largest displacement in pixels that one of them may correct: linearisation goes no farther."""

DIFFERENT = 0.5
"""Maps that differ by less than this many pixels (root mean square) are the same answer."""

BLURRED = 0.3
AGREED = 2.0
"""Cells that are unsure by more pixels than this are too blurred to give a better map than the
whole images, whose map is kept if it lies within this many times as far from theirs."""

DECISIVE = 5.0
"""Standard errors by which one of two different answers must explain the cells better."""


@dataclass(frozen=True)
class Registration:
    """How one image lies on another.

    Attributes
    ----------
    matrix : ndarray of shape (3, 3)
        Maps pixels of the fixed image to pixels of the moving one.
    correlation : float
        Correlation coefficient of the two where they overlap, made alike in defocus.
    error : float
        Standard error of positions in pixels, root mean square over the frame; infinite if the
        images do not tell how they lie: they may look alike, but as much so elsewhere.
    bias : float
        What defocus alone may have caused, in pixels.
    ratio : float
        Fisher's ratio of the last step, as in `varfocus.align.cells.Fit`.
    """

    matrix: Matrix
    correlation: float
    error: float
    bias: float = 0.0
    ratio: float = 0.0


@dataclass(frozen=True)
class Pair(Registration):
    """How frame `j` lies on frame `i`."""

    i: int = 0
    j: int = 0


def register(fixed: list[Grey], moving: list[Grey], model: str) -> Registration:
    """Find the map from the pixels of one image to those of another, and how sure it is.

    The whole images give a first guess, from the coarsest level on. Cells with a defocus of their
    own (`varfocus.align.cells`) then improve it; and, by themselves, standing still. Where the two
    answers differ, motion is believed only if it leaves decisively less unexplained on the same
    pixels.

    Parameters
    ----------
    fixed, moving : list of ndarray
        From `pyramid`, of equal shapes.
    model : {"shift", "similarity", "affine", "homography"}
        What the map may be.
    """
    guess, correlation = guessed(fixed, moving, model)
    shape = (fixed[0].shape[0], fixed[0].shape[1])
    answer = _refined(fixed, moving, model, guess)
    unsure = answer.error + answer.bias
    if BLURRED < unsure < np.inf and _apart(guess, answer.matrix, shape) < AGREED * unsure:
        answer = replace(answer, matrix=guess)
    if _apart(guess, np.eye(3), shape) > DIFFERENT:
        still = _refined(fixed, moving, model, np.eye(3))
        different = _apart(answer.matrix, still.matrix, shape) > DIFFERENT
        if different and _preference(fixed[0], moving[0], answer, still) < DECISIVE:
            return replace(still, correlation=matched(fixed[0], moving[0], still.matrix))
        if not different and still.error < answer.error:
            answer = still
    return replace(answer, correlation=correlation)


def _refined(fixed: list[Grey], moving: list[Grey], model: str, matrix: Matrix) -> Registration:
    """Improve a map by what the cells say, on the level on which they are surest."""
    best = Registration(matrix, 0.0, np.inf, np.inf, 0.0)
    start = min(LEVELS, len(fixed)) - 1
    matrix = zoomed(matrix, 0.5**start)
    for level in range(start, -1, -1):
        matrix, fit = _stepped(fixed[level], moving[level], model, matrix)
        zoom = 2.0**level
        if fit is not None:
            shape = (fixed[level].shape[0], fixed[level].shape[1])
            error = zoom * float(root_mean_square(fit.covariance[0], model, shape))
            bias = zoom * BIAS * normaliser(shape)[0, 0] * float(fit.blur[0])
            near = float(fit.blur[0]) < LARGEST_BLUR or not np.isfinite(best.error)
            if near and error <= best.error and plausible(matrix):
                best = Registration(zoomed(matrix, zoom), 0.0, error, bias, float(fit.ratio[0]))
        if level:
            matrix = np.linalg.inv(scaling(zoom / 2)) @ best.matrix @ scaling(zoom / 2)
    return best


def _stepped(fixed: Grey, moving: Grey, model: str, matrix: Matrix) -> tuple[Matrix, Fit | None]:
    """Run Gauss–Newton steps by cells on one level."""
    shape = (fixed.shape[0], fixed.shape[1])
    N = normaliser(shape)
    corners = np.array([[-1.0, -1], [1, -1], [-1, 1], [1, 1]]) / np.sqrt(2.0)
    fit = None
    for _ in range(STEPS):
        box = overlap(matrix, shape)
        cells = None if box is None else _cells(fixed, moving, matrix, box)
        if cells is None:
            return matrix, None
        fit = fitted(cells, model, shape)
        if not fit.told[0]:
            return matrix, None
        delta = fit.delta[0] * N[0, 0]
        motion = float(np.abs(moved(step(model, delta), corners) - corners).max() / N[0, 0])
        change = step(model, delta * min(FARTHEST / max(motion, 1e-9), 1.0))
        matrix = unit(matrix @ np.linalg.inv(N) @ change @ N)
        if motion < SETTLED:
            break
    return matrix, fit


def _cells(fixed: Grey, moving: Grey, matrix: Matrix, box: tuple[slice, slice]) -> Cells | None:
    """Return what the cells inside a box say under a map; None if it is too small."""
    F, side = fixed[box], cell_side(fixed.shape)
    if min(F.shape) < 3 * side + 2 * EDGE:
        return None
    M = warped(moving, matrix, box)
    return measured(F[None], M[None], side, (box[1].start, box[0].start))


def _preference(fixed: Grey, moving: Grey, a: Registration, b: Registration) -> float:
    r"""Return by how many standard errors one map explains the same pixels better than another.

    The mean over cells of log(residual under b / residual under a), weighted by the gradient there,
    over its standard error.
    """
    if not np.isfinite(a.error):
        return -np.inf
    boxes = [overlap(m, fixed.shape) for m in (a.matrix, b.matrix)]
    if boxes[0] is None or boxes[1] is None:
        return -np.inf
    box = tuple(
        slice(max(p.start, q.start), min(p.stop, q.stop)) for p, q in zip(*boxes, strict=True)
    )
    pair = [_cells(fixed, moving, m, (box[0], box[1])) for m in (a.matrix, b.matrix)]
    if pair[0] is None or pair[1] is None:
        return -np.inf
    better = np.log(pair[1].residuals[0] / pair[0].residuals[0])
    weight = 1.0 / (0.05**2 + np.trace(pair[0].covariances[0], axis1=1, axis2=2))
    mean = float((weight * better).sum() / weight.sum())
    variance = float((weight**2 * (better - mean) ** 2).sum()) / float(weight.sum()) ** 2
    return mean / max(float(np.sqrt(variance)), 1e-12)


def _apart(a: Matrix, b: Matrix, shape: tuple[int, int]) -> float:
    """Return the root-mean-square distance in pixels between where two maps put a pixel."""
    points = grid(shape)
    return float(np.sqrt(((moved(a, points) - moved(b, points)) ** 2).sum(axis=1).mean()))
