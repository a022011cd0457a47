r"""The thin lens: from what a camera or a rail reports to the distance that is in focus.

.. math:: \frac{1}{f} = \frac{1}{s} + \frac{1}{v}

with focal length f, distance s of the object in focus and distance v of the sensor, both from the
lens. Real lenses have two principal planes; s counts from the front one.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from varfocus.errors import FocusPositionsError
from varfocus.units import LENGTHS


def distance_from_dioptre(dioptre: ArrayLike) -> NDArray[np.float64]:
    """Return the distance in focus, s = 1/D.

    Parameters
    ----------
    dioptre : array_like
        D in 1/m, positive; 0 is infinity, which is not a position.

    Returns
    -------
    ndarray, float64
        s in metres.
    """
    D = np.asarray(dioptre, dtype=np.float64)
    return 1.0 / _positive(D, "dioptre", "infinity")


def distance_from_travel(travel: ArrayLike, focal_length: float) -> NDArray[np.float64]:
    """Return the distance in focus, s = f + f²/t.

    A lens focused at infinity has v = f; moved towards the object by t it has v = f + t, and
    the thin lens gives s = f v / (v − f).

    Parameters
    ----------
    travel : array_like
        t, the distance of the lens from where it focuses at infinity; positive.
    focal_length : float
        f in the unit of `travel`; positive.

    Returns
    -------
    ndarray, float64
        s in the unit of `travel`.
    """
    t = _positive(np.asarray(travel, dtype=np.float64), "lens travel", "infinity")
    f = float(_positive(np.array([focal_length]), "focal length", "no lens")[0])
    return f + f**2 / t


def _positive(values: NDArray[np.float64], what: str, zero: str) -> NDArray[np.float64]:
    for value in values.flat:
        if value not in LENGTHS:
            raise FocusPositionsError(
                f"received a {what} of {value:g}",
                f"expected numbers from {LENGTHS.low:g} to {LENGTHS.high:g}: 0 is {zero}",
            )
    return values
