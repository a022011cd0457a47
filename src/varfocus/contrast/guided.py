r"""Averages that stop at the edges of a picture.

The guided filter [1]_ fits, in every window ω around k, a straight line from the picture g to the
values p,

.. math:: a_k = \frac{\mathrm{cov}_k(g, p)}{\mathrm{var}_k(g) + ε}, \quad
          b_k = \bar p_k - a_k \bar g_k,

and gives every pixel the mean of the lines of all windows it lies in, q = ā g + b̄. Where the
picture varies by much less than √ε it is a mean over twice the window; at edges that are much
stronger, the two sides keep their own values.

References
----------
.. [1] K. He, J. Sun, X. Tang, "Guided image filtering", IEEE TPAMI 35(6), 2013.
"""

from __future__ import annotations

from varfocus.arrays import Array
from varfocus.contrast.measures import box_mean


def guided_mean(values: Array, guide: Array, size: int, edge: float) -> Array:
    """Average values within the edges of a picture.

    Parameters
    ----------
    values : array of shape (H, W), floating point
        What is averaged.
    guide : array of shape (H, W), floating point
        The picture.
    size : int
        Odd side of the windows in pixels; 1 returns the values themselves.
    edge : float
        Standard deviation √ε of the picture, in its unit, above which a window is an edge.

    Returns
    -------
    array of shape (H, W)
        Each pixel depends on those up to ``size − 1`` away. Borders are replicated.
    """
    if size == 1:
        return values
    mean_guide, mean_values = box_mean(guide, size), box_mean(values, size)
    variance = box_mean(guide * guide, size) - mean_guide * mean_guide
    covariance = box_mean(guide * values, size) - mean_guide * mean_values
    slope = covariance / (variance + edge * edge)
    offset = mean_values - slope * mean_guide
    return box_mean(slope, size) * guide + box_mean(offset, size)
