r"""What the frames should look like under a depth map whose surfaces hide one another.

A patch of the scene is cut into layers l, near to far. Layer l covers the pixels m_l that show it,
and continues, unseen, under the nearer side of a jump. In frame k it is blurred by a Gaussian h of
σ(k, l) pixels. With T = 1 and acc = 0 at first, each layer in turn adds

.. math:: a = h * m_l, \quad w = \min(T, a), \quad
          acc \mathrel{+}= w\,\frac{h * (m_l A_l)}{a}, \quad T \mathrel{-}= w,

and R = acc / (1 − T) is the rendering. The minimum, in place of the product of transparencies,
leaves no seam between the strips of a slanted surface. The colours A are found on the way: in the
frame where layer l is sharp, everything in front of it is known already, so

.. math:: A_l = (I - acc) / T

removes the veil of a blurred foreground from the background beside it.

References
----------
.. [1] S. W. Hasinoff, K. N. Kutulakos, "A layer-based restoration framework for variable-aperture
   photography", ICCV 2007.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from varfocus import engine
from varfocus.edges.constants import RENDER
from varfocus.engine import edges as kernels

Float = NDArray[np.float32]
Labels = NDArray[np.int32]


@dataclass(frozen=True)
class Patch:
    """A piece of the stack, cut into layers.

    Attributes
    ----------
    frames : ndarray of shape (n, C, h, w), float32
        Some of the frames, in [0, 1].
    label : ndarray of shape (h, w), int32
        The layer that each pixel shows, 0 the nearest.
    near, far : ndarray of shape (h, w), int32
        The layers on either side of the jump that a pixel is close to; equal where there is none.
    sigma : ndarray of shape (n, L), float32
        Blur of each layer in each frame, in pixels.
    """

    frames: Float
    label: Labels
    near: Labels
    far: Labels
    sigma: Float


def kernel(sigma: float) -> Float:
    """Return the taps of a sampled Gaussian that ends at 3σ; their sum is 1."""
    if sigma < RENDER.no_blur:
        return np.ones(1, np.float32)
    radius = int(np.ceil(RENDER.reach * sigma))
    taps = np.exp(-0.5 * (np.arange(-radius, radius + 1) / sigma) ** 2)
    return np.asarray(taps / taps.sum(), np.float32)


def convolved(planes: Float, taps: Float) -> Float:
    """Return planes ``(P, h, w)`` filtered along both axes, border replicated.

    The taps are symmetric: those on either side are added in pairs, and mirrored planes give
    mirrored results, to the last bit.
    """
    if engine.accepts(planes, taps):
        return kernels.convolved(planes, taps)
    if taps.size == 1:
        return planes * np.float32(taps[0] * taps[0])
    down = ndimage.correlate1d(planes, taps, axis=1, mode="nearest")
    across: Float = ndimage.correlate1d(down, taps, axis=2, mode="nearest")
    return across


@dataclass
class Rendering:
    """What `render` computes for a patch.

    Attributes
    ----------
    frames : ndarray of shape (n, C, h, w), float32
        R.
    colour : ndarray of shape (L, C, h, w), float32
        What each pixel looks like if it shows layer l; zero for layers that are not there.
    sheets : dict
        h * (m_l A_l) and h * m_l, shape ``(C + 1, h, w)``, for frame k and layer l.
    """

    frames: Float
    colour: Float
    sheets: dict[tuple[int, int], Float]


def layers_of(patch: Patch) -> list[int]:
    """Return the layers that a patch shows or may show, near to far."""
    return sorted(set(np.unique(np.stack([patch.label, patch.near, patch.far])).tolist()))


def render(patch: Patch) -> Rendering:
    """Render all frames of a patch, and un-mix its colours.

    Parameters
    ----------
    patch : Patch
        Frames and layers.

    Returns
    -------
    Rendering
        R, A, and the blurred layers.
    """
    n, channels, height, width = patch.frames.shape
    acc = np.zeros_like(patch.frames)
    through = np.ones((n, height, width), np.float32)
    colour = np.zeros((patch.sigma.shape[1], channels, height, width), np.float32)
    sheets = {}
    for layer in layers_of(patch):
        k = int(patch.sigma[:, layer].argmin())
        colour[layer] = unmixed(patch.frames[k], acc[k], through[k])
        sheet = continued(
            colour[layer],
            patch.label == layer,
            (patch.far == layer) & (patch.label == patch.near) & (patch.near < patch.far),
        )
        for k in range(n):
            blurred = convolved(sheet, kernel(float(patch.sigma[k, layer])))
            sheets[k, layer] = blurred
            cover(acc[k], through[k], blurred)
    return Rendering(normalised(acc, through, patch.frames), colour, sheets)


def unmixed(frame: Float, acc: Float, through: Float) -> Float:
    """Return the colours ``(C, h, w)`` behind a veil; the frame's own where it is too dense."""
    clear = through >= RENDER.opaque
    behind = (frame - acc) / np.where(clear, through, np.float32(1.0))
    colour: Float = np.where(clear, np.clip(behind, 0.0, 1.0), frame)
    return colour


def continued(colour: Float, visible: NDArray[np.bool_], hidden: NDArray[np.bool_]) -> Float:
    """Return a layer's premultiplied colours and mask ``(C + 1, h, w)``, continued where hidden."""
    mask = visible.astype(np.float32)
    sheet = np.concatenate([colour * mask, mask[None]])
    if hidden.any():
        around = convolved(sheet, kernel(RENDER.continued))
        wide = convolved(sheet, kernel(2.0 * RENDER.continued))
        around = around + np.float32(RENDER.wider) * wide
        weight = around[-1]
        known = hidden & (weight > np.float32(RENDER.faint))
        guess = around / np.where(known, weight, np.float32(1.0))
        sheet = np.where(known, guess, sheet)
    return sheet


def cover(acc: Float, through: Float, sheet: Float) -> None:
    """Lay a blurred layer ``(C + 1, h, w)`` behind what is there already, in place."""
    alpha = sheet[-1]
    weight = np.minimum(through, alpha)
    acc += sheet[:-1] * (weight / np.maximum(alpha, np.float32(RENDER.faint)))
    through -= weight


def normalised(acc: Float, through: Float, otherwise: Float) -> Float:
    """Return acc / (1 − T), or another picture where nothing was laid down."""
    covered = 1.0 - through[..., None, :, :]
    least = np.float32(RENDER.covered)
    picture: Float = np.where(covered > least, acc / np.maximum(covered, least), otherwise)
    return picture
