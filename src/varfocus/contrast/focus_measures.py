"""Focus measures beside the modified Laplacian, in array code.

Each takes one frame ``(H, W)`` or ``(H, W, C)`` of floating-point numbers and returns its contrast
``(H, W)``: not negative, zero where the frame is constant, summed over the channels. The border is
replicated. Every pixel is computed from its own surroundings in the same order, so a part of a
frame has, `reach` pixels away from its border, exactly the contrast of the whole.

==========================  ====================================  =====  ==========================
name                        contrast                              reach  grows with the gain γ as
==========================  ====================================  =====  ==========================
ring-difference             pixel less the mean of a ring         4      γ
sum-modified-laplacian      modified Laplacian over 5×5           3      γ
tenengrad                   energy of the Sobel gradient          1      γ²
wavelet                     detail of two undecimated scales      6      γ
==========================  ====================================  =====  ==========================

See `varfocus.contrast.registry` for how they are chosen by name.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from varfocus.arrays import Array, namespace
from varfocus.contrast.measures import mlap

WINDOW = 5
"""Side in pixels of the window of `sum_modified_laplacian`."""

RING = (2.5, 4.5)
"""Radii in pixels between which the centres of the ring of `ring_difference` lie."""

WAVELET_SCALES = 2
"""Number of detail images that `wavelet` sums."""

_SMOOTH = (1.0, 2.0, 1.0)
_B3_SPLINE = (1 / 16, 4 / 16, 6 / 16, 4 / 16, 1 / 16)


def sum_modified_laplacian(image: Array) -> Array:
    r"""Return the sum of the modified Laplacian over 5×5 pixels [1]_.

    .. math:: SML(i, j) = \sum_{|p|, |q| \le 2} ML(i + p, j + q), \quad ML ≥ T

    The threshold T is 0: any other would have to be chosen for the brightness of each stack.

    Parameters
    ----------
    image : array of shape (H, W) or (H, W, C), floating point
        Frame.

    Returns
    -------
    array of shape (H, W)
        Contrast in the unit of the image.

    References
    ----------
    .. [1] S. K. Nayar, Y. Nakagawa, "Shape from focus", IEEE TPAMI 16(8), 1994.
    """
    ones = (1.0,) * WINDOW
    return along(along(mlap(image), ones, 0), ones, 1)


def tenengrad(image: Array) -> Array:
    r"""Return the energy of the Sobel gradient [1]_, [2]_.

    .. math:: T = (S_x * I)^2 + (S_y * I)^2

    with S_x = [1, 2, 1]ᵀ [−1, 0, 1] and S_y its transpose.

    Parameters
    ----------
    image : array of shape (H, W) or (H, W, C), floating point
        Frame.

    Returns
    -------
    array of shape (H, W)
        Contrast in the squared unit of the image.

    References
    ----------
    .. [1] J. M. Tenenbaum, "Accommodation in computer vision", PhD thesis, Stanford, 1970.
    .. [2] E. Krotkov, "Focusing", International Journal of Computer Vision 1(3), 1988.
    """
    return over_channels(_sobel_energy, image)


def ring_difference(image: Array) -> Array:
    r"""Return how much a pixel differs from the mean of a ring around it [1]_.

    .. math:: R(i, j) = \Bigl| I(i, j) - \frac{1}{|A|} \sum_{(p, q) \in A} I(i + p, j + q) \Bigr|

    with A the pixels whose centres are 2.5 to 4.5 pixels away: the disc of one pixel, gap of two
    and ring of two pixels of the authors' published program. The gap makes it see blur that
    neighbouring pixels share; the mean over the ring keeps noise low.

    Parameters
    ----------
    image : array of shape (H, W) or (H, W, C), floating point
        Frame.

    Returns
    -------
    array of shape (H, W)
        Contrast in the unit of the image.

    References
    ----------
    .. [1] J. Surh, H.-G. Jeon, Y. Park, S. Im, H. Ha, I. S. Kweon, "Noise robust depth from focus
       using a ring difference filter", CVPR 2017.
    """
    return over_channels(_pixel_less_ring, image)


def wavelet(image: Array) -> Array:
    r"""Return the detail of an undecimated wavelet transform with holes, over two scales [1]_.

    .. math:: c_0 = I, \quad c_j = h_j * c_{j-1}, \quad W = \sum_{j=1}^{2} |c_{j-1} - c_j|

    with h_j the cubic B-spline [1, 4, 6, 4, 1]/16 in both directions, its taps 2^{j−1} pixels
    apart ("starlet"): isotropic, and invariant under shifts. Wavelets as focus measures: [2]_.

    Parameters
    ----------
    image : array of shape (H, W) or (H, W, C), floating point
        Frame.

    Returns
    -------
    array of shape (H, W)
        Contrast in the unit of the image.

    References
    ----------
    .. [1] J.-L. Starck, J. Fadili, F. Murtagh, "The undecimated wavelet decomposition and its
       reconstruction", IEEE Transactions on Image Processing 16(2), 2007.
    .. [2] G. Yang, B. J. Nelson, "Wavelet-based autofocusing and unsupervised segmentation of
       microscopic images", IROS 2003.
    """
    return over_channels(_detail, image)


def _sobel_energy(image: Array) -> Array:
    across = along(along(image, (-1.0, 0.0, 1.0), 1), _SMOOTH, 0)
    down = along(along(image, (-1.0, 0.0, 1.0), 0), _SMOOTH, 1)
    return across * across + down * down


def _pixel_less_ring(image: Array) -> Array:
    height, width = image.shape
    far = int(RING[1])
    padded = replicated(replicated(image, far, 0), far, 1)
    offsets = [
        (far + y, far + x)
        for y in range(-far, far + 1)
        for x in range(-far, far + 1)
        if RING[0] < (y * y + x * x) ** 0.5 < RING[1]
    ]
    # Of differences rather than of values, so that a constant frame has no contrast at all.
    less = image - image
    for top, left in offsets:
        less = less + (image - padded[top : top + height, left : left + width])
    return namespace(image).abs(less) * (1.0 / len(offsets))


def _detail(image: Array) -> Array:
    xp = namespace(image)
    contrast = image - image
    for scale in range(WAVELET_SCALES):
        smooth = along(along(image, _B3_SPLINE, 0, 2**scale), _B3_SPLINE, 1, 2**scale)
        contrast = contrast + xp.abs(image - smooth)
        image = smooth
    return contrast


def over_channels(measure: Callable[[Array], Array], image: Array) -> Array:
    """Return the sum over the channels of a measure ``(H, W) → (H, W)``, one at a time."""
    if image.ndim == 2:
        return measure(image)
    contrast = measure(image[:, :, 0])
    for channel in range(1, image.shape[2]):
        contrast = contrast + measure(image[:, :, channel])
    return contrast


def along(image: Array, taps: Sequence[float], axis: int, apart: int = 1) -> Array:
    """Correlate an image ``(H, W)`` with an odd number of taps along an axis, border replicated.

    Parameters
    ----------
    image : array of shape (H, W)
        Image.
    taps : sequence of float
        Weights, the middle one that of the pixel itself.
    axis : {0, 1}
        Down, or across.
    apart : int
        Pixels from one tap to the next.

    Returns
    -------
    array of shape (H, W)
        Filtered image.
    """
    size = image.shape[axis]
    padded = replicated(image, len(taps) // 2 * apart, axis)
    out = image - image
    for k, tap in enumerate(taps):
        at = slice(k * apart, k * apart + size)
        if tap:
            out = out + tap * (padded[at, :] if axis == 0 else padded[:, at])
    return out


def replicated(image: Array, count: int, axis: int) -> Array:
    """Repeat the first and the last row or column `count` times."""
    first, last = (image[:1, :], image[-1:, :]) if axis == 0 else (image[:, :1], image[:, -1:])
    return namespace(image).concat([*[first] * count, image, *[last] * count], axis=axis)
