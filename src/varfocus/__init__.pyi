from . import (
    align,
    batch,
    contrast,
    curve,
    depth,
    energy,
    errors,
    export,
    fuse,
    io,
    minimise,
    params,
    retouch,
    steps,
    units,
)
from .curve import coordinate, likelihood, templates
from .energy import operators, regulariser
from .export.saved import SavedResult, load_result
from .export.strokes import read_strokes
from .io import lens, read_stack
from .job import reconstruct_into
from .methods import classic, robust
from .notebook import widget
from .pipeline import reconstruct
from .result import Result
from .simulation import simulate
from .stack import FocusStack
from .studies import metrics
from .surface import measure

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
    "operators",
    "params",
    "read_stack",
    "read_strokes",
    "reconstruct",
    "reconstruct_into",
    "regulariser",
    "retouch",
    "robust",
    "simulate",
    "steps",
    "templates",
    "units",
    "widget",
]
