"""Writing results: whole files or none, and nothing overwritten unasked."""

from __future__ import annotations

import hashlib
import json
import platform
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import varfocus
from varfocus.export import figures, images
from varfocus.export.atomic import prepare_folder, write_atomically
from varfocus.export.result_files import (
    MAPS,
    MASK,
    RESULT_FILES,
    RUN_RECORD,
    file_names,
    remove_stale,
)
from varfocus.stack import FocusStack
from varfocus.units import PixelSize


def write_result(
    folder: Path,
    *,
    depth: NDArray[np.float32],
    confidence: NDArray[np.float32],
    uncertainty: NDArray[np.float32] | None = None,
    fused: NDArray[Any],
    source: NDArray[np.uint16],
    unit: str,
    pixel_size: PixelSize | None = None,
    record: dict[str, Any],
    report: bytes | None = None,
    overwrite: bool,
    exif: bytes = b"",
    icc: bytes = b"",
    mask: NDArray[np.bool_] | None = None,
) -> dict[str, Path]:
    """Write all maps and pictures of a result and, last, the record of the run.

    Parameters
    ----------
    folder : Path
        Where to.
    depth, confidence, fused, source : ndarray
        Products.
    uncertainty : ndarray of shape (H, W), float32, optional
        Standard error of the depth, for methods that know it.
    unit : str
        Unit of the depth.
    pixel_size : PixelSize, optional
        Size of a pixel in the scene.
    record : dict
        What run.json will say.
    report : bytes, optional
        The report as HTML.
    overwrite : bool
        Replace what an earlier run left.
    exif, icc : bytes
        What the fused image says about itself; empty for none.
    mask : ndarray, bool, optional
        Which pixels of the frames as given count.

    Returns
    -------
    dict of str to Path
        What was written, by product.
    """
    names = file_names(fused.dtype)
    prepare_folder(folder, names.values(), overwrite)
    remove_stale(folder)
    contents: dict[str, bytes | None] = {
        "depth": images.float_tiff(depth, unit, "depth", pixel_size),
        "confidence": images.float_tiff(confidence, "probability", "confidence", pixel_size),
        "uncertainty": None
        if uncertainty is None
        else images.float_tiff(uncertainty, unit, "standard error of the depth", pixel_size),
        "fused": images.picture(fused, exif, icc)[1],
        "source": images.frame_number_tiff(source),
        "preview": figures.preview(depth, unit),
        "report": report,
        "mask": None
        if mask is None
        else images.picture(np.where(mask, np.uint8(255), np.uint8(0)))[1],
        "run": as_json(record),
    }
    written = {}
    for product, name in names.items():
        content = contents[product]
        if content is not None:
            write_atomically(folder / name, content)
            written[product] = folder / name
    return written


def describe_software() -> dict[str, str]:
    """Return what made a result: the versions of varfocus and Python."""
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
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return None  # The frames are read; a file moved since then is no reason to fail.


def as_json(data: dict[str, Any]) -> bytes:
    """Return plain data as a JSON document."""
    # A file's name may hold bytes that are no text: as \udcff, which JSON reads back as they were.
    text = json.dumps(data, indent=2, ensure_ascii=False) + "\n"
    return text.encode("utf-8", "backslashreplace")


__all__ = [
    "MAPS",
    "MASK",
    "RESULT_FILES",
    "RUN_RECORD",
    "as_json",
    "describe_input",
    "describe_software",
    "file_names",
    "remove_stale",
    "write_record",
    "write_result",
]
