"""Zarr arrays and OME-Zarr images (0.4 and 0.5), in a folder."""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from varfocus.errors import MissingExtraError
from varfocus.files import open_regular
from varfocus.io.border import damaged, library, too_large, unsupported
from varfocus.io.contents import Calibration, Contents, across, evenly
from varfocus.io.header import Header
from varfocus.io.limits import in_force
from varfocus.io.planes import finished, headers_of, stack_shape
from varfocus.io.selection import Choice, Selection, Series, choose, nameless
from varfocus.io.unpacking import bounded
from varfocus.units import Length, unit_name

KEPT_BYTES = 2**28
"""Largest block of planes that is decoded at once."""

CODECS = {
    *("bytes", "transpose", "gzip", "zstd", "blosc", "crc32c", "sharding_indexed"),
    *("zlib", "bz2", "lzma", "lz4", "delta", "shuffle"),
}
"""What chunks may be coded with, in either version. Others can run code: “pickle” does."""

MOST_METADATA = 64 * 2**20
"""Bytes that describe an array."""

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
        Distance between neighbours along an axis, where it is given.
    channels : tuple of str
        Names, where they are given.
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
    _check_metadata(path, *sorted(child for child in path.iterdir() if child.is_dir()))
    with library("zarr"), bounded():
        store = zarr.open(path, mode="r")
    if isinstance(store, zarr.Array):
        return _of_array(store, path, selection)
    images = _images(store)
    if not images:
        with library("zarr"), bounded():
            arrays = dict(store.arrays())
        if len(arrays) != 1:
            raise unsupported(
                f"is a Zarr group of {len(arrays)} arrays", "expected an OME-Zarr image or an array"
            )
        return _of_array(next(iter(arrays.values())), path, selection)
    _check_metadata(*(path / image.array for image in images))
    with library("zarr"), bounded():
        arrays = {image.array: store[image.array] for image in images}
    for image in images:
        if len(image.axes) != arrays[image.array].ndim:
            raise damaged(f"has {arrays[image.array].ndim} axes, and metadata of {image.axes!r}")
    series = [_series(image, arrays[image.array].shape) for image in images]
    choice = choose(series, selection)
    image = images[choice.series]
    array = arrays[image.array]
    return _contents(array, image, choice)


def _check_metadata(*folders: Path) -> None:
    """Refuse what describes an array but is no file, or is far too large for it."""
    for folder in folders:
        for name in (*_MARKS, ".zattrs", ".zmetadata"):
            if os.path.lexists(folder / name):
                with open_regular(folder / name) as file:
                    size = file.seek(0, os.SEEK_END)
                if size > MOST_METADATA:
                    raise too_large(f"has {size} bytes of metadata", f"{MOST_METADATA} bytes")


def _of_array(array: Any, path: Path, selection: Selection) -> Contents:
    n, frame = stack_shape(array.shape)
    choice = choose([Series(path.name, n)], selection)
    return _contents(array, Image(path.name, "", "zyxs"[: 1 + len(frame)], {}), choice)


def _check_codecs(array: Any) -> None:
    """Refuse an array whose chunks are coded with anything that is not listed."""
    with library("zarr"):
        metadata = array.metadata.to_dict()
    used = [metadata.get("compressor"), *(metadata.get("filters") or [])]
    used += metadata.get("codecs") or []
    while used:
        codec = used.pop()
        if codec is None:
            continue
        name = codec.get("name", codec.get("id")) if isinstance(codec, dict) else codec
        if name not in CODECS:
            raise unsupported(
                f"has chunks coded with {str(name)[:50]!r}",
                f"expected one of {', '.join(sorted(CODECS))}",
            )
        inner = codec.get("configuration", {}) if isinstance(codec, dict) else {}
        used += [*inner.get("codecs", []), *inner.get("index_codecs", [])]


def _contents(array: Any, image: Image, choice: Choice) -> Contents:
    _check_codecs(array)
    shape = [array.shape[image.axes.index(axis)] for axis in "yxs" if axis in image.axes]
    if math.prod(array.chunks) > (most := in_force().max_pixels):
        raise too_large(
            f"has chunks of {array.chunks} pixels", f"{most} pixels a chunk", "--max-pixels"
        )
    headers = headers_of(len(choice.planes), shape, array.dtype, windowed=True)
    planes = Planes(array, image.axes, choice)
    return Contents(headers, planes, _calibration(image, choice), planes.window)


class Planes:
    """Reads the frames of a stack, chunks over several of them once if memory allows.

    Parameters
    ----------
    array : zarr.Array
        Pixels.
    axes : str
        Its axes, a letter each.
    choice : Choice
        The stack.
    """

    def __init__(self, array: Any, axes: str, choice: Choice) -> None:
        self._array, self._axes, self._choice = array, axes, choice
        self._over = "z" if choice.over_focus else "t"
        self._steps = array.chunks[axes.index(self._over)] if self._over in axes else 1
        plane = math.prod(n for axis, n in zip(axes, array.shape, strict=True) if axis in "yxs")
        if self._steps * plane * array.dtype.itemsize > KEPT_BYTES:
            self._steps = 1
        self._lock = threading.Lock()
        self._kept: tuple[object, NDArray[Any]] | None = None

    def __reduce__(self) -> tuple[type[Planes], tuple[Any, str, Choice]]:
        return Planes, (self._array, self._axes, self._choice)

    def __call__(self, header: Header) -> NDArray[Any]:
        """Return the frame with this header; callable from several threads."""
        return self._part(header, slice(None), slice(None), self._steps)

    def window(self, header: Header, rows: slice, columns: slice) -> NDArray[Any]:
        """Return a part of that frame."""
        over = self._array.chunks[self._axes.index(self._over)] if self._over in self._axes else 1
        pixels = (rows.stop - rows.start) * (columns.stop - columns.start)
        fits = over * pixels * 4 * self._array.dtype.itemsize <= KEPT_BYTES
        return self._part(header, rows, columns, over if fits else 1)

    def _part(self, header: Header, rows: slice, columns: slice, steps: int) -> NDArray[Any]:
        k = header.page % steps
        key = header.page - k, rows.start, rows.stop, columns.start, columns.stop
        with self._lock:
            if self._kept is None or self._kept[0] != key:
                self._kept = key, self._block(key[0], rows, columns, steps)
            return finished(self._kept[1][k].copy())

    def _block(self, start: int, rows: slice, columns: slice, steps: int) -> NDArray[Any]:
        """Return the planes from `start` on that share a chunk, ``(steps, H, W[, samples])``."""
        z, t = self._choice.planes[start]
        place: dict[str, int | slice] = {"z": z, "t": t, "c": self._choice.channel}
        place |= {"y": rows, "x": columns}
        place[self._over] = slice(start, start + steps)
        with library("zarr"), bounded():
            planes = np.asarray(
                self._array[tuple(place.get(axis, slice(None)) for axis in self._axes)]
            )
        left = [axis for axis in self._axes if axis in "yxs" or axis == self._over]
        if self._over not in left:  # a single picture
            left, planes = [self._over, *left], planes[None]
        return planes.transpose(
            [left.index(axis) for axis in (self._over, "y", "x", "s") if axis in left]
        )


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
    return Series(image.name, n["z"], n["t"], image.channels if named else nameless(n["c"]))


def _calibration(image: Image, choice: Choice) -> Calibration:
    z, x, y = (image.scale.get(axis) for axis in "zxy")
    focus = evenly(len(choice.planes), z) if choice.over_focus else ()
    size = across(x, y)
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
