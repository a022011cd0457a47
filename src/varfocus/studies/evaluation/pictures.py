"""Pictures with depth that a user brings, seen by lenses of every kind.

::

    pictures/
        greek/
            picture.png       sharp everywhere; any image that ``varfocus depth`` reads
            disparity.npz     larger is nearer; or depth.npz in metres; NaN = unknown
        kitchen/
            …

Maps may be .npy, .npz (the first array), .tif or .pfm. Each is rendered by `varfocus.simulation` as
`lenses` says.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from varfocus.errors import InputError
from varfocus.files import resolved
from varfocus.io.frames import probe_files
from varfocus.progress import Progress, silent
from varfocus.simulation import Simulation, render_picture
from varfocus.simulation.checks import checked_picture
from varfocus.stack import FocusStack, without_alpha
from varfocus.studies.evaluation.case import Case, Scene, centre
from varfocus.studies.evaluation.lenses import Recipe
from varfocus.studies.evaluation.maps import SUFFIXES, find_map, read_map

MAP_NAMES = ("disparity", "depth")
PICTURE = "picture"

OUTLIERS = 0.2
"""Per cent of the disparities at either end that are taken for errors, and clipped."""

MIXED = 0.04
"""Share of the range of disparities that tells two surfaces apart."""

RANGE = 2.0
"""Disparities are rendered as distances of which the farthest is this many times the nearest."""


def picture_folders(folder: Path) -> list[Path]:
    """Return the folders below this one that hold a picture with depth, or the folder itself.

    Parameters
    ----------
    folder : Path
        See above.

    Returns
    -------
    list of Path
        By name.

    Raises
    ------
    InputError
        If there is none.
    """
    if is_picture(folder):
        return [folder]
    found = sorted(path for path in folder.glob("*") if is_picture(path)) if folder.is_dir() else []
    if not found:
        raise InputError(
            f"{folder}: holds no picture with depth",
            f"expected folders with {PICTURE}.png and one of {', '.join(MAP_NAMES)} as "
            + ", ".join(SUFFIXES),
            "See varfocus evaluate --help.",
        )
    return found


def is_picture(folder: Path) -> bool:
    """Tell whether a folder holds a picture with depth."""
    return folder.is_dir() and find_map(folder, *MAP_NAMES) is not None


def read_picture(folder: Path) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Read a picture and its depth.

    Parameters
    ----------
    folder : Path
        With the two files.

    Returns
    -------
    picture : ndarray of float32, shape (H, W) or (H, W, 3)
        In [0, 1].
    depth : ndarray of float32, shape (H, W)
        Distance in metres; NaN where unknown. Of a disparity d it is 1/(1 + t), with t from 0 to 1
        over the range of d: the true distances need not be known, only that 1/z is linear in d.
    """
    files = sorted(path for path in folder.glob(f"{PICTURE}.*") if path.is_file())
    if not files:
        raise InputError(f"{folder}: has no picture", f"expected {PICTURE}.png or another image")
    picture = checked_picture(without_alpha(probe_files(files[:1]).frames[0].read()), PICTURE)
    path = find_map(folder, *MAP_NAMES)
    if path is None:
        raise InputError(f"{folder}: has no depth", f"expected {' or '.join(MAP_NAMES)}.npz")
    values = read_map(path).astype(np.float64)
    is_depth = path.stem != MAP_NAMES[0]
    known = np.isfinite(values) & (values > 0 if is_depth else True)
    if values.shape != picture.shape[:2] or known.sum() < 2:
        raise InputError(
            f"{path}: {int(known.sum())} numbers of {values.shape[1]}×{values.shape[0]} for a "
            f"picture of {picture.shape[1]}×{picture.shape[0]}",
            "expected one number per pixel",
        )
    values[~known] = np.nan
    position = 1 / values if is_depth else values
    low, high = np.nanpercentile(position, [OUTLIERS, 100 - OUTLIERS])
    if not high > low:
        raise InputError(f"{path}: is the same everywhere", "expected a scene with depth")
    share = unmixed(np.clip((position - low) / (high - low), 0, 1), MIXED)
    far, near = (low, high) if is_depth else (1.0, RANGE)
    return picture, (1 / (far + (near - far) * share)).astype(np.float32)


def unmixed(position: NDArray[Any], jump: float) -> NDArray[Any]:
    """Give pixels between two surfaces to the closer one: no lens sees a surface there.

    Depth maps that were resampled have pixels of in-between depth along their jumps.

    Parameters
    ----------
    position : ndarray of shape (H, W)
        Anything monotone in depth.
    jump : float
        Difference that makes two surfaces.

    Returns
    -------
    ndarray of shape (H, W)
        A pixel that differs by more than a jump from its neighbours on both sides, and lies between
        them, has the value of the closer one; across first, then down.
    """
    result = position.copy()
    for axis in (1, 0):
        values = np.moveaxis(result, axis, 0)  # a view
        before, here, after = values[:-2], values[1:-1].copy(), values[2:]
        with np.errstate(invalid="ignore"):
            steps = (here - before, after - here)
            between = (np.minimum(*np.abs(steps)) > jump) & (np.sign(steps[0]) == np.sign(steps[1]))
            closer = np.where(np.abs(steps[0]) <= np.abs(steps[1]), before, after)
        values[1:-1] = np.where(between, closer, here)
    return result


def render_folder(
    folder: Path, recipe: Recipe, crop: int | None = None, progress: Progress = silent
) -> Simulation:
    """Render a picture with depth by a recipe.

    Parameters
    ----------
    folder : Path
        With the picture.
    recipe : Recipe
        Lens, noise, and number of frames.
    crop : int, optional
        Only the middle of the picture, at most this many pixels high and wide.
    progress : callable
        Listener.

    Returns
    -------
    Simulation
        Frames and truth.
    """
    picture, depth = read_picture(folder)
    if crop is not None:
        window = centre(depth.shape, crop)
        picture, depth = picture[window], depth[window]
    return render_picture(
        picture,
        depth,
        n=recipe.frames,
        seed=recipe.seed,
        noise=0.0,
        spacing=recipe.spacing,
        max_blur=recipe.blur,
        camera=recipe.camera,
        name=resolved(folder).name,
        progress=progress,
    )


def picture_scene(folder: Path, recipe: Recipe, crop: int | None) -> Scene:
    """Return a picture with depth, seen by one lens, as a scene."""
    name = resolved(folder).name

    def make(_: int) -> Case:
        made = render_folder(folder, recipe, crop)
        return Case(FocusStack.from_array(made.frames), made.truth_index)

    return Scene(f"{name}-{recipe.name}", "pictures", make, seeded=False, noise=recipe.camera.grain)
