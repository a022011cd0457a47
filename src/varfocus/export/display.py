"""Results in a notebook: a line of text, a card of HTML, figures, and labelled arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from varfocus.depth import sure_share
from varfocus.errors import MissingExtraError, ParameterError
from varfocus.export.evidence import Witness
from varfocus.export.figures import DEPTH_COLOURS, colour_range
from varfocus.export.images import displayable
from varfocus.export.report import coloured, photo
from varfocus.text import escaped
from varfocus.units import PixelSize, symbol

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from xarray import Dataset

THUMBNAIL_SIDE = 220
"""Longest side in pixels of the pictures in a notebook's card."""

PLOTTED_SIDE = 1000
"""Longest side in pixels of the maps in a figure, which shows no more of them."""

MAPS = ("fused", "depth", "confidence", "uncertainty")
"""What can be shown of a result, in the order in which it is."""

_STYLE = (
    "display:inline-block;vertical-align:top;margin:0 12px 8px 0;font-size:12px;text-align:center"
)


class Shown(Protocol):
    """What there must be to show: a result, just made or read back."""

    @property
    def depth(self) -> NDArray[np.float32]:
        """Depth in `unit`, NaN where unknown."""

    @property
    def confidence(self) -> NDArray[np.float32]:
        """Estimated probability that the depth is right to within one frame."""

    @property
    def uncertainty(self) -> NDArray[np.float32] | None:
        """Standard error of the depth in `unit`."""

    @property
    def fused(self) -> NDArray[Any]:
        """All-in-focus image."""

    @property
    def unit(self) -> str:
        """Unit of the depth."""

    @property
    def direction(self) -> str:
        """Which way the depth grows, in words."""

    @property
    def pixel_size(self) -> PixelSize | None:
        """Size of a pixel in the scene."""

    @property
    def origin(self) -> tuple[int, int]:
        """Column and row of the frames as given at which the maps begin."""

    @property
    def frame_count(self) -> int:
        """How many frames there were."""

    @property
    def method(self) -> str:
        """How the depth was found."""

    @property
    def notes(self) -> Sequence[str]:
        """What was adjusted or looks doubtful."""


class Displayed:
    """Gives a result its looks in a notebook; see `Shown` for what it must have."""

    def _repr_html_(self: Shown) -> str:
        return card(self)

    def plot(self: Shown, *maps: str) -> NDArray[Any]:
        """Draw maps side by side, with colour bars and units.

        Parameters
        ----------
        *maps : {"fused", "depth", "confidence", "uncertainty"}
            What to draw; by default everything there is.

        Returns
        -------
        ndarray of matplotlib.axes.Axes
            One per map; ``.plot()[0].figure.savefig("maps.png")`` keeps the figure.

        Examples
        --------
        >>> import matplotlib
        >>> matplotlib.use("agg")
        >>> import varfocus
        >>> result = varfocus.reconstruct(varfocus.simulate("cone", shape=(48, 64)).stack)
        >>> [axes.get_title() for axes in result.plot("fused", "depth")]
        ['fused', 'depth']
        """
        return drawn(self, maps)

    def to_xarray(self: Shown) -> Dataset:
        """Return all maps as one dataset with coordinates and units; needs the extra "xarray".

        Returns
        -------
        xarray.Dataset
            ``depth``, ``confidence``, ``fused`` and, where it is known, ``uncertainty`` over the
            coordinates ``y`` and ``x``: centres of pixels, in the unit of the pixel size, or in
            pixels where none is known, counted from the corner of the frames as given. Units are in
            ``attrs["units"]`` of every variable.

        Examples
        --------
        >>> import varfocus
        >>> result = varfocus.reconstruct(varfocus.simulate("cone", shape=(48, 64)).stack)
        >>> maps = result.to_xarray()
        >>> maps.depth.dims, maps.depth.attrs["units"], maps.x.attrs["units"]
        (('y', 'x'), 'm', 'pixel')
        >>> bool(maps.depth.where(maps.confidence > 0.9).sel(x=slice(10, 20)).notnull().any())
        True
        """
        return dataset(self)


def summary(found: Shown, name: str, shape: tuple[int, ...]) -> str:
    """Return a result of this shape in one line, computing none of its maps."""
    height, width = shape
    return (
        f"<{name}: {width}×{height} pixels from {found.frame_count} frames, depth in "
        f"{found.unit}, method {found.method!r}>"
    )


def card(found: Shown) -> str:
    """Return a result as HTML: thumbnails, and a table of what matters about it.

    Parameters
    ----------
    found : Shown
        The result.

    Returns
    -------
    str
        Self-contained, without scripts; everything that comes from files is escaped.
    """
    low, high = colour_range([found.depth])
    unit = symbol(found.unit)
    pictures = [
        ("all in focus", photo(found.fused, THUMBNAIL_SIDE)),
        (
            f"depth, {low:.4g} … {high:.4g} {unit}",
            coloured(found.depth, (low, high), DEPTH_COLOURS, THUMBNAIL_SIDE),
        ),
        ("confidence, 0 … 1", coloured(found.confidence, (0.0, 1.0), "gray", THUMBNAIL_SIDE)),
    ]
    shown = "".join(
        f'<figure style="{_STYLE}"><img src="{source}" alt="{escaped(words)}" '
        f'style="max-width:{THUMBNAIL_SIDE}px"><figcaption>{escaped(words)}</figcaption>'
        "</figure>"
        for words, source in pictures
    )
    rows = "".join(
        f'<tr><th style="text-align:left">{escaped(name)}</th>'
        f'<td style="text-align:left">{escaped(value)}</td></tr>'
        for name, value in _facts(found)
    )
    return f"<div><div>{shown}</div><table>{rows}</table></div>"


def _facts(found: Shown) -> list[tuple[str, str]]:
    height, width = found.depth.shape
    unit, known = symbol(found.unit), np.isfinite(found.depth)
    values = found.depth[known]
    depth = f"{values.min():.4g} … {values.max():.4g} {unit}" if values.size else "unknown"
    rows = [
        ("size", f"{width} × {height} pixels, from {found.frame_count} frames"),
        ("method", found.method),
        ("depth", f"{depth}; {found.direction}"),
        ("sure", f"{sure_share(found.confidence):.0%} of the pixels have a confidence above 0.9"),
    ]
    if found.uncertainty is not None:
        error = np.median(found.uncertainty[np.isfinite(found.uncertainty)])
        rows.append(("standard error", f"{error:.3g} {unit} (median)"))
    if not known.all():
        rows.append(("unknown", f"{1.0 - known.mean():.1%} of the pixels"))
    if found.pixel_size is not None:
        rows.append(("pixel", str(found.pixel_size)))
    return rows + [("warning", note) for note in found.notes]


def drawn(found: Shown, maps: Sequence[str] = ()) -> NDArray[Any]:
    """Draw maps of a result side by side; see `Displayed.plot`."""
    from matplotlib import pyplot as plt

    names = maps or [name for name in MAPS if getattr(found, name) is not None]
    for name in names:
        if name not in MAPS or getattr(found, name) is None:
            raise ParameterError(
                f"received {name!r} to plot",
                "expected some of "
                + ", ".join(repr(n) for n in MAPS if getattr(found, n) is not None),
            )
    height, width = found.depth.shape
    figure, axes = plt.subplots(
        1,
        len(names),
        squeeze=False,
        figsize=(4.2 * len(names), 4.2 * min(0.85 * height / width, 2.0) + 0.6),
        layout="constrained",
    )
    for axis, name in zip(axes[0], names, strict=True):
        image = np.asarray(getattr(found, name))
        step = -(-max(image.shape[:2]) // PLOTTED_SIDE)
        image = image[::step, ::step]
        place = {"extent": (-0.5, width - 0.5, height - 0.5, -0.5), "interpolation": "nearest"}
        axis.set_title(name)
        if name == "fused":
            axis.imshow(displayable(image), cmap="gray", **place)
            continue
        low, high = (0.0, 1.0) if name == "confidence" else colour_range([image])
        colours = "gray" if name == "confidence" else DEPTH_COLOURS
        seen = axis.imshow(image, cmap=colours, vmin=low, vmax=high, **place)
        label = name if name == "confidence" else f"{name} ({symbol(found.unit)})"
        figure.colorbar(seen, ax=axis, label=label, shrink=0.8)
    row: NDArray[Any] = axes[0]
    return row


def curve_plot(
    witness: Witness,
    depths: NDArray[np.float64] | None,
    unit: str,
    axes: Axes | None = None,
) -> Axes:
    """Draw the contrast of a pixel over focus, the model behind it, and the depth chosen.

    Parameters
    ----------
    witness : Witness
        Contrast, model and depth.
    depths : ndarray of shape (n,) or None
        Depth of each frame in `unit`; None for frame numbers.
    unit : str
        Unit of the depth.
    axes : matplotlib.axes.Axes, optional
        Where to draw; by default in a new figure.
    """
    from matplotlib import pyplot as plt

    if axes is None:
        axes = plt.subplots(figsize=(6.0, 3.4), layout="constrained")[1]
    frames = np.arange(len(witness.contrast), dtype=np.float64)

    def at(index: Any) -> Any:
        return index if depths is None else np.interp(index, frames, depths)

    axes.plot(at(frames), witness.contrast, "o", color="#31688e", label="measured")
    if witness.model is not None:
        axes.plot(at(witness.model[:, 0]), witness.model[:, 1], "-", color="#35b779", label="model")
    axes.axvline(float(at(witness.index)), color="#440154", ls="--", lw=1.0, label="depth")
    axes.set_xlabel(f"focus ({symbol(unit)})")
    axes.set_ylabel("contrast")
    axes.set_title(f"pixel ({witness.place.x}, {witness.place.y})")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
    return axes


def dataset(found: Shown) -> Dataset:
    """Return all maps with coordinates and units; see `Displayed.to_xarray`."""
    try:
        import xarray
    except ImportError as error:
        raise MissingExtraError("labelled arrays", "xarray", "xarray") from error
    size = found.pixel_size
    unit, (across, down) = ("pixel", (1.0, 1.0)) if size is None else (size.unit, (size.x, size.y))
    (height, width), (left, top) = found.depth.shape, found.origin
    coordinates = {
        name: (
            name,
            (np.arange(count) + start + 0.5) * pitch,
            {"units": unit, "long_name": f"centres of {what}"},
        )
        for name, what, count, start, pitch in (
            ("y", "rows", height, top, down),
            ("x", "columns", width, left, across),
        )
    }
    plane = ("y", "x")
    maps: dict[str, Any] = {
        "depth": (
            plane,
            found.depth,
            {"units": found.unit, "long_name": "depth", "direction": found.direction},
        ),
        "confidence": (
            plane,
            found.confidence,
            {"units": "1", "long_name": "probability of an error below one frame"},
        ),
        "fused": (
            (*plane, "channel")[: found.fused.ndim],
            found.fused,
            {"long_name": "all-in-focus image"},
        ),
    }
    if found.uncertainty is not None:
        about = {"units": found.unit, "long_name": "standard error of the depth"}
        maps["uncertainty"] = (plane, found.uncertainty, about)
    if found.fused.ndim == 3:
        coordinates["channel"] = ("channel", np.array(["red", "green", "blue"]), {})
    return xarray.Dataset(maps, coordinates, {"method": found.method, "frames": found.frame_count})
