"""Folders with frames and truth.

::

    shots/
        frames/            the stack, as for ``varfocus depth``; or the images lie in shots/ itself
        truth_index.tif    0-based frame in focus at each pixel, fractional; NaN = unknown
        focus.csv          optional: one focus position per frame, then known to the methods

``truth_index`` may be called ``truth``, and may be .npy, .npz (its first array), .tif or .pfm. In
its place ``truth_depth`` may hold the depth in the unit of focus.csv. ``varfocus simulate`` writes
such folders.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from varfocus.errors import InputError
from varfocus.files import resolved
from varfocus.io import read_stack
from varfocus.io.discover import find_files
from varfocus.io.positions import read_positions
from varfocus.io.simulated import FOCUS_FILE
from varfocus.simulation.simulation import index_of_depth
from varfocus.stack import FRAMES, FocusStack
from varfocus.studies.evaluation.case import Case, Group, Map, Scene
from varfocus.studies.evaluation.maps import SUFFIXES, find_map, read_map
from varfocus.studies.evaluation.places import jump_size
from varfocus.studies.metrics import jump_distance

INDEX_NAMES = ("truth_index", "truth")
DEPTH_NAMES = ("truth_depth",)
NO_FRAMES = {*INDEX_NAMES, *DEPTH_NAMES, "sharp"}
"""Images beside the frames that are not frames."""


def folder_scene(
    folder: Path,
    origin: tuple[int, int] | None = None,
    crop: int | None = None,
    with_jumps: Group = "jumps",
) -> Scene:
    """Return the scene in a folder; everything but the pixels of the frames is read and checked.

    Parameters
    ----------
    folder : Path
        With frames and truth, see above.
    origin : tuple of two int, optional
        Row and column of the frames at which a truth that does not cover them begins.

    crop : int, optional
        Only the middle, at most this many pixels high and wide.
    with_jumps : str
        Group of stacks whose truth has jumps, see `places.jump_size`.

    Returns
    -------
    Scene
        Without jumps in the group "smooth".

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
    case = Case(stack, truth, stack.focus, unit).cropped(crop)
    has_jumps = np.isfinite(jump_distance(truth, jump_size(len(stack)))).any()
    group: Group = with_jumps if has_jumps else "smooth"
    return Scene(resolved(folder).name, group, lambda _: case, seeded=False)


def stack_folders(folder: Path) -> list[Path]:
    """Return the folders below this one that hold a truth, or the folder itself if it does."""
    names = (*INDEX_NAMES, *DEPTH_NAMES)
    if find_map(folder, *names) is not None:
        return [folder]
    found = sorted(path for path in folder.glob("*") if find_map(path, *names) is not None)
    if not found:
        raise InputError(
            f"{folder}: holds no stack with truth",
            "expected folders with frames and truth",
            "See varfocus evaluate --help.",
        )
    return found


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
    by_index, by_depth = (find_map(folder, *names) for names in (INDEX_NAMES, DEPTH_NAMES))
    if by_index is not None:
        truth, what = read_map(by_index), "0-based frame numbers"
        inside = (truth >= -0.5) & (truth <= len(stack) - 0.5)
        index = np.where(inside, truth, np.nan).astype(np.float32)
    elif by_depth is not None:
        if stack.focus is None:
            raise InputError(
                f"{by_depth}: is a depth, but the focus positions of the frames are not known",
                f"expected {FOCUS_FILE} beside it, with one position per frame",
                "Add it, or give the truth as truth_index in frames.",
            )
        truth, what = read_map(by_depth), f"depths in the unit of {FOCUS_FILE}"
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
