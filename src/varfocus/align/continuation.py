r"""Frames that blur leaves little of go on as those around them do.

Breathing is steady, a hand is not; how steady each parameter θ of the maps is along the stack is
asked of the frames that are known. Either its steps or the changes of its steps are taken for
independent and normal, whichever are smaller,

.. math:: θ_{r+1} - θ_r \sim N(0, τ_1^2) \quad\text{or}\quad
          θ_{r+1} - 2 θ_r + θ_{r-1} \sim N(0, τ_2^2),

r the place in the order of focus. With the covariance C of what was measured, P its inverse and Q
the inverse covariance of that prior, (P + Q)⁻¹ tells which frames become much surer by it. Only
these, u, are changed, given the others, s, which stay:

.. math:: θ_u ← θ_u - (P_{uu} + Q_{uu})^{-1} (Qθ)_u.

What was measured counts where that is sure, the way of the neighbours where it is not. Since errors
of neighbours are alike, a frame goes along with the one beside it that stays.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from varfocus.align.cells import UNKNOWN, root_mean_square
from varfocus.align.models import normaliser, parameters, step, unit

Array = NDArray[np.float64]

KNOWN = 0.2
"""Frames with a smaller standard error in pixels tell how steady motion is."""

FEWEST = 4
"""Fewer steps between known frames do not tell."""

LEAST_STEP, USUAL_STEP = 0.02, 3.0
"""Smallest τ in pixels, and τ where it is not known: no prior to speak of."""

SURER = 0.7
"""Frames are changed if that leaves less than this share of their standard error."""


def continued(
    maps: Array, covariance: Array, model: str, shape: tuple[int, int]
) -> tuple[Array, Array]:
    """Return the maps with those of unsure frames improved, and the standard errors of all.

    Parameters
    ----------
    maps : ndarray of shape (n, 3, 3)
        From the reference to each frame, in the order of focus.
    covariance : ndarray of shape (n, p, n, p)
        Of the parameters of all maps, times half the diagonal: px². Those of which nothing is
        known have a variance of `varfocus.align.cells.UNKNOWN` squared, or a large one.
    model : str
        What the maps may be.
    shape : (int, int)
        Height and width of the frames.

    Returns
    -------
    maps : ndarray of shape (n, 3, 3)
        Maps of sure frames as they were.
    errors : ndarray of shape (n,)
        Standard errors of positions in pixels, root mean square over the frame.
    """
    n, p = covariance.shape[:2]
    N = normaliser(shape)
    back = np.linalg.inv(N)
    theta = np.stack([parameters(model, unit(N @ m @ back)) for m in maps]) / N[0, 0]
    own = _own(covariance.reshape(n * p, n * p), n)
    errors = root_mean_square(own, model, shape)
    known = errors < KNOWN
    Q = np.zeros((n, p, n, p))
    for i in range(p):
        D, tau = _prior(theta[:, i], own[:, i, i], known)
        Q[:, i, :, i] = D.T @ D / tau**2
    C = covariance.reshape(n * p, n * p) + 1e-6 * np.eye(n * p)
    P, prior = np.linalg.inv(C), Q.reshape(n * p, n * p)
    whole = P + prior
    joined: Array = np.asarray(np.linalg.inv(whole), np.float64)
    possible = root_mean_square(_own(joined, n), model, shape)
    changed = ~known & (possible < SURER * errors)
    u, s = np.repeat(changed, p), np.repeat(~changed, p)
    inverse = np.linalg.inv(whole[np.ix_(u, u)])
    likely = theta.ravel().copy()
    likely[u] -= inverse @ (prior @ theta.ravel())[u]
    # They are as unsure as the frames that stay make them, and by themselves.
    follows = inverse @ whole[np.ix_(u, s)]
    posterior = np.zeros_like(C)
    posterior[np.ix_(u, u)] = inverse + follows @ C[np.ix_(s, s)] @ follows.T
    better = root_mean_square(_own(posterior, n), model, shape)
    result = maps.copy()
    for k in np.flatnonzero(changed):
        result[k] = unit(back @ step(model, N[0, 0] * likely.reshape(n, p)[k]) @ N)
    return result, np.where(changed, better, errors)


def _own(covariance: Array, n: int) -> Array:
    """Return the covariances of the frames by themselves, ``(n, p, p)``."""
    p = len(covariance) // n
    return np.asarray(np.einsum("iaib->iab", covariance.reshape(n, p, n, p)), np.float64)


def independent(errors: Array, model: str, shape: tuple[int, int]) -> Array:
    """Return a covariance as `continued` takes it from standard errors of frames in pixels."""
    p = len(parameters(model, np.eye(3)))
    usual = float(root_mean_square(np.eye(p), model, shape))
    variances = np.minimum(errors / usual, UNKNOWN) ** 2
    result = np.zeros((len(errors), p, len(errors), p))
    for k, variance in enumerate(variances):
        result[k, :, k, :] = variance * np.eye(p)
    return result


def _prior(values: Array, variances: Array, known: NDArray[np.bool_]) -> tuple[Array, float]:
    """Return differences that are small along a stack, as a matrix, and how small they are."""
    n = len(values)
    best = np.diff(np.eye(n), axis=0), USUAL_STEP
    for degree in (1, 2):
        if n <= degree:
            continue
        D = np.diff(np.eye(n), n=degree, axis=0)
        told = (np.abs(D) @ ~known) == 0
        if np.count_nonzero(told) < FEWEST:
            continue
        count = np.count_nonzero(told)
        noise = (D[told] ** 2 @ variances).mean()
        spread = ((D[told] @ values) ** 2).sum() / (count - 2)  # few may be alike by luck
        tau = float(np.sqrt(max(spread - noise, 0.0)))
        if max(tau, LEAST_STEP) < best[1]:
            best = D, max(tau, LEAST_STEP)
    return best
