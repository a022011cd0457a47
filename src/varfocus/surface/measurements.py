"""Several named measurements on one surface: what is measured where, kept as a JSON document.

::

    {"varfocus_measurements": 1, "level": {"by": "polynomial", "degree": 1}, "shapes": [
      {"name": "across", "kind": "line", "points": [[10, 20], [300, 24]], "width": 5},
      {"name": "pad", "kind": "step", "points": [[5, 5], [60, 60], [90, 5], [150, 60]]},
      {"name": "matt", "kind": "region", "points": [[200, 200], [400, 380]]},
      {"name": "top", "kind": "point", "points": [[111, 222]]}]}

Places are in pixels of the frames as given; pixel (0, 0) covers [0, 1)². A region is given by two
opposite corners, a step by two regions.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from varfocus.errors import InputError, ParameterError
from varfocus.geometry import Rectangle
from varfocus.ranges import Range, one_of, whole
from varfocus.surface.measure import (
    CORRELATION_AREA,
    Map,
    Profile,
    Quantity,
    distance_along,
    height_parameters,
    level,
    level_by_points,
    profile,
    step_height,
)
from varfocus.units import METRES, PixelSize

KEY, VERSION = "varfocus_measurements", 1

Kind: TypeAlias = Literal["line", "step", "region", "point"]
LevelBy: TypeAlias = Literal["none", "points", "polynomial"]

CORNERS: Mapping[str, int] = {"line": 2, "step": 4, "region": 2, "point": 1}
"""Points that each kind of measurement has."""

MOST_SHAPES, LARGEST_PLACE, LONGEST_NAME, HIGHEST_DEGREE = 1000, 1e7, 100, 8

Point: TypeAlias = tuple[float, float]


@dataclass(frozen=True)
class Level:
    """What is subtracted from the surface before lines and points are measured.

    Parameters
    ----------
    by : {"none", "points", "polynomial"}
        Nothing; the plane through three points; or a polynomial that is fitted robustly.
    degree : int
        Of the polynomial: 0 the mean, 1 a plane, 2 a paraboloid.
    points : sequence of (float, float)
        The three points.
    """

    by: LevelBy = "none"
    degree: int = 1
    points: tuple[Point, ...] = ()

    def __post_init__(self) -> None:
        one_of("level by", self.by, get_args(LevelBy))
        whole("level of degree", self.degree, Range(0, HIGHEST_DEGREE))
        object.__setattr__(self, "points", _places(self.points, 3 if self.by == "points" else 0))

    @property
    def words(self) -> str:
        """What is subtracted, for people."""
        if self.by == "points":
            return "the plane through three points"
        names = {0: "the mean", 1: "a plane", 2: "a paraboloid"}
        fitted = names.get(self.degree, f"a polynomial of degree {self.degree}")
        return "nothing" if self.by == "none" else fitted


@dataclass(frozen=True)
class Measurement:
    """One thing to measure.

    Parameters
    ----------
    kind : {"line", "step", "region", "point"}
        What is measured.
    points : sequence of (float, float)
        Where, see the module.
    name : str
        What people call it.
    width : int
        Of a line, in pixels across it over which heights are averaged.
    """

    kind: Kind
    points: tuple[Point, ...]
    name: str = ""
    width: int = 1

    def __post_init__(self) -> None:
        one_of("kind", self.kind, tuple(CORNERS))
        object.__setattr__(self, "points", _places(self.points, CORNERS[self.kind]))
        if not isinstance(self.name, str) or len(self.name) > LONGEST_NAME:
            raise ParameterError(
                f"received the name {str(self.name)[:40]!r}",
                f"expected up to {LONGEST_NAME} letters",
            )
        whole("width", self.width, Range(1, 10_000))


@dataclass(frozen=True)
class Measurements:
    """What is measured on a surface.

    Parameters
    ----------
    shapes : sequence of Measurement
        In the order of the table.
    level : Level
        What is subtracted first.
    """

    shapes: tuple[Measurement, ...] = ()
    level: Level = field(default_factory=Level)

    @classmethod
    def from_data(cls, data: object) -> Measurements:
        """Return what a document says; raises ParameterError, which names the wrong part."""
        if not isinstance(data, Mapping) or data.get(KEY) != VERSION:
            raise ParameterError(
                "received no measurements", f'expected an object with "{KEY}": {VERSION}'
            )
        shapes = data.get("shapes", ())
        if not isinstance(shapes, Sequence) or isinstance(shapes, str) or len(shapes) > MOST_SHAPES:
            raise ParameterError(
                "received no list of shapes", f'expected up to {MOST_SHAPES} under "shapes"'
            )
        made = []
        for number, shape in enumerate(shapes):
            try:
                made.append(Measurement(**_keywords(shape, Measurement)))
            except ParameterError as error:
                first, *rest = error.args
                raise ParameterError(f"shape {number}: {first}", *rest) from error
        return cls(tuple(made), Level(**_keywords(data.get("level", {}), Level)))

    def as_data(self) -> dict[str, Any]:
        """Return the document, for JSON."""
        return {
            KEY: VERSION,
            "level": asdict(self.level),
            "shapes": [asdict(shape) for shape in self.shapes],
        }


@dataclass(frozen=True)
class Surface:
    """What is measured on.

    Attributes
    ----------
    height : ndarray of shape (H, W)
        Towards the lens, in `unit`; NaN where unknown or not to be trusted.
    unit : str
        Unit of the heights.
    origin : (int, int)
        Column and row of the frames at which the map begins.
    sigma : ndarray of shape (H, W), optional
        Standard error of each height.
    pixel_size : PixelSize, optional
        Size of a pixel in the scene.
    correlation_area : float
        Pixels that err together.
    """

    height: NDArray[np.floating]
    unit: str
    origin: tuple[int, int] = (0, 0)
    sigma: NDArray[np.floating] | None = None
    pixel_size: PixelSize | None = None
    correlation_area: float = CORRELATION_AREA

    def levelled(self, how: Level) -> Map:
        """Return the height less what `how` says."""
        if how.by == "none":
            return np.asarray(self.height, np.float64)
        if how.by == "polynomial":
            return level(self.height, how.degree)
        return level_by_points(self.height, [self.pixel(point) for point in how.points])

    def pixel(self, point: Point) -> Point:
        """Return a place of the frames in pixels of the map, centres at whole numbers."""
        rows, columns = self.height.shape
        x, y = point[0] - self.origin[0] - 0.5, point[1] - self.origin[1] - 0.5
        if not (-0.5 <= x <= columns - 0.5 and -0.5 <= y <= rows - 0.5):
            left, top = self.origin
            raise ParameterError(
                f"received the place {point[0]:g}, {point[1]:g}",
                f"expected one inside {columns} × {rows} at {left}, {top}",
            )
        return min(max(x, 0.0), columns - 1.0), min(max(y, 0.0), rows - 1.0)

    def region(self, a: Point, b: Point) -> Rectangle:
        """Return the pixels between two corners, cut to the map."""
        rows, columns = self.height.shape
        (x_0, x_1), (y_0, y_1) = (sorted((a[i] - o, b[i] - o)) for i, o in enumerate(self.origin))
        left, right = (int(np.clip(round(x), 0, columns)) for x in (x_0, x_1))
        top, bottom = (int(np.clip(round(y), 0, rows)) for y in (y_0, y_1))
        if right <= left or bottom <= top:
            raise ParameterError("received an empty rectangle", "expected one with pixels inside")
        return Rectangle(left, top, right - left, bottom - top)


@dataclass(frozen=True)
class Row:
    """One number of the table."""

    quantity: str
    value: Quantity
    unit: str

    @property
    def words(self) -> str:
        """The number with its error and unit."""
        return self.value.words(self.unit)


@dataclass(frozen=True)
class Measured:
    """The outcome of one measurement.

    Attributes
    ----------
    shape : Measurement
        What was measured.
    rows : sequence of Row
        Its numbers; empty if it could not be measured.
    along : Profile or None
        Of a line.
    distance : ndarray or None
        Of each sample of `along` from the first, in `distance_unit`.
    distance_unit : str
        Unit of distances.
    problem : str
        Why there are no numbers.
    """

    shape: Measurement
    rows: tuple[Row, ...] = ()
    along: Profile | None = None
    distance: Map | None = None
    distance_unit: str = ""
    problem: str = ""


def measure_all(surface: Surface, wanted: Measurements) -> list[Measured]:
    """Measure everything that a document names.

    Parameters
    ----------
    surface : Surface
        The map.
    wanted : Measurements
        What.

    Returns
    -------
    list of Measured
        One per shape; what cannot be measured says why.

    Raises
    ------
    VarfocusError
        If the surface cannot be levelled as asked.
    """
    flat = surface.levelled(wanted.level)
    kinds = {"line": _line, "step": _step, "region": _region, "point": _point}
    found = []
    for shape in wanted.shapes:
        try:
            found.append(kinds[shape.kind](surface, flat, wanted.level, shape))
        except (InputError, ParameterError) as error:
            found.append(Measured(shape, problem=str(error.args[0])))
    return found


def _line(surface: Surface, flat: Map, how: Level, shape: Measurement) -> Measured:
    del how
    ends = [surface.pixel(point) for point in shape.points]
    along = profile(
        flat,
        ends[0],
        ends[1],
        width=shape.width,
        sigma=surface.sigma,
        correlation_area=surface.correlation_area,
    )
    distance, unit = distance_along(along, surface.pixel_size, surface.unit)
    rows = [Row("length", Quantity(float(distance[-1]), None), unit)]
    known = np.isfinite(along.height)
    if known.any():
        rows.append(Row("range", Quantity(float(np.ptp(along.height[known])), None), surface.unit))
    rise = float(along.height[-1] - along.height[0])
    if np.isfinite(rise):
        error = None
        if along.error is not None:
            error = float(np.hypot(along.error[0], along.error[-1]))
        rows.append(Row("rise", Quantity(rise, error), surface.unit))
        if unit == surface.unit and unit in METRES:
            angle = math.degrees(math.atan2(rise, float(distance[-1])))
            rows.append(Row("angle", Quantity(angle, None), "°"))
    return Measured(shape, tuple(rows), along, distance, unit)


def _step(surface: Surface, flat: Map, how: Level, shape: Measurement) -> Measured:
    del flat, how  # parallel planes take out the tilt
    a, b, c, d = shape.points
    step = step_height(
        surface.height,
        surface.region(a, b),
        surface.region(c, d),
        sigma=surface.sigma,
        correlation_area=surface.correlation_area,
    )
    pixels = Quantity(float(sum(step.pixels)), None)
    return Measured(
        shape, (Row("height", step.height, surface.unit), Row("pixels", pixels, "pixels"))
    )


def _region(surface: Surface, flat: Map, how: Level, shape: Measurement) -> Measured:
    window = surface.region(*shape.points).window
    sigma = None if surface.sigma is None else surface.sigma[window]
    # Roughness is what remains of the region itself; a plane through chosen points stays chosen.
    rough = flat[window] if how.by == "points" else level(surface.height[window], how.degree)
    found = height_parameters(rough, sigma, surface.correlation_area)
    rows = [Row(n, q, "" if n in ("Ssk", "Sku") else surface.unit) for n, q in found.items()]
    mean = Quantity(float(np.nanmean(flat[window])), None)
    valid = Quantity(100.0 * float(np.isfinite(rough).mean()), None)
    rows += [Row("mean height", mean, surface.unit), Row("valid", valid, "%")]
    return Measured(shape, tuple(rows))


def _point(surface: Surface, flat: Map, how: Level, shape: Measurement) -> Measured:
    del how
    x, y = surface.pixel(shape.points[0])
    i, j = round(y), round(x)
    value = float(flat[i, j])
    if not np.isfinite(value):
        raise InputError("nothing is known at this point", "expected a pixel of known height")
    error = None
    if surface.sigma is not None and np.isfinite(surface.sigma[i, j]):
        error = float(surface.sigma[i, j])
    return Measured(shape, (Row("height", Quantity(value, error), surface.unit),))


def table_csv(found: Sequence[Measured]) -> bytes:
    """Return every number as CSV: one row each, with its name, unit, error and place."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(
        [
            "name",
            "kind",
            "quantity",
            "value",
            "standard error",
            "unit",
            "places (pixels)",
            "problem",
        ]
    )
    for one in found:
        about = [_cell(one.shape.name), one.shape.kind]
        places = " ".join(f"{x:.6g},{y:.6g}" for x, y in one.shape.points)
        for row in one.rows:
            error = "" if row.value.error is None else f"{row.value.error:.9g}"
            number = f"{row.value.value:.9g}"
            writer.writerow([*about, row.quantity, number, error, row.unit, places, ""])
        if one.problem:
            writer.writerow([*about, "", "", "", "", places, one.problem])
    return text.getvalue().encode()


def profiles_csv(found: Sequence[Measured], height_unit: str) -> bytes:
    """Return the profiles of all lines as CSV, one sample per row."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    lines = [one for one in found if one.along is not None]
    unit = lines[0].distance_unit if lines else "pixels"
    errors = any(one.along is not None and one.along.error is not None for one in lines)
    headings = ["name", f"distance ({unit})", "x (pixels)", "y (pixels)", f"height ({height_unit})"]
    writer.writerow(headings + [f"standard error ({height_unit})"] * errors)
    for one in lines:
        assert one.along is not None
        assert one.distance is not None
        columns = [one.distance, one.along.x, one.along.y, one.along.height]
        if one.along.error is not None:
            columns.append(one.along.error)
        for values in zip(*columns, strict=True):
            writer.writerow([_cell(one.shape.name), *(f"{value:.9g}" for value in values)])
    return text.getvalue().encode()


def _cell(text: str) -> str:
    """Return a name that no spreadsheet takes for a formula."""
    return "'" + text if text[:1] in ("=", "+", "-", "@", "\t", "\r") else text


def _keywords(data: object, kind: type[Any]) -> dict[str, Any]:
    known = set(kind.__dataclass_fields__)
    if not isinstance(data, Mapping) or set(data) - known:
        raise ParameterError(
            f"received {str(data)[:60]!r}", "expected an object of " + ", ".join(sorted(known))
        )
    if kind is Measurement and not {"kind", "points"} <= set(data):
        raise ParameterError("received a shape without kind or points", "expected both")
    return dict(data)


def _places(points: object, number: int) -> tuple[Point, ...]:
    try:
        places = tuple((float(x), float(y)) for x, y in points)  # type: ignore[attr-defined]
    except (TypeError, ValueError) as error:
        raise ParameterError(
            "received points that are not pairs", "expected [[x, y], …]"
        ) from error
    if len(places) != number:
        raise ParameterError(f"received {len(places)} points", f"expected {number}")
    if not all(math.isfinite(v) and abs(v) <= LARGEST_PLACE for place in places for v in place):
        raise ParameterError("received points far away", "expected places in pixels of the frames")
    return places
