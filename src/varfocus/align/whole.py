r"""Two images registered as wholes: coarse-to-fine Gauss–Newton on grey images.

With F the fixed image, M the moving one, W the map and a, b gain and bias of the light,

.. math:: \min_{W, a, b} \sum_p ρ\bigl(F(p) - a\,M(W p) - b\bigr),
          \qquad ρ(r) = \log(1 + (r/c)^2),

W ← W Δ(δ) as in `varfocus.align.models`. The linearisation takes the gradient of the mean of F and
the warped M (efficient second-order minimisation: what one of the two images has sharper than the
other does not pull the answer to its side), Cauchy's ρ ignores what only one image shows, and a, b
keep flicker from being explained by motion. The sharper image is blurred until the two agree best:
a difference in defocus would be explained by scale, a little in every pair, much over a stack.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from varfocus.align.models import Matrix, basis, moved, normaliser, overlap, step, unit, zoomed
from varfocus.align.warp import linear, warp

Grey = NDArray[np.float32]

COARSEST = 40
"""Shortest side in pixels of the coarsest level: between this and twice this."""

SMOOTHING = 1.0
"""σ in pixels of the Gaussian on every level: sub-pixel positions need band-limited images."""

ITERATIONS = 30
"""Most Gauss–Newton steps on one level."""

SETTLED = 0.01
"""A step that moves no corner by more pixels than this ends a level."""

CAUCHY = 2.385
"""c in units of the residual's standard deviation: 95 % efficient for Gaussian noise."""

BLURS = (0.0, 0.5, 0.7, 1.0, 1.4, 2.0, 2.8, 4.0, 5.6, 8.0)
"""σ in pixels that are tried on one of two images, from small to large, to make them alike."""


def pyramid(image: Grey) -> list[Grey]:
    """Return smoothed levels of an image, the finest first, each half as large as the one before.

    Parameters
    ----------
    image : ndarray of shape (H, W), float32
        Grey frame.
    """
    levels = [image]
    while min(levels[-1].shape) >= 2 * COARSEST:
        fine = levels[-1]
        h, w = fine.shape[0] // 2 * 2, fine.shape[1] // 2 * 2
        quarters = fine[0:h:2, 0:w:2] + fine[0:h:2, 1:w:2] + fine[1:h:2, 0:w:2] + fine[1:h:2, 1:w:2]
        levels.append(0.25 * quarters)
    return [ndimage.gaussian_filter(level, SMOOTHING, truncate=3.0) for level in levels]


def guessed(fixed: list[Grey], moving: list[Grey], model: str) -> tuple[Matrix, float]:
    """Return a map from the images as wholes, and their correlation under it.

    Parameters
    ----------
    fixed, moving : list of ndarray
        From `pyramid`, of equal shapes.
    model : {"shift", "similarity", "affine", "homography"}
        What the map may be.
    """
    starts = [np.eye(3), _best_shift(fixed[-1], moving[-1])]
    found = [_descend(fixed[-1], moving[-1], "shift", start) for start in starts]
    matrix = max(found, key=lambda f: f[1])[0]
    correlation, blur = 0.0, 0.0
    for level in range(len(fixed) - 1, -1, -1):
        F, M = _blurred(fixed[level], moving[level], blur)
        matrix, correlation = _descend(F, M, model, matrix)
        if level:
            blur = 2.0 * _matching_blur(fixed[level], moving[level], matrix)
            matrix = zoomed(matrix, 2.0)
    if not plausible(matrix):
        return np.eye(3), 0.0
    return unit(matrix), correlation


def plausible(matrix: Matrix) -> bool:
    """Tell whether a map keeps sizes to within a factor of two: no lens breathes more."""
    size = float(np.linalg.det(matrix[:2, :2]))
    return bool(np.isfinite(matrix).all()) and 0.25 < size < 4.0


def matched(fixed: Grey, moving: Grey, matrix: Matrix) -> float:
    """Return the correlation of two images under a map, made alike in defocus."""
    box = overlap(matrix, fixed.shape)
    if box is None:
        return 0.0
    F, M = _blurred(fixed, moving, _matching_blur(fixed, moving, matrix))
    return _correlation(F[box], warped(M, matrix, box))


def _blurred(fixed: Grey, moving: Grey, blur: float) -> tuple[Grey, Grey]:
    """Return both images, the fixed one blurred by `blur` pixels, or the moving one by −`blur`."""
    if blur > 0.0:
        fixed = ndimage.gaussian_filter(fixed, blur, truncate=3.0)
    elif blur < 0.0:
        moving = ndimage.gaussian_filter(moving, -blur, truncate=3.0)
    return fixed, moving


def _matching_blur(fixed: Grey, moving: Grey, matrix: Matrix) -> float:
    """Return the blur, as `_blurred` takes it, under which two aligned images agree best."""
    box = overlap(matrix, fixed.shape)
    if box is None:
        return 0.0

    def agreement(blur: float) -> float:
        F, M = _blurred(fixed, moving, blur)
        return _correlation(F[box], warped(M, matrix, box))

    sharper = _sharpness(fixed[box]) - _sharpness(warped(moving, matrix, box))
    tried: dict[float, float] = {}
    for blur in BLURS:
        tried[float(np.copysign(blur, sharper))] = agreement(np.copysign(blur, sharper))
        values = list(tried.values())
        if len(values) > 2 and max(values[-2:]) < max(values):
            break
    return max(tried, key=tried.__getitem__)


def _sharpness(image: Grey) -> float:
    """Return the mean square gradient relative to the variance: gain does not matter."""
    power = float((np.diff(image, axis=0) ** 2).mean() + (np.diff(image, axis=1) ** 2).mean())
    return power / max(float(image.var()), 1e-12)


def _best_shift(fixed: Grey, moving: Grey) -> Matrix:
    """Return the shift of the highest peak of the cross-correlation, up to a third of the sides."""
    from scipy import fft

    shape = [fft.next_fast_len(2 * side, real=True) for side in fixed.shape]
    spectra = [fft.rfft2(image - image.mean(), shape) for image in (fixed, moving)]
    peak = fft.irfft2(spectra[1] * np.conj(spectra[0]), shape)
    reach = [side // 3 for side in fixed.shape]
    rows, columns = (np.r_[-r : r + 1] for r in reach)
    near = peak[np.ix_(rows, columns)]
    row, column = np.unravel_index(int(np.argmax(near)), near.shape)
    shift = np.eye(3)
    shift[:2, 2] = columns[column], rows[row]
    return shift


def _descend(fixed: Grey, moving: Grey, model: str, matrix: Matrix) -> tuple[Matrix, float]:
    """Run Gauss–Newton steps on one level."""
    N = normaliser((fixed.shape[0], fixed.shape[1]))
    radius = 1.0 / N[0, 0]
    corners = np.array([[-1.0, -1], [1, -1], [-1, 1], [1, 1]]) / np.sqrt(2.0)
    gain, bias = 1.0, 0.0
    best: tuple[Matrix, float] = (matrix, -1.0)
    for _ in range(ITERATIONS):
        box = overlap(matrix, fixed.shape)
        if box is None:
            break
        F, u, v = _part(fixed, N, box)
        Mw = warped(moving, matrix, box)
        if gain == 1.0 and bias == 0.0:
            gain, bias = _light(F, Mw)
        correlation = _correlation(F, Mw)
        delta, light = _solve(F, Mw, gain, bias, u, v, model)
        if correlation > best[1]:
            best = (matrix, correlation)
        if delta is None:
            break
        gain, bias = gain + light[0], bias + light[1]
        change = step(model, delta / radius)  # the gradient is per pixel
        matrix = unit(matrix @ np.linalg.inv(N) @ change @ N)
        if not np.isfinite(matrix).all():
            break
        motion = np.abs(moved(change, corners) - corners).max() * radius
        if motion < SETTLED:
            return matrix, max(correlation, best[1])
    return best


def _part(
    fixed: Grey, N: Matrix, box: tuple[slice, slice]
) -> tuple[Grey, NDArray[np.float32], NDArray[np.float32]]:
    rows, columns = box
    u = (N[0, 0] * np.arange(columns.start, columns.stop) + N[0, 2]).astype(np.float32)
    v = (N[1, 1] * np.arange(rows.start, rows.stop) + N[1, 2]).astype(np.float32)
    return fixed[box], u[None, :], v[:, None]


def warped(moving: Grey, matrix: Matrix, box: tuple[slice, slice]) -> Grey:
    """Return the part of an image that a map puts on a box of the fixed one, same shape as it."""
    rows, columns = box
    origin = np.eye(3)
    origin[:2, 2] = columns.start, rows.start
    shape = (rows.stop - rows.start, columns.stop - columns.start)
    return warp(moving, matrix @ origin, shape, table=linear())


def _light(F: Grey, Mw: Grey) -> tuple[float, float]:
    """Return gain and bias that give the warped image mean and deviation of the fixed one."""
    deviation = float(Mw.std())
    gain = float(F.std()) / deviation if deviation > 1e-6 else 1.0
    gain = min(max(gain, 0.25), 4.0)
    return gain, float(F.mean()) - gain * float(Mw.mean())


def _correlation(F: Grey, Mw: Grey) -> float:
    f, m = F - F.mean(), Mw - Mw.mean()
    power = float((f * f).sum()) * float((m * m).sum())
    return float((f * m).sum()) / float(np.sqrt(power)) if power > 1e-12 else 0.0


def _solve(
    F: Grey, Mw: Grey, gain: float, bias: float, u: Grey, v: Grey, model: str
) -> tuple[NDArray[np.float64] | None, tuple[float, float]]:
    """Return one Gauss–Newton step: motion, and change of gain and bias."""
    inner = (slice(1, -1), slice(1, -1))
    mean = 0.5 * (F + np.float32(gain) * Mw)
    g_x = 0.5 * (mean[1:-1, 2:] - mean[1:-1, :-2])
    g_y = 0.5 * (mean[2:, 1:-1] - mean[:-2, 1:-1])
    u, v = u[:, 1:-1], v[1:-1]
    m = Mw[inner]
    r = F[inner] - np.float32(gain) * m - np.float32(bias)
    spread = 1.4826 * float(np.median(np.abs(r.ravel()[:: max(r.size // 20000, 1)])))
    root = 1.0 / np.sqrt(1.0 + (r * np.float32(1.0 / max(CAUCHY * spread, 1e-6))) ** 2)
    columns = [g_x * b_x + g_y * b_y for b_x, b_y in basis(model, u, v)]
    rows = np.stack([*columns, m, np.ones_like(m), r]).reshape(len(columns) + 3, -1)
    rows *= root.reshape(1, -1)
    products = (rows @ rows.T).astype(np.float64)
    A, right = products[:-1, :-1], products[:-1, -1]
    diagonal = np.sqrt(np.diag(A))
    if not np.isfinite(products).all() or (diagonal <= 1e-9).any():
        return None, (0.0, 0.0)
    A = A / np.outer(diagonal, diagonal) + 1e-6 * np.eye(len(A))
    solution = np.linalg.solve(A, right / diagonal) / diagonal
    count = len(columns)
    return solution[:count], (float(solution[-2]), float(solution[-1]))
