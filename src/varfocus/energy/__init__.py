"""The energy E(d) = D(d) + α R(d): data terms, regularisers, and the operators they are made of."""

from varfocus.energy import operators, regulariser
from varfocus.energy.terms import (
    ContrastTerm,
    DataTerm,
    QuadraticTerm,
    VolumeTerm,
    WindowTerm,
    energy,
)

__all__ = [
    "ContrastTerm",
    "DataTerm",
    "QuadraticTerm",
    "VolumeTerm",
    "WindowTerm",
    "energy",
    "operators",
    "regulariser",
]
