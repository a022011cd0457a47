r"""Which side of a jump a pixel belongs to, by how well either explains the frames.

Let p show the far side. If it showed layer l of the near side instead, frame k would change by

.. math:: δ_k(q) = T_k(q)\, h_{kl}(q - p)\, (F(p) - B_k(q)),

T what layers nearer than l let through, F(p) the colour of p in the frame where l is sharp, B the
light from behind l. With r = I − R the residual, the squared error changes by

.. math:: ΔE(p) = \sum_k \sum_q ψ \bigl( |δ_k|^2 - 2 δ_k · r_k \bigr),
          \qquad ψ = (1 + |r|^2/τ^2)^{-2},

which a few convolutions give for all pixels at once; if p shows the near side already, the sign of
the second term turns. Only frames in which layer l is blurred by at most `EdgeConstants.sharp`
pixels are used: in the others one pixel makes no difference.
"""

from __future__ import annotations

from dataclasses import asdict

import numpy as np

from varfocus import engine
from varfocus.edges.constants import FITTED, RENDER
from varfocus.edges.render import (
    Float,
    Patch,
    Rendering,
    convolved,
    cover,
    kernel,
    layers_of,
    normalised,
    render,
)
from varfocus.engine import edges as kernels


def judge(patch: Patch, tau2: float, sharp: float = FITTED.sharp) -> tuple[Float, Float, Float]:
    """Return the evidence for the near side at each pixel.

    Parameters
    ----------
    patch : Patch
        Frames and layers, with the two sides of every jump.
    tau2 : float
        τ²: squared residuals beyond it count less and less.
    sharp : float
        Frames are used to test a layer if they blur it by at most this σ in pixels.

    Returns
    -------
    change : ndarray of shape (h, w), float32
        E(near) − E(far); zero where there is no jump.
    error : ndarray of shape (h, w), float32
        Σ_k |r|²/(1 + |r|²/τ²) of the patch as it is.
    colour : ndarray of shape (C, h, w), float32
        The un-mixed colours of what each pixel shows.
    """
    if engine.accepts(patch.frames):
        return kernels.judge(
            patch.frames,
            patch.label,
            patch.near,
            patch.far,
            patch.sigma,
            asdict(RENDER),
            tau2,
            sharp,
        )
    rendering = render(patch)
    residual = patch.frames - rendering.frames
    square = np.sum(residual * residual, axis=1)
    trust = 1.0 / (1.0 + square / np.float32(tau2))
    change = np.zeros(patch.label.shape, np.float32)
    question = patch.near < patch.far
    for layer in np.unique(patch.near[question]).tolist():
        here = question & (patch.near == layer)
        sign = np.where(patch.label == layer, np.float32(1.0), np.float32(-1.0))
        for k in np.flatnonzero(patch.sigma[:, layer] <= sharp).tolist():
            first, second = _moments(patch, rendering, residual[k], trust[k] ** 2, k, layer)
            change -= np.where(here, 2.0 * first + sign * second, np.float32(0.0))
    colour = np.take_along_axis(rendering.colour, patch.label[None, None], axis=0)[0]
    return change, np.sum(square * trust, axis=0), colour


def _moments(
    patch: Patch, rendering: Rendering, r: Float, trust: Float, k: int, layer: int
) -> tuple[Float, Float]:
    """Return Σ_q ψ δ·r and Σ_q ψ|δ|² of every pixel p, in frame k."""
    through, behind = _around(patch, rendering, k, layer)
    taps = kernel(float(patch.sigma[k, layer]))
    F = rendering.colour[layer]
    weight = trust * through
    linear = convolved(np.concatenate([weight * r, np.sum(weight * behind * r, 0)[None]]), taps)
    first = np.sum(F * linear[:-1], axis=0) - linear[-1]
    weight = weight * through
    light = np.sum(behind * behind, axis=0)
    square = convolved(
        np.concatenate([weight * behind, weight[None], (weight * light)[None]]), taps * taps
    )
    second = np.sum(F * F, axis=0) * square[-2] - 2.0 * np.sum(F * square[:-2], axis=0) + square[-1]
    return first, second


def _around(patch: Patch, rendering: Rendering, k: int, layer: int) -> tuple[Float, Float]:
    """Return what layers in front of one let through in frame k, and the light from behind it."""
    shape = patch.frames.shape[1:]
    acc, front = np.zeros(shape, np.float32), np.ones(shape[1:], np.float32)
    back, rest = np.zeros(shape, np.float32), np.ones(shape[1:], np.float32)
    for other in layers_of(patch):
        if other < layer:
            cover(acc, front, rendering.sheets[k, other])
        elif other > layer:
            cover(back, rest, rendering.sheets[k, other])
    return front, normalised(back, rest, rendering.frames[k])


def plain_error(patch: Patch, tau2: float) -> Float:
    """Return the error of a patch in which nothing hides anything.

    Every pixel of frame k is an average of the sharp picture over the blur of that pixel's layer:
    what software that blurs pixel by pixel produces, and how continuous surfaces look.

    Parameters
    ----------
    patch : Patch
        Frames and layers.
    tau2 : float
        τ² as in `judge`.

    Returns
    -------
    ndarray of shape (h, w), float32
        Σ_k |r|²/(1 + |r|²/τ²).
    """
    if engine.accepts(patch.frames):
        return kernels.plain_error(patch.frames, patch.label, patch.sigma, asdict(RENDER), tau2)
    own = patch.sigma.argmin(axis=0)[patch.label]
    sharp = np.take_along_axis(patch.frames, own[None, None], axis=0)[0]
    error = np.zeros(patch.label.shape, np.float32)
    for k, frame in enumerate(patch.frames):
        rendered = np.zeros_like(sharp)
        for layer in np.unique(patch.label).tolist():
            blurred = convolved(sharp, kernel(float(patch.sigma[k, layer])))
            rendered = np.where(patch.label == layer, blurred, rendered)
        square = np.sum((frame - rendered) ** 2, axis=0)
        error += square / (1.0 + square / np.float32(tau2))
    return error
