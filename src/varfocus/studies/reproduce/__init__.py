"""Every experiment of the paper and two beyond it, one per module of its name."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from varfocus.studies.reproduce.certificate import certificate
from varfocus.studies.reproduce.comparison import comparison
from varfocus.studies.reproduce.convergence import convergence
from varfocus.studies.reproduce.curves import curves
from varfocus.studies.reproduce.regularisers import regularisers
from varfocus.studies.reproduce.report import Report
from varfocus.studies.reproduce.setting import Setting
from varfocus.studies.reproduce.table1 import table1

EXPERIMENTS: Mapping[str, Callable[[Setting], Report]] = {
    "table1": table1,
    "curves": curves,
    "comparison": comparison,
    "convergence": convergence,
    "regularisers": regularisers,
    "certificate": certificate,
}

__all__ = ["EXPERIMENTS", "Report", "Setting"]
