"""The paper's method in plain NumPy and SciPy, as a competent user would write it.

Vectorised, float32, cosine transforms by SciPy, no further tricks: what the engine is measured
against. Settings are varfocus' defaults for ``method="paper", solver="admm"``.
"""

from __future__ import annotations

import numpy as np
import scipy.fft
from numpy.polynomial import chebyshev
from scipy.ndimage import uniform_filter

DEGREE, TAU, GROWTH, ITERATIONS = 8, 8.0, 1.02, 400


def contrast(image):
    """Return the modified Laplacian of one frame, summed over the channels."""
    padded = np.pad(image, [(1, 1), (1, 1), (0, 0)], mode="edge")
    middle = padded[1:-1, 1:-1]
    across = padded[1:-1, :-2] - 2 * middle + padded[1:-1, 2:]
    down = padded[:-2, 1:-1] - 2 * middle + padded[2:, 1:-1]
    return (np.abs(across) + np.abs(down)).sum(axis=2)


def front_end(stack):
    """Return Chebyshev coefficients of the normalised contrast and the first guess of d."""
    n = len(stack)
    full = np.iinfo(stack.dtype).max
    frames = stack if stack.ndim == 4 else stack[..., None]
    volume = np.stack([contrast(frame.astype(np.float32) / full) for frame in frames])
    peak = volume.max(axis=0)
    degree = min(DEGREE, (n + 1) // 2)
    fit = np.linalg.pinv(chebyshev.chebvander(np.linspace(-1, 1, n), degree)).astype(np.float32)
    a = np.tensordot(fit, volume / (peak + np.median(peak[peak > 0])), axes=1)
    windowed = np.stack([uniform_filter(c, 15, mode="nearest") for c in volume])
    index = uniform_filter(windowed.argmax(axis=0).astype(np.float32), 21, mode="nearest")
    return a, (index / (n - 1) - 0.5) * 20


def evaluate(a, d):
    """Return Σ a_m T_m(d / 10) by Clenshaw's recurrence."""
    t = d / 10
    b1 = b2 = np.zeros_like(t)
    for a_m in a[:0:-1]:
        b1, b2 = a_m + 2 * t * b1 - b2, b1
    return a[0] + t * b1 - b2


def gradient(d):
    """Return forward differences, zero across the border."""
    g = np.zeros((2, *d.shape), d.dtype)
    g[0, :, :-1] = np.diff(d, axis=1)
    g[1, :-1] = np.diff(d, axis=0)
    return g


def negative_divergence(g):
    """Adjoint of `gradient`."""
    d = np.zeros_like(g[0])
    d[:, :-1] -= g[0, :, :-1]
    d[:, 1:] += g[0, :, :-1]
    d[:-1] -= g[1, :-1]
    d[1:] += g[1, :-1]
    return d


def energy(a, d, alpha):
    """Return E(d) = −Σ c(d) + α Σ |∇d|."""
    length = np.sqrt((gradient(d) ** 2).sum(axis=0))
    return float(-evaluate(a, d).sum(dtype=np.float64) + alpha * length.sum(dtype=np.float64))


def linearised_admm(a, d, alpha):
    """Run the paper's iteration 400 times."""
    height, width = d.shape
    rows = 4 * np.sin(np.pi * np.arange(height) / (2 * height)) ** 2
    columns = 4 * np.sin(np.pi * np.arange(width) / (2 * width)) ** 2
    eigenvalues = (rows[:, None] + columns[None, :]).astype(np.float32)
    slope = (chebyshev.chebder(a) / 10).astype(np.float32)
    g = np.zeros((2, height, width), np.float32)
    b, lam = np.zeros_like(g), 1.0
    for _ in range(ITERATIONS):
        r = d + lam * negative_divergence(g - b) + TAU * evaluate(slope, d)
        spectrum = scipy.fft.dctn(r, norm="ortho") / (1 + lam * eigenvalues)
        d = np.clip(scipy.fft.idctn(spectrum, norm="ortho"), -10, 10)
        z = gradient(d) + b
        length = np.maximum(np.sqrt((z**2).sum(axis=0)), np.float32(1e-12))
        g = z * (np.maximum(length - alpha * TAU / lam, 0) / length)
        b = (z - g) / GROWTH
        lam *= GROWTH
    return d


def run(stack, alpha):
    """Return coefficients and depth on [−10, 10] of a stack ``(n, H, W)`` or ``(n, H, W, C)``."""
    a, start = front_end(stack)
    return a, linearised_admm(a, start, alpha)
