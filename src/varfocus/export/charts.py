"""Small line charts as inline SVG, in the colours of the page they stand on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from varfocus.text import escaped

Style: TypeAlias = Literal["line", "dots", "faint"]

LEFT, RIGHT, TOP, BOTTOM = 46, 10, 10, 36
"""Room around the plot in pixels."""


@dataclass(frozen=True)
class Series:
    """One curve.

    Attributes
    ----------
    x, y : array_like of shape (n,)
        Points; those that are not finite are left out.
    style : {"line", "dots", "faint"}
        How it is drawn.
    colour : int
        Number of the colour, 1 to 4, a variable of the page.
    """

    x: ArrayLike
    y: ArrayLike
    style: Style = "line"
    colour: int = 1


def chart(
    series: Sequence[Series],
    *,
    x_label: str,
    y_label: str,
    alt: str,
    mark: float | None = None,
    zero: bool = False,
    size: tuple[int, int] = (400, 220),
) -> str:
    """Return an SVG of curves over common axes.

    Parameters
    ----------
    series : sequence of Series
        Curves.
    x_label, y_label : str
        Labels of the axes.
    alt : str
        What it shows, for those who cannot see it.
    mark : float, optional
        Place on the x axis of a vertical line.
    zero : bool
        Let the y axis begin at 0 or below.
    size : tuple of int
        Width and height in pixels; it scales with the page.

    Returns
    -------
    str
        The SVG element.
    """
    width, height = size
    points = [_points(s) for s in series]
    xs = np.concatenate([p[0] for p in points] + [np.array([] if mark is None else [mark])])
    ys = np.concatenate([p[1] for p in points])
    x_ticks, x_range = _axis(xs)
    y_ticks, y_range = _axis(np.append(ys, 0.0) if zero else ys, pad=0.06)

    def across(x: Any) -> Any:
        return LEFT + (x - x_range[0]) / (x_range[1] - x_range[0]) * (width - LEFT - RIGHT)

    def up(y: Any) -> Any:
        return (
            height - BOTTOM - (y - y_range[0]) / (y_range[1] - y_range[0]) * (height - TOP - BOTTOM)
        )

    parts = [
        f'<svg viewBox="0 0 {width} {height}" role="img" aria-label="{escaped(alt)}">',
        *(
            f'<line class="grid" x1="{LEFT}" x2="{width - RIGHT}" y1="{up(t):.1f}" '
            f'y2="{up(t):.1f}"/><text class="tick" x="{LEFT - 6}" y="{up(t) + 3.5:.1f}" '
            f'text-anchor="end">{_number(t)}</text>'
            for t in y_ticks
        ),
        *(
            f'<text class="tick" x="{across(t):.1f}" y="{height - BOTTOM + 15}" '
            f'text-anchor="middle">{_number(t)}</text>'
            for t in x_ticks
        ),
        f'<line class="axis" x1="{LEFT}" x2="{width - RIGHT}" y1="{height - BOTTOM}" '
        f'y2="{height - BOTTOM}"/>',
    ]
    if mark is not None:
        parts.append(
            f'<line class="mark" x1="{across(mark):.1f}" x2="{across(mark):.1f}" y1="{TOP}" '
            f'y2="{height - BOTTOM}"/>'
        )
    for entry, (x, y) in zip(series, points, strict=True):
        places = np.stack([across(x), up(y)], axis=1) if len(x) else np.zeros((0, 2))
        parts.append(_drawn(places, entry))
    parts.append(
        f'<text class="label" x="{(LEFT + width - RIGHT) / 2:.0f}" y="{height - 4}" '
        f'text-anchor="middle">{escaped(x_label)}</text>'
        f'<text class="label" x="12" y="{(TOP + height - BOTTOM) / 2:.0f}" text-anchor="middle" '
        f'transform="rotate(-90 12 {(TOP + height - BOTTOM) / 2:.0f})">{escaped(y_label)}'
        "</text></svg>"
    )
    return "".join(parts)


def ticks(low: float, high: float, wanted: int = 5) -> list[float]:
    """Return round numbers between two limits."""
    from matplotlib.ticker import MaxNLocator

    values = MaxNLocator(wanted, steps=[1, 2, 2.5, 5, 10]).tick_values(low, high)
    slack = 1e-9 * (high - low)
    return [float(v) for v in values if low - slack <= v <= high + slack]


def _points(series: Series) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    x, y = np.asarray(series.x, np.float64), np.asarray(series.y, np.float64)
    good = np.isfinite(x) & np.isfinite(y)
    return x[good], y[good]


def _axis(values: NDArray[np.float64], pad: float = 0.0) -> tuple[list[float], tuple[float, float]]:
    low, high = (float(values.min()), float(values.max())) if values.size else (0.0, 1.0)
    if high <= low:
        low, high = low - 0.5, high + 0.5
    room = pad * (high - low)
    low, high = low - room, high + room
    return ticks(low, high), (low, high)


def _drawn(places: NDArray[np.float64], series: Series) -> str:
    colour = f"var(--line-{series.colour})"
    if series.style == "dots":
        return "".join(
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in places
        )
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    kind = "curve faint" if series.style == "faint" else "curve"
    return f'<polyline class="{kind}" points="{line}" stroke="{colour}"/>'


def _number(value: float) -> str:
    text = f"{value:.4g}" if abs(value) < 1e5 else f"{value:.3g}"
    return text.replace("e+0", "e").replace("e-0", "e−").replace("-", "−")
