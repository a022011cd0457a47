"""Strokes and the pictures they paint from, read from files."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from varfocus.bugs import guarded
from varfocus.errors import ParameterError
from varfocus.export.saved import load_result
from varfocus.files import read_json, why
from varfocus.geometry import Rectangle
from varfocus.io.frames import probe_files
from varfocus.ranges import path as as_path
from varfocus.retouch import Retouch, Stroke


@guarded
def read_strokes(path: str | Path) -> Retouch:
    """Read strokes from their document, or from the run.json of a retouched result.

    Parameters
    ----------
    path : path
        The file, or a result folder. Pictures that it names are looked for beside it.

    Returns
    -------
    Retouch
        With full paths of pictures.

    Raises
    ------
    ParameterError
        If there are none; says what is wrong with which stroke.
    """
    path = as_path("path", path)
    if path.is_dir():
        path /= "run.json"
    try:
        data = read_json(path)
        if isinstance(data, dict) and "retouch" in data and "parameters" in data:
            data = data["retouch"]
        found = Retouch.from_data(data)
    except (OSError, ValueError) as error:
        if isinstance(error, ParameterError):
            raise ParameterError(f"{path}: {error.args[0]}", *error.args[1:]) from error
        raise ParameterError(
            f"{path} cannot be used: {why(error)}",
            "expected strokes, or the run.json of a retouched result",
        ) from error
    folder = path.resolve().parent
    strokes = [
        s if s.picture is None else replace(s, picture=str(folder / s.picture))
        for s in found.strokes
    ]
    return replace(found, strokes=tuple(strokes))


def picture_reader(
    stroke: Stroke, extent: Rectangle, frame_shape: tuple[int, int], like: NDArray[Any]
) -> Callable[[Rectangle], NDArray[Any]]:
    """Return how to read the picture that a stroke paints from.

    Parameters
    ----------
    stroke : Stroke
        With a picture.
    extent : Rectangle
        What the retouched image covers of the frames.
    frame_shape : (int, int)
        Height and width of the frames.
    like : ndarray
        An image whose number type and channels are returned.

    Returns
    -------
    callable
        Returns pixels in a rectangle of the frames.

    Raises
    ------
    ParameterError
        If the picture does not cover what the stroke may touch.
    """
    path = Path(stroke.picture or "")
    if path.is_dir():
        saved = load_result(path)
        pixels, place = saved.fused, Rectangle(*saved.origin, *saved.fused.shape[1::-1])
    elif path.is_file():
        pixels = probe_files([path]).frames[0].read()
        places = {frame_shape: Rectangle.whole(frame_shape), extent.shape: extent}
        if pixels.shape[:2] not in places:
            raise ParameterError(
                f"{path} has {pixels.shape[1]}×{pixels.shape[0]} pixels",
                f"expected {frame_shape[1]}×{frame_shape[0]} as the frames, or "
                f"{extent.width}×{extent.height} as the result",
            )
        place = places[pixels.shape[:2]]
    else:
        raise ParameterError(
            f"{path} is neither a picture nor a result", "expected what a stroke paints from"
        )
    pixels = _alike(pixels, like)

    def read(box: Rectangle) -> NDArray[Any]:
        if box.common(place) != box:
            raise ParameterError(
                f"{path} shows {place} of the frames", f"expected it to show {box}, where it paints"
            )
        return pixels[box._replace(left=box.left - place.left, top=box.top - place.top).window]

    return read


def _alike(pixels: NDArray[Any], like: NDArray[Any]) -> NDArray[Any]:
    """Return a picture in the number type, range and channels of another."""
    if pixels.ndim == 2 and like.ndim == 3:
        pixels = np.repeat(pixels[..., None], like.shape[2], axis=2)
    elif pixels.ndim == 3 and like.ndim == 2:
        pixels = pixels.mean(axis=2, dtype=np.float32).astype(pixels.dtype)
    if pixels.dtype == like.dtype:
        return pixels
    one, other = (
        float(np.iinfo(a.dtype).max) if np.issubdtype(a.dtype, np.integer) else 1.0
        for a in (pixels, like)
    )
    scaled = pixels.astype(np.float32) * np.float32(other / one)
    return np.rint(scaled).astype(like.dtype) if other > 1.0 else scaled
