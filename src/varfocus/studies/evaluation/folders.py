"""Folders with frames and truth.

::

    shots/
        frames/            the stack, as for ``varfocus depth``; or the images lie in shots/ itself
        truth_index.tif    0-based frame in focus at each pixel, fractional; NaN = unknown
        focus.csv          optional: one focus position per frame, then known to the methods

``truth_index`` may be called ``truth``, and may be .npy, .npz (its first array) or .tif. In its
place ``truth_depth`` may hold the depth in the unit of focus.csv. ``varfocus simulate`` writes such
folders.
"""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from varfocus.errors import InputError
from varfocus.io import read_stack
from varfocus.io.discover import find_files
from varfocus.io.frames import probe_files
from varfocus.io.positions import read_positions
from varfocus.simulation.simulation import index_of_depth
from varfocus.stack import FRAMES, FocusStack
from varfocus.studies.evaluation.case import Case, Group, Map, Scene
from varfocus.studies.evaluation.scores import jump_size
from varfocus.studies.metrics import jump_distance

INDEX_NAMES = ("truth_index", "truth")
DEPTH_NAMES = ("truth_depth",)
SUFFIXES = (".npy", ".npz", ".tif", ".tiff")
NO_FRAMES = {*INDEX_NAMES, *DEPTH_NAMES, "sharp"}
"""Images beside the frames that are not frames."""

FOCUS_FILE = "focus.csv"


def folder_scene(folder: Path, origin: tuple[int, int] | None = None) -> Scene:
    """Return the scene in a folder; everything but the pixels of the frames is read and checked.

    Parameters
    ----------
    folder : Path
        With frames and truth, see above.
    origin : tuple of two int, optional
        Row and column of the frames at which a truth that does not cover them begins.

    Returns
    -------
    Scene
        In the group "jumps" if the truth has any, see `scores.jump_size`, else "smooth".

    Raises
    ------
    InputError
        If frames or truth are missing or do not belong together.
    """
    stack = _frames(folder)
    unit = FRAMES
    if (folder / FOCUS_FILE).exists():
        positions = read_positions(folder / FOCUS_FILE)
        stack = stack.with_focus(positions.values, positions.unit)
        unit = stack.unit
    truth = _placed(_truth(folder, stack), stack, origin, folder)
    case = Case(stack, truth, stack.focus, unit)
    has_jumps = np.isfinite(jump_distance(truth, jump_size(len(stack)))).any()
    group: Group = "jumps" if has_jumps else "smooth"
    return Scene(folder.resolve().name, group, lambda _: case, seeded=False)


def _frames(folder: Path) -> FocusStack:
    if not folder.is_dir():
        raise InputError(
            f"{folder}: is not a folder",
            "expected a folder with frames and truth",
            "See varfocus evaluate --help.",
        )
    inner = folder / "frames"
    if inner.is_dir():
        return read_stack(inner)
    return read_stack([path for path in find_files(folder) if path.stem not in NO_FRAMES])


def _truth(folder: Path, stack: FocusStack) -> Map:
    """Read the truth as frame numbers."""
    by_index, by_depth = (_first(folder, names) for names in (INDEX_NAMES, DEPTH_NAMES))
    if by_index is not None:
        truth, what = _numbers(by_index), "0-based frame numbers"
        inside = (truth >= -0.5) & (truth <= len(stack) - 0.5)
        index = np.where(inside, truth, np.nan).astype(np.float32)
    elif by_depth is not None:
        if stack.focus is None:
            raise InputError(
                f"{by_depth}: is a depth, but the focus positions of the frames are not known",
                f"expected {FOCUS_FILE} beside it, with one position per frame",
                "Add it, or give the truth as truth_index in frames.",
            )
        truth, what = _numbers(by_depth), f"depths in the unit of {FOCUS_FILE}"
        index = index_of_depth(truth, stack.focus)
    else:
        raise InputError(
            f"{folder}: has no truth",
            "expected truth_index (frames) or truth_depth (unit of focus.csv) as "
            + ", ".join(SUFFIXES),
            "varfocus simulate writes such folders.",
        )
    if np.isfinite(index).sum() < 0.5 * max(np.isfinite(truth).sum(), 1):
        known = truth[np.isfinite(truth)]
        seen = f"values from {known.min():g} to {known.max():g}" if known.size else "no number"
        raise InputError(
            f"{by_index or by_depth}: {seen} for {len(stack)} frames", f"expected {what}"
        )
    return index


def _first(folder: Path, names: tuple[str, ...]) -> Path | None:
    places = (folder / f"{name}{suffix}" for name in names for suffix in SUFFIXES)
    return next((path for path in places if path.is_file()), None)


def _numbers(path: Path) -> NDArray[Any]:
    if path.suffix in (".tif", ".tiff"):
        values = probe_files([path]).frames[0].read()
    else:
        try:
            loaded = np.load(path, allow_pickle=False)
            values = loaded[loaded.files[0]] if isinstance(loaded, np.lib.npyio.NpzFile) else loaded
        except (OSError, ValueError, EOFError, IndexError, zipfile.BadZipFile) as error:
            raise InputError(
                f"{path}: cannot be read ({error})", "expected an array saved by NumPy"
            ) from error
    if values.ndim != 2 or values.dtype.kind not in "fiu":
        raise InputError(
            f"{path}: received {values.dtype} of shape {values.shape}",
            "expected one real number per pixel",
        )
    return values


def _placed(truth: Map, stack: FocusStack, origin: tuple[int, int] | None, folder: Path) -> Map:
    """Put a truth that covers a part of the frames where it belongs."""
    if truth.shape == stack.shape:
        return truth
    top, left = origin or (0, 0)
    bottom, right = top + truth.shape[0], left + truth.shape[1]
    outside = min(top, left) < 0 or bottom > stack.shape[0] or right > stack.shape[1]
    if origin is None or outside:
        height, width = stack.shape
        place = "" if origin is None else f" from row {top}, column {left}"
        raise InputError(
            f"{folder}: truth of {truth.shape[1]}×{truth.shape[0]}{place} for frames of "
            f"{width}×{height}",
            "expected one value per pixel",
            "If it covers a part of the frames, say where it begins: --truth-origin ROW COLUMN.",
        )
    whole = np.full(stack.shape, np.nan, np.float32)
    whole[top:bottom, left:right] = truth
    return whole
