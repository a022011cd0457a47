from . import (
    align,
    batch,
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
    lens,
    likelihood,
    measure,
    metrics,
    minimise,
    mosaic,
    operators,
    params,
    regulariser,
    robust,
    templates,
    units,
)
from .io import read_stack
from .job import reconstruct_into
from .pipeline import reconstruct
from .result import Result
from .saved import SavedResult, load_result
from .simulation import simulate
from .stack import FocusStack

__version__: str

__all__ = [
    "FocusStack",
    "Result",
    "SavedResult",
    "align",
    "batch",
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
    "lens",
    "likelihood",
    "load_result",
    "measure",
    "metrics",
    "minimise",
    "mosaic",
    "operators",
    "params",
    "read_stack",
    "reconstruct",
    "reconstruct_into",
    "regulariser",
    "robust",
    "simulate",
    "templates",
    "units",
]
