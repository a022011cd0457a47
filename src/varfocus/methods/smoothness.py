r"""What smoothness costs: penalties of the search, and the refinement that follows it.

The refinement minimises, by `varfocus.minimise.tgv`,

.. math:: E(d) = \sum C(d) + α \min_v \Bigl(\sum w |Kd - v|_1 + β \sum w' |Ev|_1\Bigr).

First with the least α, which hardly smooths; links across which even that leaves a jump are torn
by how high it is above the others. Then with ever larger α, each time from the answer before;
`varfocus.methods.detail` says, place by place, which of them is best.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from varfocus.curve.likelihood import Model
from varfocus.energy import VolumeTerm, WindowTerm
from varfocus.energy.operators import K
from varfocus.methods.veto import REFERENCE_SIZE
from varfocus.minimise import tgv
from varfocus.params import RobustParams

Float = NDArray[np.float32]

STRENGTHS = (1.0, 2.5, 5.0, 10.0)
"""α of a depth in peak widths, on an image of `REFERENCE_SIZE` pixels across."""

FIRST_PASSES = 2
"""Passes from coarse to fine with the least α; one with each other."""

TORN = 0.01
"""How far a link holds across a jump of the start."""

STEEP, UNLIKE = 0.08, 6.0
"""Peak widths, and multiples of the median jump, from which on a link is torn."""

LIGHT_REACH = FIRST_PASSES * tgv.REACH + 1
"""Pixels around a pixel that `light` looks at."""


def penalties(model: Model, weight: Float, params: RobustParams) -> tuple[float, Float]:
    """Return P₁ and, for every pixel of `weight`, P₂ of the semi-global search."""
    slope = params.smoothness * params.slope_penalty * model.step / model.peak_width
    jump: Float = np.maximum(np.float32(params.smoothness * params.jump_penalty) * weight, slope)
    return slope, jump


def light(
    data: VolumeTerm | WindowTerm,
    model: Model,
    d_0: Float,
    weight: Float,
    params: RobustParams,
    size: int | None = None,
) -> tuple[Float, Float]:
    r"""Return the depth with the least smoothing, and the jumps that are left.

    Parameters
    ----------
    data : VolumeTerm or WindowTerm
        Σ C(d).
    model : Model
        Gives the unit of depth.
    d_0 : ndarray of shape (H, W), float32
        First guess in frames.
    weight : ndarray of shape (H, W), float32
        Cost of a jump at each pixel.
    params : RobustParams
        Of which `smoothness` and `cut` are used.
    size : int, optional
        Pixels of the whole image, if this is a part of it.

    Returns
    -------
    d : ndarray of shape (H, W), float32
        In frames.
    jump : ndarray of shape (2, H, W), float32
        \|Kd − v\| of every link, in frames.
    """
    tear = torn(d_0, model, params)
    d, jump = d_0, np.zeros_like(tear)
    for _ in range(FIRST_PASSES):
        d, jump = passed(data, model, d, weight, tear, STRENGTHS[0], params, size)
    return d, np.abs(jump)


def torn(d_0: Float, model: Model, params: RobustParams) -> Float:
    """Return how far links hold: the jumps of the start are decided, and stay.

    Parameters
    ----------
    d_0 : ndarray of shape (H, W), float32
        First guess in frames.
    model, params
        Of which `peak_width` and `cut` are used.

    Returns
    -------
    ndarray of shape (2, H, W), float32
        1, or `TORN`.
    """
    high = np.abs(K(d_0)) > np.float32(params.cut * model.peak_width)
    return np.where(high, np.float32(TORN), np.float32(1.0))


def steep(median: float, model: Model) -> float:
    """Return from which height in frames on jumps are torn, given the median of all."""
    return max(STEEP * model.peak_width, UNLIKE * median)


def passed(
    data: VolumeTerm | WindowTerm,
    model: Model,
    d: Float,
    weight: Float,
    tear: Float,
    strength: float,
    params: RobustParams,
    size: int | None = None,
) -> tuple[Float, Float]:
    """Return the depth after a pass of a strength, and Kd − v; parameters as for `light`."""
    unit = model.peak_width
    # A picture twice as wide has twice the length of jumps but four times the data to hold them.
    side = float(np.clip(np.sqrt(size or d.size) / REFERENCE_SIZE, 0.125, 8.0))
    # Here a jump costs no more in a plain area than in texture, or faint slopes would be flattened.
    price = np.minimum(weight, np.float32(1.0))
    alpha = params.smoothness * strength * side / unit
    return tgv.smoothed(data, d, price, tear, alpha, unit)


def softened(tear: Float, jump: Float, height: float) -> Float:
    """Return how far links hold that jump by so much: a quarter as far at a height."""
    share = jump * np.float32(1.0 / height)
    held = np.float32(1.0) / (np.float32(1.0) + share * share)
    softer: Float = tear * held * held
    return softer
