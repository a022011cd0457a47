"""Video: a focus sweep, frame by frame, decoded by FFmpeg.

Frames are counted without decoding them, and decoded in turn: most depend on those before.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from varfocus.errors import MissingExtraError
from varfocus.files import open_regular
from varfocus.io.border import damaged, library, too_many, unsupported
from varfocus.io.contents import Contents
from varfocus.io.header import Header
from varfocus.io.limits import in_force
from varfocus.io.orientation import UPRIGHT
from varfocus.io.planes import InTurn
from varfocus.io.selection import Selection, Series, choose

if TYPE_CHECKING:
    from av.video.frame import VideoFrame

_PIXELS = {
    (False, False): "gray",
    (False, True): "gray16le",
    (True, False): "rgb24",
    (True, True): "rgb48le",
}
"""FFmpeg's name of the pixels to ask for, by colour and by more than 8 bits."""
_ONLY = {
    "format_whitelist": "mov,mp4,m4a,3gp,3g2,mj2,matroska,webm,avi,flv,ogg,mpeg,mpegts,asf,"
    "yuv4mpegpipe",
    "protocol_whitelist": "none",
}
"""Playlists, and whatever else names other files or addresses, are not followed."""
_TURNS = {-90: 6, 90: 8, 180: 3, -180: 3}
"""Orientation by FFmpeg's angle, which counts against the clock."""


_MAGIC = (
    (4, b"ftyp"),  # MP4, QuickTime
    (4, b"moov"),
    (4, b"mdat"),
    (0, b"\x1aE\xdf\xa3"),  # Matroska, WebM
    (8, b"AVI "),
    (0, b"FLV\x01"),
    (0, b"OggS"),
    (0, b"\0\0\x01\xba"),  # MPEG
    (0, b"0&\xb2u\x8ef\xcf\x11"),  # Windows Media
    (0, b"YUV4MPEG2 "),
)
_TRANSPORT_PACKETS = (0, 188), (4, 196)
"""Where an MPEG transport stream repeats its mark, without and with time codes."""


def sniff(head: bytes) -> bool:
    """Tell whether a file that begins like this is a video."""
    if any(head[offset:].startswith(mark) for offset, mark in _MAGIC):
        return True
    return any(all(head[at : at + 1] == b"G" for at in marks) for marks in _TRANSPORT_PACKETS)


def look(path: Path, selection: Selection) -> Contents:
    """Return the frames of a video."""
    n = _count(path)
    choose([Series(path.name, n)], selection)
    frames = _decoded(path)
    try:
        first = next(frames, None)  # the container does not say how the camera was held
    finally:
        frames.close()
    if first is None:
        raise damaged("holds no picture")
    pixels, orientation = _pixels(first), _TURNS.get(first.rotation, UPRIGHT)
    deep = pixels.endswith("le")
    dtype = np.dtype(np.uint16 if deep else np.uint8)
    colour = pixels.startswith("rgb")
    headers = [
        Header(first.width, first.height, colour, dtype, orientation, page=k) for k in range(n)
    ]
    return Contents(headers, InTurn(partial(_in_turn, path, pixels)))


def _count(path: Path) -> int:
    av = _library()
    n = 0
    with open_regular(path) as file, library("FFmpeg"), av.open(file, options=_ONLY) as container:
        if not container.streams.video:
            raise unsupported("has no video in it", "expected a video")
        size = container.streams.video[0].codec_context
        Header(size.width, size.height, True, np.dtype(np.uint8))  # refuses what is too large
        for packet in container.demux(video=0):
            n += packet.size > 0
            if n > in_force().max_frames:
                raise too_many(f"has more than {n - 1} frames", n - 1)
    return n


def _decoded(path: Path) -> Generator[VideoFrame]:
    av = _library()
    with open_regular(path) as file, library("FFmpeg"), av.open(file, options=_ONLY) as container:
        yield from container.decode(video=0)


def _in_turn(path: Path, pixels: str) -> Iterator[NDArray[Any]]:
    for k, frame in enumerate(_decoded(path)):
        if frame.is_corrupt:  # FFmpeg goes on with a guess
            raise damaged(f"is damaged in frame {k}")
        with library("FFmpeg"):
            yield frame.to_ndarray(format=pixels)


def _pixels(frame: VideoFrame) -> str:
    parts = frame.format.components
    colour = len(parts) > 2 or frame.format.has_palette
    return _PIXELS[colour, any(part.bits > 8 for part in parts)]


def _library() -> Any:
    try:
        import av
    except ImportError as error:
        raise MissingExtraError("videos", "av", "video") from error
    return av
