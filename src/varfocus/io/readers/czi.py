"""Zeiss's CZI, by the library czifile: planes are put together from their sub-blocks."""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from varfocus.errors import MissingExtraError
from varfocus.io.border import damaged, library, unsupported
from varfocus.io.contents import Calibration, Contents, across, evenly
from varfocus.io.header import Header
from varfocus.io.limits import in_force
from varfocus.io.planes import finished, headers_of
from varfocus.io.selection import Choice, Selection, Series, choose
from varfocus.units import Length

_PLANE_AXES, _TILE = ("S", "C", "Z", "T"), "M"


def look(path: Path, selection: Selection) -> Contents:
    """Return the frames of the chosen stack; scenes are series, tiles are put together."""
    with library("czifile"), _opened(path) as file:
        blocks = _blocks(file)
        metadata = file.metadata() if file.header.metadata_position else ""
    if not blocks:
        raise damaged("holds no picture")
    _check_axes(blocks)
    values = {axis: sorted({_start(block, axis) for block in blocks}) for axis in _PLANE_AXES}
    names, sizes = _told(metadata, len(values["C"]))
    series = []
    for number in values["S"]:
        parts = [block for block in blocks if _start(block, "S") == number]
        z, t = (len({_start(block, axis) for block in parts}) for axis in "ZT")
        series.append(Series("", z, t, names))
    choice = choose(series, selection)
    places = [
        (values["S"][choice.series], values["C"][choice.channel], values["Z"][z], values["T"][t])
        for z, t in choice.planes
    ]
    scene = [block for block in blocks if _start(block, "S") == places[0][0]]
    box = _box(scene)
    samples = scene[0].shape[-1:] if scene[0].shape[-1] > 1 else ()
    shape = (box[1] - box[0], box[3] - box[2], *samples)
    dtype = np.dtype(np.dtype(scene[0].dtype).base)
    read = partial(_read, path, places, (box[0], box[2]), shape, dtype)
    return Contents(headers_of(len(places), shape, dtype), read, _calibration(sizes, choice))


def _read(
    path: Path,
    places: list[tuple[int, int, int, int]],
    corner: tuple[int, int],
    shape: tuple[int, ...],
    dtype: np.dtype[Any],
    header: Header,
) -> NDArray[Any]:
    """Put the tiles of a plane together; those that overlap, in their order."""
    place = places[header.page]
    plane = np.zeros(shape, dtype)
    with library("czifile"), _opened(path) as file:
        parts = [b for b in _blocks(file) if tuple(_start(b, a) for a in _PLANE_AXES) == place]
        if not parts:
            raise damaged(f"has no picture for slice {place[2]}, time {place[3]}")
        for part in sorted(parts, key=lambda block: _start(block, _TILE)):
            size = (_extent(part, "Y"), _extent(part, "X"), *shape[2:])
            top, left = _start(part, "Y") - corner[0], _start(part, "X") - corner[1]
            plane[top : top + size[0], left : left + size[1]] = _tile(part, path).reshape(size)
    return finished(plane)


def _tile(block: Any, path: Path) -> NDArray[Any]:
    """Return the pixels of a sub-block, if it is what the directory says."""
    segment = block.data_segment()
    own = segment.directory_entry
    if (own.stored_shape, own.dtype) != (block.stored_shape, block.dtype):
        raise damaged(f"has a block of {own.stored_shape}, listed as {block.stored_shape}")
    if math.prod(own.stored_shape) > 4 * in_force().max_pixels:
        raise damaged(f"has a block that claims {own.stored_shape}")
    if not 0 < segment.data_size <= path.stat().st_size:
        raise damaged(f"has a block that claims {segment.data_size} bytes")
    pixels: NDArray[Any] = segment.data(resize=False)
    return pixels


def _blocks(file: Any) -> list[Any]:
    """Return the directory entries at full resolution."""
    return [
        entry
        for entry in file.subblock_directory
        if all(dim.size == dim.stored_size for dim in entry.dimension_entries)
    ]


def _dimension(block: Any, axis: str) -> Any:
    return next((dim for dim in block.dimension_entries if dim.dimension == axis), None)


def _start(block: Any, axis: str) -> int:
    found = _dimension(block, axis)
    return 0 if found is None else int(found.start)


def _extent(block: Any, axis: str) -> int:
    found = _dimension(block, axis)
    return 1 if found is None else int(found.size)


def _box(blocks: Iterable[Any]) -> tuple[int, int, int, int]:
    """Return top, bottom, left and right of all tiles."""
    blocks = list(blocks)
    edges = []
    for axis in "YX":
        edges.append(min(_start(block, axis) for block in blocks))
        edges.append(max(_start(block, axis) + _extent(block, axis) for block in blocks))
    return edges[0], edges[1], edges[2], edges[3]


def _check_axes(blocks: list[Any]) -> None:
    for axis in {dim.dimension for block in blocks for dim in block.dimension_entries}:
        starts = {_start(block, axis) for block in blocks}
        if axis not in (*_PLANE_AXES, _TILE, "X", "Y") and len(starts) > 1:
            raise unsupported(f"has {len(starts)} pictures along the axis {axis}")
        if axis in _PLANE_AXES and any(_extent(block, axis) != 1 for block in blocks):
            raise unsupported(f"has blocks over several pictures of the axis {axis}")


def _told(metadata: str | None, channels: int) -> tuple[tuple[str, ...], dict[str, float]]:
    """Return the names of the channels and the distances in metres, by axis."""
    from xml.etree import ElementTree

    if not metadata:
        return ("",) * channels, {}
    if "<!DOCTYPE" in metadata:
        raise damaged("has metadata with a document type, which they never have")
    with library("CZI metadata"):
        root = ElementTree.fromstring(metadata)
    found = root.findall(".//Information/Image/Dimensions/Channels/Channel")
    names = tuple(channel.get("Name", "") for channel in found)
    sizes = {}
    for distance in root.findall(".//Scaling/Items/Distance"):
        try:
            sizes[distance.get("Id", "")] = float(distance.findtext("Value", ""))
        except ValueError:
            continue
    return names if len(names) == channels else ("",) * channels, sizes


def _calibration(sizes: dict[str, float], choice: Choice) -> Calibration:
    um = {axis: 1e6 * size for axis, size in sizes.items() if 0 < size < 1}
    focus: tuple[float, ...] = ()
    if choice.over_focus and "Z" in um:
        focus = evenly(len(choice.planes), Length(um["Z"], "um"))
    size = across(*(Length(um[axis], "um") if axis in um else None for axis in "XY"))
    return Calibration(
        focus,
        "um" if focus else "",
        "CZI scaling" if focus else "",
        size,
        "CZI scaling" if size else "",
    )


def _opened(path: Path) -> Any:
    try:
        import czifile
    except ImportError as error:
        raise MissingExtraError("CZI files", "czifile", "microscopy") from error
    return czifile.CziFile(str(path), multifile=False)
