from . import (
    classic,
    contrast,
    curve,
    depth,
    energy,
    errors,
    export,
    fuse,
    io,
    metrics,
    minimise,
    operators,
    params,
)
from .io import read_stack
from .pipeline import reconstruct
from .result import Result
from .simulation import simulate
from .stack import FocusStack

__version__: str

__all__ = [
    "FocusStack",
    "Result",
    "classic",
    "contrast",
    "curve",
    "depth",
    "energy",
    "errors",
    "export",
    "fuse",
    "io",
    "metrics",
    "minimise",
    "operators",
    "params",
    "read_stack",
    "reconstruct",
    "simulate",
]
