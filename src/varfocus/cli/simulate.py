"""``varfocus simulate``: a focus stack with known depth."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal, get_args

import numpy as np
from cyclopts import Parameter
from numpy.typing import NDArray

from varfocus import simulation
from varfocus.cli.console import Narrator, Talk, TalkOptions, program
from varfocus.errors import UsageError
from varfocus.export import images
from varfocus.export.atomic import prepare_folder, write_atomically
from varfocus.files import resolved
from varfocus.io.frames import probe_files
from varfocus.io.simulated import FOCUS_FILE, FRAMES_FOLDER, TRUTH_INDEX
from varfocus.progress import Progress
from varfocus.simulation import Aperture
from varfocus.stack import without_alpha
from varfocus.studies.evaluation.pictures import is_picture, read_picture

Name = Literal[
    "cone", "plane", "cosine", "sphere", "steps", "slants", "discs", "wire", "textureless", "table"
]
TRUTH_FILES = (TRUTH_INDEX, "truth_depth.tif", "sharp.png", FOCUS_FILE)


def simulate(
    name: Name | Path,
    /,
    *,
    output: Annotated[Path, Parameter(name=["--output", "-o"])],
    texture: Path | None = None,
    frames: int = 15,
    size: Annotated[tuple[int, int] | None, Parameter(negative=())] = None,
    noise: float | None = None,
    aperture: Aperture = "gauss",
    blur: float | None = None,
    grain: float = 0.0,
    vignetting: float = 0.0,
    gamma: float = 1.0,
    jpeg: int | None = None,
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
        A smooth surface of the paper's Table 1 (cone, plane, cosine, sphere), a scene with
        occlusion, or a folder with a picture and its depth: picture.png, and disparity.npz (larger
        is nearer) or depth.npz (metres); also .npy, .tif, .pfm.
    output
        Folder for the stack, made if missing.
    texture
        Picture that covers the surfaces; a built-in one by default.
    frames
        Number of frames.
    size
        Width and height in pixels; by default those of the texture or picture, of which the middle
        is taken.
    noise
        Noise level of Pertuz's camera model; by default 0.05, with --grain none.
    aperture
        Shape of the blur: gauss, disc, square, hexagon, bubble (with a bright rim), or cats-eye
        (cut off towards the corners).
    blur
        Standard deviation in pixels of the blur of the farthest focus distance when the nearest is
        in focus; by default the scene's own, 7 for pictures.
    grain
        Noise that grows with the light: standard deviation at mid-grey, as a share of white.
    vignetting
        Share of the light that the corners lose.
    gamma
        Frames store light to the power of 1/gamma, of which blur and noise know nothing.
    jpeg
        Quality from 1 to 100: frames get what JPEG compression leaves of them, still as PNG.
    seed
        The same seed gives the same stack.
    dtype
        Number type of the frames.
    overwrite
        Replace an earlier stack.
    """
    narrator = Narrator(talk)
    camera = simulation.Camera(aperture, grain, vignetting, gamma, jpeg)
    if isinstance(name, Path):
        _check_picture(name, texture)
    prepare_simulation(output, overwrite)
    level = (0.0 if grain else 0.05) if noise is None else noise
    shape = None if size is None else (size[1], size[0])
    with narrator.bars() as progress:
        if isinstance(name, Path):
            made = _picture(name, shape, frames, level, blur, seed, dtype, camera, progress)
        else:
            made = simulation.simulate(
                name,
                shape=shape,
                n=frames,
                seed=seed,
                noise=level,
                kappa=None if blur is None else simulation.kappa_of(name, blur),
                texture=None if texture is None else read_texture(texture),
                dtype=dtype,
                camera=camera,
                progress=progress,
            )
    pictures, facts = write_simulation(made, output, overwrite)
    height, width = made.truth_index.shape
    narrator.result(
        f"{len(pictures)} frames of {width}×{height} in {output / FRAMES_FOLDER}, "
        f"focused from {made.focus[0]:g} to {made.focus[-1]:g} m; the truth is beside them.\n"
        f"Next: {program()} depth {output / FRAMES_FOLDER} -o result "
        f"--focus-distances {output / FOCUS_FILE} --unit m",
        {"frames": [str(output / FRAMES_FOLDER / file) for file in pictures], "truth": facts},
    )


def _check_picture(folder: Path, texture: Path | None) -> None:
    """Refuse what is no picture with depth, before anything is written."""
    if not is_picture(folder):
        raise UsageError(
            f"received {folder}: no scene, and no folder with a picture and its depth",
            f"expected one of {', '.join(get_args(Name))}, or such a folder",
        )
    if texture is not None:
        raise UsageError("received --texture with a picture", "expected one or the other")


def _picture(
    folder: Path,
    shape: tuple[int, int] | None,
    frames: int,
    noise: float,
    blur: float | None,
    seed: int,
    dtype: simulation.PixelType,
    camera: simulation.Camera,
    progress: Progress,
) -> simulation.Simulation:
    """Render the picture in a folder."""
    picture, depth = read_picture(folder)
    if shape is not None:
        picture, depth = (simulation.centre_crop(each, shape) for each in (picture, depth))
    return simulation.render_picture(
        picture,
        depth,
        n=frames,
        seed=seed,
        noise=noise,
        max_blur=7.0 if blur is None else blur,
        dtype=dtype,
        camera=camera,
        name=resolved(folder).name,
        progress=progress,
    )


def prepare_simulation(folder: Path, overwrite: bool) -> None:
    """Make sure that a stack can be written into a folder, before it is simulated."""
    prepare_folder(folder, TRUTH_FILES, overwrite)
    frames = folder / FRAMES_FOLDER
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
        TRUTH_INDEX: images.float_tiff(made.truth_index, "frames", "true depth"),
        "truth_depth.tif": images.float_tiff(made.truth_depth, "m", "true depth"),
        "sharp.png": images.picture(sharp)[1],
        FOCUS_FILE: ("distance_m\n" + "".join(f"{z:.9g}\n" for z in made.focus)).encode(),
    }
    prepare_simulation(folder, overwrite)
    for old in (folder / FRAMES_FOLDER).glob("frame_*.png"):
        old.unlink()
    for file, pixels in pictures.items():
        write_atomically(folder / FRAMES_FOLDER / file, images.picture(pixels)[1])
    for file, content in facts.items():
        write_atomically(folder / file, content)
    return [*pictures], [*facts]


def read_texture(path: Path) -> NDArray[Any]:
    """Read one picture, without its alpha channel."""
    return without_alpha(probe_files([path]).frames[0].read())
