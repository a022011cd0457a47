"""The one place that knows which array library is in use.

The numerics are written against the array-API standard: NumPy arrays stay NumPy arrays, and
torch or CuPy arrays stay on their device.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import array_api_compat

Array: TypeAlias = Any
"""An array of any library that follows the array-API standard."""


def namespace(*arrays: Array) -> Any:
    """Return the array-API namespace the arrays belong to."""
    return array_api_compat.array_namespace(*arrays)


def is_numpy(array: Array) -> bool:
    """Tell whether SciPy can work on the array directly."""
    return bool(array_api_compat.is_numpy_array(array))


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
