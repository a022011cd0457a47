"""Every method on every stack with known depth, compared with the goals."""

from varfocus.studies.evaluation.folders import folder_scene
from varfocus.studies.evaluation.runs import METHOD_NAMES, Notebook, evaluate
from varfocus.studies.evaluation.scenes import FULL, QUICK, built_in, chosen

__all__ = [
    "FULL",
    "METHOD_NAMES",
    "QUICK",
    "Notebook",
    "built_in",
    "chosen",
    "evaluate",
    "folder_scene",
]
