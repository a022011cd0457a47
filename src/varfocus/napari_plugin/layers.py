"""Results as napari layers, and napari layers as stacks. Knows nothing of Qt."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from varfocus.errors import InputError
from varfocus.export.figures import DEPTH_COLOURS, colour_range
from varfocus.export.saved import SavedResult
from varfocus.result import Result
from varfocus.stack import FocusStack
from varfocus.surface.mesh import height_mesh
from varfocus.units import METRES, PixelSize, symbol, unit_name

if TYPE_CHECKING:
    from napari.layers import Image

LayerData: TypeAlias = tuple[Any, dict[str, Any], str]
Found: TypeAlias = Result | SavedResult

KEY = "varfocus"
"""Where the metadata of a depth layer keep the result it belongs to."""

TRIANGLES = 400_000
"""Of a surface, at most."""

RELIEF = 0.2
"""Range of heights over the longer side where the true size is unknown."""


def result_layers(found: Found, frames: Image | None = None) -> list[LayerData]:
    """Return the maps of a result as layers in the place and size of the frames.

    Parameters
    ----------
    found : Result or SavedResult
        The result.
    frames : napari.layers.Image, optional
        The layer it was made from, on which the new ones are to lie.

    Returns
    -------
    list of tuple
        Fused image, uncertainty, confidence and, topmost, depth.
    """
    where = _placed(found, frames)
    unit = symbol(found.unit)
    layers: list[LayerData] = [(found.fused, where | {"name": "all in focus"}, "image")]
    if found.fused.ndim == 3:
        layers[0][1]["rgb"] = True
    if found.uncertainty is not None:
        about = {"name": f"standard error ({unit})", "colormap": "magma", "visible": False}
        limits = colour_range([found.uncertainty])
        layers.append((found.uncertainty, where | about | {"contrast_limits": limits}, "image"))
    about = {"name": "confidence", "contrast_limits": (0.0, 1.0), "visible": False}
    layers.append((found.confidence, where | about, "image"))
    about = {
        "name": f"depth ({unit})",
        "colormap": DEPTH_COLOURS,
        "contrast_limits": colour_range([found.depth]),
        "metadata": {KEY: found, "unit": found.unit},
    }
    layers.append((found.depth, where | about, "image"))
    return layers


def surface_layer(found: Found, frames: Image | None = None) -> LayerData:
    """Return the surface of a result for a view in three dimensions, coloured by depth.

    Parameters
    ----------
    found : Result or SavedResult
        The result.
    frames : napari.layers.Image, optional
        The layer it was made from, above which the surface is to stand.

    Returns
    -------
    tuple
        Corners, triangles and values, and how to show them. The first axis points towards the
        lens; it is true to scale where sizes are known, and said to be not where they are not.
    """
    where = _placed(found, frames)
    down, across = where["scale"]
    size, height = found.pixel_size, found.height
    true = size is not None and found.unit in METRES
    if size is not None and true:
        factor = METRES[found.unit] / METRES[size.unit]
    else:
        known = height[np.isfinite(height)]
        low, high = np.percentile(known, [1, 99]) if known.size else (0.0, 0.0)
        longest = max(height.shape[0] * down, height.shape[1] * across)
        factor = RELIEF * longest / (high - low) if high > low else 1.0
    mesh = height_mesh(
        height * np.float32(factor),
        (across, down),
        jump=found.frame_distance * factor,
        triangles=TRIANGLES,
    )
    if not len(mesh.faces):
        raise InputError("the depth map has no three adjacent known pixels", "expected a surface")
    rows, columns = height.shape
    x, y, z = mesh.vertices.T
    middle = (columns / 2 - 0.5) * across, (rows / 2 - 0.5) * down
    corners = np.stack([z, middle[1] - y, middle[0] + x], axis=1)
    corners[:, 1:] += np.asarray(where["translate"], corners.dtype)
    column = np.minimum(mesh.places[:, 0] * columns, columns - 1).astype(np.intp)
    row = np.minimum(mesh.places[:, 1] * rows, rows - 1).astype(np.intp)
    values = found.depth[row, column]
    values = np.where(np.isfinite(values), values, np.nanmedian(values))
    about: dict[str, Any] = {
        "name": "surface" if true else "surface (height not to scale)",
        "colormap": DEPTH_COLOURS,
        "contrast_limits": colour_range([found.depth]),
        "shading": "smooth",
    }
    if "units" in where:
        about["units"] = (where["units"][0], *where["units"])
    return (corners, mesh.faces, values), about, "surface"


def _placed(found: Found, frames: Image | None) -> dict[str, Any]:
    """Return scale, place and unit of the maps, those of the frames if there are any."""
    size, (left, top) = found.pixel_size, found.origin
    where: dict[str, Any] = {"scale": (1.0, 1.0) if size is None else (size.y, size.x)}
    if size is not None:
        where["units"] = (size.unit, size.unit)
    corner = np.zeros(2)
    if frames is not None:
        where["scale"] = tuple(float(s) for s in frames.scale[-2:])
        where["units"] = tuple(frames.units[-2:])
        corner = np.asarray(frames.translate[-2:], np.float64)
    where["translate"] = tuple(corner + np.array([top, left]) * where["scale"])
    return where


def layer_stack(
    layer: Image, step: Sequence[int] = (), z_step: float | None = None, unit: str | None = None
) -> FocusStack:
    """Return the frames of an image layer.

    Parameters
    ----------
    layer : napari.layers.Image
        Axes ``(…, frames, rows, columns)``, and channels last if it is RGB.
    step : sequence of int
        Where the sliders stand; decides about axes before the frames.
    z_step : float, optional
        Distance of the frames in `unit`; by default what the layer says, if it says anything.
    unit : str, optional
        Unit of `z_step`.

    Returns
    -------
    FocusStack
        With positions from ``metadata["focus"]`` of the layer, where it has as many as frames.
    """
    data = layer.data[0] if layer.multiscale else layer.data
    spatial = data.ndim - (1 if layer.rgb else 0)
    if spatial < 3:
        raise InputError(
            f"the layer {layer.name!r} holds one picture",
            "expected a stack: frames, rows, columns",
            "Open all frames as one layer: File, Open Files as Stack.",
        )
    extra = spatial - 3
    chosen = (
        tuple(int(k) for k in step[-spatial:][:extra]) if len(step) >= spatial else (0,) * extra
    )
    frames: NDArray[Any] = np.asarray(data[chosen] if extra else data)
    stack = FocusStack.from_array(frames)
    given, size = layer.metadata.get("focus"), pixel_size(layer)
    if size is not None:
        stack = stack.with_pixel_size(size, "the layer's scale")
    if z_step:
        return stack.with_focus(np.arange(len(stack)) * z_step, unit or None)
    if given is not None and len(given) == len(stack):
        return stack.with_focus(given, layer.metadata.get("unit"), "the layer's metadata")
    spacing, named = frame_spacing(layer)
    if spacing is None:
        return stack
    return stack.with_focus(np.arange(len(stack)) * spacing, named, "the layer's scale")


def pixel_size(layer: Image) -> PixelSize | None:
    """Return the size of a pixel as the layer has it; None if it has none with a unit of length."""
    unit = unit_name(str(layer.units[-1]))
    down, across = (abs(float(s)) for s in layer.scale[-2:])
    if unit is None or not down or not across:
        return None
    return PixelSize(across, down, unit)


def frame_spacing(layer: Image) -> tuple[float | None, str]:
    """Return the distance of frames and its unit, as the layer has them."""
    if len(layer.scale) < 3:
        return None, ""
    unit = unit_name(str(layer.units[-3]))
    return (None, "") if unit is None else (float(layer.scale[-3]), unit)
