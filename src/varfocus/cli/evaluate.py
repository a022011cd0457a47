"""``varfocus evaluate``: how accurate every method is where the truth is known."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from varfocus.cli.console import Narrator, Talk, TalkOptions
from varfocus.cli.simulate import read_texture
from varfocus.errors import UsageError
from varfocus.export.atomic import prepare_folder, write_atomically
from varfocus.files import resolved
from varfocus.simulation import Aperture
from varfocus.studies import evaluation
from varfocus.studies.evaluation import benchmark as benchmarks
from varfocus.studies.evaluation import lightfield, report
from varfocus.studies.evaluation.case import Scene
from varfocus.studies.evaluation.figures import depth_maps
from varfocus.studies.evaluation.lenses import FIRST_SEED, Design, Split
from varfocus.studies.evaluation.memory import Scales
from varfocus.studies.evaluation.runs import Outcome
from varfocus.studies.reproduce.report import Block, Figure, Report, Table, Text, write

Names = Annotated[list[str] | None, Parameter(consume_multiple=True, negative=())]
Paths = Annotated[list[Path] | None, Parameter(consume_multiple=True, negative=())]
SEEDS = 3
LEAST_FRAMES = 3
LEAST_CROP, QUICK_CROP = 32, 160
"""Pixels of the smallest piece that makes sense, and of those of a quick run."""

FIGURES_FILE = "evaluation.json"


def evaluate(
    folders: Annotated[list[Path] | None, Parameter(name="FOLDERS", negative=())] = None,
    /,
    *,
    output: Annotated[Path, Parameter(name=["--output", "-o"])] = Path("evaluation"),
    pictures: Paths = None,
    stacks: Paths = None,
    benchmark: Literal["lightfield"] | None = None,
    split: Split | None = None,
    quick: Annotated[bool, Parameter(negative=())] = False,
    full: Annotated[bool, Parameter(negative=())] = False,
    crop: int | None = None,
    apertures: Annotated[
        list[Aperture] | None, Parameter(consume_multiple=True, negative=())
    ] = None,
    noise: Annotated[list[float] | None, Parameter(consume_multiple=True, negative=())] = None,
    frames: Annotated[list[int] | None, Parameter(consume_multiple=True, negative=())] = None,
    scenes: Names = None,
    methods: Names = None,
    seeds: int | None = None,
    texture: Path | None = None,
    truth_origin: Annotated[tuple[int, int] | None, Parameter(negative=())] = None,
    keep: Path | None = None,
    overwrite: Annotated[bool, Parameter(negative=())] = False,
    talk: TalkOptions = Talk(),
) -> None:
    """Measure every method where the depth is known, and compare with the goals.

    Runs on the built-in scenes (four smooth shapes at two noise levels with distances known and
    unknown, six scenes with depth jumps, the same seen by other lenses, variants that should not
    matter), on pictures with depth of your own, seen by such lenses, and on stacks of your own.
    Prints the goals, the errors and where they lie; writes Markdown, CSV, JSON, PNG and index.html.

    A stack is a folder with the frames, in frames/ or by themselves, and the truth: truth_index
    (0-based frame number) or truth_depth (unit of focus.csv) as .npy, .npz, .tif or .pfm; NaN is
    unknown. With focus.csv, one position per frame, the methods know the distances. varfocus
    simulate writes such folders. A picture is a folder with picture.png and disparity.npz (larger
    is nearer), or depth.npz (metres).

    Parameters
    ----------
    folders
        Stacks, after the built-in scenes.
    output
        Folder for the report, made if missing.
    pictures
        Folders of pictures with depth, each in a folder of its own; without the built-in scenes,
        unless --scenes names some.
    stacks
        Folders of stacks, each in a folder of its own; without the built-in scenes as well.
    benchmark
        "lightfield": FOLDERS hold scenes of the 4-D light-field benchmark, each with its 81 views
        (input_Cam000.png …), gt_disp_lowres.pfm and parameters.cfg, or stacks made of them. Makes
        the stacks on which networks are compared, and prints our rows below the printed ones.
    split
        "dev", to fit and to try, or "test", for the end: other scenes, seeds, apertures and numbers
        of frames. Scenes are told apart by their names. By default dev, and all stacks.
    quick
        Small scenes, one seed and one lens for each: a few minutes.
    full
        Every aperture with every noise and every number of frames. By default noise and frames go
        round.
    crop
        Only the middle of pictures and stacks, at most so many pixels high and wide; with --quick
        160.
    apertures
        Apertures instead of those of the split: gauss, disc, square, hexagon, bubble, cats-eye.
    noise
        Noise levels instead of 0.005, 0.01 and 0.03: standard deviation at mid-grey, white is 1.
    frames
        Numbers of frames instead of those of the split.
    scenes
        Built-in scenes to run, by name or pattern such as "cone*"; none for only the folders. By
        default all.
    methods
        Methods to run beside the paper's; by default all.
    seeds
        Number of seeds of every built-in scene; default 3, or 1 with --quick.
    texture
        Texture of the four shapes, such as the one that comes with Pertuz's simulator.
    truth_origin
        Row and column of the frames at which a truth smaller than the frames begins.
    keep
        Folder in which the maps of the paper's method are kept, so that the next run on the same
        stacks is quicker.
    overwrite
        Replace an earlier report.
    """
    narrator = Narrator(talk)
    count = _checked_count(seeds, quick)
    wanted = _checked_methods(methods)
    side = _checked_crop(crop, quick)
    if benchmark is not None:
        _lightfield(folders or [], wanted, split, crop, output, keep, overwrite, narrator)
        return
    design: Design = "full" if full else "one" if quick else "square"
    choice = (apertures or (), _checked_noise(noise), _checked_frames(frames), design)
    sizes = evaluation.QUICK if quick else evaluation.FULL
    part: Split = split or "dev"
    chosen: list[Scene] = []
    if scenes != ["none"] and (scenes or not (pictures or stacks)):
        chosen = evaluation.built_in(sizes, None if texture is None else read_texture(texture))
        chosen += evaluation.lens_scenes(sizes.layers, part, *choice)
        chosen = evaluation.chosen(chosen, scenes or [])
    chosen += [evaluation.folder_scene(folder, truth_origin, crop) for folder in folders or []]
    for folder in pictures or ():
        found = _of_split(evaluation.picture_folders(folder), part)
        for number, each in enumerate(found):
            chosen += [
                evaluation.picture_scene(each, recipe, side)
                for recipe in evaluation.recipes(number, part, *choice)
            ]
    for folder in stacks or ():
        chosen += [
            evaluation.folder_scene(each, truth_origin, side, "pictures")
            for each in _of_split(evaluation.stack_folders(folder), split)
        ]
    _check_names([scene.name for scene in chosen])
    present = [path.name for path in output.iterdir()] if output.is_dir() else []
    prepare_folder(output, present, overwrite)

    notebook = evaluation.Notebook(Scales())
    shown: dict[str, bytes] = {}
    first = FIRST_SEED[part]
    with narrator.bars() as progress:
        for outcome in evaluation.evaluate(
            chosen, wanted, range(first, first + count), progress, keep
        ):
            notebook.add(outcome)
            narrator.say(_line(outcome))
            if outcome.scene.swept and outcome.scene.name not in shown:
                shown[outcome.scene.name] = depth_maps(outcome)
    words = [f"{len(chosen)} scenes of the split {part}"]
    if any(scene.seeded for scene in chosen):
        words.append(f"{count} seed{'s' if count > 1 else ''} each of those that have any")
        words.append(f"{'the given' if texture else 'the built-in'} texture")
    words += ["quick run"] if quick else []
    words += [f"crops of {side}×{side} px"] if side and (pictures or stacks) else []
    setting = f"{', '.join(words)}."
    reports = report.reports(notebook.records, shown, setting)
    files = write(reports, output, "How accurate is varfocus?")
    figures = report.document(notebook.records, setting)
    write_atomically(output / FIGURES_FILE, json.dumps(figures, indent=1).encode())
    tables = [block for block in reports[0].blocks if isinstance(block, Table)]
    narrator.result(
        "\n\n".join(table.markdown() for table in tables)
        + f"\n\nAll of it with pictures: {files[0]}",
        {
            "index": str(files[0]),
            "files": [str(path) for path in (*files, output / FIGURES_FILE)],
            "goals": figures["goals"],
        },
    )


def _lightfield(
    folders: Sequence[Path],
    wanted: Sequence[str],
    split: Split | None,
    crop: int | None,
    output: Path,
    keep: Path | None,
    overwrite: bool,
    narrator: Narrator,
) -> None:
    """Make the table of the light-field benchmark."""
    if not folders:
        raise UsageError(
            "received --benchmark lightfield and no folder",
            "expected a folder with scenes of the data set",
            "See varfocus evaluate --help.",
        )
    found = [s for folder in folders for s in lightfield.benchmark_scenes(folder, crop)]
    if split is not None:
        found = [scene for scene in found if evaluation.split_of(scene.name) == split]
    _check_names([scene.name for scene in found])
    present = [path.name for path in output.iterdir()] if output.is_dir() else []
    prepare_folder(output, present, overwrite)
    lines: list[benchmarks.Line] = []
    shown: list[Figure] = []
    with narrator.bars() as progress:
        for outcome in evaluation.evaluate(found, wanted, [0], progress, keep):
            lines += benchmarks.lines(outcome)
            narrator.say(_line(outcome))
            name = outcome.scene.name
            caption = f"{name}: depth, and error below it"
            shown.append(Figure(f"depth_{name}", depth_maps(outcome), caption))
    tables = [benchmarks.mean_table(lines), benchmarks.scene_table(lines)]
    blocks: list[Block] = [Text(benchmarks.words(lines)), *tables, *shown]
    title = "4-D light-field benchmark"
    files = write([Report("lightfield", title, blocks)], output, title)
    figures = benchmarks.document(lines)
    write_atomically(output / FIGURES_FILE, json.dumps(figures, indent=1).encode())
    narrator.result(
        "\n\n".join(table.markdown() for table in tables)
        + f"\n\n{benchmarks.words(lines)}\n\nAll of it with pictures: {files[0]}",
        {"index": str(files[0]), **figures},
    )


def _of_split(folders: Sequence[Path], split: Split | None) -> list[Path]:
    """Return the folders whose scenes belong to a split; all of them for none."""
    found = [f for f in folders if split in (None, evaluation.split_of(resolved(f).name))]
    if not found:
        raise UsageError(
            f"received --split {split} for {', '.join(f.name for f in folders)}",
            "expected a scene of that split",
            "Take the other split.",
        )
    return found


def _checked_crop(crop: int | None, quick: bool) -> int | None:
    if crop is not None and crop < LEAST_CROP:
        raise UsageError(f"received --crop {crop}", f"expected at least {LEAST_CROP} pixels")
    return QUICK_CROP if quick and crop is None else crop


def _checked_noise(levels: list[float] | None) -> list[float]:
    for level in levels or ():
        if not 0 <= level < 1:
            raise UsageError(f"received --noise {level:g}", "expected numbers from 0 to 1")
    return levels or []


def _checked_frames(counts: list[int] | None) -> list[int]:
    for count in counts or ():
        if count < LEAST_FRAMES:
            raise UsageError(f"received --frames {count}", f"expected at least {LEAST_FRAMES}")
    return counts or []


def _line(outcome: Outcome) -> str:
    """Say how one stack went."""
    errors = ", ".join(f"{m} {run.scores.rmse:.3g}" for m, run in outcome.runs.items())
    seed = f", seed {outcome.seed}" if outcome.scene.seeded else ""
    return f"{outcome.scene.name}{seed}: RMSE in {outcome.case.unit}: {errors}"


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
