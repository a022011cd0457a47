"""The part of the reference that every aligned frame shows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from varfocus.align.models import Matrix
from varfocus.geometry import Rectangle


def common_area(matrices: Sequence[Matrix], shape: tuple[int, int]) -> Rectangle:
    """Return a large upright rectangle that all frames show.

    A pixel p of the reference is shown if 0 ≤ A_k p ≤ (W − 1, H − 1): four half-planes per frame.
    Left and right bounds follow from top and bottom ones and the other way round, a few times.

    Parameters
    ----------
    matrices : sequence of ndarray of shape (3, 3)
        Maps from the reference to the frames.
    shape : (int, int)
        Height and width of the frames.

    Returns
    -------
    Rectangle
        With a width or height of 0 if there is none.
    """
    height, width = shape
    # Half-planes a·x + b·y + c ≥ 0, by the side on which they lie.
    left = np.array([m[0] for m in matrices])
    right = np.array([(width - 1) * m[2] - m[0] for m in matrices])
    top = np.array([m[1] for m in matrices])
    bottom = np.array([(height - 1) * m[2] - m[1] for m in matrices])
    x = np.array([0.0, width - 1.0])
    y = np.array([0.0, height - 1.0])
    slack = 1e-6  # a map that is the identity up to rounding costs no pixel
    for _ in range(10):
        x = _bounds(left, right, y, 0, width)
        y = _bounds(top, bottom, x, 1, height)
    x_0, x_1 = int(np.ceil(x[0] - slack)), int(np.floor(x[1] + slack))
    y_0, y_1 = int(np.ceil(y[0] - slack)), int(np.floor(y[1] + slack))
    return Rectangle(x_0, y_0, max(x_1 - x_0 + 1, 0), max(y_1 - y_0 + 1, 0))


def _bounds(
    low: NDArray[np.float64],
    high: NDArray[np.float64],
    across: NDArray[np.float64],
    axis: int,
    length: int,
) -> NDArray[np.float64]:
    """Return the interval on one axis that holds for both ends of the interval on the other."""
    lower = max(
        float(np.max(-(low[:, 1 - axis] * end + low[:, 2]) / low[:, axis])) for end in across
    )
    upper = min(
        float(np.min(-(high[:, 1 - axis] * end + high[:, 2]) / high[:, axis])) for end in across
    )
    return np.array([max(lower, 0.0), min(upper, length - 1.0)])
