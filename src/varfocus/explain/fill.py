r"""Depth where little is known, continued from what is: second order, with jumps on edges.

The minimum over u and v of

.. math:: \sum_p w_p |u_p - d_p| + α_1 \sum_p e_p |(Ku)_p - v_p| + α_0 \sum_p e_p |(Ev)_p|, \quad
          E v = ½\bigl(Kv + (Kv)^T\bigr),

total generalised variation with a weight w on the data that says how much a depth is worth and a
weight e that is small at edges of the picture, where surfaces may end. Planes cost nothing, so a
slope goes on; a jump is cheap on an edge and dear in a plain area. Convex, and solved from coarse
to fine by a primal-dual method.

K takes differences to the right and downwards, so a jump costs less along one diagonal than along
the other. The depth is the mean of what is found in the image and its mirror images.

References
----------
.. [1] K. Bredies, K. Kunisch, T. Pock, "Total generalized variation", SIAM J. Imaging Sciences
   3(3), 2010.
.. [2] D. Ferstl et al., "Image guided depth upsampling using anisotropic total generalized
   variation", ICCV 2013.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from varfocus import engine
from varfocus.energy.operators import K, K_adjoint
from varfocus.engine import explain as kernels
from varfocus.minimise.primal_dual import halve
from varfocus.minimise.tgv import grown

Float = NDArray[np.float32]

ITERATIONS = (80, 120, 160, 200)
"""On the finest level, the next, …, the coarsest."""

SIGMA = 0.7
"""Scale in pixels at which edges of the picture are measured."""

EDGE = 8.0 / 3.0
"""A squared gradient of so many variances of the noise halves the price of a jump."""

BEND = 4.0
"""α₀ over α₁, in pixels."""


def edge_weight(picture: Float, noise: float) -> Float:
    r"""Return e = 1/(1 + (|∇A|² − E)₊/(8v/3)), E what noise of variance v adds to |∇A|²."""
    square = sum(
        ndimage.gaussian_filter(picture, SIGMA, order=order, mode="nearest") ** 2
        for order in ((0, 1), (1, 0))
    )
    expected = noise / (4.0 * np.pi * SIGMA**4)
    weight: Float = 1.0 / (1.0 + np.maximum(square - expected, 0.0) / (EDGE * noise))
    return weight.astype(np.float32, copy=False)


def continued(index: Float, weight: Float, edge: Float, price: float) -> Float:
    """Return the depth, continued from where it is worth something.

    Parameters
    ----------
    index : ndarray of shape (H, W), float32
        Depth in frames.
    weight : ndarray of shape (H, W), float32
        w ≥ 0.
    edge : ndarray of shape (H, W), float32
        e in (0, 1].
    price : float
        α₁ per frame.

    Returns
    -------
    ndarray of shape (H, W), float32
        u in frames.
    """

    def mirrored(turn: tuple[slice, slice]) -> Float:
        d, w, e = (np.ascontiguousarray(each[turn]) for each in (index, weight, edge))
        return _continued(d, w, e, price)[turn]

    ahead, back = slice(None), slice(None, None, -1)
    turns = [(down, across) for down in (ahead, back) for across in (ahead, back)]
    one, two, three, four = engine.side_by_side(mirrored, turns)
    # Added in pairs: mirrored, the sum has the same bits.
    mean: Float = np.float32(0.25) * ((one + two) + (three + four))
    return mean


def _continued(index: Float, weight: Float, edge: Float, price: float) -> Float:
    """Return u as K finds it."""
    levels = [(index, weight, edge)]
    while len(levels) < len(ITERATIONS) and min(levels[-1][0].shape) >= 8:
        d, w, e = levels[-1]
        mass = halved(w + np.float32(1e-9))
        levels.append((halved(d * (w + np.float32(1e-9))) / mass, mass, halved(e)))
    u, v = levels[-1][0], np.zeros((2, *levels[-1][0].shape), np.float32)
    for number in range(len(levels) - 1, -1, -1):
        d, w, e = levels[number]
        if number < len(levels) - 1:
            u, v = _doubled(u, d.shape), np.stack([0.5 * _doubled(a, d.shape) for a in v])
        # A pixel of a coarse level stands for more data than length of a jump.
        w = w * np.float32(2**number)
        u, v = minimised(d, w, e * np.float32(price), BEND, u, v, ITERATIONS[number])
    return u


def minimised(
    d: Float, w: Float, price: Float, bend: float, u: Float, v: Float, iterations: int
) -> tuple[Float, Float]:
    """Return u and v after some iterations of Chambolle and Pock's method.

    Parameters
    ----------
    d, w, price : ndarray of shape (H, W), float32
        Depth, what it is worth, and α₁e.
    bend : float
        α₀ over α₁.
    u, v : ndarray of shape (H, W) and (2, H, W), float32
        Start.
    iterations : int
        How many.
    """
    step = np.float32(1.0 / np.sqrt(12.0))
    most = np.maximum(price, np.float32(1e-12))
    if engine.accepts(d, w, most, u, v):
        return kernels.fill_depth(d, w, most, bend, float(step), u, v, iterations)
    p, q = np.zeros((2, *d.shape), np.float32), np.zeros((2, 2, *d.shape), np.float32)
    u_bar, v_bar = u, v
    for _ in range(iterations):
        p = _bounded(p + step * (K(u_bar) - v_bar), most)
        q = _bounded(
            q + step * _symmetric(np.stack([K(a) for a in v_bar])), np.float32(bend) * most
        )
        u_new = u - step * K_adjoint(p)
        away = u_new - d
        u_new = d + np.sign(away) * np.maximum(np.abs(away) - step * w, 0.0)
        v_new = v + step * (p - np.stack([K_adjoint(a) for a in q]))
        u_bar, v_bar = 2.0 * u_new - u, 2.0 * v_new - v
        u, v = u_new, v_new
    return u, v


def _symmetric(gradients: Float) -> Float:
    """Return the symmetric part of ``(2, 2, H, W)`` matrices."""
    half: Float = np.float32(0.5) * (gradients + gradients.swapaxes(0, 1))
    return half


def _bounded(values: Float, most: Float) -> Float:
    """Return vectors or matrices, over the leading axes, no longer than `most`."""
    axes = tuple(range(values.ndim - 2))
    length = np.sqrt(np.sum(values * values, axis=axes))
    bounded: Float = values / np.maximum(length / most, np.float32(1.0))
    return bounded


def halved(image: Float) -> Float:
    """Return an image at half the size: `varfocus.minimise.primal_dual.halve`."""
    small: Float = halve(np.ascontiguousarray(image)[None])[0]
    return small


def _doubled(image: Float, shape: tuple[int, ...]) -> Float:
    """Return an image at twice its size, linear between the pixels."""
    return grown(image, shape, (False, False))
