"""Results read back from their folder: what exports, measurements and animations start from."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from varfocus.errors import InputError
from varfocus.export import RUN_RECORD
from varfocus.io.frames import probe_files
from varfocus.measure import expected_area
from varfocus.stack import FRAMES
from varfocus.units import METRES, PixelSize


@dataclass(frozen=True)
class SavedResult:
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
    """

    folder: Path
    depth: NDArray[np.float32]
    confidence: NDArray[np.float32]
    uncertainty: NDArray[np.float32] | None
    fused: NDArray[Any]
    record: dict[str, Any]

    @property
    def unit(self) -> str:
        """Unit of the depth."""
        return str(self.record["depth"]["unit"])

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
    def metres(self) -> float | None:
        """Metres in one unit of depth; None for frames, and for units that are no lengths."""
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
                f"{self.folder}: depth.tif has no depth", "expected one known pixel at least"
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


def load_result(folder: str | Path) -> SavedResult:
    """Read a result folder that ``varfocus depth`` or `Result.save` wrote.

    Parameters
    ----------
    folder : path
        The folder.

    Returns
    -------
    SavedResult
        Depth, confidence, uncertainty where there is one, fused image, and the record of the run.

    Raises
    ------
    InputError
        If a file is missing, unreadable, or does not belong to the others.
    """
    folder = Path(folder)
    record = _record(folder)
    depth = _map(folder / "depth.tif")
    confidence = _map(folder / "confidence.tif")
    uncertainty = None
    if (folder / "uncertainty.tif").exists():
        uncertainty = _map(folder / "uncertainty.tif")
    fused = _fused(folder)
    for name, image in (("confidence", confidence), ("uncertainty", uncertainty), ("fused", fused)):
        if image is not None and image.shape[:2] != depth.shape:
            raise InputError(
                f"{folder}: {name} has {_size(image)} pixels, but depth.tif has {_size(depth)}",
                "expected the files of one run",
                "Run varfocus depth again with --overwrite.",
            )
    return SavedResult(folder, depth, confidence, uncertainty, fused, record)


def _record(folder: Path) -> dict[str, Any]:
    path = folder / RUN_RECORD
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        there = folder.is_dir()
        raise InputError(
            f"{folder} holds no {RUN_RECORD}" if there else f"{folder} is no folder",
            "expected the output folder of a complete run of varfocus depth",
            "Make one: varfocus depth shots/ -o out/",
        ) from error
    try:
        record = json.loads(text)
        record["depth"]["unit"], record["input"]["focus"]
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"{path} is not the record of a run ({type(error).__name__}: {error})",
            "expected what varfocus depth writes",
        ) from error
    found: dict[str, Any] = record
    return found


def _map(path: Path) -> NDArray[np.float32]:
    _must_exist(path)
    image = probe_files([path]).frames[0].read()
    if image.ndim != 2 or image.dtype != np.float32:
        raise InputError(
            f"{path}: received {image.shape} {image.dtype}",
            "expected one float32 map, as varfocus depth writes it",
        )
    return image


def _fused(folder: Path) -> NDArray[Any]:
    """Return the all-in-focus image under whichever suffix it has."""
    found = sorted(folder.glob("fused.*"))
    path = found[0] if found else folder / "fused.png"
    _must_exist(path)
    return probe_files([path]).frames[0].read()


def _must_exist(path: Path) -> None:
    if not path.exists():
        raise InputError(
            f"{path.parent} holds no {path.name}",
            "expected the output folder of a complete run of varfocus depth",
            "Do not move files out of it, or run varfocus depth again.",
        )


def _size(image: NDArray[Any]) -> str:
    return f"{image.shape[1]}×{image.shape[0]}"
