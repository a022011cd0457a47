"""The kernels of `varfocus.explain`."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from varfocus.engine.extension import kernels
from varfocus.engine.threads import thread_count

Float = NDArray[np.float32]

_read = np.ascontiguousarray


def reblur(frames: Float, pictures: Float, number: NDArray[np.int32], precision: float) -> Float:
    """Return Σ_k log(1 + (frame − picture)²/3v): `varfocus.explain.reblur.reblur`."""
    out = np.empty((number.shape[1], *frames.shape[1:]), np.float32)
    planes = _read(frames), _read(pictures), _read(number)
    kernels.reblur(*planes, precision, out, thread_count())
    return out


def compare(
    measured: Float, pictures: Float, radius: NDArray[np.float64], radii: NDArray[np.float64]
) -> tuple[Float, NDArray[np.int32]]:
    """Return frames less blurred pictures, and nearest radii: `varfocus.explain.lens.compared`."""
    off, nearest = np.empty(measured.shape, np.float32), np.empty(measured.shape, np.int32)
    read = _read(measured), _read(pictures), _read(radius), _read(radii)
    kernels.compare(*read, off, nearest, thread_count())
    return off, nearest


def fill_depth(
    d: Float, weight: Float, most: Float, bend: float, step: float, u: Float, v: Float, count: int
) -> tuple[Float, Float]:
    """Return u and v after some iterations: `varfocus.explain.fill.minimised`."""
    u, v = (np.array(each, np.float32, order="C") for each in (u, v))
    kernels.fill_depth(
        _read(d), _read(weight), _read(most), bend, step, u, v, count, thread_count()
    )
    return u, v


def vote(
    index: Float,
    trust: Float,
    picture: Float,
    asked: NDArray[np.bool_],
    closeness: Float,
    labels: int,
    kin: int,
    per_frame: float,
    precision: float,
    alike: float,
    clear: float,
) -> Float:
    """Return the depth after a vote: `varfocus.explain.vote.vote`."""
    out = np.empty(index.shape, np.float32)
    maps = _read(index), _read(trust), _read(picture), _read(asked).view(np.uint8)
    kernels.vote(
        *maps,
        _read(closeness),
        labels,
        kin,
        per_frame,
        precision,
        alike,
        clear,
        out,
        thread_count(),
    )
    return out
