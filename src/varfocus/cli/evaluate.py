"""``varfocus evaluate``: how accurate every method is where the truth is known."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from varfocus.cli.console import Narrator, Talk, TalkOptions
from varfocus.cli.simulate import read_texture
from varfocus.errors import UsageError
from varfocus.export.atomic import prepare_folder
from varfocus.studies import evaluation
from varfocus.studies.evaluation import report
from varfocus.studies.evaluation.figures import depth_maps
from varfocus.studies.evaluation.goals import verdicts
from varfocus.studies.evaluation.memory import Scales
from varfocus.studies.evaluation.runs import Outcome
from varfocus.studies.reproduce.report import Table, write

Names = Annotated[list[str] | None, Parameter(consume_multiple=True, negative=())]
SEEDS = 3


def evaluate(
    folders: Annotated[list[Path] | None, Parameter(name="FOLDERS", negative=())] = None,
    /,
    *,
    output: Annotated[Path, Parameter(name=["--output", "-o"])] = Path("evaluation"),
    quick: Annotated[bool, Parameter(negative=())] = False,
    scenes: Names = None,
    methods: Names = None,
    seeds: int | None = None,
    texture: Path | None = None,
    truth_origin: Annotated[tuple[int, int] | None, Parameter(negative=())] = None,
    overwrite: Annotated[bool, Parameter(negative=())] = False,
    talk: TalkOptions = Talk(),
) -> None:
    """Measure every method where the depth is known, and compare with the goals.

    Runs on the built-in scenes (four smooth shapes at two noise levels with distances known and
    unknown, six scenes with depth jumps, variants that should not matter) and on folders of your
    own. Prints the goals and the errors; writes Markdown, CSV, PNG and index.html.

    A folder holds the frames, in frames/ or by themselves, and the truth: truth_index (0-based
    frame number) or truth_depth (unit of focus.csv) as .npy, .npz or .tif; NaN is unknown. With
    focus.csv, one position per frame, the methods know the distances. varfocus simulate writes
    such folders.

    Parameters
    ----------
    folders
        Folders with frames and truth, after the built-in scenes.
    output
        Folder for the report, made if missing.
    quick
        Small scenes and one seed: about a minute.
    scenes
        Built-in scenes to run, by name or pattern such as "cone*"; none for only the folders. By
        default all.
    methods
        Methods to run beside the paper's; by default all.
    seeds
        Number of seeds of every built-in scene, counted from 0; default 3, or 1 with --quick.
    texture
        Texture of the four shapes, such as the one that comes with Pertuz's simulator.
    truth_origin
        Row and column of the frames at which a truth smaller than the frames begins.
    overwrite
        Replace an earlier report.
    """
    narrator = Narrator(talk)
    count = _checked_count(seeds, quick)
    wanted = _checked_methods(methods)
    picture = None if texture is None else read_texture(texture)
    sizes = evaluation.QUICK if quick else evaluation.FULL
    chosen = evaluation.built_in(sizes, picture)
    chosen = [] if scenes == ["none"] else evaluation.chosen(chosen, scenes or [])
    chosen += [evaluation.folder_scene(folder, truth_origin) for folder in folders or []]
    _check_names([scene.name for scene in chosen])
    present = [path.name for path in output.iterdir()] if output.is_dir() else []
    prepare_folder(output, present, overwrite)

    notebook = evaluation.Notebook(Scales())
    pictures: dict[str, bytes] = {}
    with narrator.bars() as progress:
        for outcome in evaluation.evaluate(chosen, wanted, range(count), progress):
            notebook.add(outcome)
            narrator.say(_line(outcome))
            if outcome.scene.swept and outcome.scene.name not in pictures:
                pictures[outcome.scene.name] = depth_maps(outcome)
    setting = (
        f"{len(chosen)} scenes, {count} seed{'s' if count > 1 else ''} each"
        f"{' (folders have none)' if folders else ''}, "
        f"{'quick run, ' if quick else ''}{'the given' if texture else 'the built-in'} texture."
    )
    reports = report.reports(notebook.records, pictures, setting)
    files = write(reports, output, "How accurate is varfocus?")
    tables = [block for block in reports[0].blocks if isinstance(block, Table)]
    judged = verdicts(notebook.records)
    narrator.result(
        "\n\n".join(table.markdown() for table in tables)
        + f"\n\nAll of it with pictures: {files[0]}",
        {
            "index": str(files[0]),
            "files": [str(path) for path in files],
            "goals": [
                {
                    "goal": verdict.goal.words,
                    "limit": verdict.goal.limit,
                    "met": verdict.met,
                    "values": dict(verdict.values),
                }
                for verdict in judged
            ],
        },
    )


def _line(outcome: Outcome) -> str:
    """Say how one stack went."""
    errors = ", ".join(f"{m} {run.scores.rmse:.3g}" for m, run in outcome.runs.items())
    return f"{outcome.scene.name}, seed {outcome.seed}: RMSE in {outcome.case.unit}: {errors}"


def _checked_count(seeds: int | None, quick: bool) -> int:
    if seeds is not None and seeds < 1:
        raise UsageError(f"received --seeds {seeds}", "expected a whole number of at least 1")
    return seeds or (1 if quick else SEEDS)


def _checked_methods(methods: list[str] | None) -> list[str]:
    for method in methods or ():
        if method not in evaluation.METHOD_NAMES:
            raise UsageError(
                f"received --methods {method}",
                f"expected some of {', '.join(evaluation.METHOD_NAMES)}",
            )
    return list(methods or evaluation.METHOD_NAMES)


def _check_names(names: list[str]) -> None:
    """Refuse scenes that would share a file because their names are equal, or no scene at all."""
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise UsageError(
            f"received more than one scene called {', '.join(twice)}",
            "expected folders whose names differ, also from those of the built-in scenes",
            "Rename one of them.",
        )
    if not names:
        raise UsageError("received --scenes none and no folder", "expected something to evaluate")
