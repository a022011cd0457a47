"""Writing results: whole files or none, and nothing overwritten unasked."""

from __future__ import annotations

import hashlib
import json
import platform
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import varfocus
from varfocus.export import figures, images
from varfocus.export.atomic import prepare_folder, write_atomically
from varfocus.stack import FocusStack

RUN_RECORD = "run.json"
"""Written last: its presence means that the folder is complete."""


UNCERTAINTY = "uncertainty.tif"
"""Written by methods that know their standard error."""


def result_names(dtype: np.dtype[Any], uncertainty: bool = False) -> tuple[str, ...]:
    """Return the names of the files `write_result` makes for frames of a dtype."""
    fused = "fused" + images.picture_suffix(dtype)
    known = (UNCERTAINTY,) if uncertainty else ()
    return ("depth.tif", "confidence.tif", *known, fused, "preview.png", RUN_RECORD)


def write_result(
    folder: Path,
    *,
    depth: NDArray[np.float32],
    confidence: NDArray[np.float32],
    fused: NDArray[Any],
    unit: str,
    record: dict[str, Any],
    overwrite: bool,
    uncertainty: NDArray[np.float32] | None = None,
) -> dict[str, Path]:
    """Write depth, confidence, fused image, preview and, last, the record of the run.

    Parameters
    ----------
    folder : Path
        Where to.
    depth, confidence, fused : ndarray
        Products.
    unit : str
        Unit of the depth.
    record : dict
        What run.json will say beside the version.
    overwrite : bool
        Replace what an earlier run left.
    uncertainty : ndarray, optional
        Standard error of the depth.

    Returns
    -------
    dict of str to Path
        What was written, by product.
    """
    names = result_names(fused.dtype, uncertainty is not None)
    prepare_folder(folder, names, overwrite)
    # While files of two runs may lie side by side, the folder must not look complete; and the
    # fused image of an earlier run may have another suffix, and its method an uncertainty.
    for stale in (RUN_RECORD, "fused.png", "fused.tif", UNCERTAINTY):
        (folder / stale).unlink(missing_ok=True)
    contents = (
        images.float_tiff(depth, unit, "depth"),
        images.float_tiff(confidence, "probability", "confidence"),
        *([] if uncertainty is None else [images.float_tiff(uncertainty, unit, "uncertainty")]),
        images.picture(fused)[1],
        figures.preview(depth, unit),
        _json({"varfocus": varfocus.__version__, "python": platform.python_version(), **record}),
    )
    written = {}
    for name, content in zip(names, contents, strict=True):
        write_atomically(folder / name, content)
        written[Path(name).stem] = folder / name
    return written


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
    }


def _sha256(path: Path) -> str | None:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return None  # The frames are read; a file moved since then is no reason to fail.


def _json(data: dict[str, Any]) -> bytes:
    return (json.dumps(data, indent=2, ensure_ascii=False) + "\n").encode()
