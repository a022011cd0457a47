"""A focus stack of any sharp picture with a depth map, with plausible occlusion.

The depth is cut into slices of equal blur, near to far. With m_l the pixels of slice l, A the
picture, h the blur of the slice in the frame at hand, T = 1 and acc = 0 at the start:

a = h * m_l;  w = min(T, a);  acc ← acc + w·(h * m_l A)/a;  T ← T − w;  frame = acc/(1 − T).

The weights of the strips of a slanted surface add up to one, so the saturating min shows no seams
where the product of `scene.compose` would. What a picture does not show, the background behind a
blurred edge, is continued by the final division.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import ndimage

from varfocus.errors import ParameterError
from varfocus.fuse.pyramid import expand, reduce
from varfocus.progress import Progress, silent, track
from varfocus.simulation.blur import uniform_blur
from varfocus.simulation.camera import PixelType, Spacing, chosen_focus, expose
from varfocus.simulation.checks import checked_depth, checked_number, checked_picture
from varfocus.simulation.simulation import Simulation, index_of_depth

Array = NDArray[np.float32]

SLICE_BLUR = 0.25
"""Change of σ in pixels across one slice: too little to see, also in the frame in focus."""

_FAINT = np.float32(1e-6)


def render_picture(
    picture: ArrayLike,
    depth: ArrayLike,
    *,
    n: int | None = None,
    seed: int = 0,
    noise: float = 0.05,
    focus: ArrayLike | None = None,
    spacing: Spacing = "dioptre",
    max_blur: float = 7.0,
    kappa: float | None = None,
    dtype: PixelType = "uint8",
    name: str = "picture",
    progress: Progress = silent,
) -> Simulation:
    """Simulate a focus stack of a sharp picture whose depth is known.

    Parameters
    ----------
    picture : array_like of shape (H, W) or (H, W, 3)
        All-in-focus picture: 8 bit, 16 bit, or float in [0, 1].
    depth : array_like of shape (H, W)
        Depth in metres; not finite where unknown. Such pixels are rendered at the farther depth
        of their left and right neighbours (stereo cannot see hidden background), and are NaN in
        the truth.
    n : int, optional
        Number of frames; default 15.
    seed : int
        Seed of the noise.
    noise : float
        Noise level q ≥ 0; 0 for none.
    focus : array_like of shape (n,), optional
        Focus distances in metres. Default: `n` of them, a little beyond the range of the depth.
    spacing : {"distance", "dioptre"}
        Even steps of F, or of 1/F.
    max_blur : float
        σ in pixels of the farthest focus distance in the frame of the nearest.
    kappa : float, optional
        Camera constant in px·m; overrides `max_blur`.
    dtype : {"uint8", "uint16", "float32"}
        Number type of the frames.
    name : str
        What to call the result.
    progress : callable
        Listener; called after every frame.

    Returns
    -------
    Simulation
        Frames and truth.
    """
    sharp, z = checked_picture(picture, "picture"), checked_depth(depth)
    if sharp.shape[:2] != z.shape:
        raise ParameterError(
            f"depth: received shape {z.shape} for a picture of {sharp.shape[:2]}",
            "expected one depth per pixel",
            "Resample the depth map to the size of the picture.",
        )
    known = np.isfinite(z)
    distances = chosen_focus(focus, *_range(z[known]), n, spacing)
    reach = float(1 / distances.min() - 1 / distances.max())
    if kappa is None:
        kappa = checked_number("max_blur", max_blur, 0.0) / reach
    inverse = 1 / filled(z).astype(np.float64)
    clean = _render(sharp, inverse, distances, checked_number("kappa", kappa, 0.0), progress)
    truth = np.where(known, z, np.float32(np.nan))
    return Simulation(
        name=name,
        frames=expose(clean, noise, seed, dtype),
        focus=distances,
        truth_index=index_of_depth(truth, distances),
        truth_depth=truth,
        sharp=sharp,
    )


def filled(depth: Array) -> Array:
    """Return a depth map without holes.

    Parameters
    ----------
    depth : ndarray of float32, shape (H, W)
        At least one finite value.

    Returns
    -------
    ndarray of float32, shape (H, W)
        Holes take the farther of the nearest known values to the left and right; in rows without
        any, the value of the nearest known pixel.
    """
    known = np.isfinite(depth)
    columns = np.broadcast_to(np.arange(depth.shape[1]), depth.shape)
    left = np.maximum.accumulate(np.where(known, columns, -1), axis=1)
    right = np.where(known, columns, depth.shape[1])[:, ::-1]
    right = np.minimum.accumulate(right, axis=1)[:, ::-1]
    # An index out of the row means nothing known on that side: let the other side decide.
    left = np.where(left < 0, right, left)
    right = np.where(right == depth.shape[1], left, right)
    some = known.any(axis=1)
    result = depth.copy()
    rows = [np.take_along_axis(depth[some], side[some], axis=1) for side in (left, right)]
    result[some] = np.where(known[some], depth[some], np.maximum(*rows))
    holes = ~np.isfinite(result)
    if holes.any():
        nearest = ndimage.distance_transform_edt(holes, return_distances=False, return_indices=True)
        result = result[tuple(nearest)]
    return result


def fast_blur(image: Array, sigma: float) -> Array:
    """Blur an image of shape (H, W, C) with one σ, wide kernels at reduced resolution.

    Halving and doubling, with [1, 3, 3, 1] each, blur by themselves: together by a variance of
    1.5 for one halving and 7.5 for two, in px² of the full picture; the Gaussian does the rest.
    The error is below 1 % of the contrast of the result, even for white noise.
    """
    halvings = 0 if sigma < 4 else 1 if sigma < 9 else 2
    small = _evened(image, 2**halvings, int(np.ceil(4 * sigma)))
    for _ in range(halvings):
        small = reduce(small)
    rest = float(np.sqrt(sigma**2 - (0.0, 1.5, 7.5)[halvings])) / 2**halvings
    small = uniform_blur(small, rest, int(np.ceil(4 * rest)))
    for _ in range(halvings):
        small = expand(small, (2 * small.shape[0], 2 * small.shape[1]))
    return small[: image.shape[0], : image.shape[1]]


def _range(depth: Array) -> tuple[float, float]:
    """Nearest and farthest focus distance: the range of the depth and 2 % more at each end."""
    near, far = 1 / float(depth.min()), 1 / float(depth.max())
    margin = 0.02 * max(near - far, 0.5 * far)
    return 1 / (near + margin), 1 / (far - margin)


def _render(
    sharp: Array,
    inverse: NDArray[np.float64],
    focus: NDArray[np.float64],
    kappa: float,
    progress: Progress,
) -> Array:
    colour = sharp[..., None] if sharp.ndim == 2 else sharp
    slices = _slices(colour, inverse, kappa)
    frames = np.empty((len(focus), *colour.shape), dtype=np.float32)
    for k, distance in track(enumerate(focus), "render", len(focus), progress):
        through = np.ones((*colour.shape[:2], 1), dtype=np.float32)
        acc = np.zeros(colour.shape, dtype=np.float32)
        for top, left, sheet, position in slices:
            sigma = kappa * abs(position - 1 / distance)
            _cover(acc, through, sheet, (top, left), sigma)
        frames[k] = acc / np.maximum(1 - through, _FAINT)
    return frames[..., 0] if sharp.ndim == 2 else frames


def _slices(
    colour: Array, inverse: NDArray[np.float64], kappa: float
) -> list[tuple[int, int, Array, float]]:
    """Slices near to far: top, left, their premultiplied colour with mask, and 1/z."""
    nearest = inverse.max()
    count = max(1, int(np.ceil(kappa * (nearest - inverse.min()) / SLICE_BLUR)))
    width = max((nearest - inverse.min()) / count, np.finfo(np.float64).tiny)
    label = np.minimum(((nearest - inverse) / width).astype(int), count - 1) + 1
    result = []
    for number, box in enumerate(ndimage.find_objects(label, max_label=count), start=1):
        if box is not None:
            mask = label[box] == number
            cover = mask[..., None].astype(np.float32)
            sheet = np.concatenate([colour[box] * cover, cover], axis=2)
            position = float(inverse[box][mask].mean())
            result.append((box[0].start, box[1].start, sheet, position))
    return result


def _cover(acc: Array, through: Array, sheet: Array, at: tuple[int, int], sigma: float) -> None:
    """Lay one blurred slice behind what `acc` already holds, in place."""
    grow = int(np.ceil(4 * sigma))
    spans, pads = [], []
    for start, length, full in zip(at, sheet.shape[:2], acc.shape[:2], strict=True):
        low, high = max(start - grow, 0), min(start + length + grow, full)
        spans.append(slice(low, high))
        pads.append((start - low, high - start - length))
    box = (spans[0], spans[1])
    free = through[box]
    if free.max() <= _FAINT:
        return
    blurred = fast_blur(np.pad(sheet, [*pads, (0, 0)]), sigma)
    alpha = blurred[..., -1:]
    weight = np.minimum(free, alpha)
    acc[box] += blurred[..., :-1] * (weight / np.maximum(alpha, _FAINT))
    free -= weight


def _evened(image: Array, factor: int, reach: int) -> Array:
    """Mirror the picture beyond its end until its sides are multiples of `factor`.

    By at least `reach` pixels, or else the coarse border, not being a multiple, would mirror at
    the wrong place within sight.
    """
    short = [0 if side % factor == 0 else reach for side in image.shape[:2]]
    pads = [
        extra + (-(side + extra)) % factor
        for extra, side in zip(short, image.shape[:2], strict=True)
    ]
    return np.pad(image, [(0, pads[0]), (0, pads[1]), (0, 0)], mode="symmetric")
