r"""The robust method: template likelihood, semi-global start, Huber-TV refinement.

stack → contrast at two scales → focus coordinate and templates, both from the stack → cost volume
C → semi-global matching → minimum of

.. math:: E(d) = \sum_{ij} C_{ij}(d_{ij}) + α \sum_{ij} w_{ij} φ_ε(|Kd|_{ij})

by the paper's linearised ADMM, started at the semi-global answer. d is in frames; w makes jumps
dear where the picture is plain.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from varfocus.contrast import gaussian, gradient_energy, jump_weight, mlap
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
    front = FrontEnd(stack, chosen, progress)
    volume = cost_volume(front, scales=2, wanted=chosen.coordinate, focus=stack.focus)
    weight = jump_weight(front.gradient)
    progress("searching", 0, 1)
    slope = chosen.smoothness * chosen.slope_penalty * volume.step
    jump = chosen.smoothness * chosen.jump_penalty * weight
    total = semi_global(volume.cost, slope, np.maximum(jump, slope))
    progress("searching", 1, 1)
    d_0 = lowest(total) * np.float32(volume.step)
    # Dearer than texture a plain area need not be here: it would flatten faint slopes.
    solution = refine(volume, d_0, np.minimum(weight, 1.0), chosen, progress)
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


class FrontEnd:
    """Measures contrast at one scale after the other, and in passing the edges of the picture.

    Parameters
    ----------
    stack : FocusStack
        Frames; each is decoded once per scale.
    params : RobustParams
        Blur and support.
    progress : callable
        Listener.

    Attributes
    ----------
    gradient : ndarray of shape (H, W), float32
        Largest squared brightness gradient over the frames at the coarse scale.
    """

    def __init__(
        self, stack: FocusStack, params: RobustParams, progress: Progress = silent
    ) -> None:
        self._stack, self._params, self._progress = stack, params, progress
        self.gradient: Float = np.zeros(stack.shape, np.float32)

    def __call__(self, scale: int) -> Float:
        """Return the contrast ``(n, H, W)`` of the frames (0), or of the smoothed frames (1)."""
        stack, n = self._stack, len(self._stack)
        volume = np.empty((n, *stack.shape), np.float32)
        stage = "contrast, coarse" if scale else "contrast, fine"
        for k, frame in enumerate(track(stack.ahead(), stage, n, self._progress)):
            image = frame.astype(np.float32) * np.float32(stack.scale)
            if scale:
                image = gaussian(image, self._params.coarse_blur)
                np.maximum(self.gradient, gradient_energy(image), out=self.gradient)
            volume[k] = gaussian(mlap(image), self._params.support)
        return volume


def refine(
    volume: CostVolume,
    d_0: Float,
    weight: Float,
    params: RobustParams,
    progress: Progress = silent,
) -> Solution:
    """Minimise E(d) from a first guess.

    Parameters
    ----------
    volume : CostVolume
        C at its labels.
    d_0 : ndarray of shape (H, W), float32
        First guess in frames.
    weight : ndarray of shape (H, W), float32
        Weight of the regulariser at each pixel.
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
        regulariser=HuberTV(params.huber, weight),
        warm=True,
    )
