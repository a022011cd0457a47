"""Every experiment of the paper and two beyond it, one per module of its name."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from varfocus.reproduce.certificate import certificate
from varfocus.reproduce.comparison import comparison
from varfocus.reproduce.convergence import convergence
from varfocus.reproduce.curves import curves
from varfocus.reproduce.regularisers import regularisers
from varfocus.reproduce.report import Report
from varfocus.reproduce.setting import Setting
from varfocus.reproduce.table1 import table1

EXPERIMENTS: Mapping[str, Callable[[Setting], Report]] = {
    "table1": table1,
    "curves": curves,
    "comparison": comparison,
    "convergence": convergence,
    "regularisers": regularisers,
    "certificate": certificate,
}

__all__ = ["EXPERIMENTS", "Report", "Setting"]
