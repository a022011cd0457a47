"""`varfocus.minimise.search.Search` on the kernels, in as many bands of rows as memory demands.

Volumes are ``(rows, W, labels)``, labels padded to a multiple of `LABEL_PADDING`, one band at a
time. Paths run through all bands: a first sweep down the image keeps the path costs of the last row
of each band, a second one goes up from band to band and completes the sums. So bands change nothing
but the time: the cost is computed twice, and once more to judge the result. A single band is kept.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from varfocus.curve.likelihood import Model
from varfocus.curve.templates import even_half, folded_templates
from varfocus.energy import WindowTerm
from varfocus.energy.confine import Confinement
from varfocus.engine import LABEL_PADDING, kernels, thread_count
from varfocus.engine import WINDOW as WINDOW  # also used to count its bytes
from varfocus.errors import ParameterError
from varfocus.minimise.semi_global import PATHS

Float = NDArray[np.float32]

Empty: TypeAlias = Callable[..., NDArray[Any]]
"""Makes an array of a shape and a number type, its content arbitrary: `numpy.empty`, or alike."""

TEMPLATE_ERROR = 5e-4
"""How far templates may be off, in their norm, to be combinations of fewer curves: as far as
contrast itself is, which is kept with 10 bits."""

FEWEST_FRAMES = 48
"""With fewer frames, templates are not worth combining from other curves."""

FEWEST_ROWS, FEWEST_ROWS_ON_DISK = 64, 16
"""Rows of a band at least. In memory, narrower bands would mean more path costs to keep than
volumes to hold; where these lie on disk, they cost no memory."""

LANE_GUARD = 16
"""Labels that guard each pixel's path costs in the kernel."""

CACHE_LINE, PAGE = 64, 4096
"""Bytes that a processor fetches at once, and that memory is handed out by."""

NOTHING = np.empty((0, 0, 0), np.float32)
"""Stands for path costs at the border of the image, and for results that are not needed."""


def padded(labels: int) -> int:
    """Return the number of labels, with those that pad them."""
    return -(-labels // LABEL_PADDING) * LABEL_PADDING


def volume_bytes(
    shape: tuple[int, int], n: int, labels: int, bands: int, on_disk: bool = False
) -> int:
    """Return what a search in that many bands holds in memory.

    Parameters
    ----------
    shape : (int, int)
        Height and width of the image.
    n : int
        Number of frames.
    labels : int
        Number of labels.
    bands : int
        How many bands.
    on_disk : bool
        Contrast, maps and the path costs between bands lie on disk: those of a band, and of its two
        borders, are in memory while it is worked on. Else all path costs between bands are, and
        contrast and maps are counted elsewhere.

    Returns
    -------
    int
        Bytes: two volumes, path costs between bands, and what lies beside them.
    """
    height, width = shape
    rows = -(-height // bands)
    if on_disk:
        beside = 4 * n + 2 * WINDOW + 40
        borders = 24 * (2 * padded(labels) + LANE_GUARD)
        return width * (rows * (8 * padded(labels) + beside) + borders)
    return 4 * padded(labels) * width * (2 * rows + 6 * (bands - 1))


def band_count(
    shape: tuple[int, int], n: int, labels: int, room: float | None, on_disk: bool = False
) -> int:
    """Return the smallest number of bands that takes no more than `room` bytes; one if None.

    If there is none, the number that takes least. Other parameters as for `volume_bytes`.
    """
    if room is None:
        return 1
    fewest = FEWEST_ROWS_ON_DISK if on_disk else FEWEST_ROWS
    counts = range(1, max(shape[0] // fewest, 1) + 1)
    sizes = {count: volume_bytes(shape, n, labels, count, on_disk) for count in counts}
    least = min(counts, key=lambda count: sizes[count])
    return next((count for count in counts if sizes[count] <= room), least)


def band_disk_bytes(shape: tuple[int, int], labels: int, bands: int) -> int:
    """Return what the path costs between bands take where they lie on disk."""
    return 24 * padded(labels) * shape[1] * (bands - 1)


def aligned(shape: tuple[int, ...], line: int | None = None) -> Float:
    """Return an uninitialised float32 array that starts at a multiple of 64 bytes.

    Vectors that straddle two cache lines would take twice as long to load.

    Parameters
    ----------
    shape : tuple of int
        Its shape.
    line : int, optional
        Which cache line of a memory page it starts at, from 0 to 63; by default any.
    """
    unit = CACHE_LINE if line is None else PAGE
    raw = np.empty(4 * math.prod(shape) + unit + CACHE_LINE * (line or 0), np.uint8)
    first = -raw.ctypes.data % unit + CACHE_LINE * (line or 0)
    return raw[first : first + 4 * math.prod(shape)].view(np.float32).reshape(shape)


def compressed(model: Model) -> tuple[Float, Float, int]:
    """Return templates as combinations of as few curves as describe them.

    Templates of neighbouring labels and widths are much alike: with many frames, a basis of some
    dozens describes hundreds of them: their principal components. On an axis that is its own mirror
    image, the templates of the last labels are those of the first ones seen backwards: every curve
    of the basis is even or odd, and half of the labels suffice.

    Parameters
    ----------
    model : Model
        Gives the templates of every scale.

    Returns
    -------
    basis : ndarray of shape (scales, rank, n), float32
        Orthonormal curves; none where that would save no work: the basis is then that of the frames
        or, if `even` is not 0, of `varfocus.curve.templates.folded`.
    bank : ndarray of shape (scales, widths, rank, padded labels), float32
        Each template in this basis, or those of the first half of the labels.
    even : int
        How many curves of the basis are even, the first ones, if the others are odd; else 0.
    """
    n, labels = model.coordinate.n, model.labels
    full = np.stack([bank.templates(labels) for bank in model.banks]).astype(np.float64)
    backwards = full[:, :, ::-1, ::-1]
    mirrored = np.linalg.norm(full - backwards, axis=-1).max() <= TEMPLATE_ERROR
    if mirrored:
        full = (0.5 * (full + backwards))[:, :, : (labels + 1) // 2]
    widths, given = full.shape[1:3]

    def banked(coefficients: NDArray[np.float64]) -> Float:
        bank = np.zeros((*coefficients.shape[:2], coefficients.shape[3], padded(given)), np.float32)
        bank[..., :given] = coefficients.swapaxes(2, 3)
        return bank

    products = widths * padded(given)
    direct = (folded_templates(full), even_half(n)) if mirrored else (full, 0)
    if n < FEWEST_FRAMES:
        return NOTHING, banked(direct[0]), direct[1]
    parts = [full]
    if mirrored:  # even and odd
        parts = [0.5 * (full + full[..., ::-1]), 0.5 * (full - full[..., ::-1])]
    limit = TEMPLATE_ERROR**2 / len(parts)
    bases, coefficients = zip(*(_principal(part, limit) for part in parts), strict=True)
    basis = np.concatenate(bases, axis=1)
    rank = basis.shape[1]
    if rank * (n + products) > n * products:
        return NOTHING, banked(direct[0]), direct[1]
    bank = banked(np.concatenate(coefficients, axis=3))
    return np.ascontiguousarray(basis, np.float32), bank, bases[0].shape[1] if mirrored else 0


def _principal(
    templates: NDArray[np.float64], limit: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return as few curves (scales, rank, n) as describe templates (scales, W, L, n), and how.

    The squared error of no template exceeds the limit. The second array has the coefficients,
    ``(scales, W, L, rank)``.
    """
    rank, parts = 1, []
    for one in templates:
        # Principal curves, the most important first; a singular value decomposition takes longer.
        rows = one.reshape(-1, one.shape[-1])
        curves = np.linalg.eigh(rows.T @ rows)[1][:, ::-1].T
        coefficients = one @ curves.T
        # Squared error of the worst template if only the first r curves are kept, for every r.
        tail = np.cumsum(coefficients[..., ::-1] ** 2, axis=-1)[..., ::-1].max(axis=(0, 1))
        rank = max(rank, int(np.sum(tail > limit)))
        parts.append((curves, coefficients))
    curves, coefficients = map(np.stack, zip(*parts, strict=True))
    return curves[:, :rank], coefficients[..., :rank]


class Search:
    """See `varfocus.minimise.search.Search` for the parameters.

    Parameters
    ----------
    contrast : ndarray of shape (scales · n, H, W), uint16
        From `varfocus.contrast.kernel_scales`.
    bands : int
        How many bands of rows.
    empty : callable
        ``empty(shape, dtype)`` makes what has the size of the image, and the path costs between
        bands: by default in memory.
    after_band : callable
        Called whenever a band is finished.
    """

    def __init__(
        self,
        contrast: NDArray[np.uint16],
        model: Model,
        lost: Float,
        ends: Float,
        slope: float,
        jump: Float,
        confined: Confinement | None = None,
        bands: int = 1,
        empty: Empty = np.empty,
        after_band: Callable[[], None] = lambda: None,
    ) -> None:
        height, width = contrast.shape[1:]
        if model.labels < WINDOW - 2:
            raise ParameterError(
                f"received {model.labels} labels", f"expected at least {WINDOW - 2}"
            )
        self._contrast, self._model, self._slope = contrast, model, slope
        self._confined = confined
        self._lost, self._jump = (np.ascontiguousarray(image, np.float32) for image in (lost, jump))
        self._stride = padded(model.labels)
        self._ends = np.zeros(self._stride, np.float32)
        self._ends[: model.labels] = ends
        self._noise = np.array(model.noise, np.float32)
        self._basis, self._bank, self._even = compressed(model)
        rows = -(-height // bands)
        self._bands = [(top, min(top + rows, height)) for top in range(0, height, rows)]
        self._volumes: tuple[Float, Float] | None = None
        self._volume_shape = (rows, width, self._stride)
        self._complete_once = False
        self._windows: WindowTerm | None = None
        self._empty, self._after_band = empty, after_band
        # A single band is kept, and asked only if somebody wants to know; not where costs are
        # overwritten by other ones.
        later = len(self._bands) == 1 and (confined is None or confined.ghosts)
        self._alone: Float | None = None if later else self._own_lowest()
        self._from_above: list[Float] = [NOTHING] * len(self._bands)
        self._from_below: list[Float] = [NOTHING] * len(self._bands)

    def start(self) -> Float:
        """Return the label of the lowest semi-global cost."""
        height, width = self._contrast.shape[1:]
        labels: Float = self._empty((height, width), np.float32)
        self._windows = window = WindowTerm(
            self._empty((height, width, WINDOW), np.uint16),
            self._empty((height, width), np.float32),
            self._empty((height, width), np.int16),
            np.empty(height, np.float64),
            self._model.step,
        )
        for band in range(len(self._bands) - 1):
            self._from_above[band + 1] = self._edge()
            cost, _ = self._fill_cost(band)
            self._sweep(band, cost, NOTHING, self._from_above[band + 1])
            self._after_band()
        for band in reversed(range(len(self._bands))):
            leaving = NOTHING
            if band > 0:
                leaving = self._from_below[band - 1] = self._edge()
            cost, total = self._complete(band, leaving)
            rows = slice(*self._bands[band])
            kernels.lowest(total, self._model.labels, labels[rows], thread_count())
            kernels.cut_windows(
                cost,
                self._model.labels,
                labels[rows],
                window.samples[rows],
                window.scale[rows],
                window.base[rows],
                window.offsets[rows],
                thread_count(),
            )
            self._after_band()
        self._let_go()
        return labels

    def term(self) -> WindowTerm:
        """Return Σ C(d) around the start; it is not kept, because it is large."""
        assert self._windows is not None, "start() comes first, and each term is returned once"
        term, self._windows = self._windows, None
        return term

    def alone(self) -> tuple[Float, Float]:
        """Return the label of each pixel's own lowest cost, and that cost; start() comes first."""
        if self._alone is None:
            assert self._volumes is not None  # of a single band, kept
            self._alone = self._own_lowest()
            self._note_alone(0, len(self._lost), self._volumes[0])
        label, cost = self._alone
        return label, cost

    def _own_lowest(self) -> Float:
        """Return memory for each pixel's own lowest cost: label and cost."""
        memory: Float = self._empty((2, *self._lost.shape), np.float32)
        return memory

    def _value(self, cost: Float, label: Float, out: Float) -> None:
        """Write the cost at a label into `out`."""
        unused = np.empty_like(label)
        labels = self._model.labels
        kernels.judge(cost, cost, labels, label, 0.0, 1, unused, unused, out, thread_count())

    def judge(self, label: Float, distance: float, reach: int) -> tuple[Float, Float, Float]:
        """Return lead, curvature and cost at a depth."""
        label = np.ascontiguousarray(label)
        lead, bend, value = self._empty((3, *label.shape), np.float32)
        for band, (top, bottom) in enumerate(self._bands):
            cost, total = self._complete(band, NOTHING)
            rows = slice(top, bottom)
            kernels.judge(
                total,
                cost,
                self._model.labels,
                label[rows],
                distance,
                reach,
                lead[rows],
                bend[rows],
                value[rows],
                thread_count(),
            )
            lead[rows] *= np.float32(1.0 / PATHS)
            bend[rows] *= np.float32(1.0 / reach**2)
            self._after_band()
        self._let_go()
        return lead, bend, value

    def _let_go(self) -> None:
        """Release the volumes, unless they are complete and save work the next time."""
        if len(self._bands) > 1:
            self._volumes = None

    def _edge(self) -> Float:
        edge: Float = self._empty((3, self._contrast.shape[2], self._stride), np.float32)
        return edge

    def _fill_cost(self, band: int) -> tuple[Float, Float]:
        """Compute the costs of a band into the buffer, and return it with that of the sums."""
        top, bottom = self._bands[band]
        if self._volumes is None:
            self._volumes = aligned(self._volume_shape), aligned(self._volume_shape)
        cost, total = (volume[: bottom - top] for volume in self._volumes)
        kernels.cost(
            self._contrast,
            self._basis,
            self._bank,
            self._even,
            self._noise,
            self._ends,
            1.0 / self._model.depth_of_well,
            self._model.labels,
            self._lost,
            top,
            cost,
            thread_count(),
        )
        if self._confined is not None and not self._confined.ghosts:
            self._keep_alone(top, bottom, cost)
        if self._confined is not None:
            here = self._confined.part(np.s_[top:bottom, :])
            kernels.confine(
                cost,
                self._model.labels,
                np.ascontiguousarray(here.low),
                np.ascontiguousarray(here.high),
                np.ascontiguousarray(here.centre),
                np.ascontiguousarray(here.trust),
                1.0 / here.width,
                here.pull,
                here.scale,
                thread_count(),
            )
        if self._confined is None or self._confined.ghosts:
            self._keep_alone(top, bottom, cost)
        return cost, total

    def _keep_alone(self, top: int, bottom: int, cost: Float) -> None:
        """Keep each pixel's own lowest cost of a band, the first time it is computed."""
        if self._alone is not None and not self._complete_once:
            self._note_alone(top, bottom, cost)

    def _note_alone(self, top: int, bottom: int, cost: Float) -> None:
        assert self._alone is not None
        label, value = self._alone[0, top:bottom], self._alone[1, top:bottom]
        kernels.lowest(cost, self._model.labels, label, thread_count())
        self._value(cost, label, value)

    def _sweep(self, band: int, cost: Float, total: Float, leaving: Float) -> None:
        """Carry the paths that come from above through a band."""
        kernels.semi_global(
            cost,
            self._slope,
            self._jump,
            self._bands[band][0],
            False,
            self._from_above[band],
            total,
            leaving,
            thread_count(),
        )

    def _complete(self, band: int, leaving: Float) -> tuple[Float, Float]:
        """Return costs and semi-global sums of a band whose neighbours' paths are known."""
        if self._complete_once and len(self._bands) == 1 and self._volumes is not None:
            return self._volumes
        cost, total = self._fill_cost(band)
        self._sweep(band, cost, total, NOTHING)
        kernels.semi_global(
            cost,
            self._slope,
            self._jump,
            self._bands[band][0],
            True,
            self._from_below[band],
            total,
            leaving,
            thread_count(),
        )
        self._complete_once = True
        return cost, total
