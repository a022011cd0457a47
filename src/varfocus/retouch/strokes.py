"""What a stroke is, and how strokes are kept: a small JSON document.

::

    {"varfocus_retouch": 1, "width": 4000, "height": 3000, "frames": 42, "strokes": [
      {"tool": "paint", "frame": "IMG_0012.jpg", "points": [[810, 422], [830, 440]],
       "radius": 24, "feather": 12},
      {"tool": "paint", "picture": "slabs/slab_01.tif", "points": [[99, 80]], "radius": 9},
      {"tool": "set-depth", "frame": 17.5, "points": [[5, 5], [60, 5], [60, 40]]},
      {"tool": "fill-depth", "points": [[300, 200], [380, 210], [340, 290]], "feather": 3},
      {"tool": "smooth-depth", "sigma": 4, "points": [[700, 90]], "radius": 30},
      {"tool": "erase-depth", "points": [[20, 900], [90, 900], [50, 990]]}]}

Places are in pixels of the frames as given, at the place of the reference frame; pixel (0, 0)
covers [0, 1)². So they stay right whatever is cropped. A stroke with a radius is a line drawn with
a round brush, one without is the inside of an outline. Later strokes lie over earlier ones.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from varfocus.errors import ParameterError
from varfocus.text import shown

VERSION = 1
"""Of the document."""

KEY = "varfocus_retouch"
"""Where the document says its version."""

TOOLS: Mapping[str, str] = {
    "paint": "paint a frame, or another picture, into the all-in-focus image",
    "set-depth": "set the depth to that of a frame",
    "fill-depth": "continue the plane around the outline",
    "smooth-depth": "smooth the depth",
    "erase-depth": "mark the depth as unknown",
}
"""What strokes do, in words."""

MOST_STROKES, MOST_POINTS = 20_000, 20_000
"""Of a document, and of a stroke."""

LARGEST_PLACE, LARGEST_RADIUS, LARGEST_SIGMA = 1e7, 1e5, 200.0
"""Pixels beyond which a number is taken for a mistake."""


@dataclass(frozen=True)
class Stroke:
    """One change.

    Parameters
    ----------
    tool : str
        One of `TOOLS`.
    points : sequence of (float, float)
        x, y along the brush, or the corners of an outline, which is closed.
    radius : float, optional
        Of the brush in pixels; None for an outline.
    feather : float
        Pixels inside of the edge over which the effect fades in; 0 for a hard edge.
    frame : str, int or float, optional
        For "paint": the frame, by name or by its number from 0. For "set-depth": the depth in
        frames, which may lie between two.
    picture : str, optional
        For "paint": a result folder, or a picture of the size of the frames or of the result.
    sigma : float, optional
        For "smooth-depth": σ in pixels of the Gaussian.

    Raises
    ------
    ParameterError
        If a number is out of range, or something is missing or superfluous.
    """

    tool: str
    points: tuple[tuple[float, float], ...]
    radius: float | None = None
    feather: float = 0.0
    frame: str | float | None = None
    picture: str | None = None
    sigma: float | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.tool, str) or self.tool not in TOOLS:
            raise ParameterError(
                f"received the tool {shown(self.tool)}", "expected " + ", ".join(TOOLS)
            )
        object.__setattr__(self, "points", _points(self.points, 3 if self.radius is None else 1))
        if self.radius is not None:
            _within("radius", self.radius, 0.1, LARGEST_RADIUS)
        _within("feather", self.feather, 0.0, LARGEST_RADIUS)
        needs = {"set-depth": ("frame",), "smooth-depth": ("sigma",)}.get(self.tool, ())
        takes = ("frame", "picture") if self.tool == "paint" else needs
        given = [n for n in ("frame", "picture", "sigma") if getattr(self, n) is not None]
        if (self.tool == "paint" and len(given) != 1) or set(given) - set(takes):
            wanted = " or ".join(takes) or "none of frame, picture and sigma"
            words = ", ".join(given) or "no source"
            raise ParameterError(f"received {words} with {self.tool!r}", f"expected {wanted}")
        if needs and not given:
            raise ParameterError(f"received {self.tool!r} without {needs[0]}", "expected a number")
        if self.sigma is not None:
            _within("sigma", self.sigma, 0.1, LARGEST_SIGMA)
        if self.frame is not None:
            self._check_frame(self.frame)
        if self.picture is not None and not (isinstance(self.picture, str) and self.picture):
            raise ParameterError(f"received picture = {shown(self.picture)}", "expected a path")

    def _check_frame(self, frame: object) -> None:
        if isinstance(frame, str) and self.tool == "paint":
            return
        _within("frame", frame, 0.0, LARGEST_PLACE)
        if self.tool == "paint" and frame != int(frame):  # type: ignore[call-overload]
            raise ParameterError(
                f"received frame = {shown(frame)}", "expected a whole number or a name"
            )

    @property
    def on_depth(self) -> bool:
        """Whether it changes the depth; else it changes the all-in-focus image."""
        return self.tool != "paint"

    def as_data(self) -> dict[str, Any]:
        """Return it as plain data, without what is at its default."""
        data = {f.name: getattr(self, f.name) for f in fields(self)}
        points = [[round(x, 3), round(y, 3)] for x, y in self.points]
        kept = {k: v for k, v in data.items() if v is not None and k != "points"}
        return {k: v for k, v in kept.items() if k != "feather" or v} | {"points": points}


@dataclass(frozen=True)
class Retouch:
    """All strokes on a result.

    Parameters
    ----------
    width, height : int
        Size of the frames as given.
    frames : int
        Their number.
    strokes : sequence of Stroke
        In the order in which they are applied.
    """

    width: int
    height: int
    frames: int
    strokes: tuple[Stroke, ...] = ()

    def __post_init__(self) -> None:
        for name in ("width", "height", "frames"):
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or value < 1:
                raise ParameterError(f"received {name} = {shown(value)}", "expected a whole number")
        object.__setattr__(self, "strokes", tuple(self.strokes))
        if len(self.strokes) > MOST_STROKES:
            raise ParameterError(
                f"received {len(self.strokes)} strokes", f"expected at most {MOST_STROKES}"
            )

    @classmethod
    def from_data(cls, data: object) -> Retouch:
        """Return the strokes of a document.

        Parameters
        ----------
        data : object
            What JSON made of it.

        Raises
        ------
        ParameterError
            If it is not one; names the stroke that is wrong, counted from 0.
        """
        if not isinstance(data, Mapping) or KEY not in data:
            raise ParameterError(
                "received no strokes", f'expected an object with "{KEY}", "width", … and "strokes"'
            )
        if data[KEY] != VERSION:
            raise ParameterError(
                f"received strokes of version {shown(data[KEY])}",
                f"expected version {VERSION}",
                "A newer varfocus may read them.",
            )
        strokes = data.get("strokes")
        if not isinstance(strokes, Sequence) or isinstance(strokes, str):
            raise ParameterError("received no list of strokes", 'expected it under "strokes"')
        found = [_stroke(one, number) for number, one in enumerate(strokes)]
        sizes = {name: data.get(name) for name in ("width", "height", "frames")}
        return cls(**sizes, strokes=tuple(found))  # type: ignore[arg-type]

    def as_data(self) -> dict[str, Any]:
        """Return the document, for JSON."""
        return {
            KEY: VERSION,
            "width": self.width,
            "height": self.height,
            "frames": self.frames,
            "strokes": [stroke.as_data() for stroke in self.strokes],
        }

    def check_size(self, shape: tuple[int, int]) -> None:
        """Refuse strokes that were drawn on frames of another size than `shape`, (H, W)."""
        if (self.height, self.width) != shape:
            raise ParameterError(
                f"received strokes drawn on frames of {self.width}×{self.height}",
                f"expected {shape[1]}×{shape[0]}, the size of these frames",
            )

    def shrunk(self, factor: int, left: int = 0, top: int = 0) -> Retouch:
        """Return the strokes for a rectangle of the frames that is made smaller by a factor."""
        strokes = [
            replace(
                stroke,
                points=tuple(((x - left) / factor, (y - top) / factor) for x, y in stroke.points),
                radius=None if stroke.radius is None else max(stroke.radius / factor, 0.5),
                feather=stroke.feather / factor,
                sigma=None if stroke.sigma is None else max(stroke.sigma / factor, 0.1),
            )
            for stroke in self.strokes
        ]
        return replace(self, strokes=tuple(strokes))


def _stroke(data: object, number: int) -> Stroke:
    known = {field.name for field in fields(Stroke)}
    try:
        if not isinstance(data, Mapping) or "tool" not in data:
            raise ParameterError("received no object with a tool", "expected a stroke")
        if set(data) - known:
            odd = shown(", ".join(sorted(map(str, set(data) - known))))[1:-1]
            raise ParameterError(f"received {odd}", "expected " + ", ".join(sorted(known)))
        return Stroke(**({"points": ()} | dict(data)))
    except ParameterError as error:
        first, *rest = error.args
        raise ParameterError(f"stroke {number}: {first}", *rest) from error


def _points(points: object, least: int) -> tuple[tuple[float, float], ...]:
    try:
        places = [(float(x), float(y)) for x, y in points]  # type: ignore[attr-defined]
    except (TypeError, ValueError, OverflowError) as error:
        raise ParameterError(
            "received points that are not pairs", "expected [[x, y], …]"
        ) from error
    if not least <= len(places) <= MOST_POINTS:
        what = "a brush" if least == 1 else "an outline"
        raise ParameterError(
            f"received {len(places)} points of {what}", f"expected {least} to {MOST_POINTS}"
        )
    if not all(math.isfinite(v) and abs(v) <= LARGEST_PLACE for place in places for v in place):
        raise ParameterError("received points far away", "expected places in pixels of the frames")
    return tuple(places)


def _within(name: str, value: object, low: float, high: float) -> None:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not low <= value <= high:  # type: ignore[operator]
        raise ParameterError(f"received {name} = {shown(value)}", f"expected {low:g} to {high:g}")
