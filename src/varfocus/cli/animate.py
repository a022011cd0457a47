"""``varfocus animate``: a result that rocks from side to side or in stereo, a stack that sweeps."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import numpy as np
from cyclopts import Parameter
from numpy.typing import NDArray
from PIL import Image

from varfocus.cli.console import Narrator, Talk, TalkOptions, table
from varfocus.cli.source import Frames, load
from varfocus.errors import InputError
from varfocus.export import RUN_RECORD, images
from varfocus.export.atomic import prepare_folder, write_atomically
from varfocus.export.images import eight_bit
from varfocus.export.movies import check_movie_name, movie
from varfocus.export.saved import SavedResult, load_result
from varfocus.io.calibration import Focus
from varfocus.ranges import Range, real, whole
from varfocus.surface.animation import rocking, sweeping
from varfocus.surface.stereo import Layout
from varfocus.surface.stereo import stereo as in_stereo

STILLS = (".png", ".jpg", ".jpeg")


def animate(
    source: Frames,
    /,
    *,
    output: Annotated[Path, Parameter(name=["--output", "-o"])],
    size: int = 720,
    seconds: float = 3.0,
    rate: float = 24.0,
    swing: float = 0.015,
    stereo: Layout = "anaglyph",
    overwrite: Annotated[bool, Parameter(negative=())] = False,
    talk: TalkOptions = Talk(),
) -> None:
    """Make a moving picture: a result rocks from side to side, frames sweep through focus.

    The suffix chooses the format: .webp and .gif loop for ever, .mp4 needs the extra "video"; .png
    and .jpg are still pictures of a result for two eyes.

    Parameters
    ----------
    source
        Output folder of varfocus depth, for a rocking view; or frames, for a sweep.
    output
        File to write.
    size
        Longest side in pixels.
    seconds
        Length of one swing, or of one sweep to and fro.
    rate
        Frames per second, at most; a sweep of many frames takes longer instead.
    swing
        How far the nearest and farthest points move, as a share of the width.
    stereo
        How still pictures show depth: "anaglyph" for glasses red on the left and cyan on the
        right; "parallel" for a stereoscope, the left eye's view on the left; "crossed" for those
        who squint.
    overwrite
        Replace a file that exists.
    """
    narrator = Narrator(talk)
    still = output.suffix.lower() in STILLS
    if not still:
        check_movie_name(output)
    size = whole("size", size, Range(1, 2**14))
    seconds = real("seconds", seconds, Range(0.01, 3600.0))
    rate = real("rate", rate, Range(0.01, 1000.0))
    swing = real("swing", swing, Range(1e-6, 1.0))
    prepare_folder(output.parent, [output.name], overwrite)
    result = len(source) == 1 and (Path(source[0]) / RUN_RECORD).exists()
    if still and not result:
        raise InputError(
            f"received {' '.join(source)}, which is no result, for the still picture {output}",
            "expected the output folder of varfocus depth: two eyes need depth",
            f"For a sweep through the frames: -o {output.with_suffix('.webp')}",
        )
    if still:
        picture, height = _sampled(load_result(source[0]), size)
        view = in_stereo(picture, height, swing=swing, layout=stereo)
        what = "red and cyan" if stereo == "anaglyph" else f"a {stereo} pair"
        _write(output, images.encode(output, view), what, narrator)
        return
    if result:
        count = max(2, round(seconds * rate))
        picture, height = _sampled(load_result(source[0]), size)
        frames = rocking(picture, height, frames=count, swing=swing)
        what = "a view that rocks from side to side"
    else:
        stack = load(source, Focus(), narrator)
        rate = min(rate, (2 * len(stack) - 2) / seconds)
        frames = (_smaller(eight_bit(frame), size) for frame in sweeping(stack))
        what = "a sweep through focus and back"
    _write(output, movie(frames, output.suffix, rate), what, narrator)


def _write(output: Path, content: bytes, what: str, narrator: Narrator) -> None:
    write_atomically(output, content)
    narrator.result(
        table([(str(output), f"{len(content) / 1e6:.1f} MB", what)]),
        {"path": str(output), "bytes": len(content), "what": what},
    )


def _sampled(saved: SavedResult, size: int) -> tuple[NDArray[np.uint8], NDArray[np.float32]]:
    """Return the all-in-focus image, made smaller, and the height of each of its pixels."""
    picture = _smaller(eight_bit(saved.fused), size)
    # Depth is sampled, not averaged: a mean would put points between objects.
    rows, columns = (
        np.minimum(((np.arange(n) + 0.5) * full / n).astype(np.intp), full - 1)
        for n, full in zip(picture.shape[:2], saved.depth.shape, strict=True)
    )
    return picture, saved.height[np.ix_(rows, columns)]


def _smaller(picture: NDArray[np.uint8], size: int) -> NDArray[np.uint8]:
    image = Image.fromarray(picture)
    image.thumbnail((size, size), Image.Resampling.LANCZOS)
    return np.asarray(image)
