r"""Total-variation denoising (Rudin, Osher, Fatemi), solved to a known accuracy.

Problem
    min over d of ½‖d − f‖² + w‖Kd‖₂,₁.
Dual
    max over \|p_ij\| ≤ w of ½‖f‖² − ½‖f − Kᵀp‖², and d = f − Kᵀp.
Iteration
    p ← project(q + ⅛ K(f − Kᵀq), w) with Nesterov's extrapolation q, restarted when it
    overshoots.

The duality gap w‖Kd‖₂,₁ − ⟨p, Kd⟩ bounds ½‖d − d*‖², so the accuracy is certain.

References
----------
.. [1] A. Beck, M. Teboulle, "Fast gradient-based algorithms for constrained total variation image
   denoising and deblurring problems", IEEE TIP 18(11), 2009.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from varfocus.arrays import Array, namespace, total
from varfocus.energy.operators import K_NORM_SQUARED, K, K_adjoint, norm_21, project


@dataclass(frozen=True)
class Denoised:
    """The result of `rof`.

    Attributes
    ----------
    d : array of shape (H, W)
        Denoised image.
    p : array of shape (2, H, W)
        Dual variable, to start a similar problem from.
    gap : float
        Duality gap: ½‖d − d*‖² is at most this.
    iterations : int
        How many iterations it took.
    """

    d: Array
    p: Array
    gap: float
    iterations: int


def rof(
    f: Array,
    weight: float,
    *,
    accuracy: float = 1e-3,
    iterations: int = 2000,
    p: Array | None = None,
) -> Denoised:
    """Denoise an image by total variation.

    Parameters
    ----------
    f : array of shape (H, W)
        Image.
    weight : float
        w ≥ 0; larger is smoother, in the unit of `f`.
    accuracy : float
        Stop when the gap guarantees a root-mean-square distance to the optimum below this, in the
        unit of `f`: gap ≤ ½ · accuracy² · H · W.
    iterations : int
        Stop after this many in any case.
    p : array of shape (2, H, W), optional
        Dual variable of an earlier, similar problem.

    Returns
    -------
    Denoised
        With the gap that was reached.
    """
    xp = namespace(f)
    p = xp.zeros_like(K(f)) if p is None else project(p, weight)
    q, momentum, gap, done = p, 1.0, math.inf, 0
    goal = 0.5 * accuracy**2 * f.shape[0] * f.shape[1]
    for done in range(1, iterations + 1):
        new = project(q + K(f - K_adjoint(q)) * (1.0 / K_NORM_SQUARED), weight)
        if total((q - new) * (new - p)) > 0:  # overshot: forget the momentum
            momentum = 1.0
        following = 0.5 * (1.0 + math.sqrt(1.0 + 4.0 * momentum**2))
        q = new + ((momentum - 1.0) / following) * (new - p)
        p, momentum = new, following
        if done % 10 == 0 or done == iterations:
            gap = _gap(f, p, weight)
            if gap <= goal:
                break
    return Denoised(f - K_adjoint(p), p, gap, done)


def _gap(f: Array, p: Array, weight: float) -> float:
    kd = K(f - K_adjoint(p))
    return weight * norm_21(kd) - total(p * kd)
