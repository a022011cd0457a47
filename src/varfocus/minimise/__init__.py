"""Minimisers of E(d) = D(d) + α‖Kd‖₂,₁, one per file, all called alike.

``minimise(data, d0, params, callback) -> Solution``. `minimise` itself chooses among them and
among the regularisers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from varfocus.arrays import Array
from varfocus.energy import DataTerm
from varfocus.energy.regulariser import TGV, TV, HuberTV, Regulariser
from varfocus.minimise.admm import linearised_admm, quadratic_penalty
from varfocus.minimise.bregman import bregman
from varfocus.minimise.forward_backward import forward_backward
from varfocus.minimise.primal_dual import pyramid
from varfocus.minimise.rof import rof
from varfocus.minimise.trace import Callback, Solution, Trace
from varfocus.params import SolverParams

MINIMISERS: Mapping[str, Callable[..., Solution]] = {
    "pyramid": pyramid,
    "admm": linearised_admm,
    "penalty": quadratic_penalty,
    "forward-backward": forward_backward,
}
"""The minimiser behind each value of the parameter ``solver``."""

REGULARISERS: Mapping[str, Callable[[SolverParams, Array | None], Regulariser]] = {
    "tv": lambda *_: TV,
    "huber": lambda params, _: HuberTV(params.huber_slope),
    "weighted": lambda _, weight: HuberTV(0.0, weight),
    "tgv": lambda params, _: TGV(params.tgv_ratio),
}
"""What makes the regulariser behind each value of the parameter ``regulariser``, given the
parameters and the weight of each pixel."""


def minimise(
    data: DataTerm,
    d: Array,
    params: SolverParams,
    callback: Callback | None = None,
    weight: Array | None = None,
) -> Solution:
    """Minimise D(d) + α R(d) with the solver, regulariser and Bregman rounds that `params` names.

    Parameters
    ----------
    data : DataTerm
        D.
    d : array of shape (H, W)
        First guess.
    params : SolverParams
        Everything else. Other regularisers than "tv", and Bregman rounds, run on the ADMM.
    callback : callable, optional
        Called as ``callback(iterations_done, state, trace)``.
    weight : array of shape (H, W), optional
        w of the regulariser "weighted", such as that of `varfocus.contrast.jump_weight`; without
        it w = 1.

    Returns
    -------
    Solution
        As the solver gives it.
    """
    with np.errstate(over="ignore", invalid="ignore"):  # a finite energy is checked for instead
        return _chosen(data, d, params, callback, weight)


def _chosen(
    data: DataTerm,
    d: Array,
    params: SolverParams,
    callback: Callback | None,
    weight: Array | None,
) -> Solution:
    if params.regulariser == "tv" and not params.bregman:
        return MINIMISERS[params.solver](data, d, params, callback)
    regulariser = REGULARISERS[params.regulariser](params, weight)
    return bregman(data, d, params, callback, regulariser=regulariser)


__all__ = [
    "MINIMISERS",
    "REGULARISERS",
    "Callback",
    "Solution",
    "Trace",
    "bregman",
    "forward_backward",
    "linearised_admm",
    "minimise",
    "pyramid",
    "quadratic_penalty",
    "rof",
]
