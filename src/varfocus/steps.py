"""Single steps on plain arrays, as in scikit-image: arrays in, arrays out, options by keyword.

`varfocus.reconstruct` does all of them. These are for those who replace one by their own. Frames
are arrays ``(n, H, W)`` or ``(n, H, W, 3)`` of uint8, uint16 or floats; depth is a fractional,
0-based frame number until `to_depth` gives it a unit.

>>> import varfocus
>>> from varfocus import steps
>>> scene = varfocus.simulate("cone", shape=(64, 64))
>>> frames, positions = scene.frames, scene.focus
>>> aligned = steps.align_frames(frames)
>>> index = steps.focus_index(aligned)
>>> picture = steps.fuse_frames(aligned, index)
>>> depth = steps.to_depth(index, positions)
>>> picture.shape, depth.shape
((64, 64), (64, 64))
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from varfocus import depth as depth_module
from varfocus.align import align
from varfocus.arrays import real_numbers
from varfocus.bugs import guarded
from varfocus.contrast import box_mean, contrast_function
from varfocus.errors import ParameterError
from varfocus.fuse import fuse
from varfocus.params import (
    AlignParams,
    ClassicParams,
    FocusMeasure,
    FuseParams,
    Params,
    SharpnessParams,
)
from varfocus.pipeline import run
from varfocus.stack import FocusStack
from varfocus.text import shown

__all__ = ["align_frames", "focus_index", "focus_volume", "fuse_frames", "to_depth"]

Float = NDArray[np.float32]


@guarded
def align_frames(images: ArrayLike, **options: Any) -> NDArray[Any]:
    """Bring the frames to one place and one brightness.

    Parameters
    ----------
    images : array_like of shape (n, H, W) or (n, H, W, 3)
        Frames in the order of focus.
    **options
        Any field of `varfocus.params.AlignParams`, such as ``align="affine"``.

    Returns
    -------
    ndarray of shape (m, H', W') or (m, H', W', 3)
        The part that all frames show, in their dtype; frames that fit nowhere are left out.
        Frames that did not move come back as they were.

    Examples
    --------
    >>> import numpy as np, varfocus
    >>> frames = varfocus.simulate("cone", shape=(64, 64)).frames
    >>> bool((varfocus.steps.align_frames(frames) == frames).all())
    True
    """
    aligned, _ = align(FocusStack.from_array(images), AlignParams(**options))
    return np.stack(list(aligned))


@guarded
def focus_volume(images: ArrayLike, measure: FocusMeasure = "mlap", window: int = 1) -> Float:
    """Measure how sharp every pixel of every frame is.

    Parameters
    ----------
    images : array_like of shape (n, H, W) or (n, H, W, 3)
        Frames; integers are mapped to [0, 1] first.
    measure : str or callable
        A focus measure of `varfocus.contrast.MEASURES`, or a function of an image.
    window : int
        Side in pixels, odd, of the window over which contrast is averaged; 1 for none.

    Returns
    -------
    ndarray of shape (n, H, W), float32
        Contrast, not negative.

    Examples
    --------
    The frame in which each pixel is sharpest is the oldest depth from focus there is:

    >>> import varfocus
    >>> scene = varfocus.simulate("plane", shape=(64, 64), noise=0)
    >>> volume = varfocus.steps.focus_volume(scene.frames, window=9)
    >>> error = abs(volume.argmax(axis=0) - scene.truth_index)
    >>> bool((error < 1).mean() > 0.9)
    True
    """
    stack = FocusStack.from_array(images)
    sharpness = contrast_function(SharpnessParams(measure).measure)
    window = ClassicParams(window=window).window
    planes = (sharpness(stack.read_unit(k)) for k in range(len(stack)))
    return np.stack([np.asarray(box_mean(p, window) if window > 1 else p) for p in planes])


@guarded
def focus_index(images: ArrayLike, method: str = "auto", **parameters: Any) -> Float:
    """Find in which frame every pixel is in focus.

    Parameters
    ----------
    images : array_like of shape (n, H, W) or (n, H, W, 3)
        Aligned frames.
    method : {"auto", "robust", "paper", "classic"}
        As for `varfocus.reconstruct`.
    **parameters
        As for `varfocus.reconstruct`, such as ``smoothness=2``.

    Returns
    -------
    ndarray of shape (H, W), float32
        Fractional 0-based frame number.

    Examples
    --------
    >>> import varfocus
    >>> scene = varfocus.simulate("cone", shape=(64, 64))
    >>> index = varfocus.steps.focus_index(scene.frames, "classic", window=9)
    >>> bool(abs(index - scene.truth_index).mean() < 1)
    True
    """
    params = Params.from_keywords(method, align="none", **parameters)
    return run(FocusStack.from_array(images), params).index


@guarded
def fuse_frames(images: ArrayLike, index: ArrayLike, **options: Any) -> NDArray[Any]:
    """Compose the picture in which everything is in focus.

    Parameters
    ----------
    images : array_like of shape (n, H, W) or (n, H, W, 3)
        Aligned frames.
    index : array_like of shape (H, W)
        Fractional 0-based frame number that is in focus, from any method.
    **options
        Any field of `varfocus.params.FuseParams`, such as ``front=2``.

    Returns
    -------
    ndarray of shape (H, W) or (H, W, 3)
        In the dtype of the frames.

    Examples
    --------
    A depth that points to one frame gives that frame, unless another is clearly sharper:

    >>> import numpy as np, varfocus
    >>> frames = varfocus.simulate("cone", shape=(64, 64)).frames
    >>> fused = varfocus.steps.fuse_frames(frames, np.full((64, 64), 3.0), sharper=0)
    >>> bool(abs(fused.astype(int) - frames[3]).max() <= 1)
    True
    """
    stack = FocusStack.from_array(images)
    return fuse(stack, _index(index), FuseParams(**options)).image


@guarded
def to_depth(index: ArrayLike, focus: ArrayLike | None = None) -> Float:
    """Turn frame numbers into depth.

    Parameters
    ----------
    index : array_like of shape (H, W)
        Fractional 0-based frame number.
    focus : array_like of shape (n,), optional
        Focus position of each frame; None for frame numbers.

    Returns
    -------
    ndarray of shape (H, W), float32
        Depth in the unit of `focus`.

    Examples
    --------
    >>> from varfocus import steps
    >>> steps.to_depth([[0.0, 0.5, 2.0]], focus=[10, 20, 40])
    array([[10., 15., 40.]], dtype=float32)
    """
    positions = None if focus is None else _numbers("focus", focus, 1)
    return depth_module.index_to_depth(_index(index), positions)


def _index(values: ArrayLike) -> Float:
    """Return frame numbers, none of them beyond what float32 can hold."""
    return np.clip(_numbers("index", values, 2), -1e30, 1e30).astype(np.float32)


def _numbers(name: str, values: ArrayLike, axes: int) -> NDArray[np.float64]:
    """Return real numbers as an array with so many axes, none of them empty."""
    try:
        found = real_numbers(values)
    except (TypeError, ValueError, OverflowError):
        found = np.empty(0)
    if found.ndim != axes or not found.size:
        kind = {1: "one number per frame", 2: "one number per pixel, (H, W)"}[axes]
        raise ParameterError(f"received {name} = {shown(values)}", f"expected {kind}")
    return found
