"""``varfocus reproduce``: the experiments of the paper."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from varfocus.cli.console import Narrator, Talk, TalkOptions
from varfocus.cli.simulate import read_texture
from varfocus.export.atomic import prepare_folder
from varfocus.studies.reproduce import EXPERIMENTS, Setting, report

HEADING = "Variational Depth from Focus Reconstruction, reproduced"


def reproduce(
    experiment: Literal[
        "table1", "curves", "comparison", "convergence", "regularisers", "certificate", "all"
    ] = "all",
    /,
    *,
    output: Annotated[Path, Parameter(name=["--output", "-o"])] = Path("reproduction"),
    quick: Annotated[bool, Parameter(negative=())] = False,
    texture: Path | None = None,
    overwrite: Annotated[bool, Parameter(negative=())] = False,
    talk: TalkOptions = Talk(),
) -> None:
    """Repeat the experiments of the paper and compare the numbers with the printed ones.

    Writes Markdown, CSV and PNG files, and index.html that shows them all.

    Parameters
    ----------
    experiment
        Which: table1 (errors on four shapes), curves (figure 2), comparison (figures 3 to 5),
        convergence (figure 6 and the theorem); beyond the paper, regularisers (other than TV) and
        certificate (how far from the global minimum); or all.
    output
        Folder for the report, made if missing.
    quick
        Smaller images and one seed: a few minutes for all.
    texture
        Texture of the simulated surfaces, such as the one that comes with Pertuz's simulator; a
        built-in one by default.
    overwrite
        Replace an earlier report.
    """
    narrator = Narrator(talk)
    names = list(EXPERIMENTS) if experiment == "all" else [experiment]
    picture = None if texture is None else read_texture(texture)
    present = [path.name for path in output.iterdir()] if output.is_dir() else []
    prepare_folder(output, present, overwrite)
    with narrator.bars() as progress:
        setting = Setting(quick=quick, texture=picture, progress=progress)
        reports = [EXPERIMENTS[name](setting) for name in names]
    files = report.write(reports, output, HEADING)
    text = "\n\n".join(
        block.markdown()
        for entry in reports
        for block in entry.blocks
        if not isinstance(block, report.Figure)
    )
    narrator.result(
        f"{text}\n\nAll of it with pictures: {files[0]}",
        {"index": str(files[0]), "files": [str(path) for path in files]},
    )
