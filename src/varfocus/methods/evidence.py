"""How much speaks for the depth of a pixel, in units of what noise alone would say."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from varfocus.contrast import box_mean
from varfocus.curve.likelihood import Model

Float = NDArray[np.float32]

EVIDENCE_WINDOW = 9
"""Side in pixels of the window over which the evidence for a depth is averaged."""

NOISE_EVIDENCE = 5.5
"""Evidence, in nats and divided by the number of frames, that 95 % of pure noise stays below."""


def evidence(cost: Float, model: Model) -> Float:
    """Return E, the evidence for the chosen depth around each pixel, in units of noise.

    The mean over 9×9 pixels of −C(d) in nats, how much better a peak at that depth explains the
    contrast curves than none, over what noise alone would give, 5.5/n nats for n frames (measured
    on white noise; more frames are fooled less). A depth is called unknown where E < 1.

    Parameters
    ----------
    cost : ndarray of shape (H, W), float32
        C(d).
    model : Model
        Gives the unit of C, and n.

    Returns
    -------
    ndarray of shape (H, W), float32
        Not below zero, except through interpolation.
    """
    unit = -model.depth_of_well * model.coordinate.n / NOISE_EVIDENCE
    mean: Float = box_mean(cost * np.float32(unit), EVIDENCE_WINDOW)
    return mean


def beyond_noise(cost: Float, model: Model) -> Float:
    """Return how far a depth counts: 1 where it is known, 0 where but half of that speaks.

    Parameters
    ----------
    cost, model
        As for `evidence`.

    Returns
    -------
    ndarray of shape (H, W), float32
        2E − 1, in [0, 1].
    """
    counts: Float = np.clip(2.0 * evidence(cost, model) - 1.0, 0.0, 1.0)
    return counts
