r"""What is sharp somewhere in a stack, and each frame as it would look if it were only defocused.

The sharpest view of every place is put together to one picture T. A frame k that lies where it
should differs from it by defocus alone: with β the half variance of the blur in px²,

.. math:: P_k(p) = (g_{β_k(p)} * T)(p), \qquad g_β \text{ a Gaussian of variance } 2β,

β a field, one value per cell and linear in between. A frame differs from P_k, cell by cell, by

.. math:: I_k - P_k = -u·∇P_k + b\,\partial_β P_k + b_2 ∇^4 P_k + c + \text{noise},

u the displacement; b, what is missing of the blur, b₂, what else an even aperture does that is no
Gaussian, and c, the bias of the light, are the cell's own and are eliminated. Its gain is not:
defocus keeps the light, and less contrast is more blur. Unlike neighbours in a stack, P_k is
blurred like the frame, so that a change of blur cannot pose as motion, and errors do not add up
from frame to frame.

Where β is uneven, that is not yet what a lens draws. Its pixel p sees through the point a of the
aperture the place q of the surface with q = p − a c(q), c the size of the blur there: not that of
p, as above. To first order in ∇c, for a Gaussian aperture,

.. math:: P_{\text{lens}} = P + D, \qquad D = ∇β·∇(P + 2β\,∂_β P),

which shifts coarse structure along ∇β and fine structure against it. P + λ D with λ = 1 is a lens,
with λ = 0 a simulator that blurs each pixel by itself; `varfocus.align.system` asks the stack.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from varfocus.align.cells import cut
from varfocus.align.models import Matrix, moved
from varfocus.align.warp import warp

Grey = NDArray[np.float32]
Array = NDArray[np.float64]

ACROSS = 12
SMALLEST_SIDE, LARGEST_SIDE = 12, 48
"""Cells along the shorter side of a frame, and bounds of their side in pixels: so large that a
blurred cell still shows something, so small that blur is even inside."""

SMOOTHING = 1.0
"""σ in pixels of the Gaussian on all frames: sub-pixel positions need band-limited images."""

SIGMAS = np.array([0.0, 0.7, 1.0, 1.4, 2.0, 2.8, 4.0, 5.6, 8.0, 11.3, 16.0])
BETAS = SIGMAS**2 / 2
"""Blurs of T that are made, as σ in pixels and as β in px²; others are interpolated."""

LARGEST_BETA = float(BETAS[-2])
"""What is blurred by more than this is not matched, and says nothing."""

NEIGHBOURS = 0.8
"""σ in cells of the Gaussian over which cells agree about blur and sharpness."""

FARTHEST = 0.3
"""Largest relative change of β in one step."""

STEEPEST = 0.5
"""Largest change of σ per pixel that D is meant for: outlines are steeper."""

MARGIN = 1.0
"""Cells nearer to the border than this many σ of their blur see what T does not."""


@dataclass(frozen=True)
class Raster:
    """Square cells over a frame.

    Attributes
    ----------
    shape : (int, int)
        Height and width of the frame in pixels.
    side : int
        Side of a cell in pixels.
    """

    shape: tuple[int, int]
    side: int

    @classmethod
    def over(cls, shape: tuple[int, int]) -> Raster:
        """Return the cells for frames of a shape."""
        return cls(shape, min(max(min(shape) // ACROSS, SMALLEST_SIDE), LARGEST_SIDE))

    @property
    def size(self) -> tuple[int, int]:
        """Number of cells down and across."""
        return self.shape[0] // self.side, self.shape[1] // self.side

    @property
    def centres(self) -> Array:
        """Centres (x, y) in pixels, shape ``(m, 2)``."""
        y, x = np.mgrid[: self.size[0], : self.size[1]]
        return self.side * np.stack([x.ravel(), y.ravel()], axis=1) + (self.side - 1) / 2

    @property
    def to_border(self) -> Array:
        """Distance in pixels from each cell to the border of the frame, shape ``(m,)``."""
        far = np.array(self.shape[::-1]) - 1 - self.centres
        distance: Array = np.minimum(self.centres, far).min(axis=1) - self.side / 2
        return distance

    def matched(self, beta: Array) -> NDArray[np.bool_]:
        """Tell which cells, blurred by β in px², can be drawn from a template of the same frame."""
        sees_outside = MARGIN * np.sqrt(2.0 * beta) + 1.0 > self.to_border
        return np.asarray(~sees_outside & (beta < LARGEST_BETA), np.bool_)

    def means(self, image: Grey) -> Array:
        """Return the mean over each cell, shape ``(m,)``."""
        return np.asarray(cut(image[None], self.side)[0].mean(axis=1), np.float64)

    def smoothed(self, values: Array, weights: Array) -> Array:
        """Return weighted means over neighbouring cells, shape ``(m,)``."""
        both = [
            ndimage.gaussian_filter(part.reshape(self.size), NEIGHBOURS)
            for part in (values * weights, weights)
        ]
        return np.asarray((both[0] / np.maximum(both[1], 1e-30)).ravel(), np.float64)

    def spread(self, values: Array) -> Grey:
        """Return values of cells as an image, linear between centres."""
        places = [(np.arange(s) - (self.side - 1) / 2) / self.side for s in self.shape]
        image: Grey = ndimage.map_coordinates(
            values.reshape(self.size).astype(np.float32),
            np.meshgrid(*places, indexing="ij"),
            order=1,
            mode="nearest",
        )
        return image

    def slopes(self, values: Array) -> Array:
        """Return the gradient of values of cells per pixel, shape ``(m, 2)``."""
        field = np.pad(values.reshape(self.size), 1, mode="edge")
        x = field[1:-1, 2:] - field[1:-1, :-2]
        y = field[2:, 1:-1] - field[:-2, 1:-1]
        return np.stack([x.ravel(), y.ravel()], axis=1) / (2.0 * self.side)

    def covered(self, matrix: Matrix) -> NDArray[np.bool_]:
        """Tell which cells lie wholly inside a frame under a map."""
        inside = np.ones(len(self.centres), bool)
        height, width = self.shape
        for corner in ((-1, -1), (1, -1), (-1, 1), (1, 1)):
            x, y = moved(matrix, self.centres + 0.5 * self.side * np.array(corner)).T
            inside &= (x >= 0) & (x <= width - 1) & (y >= 0) & (y <= height - 1)
        return inside


@dataclass(frozen=True)
class Template:
    """The sharpest view of every place.

    Attributes
    ----------
    raster : Raster
        Cells.
    source : ndarray of shape (m,), int
        Frame that each cell is taken from.
    blurred : ndarray of shape (levels, H, W), float32
        T, blurred by `SIGMAS`.
    """

    raster: Raster
    source: NDArray[np.intp]
    blurred: Grey


@dataclass(frozen=True)
class Comparison:
    """A frame against the template, cell by cell, with all but motion eliminated.

    Attributes
    ----------
    curvature : ndarray of shape (m, 2, 2)
        Σ ∇P ∇Pᵀ over the pixels of a cell.
    slope : ndarray of shape (m, 2)
        Σ ∇P (I − P): the displacement of the cell is −curvature⁻¹ slope.
    tilt : ndarray of shape (m, 2)
        Σ ∇P D: as much slope is due to uneven blur drawn otherwise than by a lens.
    variance : ndarray of shape (m,)
        Mean square of what is not explained, motion left out.
    beta : ndarray of shape (m,)
        Blur of the frame relative to the template in px², improved by what was seen.
    """

    curvature: Array
    slope: Array
    tilt: Array
    variance: Array
    beta: Array


def seen(grey: NDArray[np.floating], matrix: Matrix, shape: tuple[int, int]) -> Grey:
    """Return a frame, smoothed, as it lies on the reference."""
    smooth = ndimage.gaussian_filter(grey.astype(np.float32), SMOOTHING, truncate=3.0)
    return np.asarray(warp(smooth, matrix, shape), np.float32)


def sharpness(image: Grey, raster: Raster, covered: NDArray[np.bool_]) -> Array:
    """Return the mean square gradient around each cell; −1 where the frame does not cover it."""
    power = np.zeros_like(image)
    power[1:-1, 1:-1] = (image[1:-1, 2:] - image[1:-1, :-2]) ** 2
    power[1:-1, 1:-1] += (image[2:, 1:-1] - image[:-2, 1:-1]) ** 2
    around = raster.smoothed(raster.means(power), covered.astype(np.float64))
    return np.where(covered, around, -1.0)


def template(images: dict[int, Grey], source: NDArray[np.intp], raster: Raster) -> Template:
    """Put the sharpest views together and blur them.

    Parameters
    ----------
    images : dict of int to ndarray of shape (H, W)
        The frames that `source` names, on the reference and of equal light.
    source : ndarray of shape (m,)
        Frame that each cell is taken from; seams are linear over a cell.
    raster : Raster
        Cells.
    """
    T, total = np.zeros(raster.shape, np.float32), np.zeros(raster.shape, np.float32)
    for k, image in images.items():
        weight = raster.spread((source == k).astype(np.float64))
        T += weight * image
        total += weight
    T /= np.maximum(total, np.float32(1e-6))
    blurred = [T] + [ndimage.gaussian_filter(T, sigma, truncate=3.0) for sigma in SIGMAS[1:]]
    return Template(raster, source, np.stack(blurred))


def matching_blur(image: Grey, picture: Template, covered: NDArray[np.bool_]) -> Array:
    """Return the β in px² under which the template looks most like a frame, shape ``(m,)``."""
    raster = picture.raster
    weights = covered.astype(np.float64)
    cost = []
    for P in picture.blurred:
        difference = image - P
        square = raster.means(difference * difference) - raster.means(difference) ** 2
        cost.append(raster.smoothed(square, weights))
    costs = np.stack(cost)
    best = np.clip(costs.argmin(axis=0), 1, len(costs) - 2)
    below, least, above = (np.take_along_axis(costs, best[None] + d, 0)[0] for d in (-1, 0, 1))
    bend = np.maximum(below - 2.0 * least + above, 1e-30)
    level = best + np.clip(0.5 * (below - above) / bend, -1.0, 1.0)
    return np.asarray(np.interp(level, np.arange(len(BETAS)), BETAS), np.float64)


def compared(
    image: Grey, picture: Template, beta: Array, covered: NDArray[np.bool_], lens: float = 1.0
) -> Comparison:
    """Compare a frame with the template blurred like it.

    Parameters
    ----------
    image : ndarray of shape (H, W), float32
        The frame on the reference, of equal light.
    picture : Template
        What it is compared with.
    beta : ndarray of shape (m,)
        How much it is blurred, in px².
    covered : ndarray of shape (m,), bool
        Cells that the frame shows.
    lens : float
        λ: 1 draws uneven blur as a lens does, 0 as if each pixel were blurred by itself.
    """
    raster = picture.raster
    P, change, tilt = _reblurred(picture, beta)
    P += np.float32(lens) * tilt
    g_y, g_x = (np.asarray(g, np.float32) for g in np.gradient(P))
    bend = ndimage.laplace(ndimage.laplace(P, mode="nearest"), mode="nearest")
    features = np.stack(
        [cut(f[None], raster.side)[0] for f in (g_x, g_y, change, image - P, tilt, bend)], axis=1
    ).astype(np.float64)
    features -= features.mean(axis=2, keepdims=True)
    products = np.matmul(features, features.swapaxes(1, 2))
    size = np.sqrt(np.maximum(np.einsum("mii->mi", products), 1e-20))
    products /= size[:, :, None] * size[:, None, :]
    # What blur explains is taken out of motion and difference.
    keep, gone = [0, 1, 3, 4], [2, 5]
    across = products[:, keep][:, :, gone]
    inner = np.linalg.inv(products[:, gone][:, :, gone] + 1e-3 * np.eye(2))
    rest = products[:, keep][:, :, keep] - across @ inner @ across.swapaxes(1, 2)
    rest *= size[:, keep][:, :, None] * size[:, keep][:, None, :]
    # How much blur is missing is asked together with motion.
    whole = np.linalg.inv(products[:, :3, :3] + 1e-4 * np.eye(3))
    missing = (whole @ products[:, :3, 3:])[:, 2, 0] * size[:, 3] / size[:, 2]
    weight = np.where(covered, size[:, 2] ** 2 / whole[:, 2, 2], 0.0)
    missing = raster.smoothed(missing, weight)
    farthest = FARTHEST * beta + 0.2
    return Comparison(
        rest[:, :2, :2],
        rest[:, :2, 2],
        rest[:, :2, 3],
        rest[:, 2, 2] / raster.side**2,
        np.clip(beta + np.clip(missing, -farthest, farthest), 0.0, BETAS[-1]),
    )


def _reblurred(picture: Template, beta: Array) -> tuple[Grey, Grey, Grey]:
    """Return the template blurred by a field of β, its derivative by β, and D."""
    raster = picture.raster
    field = raster.spread(beta)
    low = np.clip(np.searchsorted(BETAS, field, side="right") - 1, 0, len(BETAS) - 2)
    steps = np.diff(BETAS).astype(np.float32)[low]
    P = np.take_along_axis(picture.blurred, low[None], 0)[0]
    change = (np.take_along_axis(picture.blurred, low[None] + 1, 0)[0] - P) / steps
    P = P + (field - BETAS.astype(np.float32)[low]) * change
    slopes = raster.slopes(beta)
    steepest = STEEPEST * np.sqrt(2.0 * beta)
    slopes *= np.minimum(1.0, steepest / np.maximum(np.hypot(*slopes.T), 1e-12))[:, None]
    g_y, g_x = np.gradient(P + 2.0 * field * ndimage.laplace(P, mode="nearest"))
    tilt = raster.spread(slopes[:, 0]) * g_x + raster.spread(slopes[:, 1]) * g_y
    return P, change, np.asarray(tilt, np.float32)
