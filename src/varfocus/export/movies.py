"""Frames as the bytes of MP4, WebP and GIF files that loop."""

from __future__ import annotations

import io
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from varfocus.errors import MissingExtraError, OutputError

SUFFIXES = (".mp4", ".webp", ".gif")


def check_movie_name(path: Path) -> None:
    """Raise `OutputError` unless the suffix names a format that can be written."""
    if path.suffix.lower() not in SUFFIXES:
        raise OutputError(
            f"received the name {path}",
            "expected one that ends in " + ", ".join(SUFFIXES),
            "The suffix chooses the format.",
        )
    if path.suffix.lower() == ".mp4":
        _av()


def movie(frames: Iterable[NDArray[np.uint8]], suffix: str, rate: float) -> bytes:
    """Return a moving picture.

    Parameters
    ----------
    frames : iterable of ndarray of shape (H, W, 3), uint8
        Frames of equal size.
    suffix : {".mp4", ".webp", ".gif"}
        Format; MP4 needs the library av.
    rate : float
        Frames per second.

    Returns
    -------
    bytes
        The file. WebP and GIF loop for ever; MP4 has every frame once.
    """
    if suffix.lower() == ".mp4":
        return _mp4(frames, rate)
    from PIL import Image

    pictures = [Image.fromarray(frame) for frame in frames]
    if suffix.lower() == ".gif":
        # One palette for all frames: colours that change from frame to frame would flicker.
        palette = pictures[0].quantize(256, dither=Image.Dither.NONE)
        pictures = [p.quantize(palette=palette) for p in pictures]
    file = io.BytesIO()
    kind = {".gif": "GIF", ".webp": "WEBP"}[suffix.lower()]
    pictures[0].save(
        file,
        kind,
        save_all=True,
        append_images=pictures[1:],
        duration=round(1000 / rate),
        loop=0,
        **({"quality": 82, "method": 4} if kind == "WEBP" else {"optimize": False}),
    )
    return file.getvalue()


def _av() -> Any:
    try:
        import av
    except ImportError as error:
        raise MissingExtraError("MP4 files", "av", "video") from error
    return av


def _mp4(frames: Iterable[NDArray[np.uint8]], rate: float) -> bytes:
    from fractions import Fraction

    av = _av()
    file = io.BytesIO()
    codec = "libx264" if "libx264" in av.codecs_available else "mpeg4"
    with av.open(file, "w", format="mp4") as container:
        stream = None
        for frame in frames:
            odd = [(0, side % 2) for side in frame.shape[:2]]
            even = np.pad(frame, (*odd, (0, 0)), mode="edge")  # as 4:2:0 needs
            if stream is None:
                stream = container.add_stream(codec, rate=Fraction(rate).limit_denominator(1000))
                stream.height, stream.width = even.shape[:2]
                stream.pix_fmt = "yuv420p"
                stream.options = {"crf": "18"} if codec == "libx264" else {"qscale": "3"}
            picture = av.VideoFrame.from_ndarray(even, format="rgb24")
            for packet in stream.encode(picture):
                container.mux(packet)
        if stream is not None:
            for packet in stream.encode():
                container.mux(packet)
    return file.getvalue()
