"""The one place that knows which array library is in use.

The numerics are written against the array-API standard: NumPy arrays stay NumPy arrays, and
torch or CuPy arrays stay on their device.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import array_api_compat
import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = Any
"""An array of any library that follows the array-API standard."""


def namespace(*arrays: Array) -> Any:
    """Return the array-API namespace the arrays belong to."""
    return array_api_compat.array_namespace(*arrays)


def is_numpy(array: Array) -> bool:
    """Tell whether SciPy can work on the array directly."""
    return bool(array_api_compat.is_numpy_array(array))


def unmasked(values: Any) -> Any:
    """Return the numbers of a masked array with NaN where it is masked; anything else as it is.

    `numpy.asarray` would forget the mask, and give what it hides for data.
    """
    if not np.ma.is_masked(values):
        return values
    return np.ma.filled(values.astype(np.float64), np.nan)


def real_numbers(values: Any) -> NDArray[np.float64]:
    """Return real numbers as an array, NaN where they are masked.

    Raises
    ------
    TypeError, ValueError, OverflowError
        If they are none; complex numbers and times are not converted.
    """
    found = np.asarray(unmasked(values))
    if found.dtype.kind in "cmM":
        raise TypeError(f"they are of type {found.dtype}")
    return np.asarray(found, np.float64)


def zeros(shape: tuple[int, ...], like: Array) -> Array:
    """Return zeros of the library, dtype and device of `like`."""
    xp = namespace(like)
    return xp.zeros(shape, dtype=like.dtype, device=array_api_compat.device(like))


def from_host(values: Any, like: Array) -> Array:
    """Return a small NumPy array as an array of the library, dtype and device of `like`."""
    xp = namespace(like)
    return xp.asarray(values, dtype=like.dtype, device=array_api_compat.device(like))


def total(values: Array) -> float:
    """Sum in double precision, so that megapixels of float32 do not lose digits."""
    xp = namespace(values)
    return float(xp.sum(values, dtype=xp.float64))
