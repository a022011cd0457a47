"""The files of a result: what each is called, and what is in it, in words.

All code that writes, lists, offers or explains them reads this table.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np

from varfocus.export.atomic import remove

TiledFormat: TypeAlias = Literal["tiff", "zarr"]
"""How maps are written that do not fit into memory."""

TILED_SUFFIXES: Mapping[str, str] = {"tiff": ".tif", "zarr": ".ome.zarr"}

RESULT_FILES: Mapping[str, str] = {
    "depth": "depth of every pixel, float32; opens calibrated in Fiji",
    "confidence": "probability that the depth is right to within one frame, float32",
    "uncertainty": "standard error of the depth, float32",
    "fused": "everything in focus",
    "source": "which frame each pixel of the all-in-focus image comes from",
    "preview": "depth in colours",
    "report": "all of it on one page, for the browser",
    "mask": "which pixels of the frames count",
    "moving": "what moved, and is taken from one frame",
    "run": "all parameters; repeat with --params",
}
"""Every product in the order in which it is written, and what it is.

`uncertainty` is there for methods that know it, `mask` if one was given, `moving` if asked for.
`run` comes last: its presence means that the folder is complete."""

MAPS = ("depth", "confidence", "uncertainty", "fused", "source")
"""Products of one value per pixel, which may be written in tiles."""

_SUFFIXES = {"preview": ".png", "report": ".html", "mask": ".png", "moving": ".png", "run": ".json"}

RUN_RECORD = "run.json"
"""The record of a run."""

MASK = "mask.png"
"""Which pixels of the frames count, where not all do."""


def picture_suffix(dtype: np.dtype[Any]) -> str:
    """Return the suffix of a lossless picture that holds every bit of a dtype."""
    return ".png" if np.issubdtype(dtype, np.integer) else ".tif"


def file_names(dtype: np.dtype[Any], tiled: TiledFormat | None = None) -> dict[str, str]:
    """Return the name of every product's file.

    Parameters
    ----------
    dtype : numpy.dtype
        Number type of the frames: determines the format of the all-in-focus image.
    tiled : {"tiff", "zarr"}, optional
        The format of maps that are written in tiles; by default they are not.

    Returns
    -------
    dict of str to str
        Name by product, in the order of `RESULT_FILES`.
    """
    names = {}
    for product in RESULT_FILES:
        suffix = _SUFFIXES.get(product, ".tif")
        if product in MAPS and tiled is not None:
            suffix = TILED_SUFFIXES[tiled]
        elif product == "fused":
            suffix = picture_suffix(dtype)
        names[product] = product + suffix
    return names


def slab_name(k: int, n: int, suffix: str) -> str:
    """Return the name of slab `k`, from 0, of `n`."""
    return f"slab_{k + 1:0{max(len(str(n)), 2)}d}{suffix}"


def every_name() -> dict[str, str]:
    """Return the product of every name that a file of a result may have."""
    variants = [
        file_names(np.dtype(np.uint8)),
        file_names(np.dtype(np.float32)),
        file_names(np.dtype(np.uint8), "zarr"),
    ]
    return {name: product for names in variants for product, name in names.items()}


def remove_stale(folder: Path) -> None:
    """Remove what an earlier run may have left that the next one will not replace.

    While files of two runs may lie side by side, the folder must not look complete; and the fused
    image of an earlier run may have another suffix, its method have known its error, or its maps
    have been in another format.
    """
    remove(folder / RUN_RECORD)
    replaced = {"depth.tif", "confidence.tif", "source.tif", "preview.png"}
    for name in set(every_name()) - replaced:
        remove(folder / name)
