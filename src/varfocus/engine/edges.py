"""The kernels of the edge stage: what `varfocus.edges.render`, `.judge`, `.outline` define."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from varfocus.engine.extension import kernels
from varfocus.engine.threads import thread_count

if TYPE_CHECKING:
    from varfocus.engine._kernels import EdgeConstants

Float = NDArray[np.float32]
Labels = NDArray[np.int32]


def convolved(planes: Float, taps: Float) -> Float:
    """Return planes filtered along both axes: `varfocus.edges.render.convolved`."""
    out = np.empty(planes.shape, np.float32)
    kernels.edge_convolve(np.ascontiguousarray(planes), np.ascontiguousarray(taps), out)
    return out


def closest(mask: NDArray[np.bool_], rank: Float, reach: int) -> tuple[Float, NDArray[np.int64]]:
    """Return distance and place of the closest pixel: `varfocus.edges.sides.closest`."""
    distance, place = np.empty(mask.shape, np.float32), np.empty(mask.shape, np.int64)
    kernels.closest(
        np.ascontiguousarray(mask).view(np.uint8),
        np.ascontiguousarray(rank),
        reach,
        distance,
        place,
        thread_count(),
    )
    return distance, place


@cache
def _constants(**values: float) -> EdgeConstants:
    return kernels.EdgeConstants(**values)


def judge(
    frames: Float,
    label: Labels,
    near: Labels,
    far: Labels,
    sigma: Float,
    constants: Mapping[str, float],
    tau2: float,
    sharp: float,
) -> tuple[Float, Float, Float]:
    """Return change, error and colour of a patch: `varfocus.edges.judge.judge`.

    Parameters
    ----------
    frames : ndarray of shape (n, C, h, w), float32
        Frames.
    label, near, far : ndarray of shape (h, w), int32
        Layers.
    sigma : ndarray of shape (n, L), float32
        Blurs in pixels.
    constants : mapping of str to float
        `varfocus.edges.constants.RenderConstants`.
    tau2, sharp : float
        τ², and the largest blur of a frame that is asked.

    Returns
    -------
    tuple of ndarrays of shape (h, w), (h, w) and (C, h, w), float32
        As in the definition.
    """
    frames, sigma = np.ascontiguousarray(frames), np.ascontiguousarray(sigma)
    label, near, far = (np.ascontiguousarray(layer) for layer in (label, near, far))
    change, error = np.empty(label.shape, np.float32), np.empty(label.shape, np.float32)
    colour = np.empty(frames.shape[1:], np.float32)
    given = _constants(**constants)
    kernels.edge_judge(frames, label, near, far, sigma, given, tau2, sharp, change, error, colour)
    return change, error, colour


def plain_error(
    frames: Float, label: Labels, sigma: Float, constants: Mapping[str, float], tau2: float
) -> Float:
    """Return the error without occlusion: `varfocus.edges.judge.plain_error`."""
    frames, sigma = np.ascontiguousarray(frames), np.ascontiguousarray(sigma)
    label = np.ascontiguousarray(label)
    error = np.empty(label.shape, np.float32)
    given = _constants(**constants)
    kernels.edge_plain_error(frames, label, label, label, sigma, given, tau2, error)
    return error


def likeness(
    picture: Float,
    index: Float,
    sure: NDArray[np.bool_],
    near: Float,
    far: Float,
    asked: NDArray[np.bool_],
    closeness: Float,
    precision: float,
    side: float,
    sums: Float,
) -> None:
    """Add up what pixels look like on either side: `varfocus.edges.outline.likeness`."""
    depth, first, second = (np.ascontiguousarray(each) for each in (index, near, far))
    kernels.likeness(
        np.ascontiguousarray(picture),
        depth,
        np.ascontiguousarray(sure).view(np.uint8),
        first,
        second,
        np.ascontiguousarray(asked).view(np.uint8),
        closeness,
        precision,
        side,
        sums,
        thread_count(),
    )


def consensus(
    index: Float,
    slopes: Float,
    picture: Float,
    asked: NDArray[np.bool_],
    closeness: Float,
    bins: int,
    last: float,
    precision: float,
    alike: float,
    apart: float,
    clear: float,
    enough: float,
) -> Float:
    """Return the depth after a round: `varfocus.edges.consensus.agreed`."""
    out = np.empty(index.shape, np.float32)
    kernels.consensus(
        np.ascontiguousarray(index),
        slopes,
        np.ascontiguousarray(picture),
        np.ascontiguousarray(asked).view(np.uint8),
        closeness,
        bins,
        last,
        precision,
        alike,
        apart,
        clear,
        enough,
        out,
        thread_count(),
    )
    return out


def segments(picture: Float, grains: NDArray[np.float64], least: Labels) -> Labels:
    """Return a picture cut by each grain: `varfocus.edges.regions.segments`."""
    labels = np.empty((grains.size, *picture.shape[:2]), np.int32)
    kernels.segments(np.ascontiguousarray(picture), grains, least, labels)
    return labels


def region_planes(
    index: Float,
    label: Labels,
    offset: Labels,
    away: Float,
    widest: float,
    least: float,
    tolerance: float,
    stiff: float,
    rounds: int,
    out: Float,
) -> None:
    """Add the planes of the regions: `varfocus.edges.regions.planes`."""
    count = int(label.max()) + 1
    kernels.region_planes(
        np.ascontiguousarray(index),
        label,
        count,
        offset,
        away,
        widest,
        least,
        tolerance,
        stiff,
        rounds,
        out,
    )
