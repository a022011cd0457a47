"""The focus measures that a reconstruction can use, by name.

A focus measure turns a frame ``(H, W)`` or ``(H, W, C)`` in [0, 1] into contrast ``(H, W)``: not
negative, larger where the frame is sharper, by the same factor everywhere if the frame gets
brighter. "mlap", the default, runs on the kernels of the engine; all others are array code.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from varfocus.arrays import Array, namespace
from varfocus.contrast.focus_measures import (
    ring_difference,
    sum_modified_laplacian,
    tenengrad,
    wavelet,
)
from varfocus.contrast.measures import mlap
from varfocus.errors import ParameterError
from varfocus.params import DEFAULT_MEASURE, MEASURE_NAMES, FocusMeasure
from varfocus.text import shown

_PROBE, _TRIALS, _TOLERANCE = 129, 3, 1e-5
"""Side of the image on which the reach of a function is measured, how often, and how exactly."""


@dataclass(frozen=True)
class Measure:
    """A focus measure.

    Attributes
    ----------
    name : str
        Name by which it is chosen.
    contrast : callable
        ``contrast(image) -> array`` of shape (H, W).
    reach : int
        Pixels around a pixel that its contrast depends on: tiles have to overlap by as much.
    """

    name: str
    contrast: Callable[[Array], Array]
    reach: int


MEASURES: dict[str, Measure] = {
    measure.name: measure
    for measure in (
        Measure("mlap", mlap, 1),
        Measure("ring-difference", ring_difference, 4),
        Measure("sum-modified-laplacian", sum_modified_laplacian, 3),
        Measure("tenengrad", tenengrad, 1),
        Measure("wavelet", wavelet, 6),
    )
}
"""All focus measures by name; `register` adds to them."""

_BUILT_IN = frozenset(MEASURES)


def register(name: str, contrast: Callable[[Array], Array], reach: int) -> Measure:
    """Register a focus measure under a name, in this process.

    Parameters
    ----------
    name : str
        Then ``varfocus.reconstruct(stack, measure=name)``.
    contrast : callable
        ``contrast(image) -> array``: see `varfocus.contrast.registry`.
    reach : int
        Pixels around a pixel that its contrast depends on.

    Returns
    -------
    Measure
        The entry.

    Raises
    ------
    ParameterError
        If the name is taken, `contrast` cannot be called, or `reach` is negative.

    Examples
    --------
    >>> from varfocus.contrast import gradient_energy, register, unregister
    >>> register("gradient", gradient_energy, reach=1).reach
    1
    >>> unregister("gradient")
    """
    if not isinstance(name, str) or not name or name in MEASURES or ":" in name:
        raise ParameterError(
            f"received {name!r} as the name of a focus measure",
            "expected a text without a colon that is none of  " + ", ".join(map(repr, MEASURES)),
        )
    if not callable(contrast) or not isinstance(reach, int) or reach < 0:
        raise ParameterError(
            f"received contrast = {contrast!r} and reach = {reach!r} for {name!r}",
            "expected a function of an image, and a number of pixels of at least 0",
        )
    MEASURES[name] = Measure(name, contrast, reach)
    MEASURE_NAMES.add(name)
    return MEASURES[name]


def unregister(name: str) -> None:
    """Undo a `register`; the measures of varfocus itself stay."""
    if name in _BUILT_IN or name not in MEASURES:
        raise ParameterError(
            f"received {name!r}", "expected the name of a focus measure that was registered"
        )
    del MEASURES[name]
    MEASURE_NAMES.discard(name)


def has_kernels(measure: FocusMeasure) -> bool:
    """Tell whether the engine measures this by itself."""
    return measure == DEFAULT_MEASURE


def contrast_function(measure: FocusMeasure) -> Callable[[Array], Array]:
    """Return the function behind a focus measure, which checks what it returns.

    Parameters
    ----------
    measure : str or callable
        A name in `MEASURES`, or a function of an image.

    Returns
    -------
    callable
        ``(H, W[, C]) → (H, W)`` in the number type of the image.

    Raises
    ------
    ParameterError
        If there is none of this name; when called, if the function returns anything but contrast.
    """
    if callable(measure):
        return _checked(measure, _words(measure))
    if measure not in MEASURES:
        raise ParameterError(
            f"received measure = {measure!r}", "expected one of " + ", ".join(map(repr, MEASURES))
        )
    found = MEASURES[measure].contrast
    return found if measure in _BUILT_IN else _checked(found, repr(measure))


def _words(measure: Callable[[Array], Array]) -> str:
    return getattr(measure, "__qualname__", type(measure).__qualname__)


def _checked(measure: Callable[[Array], Array], name: str) -> Callable[[Array], Array]:
    def contrast(image: Array) -> Array:
        xp = namespace(image)
        try:
            found = measure(image)
        except Exception as error:
            trace = error.__traceback__
            if trace is not None and trace.tb_next is not None:
                raise  # from inside of it, which its author wants to see
            raise ParameterError(  # it is no function, or not one of an image
                f"the focus measure {name} failed: {type(error).__name__}: {error}",
                "expected a function of an image that returns its contrast",
            ) from error
        try:
            found = xp.asarray(found)
            numbers = xp.astype(found, image.dtype)
        except (TypeError, ValueError) as error:
            raise ParameterError(
                f"received {shown(found)} from the focus measure {name}",
                "expected an array of numbers",
            ) from error
        if tuple(found.shape) != tuple(image.shape[:2]):
            raise ParameterError(
                f"received contrast of shape {tuple(found.shape)} from the focus measure {name}",
                f"expected {tuple(image.shape[:2])}, height and width of the frame",
            )
        if not bool(xp.all((numbers >= 0) & xp.isfinite(numbers))):
            raise ParameterError(
                f"received contrast below zero, infinite or NaN from the focus measure {name}",
                "expected numbers of at least 0",
            )
        return numbers

    return contrast


def reach(measure: FocusMeasure) -> int:
    """Return how many pixels around a pixel its contrast depends on.

    Parameters
    ----------
    measure : str or callable
        A name in `MEASURES`; or a function, whose attribute ``reach`` is used if it has one. If
        not, it is measured by changing single pixels of noise.

    Returns
    -------
    int
        Pixels by which tiles have to overlap.

    Raises
    ------
    ParameterError
        If there is none of this name, or the contrast depends on more than 62 pixels around.
    """
    if not callable(measure):
        contrast_function(measure)
        return MEASURES[measure].reach
    told = getattr(measure, "reach", None)
    return told if isinstance(told, int) else _found_reach(measure)


def _found_reach(measure: Callable[[Array], Array]) -> int:
    contrast, middle, farthest = contrast_function(measure), _PROBE // 2, 0
    random = np.random.default_rng(0)
    for _ in range(_TRIALS):
        image = random.random((_PROBE, _PROBE), dtype=np.float32)
        before = np.asarray(contrast(image))
        image[middle, middle] += 1.0
        after = np.asarray(contrast(image))
        changed = np.abs(after - before) > _TOLERANCE * max(float(before.max()), 1e-30)
        rows, columns = np.nonzero(changed)
        for places in (rows, columns):
            farthest = max(farthest, int(np.abs(places - middle).max(initial=0)))
    if farthest >= middle - 1:
        raise ParameterError(
            f"received the focus measure {_words(measure)}, which looks at the whole frame",
            "expected one that looks at no more than 62 pixels around each pixel",
            "If it does, say so: register it with its reach.",
        )
    return farthest
