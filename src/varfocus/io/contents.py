"""What is found in a file: its frames, and what it says about sizes in the scene."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias

from numpy.typing import NDArray

from varfocus.files import open_regular
from varfocus.io.header import Header
from varfocus.units import LENGTHS, Length, PixelSize

ReadPage: TypeAlias = Callable[[Header], NDArray[Any]]
"""Decodes the frame with this header; called from several threads at once. Can be pickled."""

ReadWindow: TypeAlias = Callable[[Header, slice, slice], NDArray[Any]]
"""Decodes some rows and columns of that frame, in the same way."""


@dataclass(frozen=True)
class Calibration:
    """Sizes as given by a file.

    Parameters
    ----------
    focus : tuple of float
        Focus position of each frame; empty if the file has none.
    unit : str
        Unit of `focus`.
    focus_origin, pixel_size_origin : str
        Which entry of the file they come from.
    pixel_size : PixelSize, optional
        Size of a pixel in the scene.
    """

    focus: tuple[float, ...] = ()
    unit: str = ""
    focus_origin: str = ""
    pixel_size: PixelSize | None = None
    pixel_size_origin: str = ""


@dataclass(frozen=True)
class Contents:
    """The frames of one file.

    Parameters
    ----------
    headers : sequence of Header
        One per frame, in the order of focus.
    read : callable
        Decodes a frame.
    calibration : Calibration
        What the file says about sizes.
    read_window : callable, optional
        Decodes a part of a frame whose header is `windowed`.
    """

    headers: Sequence[Header]
    read: ReadPage
    calibration: Calibration = Calibration()
    read_window: ReadWindow | None = None


def decoder(path: Path, decode: Callable[[BinaryIO, Header], NDArray[Any]]) -> ReadPage:
    """Return a function that opens the file anew for each frame, which any thread may do."""
    return partial(_decode, path, decode)


def _decode(
    path: Path, decode: Callable[[BinaryIO, Header], NDArray[Any]], header: Header
) -> NDArray[Any]:
    with open_regular(path) as file:
        return decode(file, header)


def window_decoder(
    path: Path, decode: Callable[[BinaryIO, Header, slice, slice], NDArray[Any]]
) -> ReadWindow:
    """Return a function that opens the file anew for each part of a frame."""
    return partial(_decode_window, path, decode)


def _decode_window(
    path: Path,
    decode: Callable[[BinaryIO, Header, slice, slice], NDArray[Any]],
    header: Header,
    rows: slice,
    columns: slice,
) -> NDArray[Any]:
    with open_regular(path) as file:
        return decode(file, header, rows, columns)


def evenly(n: int, step: Length | None) -> tuple[float, ...]:
    """Return focus positions of `n` frames at equal steps from 0; none without a usable step."""
    if step is None or abs(step.value) * max(n - 1, 1) not in LENGTHS:
        return ()
    return tuple(k * step.value for k in range(n))


def across(x: Length | None, y: Length | None) -> PixelSize | None:
    """Return the pixel size that a file tells; None if it tells none, or an impossible one."""
    if x is None or y is None or x.value not in LENGTHS or y.to(x.unit) not in LENGTHS:
        return None
    return PixelSize(x.value, y.to(x.unit), x.unit)
