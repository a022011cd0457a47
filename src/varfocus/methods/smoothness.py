"""What smoothness costs: penalties of the search, and the refinement that minimises E(d)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from varfocus.curve.likelihood import Model
from varfocus.energy import VolumeTerm, WindowTerm
from varfocus.energy.operators import K, magnitude
from varfocus.energy.regulariser import TGV, HuberTV
from varfocus.methods.veto import REFERENCE_SIZE
from varfocus.minimise import Solution, huber_primal_dual, linearised_admm
from varfocus.params import STEP, WEIGHT, RobustParams, SolverParams
from varfocus.progress import Progress, silent

Float = NDArray[np.float32]

TORN = 0.1
"""Weight of the regulariser across a jump of the start."""


def penalties(model: Model, weight: Float, params: RobustParams) -> tuple[float, Float]:
    """Return P₁ and, for every pixel of `weight`, P₂ of the semi-global search."""
    slope = params.smoothness * params.slope_penalty * model.step / model.peak_width
    jump: Float = np.maximum(np.float32(params.smoothness * params.jump_penalty) * weight, slope)
    return slope, jump


def refine(
    data: VolumeTerm | WindowTerm,
    model: Model,
    d_0: Float,
    weight: Float,
    params: RobustParams,
    progress: Progress = silent,
    size: int | None = None,
) -> Solution:
    """Minimise E(d) from a first guess.

    Parameters
    ----------
    data : VolumeTerm or WindowTerm
        Σ C(d).
    model : Model
        Gives the unit of depth and how sharply C bends.
    d_0 : ndarray of shape (H, W), float32
        First guess in frames.
    weight : ndarray of shape (H, W), float32
        Cost of a jump at each pixel.
    params : RobustParams
        α, ε, iterations; `tgv` above 0 puts second-order TGV in the place of Huber-TV, which is
        minimised by the paper's linearised ADMM.
    progress : callable
        Listener.
    size : int, optional
        Pixels of the whole image, if this is a part of it.

    Returns
    -------
    Solution
        d in frames.
    """
    unit = model.peak_width
    # A picture twice as wide has twice the length of jumps but four times the data to hold them.
    side = float(np.clip(np.sqrt(size or d_0.size) / REFERENCE_SIZE, 0.125, 8.0))
    # Here a jump costs no more in a plain area than in texture, or faint slopes would be flattened.
    # The jumps of the start stay: they are decided, and smoothing would only blur them.
    torn = magnitude(K(d_0)) > params.cut * unit
    weight = np.minimum(weight, 1.0) * np.where(torn, np.float32(TORN), np.float32(1.0))
    solver = SolverParams(
        alpha=WEIGHT.nearest(params.smoothness * params.huber_weight * side / unit),
        iterations=params.refinement,
        # The step must suit all but the most sharply bent curves; those are held by their depth.
        tau=STEP.nearest(1.0 / max(model.sharpest_bend, 1e-6)),
    )

    def report(done: int, *_: object) -> None:
        progress("refining", done, solver.iterations)

    if params.tgv:
        smooth = TGV(params.tgv, weight)
        return linearised_admm(data, d_0, solver, report, regulariser=smooth, warm=True)
    huber = HuberTV(params.huber * unit, weight)
    return huber_primal_dual(data, d_0, solver, report, regulariser=huber, unit=unit)
