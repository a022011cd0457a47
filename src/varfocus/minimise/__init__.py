"""Minimisers of E(d) = D(d) + α‖Kd‖₂,₁, one per file, all called alike.

``minimise(data, d0, params, callback) -> Solution``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from varfocus.minimise.admm import linearised_admm, quadratic_penalty
from varfocus.minimise.forward_backward import forward_backward
from varfocus.minimise.huber import huber_primal_dual
from varfocus.minimise.primal_dual import pyramid
from varfocus.minimise.rof import rof
from varfocus.minimise.trace import Callback, Solution, Trace

MINIMISERS: Mapping[str, Callable[..., Solution]] = {
    "pyramid": pyramid,
    "admm": linearised_admm,
    "penalty": quadratic_penalty,
    "forward-backward": forward_backward,
}
"""The minimiser behind each value of the parameter ``solver``."""

__all__ = [
    "MINIMISERS",
    "Callback",
    "Solution",
    "Trace",
    "forward_backward",
    "huber_primal_dual",
    "linearised_admm",
    "pyramid",
    "quadratic_penalty",
    "rof",
]
