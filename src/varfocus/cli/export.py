"""``varfocus export``: files for other programs, made from a result folder."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from cyclopts import Group, Parameter

from varfocus.cli.console import Narrator, Talk, TalkOptions, table
from varfocus.cli.measure import parse_region
from varfocus.errors import ParameterError
from varfocus.export.atomic import prepare_folder, write_atomically
from varfocus.export.products import (
    Calibration,
    PictureShape,
    Shape,
    make_product,
    product_of,
)
from varfocus.export.saved import load_result

OUTPUT = Parameter(name=["--output", "-o"], consume_multiple=True, negative=())
CALIBRATION = Parameter(name="*", negative=(), group=Group("True size", sort_key=1))
SURFACE = Parameter(name="*", negative=(), group=Group("Surface", sort_key=2))

PICTURE = Parameter(name="*", group=Group("Picture", sort_key=3))


def export(
    result: Path,
    /,
    *,
    output: Annotated[list[Path], OUTPUT],
    region: str | None = None,
    overwrite: Annotated[bool, Parameter(negative=())] = False,
    calibration: Annotated[Calibration, CALIBRATION] = Calibration(),
    surface: Annotated[Shape, SURFACE] = Shape(),
    picture: Annotated[PictureShape, PICTURE] = PictureShape(),
    talk: TalkOptions = Talk(),
) -> None:
    """Make files for other programs from the result of an earlier run.

    The suffix chooses the format: .jpg and .tif (the all-in-focus image, 8 and 16 bit), .glb
    (textured mesh, metres, y up), .stl and .obj (meshes, millimetres), .ply (coloured points,
    millimetres), .png (16-bit depth, 0 = unknown, scale in its text), .pfm, .exr, .npz, .x3p
    (ISO 25178-72), .gsf (Gwyddion), and .zip (the whole result, with the most useful of these).

    Meshes leave out unknown pixels and are torn at depth jumps. x, y and z point to the right, up
    the picture, and towards the lens; the projection is parallel, without perspective.

    Parameters
    ----------
    result
        Output folder of varfocus depth.
    output
        File to write, or several.
    region
        Part of the maps to take, as x,y,width,height in pixels.
    overwrite
        Replace files that exist.
    """
    narrator = Narrator(talk)
    if surface.solid and not any(path.suffix.lower() in (".stl", ".zip") for path in output):
        raise ParameterError("received --solid without a .stl file", "expected one to print")
    for path in output:
        product_of(path)
        prepare_folder(path.parent, [path.name], overwrite)
    saved = load_result(result, parse_region(region, "--region") if region else None)
    made: list[dict[str, Any]] = []
    # Everything is made before anything is written: a refused format leaves nothing behind.
    files = [(path, *make_product(saved, path, calibration, surface, picture)) for path in output]
    for path, content, scale in files:
        write_atomically(path, content)
        made.append(
            {
                "path": str(path),
                "bytes": len(content),
                "what": product_of(path).words,
                "size": None if scale is None else scale.words,
                "metres_per_pixel": None if scale is None else list(scale.pitch),
                "metres_per_depth_unit": None if scale is None else scale.metres,
            }
        )
    for words in dict.fromkeys(s.words for _, _, s in files if s is not None and not s.true):
        narrator.warn(words)
    rows = [(entry["path"], f"{entry['bytes'] / 1e6:.1f} MB", entry["what"]) for entry in made]
    narrator.result(table(rows), {"files": made})
