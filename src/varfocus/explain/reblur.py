r"""Whether a depth explains all frames: the sharp picture, blurred again, compared with each.

Contrast peaks where a pixel is sharp, but also where the rim of the blur of something brighter
passes it: a ghost, coherent along an edge and as clean as any peak. A depth l predicts more than a
peak. With the sharp picture A, frame k should show h_{r(k,l)} * A, and

.. math:: G(p, l) = g * \sum_k \log\Bigl(1 + \frac{(I_k(p) - (h_{r(k,l)} * A)(p))^2}{3v}\Bigr)

is low only where one depth explains all frames (Student's t with 3 degrees of freedom, in units
of half its exponent; g a Gaussian of 0.7 px). G does not know that surfaces hide one another, and
A is wrong where the depth was: it is renewed, and contrast still says where exactly.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from varfocus import engine
from varfocus.curve.coordinate import Coordinate, label_frames
from varfocus.curve.likelihood import grid
from varfocus.edges.render import convolved, kernel
from varfocus.engine import explain as kernels
from varfocus.explain.lens import RADII, SAMPLES, Lens, blurred, compared, unit_coordinate

Float = NDArray[np.float32]
Mask = NDArray[np.bool_]

SHARP = 0.75
"""Frames whose blur is below so many pixels are averaged into the sharp picture."""

SMOOTH = 0.7
"""σ in pixels over which G is averaged."""

SHARE = 0.5
"""Weight of G beside the contrast in the joined cost."""

LEAST_NOISE = 2e-6
"""Smallest variance of the differences: half a grey level of 8 bits."""

MEDIAN_SQUARE = 0.455
"""Median of the square of a standard normal number."""

ENOUGH = 200
"""Differences at a radius, at least, for their median to count."""


def sharp_picture(frames: Float, index: Float, axis: Coordinate, lens: Lens) -> Float:
    r"""Return A ``(H, W)``: the mean of the frames that are sharp at a depth.

    .. math:: A = \frac{\sum_k w_k I_k}{\sum_k w_k}, \quad w_k = \max\Bigl(1 -
              \frac{|u_k - u_d|}{s}, 10^{-6}\Bigr), \quad s = \max(0.75/c, Δu):

    linear between two frames where these are far apart, a mean of several where they are close,
    which has less noise and predicts no frame by itself alone.
    """
    n = len(frames)
    u = unit_coordinate(axis, np.arange(float(n)))
    at = unit_coordinate(axis, index).astype(np.float32)
    step = np.interp(index, np.arange(n), np.gradient(u)).astype(np.float32)
    reach = np.maximum(np.float32(SHARP / lens.radius), step)
    light, weights = np.zeros((2, *index.shape), np.float32)
    for frame, place in zip(frames, u.astype(np.float32), strict=True):
        weight = np.maximum(1.0 - np.abs(place - at) / reach, np.float32(1e-6))
        light += weight * frame
        weights += weight
    picture: Float = light / weights
    return picture


def pictures(picture: Float, lens: Lens) -> tuple[NDArray[np.float64], Float]:
    """Return radii up to that of the lens, and the picture ``(H, W)`` blurred by each."""
    count = int(np.searchsorted(RADII, lens.radius)) + 1
    radii = RADII[: max(count, 2)]
    finer = np.empty((2 * len(radii) - 1, *picture.shape), np.float32)
    planes = blurred(picture, lens.rim, radii, out=finer[::2])
    # Halfway between two of them, their mean.
    for between, one, other in zip(finer[1::2], planes, planes[1:], strict=False):
        np.add(other, one, out=between)
        between *= np.float32(0.5)
    return np.interp(0.5 * np.arange(len(finer)), np.arange(len(radii)), radii), finer


def noise_of(
    frames: Float,
    bank: tuple[NDArray[np.float64], Float],
    index: Float,
    reliable: Mask,
    axis: Coordinate,
    lens: Lens,
) -> float:
    """Return v: the variance of what noise and model leave, the median over the radii.

    Parameters
    ----------
    frames : ndarray of shape (n, H, W), float32
        Brightness.
    bank : tuple
        From `pictures`.
    index : ndarray of shape (H, W), float32
        Depth in frames.
    reliable : ndarray of shape (H, W), bool
        Pixels whose depth can be believed.
    axis, lens
        Focus coordinate and blur.
    """
    rows, columns = grid(index.shape, SAMPLES)
    chosen = np.zeros(index.shape, bool)
    chosen[rows, columns] = reliable[rows, columns]
    radii, planes = bank
    square, nearest = _squares(
        frames[:, chosen], (radii, planes[:, chosen]), index[chosen], axis, lens
    )
    found = np.full(radii.size, np.nan)
    for i in range(radii.size):
        here = square[nearest == i]
        if here.size > ENOUGH:
            found[i] = np.median(here)
    if np.isnan(found).all():
        return LEAST_NOISE
    return max(float(np.nanmedian(found)) / MEDIAN_SQUARE, LEAST_NOISE)


def misfit(
    frames: Float,
    bank: tuple[NDArray[np.float64], Float],
    index: Float,
    axis: Coordinate,
    lens: Lens,
    noise: float,
) -> Float:
    """Return Σ_k log(1 + (I_k − h_{r(k, d)} * A)²/3v) of a depth map, ``(H, W)``."""
    radii, planes = bank
    flat = (radii, planes.reshape(len(planes), -1))
    square, _ = _squares(frames.reshape(len(frames), -1), flat, index.ravel(), axis, lens)
    total: Float = np.log1p(square / np.float32(3.0 * noise)).sum(axis=0)
    return total.reshape(index.shape)


def _squares(
    measured: Float,
    bank: tuple[NDArray[np.float64], Float],
    index: Float,
    axis: Coordinate,
    lens: Lens,
) -> tuple[Float, NDArray[np.int32]]:
    """Return squared differences ``(n, P)`` of some pixels, and the numbers of their radii."""
    radii, planes = bank
    u = unit_coordinate(axis, np.arange(float(len(measured))))
    radius = lens.radius * np.abs(u[:, None] - unit_coordinate(axis, index)[None])
    off, nearest = compared(measured, planes, radius, radii)
    return off * off, nearest


def reblur(
    frames: Float,
    bank: tuple[NDArray[np.float64], Float],
    axis: Coordinate,
    labels: int,
    lens: Lens,
    noise: float,
) -> Float:
    """Return G, how badly each depth explains all frames.

    Parameters
    ----------
    frames : ndarray of shape (n, H, W), float32
        Brightness in [0, 1].
    bank : tuple
        From `pictures`: radii, and the sharp picture blurred by each.
    axis : Coordinate
        Focus coordinate of the frames.
    labels : int
        L depths, evenly spaced in frames.
    lens : Lens
        Blur of the stack.
    noise : float
        v.

    Returns
    -------
    ndarray of shape (L, H, W), float32
        G; pairs of frame and label take the picture of the closest radius.
    """
    radii, planes = bank
    n = len(frames)
    u, at = (unit_coordinate(axis, k) for k in (np.arange(float(n)), label_frames(n, labels)))
    radius = lens.radius * np.abs(u[:, None] - at[None])
    number = np.rint(np.interp(radius, radii, np.arange(radii.size))).astype(np.int32)
    precision = 1.0 / (3.0 * noise)
    if engine.accepts(frames, planes):
        cost = kernels.reblur(frames, planes, number, precision)
    else:
        cost = np.zeros((labels, *frames.shape[1:]), np.float32)
        for label in range(labels):
            for k in range(n):
                off = frames[k] - planes[number[k, label]]
                cost[label] += np.log1p(off * off * np.float32(precision))
    return convolved(cost, kernel(SMOOTH))


def wells(G: Float) -> Float:
    """Return G less its maximum over the labels, divided so that wells are 1 deep on average."""
    W = G - G.max(axis=0)
    deep = float(-W.min(axis=0).mean(dtype=np.float64))
    divided: Float = W / np.float32(max(deep, 1e-12))
    return divided


def gate(G: Float, least: float = 0.0) -> Float:
    r"""Return V = exp(−(G − G₀)₊/G₀), G₀ the median over pixels of min_l G, in [0, 1].

    1 where a depth explains the frames as well as is usual; `least` is taken off G first.
    """
    G = G - np.float32(least)
    return _gated(G, G)


def gate_at(G: Float, label: NDArray[np.intp]) -> Float:
    """Return the `gate` at one label of each pixel, ``(H, W)``."""
    return _gated(np.take_along_axis(G, label[None], axis=0)[0], G)


def likely(G: Float) -> Float:
    r"""Return exp(−2(G − min_l G)): G is half the exponent of a likelihood."""
    return _likely(G, G)


def likely_at(G: Float, label: NDArray[np.intp]) -> Float:
    """Return how likely one label of each pixel is beside its likeliest, ``(H, W)``."""
    return _likely(np.take_along_axis(G, label[None], axis=0)[0], G)


def _likely(values: Float, G: Float) -> Float:
    likelihood: Float = np.exp(np.float32(2.0) * (G.min(axis=0) - values))
    return likelihood


def _gated(values: Float, G: Float) -> Float:
    usual = usual_misfit(G)
    explained: Float = np.exp(-np.maximum(values - np.float32(usual), 0.0) / np.float32(usual))
    return explained


def usual_misfit(G: Float) -> float:
    """Return G₀: the median over pixels of min_l G."""
    return max(float(np.median(G.min(axis=0))), 1e-12)


def joined(T: Float, G: Float) -> Float:
    r"""Return C = ½·W·max_l V + ½·T·exp(−2(G − min_l G)), its wells 1 deep on average.

    T is the cost of contrast, W are the wells of G, V its gate: contrast says where exactly, G
    whether. As G is half the exponent of a likelihood, contrast counts as much as a depth is likely
    beside the likeliest of its pixel. Where no depth explains the frames, as behind the veil of a
    blurred neighbour, G is doubted; contrast still counts at the depths that explain them best.
    """
    V = gate(G, float(G.min()))
    C = np.float32(SHARE) * wells(G) * V.max(axis=0)
    C += np.float32(1.0 - SHARE) * T * likely(G)
    deep = float(-C.min(axis=0).mean(dtype=np.float64))
    cost: Float = C / np.float32(max(deep, 1e-12))
    return cost


def local_mean(image: Float, sigma: float) -> Float:
    """Return an image averaged over a Gaussian, border replicated."""
    mean: Float = ndimage.gaussian_filter(image, sigma, mode="nearest")
    return mean
