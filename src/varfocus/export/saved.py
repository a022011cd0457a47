"""Results read back from their folder: what exports, measurements and animations start from."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from varfocus.align import align
from varfocus.bugs import guarded
from varfocus.canvas.budget import allowed_bytes
from varfocus.errors import InputError, MixedFramesError, ParameterError, TooLargeError
from varfocus.export import RUN_RECORD
from varfocus.export.display import Displayed, summary
from varfocus.files import read_json, why
from varfocus.fuse import Fused, fuse
from varfocus.geometry import Rectangle
from varfocus.io.frames import FileFrame, probe_files
from varfocus.io.metadata import Metadata, frame_metadata
from varfocus.io.selection import Selection
from varfocus.params import AlignParams, AreaParams, FuseParams
from varfocus.progress import Progress, silent
from varfocus.ranges import path as as_path
from varfocus.stack import FRAMES, FocusStack
from varfocus.surface.measure import expected_area
from varfocus.surface.measurements import Surface
from varfocus.text import shown
from varfocus.units import METRES, PixelSize, is_unit, size_words


@dataclass(frozen=True, repr=False)
class SavedResult(Displayed):
    """What ``varfocus depth`` left in a folder.

    Attributes
    ----------
    folder : Path
        Where it was read from.
    depth : ndarray of shape (H, W), float32
        In `unit`; NaN where unknown.
    confidence : ndarray of shape (H, W), float32
        Estimated probability that the depth is right to within one frame.
    uncertainty : ndarray of shape (H, W), float32, or None
        Standard error of the depth in `unit`; None for methods that do not know it.
    fused : ndarray of shape (H, W) or (H, W, 3)
        All-in-focus image.
    record : dict
        run.json.
    source : ndarray of shape (H, W), uint16
        Frame that most of the fine detail of `fused` comes from; 0 if that was not saved.
    """

    folder: Path
    depth: NDArray[np.float32]
    confidence: NDArray[np.float32]
    uncertainty: NDArray[np.float32] | None
    fused: NDArray[Any]
    record: dict[str, Any]
    source: NDArray[np.uint16]

    @property
    def unit(self) -> str:
        """Unit of the depth."""
        return str(self.record["depth"]["unit"])

    @property
    def direction(self) -> str:
        """Which way the depth grows, in words."""
        return str(self.record["depth"].get("direction", ""))

    @property
    def frame_count(self) -> int:
        """How many frames there were."""
        return len(self.record["input"]["frames"])

    @property
    def method(self) -> str:
        """How the depth was found."""
        return str(self.record["parameters"]["method"])

    @property
    def notes(self) -> list[str]:
        """What was adjusted or looked doubtful."""
        return list(self.record["warnings"])

    def __repr__(self) -> str:
        return summary(self, f"SavedResult in {self.folder}", self.depth.shape)

    @property
    def correlation_area(self) -> float:
        """Pixels whose errors are alike, from the size of the map and the noise of the stack."""
        well = (self.record.get("findings") or {}).get("well_nats")
        return expected_area((self.depth.shape[0], self.depth.shape[1]), well)

    @property
    def pixel_size(self) -> PixelSize | None:
        """Size of a pixel in the scene; None where it is unknown."""
        size = self.record["input"].get("pixel_size")
        return None if size is None else PixelSize(size["x"], size["y"], size["unit"])

    @property
    def origin(self) -> tuple[int, int]:
        """Column and row of the frames as given at which the maps begin."""
        place = self.record.get("extent") or {"left": 0, "top": 0}
        return int(place["left"]), int(place["top"])

    @property
    def metres(self) -> float | None:
        """Metres in one unit of depth; None for frames, and for units that are not lengths."""
        return METRES.get(self.unit)

    @property
    def height(self) -> NDArray[np.float32]:
        """Height towards the lens in `unit`: the depth, or its negative where it is a distance."""
        return self.depth if self.record["input"].get("inverted") else -self.depth

    @property
    def index(self) -> NDArray[np.float32]:
        """The depth as a fractional 0-based frame number; unknown pixels as the nearest known."""
        known = np.isfinite(self.depth)
        if not known.any():
            raise InputError(
                f"{self.folder}: depth.tif has no depth", "expected at least one known pixel"
            )
        nearest = ndimage.distance_transform_edt(
            ~known, return_distances=False, return_indices=True
        )
        depth = self.depth[tuple(nearest)]
        about = self.record["input"]
        focus, n = about["focus"], len(about["frames"])
        positions = np.arange(n, dtype=np.float64) if focus is None else np.asarray(focus)
        if about.get("inverted"):
            positions = positions.max() - positions
        order = np.argsort(positions)
        index: NDArray[np.float32] = np.interp(depth, positions[order], order).astype(np.float32)
        return index

    @property
    def frame_distance(self) -> float:
        """Median distance of neighbouring frames in `unit`."""
        focus = self.record["input"]["focus"]
        if self.unit == FRAMES or focus is None:
            return 1.0
        return float(np.median(np.abs(np.diff(focus))))

    @guarded
    def fuse_channel(
        self, stack: FocusStack, fusion: FuseParams | None = None, progress: Progress = silent
    ) -> Fused:
        """Fuse another channel or exposure of the same scene with the depth of this result.

        Parameters
        ----------
        stack : FocusStack
            As many frames of the same size; they are aligned as those of the result were.
        fusion : FuseParams, optional
            How far the depth is trusted.
        progress : callable
            Listener.

        Returns
        -------
        Fused
            Image and source map.

        Raises
        ------
        MixedFramesError
            If the frames are not as many, or not of the same size.
        """
        check_stack(stack)
        n, index = self.frame_count, self.index
        if len(stack) == n and self.record.get("alignment"):
            known = AlignParams(transforms_from=str(self.folder))
            _, alignment = align(stack, known, progress)
            stack = alignment.apply(stack, AreaParams(self.record["parameters"].get("crop")).box)
            # The index counts all frames; those left out then are left out now.
            index = np.interp(index, alignment.ranks, np.arange(len(stack))).astype(np.float32)
            n = len(stack)
        check_channel(stack, n, index.shape, str(self.folder))
        return fuse(stack, index, fusion or FuseParams(), progress)


def check_stack(stack: object) -> None:
    """Raise `ParameterError` unless this is a stack."""
    if not isinstance(stack, FocusStack):
        raise ParameterError(
            f"received {shown(stack)}", "expected a stack", "Use varfocus.read_stack."
        )


def check_channel(stack: FocusStack, n: int, shape: tuple[int, ...], what: str) -> None:
    """Raise `MixedFramesError` unless a stack has as many frames as a result, of its size."""
    check_stack(stack)
    if (n, shape) != (len(stack), stack.shape):
        raise MixedFramesError(
            f"{what}: is the result of {n} frames of {shape[1]}×{shape[0]}",
            f"expected {len(stack)} frames of {stack.shape[1]}×{stack.shape[0]}, as given here",
        )


def fused_metadata(folder: Path, channels: int) -> Metadata:
    """Return EXIF and colour profile of the all-in-focus image of a result."""
    frame = _frames(folder, "fused", channels)[0]
    return frame_metadata(frame, channels, keep_gps=True)


def surface_of(
    saved: SavedResult, min_confidence: float = 0.5, correlation_area: float | None = None
) -> Surface:
    """Return a result as a surface to measure.

    Parameters
    ----------
    saved : SavedResult
        The result.
    min_confidence : float
        Pixels of lower confidence count as unknown.
    correlation_area : float, optional
        Pixels that err together; by default what the result suggests.
    """
    sure = saved.confidence >= min_confidence
    return Surface(
        height=np.where(sure, saved.height, np.float32(np.nan)),
        unit=saved.unit,
        origin=saved.origin,
        sigma=saved.uncertainty,
        pixel_size=saved.pixel_size,
        correlation_area=correlation_area or saved.correlation_area,
    )


@guarded
def load_result(folder: str | Path, region: tuple[int, int, int, int] | None = None) -> SavedResult:
    """Read a result folder that ``varfocus depth`` or `Result.save` wrote.

    Parameters
    ----------
    folder : path
        The folder.
    region : tuple of int, optional
        Only this part, as x, y, width and height in pixels: for maps that do not fit into memory.

    Returns
    -------
    SavedResult
        Depth, confidence, uncertainty where there is one, fused image, and the record of the run.

    Raises
    ------
    InputError
        If a file is missing, unreadable, or does not belong to the others.
    TooLargeError
        If the maps would not fit into memory.
    ParameterError
        If the region is not inside the maps.
    """
    folder = as_path("folder", folder)
    record = _record(folder)
    maps = {name: _frames(folder, name) for name in ("depth", "confidence")}
    maps["fused"] = _frames(folder, "fused", record["input"].get("channels", 1))
    if _found(folder, "uncertainty") is not None:
        maps["uncertainty"] = _frames(folder, "uncertainty")
    shape = maps["depth"][0].shape[:2]
    for name, frames in maps.items():
        size = frames[0].shape[:2]
        if size != shape:
            raise InputError(
                f"{folder}: {name} has {_size(size)} pixels, but depth has {_size(shape)}",
                "expected the files of one run",
                "Run varfocus depth again with --overwrite.",
            )
    box = _box(region, shape)
    if box is None:
        _check_memory(folder, maps)
    uncertainty = _map(maps["uncertainty"], box) if "uncertainty" in maps else None
    return SavedResult(
        folder,
        _map(maps["depth"], box),
        _map(maps["confidence"], box),
        uncertainty,
        _picture(maps["fused"], box),
        record,
        _sources(folder, shape, box),
    )


def _sources(
    folder: Path, shape: tuple[int, ...], box: tuple[slice, slice] | None
) -> NDArray[np.uint16]:
    """Return the frame of each pixel, or zeros where there is no map of them."""
    empty = np.broadcast_to(np.uint16(0), shape if box is None else _extent(box))
    if _found(folder, "source") is None:
        return empty
    pixels = _read(_frames(folder, "source")[0], box)
    return pixels if pixels.dtype == np.uint16 and pixels.shape == empty.shape else empty


def _extent(box: tuple[slice, slice]) -> tuple[int, int]:
    rows, columns = box
    return rows.stop - rows.start, columns.stop - columns.start


def _record(folder: Path) -> dict[str, Any]:
    path = folder / RUN_RECORD
    try:
        record = read_json(path)
    except (OSError, ValueError) as error:
        there = folder.is_dir()
        raise InputError(
            f"{path} cannot be read: {why(error)}"
            if os.path.lexists(path)
            else f"{folder} holds no {RUN_RECORD}"
            if there
            else f"{folder} is not a folder",
            "expected the output folder of a complete run of varfocus depth",
            "Make one: varfocus depth shots/ -o out/",
        ) from error
    for keys, is_right in _PARTS.items():
        part = record
        for key in keys:
            part = part.get(key) if isinstance(part, dict) else None
        if not is_right(part):
            raise InputError(
                f"{path} is not the record of a run: {'.'.join(keys)} is {str(part)[:60]!r}",
                "expected what varfocus depth writes",
                "Run varfocus depth again with --overwrite.",
            )
    found: dict[str, Any] = record
    return found


def _is_number(value: Any) -> bool:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return number and abs(value) < 1e30  # JSON has NaN and Infinity here


def _are_positions(value: Any) -> bool:
    return value is None or (isinstance(value, list) and all(map(_is_number, value)))


def _are_names(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(name, str) for name in value)


def _are_as_many(found: dict[str, Any]) -> bool:
    frames, focus = found.get("frames"), found.get("focus")
    named = _are_names(frames) and bool(frames) and "focus" in found
    return named and (not isinstance(focus, list) or len(focus) == len(frames or ()))


def _are_files(value: Any) -> bool:
    return isinstance(value, list) and all(
        isinstance(file, dict) and isinstance(file.get("path"), str) for file in value
    )


def _is_size(value: Any) -> bool:
    return value is None or (
        isinstance(value, dict)
        and all(_is_number(value.get(axis)) and value[axis] > 0 for axis in "xy")
        and value.get("unit") in METRES
    )


def _is_place(value: Any) -> bool:
    return value is None or (
        isinstance(value, dict) and all(isinstance(value.get(k), int) for k in ("left", "top"))
    )


_PARTS: Mapping[tuple[str, ...], Callable[[Any], bool]] = {
    ("depth", "unit"): is_unit,
    ("input",): lambda found: isinstance(found, dict) and _are_as_many(found),
    ("input", "focus"): _are_positions,
    ("input", "files"): _are_files,
    ("input", "pixel_size"): _is_size,
    ("extent",): _is_place,
    ("parameters",): lambda found: isinstance(found, dict) and isinstance(found.get("method"), str),
    ("warnings",): _are_names,
    ("seconds",): lambda seconds: seconds is None or _is_number(seconds),
}
"""What is read from a record, and how it is checked: the file may come from anybody."""


def _found(folder: Path, name: str) -> Path | None:
    """Return the file of a map under whichever suffix it has."""
    suffixes = (".ome.zarr", ".png", ".tif") if name == "fused" else (".ome.zarr", ".tif")
    paths = [folder / (name + suffix) for suffix in suffixes]
    return next((path for path in paths if path.exists()), None)


def _frames(folder: Path, name: str, channels: int = 1) -> Sequence[FileFrame]:
    """Return a map as the frame it is, or the channels of an OME-Zarr image."""
    path = _found(folder, name)
    if path is None:
        raise InputError(
            f"{folder} holds no {name}{'' if name == 'fused' else '.tif'}",
            "expected the output folder of a complete run of varfocus depth",
            "Do not move files out of it, or run varfocus depth again.",
        )
    if path.is_dir() and channels > 1:
        return [probe_files([path], Selection(channel=c)).frames[0] for c in range(channels)]
    return probe_files([path]).frames


def _box(
    region: tuple[int, int, int, int] | None, shape: tuple[int, ...]
) -> tuple[slice, slice] | None:
    if region is None:
        return None
    wanted = Rectangle(*region)
    if not wanted.lies_in(shape):
        raise ParameterError(
            f"received the region {wanted}",
            f"expected one inside {shape[1]} × {shape[0]} pixels",
        )
    return wanted.window


def _check_memory(folder: Path, maps: dict[str, Sequence[FileFrame]]) -> None:
    needed = sum(
        math.prod(frame.shape) * frame.dtype.itemsize
        for frames in maps.values()
        for frame in frames
    )
    allowed = allowed_bytes(None)
    if needed > allowed:
        raise TooLargeError(
            f"{folder}: the maps take {size_words(needed)}",
            f"expected at most {size_words(allowed)}, 60 % of the free memory",
            "Take a part: --region x,y,width,height of varfocus export and measure, or "
            "load_result(folder, region=(x, y, width, height)).",
        )


def _read(frame: FileFrame, box: tuple[slice, slice] | None) -> NDArray[Any]:
    if box is not None:
        return frame.read_window(*box)
    height, width = frame.shape[:2]
    # In parts where that is possible: a frame may be larger than what is decoded whole.
    whole = (slice(0, height), slice(0, width))
    return frame.read_window(*whole) if frame.windowed else frame.read()


def _map(frames: Sequence[FileFrame], box: tuple[slice, slice] | None) -> NDArray[np.float32]:
    image = _read(frames[0], box)
    if image.ndim != 2 or image.dtype != np.float32:
        raise InputError(
            f"{frames[0].path}: received {image.shape} {image.dtype}",
            "expected one float32 map, as varfocus depth writes it",
        )
    return image


def _picture(frames: Sequence[FileFrame], box: tuple[slice, slice] | None) -> NDArray[Any]:
    channels = [_read(frame, box) for frame in frames]
    return channels[0] if len(channels) == 1 else np.stack(channels, axis=-1)


def _size(shape: tuple[int, ...]) -> str:
    return f"{shape[1]}×{shape[0]}"
