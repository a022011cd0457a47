"""Every method on every stack with known depth, compared with the goals."""

from varfocus.studies.evaluation.case import Case
from varfocus.studies.evaluation.folders import folder_scene, stack_folders
from varfocus.studies.evaluation.lenses import Recipe, lens_scenes, recipes, split_of
from varfocus.studies.evaluation.pictures import picture_folders, picture_scene, render_folder
from varfocus.studies.evaluation.runs import METHOD_NAMES, Notebook, evaluate
from varfocus.studies.evaluation.scenes import FULL, QUICK, built_in, chosen
from varfocus.studies.evaluation.single import paper_runs, row

__all__ = [
    "FULL",
    "METHOD_NAMES",
    "QUICK",
    "Case",
    "Notebook",
    "Recipe",
    "built_in",
    "chosen",
    "evaluate",
    "folder_scene",
    "lens_scenes",
    "paper_runs",
    "picture_folders",
    "picture_scene",
    "recipes",
    "render_folder",
    "row",
    "split_of",
    "stack_folders",
]
