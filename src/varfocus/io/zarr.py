"""Zarr arrays and OME-Zarr images (0.4 and 0.5), in a folder."""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from varfocus.errors import MissingExtraError
from varfocus.io.border import damaged, library, too_large, unsupported
from varfocus.io.contents import Calibration, Contents, evenly
from varfocus.io.header import Header
from varfocus.io.limits import MAX_PIXELS
from varfocus.io.planes import finished, headers_of, stack_shape
from varfocus.io.selection import Choice, Selection, Series, choose
from varfocus.units import Length, PixelSize, convert, unit_name

KEPT_BYTES = 2**28
"""Largest block of planes that is decoded at once."""

_MARKS = ("zarr.json", ".zgroup", ".zarray")


@dataclass(frozen=True)
class Image:
    """One image: where its array is, and what its axes are.

    Parameters
    ----------
    name : str
        For people.
    array : str
        Path of the array within the store.
    axes : str
        A letter per axis: t, c, z, y, x.
    scale : dict of str to Length
        Distance between neighbours along an axis, where it is told.
    channels : tuple of str
        Names, where they are told.
    """

    name: str
    array: str
    axes: str
    scale: dict[str, Length]
    channels: tuple[str, ...] = ()


def is_zarr(folder: Path) -> bool:
    """Tell whether a folder is a Zarr store and not one of pictures."""
    return any((folder / mark).is_file() for mark in _MARKS)


def look(path: Path, selection: Selection) -> Contents:
    """Return the frames of the chosen stack in a Zarr store."""
    zarr = _library()
    with library("zarr"):
        store = zarr.open(path, mode="r")
    if isinstance(store, zarr.Array):
        return _of_array(store, path, selection)
    images = _images(store)
    if not images:
        with library("zarr"):
            arrays = dict(store.arrays())
        if len(arrays) != 1:
            raise unsupported(
                f"is a Zarr group of {len(arrays)} arrays", "expected an OME-Zarr image or an array"
            )
        return _of_array(next(iter(arrays.values())), path, selection)
    with library("zarr"):
        arrays = {image.array: store[image.array] for image in images}
    for image in images:
        if len(image.axes) != arrays[image.array].ndim:
            raise damaged(f"has {arrays[image.array].ndim} axes, and metadata of {image.axes!r}")
    series = [_series(image, arrays[image.array].shape) for image in images]
    choice = choose(series, selection)
    image = images[choice.series]
    array = arrays[image.array]
    return _contents(array, image, choice)


def _of_array(array: Any, path: Path, selection: Selection) -> Contents:
    n, frame = stack_shape(array.shape)
    choice = choose([Series(path.name, n)], selection)
    return _contents(array, Image(path.name, "", "zyxs"[: 1 + len(frame)], {}), choice)


def _contents(array: Any, image: Image, choice: Choice) -> Contents:
    axes = image.axes
    shape = [array.shape[axes.index(axis)] for axis in "yxs" if axis in axes]
    if math.prod(array.chunks) > MAX_PIXELS:
        raise too_large(f"has chunks of {array.chunks} pixels", f"{MAX_PIXELS} pixels a chunk")
    headers = headers_of(len(choice.planes), shape, array.dtype)
    # Chunks over several focus steps are decoded once and not for every step, if memory allows.
    over = "z" if choice.over_focus else "t"
    depth = array.chunks[axes.index(over)] if over in axes else 1
    if depth * math.prod(shape) * array.dtype.itemsize > KEPT_BYTES:
        depth = 1
    order = [axis for axis in axes if axis in "yxs" or axis == over]
    order = order if over in axes else [over, *order]
    first = [over, *(axis for axis in "yxs" if axis in axes)]
    lock = threading.Lock()

    @lru_cache(maxsize=1)
    def block(start: int) -> NDArray[Any]:
        z, t = choice.planes[start]
        place: dict[str, int | slice] = {"z": z, "t": t, "c": choice.channel}
        place[over] = slice(start, start + depth)
        with library("zarr"):
            planes = np.asarray(array[tuple(place.get(axis, slice(None)) for axis in axes)])
        if over not in axes:  # a single picture
            planes = planes[None]
        return planes.transpose([order.index(axis) for axis in first])

    def read(header: Header) -> NDArray[Any]:
        k = header.page % depth
        with lock:
            return finished(block(header.page - k)[k].copy())

    return Contents(headers, read, _calibration(image, choice))


def _images(group: Any) -> list[Image]:
    """Return the images that OME-Zarr metadata describe, at full resolution."""
    attributes = group.attrs.asdict()
    ome = attributes.get("ome", attributes)
    multiscales = ome.get("multiscales", []) if isinstance(ome, dict) else []
    images = []
    with library("OME-Zarr metadata"):
        labels = [c.get("label", "") for c in ome.get("omero", {}).get("channels", [])]
        for multiscale in multiscales:
            axes = [
                axis if isinstance(axis, dict) else {"name": axis} for axis in multiscale["axes"]
            ]
            dataset = multiscale["datasets"][0]
            factors = [1.0] * len(axes)
            for level in (multiscale, dataset):
                for change in level.get("coordinateTransformations", []):
                    if change["type"] == "scale":
                        told = [float(factor) for factor in change["scale"]]
                        factors = [a * b for a, b in zip(factors, told, strict=True)]
            scale = {}
            for axis, factor in zip(axes, factors, strict=True):
                unit = unit_name(str(axis.get("unit", "")))
                if unit and math.isfinite(factor) and factor > 0:
                    scale[axis["name"]] = Length(factor, unit)
            names = "".join(str(axis["name"]) for axis in axes)
            if len(names) != len(axes) or not set("yx") <= set(names) <= set("tczyx"):
                raise unsupported(f"has axes {names!r}", "expected axes t, c, z, y and x")
            images.append(
                Image(
                    str(multiscale.get("name", "")),
                    str(dataset["path"]),
                    names,
                    scale,
                    tuple(labels),
                )
            )
    return images


def _series(image: Image, shape: Sequence[int]) -> Series:
    n = {axis: shape[image.axes.index(axis)] if axis in image.axes else 1 for axis in "zct"}
    named = len(image.channels) == n["c"]
    return Series(image.name, n["z"], n["t"], image.channels if named else ("",) * n["c"])


def _calibration(image: Image, choice: Choice) -> Calibration:
    z, x, y = (image.scale.get(axis) for axis in "zxy")
    focus = evenly(len(choice.planes), z) if choice.over_focus else ()
    size = PixelSize(x.value, convert(y.value, y.unit, x.unit), x.unit) if x and y else None
    return Calibration(
        focus,
        z.unit if focus and z else "",
        "OME-Zarr scale" if focus else "",
        size,
        "OME-Zarr scale" if size else "",
    )


def _library() -> Any:
    try:
        import zarr
    except ImportError as error:
        raise MissingExtraError("Zarr arrays", "zarr", "zarr") from error
    return zarr
