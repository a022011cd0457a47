"""The three methods, from a stack to its depth, each in its own file."""

from varfocus.methods import classic, paper, robust
from varfocus.methods.estimate import Estimate

__all__ = ["Estimate", "classic", "paper", "robust"]
