"""Focus stacks of the 4-D light-field benchmark, and the measures that are printed for it.

A light field is a grid of views from a flat grid of cameras: a point of disparity d in the middle
view lies d pixels farther left (and up) in the next view to the right (and below). Views shifted
back by one disparity and averaged are a photograph focused there, with the grid as its aperture:

frame_d(x, y) = mean over v, u of view_vu(x − d·(u − u₀), y − d·(v − v₀)).

Ten frames, d from −2.5 to 2.5, are the stacks on which networks are compared [2]_.

A scene of the data set is a folder with ``input_Cam000.png`` … ``input_Cam080.png`` (row by row),
``gt_disp_lowres.pfm`` (disparity of the middle view, also ``valid_disp_map.npy``) and
``parameters.cfg``. Stacks that were made before, with frames and truth as in `folders`, are taken
as they are.

References
----------
.. [1] K. Honauer, O. Johannsen, D. Kondermann, B. Goldluecke, "A dataset and evaluation methodology
   for depth estimation on 4D light fields", ACCV 2016.
.. [2] N.-H. Wang et al., "Bridging unsupervised and supervised depth from focus via all-in-focus
   supervision", ICCV 2021.
"""

from __future__ import annotations

import configparser
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from varfocus.errors import InputError
from varfocus.files import resolved
from varfocus.io.frames import probe_files
from varfocus.stack import FocusStack, without_alpha
from varfocus.studies import metrics
from varfocus.studies.evaluation.case import Case, Scene
from varfocus.studies.evaluation.folders import folder_scene, stack_folders
from varfocus.studies.evaluation.maps import find_map, read_map

Array = NDArray[np.float32]

DISPARITIES = np.linspace(-2.5, 2.5, 10)
"""Disparity in pixels at which each frame is focused."""

PIXELS_PER_FRAME = float(DISPARITIES[1] - DISPARITIES[0])
"""5/9: turns errors in frames into errors in pixels of disparity."""

TRUTH_NAMES = ("gt_disp_lowres", "valid_disp_map")
PARAMETERS = "parameters.cfg"
GRID = (9, 9)

BAD = 0.07
"""Error in pixels of disparity above which the benchmark calls a pixel bad."""

BUMP_LIMIT, BUMP_FACTOR = 0.05, 100.0

PRINTED = {
    "AiFDepthNet": 0.201,
    "DefocusNet": 0.236,
    "AiFDepthNet, unsupervised": 0.240,
    "DDFF": 0.42,
    "PSPNet": 0.53,
    "VDFF (the paper's method as run there)": 1.15,
}
"""RMSE in pixels of disparity printed for the test scenes, mean of the four [2]_."""

TEST_SCENES = ("boxes", "cotton", "dino", "sideboard")
"""Scenes that those were measured on; the networks were trained on 24 others."""


def benchmark_scenes(folder: Path, crop: int | None = None) -> list[Scene]:
    """Return the scenes of the benchmark in a folder.

    Parameters
    ----------
    folder : Path
        A scene, or a folder of scenes: light fields of the data set, or stacks of them.
    crop : int, optional
        Only the middle, at most this many pixels high and wide.

    Returns
    -------
    list of Scene
        Whose stacks are made when they are asked for.

    Raises
    ------
    InputError
        If there is none.
    """
    candidates = [folder] if _views(folder) else sorted(folder.glob("*"))
    fields = [path for path in candidates if _views(path)]
    if fields:
        return [_scene(path, crop) for path in fields]
    return [folder_scene(path, None, crop, "pictures") for path in stack_folders(folder)]


def focal_stack(views: Array, disparities: Sequence[float] | NDArray[Any] = DISPARITIES) -> Array:
    """Return photographs focused at some disparities.

    Parameters
    ----------
    views : ndarray of shape (V, U, H, W, C)
        The views of a light field, V and U odd.
    disparities : sequence of float
        In pixels between neighbouring views.

    Returns
    -------
    ndarray of float32, shape (n, H, W, C)
        In the unit of the views. Between pixels they are interpolated by cubic convolution; beyond
        the border the outermost pixel counts.
    """
    rows, columns, *shape = views.shape
    frames = np.zeros((len(disparities), *shape), np.float32)
    for frame, d in zip(frames, disparities, strict=True):
        for v in range(rows):
            line = np.zeros(shape, np.float32)
            for u in range(columns):
                line += shifted(views[v, u], float(d) * (u - columns // 2), axis=1)
            frame += shifted(line, float(d) * (v - rows // 2), axis=0)
        frame /= rows * columns
    return frames


def shifted(image: Array, shift: float, axis: int) -> Array:
    """Return image(x − shift) along an axis, by Keys's cubic convolution, border replicated."""
    whole = int(np.floor(-shift))
    t = -shift - whole
    weights = (
        0.5 * (-(t**3) + 2 * t**2 - t),
        0.5 * (3 * t**3 - 5 * t**2 + 2),
        0.5 * (-3 * t**3 + 4 * t**2 + t),
        0.5 * (t**3 - t**2),
    )
    length = image.shape[axis]
    result = np.zeros(image.shape, np.float32)
    for k, weight in enumerate(weights):
        if weight != 0:
            where = np.clip(np.arange(length) + whole + k - 1, 0, length - 1)
            result += np.float32(weight) * np.take(image, where, axis=axis)
    return result


def oriented(views: NDArray[Any], disparity: NDArray[Any]) -> NDArray[Any]:
    """Return the views from left to right and top to bottom.

    Parameters
    ----------
    views : ndarray of shape (V, U, H, W, C)
        In the order of their files.
    disparity : ndarray of shape (H, W)
        Of the middle view.

    Returns
    -------
    ndarray of shape (V, U, H, W, C)
        Rows or columns of cameras turned round where the disparity explains the neighbours of the
        middle view better that way.
    """
    v, u = views.shape[0] // 2, views.shape[1] // 2
    middle = views[v, u].mean(axis=2)
    y, x = np.indices(disparity.shape, dtype=np.float64)
    d = np.nan_to_num(disparity)
    for axis, beside in enumerate((views[v + 1, u], views[v, u + 1])):
        view = beside.mean(axis=2)
        moved = [
            ndimage.map_coordinates(
                view, (y - s * d * (axis == 0), x - s * d * (axis == 1)), order=1, mode="nearest"
            )
            for s in (1, -1)
        ]
        usual, turned = (np.abs(each - middle).mean() for each in moved)
        if turned < usual:
            views = np.flip(views, axis=axis)
    return views


def measures(index: Array, truth: Array) -> dict[str, float]:
    """Return what the benchmark prints of a depth map.

    Parameters
    ----------
    index, truth : ndarray of shape (H, W), float32
        In frames; truth NaN where unknown.

    Returns
    -------
    dict of str to float
        "mse" in px², "rmse" in px of disparity, "bad" the share off by more than 0.07 px, and
        "bumpiness", see there.
    """
    estimate, real = (PIXELS_PER_FRAME * np.asarray(each, np.float64) for each in (index, truth))
    return {
        "mse": metrics.mse(estimate, real),
        "rmse": metrics.rmse(estimate, real),
        "bad": metrics.bad_pixels(estimate, real, BAD),
        "bumpiness": bumpiness(estimate, real),
    }


def bumpiness(estimate: NDArray[np.float64], truth: NDArray[np.float64]) -> float:
    r"""Return how uneven the error is.

    .. math:: B = 100 \cdot \mathrm{mean}\bigl(\min(0.05, \|H_f\|_F)\bigr), \quad f = d - d^*

    with the Hessian H from Scharr's derivatives, [1, 0, −1] smoothed across by [3, 10, 3]/16, as in
    the benchmark's toolkit. There it is taken on marked planes and smooth surfaces; the marks do
    not come with every scene, so here it is over all pixels whose neighbours are known.

    Parameters
    ----------
    estimate, truth : ndarray of shape (H, W), float64
        In pixels of disparity.

    Returns
    -------
    float
        From 0 to 5.
    """
    error = np.asarray(estimate - truth, np.float64)
    derivative, smooth = np.array([1.0, 0.0, -1.0]), np.array([3.0, 10.0, 3.0]) / 16

    def along(image: NDArray[np.float64], axis: int) -> NDArray[np.float64]:
        sloped = ndimage.correlate1d(image, derivative, axis=axis, mode="reflect")
        return np.asarray(ndimage.correlate1d(sloped, smooth, axis=1 - axis, mode="reflect"))

    slopes = [along(error, axis) for axis in (0, 1)]
    bends = [along(slope, axis) for slope in slopes for axis in (0, 1)]
    norm = np.sqrt(sum(bend**2 for bend in bends))
    known = np.isfinite(norm)
    if not known.any():
        return float("nan")
    return float(BUMP_FACTOR * np.minimum(norm[known], BUMP_LIMIT).mean())


def _views(folder: Path) -> list[Path]:
    """Return the files of the views, in order."""
    return sorted(folder.glob("input_Cam*.png")) if folder.is_dir() else []


def _scene(folder: Path, crop: int | None) -> Scene:
    name = resolved(folder).name
    return Scene(name, "pictures", lambda _: _stack(folder).cropped(crop), seeded=False)


def _stack(folder: Path) -> Case:
    """Read a light field, and make its stack and truth."""
    path = find_map(folder, *TRUTH_NAMES)
    if path is None:
        raise InputError(
            f"{folder}: has no disparity", f"expected {TRUTH_NAMES[0]}.pfm beside the views"
        )
    disparity = read_map(path)
    files, (rows, columns) = _views(folder), _grid(folder)
    if len(files) != rows * columns:
        raise InputError(
            f"{folder}: has {len(files)} views", f"expected {rows * columns} for {columns}×{rows}"
        )
    frames = probe_files(files).frames
    views = np.stack([without_alpha(frame.read()) for frame in frames])
    if views.shape[1:3] != disparity.shape:
        raise InputError(
            f"{path}: is {disparity.shape[1]}×{disparity.shape[0]} for views of "
            f"{views.shape[2]}×{views.shape[1]}",
            "expected one disparity per pixel",
        )
    grid = oriented(views.reshape(rows, columns, *disparity.shape, -1), disparity)
    clean = np.clip(np.rint(focal_stack(grid)), 0, np.iinfo(views.dtype).max)
    index = (disparity - DISPARITIES[0]) / PIXELS_PER_FRAME
    inside = (index >= 0) & (index <= len(DISPARITIES) - 1)
    pixels = clean.astype(views.dtype).reshape(len(clean), *views.shape[1:])
    truth = np.where(inside, index, np.nan).astype(np.float32)
    return Case(FocusStack.from_array(pixels), truth)


def _grid(folder: Path) -> tuple[int, int]:
    """Return rows and columns of cameras, by parameters.cfg where it is there."""
    path = folder / PARAMETERS
    if not path.is_file():
        return GRID
    parser = configparser.ConfigParser()
    try:
        parser.read(path, encoding="utf-8")
        extrinsics = parser["extrinsics"]
        return extrinsics.getint("num_cams_y", GRID[0]), extrinsics.getint("num_cams_x", GRID[1])
    except (configparser.Error, KeyError, ValueError, UnicodeDecodeError) as error:
        raise InputError(
            f"{path}: cannot be read ({error})", "expected the parameters of a light field"
        ) from error
