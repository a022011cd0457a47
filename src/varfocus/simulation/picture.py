"""A focus stack of any sharp picture with a depth map: any aperture, true occlusion.

The depth is cut into slices of equal blur, near to far; what lies hidden behind the borders of near
objects (`hidden`) belongs to the slice of its depth as well. With m_l the pixels of slice l, A
their colour, h the blur of the slice in the frame at hand, T = 1 and acc = 0 at the start:

a = h * m_l;  w = min(T, a);  acc ← acc + w·(h * m_l A)/a;  T ← min(T − w, 1 − h * n_l);
frame = acc/Σw.

a is the share of the aperture through which a pixel looks at the slice, T the share that nothing
nearer blocks. The shares of the strips of a slanted surface add up to one, so the saturating min
shows no seams where the product of `scene.compose` would; but for the little by which the blur of
one strip differs from that of the next. n_l, the slice together with the strips next to it on its
near side, closes these gaps: nothing shines through a surface. What is left at the end, where not
even the hidden background is known, is continued by the division.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import ndimage

from varfocus.errors import ParameterError
from varfocus.progress import Progress, silent, track
from varfocus.ranges import real
from varfocus.simulation.aperture import REACH, Aperture, spread
from varfocus.simulation.camera import PERTUZ, Camera, PixelType, Spacing, chosen_focus, expose
from varfocus.simulation.checks import BLUR, checked_depth, checked_picture
from varfocus.simulation.hidden import hidden_background
from varfocus.simulation.simulation import Simulation, index_of_depth

Array = NDArray[np.float32]

SLICE_BLUR = 0.25
"""Change of σ in pixels across one slice: too little to see, also in the frame in focus."""

LEAST_SLICES = 48
"""Slices of a picture with little blur."""

JUMP_BLUR = 0.75
"""Neighbours whose blur σ differs by more, in pixels, belong to different objects."""

_FAINT = np.float32(1e-5)


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
    camera: Camera = PERTUZ,
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
    camera : Camera
        Aperture of the lens, grain, vignetting, gamma, JPEG.
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
        kappa = real("max_blur", max_blur, BLUR) / reach
    inverse = 1 / filled(z).astype(np.float64)
    kappa = real("kappa", kappa, BLUR)
    clean = _render(camera.light(sharp), inverse, distances, kappa, camera.aperture, progress)
    truth = np.where(known, z, np.float32(np.nan))
    return Simulation(
        name=name,
        frames=expose(clean, noise, seed, dtype, camera),
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
    aperture: Aperture,
    progress: Progress,
) -> Array:
    colour = sharp[..., None] if sharp.ndim == 2 else sharp
    # Beside the colour the sum of its weights.
    frames = np.zeros((len(focus), *colour.shape[:2], colour.shape[2] + 1), dtype=np.float32)
    through = np.ones((len(focus), *colour.shape[:2], 1), dtype=np.float32)
    slices = _slices(colour, inverse, focus, kappa)
    for sheet in track(slices, "render", len(slices), progress):
        sigmas = kappa * np.abs(sheet.position - 1 / focus)
        _cover(frames, through, sheet, sigmas, aperture)
    clean = frames[..., :-1] / np.maximum(frames[..., -1:], _FAINT)
    return np.asarray(clean[..., 0] if sharp.ndim == 2 else clean, dtype=np.float32)


@dataclass(frozen=True, eq=False)
class _Sheet:
    """One slice: where it lies, 1/z, and for every pixel its premultiplied colour, m and n."""

    box: tuple[slice, slice]
    position: float
    light: Array


def _slices(
    colour: Array, inverse: NDArray[np.float64], focus: NDArray[np.float64], kappa: float
) -> list[_Sheet]:
    """Return the slices near to far."""
    nearest, farthest = float(inverse.max()), float(inverse.min())
    depth = nearest - farthest
    count = max(int(np.ceil(kappa * depth / SLICE_BLUR)), LEAST_SLICES) if depth > 0 else 1
    thickness = max(depth / count, float(np.finfo(np.float64).tiny))
    jump = JUMP_BLUR / max(kappa, float(np.finfo(np.float32).tiny))
    ends = np.array([nearest, farthest])
    widest = kappa * float(np.abs(ends[:, None] - 1 / focus).max())
    reach = max(REACH.values()) * widest
    behind, hidden = hidden_background(colour, inverse, jump, 2 * reach)
    front, back = (
        np.where(
            np.isfinite(where),
            np.minimum((nearest - np.nan_to_num(where)) / thickness, count - 1).astype(int) + 1,
            0,
        )
        for where in (inverse, hidden)
    )
    together = int(jump / thickness)
    sheets = []
    objects = (ndimage.find_objects(label, max_label=count) for label in (front, back))
    for number, boxes in enumerate(zip(*objects, strict=True), start=1):
        present = [box for box in boxes if box is not None]
        if not present:
            continue
        rows, columns = (
            slice(
                max(min(b[axis].start for b in present) - int(np.ceil(reach)), 0),
                max(b[axis].stop for b in present) + int(np.ceil(reach)),
            )
            for axis in (0, 1)
        )
        box = (rows, columns)
        seen, unseen = front[box] == number, back[box] == number
        near = (front[box] <= number) & (front[box] > number - together)
        masks = np.stack([seen | unseen, seen | unseen | near], axis=2)
        own = np.where(seen[..., None], colour[box], behind[box]) * masks[..., :1]
        position = np.where(seen, inverse[box], hidden[box])[masks[..., 0]].mean()
        light = np.concatenate([own, masks], axis=2, dtype=np.float32)
        sheets.append(_Sheet(box, float(position), light))
    return sheets


def _cover(
    frames: Array,
    through: Array,
    sheet: _Sheet,
    sigmas: NDArray[np.float64],
    aperture: Aperture,
) -> None:
    """Lay one slice, blurred for every frame, behind what the frames already hold, in place."""
    whole = frames.shape[1:3]
    # The cat's eye depends on the place in the picture.
    grow = (
        max(whole) if aperture == "cats-eye" else int(np.ceil(REACH[aperture] * sigmas.max())) + 1
    )
    spans, pads = [], []
    for span, full, length in zip(sheet.box, whole, sheet.light.shape, strict=False):
        stop = span.start + length
        low, high = max(span.start - grow, 0), min(stop + grow, full)
        spans.append(slice(low, high))
        pads.append((span.start - low, high - stop))
    box = (spans[0], spans[1])
    seen = [k for k in range(len(frames)) if through[k][box].max() > _FAINT]
    if not seen:
        return
    padded = np.pad(sheet.light, [*pads, (0, 0)])
    blurs = spread(padded, [float(sigmas[k]) for k in seen], aperture)
    for k, blurred in zip(seen, blurs, strict=True):
        free, alpha, closed = through[k][box], blurred[..., -2:-1], blurred[..., -1:]
        # Faint shares are rounding errors of the Fourier transform.
        weight = np.where(alpha > _FAINT, np.minimum(free, alpha), 0)
        frames[k][box][..., :-1] += blurred[..., :-2] * (weight / np.maximum(alpha, _FAINT))
        frames[k][box][..., -1:] += weight
        np.clip(np.minimum(free - weight, 1 - closed), 0, 1, out=free)
