"""How far from the global minimum the minimisers end: a lower bound of the energy."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from varfocus import curve
from varfocus.energy import ContrastTerm
from varfocus.export.figures import Panel, panels
from varfocus.minimise import linearised_admm, pyramid
from varfocus.minimise.certificate import Certificate
from varfocus.minimise.certificate import certificate as lower_bound
from varfocus.params import SolverParams
from varfocus.simulation import simulate
from varfocus.studies.comparison import fraction
from varfocus.studies.metrics import rmse
from varfocus.studies.reproduce.convergence import problem
from varfocus.studies.reproduce.report import Figure, Report, Table, Text
from varfocus.studies.reproduce.setting import Setting

SCENES = ("cosine", "table", "textureless")
ALPHAS = (1 / 32, 1 / 8, 1 / 2)
LOCAL = 0.002
"""Share of the energy by which another depth must be better to call a minimum local."""


@dataclass(frozen=True)
class Case:
    """One problem and what is known about its least energy.

    Attributes
    ----------
    name : str
        Scene and α.
    admm, default : float
        Energies that the literal ADMM and the default solver end at.
    d : ndarray of shape (H, W)
        Depth of the default solver.
    found : Certificate
        Bound and lifted solution.
    """

    name: str
    admm: float
    default: float
    d: NDArray[np.float64]
    found: Certificate


def certificate(setting: Setting) -> Report:
    """Bound the energy of small scenes from below and compare what the minimisers reach.

    Parameters
    ----------
    setting : Setting
        ``quick`` takes smaller crops.

    Returns
    -------
    Report
        A table and a figure.
    """
    side = 32 if setting.quick else 64
    cases: list[Case] = []
    total = len(SCENES) * len(ALPHAS)
    for scene in SCENES:
        data, start = crop(scene, side)
        for alpha in ALPHAS:
            setting.step("certificate", len(cases), total)
            cases.append(certify(f"{scene}, α = {fraction(alpha)}", data, start, alpha))
    setting.step("certificate", total, total)
    pixels = side * side
    rows = [
        [
            case.name,
            *(f"{e / pixels:.5f}" for e in (case.admm, case.default, case.found.energy)),
            f"{case.found.bound / pixels:.5f}",
            *(_percent(case.found.gap(e)) for e in (case.admm, case.default)),
            f"{rmse(case.d, case.found.d):.2f}",
        ]
        for case in cases
    ]
    apart = max(cases, key=lambda case: rmse(case.d, case.found.d))
    return Report(
        "certificate",
        "Beyond the paper: how far from the global minimum",
        [
            Text(
                f"Energy per pixel on crops of {side}×{side} pixels, 15 frames, contrast as in the "
                "paper's published code: of the literal ADMM, of the default solver, of the best d "
                "known (the lifted solution, rounded and descended from, or the default solver's), "
                "and the lower bound that no d can pass. Last, the root-mean-square distance of "
                "the default solver's d to the best one, on the axis [−10, 10]."
            ),
            Table(
                "certificate",
                [
                    "problem",
                    "ADMM",
                    "default",
                    "best known",
                    "bound",
                    "gap, ADMM",
                    "gap, default",
                    "distance",
                ],
                rows,
            ),
            Text(_words(cases)),
            Figure("certificate", _figure(apart), f"Where the depths differ most: {apart.name}"),
        ],
    )


def crop(scene: str, side: int) -> tuple[ContrastTerm, NDArray[np.float64]]:
    """Return the data term and the start of the middle of a small scene."""
    data, start = problem(simulate(scene, shape=(128, 160)).stack)
    top, left = (128 - side) // 2, (160 - side) // 2
    part = (slice(top, top + side), slice(left, left + side))
    return ContrastTerm(np.ascontiguousarray(data.a[(slice(None), *part)])), start[part].copy()


def certify(name: str, data: ContrastTerm, start: NDArray[np.float64], alpha: float) -> Case:
    """Solve one problem by both minimisers and bound it."""
    params = SolverParams(alpha=alpha)
    admm = linearised_admm(data, start, params).trace.energy[-1]
    default = pyramid(data, start, params)
    found = lower_bound(data.a, alpha, default.d)
    return Case(name, admm, default.trace.energy[-1], default.d, found)


def _words(cases: list[Case]) -> str:
    """Say what is proven, and where a minimiser is caught in a local minimum."""

    def span(gaps: list[float]) -> str:
        return f"{_percent(min(gaps))} to {_percent(max(gaps))}"

    known = [case.found.gap() for case in cases]
    caught = [
        case.name for case in cases if case.default - case.found.energy > LOCAL * abs(case.default)
    ]
    words = (
        f"The best d known is proven to be within {span(known)} of the least energy there is: "
        "lifting all but solves these problems, and what is left is the width of its labels and "
        "the slack of the relaxation. The default solver is within "
        f"{span([case.found.gap(case.default) for case in cases])}, the literal ADMM within "
        f"{span([case.found.gap(case.admm) for case in cases])}. "
    )
    if caught:
        return words + (
            f"Where a depth more than {100 * LOCAL:g} % better was found, the default solver sits "
            f"in a local minimum: {'; '.join(caught)}."
        )
    return words + "Nowhere was a notably better depth found than the default solver's."


def _percent(share: float) -> str:
    return f"{100 * share:.3f} %"


def _figure(case: Case) -> bytes:
    maps = {"default solver": case.d, "best known": case.found.d}
    pictures = [Panel(name, d.astype(np.float32)) for name, d in maps.items()]
    pictures.append(Panel("difference", (case.d - case.found.d).astype(np.float32)))
    limits = (-curve.X_MAX, curve.X_MAX)
    return panels(pictures, "axis [−10, 10]", columns=3, width=11, limits=limits)
