"""The border to the C++ kernels: what the array code says, fast, on CPUs.

Every function here has a definition of the same name in array code, takes NumPy arrays, checks
them, and gives the same answer to float precision, whatever the number of threads. If the
extension was not built, ``available`` is False and callers use the array code.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np
from numpy.typing import NDArray

from varfocus.errors import ParameterError

try:
    import varfocus.engine._kernels as kernels

    available = True
    reason = ""
except ImportError as error:  # built without a compiler, or for another Python
    kernels: Any = None  # type: ignore[no-redef]
    available = False
    reason = f"varfocus was installed without its native engine ({error})"

__all__ = [
    "accepts",
    "add_expanded",
    "available",
    "best_match",
    "box_mean",
    "energy_terms",
    "explained",
    "fusion_level",
    "halve",
    "in_use",
    "kernels",
    "margin",
    "primal_dual",
    "reason",
    "reduce",
    "shrink",
    "slope",
    "switched_off",
    "thread_count",
    "use_threads",
    "warp",
]

WIDEST_WINDOW = 1999
"""Largest window side in pixels that the kernels accept."""

MOST_THREADS = 1024
"""Largest number of threads that the kernels accept."""

_chosen_threads: ContextVar[int | None] = ContextVar("threads", default=None)
_switched_off: ContextVar[bool] = ContextVar("switched_off", default=False)


def thread_count(threads: int | None = None) -> int:
    """Return how many threads a kernel may use.

    Parameters
    ----------
    threads : int, optional
        The caller's wish. Otherwise that of `use_threads`, of the environment variable
        ``VARFOCUS_THREADS``, or as many as this process may run on, in this order.

    Returns
    -------
    int
        At least 1.

    Raises
    ------
    ParameterError
        If the wish is not a number of threads.
    """
    wish: object = threads if threads is not None else _chosen_threads.get()
    name = "threads"
    if wish is None and os.environ.get("VARFOCUS_THREADS"):
        name, wish = "VARFOCUS_THREADS", os.environ["VARFOCUS_THREADS"]
    if wish is None:
        return min(processors(), MOST_THREADS)
    try:
        count = int(wish) if isinstance(wish, int | str | np.integer) else 0
    except ValueError:
        count = 0
    if not 1 <= count <= MOST_THREADS:
        raise ParameterError(
            f"received {name} = {wish!r}", f"expected a whole number from 1 to {MOST_THREADS}"
        )
    return count


@contextmanager
def use_threads(threads: int | None) -> Iterator[None]:
    """Let the kernels called inside use this many threads; None changes nothing."""
    if threads is None:
        yield
        return
    token = _chosen_threads.set(thread_count(threads))
    try:
        yield
    finally:
        _chosen_threads.reset(token)


@contextmanager
def switched_off() -> Iterator[None]:
    """Use the array code inside, as if the extension were missing: to compare the two."""
    token = _switched_off.set(True)
    try:
        yield
    finally:
        _switched_off.reset(token)


def in_use() -> bool:
    """Tell whether the kernels are there and not `switched_off`."""
    return available and not _switched_off.get()


def accepts(*arrays: Any) -> bool:
    """Tell whether the kernels can work on these arrays: NumPy, float32, and not empty."""
    return in_use() and all(
        isinstance(array, np.ndarray) and array.dtype == np.float32 and array.size > 0
        for array in arrays
    )


def box_mean(image: NDArray[np.float32], size: int) -> NDArray[np.float32]:
    """Return the mean over a ``size × size`` window: `varfocus.contrast.box_mean`."""
    image = _image("image", image)
    if size % 2 == 0 or not 1 <= size <= WIDEST_WINDOW:
        raise ParameterError(
            f"received a window of {size} pixels",
            f"expected an odd side of at most {WIDEST_WINDOW}",
        )
    out = np.empty_like(image)
    kernels.box_mean(image, out, size, thread_count())
    return out


def halve(planes: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return means over 2×2 pixels: `varfocus.minimise.primal_dual.halve`."""
    planes = _planes("planes", planes)
    m, height, width = planes.shape
    out = np.empty((m, (height + 1) // 2, (width + 1) // 2), np.float32)
    kernels.halve(planes, out, thread_count())
    return out


def reduce(image: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return an image (H, W, C) at half its size: `varfocus.fuse.pyramid.reduce`."""
    image = _checked("image", image, 3, "(H, W, C)")
    height, width, channels = image.shape
    out = np.empty(((height + 1) // 2, (width + 1) // 2, channels), np.float32)
    kernels.reduce(image, out, thread_count())
    return out


def add_expanded(fine: NDArray[np.float32], coarse: NDArray[np.float32], sign: float) -> None:
    """Add a coarse image to a fine one in place: `varfocus.fuse.pyramid.add_expanded`."""
    _written_in_place("fine", fine, fine.shape)
    kernels.add_expanded(_checked("coarse", coarse, 3, "(h, w, C)"), fine, sign, thread_count())


def fusion_level(
    coefficients: NDArray[np.float32],
    weight: NDArray[np.float32],
    number: int,
    doubt: float,
    suggested: tuple[NDArray[np.uint16], NDArray[np.uint16]],
    kept: tuple[NDArray[np.float32], ...],
    chosen: NDArray[np.uint16],
) -> None:
    """Take in one frame's coefficients in place: `varfocus.fuse.Level.add`.

    Parameters
    ----------
    coefficients, weight : ndarray of shape (h, w, C) and (h, w), float32
        Of frame `number`.
    number : int
        0-based frame number.
    doubt : float
        1/ρ of frames that are not suggested.
    suggested : two ndarrays of shape (h, w), uint16
        First and last frame that are.
    kept : four ndarrays of float32
        Blended and sharpest coefficients (h, w, C), best and least energy (h, w); overwritten.
    chosen : ndarray of shape (h, w), uint16
        Frame of the sharpest coefficients; overwritten.
    """
    coefficients = _checked("coefficients", coefficients, 3, "(h, w, C)")
    shapes = (coefficients.shape, coefficients.shape, weight.shape, weight.shape)
    for array, shape in zip(kept, shapes, strict=True):
        _written_in_place("kept", array, shape)
    blended, sharpest, best, least = kept
    kernels.fusion_level(
        coefficients,
        _image("weight", weight),
        number,
        doubt,
        suggested[0],
        suggested[1],
        blended,
        sharpest,
        best,
        least,
        chosen,
        thread_count(),
    )


def energy_terms(a: NDArray[np.float32], d: NDArray[np.float32]) -> tuple[float, float]:
    """Return −Σ c(d) and ‖Kd‖₂,₁: the two parts of `varfocus.energy.energy`."""
    a, d = _curves(a, d)
    return kernels.energy_terms(a, d, thread_count())


def slope(a: NDArray[np.float32], d: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return c′(d): `varfocus.curve.evaluate` of `varfocus.curve.derivative`."""
    a, d = _curves(a, d)
    out = np.empty_like(d)
    kernels.slope(a, d, out, thread_count())
    return out


def margin(
    a: NDArray[np.float32],
    basis: NDArray[np.float32],
    rival_distance: float,
    index: NDArray[np.float32],
) -> NDArray[np.float32]:
    """Return the lead of the chosen depth: `varfocus.depth.curve_margin`.

    Parameters
    ----------
    a : ndarray of shape (degree + 1, H, W), float32
        Coefficients of the windowed curves.
    basis : ndarray of shape (n, degree + 1), float32
        Chebyshev polynomials at the frames.
    rival_distance : float
        In frames.
    index : ndarray of shape (H, W), float32
        The chosen depth in frames.

    Returns
    -------
    ndarray of shape (H, W), float32
        In [−1, 1].
    """
    a, index = _curves(a, index)
    basis = _image("basis", basis)
    if basis.shape[0] < 2 or basis.shape[1] != a.shape[0]:
        raise ParameterError(
            f"received a basis of shape {basis.shape} for {a.shape[0]} coefficients",
            "expected (frames, degree + 1), with at least 2 frames",
        )
    out = np.empty_like(index)
    kernels.margin(a, basis, rival_distance, index, out, thread_count())
    return out


def primal_dual(
    a: NDArray[np.float32],
    d: NDArray[np.float32],
    p: NDArray[np.float32],
    *,
    alpha: float,
    sigma: float,
    iterations: int,
) -> None:
    """Run primal-dual iterations on `d` and `p` in place: `minimise.primal_dual.iterate`.

    Parameters
    ----------
    a : ndarray of shape (degree + 1, H, W), float32
        Coefficients of the contrast curves.
    d : ndarray of shape (H, W), float32, contiguous
        Depth, overwritten.
    p : ndarray of shape (2, H, W), float32, contiguous
        Dual variable, overwritten; zero in the last column of p[0] and the last row of p[1].
    alpha, sigma : float
        Weight of the total variation and dual step size, both positive.
    iterations : int
        How many.
    """
    a, _ = _curves(a, d)
    for name, array, shape in (("d", d, d.shape), ("p", p, (2, *d.shape))):
        _written_in_place(name, array, shape)
    if not (alpha > 0 and sigma > 0 and iterations >= 0):
        raise ParameterError(
            f"received alpha = {alpha!r}, sigma = {sigma!r}, iterations = {iterations!r}",
            "expected positive alpha and sigma, and iterations of at least 0",
        )
    kernels.primal_dual(a, d, p, alpha, sigma, iterations, thread_count())


def best_match(
    templates: NDArray[np.float32], v: NDArray[np.float32]
) -> tuple[NDArray[np.float32], NDArray[np.int32]]:
    """Return the largest product of each curve and its number: `curve.templates.best_match`."""
    templates, v = _templates(templates, v)
    best, number = np.empty(v.shape[1], np.float32), np.empty(v.shape[1], np.int32)
    kernels.best_match(templates, v, best, number, thread_count())
    return best, number


def explained(templates: NDArray[np.float32], v: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return what templates explain of curves: `varfocus.curve.templates.explained`."""
    templates, v = _templates(templates, v)
    out = np.empty((templates.shape[1], v.shape[1]), np.float32)
    kernels.explained(templates, v, out, thread_count())
    return out


def _templates(
    templates: NDArray[Any], v: NDArray[Any]
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    templates, v = _planes("templates", templates), _image("curves", v)
    if templates.shape[2] != v.shape[0]:
        raise ParameterError(
            f"received templates of shape {templates.shape} and curves of shape {v.shape}",
            "expected (widths, labels, frames) and (frames, pixels)",
        )
    return templates, v


def warp(
    frame: NDArray[Any],
    out: NDArray[Any],
    matrix: NDArray[np.float64],
    table: NDArray[np.float32],
    gains: NDArray[np.float32],
) -> None:
    """Resample a frame ``(H, W, 1 or 3)`` into `out`: `varfocus.align.warp.warp`."""
    matrix = np.ascontiguousarray(matrix, np.float64)
    kernels.warp(frame, out, matrix, table, gains, thread_count())


def shrink(frame: NDArray[Any], out: NDArray[np.float32], factor: int, scale: float) -> None:
    """Write block means of a frame ``(H, W, C)`` into `out`: `varfocus.align.warp.shrink`."""
    kernels.shrink(frame, out, factor, scale, thread_count())


def processors() -> int:
    """Return how many processors this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _image(name: str, image: NDArray[Any]) -> NDArray[np.float32]:
    return _checked(name, image, 2, "(H, W)")


def _planes(name: str, planes: NDArray[Any]) -> NDArray[np.float32]:
    return _checked(name, planes, 3, "(planes, H, W)")


def _curves(a: NDArray[Any], d: NDArray[Any]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    a, d = _planes("coefficients", a), _image("depth", d)
    if a.shape[1:] != d.shape:
        raise ParameterError(
            f"received coefficients of shape {a.shape} and a depth of shape {d.shape}",
            "expected the same height and width",
        )
    return a, d


def _checked(name: str, array: NDArray[Any], ndim: int, shape: str) -> NDArray[np.float32]:
    if not isinstance(array, np.ndarray) or array.dtype != np.float32 or array.ndim != ndim:
        raise ParameterError(
            f"received {name}: {_describe(array)}", f"expected a float32 NumPy array {shape}"
        )
    if array.size == 0:
        raise ParameterError(f"received {name}: {_describe(array)}", "expected at least one pixel")
    return np.ascontiguousarray(array)


def _written_in_place(name: str, array: NDArray[Any], shape: tuple[int, ...]) -> None:
    ok = (
        isinstance(array, np.ndarray)
        and array.dtype == np.float32
        and array.shape == shape
        and array.flags.c_contiguous
        and array.flags.writeable
    )
    if not ok:
        raise ParameterError(
            f"received {name}: {_describe(array)}",
            f"expected a contiguous, writeable float32 NumPy array of shape {shape}",
        )


def _describe(array: Any) -> str:
    if isinstance(array, np.ndarray):
        return f"{array.dtype} of shape {array.shape}"
    return type(array).__name__
