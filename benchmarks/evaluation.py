"""Evaluate on the built-in scenes and on other people's stacks, and write docs/evaluation.md.

    python benchmarks/evaluation.py DATA [options of varfocus evaluate]

DATA may hold texture_rings.tif (Pertuz's texture), gt_1/, gt_2/ and gt_4/ (frames, and a truth that
begins at row and column 20) and motorcycle/ (a picture and its disparity, of which a stack is
rendered); what is missing is left out. Half an hour on two cores.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np

from varfocus.cli import main as varfocus
from varfocus.cli.simulate import read_texture, write_simulation
from varfocus.simulation import render_picture

DOCS = Path(__file__).parents[1] / "docs"
STACKS = ("gt_1", "gt_2", "gt_4")
FOCAL, BASELINE, OFFSET = 994.978, 0.193001, 31.086
"""Middlebury's motorcycle: pixels, metres, pixels."""


def render_motorcycle(source: Path, folder: Path) -> None:
    """Render a stack of the picture, and write it with its truth, distances left out."""
    picture = read_texture(source / "motorcycle_left.png")
    with np.load(source / "motorcycle_disp.npz") as file:
        disparity = file[file.files[0]].astype(np.float64)
    z = np.where(np.isfinite(disparity), FOCAL * BASELINE / (disparity + OFFSET), np.nan)
    write_simulation(render_picture(picture, z), folder, overwrite=False)
    (folder / "focus.csv").unlink()


def main() -> int:
    """Run the evaluation and keep its summary."""
    data, options = Path(sys.argv[1]), sys.argv[2:]
    with tempfile.TemporaryDirectory() as scratch:
        folders = [data / name for name in STACKS if (data / name).exists()]
        if (data / "motorcycle").exists():
            folders.append(Path(scratch) / "motorcycle")
            render_motorcycle(data / "motorcycle", folders[-1])
        rings = data / "texture_rings.tif"
        texture = ["--texture", str(rings)] if rings.exists() else []
        origin = ["--truth-origin", "20", "20"]
        output = Path("evaluation")
        code = varfocus(
            ["evaluate", *map(str, folders), "-o", str(output), *texture, *origin, *options]
        )
    if code == 0:
        text = (output / "evaluation.md").read_text(encoding="utf-8")
        made = "Written by `python benchmarks/evaluation.py DATA`.\n"
        title, _, rest = text.partition("\n")
        for name in ("reliability", "sparsification"):
            rest = rest.replace(f"({name}.png)", f"(images/{name}.png)")
            (DOCS / "images" / f"{name}.png").write_bytes((output / f"{name}.png").read_bytes())
        (DOCS / "evaluation.md").write_text(f"{title}\n\n{made}{rest}", encoding="utf-8")
    return code


if __name__ == "__main__":
    sys.exit(main())
