"""What the page's worker processes do: load, solve, show. Thin calls of the pipeline.

A job is a frozen dataclass that is sent to a worker and run there. What is worth keeping between
jobs, such as frames at preview size, stays on the worker's `Bench`.
"""

from varfocus.app.jobs.bench import Bench, Job
from varfocus.app.jobs.frames import LoadPreviews, Probe, ShowFrame
from varfocus.app.jobs.results import Curve, Difference, MakeProduct, Measure
from varfocus.app.jobs.solve import Drop, OpenResult, Save, Solve
from varfocus.app.jobs.strokes import ApplyStrokes, Known, LayFrame, MakeSlabs, SaveTouched

__all__ = [
    "ApplyStrokes",
    "Bench",
    "Curve",
    "Difference",
    "Drop",
    "Job",
    "Known",
    "LayFrame",
    "LoadPreviews",
    "MakeProduct",
    "MakeSlabs",
    "Measure",
    "OpenResult",
    "Probe",
    "Save",
    "SaveTouched",
    "ShowFrame",
    "Solve",
]
