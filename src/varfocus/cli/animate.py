"""``varfocus animate``: a result that rocks from side to side, or a stack that sweeps its focus."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import numpy as np
from cyclopts import Parameter
from numpy.typing import NDArray
from PIL import Image

from varfocus.cli.console import Narrator, Talk, TalkOptions, table
from varfocus.cli.source import Frames, load
from varfocus.errors import ParameterError
from varfocus.export import RUN_RECORD
from varfocus.export.atomic import prepare_folder, write_atomically
from varfocus.export.images import eight_bit
from varfocus.export.movies import check_movie_name, movie
from varfocus.export.saved import SavedResult, load_result
from varfocus.io.calibration import Focus
from varfocus.surface.animation import rocking, sweeping


def animate(
    source: Frames,
    /,
    *,
    output: Annotated[Path, Parameter(name=["--output", "-o"])],
    size: int = 720,
    seconds: float = 3.0,
    rate: float = 24.0,
    swing: float = 0.015,
    overwrite: Annotated[bool, Parameter(negative=())] = False,
    talk: TalkOptions = Talk(),
) -> None:
    """Make a moving picture: a result rocks from side to side, frames sweep through focus.

    The suffix chooses the format: .webp and .gif loop for ever, .mp4 needs the extra "video".

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
    overwrite
        Replace a file that exists.
    """
    narrator = Narrator(talk)
    check_movie_name(output)
    for name, value in (("size", size), ("seconds", seconds), ("rate", rate), ("swing", swing)):
        if not value > 0:
            raise ParameterError(f"received {name} = {value}", "expected a number above 0")
    prepare_folder(output.parent, [output.name], overwrite)
    if len(source) == 1 and (Path(source[0]) / RUN_RECORD).exists():
        count = max(2, round(seconds * rate))
        frames = _rocking(load_result(source[0]), size, count, swing)
        what = "a view that rocks from side to side"
    else:
        stack = load(source, Focus(), narrator)
        rate = min(rate, (2 * len(stack) - 2) / seconds)
        frames = (_smaller(eight_bit(frame), size) for frame in sweeping(stack))
        what = "a sweep through focus and back"
    content = movie(frames, output.suffix, rate)
    write_atomically(output, content)
    narrator.result(
        table([(str(output), f"{len(content) / 1e6:.1f} MB", what)]),
        {"path": str(output), "bytes": len(content), "what": what},
    )


def _rocking(
    saved: SavedResult, size: int, frames: int, swing: float
) -> Iterator[NDArray[np.uint8]]:
    picture = _smaller(eight_bit(saved.fused), size)
    # Depth is sampled, not averaged: a mean would put points between objects.
    rows, columns = (
        np.minimum(((np.arange(n) + 0.5) * full / n).astype(np.intp), full - 1)
        for n, full in zip(picture.shape[:2], saved.depth.shape, strict=True)
    )
    height = saved.height[np.ix_(rows, columns)]
    return rocking(picture, height, frames=frames, swing=swing)


def _smaller(picture: NDArray[np.uint8], size: int) -> NDArray[np.uint8]:
    image = Image.fromarray(picture)
    image.thumbnail((size, size), Image.Resampling.LANCZOS)
    return np.asarray(image)
