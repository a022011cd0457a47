r"""The robust method: template likelihood, semi-global start, Huber-TV refinement.

stack → contrast at two scales → focus coordinate and templates, both from the stack → cost volume
C → semi-global matching → minimum of

.. math:: E(d) = \sum_{ij} C_{ij}(d_{ij}) + α \sum_{ij} φ_ε(|Kd|_{ij})

by the paper's linearised ADMM, started at the semi-global answer. d is in frames.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from varfocus.contrast import contrast_at_scale
from varfocus.energy import VolumeTerm
from varfocus.estimate import Estimate
from varfocus.likelihood import CostVolume, cost_volume
from varfocus.minimise import Solution, linearised_admm
from varfocus.minimise.semi_global import lowest, second_well, semi_global
from varfocus.params import Params, RobustParams, SolverParams
from varfocus.progress import Progress, silent, track
from varfocus.regulariser import HuberTV
from varfocus.stack import FocusStack
from varfocus.volume import steepest_curvature

Float = NDArray[np.float32]

RIVAL_DISTANCE = 1.5
"""Wells further away than this many frames are rivals."""

MARGIN_LIMIT = 3.0
"""The lead over a rival says no more beyond this."""


def robust(stack: FocusStack, params: Params, progress: Progress = silent) -> Estimate:
    """Estimate depth by the robust method.

    Parameters
    ----------
    stack : FocusStack
        At least three frames.
    params : Params
        Of which ``params.robust`` is used.
    progress : callable
        Listener.

    Returns
    -------
    Estimate
        With standard error and validity.
    """
    chosen = params.robust
    volume = cost_volume(
        lambda scale: focus_volume(stack, chosen, scale, progress),
        scales=2,
        wanted=chosen.coordinate,
        focus=stack.focus,
    )
    progress("searching", 0, 1)
    total = semi_global(
        volume.cost,
        chosen.smoothness * chosen.slope_penalty * volume.step,
        chosen.smoothness * chosen.jump_penalty,
    )
    progress("searching", 1, 1)
    solution = refine(volume, lowest(total) * np.float32(volume.step), chosen, progress)
    label = solution.d * np.float32(1.0 / volume.step)
    margin = second_well(total, label, RIVAL_DISTANCE / volume.step)
    return Estimate(
        index=solution.d,
        margin=np.clip(margin, -MARGIN_LIMIT, MARGIN_LIMIT),
        trace=solution.trace,
        notes={
            "coordinate": volume.coordinate.name,
            "exponents": [bank.exponent for bank in volume.banks],
            "misfits": [round(bank.misfit, 5) for bank in volume.banks],
            "well": volume.depth_of_well,
        },
    )


def focus_volume(
    stack: FocusStack, params: RobustParams, scale: int, progress: Progress = silent
) -> Float:
    """Return the contrast of all frames at one scale.

    Parameters
    ----------
    stack : FocusStack
        Frames; each is decoded once.
    params : RobustParams
        Blur and support.
    scale : int
        0: the frames as they are; 1: smoothed.
    progress : callable
        Listener.

    Returns
    -------
    ndarray of shape (n, H, W), float32
        Contrast.
    """
    n = len(stack)
    blur = params.coarse_blur if scale else 0.0
    volume = np.empty((n, *stack.shape), np.float32)
    stage = "contrast, coarse" if scale else "contrast, fine"
    for k, frame in enumerate(track(stack.ahead(), stage, n, progress)):
        image = frame.astype(np.float32) * np.float32(stack.scale)
        volume[k] = contrast_at_scale(image, blur, params.support)
    return volume


def refine(
    volume: CostVolume, d_0: Float, params: RobustParams, progress: Progress = silent
) -> Solution:
    """Minimise E(d) from a first guess.

    Parameters
    ----------
    volume : CostVolume
        C at its labels.
    d_0 : ndarray of shape (H, W), float32
        First guess in frames.
    params : RobustParams
        α, ε, iterations.
    progress : callable
        Listener.

    Returns
    -------
    Solution
        d in frames.
    """
    # The step must suit all but the most sharply bent curves; those are held by their depth.
    bend = float(np.percentile(steepest_curvature(volume.cost), 90)) / volume.step**2
    solver = SolverParams(
        alpha=params.smoothness * params.tv_weight,
        iterations=params.refinement,
        tau=1.0 / max(bend, 1e-6),
    )
    return linearised_admm(
        VolumeTerm(volume.cost, volume.step),
        d_0,
        solver,
        lambda done, *_: progress("refining", done, solver.iterations),
        regulariser=HuberTV(params.huber),
        warm=True,
    )
