"""The paper's figures 4 and 5 for any stack: classical maps, three values of α, TV afterwards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from varfocus import export
from varfocus.export.figures import Panel
from varfocus.methods.paper import fitting_degree
from varfocus.minimise import rof
from varfocus.params import WEIGHT, Params, Solver, SolverParams
from varfocus.pipeline import estimate
from varfocus.progress import Progress, silent
from varfocus.ranges import real
from varfocus.stack import FRAMES, FocusStack

MLAP_1 = {"window": 9}
MLAP_2 = {"window": 41, "median": 11}
"""The paper's two classical settings."""

VARIANTS: Mapping[str, Mapping[str, Any]] = {
    "guided": {"window": 3, "guided": 17, "median": 5},
    "rdf": {"measure": "ring-difference", "window": 1, "guided": 17, "median": 5},
}
"""Classical settings of today: contrast averaged by a guided filter, MLAP or the ring difference of
Surh et al. Sides were chosen on pictures of the split "dev"."""

VARIANT_WORDS = {"guided": "MLAP, guided filter", "rdf": "ring difference, guided filter"}

ALPHAS = (1 / 16, 1 / 8, 1 / 4)

SWEEP = (1.0, 1 / 4, 1 / 8, 1 / 16, 1 / 32)
"""Weights among which the paper's method may choose its best when others are compared with it."""


def named(name: str, **values: Any) -> Params:
    """Return the parameters of a method, or of a variant of the classical one, by its name."""
    if name in VARIANTS:
        return Params.from_keywords("classic", **VARIANTS[name], **values)
    return Params.from_keywords(name, **values)


def default_tv_weights(n: int) -> tuple[float, float]:
    """Return the paper's weights 6 and 26, made for 373 frames, for n frames."""
    return 6.0 * n / 373.0, 26.0 * n / 373.0


def compare(
    stack: FocusStack,
    alphas: Sequence[float] = ALPHAS,
    tv_weights: Sequence[float] | None = None,
    solver: Solver = SolverParams().solver,
    progress: Progress = silent,
    others: Mapping[str, Params] = MappingProxyType({}),
) -> dict[str, NDArray[np.float32]]:
    """Reconstruct a stack by every method of the paper's comparison.

    Parameters
    ----------
    stack : FocusStack
        Frames.
    alphas : sequence of float
        Weights of the variational method.
    tv_weights : sequence of float, optional
        Weights, in frames, of a TV denoising of the strongly filtered classical map.
    solver : str
        Minimiser of the variational method.
    progress : callable
        Listener.
    others : mapping of str to Params
        Further reconstructions, by the name to give them; they come last.

    Returns
    -------
    dict of str to ndarray of shape (H, W), float32
        Depth in frames, by the name of the method.
    """
    alphas = [real("alpha", alpha, WEIGHT) for alpha in alphas]
    weights = default_tv_weights(len(stack)) if tv_weights is None else tv_weights
    weights = [real("tv_weight", weight, WEIGHT) for weight in weights]
    runs = {
        "MLAP 9×9": Params.from_keywords("classic", **MLAP_1),
        "MLAP 41×41, median 11×11": Params.from_keywords("classic", **MLAP_2),
    } | {
        f"variational, α = {fraction(alpha)}": Params.from_keywords(
            "paper", alpha=alpha, solver=solver
        )
        for alpha in alphas
    }
    total = len(runs) + len(weights) + len(others)
    maps: dict[str, NDArray[np.float32]] = {}

    def add(entries: Mapping[str, Params]) -> None:
        for name, params in entries.items():
            progress("comparing", len(maps), total)
            maps[name] = estimate(stack, fitting_degree(stack, params)[0]).index

    add(runs)
    filtered = maps["MLAP 41×41, median 11×11"]
    for weight in weights:
        progress("comparing", len(maps), total)
        maps[f"MLAP 41×41, then TV {weight:.3g}"] = rof(filtered, weight, accuracy=0.01).d
    add(others)
    progress("comparing", total, total)
    return maps


def picture(stack: FocusStack, maps: dict[str, NDArray[np.float32]]) -> bytes:
    """Return the comparison as one PNG, beginning with the middle frame of the stack."""
    middle = len(stack) // 2
    first = Panel(f"frame {middle + 1} of {len(stack)}", stack.read(middle), photo=True)
    entries = [first, *(Panel(name, image) for name, image in maps.items())]
    return export.figures.panels(
        entries, FRAMES, columns=-(-len(entries) // 2), width=15.0, limits=(0, len(stack) - 1)
    )


def fraction(alpha: float) -> str:
    """Write a weight as people do: 1/8 rather than 0.125."""
    nearest = Fraction(alpha).limit_denominator(999)
    exact = abs(float(nearest) - alpha) <= 1e-9 * max(alpha, 1e-12)
    return str(nearest) if exact and nearest.numerator == 1 else f"{alpha:g}"
