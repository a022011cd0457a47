"""``varfocus simulate``: a focus stack with known depth."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from cyclopts import Parameter
from numpy.typing import NDArray

from varfocus import simulation
from varfocus.cli.console import Narrator, Talk, TalkOptions, program
from varfocus.export import images
from varfocus.export.atomic import prepare_folder, write_atomically
from varfocus.io.frames import probe_files
from varfocus.stack import without_alpha

Name = Literal[
    "cone", "plane", "cosine", "sphere", "steps", "slants", "discs", "wire", "textureless", "table"
]
FOCUS_FILE = "focus.csv"
TRUTH_FILES = ("truth_index.tif", "truth_depth.tif", "sharp.png", FOCUS_FILE)


def simulate(
    name: Name,
    /,
    *,
    output: Annotated[Path, Parameter(name=["--output", "-o"])],
    texture: Path | None = None,
    frames: int = 15,
    size: Annotated[tuple[int, int] | None, Parameter(negative=())] = None,
    noise: float = 0.05,
    seed: int = 0,
    dtype: Literal["uint8", "uint16"] = "uint8",
    overwrite: Annotated[bool, Parameter(negative=())] = False,
    talk: TalkOptions = Talk(),
) -> None:
    """Make a focus stack with known depth.

    Writes the frames as PNG into OUTPUT/frames, and beside them focus.csv (metres),
    truth_index.tif (frames), truth_depth.tif (metres) and sharp.png.

    Parameters
    ----------
    name
        A smooth surface of the paper's Table 1 (cone, plane, cosine, sphere) or a scene with
        occlusion.
    output
        Folder for the stack, made if missing.
    texture
        Picture that covers the surfaces; a built-in one by default.
    frames
        Number of frames.
    size
        Width and height in pixels; by default those of the texture.
    noise
        Noise level of Pertuz's camera model; 0 for none.
    seed
        The same seed gives the same stack.
    dtype
        Number type of the frames.
    overwrite
        Replace an earlier stack.
    """
    narrator = Narrator(talk)
    prepare_simulation(output, overwrite)
    with narrator.bars() as progress:
        made = simulation.simulate(
            name,
            shape=None if size is None else (size[1], size[0]),
            n=frames,
            seed=seed,
            noise=noise,
            texture=None if texture is None else read_texture(texture),
            dtype=dtype,
            progress=progress,
        )
    pictures, facts = write_simulation(made, output, overwrite)
    height, width = made.truth_index.shape
    narrator.result(
        f"{len(pictures)} frames of {width}×{height} in {output / 'frames'}, "
        f"focused from {made.focus[0]:g} to {made.focus[-1]:g} m; the truth is beside them.\n"
        f"Next: {program()} depth {output / 'frames'} -o result "
        f"--focus-distances {output / FOCUS_FILE} --unit m",
        {"frames": [str(output / "frames" / file) for file in pictures], "truth": facts},
    )


def prepare_simulation(folder: Path, overwrite: bool) -> None:
    """Make sure that a stack can be written into a folder, before it is simulated."""
    prepare_folder(folder, TRUTH_FILES, overwrite)
    frames = folder / "frames"
    prepare_folder(frames, [path.name for path in frames.glob("*")], overwrite)


def write_simulation(
    made: simulation.Simulation, folder: Path, overwrite: bool
) -> tuple[list[str], list[str]]:
    """Write the frames into ``folder/frames`` and the truth beside them.

    Parameters
    ----------
    made : Simulation
        Frames of 8 or 16 bit, and the truth.
    folder : Path
        Made if missing.
    overwrite : bool
        Whether files may be replaced.

    Returns
    -------
    tuple of two lists of str
        Names of the frames, and of the files beside them.
    """
    digits = len(str(len(made.frames) - 1))
    pictures = {f"frame_{k:0{digits}d}.png": frame for k, frame in enumerate(made.frames)}
    sharp = np.rint(made.sharp * np.float32(255)).astype(np.uint8)
    facts = {
        "truth_index.tif": images.float_tiff(made.truth_index, "frames", "true depth"),
        "truth_depth.tif": images.float_tiff(made.truth_depth, "m", "true depth"),
        "sharp.png": images.picture(sharp)[1],
        FOCUS_FILE: ("distance_m\n" + "".join(f"{z:.9g}\n" for z in made.focus)).encode(),
    }
    prepare_simulation(folder, overwrite)
    for old in (folder / "frames").glob("frame_*.png"):
        old.unlink()
    for file, pixels in pictures.items():
        write_atomically(folder / "frames" / file, images.picture(pixels)[1])
    for file, content in facts.items():
        write_atomically(folder / file, content)
    return [*pictures], [*facts]


def read_texture(path: Path) -> NDArray[Any]:
    """Read one picture, without its alpha channel."""
    return without_alpha(probe_files([path]).frames[0].read())
