r"""A stack as an unsteady camera gives it: the lens breathes, the stand moves, the light flickers.

Frame k shows at its pixel p what the steady stack shows at B_k p, with

.. math:: B_k p = c + s_k R(φ_k) (p - c) + t_k,

c the centre of the frame; scale s, angle φ and shift t are known, so alignment can be judged.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from varfocus.errors import ParameterError
from varfocus.simulation.simulation import Simulation


@dataclass(frozen=True, eq=False)
class Unsteady:
    """A stack with known motion.

    Parameters
    ----------
    simulation : Simulation
        What the unsteady camera saw; its truth is that of the reference frame.
    matrices : ndarray of shape (n, 3, 3)
        Each maps pixels (x, y, 1) of the reference frame to those of frame k.
    gains : ndarray of shape (n, channels)
        Brightness of each frame relative to the steady stack.
    reference : int
        The reference frame.
    """

    simulation: Simulation
    matrices: NDArray[np.float64]
    gains: NDArray[np.float64]
    reference: int


def unsteady(
    steady: Simulation,
    *,
    breathing: float = 0.05,
    shift: float = 3.0,
    rotation: float = 0.3,
    flicker: float = 0.0,
    noise: float = 0.004,
    margin: float = 0.1,
    seed: int = 0,
    held: bool = False,
) -> Unsteady:
    """Move the frames of a steady stack as breathing and an unsteady stand do.

    Parameters
    ----------
    steady : Simulation
        Best without noise, because noise is added here.
    breathing : float
        Relative change of scale from the first frame to the last, uneven by a third per step.
    shift : float
        Standard deviation in pixels of the shift from one frame to the next.
    rotation : float
        Standard deviation in degrees of the rotation from one frame to the next.
    flicker : float
        Largest relative change of brightness of each channel.
    noise : float
        Standard deviation of the noise that is added, white being 1.
    margin : float
        Share of each side that is cut off, so that no frame sees beyond the steady picture. It
        should exceed half of `breathing`.
    seed : int
        The same seed gives the same motion.
    held : bool
        Hold the camera where it is at the reference frame, in steady light: what the same view
        looks like without motion, sampled between the pixels all the same. Only with that can
        depth beside jumps be compared: on the grid of the steady stack no pixel shows two surfaces.

    Returns
    -------
    Unsteady
        The reference is the middle frame.
    """
    if not 0.0 <= margin < 0.4:
        raise ParameterError(f"received margin = {margin!r}", "expected a share from 0 to 0.4")
    rng = np.random.default_rng(seed)
    n, (height, width) = len(steady), steady.truth_index.shape
    channels = 1 if steady.frames.ndim == 3 else steady.frames.shape[3]
    left, top = int(margin * width), int(margin * height)
    centre = np.array([(width - 1) / 2, (height - 1) / 2])
    steps = 1.0 + rng.uniform(-1 / 3, 1 / 3, n - 1)
    path = np.concatenate([[0.0], np.cumsum(steps)]) / steps.sum()
    scales = (1.0 + breathing) ** (path - 0.5)
    angles = np.deg2rad(_walk(rng.normal(0.0, rotation, n)))
    shifts = np.stack([_walk(rng.normal(0.0, shift, n)) for _ in range(2)], axis=1)
    gains = 1.0 + flicker * rng.uniform(-1.0, 1.0, (n, channels))
    reference = n // 2
    if held:
        for motion in (scales, angles, shifts):
            motion[:] = motion[reference]
        gains[:] = 1.0
    inner = (slice(top, height - top), slice(left, width - left))
    cut = np.array([[1, 0, left], [0, 1, top], [0, 0, 1.0]])
    maps = []
    frames = np.empty(
        (n, *steady.truth_index[inner].shape, *steady.frames.shape[3:]), steady.frames.dtype
    )
    for k in range(n):
        turn = scales[k] * np.array(
            [[np.cos(angles[k]), -np.sin(angles[k])], [np.sin(angles[k]), np.cos(angles[k])]]
        )
        B = np.eye(3)
        B[:2, :2], B[:2, 2] = turn, centre - turn @ centre + shifts[k]
        maps.append(np.linalg.solve(cut, B @ cut))
        frames[k] = _moved(steady.frames[k], B @ cut, frames[k].shape, gains[k], noise, rng)
    matrices = np.stack([np.linalg.solve(B_k, maps[reference]) for B_k in maps])

    home, inside = cut @ maps[reference], frames.shape[1:3]
    colours = np.moveaxis(np.atleast_3d(steady.sharp), 2, 0)
    sharp = np.stack([_sample(plane, home, inside, 3) for plane in colours], axis=2)
    seen = replace(
        steady,
        frames=frames,
        truth_index=_sample(steady.truth_index, home, inside, 0),
        truth_depth=_sample(steady.truth_depth, home, inside, 0),
        sharp=sharp.reshape(*inside, *steady.sharp.shape[2:]),
    )
    return Unsteady(seen, matrices, gains, reference)


def _walk(steps: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return a random walk that ends where it begins, so that it stays near."""
    path = np.cumsum(steps) - steps[0]
    tied: NDArray[np.float64] = path - np.linspace(0.0, path[-1], len(path))
    return tied


def _moved(
    frame: NDArray[Any],
    matrix: NDArray[np.float64],
    shape: tuple[int, ...],
    gains: NDArray[np.float64],
    noise: float,
    rng: np.random.Generator,
) -> NDArray[Any]:
    integer = np.issubdtype(frame.dtype, np.integer)
    full = float(np.iinfo(frame.dtype).max) if integer else 1.0
    planes = np.moveaxis(np.atleast_3d(frame).astype(np.float32), 2, 0)
    sampled = np.stack([_sample(plane, matrix, shape[:2], 3) for plane in planes], axis=2)
    seen = np.clip(sampled * gains + noise * full * rng.standard_normal(sampled.shape), 0.0, full)
    return (np.rint(seen) if integer else seen).astype(frame.dtype).reshape(shape)


def _sample(
    image: NDArray[np.float32], matrix: NDArray[np.float64], shape: tuple[int, ...], order: int
) -> NDArray[np.float32]:
    """Return the image at the maps of all pixels; splines, unlike what alignment itself uses."""
    swap = np.array([[0, 1, 0], [1, 0, 0], [0, 0, 1.0]])
    rows_first = swap @ matrix @ swap
    sampled: NDArray[np.float32] = ndimage.affine_transform(
        image, rows_first, output_shape=shape[:2], order=order, mode="reflect"
    )
    return sampled
