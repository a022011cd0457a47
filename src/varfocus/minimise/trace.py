"""What a minimiser reports about itself: the quantities of the paper's convergence figure."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from varfocus.arrays import Array
from varfocus.errors import SolverError


@dataclass
class Trace:
    """One number per iteration, or per reported one.

    Attributes
    ----------
    energy : list of float
        E(d_k) = D(d_k) + α‖Kd_k‖₂,₁.
    constraint : list of float
        ‖Kd_k − g_k‖².
    change : list of float
        ‖d_k − d_{k−1}‖² + ‖g_k − g_{k−1}‖².
    seconds : list of float
        Time since the start.
    iterations : list of int
        How many iterations were done at each entry: 1, 2, 3, … unless the minimiser reports less
        often.
    start_energy : float
        E(d_0).
    """

    start_energy: float
    energy: list[float] = field(default_factory=list)
    constraint: list[float] = field(default_factory=list)
    change: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    iterations: list[int] = field(default_factory=list)
    _began: float = field(default_factory=time.perf_counter, repr=False)

    def record(
        self, energy: float, constraint: float, change: float, iterations: int | None = None
    ) -> None:
        """Add one entry, after that many iterations; by default one more than before."""
        self.iterations.append(len(self.energy) + 1 if iterations is None else iterations)
        self.energy.append(energy)
        self.constraint.append(constraint)
        self.change.append(change)
        self.seconds.append(time.perf_counter() - self._began)

    @property
    def best(self) -> int:
        """0-based entry of the lowest energy."""
        return min(range(len(self.energy)), key=self.energy.__getitem__)

    def summary(self) -> dict[str, float | int]:
        """Return the figures worth keeping in a report."""
        return {
            "iterations": self.iterations[-1],
            "start_energy": self.start_energy,
            "final_energy": self.energy[-1],
            "best_energy": self.energy[self.best],
            "best_iteration": self.iterations[self.best],
            "final_constraint": self.constraint[-1],
            "final_change": self.change[-1],
        }


@dataclass(frozen=True)
class Solution:
    """A minimiser's result.

    Attributes
    ----------
    d : array of shape (H, W)
        The last iterate.
    trace : Trace
        How it got there.
    state : object
        All variables of the last iterate, to inspect or to continue from.
    """

    d: Array
    trace: Trace
    state: Any


Callback: TypeAlias = Callable[[int, Any, Trace], None]
"""Called as ``callback(iterations_done, state, trace)`` after every iteration; kernels reuse the
arrays of the state, so copy what is to be kept."""


def check_finite(trace: Trace, last_good: Any) -> None:
    """Raise `SolverError` with the last good state if the newest energy is not a number."""
    if math.isfinite(trace.energy[-1]):
        return
    raise SolverError(
        f"the minimisation diverged in iteration {len(trace.energy)}: "
        f"energy {trace.energy[-1]} after {([trace.start_energy, *trace.energy])[-2]:g}",
        "expected a finite energy",
        "Lower tau or alpha, and check that the contrast is of order 1.",
        state=last_good,
    )
