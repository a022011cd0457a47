from . import (
    align,
    classic,
    contrast,
    coordinate,
    curve,
    depth,
    energy,
    errors,
    export,
    fuse,
    io,
    likelihood,
    metrics,
    minimise,
    operators,
    params,
    regulariser,
    robust,
    templates,
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
    "align",
    "classic",
    "contrast",
    "coordinate",
    "curve",
    "depth",
    "energy",
    "errors",
    "export",
    "fuse",
    "io",
    "likelihood",
    "metrics",
    "minimise",
    "operators",
    "params",
    "read_stack",
    "reconstruct",
    "regulariser",
    "robust",
    "simulate",
    "templates",
]
