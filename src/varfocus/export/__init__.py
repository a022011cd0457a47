"""Writing results: whole files or none, and nothing overwritten unasked."""

from __future__ import annotations

import hashlib
import platform
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import varfocus
from varfocus.canvas import Canvas
from varfocus.errors import OutputError
from varfocus.export import images, tiled
from varfocus.export.atomic import write_atomically
from varfocus.export.result_files import (
    MAPS,
    MASK,
    RESULT_FILES,
    RUN_RECORD,
    TiledFormat,
    file_names,
    remove_stale,
)
from varfocus.files import open_regular
from varfocus.stack import FocusStack
from varfocus.text import as_json as json_text
from varfocus.units import PixelSize


@dataclass(frozen=True)
class Maps:
    """What a result shows, one value per pixel, and what its files say about it.

    Attributes
    ----------
    depth, confidence : ndarray of shape (H, W), float32
        As in `varfocus.Result`.
    fused : ndarray of shape (H, W) or (H, W, 3)
        All-in-focus image.
    source : ndarray of shape (H, W), uint16
        Frame of each of its pixels.
    uncertainty : ndarray of shape (H, W), float32, or None
        Standard error of the depth, for methods that know it.
    unit : str
        Unit of the depth.
    pixel_size : PixelSize or None
        Size of a pixel in the scene.
    exif, icc : bytes
        What the fused image says about itself; empty for none.
    """

    depth: NDArray[np.float32]
    confidence: NDArray[np.float32]
    fused: NDArray[Any]
    source: NDArray[np.uint16]
    uncertainty: NDArray[np.float32] | None = None
    unit: str = "frames"
    pixel_size: PixelSize | None = None
    exif: bytes = b""
    icc: bytes = b""


def write_maps(
    folder: Path, maps: Maps, canvas: Canvas, tiled_format: TiledFormat = "tiff"
) -> tuple[dict[str, Path], dict[str, NDArray[Any]]]:
    """Write the maps of a result: plain files, or tiled ones if they do not fit into memory.

    Parameters
    ----------
    folder : Path
        Where to.
    maps : Maps
        What.
    canvas : Canvas
        Where they live, which determines how they are written.
    tiled_format : {"tiff", "zarr"}
        Format of tiled files.

    Returns
    -------
    files : dict of str to Path
        What was written, by product.
    shown : dict of str to ndarray
        The maps to look at; coarser than what was written if that is large.
    """
    if canvas.side is not None:
        written = {
            about.name: tiled.write_map(tiled_format, folder, values, about, canvas)
            for about, values in _described(maps)
        }
        paths = {name: path for name, (path, _) in written.items()}
        return paths, {name: level for name, (_, level) in written.items()}
    unit, size = maps.unit, maps.pixel_size
    contents = {
        "depth": images.float_tiff(maps.depth, unit, "depth", size),
        "confidence": images.float_tiff(maps.confidence, "probability", "confidence", size),
        "fused": images.picture(maps.fused, maps.exif, maps.icc)[1],
        "source": images.frame_number_tiff(maps.source),
    }
    if maps.uncertainty is not None:
        what = "standard error of the depth"
        contents["uncertainty"] = images.float_tiff(maps.uncertainty, unit, what, size)
    names = file_names(maps.fused.dtype)
    files = {product: folder / names[product] for product in MAPS if product in contents}
    for product, path in files.items():
        write_atomically(path, contents[product])
    return files, {product: getattr(maps, product) for product in files}


def _described(maps: Maps) -> list[tuple[tiled.About, NDArray[Any]]]:
    """Return the maps with what their tiled files say."""
    size, note = maps.pixel_size, f"pixel values in {maps.unit}; NaN = unknown"
    about = tiled.About
    found: list[tuple[tiled.About, NDArray[Any]]] = [
        (about("depth", f"varfocus depth; {note}", size), maps.depth),
        (about("confidence", "varfocus confidence; probability", size), maps.confidence),
    ]
    if maps.uncertainty is not None:
        words = f"varfocus standard error of the depth; {note}"
        found.append((about("uncertainty", words, size), maps.uncertainty))
    words = "varfocus all-in-focus image"
    found.append((about("fused", words, size, exif=maps.exif, icc=maps.icc), maps.fused))
    words = "varfocus source frame of the fused image, from 0"
    return [*found, (about("source", words, size, numbers=True), maps.source)]


def _black_and_white(mask: NDArray[np.bool_] | None) -> bytes | None:
    return None if mask is None else images.picture(np.where(mask, 255, 0).astype(np.uint8))[1]


def write_about(
    folder: Path,
    record: dict[str, Any],
    preview: bytes,
    report: bytes | None = None,
    mask: NDArray[np.bool_] | None = None,
    moving: NDArray[np.bool_] | None = None,
) -> dict[str, Path]:
    """Write what goes with the maps of a result and, last, the record of the run.

    Parameters
    ----------
    folder : Path
        Where the maps are.
    record : dict
        What run.json will say.
    preview : bytes
        The depth in colours, as PNG.
    report : bytes, optional
        The report as HTML.
    mask : ndarray, bool, optional
        Which pixels of the frames as given count.
    moving : ndarray, bool, optional
        Where something moved.

    Returns
    -------
    dict of str to Path
        What was written, by product.
    """
    contents: dict[str, bytes | None] = {
        "preview": preview,
        "report": report,
        "mask": _black_and_white(mask),
        "moving": _black_and_white(moving),
        "run": as_json(record),
    }
    names = file_names(np.dtype(np.uint8))
    files = {product: folder / names[product] for product, it in contents.items() if it is not None}
    for product, path in files.items():
        try:
            write_atomically(path, contents[product] or b"")
        except OutputError as error:
            raise OutputError(
                f"{error.received}; {folder} has maps, but no {RUN_RECORD}: it is not complete",
                error.expected,
                "Make room, and run it again with --overwrite.",
            ) from error
    return files


def describe_software() -> dict[str, str]:
    """Return the versions of varfocus and Python that made a result."""
    return {"varfocus": varfocus.__version__, "python": platform.python_version()}


def write_record(path: Path, record: dict[str, Any]) -> dict[str, Any]:
    """Write a run.json of a command without depth, and return what it says."""
    signed = describe_software() | record
    write_atomically(path, as_json(signed))
    return signed


def describe_input(stack: FocusStack) -> dict[str, Any]:
    """Return what a stack was made of: names, sizes, focus positions, and SHA-256 of its files."""
    digests = {path: _sha256(path) for path in dict.fromkeys(stack.files)}
    height, width = stack.shape
    return {
        "frames": list(stack.names),
        "files": [{"path": str(path), "sha256": digest} for path, digest in digests.items()],
        "width": width,
        "height": height,
        "channels": stack.channels,
        "dtype": str(stack.dtype),
        "focus": None if stack.focus is None else stack.focus.tolist(),
        "unit": stack.unit,
        "focus_origin": stack.focus_origin,
        "inverted": stack.inverted,
        "pixel_size": None if stack.pixel_size is None else asdict(stack.pixel_size),
        "pixel_size_origin": stack.pixel_size_origin,
        "hints": list(stack.hints),
    }


def _sha256(path: Path) -> str | None:
    """Return the digest of a file, or of all files of a Zarr store and their names."""
    try:
        if path.is_dir():
            whole = hashlib.sha256()
            for part in sorted(part for part in path.rglob("*") if part.is_file()):
                whole.update(f"{part.relative_to(path).as_posix()}\0{_sha256(part)}\n".encode())
            return whole.hexdigest()
        with open_regular(path) as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return None  # The frames are read; a file moved since then is no reason to fail.


def as_json(data: dict[str, Any]) -> bytes:
    """Return plain data as a JSON document."""
    return (json_text(data) + "\n").encode()


__all__ = [
    "MAPS",
    "MASK",
    "RESULT_FILES",
    "RUN_RECORD",
    "Maps",
    "TiledFormat",
    "as_json",
    "describe_input",
    "describe_software",
    "file_names",
    "remove_stale",
    "write_about",
    "write_maps",
    "write_record",
]
