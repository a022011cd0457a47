"""Pictures for people: depth with a colour bar, and panels side by side."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from varfocus.export.images import displayable
from varfocus.units import symbol

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DEPTH_COLOURS = "viridis"
TALLEST = 2.0
"""Room for a picture, as height over width; taller ones are shown smaller."""


@dataclass(frozen=True)
class Panel:
    """One picture of a comparison.

    Attributes
    ----------
    title : str
        What it shows.
    image : ndarray of shape (H, W) or (H, W, 3)
        Depth map (two axes, coloured) or photograph (three axes, or grey with ``photo``).
    photo : bool
        Show a two-axis image in grey, as a photograph.
    """

    title: str
    image: NDArray[Any]
    photo: bool = False


def preview(depth: NDArray[np.float32], unit: str) -> bytes:
    """Return a PNG of the depth with a colour bar and its unit; unknown pixels stay blank.

    Parameters
    ----------
    depth : ndarray of shape (H, W), float32
        Depth.
    unit : str
        Its unit.

    Returns
    -------
    bytes
        The PNG.
    """
    return panels([Panel("depth", depth)], unit, columns=1, width=7.0)


def panels(
    pictures: Sequence[Panel],
    unit: str,
    *,
    columns: int,
    width: float = 12.0,
    limits: tuple[float, float] | None = None,
) -> bytes:
    """Return a PNG of several pictures with one colour scale for all depth maps.

    Parameters
    ----------
    pictures : sequence of Panel
        Pictures, row by row.
    unit : str
        Unit of the depth maps.
    columns : int
        Pictures per row.
    width : float
        Width of the whole in inches, at 120 pixels per inch.
    limits : tuple of float, optional
        Range of the colour scale; by default from the 0.5th to the 99.5th percentile of all.

    Returns
    -------
    bytes
        The PNG.
    """
    from matplotlib.figure import Figure

    depths = [p.image for p in pictures if not _is_photo(p)]
    low, high = limits or colour_range(depths)
    rows = -(-len(pictures) // columns)
    height, breadth = pictures[0].image.shape[:2]
    cell = width / columns
    figure = Figure(
        figsize=(width, max(1.2, rows * (cell * 0.86 * min(height / breadth, TALLEST) + 0.38))),
        layout="constrained",
    )
    axes = figure.subplots(rows, columns, squeeze=False)
    shown = None
    for axis in axes.flat:
        axis.set_axis_off()
    for axis, entry in zip(axes.flat, pictures, strict=False):
        axis.set_title(entry.title, fontsize=9)
        if _is_photo(entry):
            axis.imshow(displayable(entry.image), cmap="gray", interpolation="nearest")
        else:
            shown = axis.imshow(
                entry.image, cmap=DEPTH_COLOURS, vmin=low, vmax=high, interpolation="nearest"
            )
    if shown is not None:
        figure.colorbar(shown, ax=axes, label=f"depth ({symbol(unit)})", shrink=0.8, pad=0.01)
    return to_png(figure)


def to_png(figure: Figure, dpi: int = 120) -> bytes:
    """Return a matplotlib figure as PNG."""
    file = io.BytesIO()
    figure.savefig(file, format="png", dpi=dpi)
    return file.getvalue()


def _is_photo(entry: Panel) -> bool:
    return entry.photo or entry.image.ndim == 3


def colour_range(depths: Sequence[NDArray[Any]]) -> tuple[float, float]:
    """Return the 0.5th and 99.5th percentile of all known depths: where colours begin and end."""
    known = [d[np.isfinite(d)] for d in depths]
    values = np.concatenate(known) if known else np.zeros(0)
    if values.size == 0:
        return 0.0, 1.0
    low, high = np.percentile(values, [0.5, 99.5])
    return (float(low), float(high)) if high > low else (float(low) - 0.5, float(low) + 0.5)


def profile_plot(
    distance: NDArray[Any],
    height: NDArray[Any],
    error: NDArray[Any] | None,
    unit: str,
    height_unit: str,
) -> bytes:
    """Return a PNG of the height along a line, with a band of one standard error.

    Parameters
    ----------
    distance, height : ndarray of shape (n,)
        Along the line; NaN heights leave gaps.
    error : ndarray of shape (n,) or None
        Standard error of the height.
    unit, height_unit : str
        Units of distance and height.

    Returns
    -------
    bytes
        The PNG.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8.0, 3.2), layout="constrained")
    axis = figure.subplots()
    if error is not None:
        axis.fill_between(
            distance, height - error, height + error, color="#31688e", alpha=0.25, linewidth=0
        )
    axis.plot(distance, height, color="#31688e", linewidth=1.4)
    axis.set_xlabel(f"distance ({unit})")
    axis.set_ylabel(f"height ({height_unit})")
    axis.spines[["top", "right"]].set_visible(False)
    axis.grid(alpha=0.25)
    axis.margins(x=0.01)
    return to_png(figure)
