r"""Cost curves known at evenly spaced labels: the cubic between four of them (Catmull–Rom).

Between labels i and i+1, with t = u − i ∈ [0, 1] and values a, b, c, e at i−1 … i+2,

.. math:: q(t) = b + \tfrac t2 (c - a) + \tfrac{t^2}2 (2a - 5b + 4c - e)
          + \tfrac{t^3}2 (3b - 3c + e - a):

it passes through the samples, its derivative is continuous, and it needs no linear system. Beyond
the ends the curve is continued by a straight line.
"""

from __future__ import annotations

from varfocus.arrays import Array, namespace


def catmull_rom(volume: Array, u: Array) -> tuple[Array, Array, Array]:
    """Return value, first and second derivative of every pixel's curve.

    Parameters
    ----------
    volume : array of shape (L, H, W), L ≥ 2
        Samples at labels 0 … L−1.
    u : array of shape (H, W)
        Where, in labels, within [0, L − 1].

    Returns
    -------
    tuple of three arrays of shape (H, W)
        q(u), q′(u) per label, and q″(u) per label².
    """
    xp = namespace(volume)
    last = volume.shape[0] - 1
    i = xp.clip(xp.astype(xp.floor(u), xp.int64), 0, last - 1)

    def sample(k: Array) -> Array:
        return xp.take_along_axis(volume, k[None, ...], axis=0)[0, ...]

    b, c = sample(i), sample(i + 1)
    a = xp.where(i > 0, sample(xp.clip(i - 1, 0, last)), 2 * b - c)
    e = xp.where(i < last - 1, sample(xp.clip(i + 2, 0, last)), 2 * c - b)
    return cubic(a, b, c, e, u - xp.astype(i, u.dtype))


def cubic(a: Array, b: Array, c: Array, e: Array, t: Array) -> tuple[Array, Array, Array]:
    """Return q(t), q′(t) and q″(t) of the cubic through b and c, with neighbours a and e."""
    linear, square, cube = (
        0.5 * (c - a),
        a - 2.5 * b + 2 * c - 0.5 * e,
        1.5 * (b - c) + 0.5 * (e - a),
    )
    value = b + t * (linear + t * (square + t * cube))
    return value, linear + t * (2 * square + 3 * t * cube), 2 * square + 6 * t * cube


def curvature(volume: Array, label: Array, reach: int) -> Array:
    """Return the second derivative of every pixel's curve, from samples some labels apart.

    Parameters
    ----------
    volume : array of shape (L, H, W)
        Samples.
    label : array of shape (H, W)
        Where, in labels; moved inwards where the range ends sooner than `reach`.
    reach : int
        Distance of the three samples in labels, at most (L − 1)/2.

    Returns
    -------
    array of shape (H, W)
        Per label².
    """
    xp = namespace(volume)
    middle = xp.clip(xp.astype(xp.round(label), xp.int64), reach, volume.shape[0] - 1 - reach)
    left, centre, right = (
        xp.take_along_axis(volume, (middle + s)[None, ...], axis=0)[0, ...]
        for s in (-reach, 0, reach)
    )
    return (left - 2 * centre + right) / reach**2
