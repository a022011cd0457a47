"""The four surfaces of Pertuz's simulator as depth maps.

Each formula is mapped affinely to z ∈ [near, far]:
cone √(X² + Y²) and sphere −√(½ − X² − Y²) on X, Y ∈ [−½, ½]; cosine −cos x · cos y on
[−3π/4, 3π/4]; plane x·y on [0, 1], which is in truth a saddle but is called so in the literature.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from varfocus.errors import ParameterError
from varfocus.simulation.checks import checked_shape, checked_span

NEAR, FAR = 0.05, 0.5
"""Depth range of the shapes in metres."""

Grid = NDArray[np.float64]


def _cone(x: Grid, y: Grid) -> Grid:
    return np.hypot(x, y)


def _plane(x: Grid, y: Grid) -> Grid:
    return (x + 0.5) * (y + 0.5)


def _cosine(x: Grid, y: Grid) -> Grid:
    return -np.cos(1.5 * np.pi * x) * np.cos(1.5 * np.pi * y)


def _sphere(x: Grid, y: Grid) -> Grid:
    # In the corners X² + Y² = ½ only up to rounding.
    return -np.sqrt(np.maximum(0.5 - x**2 - y**2, 0))


_FORMULAS: dict[str, Callable[[Grid, Grid], Grid]] = {
    "cone": _cone,
    "plane": _plane,
    "cosine": _cosine,
    "sphere": _sphere,
}

SHAPES = tuple(_FORMULAS)
"""Names of the shapes, in the order of Table 1 of Moeller et al."""


def shape_depth(
    name: str, shape: tuple[int, int] = (360, 360), near: float = NEAR, far: float = FAR
) -> NDArray[np.float32]:
    """Return the depth map of one of Pertuz's shapes.

    Parameters
    ----------
    name : {"cone", "plane", "cosine", "sphere"}
        Which surface.
    shape : (int, int)
        Height and width in pixels.
    near, far : float
        Smallest and largest depth in metres.

    Returns
    -------
    ndarray of float32, shape (H, W)
        Depth in metres.
    """
    if name not in _FORMULAS:
        raise ParameterError(f"shape: received {name!r}", f"expected one of {', '.join(SHAPES)}")
    height, width = checked_shape(shape)
    near, far = checked_span(near, far)
    y, x = np.meshgrid(np.linspace(-0.5, 0.5, height), np.linspace(-0.5, 0.5, width), indexing="ij")
    relief = _FORMULAS[name](x, y)
    relief -= relief.min()
    # At 2×2 pixels the symmetric shapes are flat.
    relief /= max(float(relief.max()), np.finfo(np.float64).tiny)
    return (near + (far - near) * relief).astype(np.float32)
