"""What the page is told about the maps of a result, and how they are written for it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from varfocus.align import Alignment
from varfocus.app.jobs.bench import white
from varfocus.app.tiles import Shown, as_rgba, write_pyramid
from varfocus.depth import sure_share
from varfocus.geometry import Rectangle
from varfocus.result import Result

Maps: TypeAlias = dict[str, NDArray[np.float32]]
"""Maps of one size by name."""


LOOKED_AT = 2**26
"""About as many pixels of a map, at most, are used to find its range of colours."""


UNSURE = 0.5
"""Confidence below which a depth is hatched, and not measured."""


def shown_maps(result: Result) -> tuple[Maps, Shown]:
    """Return the maps of a result that the page shows, and how its all-in-focus image looks."""
    maps = {"depth": result.depth, "confidence": result.confidence, "index": result.index}
    if result.uncertainty is not None:
        maps["uncertainty"] = result.uncertainty
    return maps, partial(as_rgba, scale=result.stack.scale, peak=white(result.stack))


def write_maps(folder: Path, maps: Maps, fused: NDArray[Any], shown: Shown) -> None:
    """Write maps and all-in-focus image in tiles, one folder of levels each."""
    for name, values in maps.items():
        write_pyramid(folder / name, values)
    write_pyramid(folder / "fused", fused, shown)


def about_maps(
    maps: Maps, unit: str, parameters: dict[str, Any], place: Rectangle
) -> dict[str, Any]:
    """Return what the page must know about the maps of a result, as plain data.

    Parameters
    ----------
    maps : dict of str to ndarray of shape (H, W), float32
        The maps.
    unit : str
        Unit of the depth.
    parameters : dict
        All that were used.
    place : Rectangle
        What the maps cover of the frames.
    """
    height, width = maps["depth"].shape
    units = {"depth": unit, "index": "frames", "uncertainty": unit}
    counted = maps["confidence"][maps["confidence"] > 0.0]
    return {
        "width": width,
        "height": height,
        "place": [int(value) for value in place],
        "unit": unit,
        "method": parameters["method"],
        "parameters": parameters,
        "maps": {
            name: {"unit": units.get(name, ""), "range": shown_range(name, values)}
            for name, values in maps.items()
        },
        "sure": sure_share(maps["confidence"]),
        "unsure": float((counted < UNSURE).mean()) if counted.size else 1.0,
        "unknown": float(np.isnan(maps["depth"]).mean()),
    }


def shown_range(name: str, values: NDArray[np.float32]) -> list[float]:
    """Return the values that the first and last colour stand for: nearly all, but no outliers."""
    if name == "confidence":
        return [0.0, 1.0]
    thinned = max(int(math.sqrt(values.size / LOOKED_AT)), 1)
    values = values[::thinned, ::thinned]
    finite = values[np.isfinite(values)]
    if not finite.size:
        return [0.0, 1.0]
    step = max(finite.size // 1_000_000, 1)
    low, high = np.percentile(finite[::step], (0.5, 99.5))
    return [float(low), float(high)] if high > low else [float(low), float(low) + 1.0]


def direction(
    findings: Mapping[str, Any] | None, depths: NDArray[np.float64] | None, inverted: bool
) -> dict[str, Any]:
    """Return which depths are near, and whether that was seen or is the convention.

    Parameters
    ----------
    findings : mapping or None
        Of a run; ``edges.nearest_frame`` where surfaces hide one another.
    depths : ndarray of shape (n,), float64, or None
        Depth of each frame; None for the frame numbers themselves.
    inverted : bool
        Depths are heights.
    """
    edges = (findings or {}).get("edges")
    end = edges.get("nearest_frame") if isinstance(edges, Mapping) else None
    rising = depths is None or bool(depths[-1] > depths[0])
    if end in ("first", "last"):
        near = "small" if (end == "first") == rising else "large"
    else:
        near = "large" if inverted else "small"
    return {"near": near, "near_seen": end in ("first", "last"), "inverted": inverted}


def motion_of(alignment: Alignment | None) -> list[list[float | None]] | None:
    """Return how far each frame moved, and the standard error of that, in pixels."""
    if alignment is None:
        return None
    pairs = zip(alignment.motions, alignment.errors, strict=True)
    return [[float(v) if np.isfinite(v) else None for v in pair] for pair in pairs]
