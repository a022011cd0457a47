"""Maps too large for memory, written tile by tile, with coarser copies for looking at them.

``tiff``: one tiled BigTIFF per map, coarser levels as its SubIFDs. ``zarr``: one OME-Zarr image
(0.5) per map. Either has its name only when it is complete.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from varfocus.canvas import Canvas
from varfocus.canvas.halving import halved
from varfocus.canvas.tiles import Box, tiles
from varfocus.errors import MissingExtraError, OutputError, ParameterError
from varfocus.export.atomic import remove
from varfocus.export.result_files import TILED_SUFFIXES, TiledFormat
from varfocus.export.tiff_exif import add_exif
from varfocus.units import PixelSize

Array: TypeAlias = NDArray[Any]

TILE = 512
"""Side in pixels of the tiles or chunks of a file."""

COARSEST = 1024
"""The coarsest level is no longer than this many pixels."""

BLOCK = 2048
"""Side in pixels of the blocks in which coarser levels are made."""

OME_UNITS = {
    "m": "meter",
    "cm": "centimeter",
    "mm": "millimeter",
    "um": "micrometer",
    "nm": "nanometer",
    "in": "inch",
}
"""Units of pixel sizes as OME-Zarr spells them."""


@dataclass(frozen=True)
class About:
    """What a map is.

    Attributes
    ----------
    name : str
        Name of the file without suffix.
    note : str
        What its values are, for people.
    pixel_size : PixelSize or None
        Size of a pixel in the scene.
    numbers : bool
        Values are frame numbers, which have no mean.
    exif, icc : bytes
        EXIF block (a TIFF structure) and colour profile of a picture; empty for none.
    """

    name: str
    note: str
    pixel_size: PixelSize | None = None
    numbers: bool = False
    exif: bytes = b""
    icc: bytes = b""


def write_map(
    kind: TiledFormat, folder: Path, values: Array, about: About, canvas: Canvas
) -> tuple[Path, Array]:
    """Write a map with its coarser levels, a tile at a time.

    Parameters
    ----------
    kind : {"tiff", "zarr"}
        Format.
    folder : Path
        Where it will be; replaces a map of the same name.
    values : ndarray of shape (H, W) or (H, W, 3)
        The map, wherever it lies.
    about : About
        What it is.
    canvas : Canvas
        Where levels are kept until they are written.

    Returns
    -------
    tuple of Path and ndarray
        The file, and a level to look at: the finest that a report can show as a whole.
    """
    file = (_ZarrMap if kind == "zarr" else _TiffMap)(folder, values, about, canvas)
    try:
        return file.finish()
    finally:
        file.discard()


def check_format(kind: str) -> None:
    """Refuse a format that does not exist, or whose library is missing."""
    if kind not in get_args(TiledFormat):
        raise ParameterError(
            f"received tiled_format = {kind!r}", "expected one of " + ", ".join(TILED_SUFFIXES)
        )
    if kind == "zarr":
        _zarr()


class _TiffMap:
    def __init__(self, folder: Path, values: Array, about: About, canvas: Canvas) -> None:
        self._path = folder / (about.name + TILED_SUFFIXES["tiff"])
        self._temporary = folder / f".{self._path.name}.part"
        self._about, self._canvas = about, canvas
        self._levels: list[Array] = [values]

    def finish(self) -> tuple[Path, Array]:
        while max(self._levels[-1].shape[:2]) > COARSEST:
            fine = self._levels[-1]
            self._levels.append(self._canvas.empty(coarser_shape(fine.shape), fine.dtype))
            _fill(fine, self._levels[-1], self._about.numbers, self._canvas)
        with _writing(self._path):
            self._write()
            self._temporary.replace(self._path)
        shown = np.array(_to_look_at(self._levels))
        self._canvas.drop(*self._levels[1:])
        return self._path, shown

    def _write(self) -> None:
        import tifffile

        size = self._about.pixel_size
        options: dict[str, Any] = {
            "tile": (TILE, TILE),
            "compression": "zlib",
            "compressionargs": {"level": 1},
            "predictor": True,
            "metadata": None,
        }
        with tifffile.TiffWriter(self._temporary, bigtiff=True, byteorder="<") as file:
            for number, level in enumerate(self._levels):
                photometric = "rgb" if level.ndim == 3 else "minisblack"
                if size is not None:  # in pixels per centimetre
                    pitch = size.to("cm")
                    scale = 2.0**number
                    options |= {
                        "resolution": (1 / (scale * pitch.x), 1 / (scale * pitch.y)),
                        "resolutionunit": "CENTIMETER",
                    }
                file.write(
                    self._tiles(level),
                    shape=level.shape,
                    dtype=level.dtype,
                    photometric=photometric,
                    subifds=len(self._levels) - 1 if number == 0 else 0,
                    subfiletype=1 if number else 0,
                    description=self._about.note if number == 0 else None,
                    iccprofile=self._about.icc or None if number == 0 else None,
                    **options,
                )
        with self._temporary.open("r+b") as file:
            add_exif(file, self._about.exif)

    def _tiles(self, level: Array) -> Iterator[Array]:
        for tile in tiles(level.shape, TILE):
            part = level[tile.inner]
            missing = [(0, TILE - part.shape[axis]) for axis in (0, 1)]
            yield np.pad(part, missing + [(0, 0)] * (level.ndim - 2))
            if tile.inner[1].stop == level.shape[1]:
                self._canvas.release()

    def discard(self) -> None:
        self._temporary.unlink(missing_ok=True)


class _ZarrMap:
    def __init__(self, folder: Path, values: Array, about: About, canvas: Canvas) -> None:
        self._path = folder / (about.name + TILED_SUFFIXES["zarr"])
        self._temporary = folder / f".{self._path.name}.part"
        self._about, self._values, self._canvas = about, values, canvas
        self.discard()

    def _level(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> _ChannelsLast:
        stored = (*shape[2:], *shape[:2])
        chunks = (*shape[2:], min(TILE, shape[0]), min(TILE, shape[1]))
        number = len(getattr(self, "_levels", ()))
        array = self._group.create_array(
            str(number),
            shape=stored,
            chunks=chunks,
            dtype=dtype,
            fill_value=np.nan if dtype.kind == "f" else 0,
            dimension_names=(*"c" * len(shape[2:]), "y", "x"),
        )
        return _ChannelsLast(array)

    def finish(self) -> tuple[Path, Array]:
        with _writing(self._path):
            self._group = _zarr().open_group(self._temporary, mode="w", zarr_format=3)
            self._levels = [self._level(self._values.shape, self._values.dtype)]
            for block in tiles(self._values.shape, BLOCK):
                self._levels[0][block.inner] = self._values[block.inner]
                self._canvas.release()
            while max(self._levels[-1].shape[:2]) > COARSEST:
                fine = self._levels[-1]
                self._levels.append(self._level(coarser_shape(fine.shape), fine.dtype))
                _fill(fine, self._levels[-1], self._about.numbers, self._canvas)
            self._group.attrs["ome"] = self._metadata()
            shown = _to_look_at(self._levels)[:, :]
            remove(self._path)
            self._temporary.rename(self._path)
        return self._path, shown

    def _metadata(self) -> dict[str, Any]:
        colour = len(self._levels[0].shape) == 3
        size = self._about.pixel_size
        pitch = (1.0, 1.0) if size is None else (size.y, size.x)
        unit = {} if size is None else {"unit": OME_UNITS[size.unit]}
        axes: list[dict[str, str]] = [{"name": "c", "type": "channel"}] if colour else []
        axes += [{"name": name, "type": "space", **unit} for name in "yx"]
        datasets = []
        for number in range(len(self._levels)):
            scale = [1.0] * colour + [2.0**number * side for side in pitch]
            # The middle of a coarse pixel lies between those of the fine ones.
            shift = [0.0] * colour + [(2.0**number - 1.0) / 2.0 * side for side in pitch]
            if self._about.numbers:
                shift = [0.0] * len(scale)
            datasets.append(
                {
                    "path": str(number),
                    "coordinateTransformations": [
                        {"type": "scale", "scale": scale},
                        {"type": "translation", "translation": shift},
                    ],
                }
            )
        multiscale: dict[str, Any] = {
            "name": self._about.name,
            "axes": axes,
            "datasets": datasets,
            "type": "every other pixel" if self._about.numbers else "mean over 2×2 pixels",
            "metadata": {"note": self._about.note} | self._photograph(),
        }
        return {"version": "0.5", "multiscales": [multiscale]}

    def _photograph(self) -> dict[str, str]:
        """Return EXIF and colour profile, for which the format has no place of its own."""
        blocks = {"exif": self._about.exif, "icc_profile": self._about.icc}
        return {name: b64encode(block).decode() for name, block in blocks.items() if block}

    def discard(self) -> None:
        remove(self._temporary)


class _ChannelsLast:
    """A Zarr array ``(c, y, x)`` addressed like a picture, ``(y, x, c)``."""

    def __init__(self, array: Any) -> None:
        self._array = array
        self.dtype: np.dtype[Any] = array.dtype
        self.shape: tuple[int, ...] = (*array.shape[-2:], *array.shape[:-2])

    def __getitem__(self, box: Box) -> Array:
        part: Array = self._array[(..., *box)]
        return np.moveaxis(part, 0, -1) if part.ndim == 3 else part

    def __setitem__(self, box: Box, values: Array) -> None:
        self._array[(..., *box)] = np.moveaxis(values, -1, 0) if values.ndim == 3 else values


def coarser_shape(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape of the next coarser level."""
    return (-(-shape[0] // 2), -(-shape[1] // 2), *shape[2:])


def _fill(fine: Any, coarse: Any, numbers: bool, canvas: Canvas) -> None:
    """Make a coarser level, a block at a time."""
    for block in tiles(coarse.shape, BLOCK // 2):
        rows, columns = (
            slice(2 * s.start, min(2 * s.stop, n))
            for s, n in zip(block.inner, fine.shape[:2], strict=True)
        )
        coarse[block.inner] = halved(fine[rows, columns], numbers)
        canvas.release()


def _to_look_at(levels: list[Any]) -> Any:
    """Return the finest level that a report can show as a whole."""
    return next(level for level in levels if max(level.shape[:2]) <= 2 * COARSEST)


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    """Turn what the system refuses into an error that names the file."""
    try:
        yield
    except OSError as error:
        raise OutputError(
            f"{path} cannot be written: {error.strerror or error}",
            "expected a folder with write permission and free space",
            "Choose another folder with -o.",
        ) from error


def _zarr() -> Any:
    try:
        import zarr
    except ImportError as error:
        raise MissingExtraError("OME-Zarr files", "zarr", "zarr") from error
    return zarr
