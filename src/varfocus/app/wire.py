"""What server and page say to each other, as types: the page's own are made of these.

``make types`` writes them as TypeScript to ``web/src/wire.ts``; a test holds both together, and the
real messages to these.
"""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict

Value = float | str | bool | None
Kind = Literal["number", "whole", "choice", "switch", "text"]
Place = tuple[int, int, int, int]
Point = tuple[float, float]
Outline = tuple[bool, list[Point]]
StrokeTool = Literal["paint", "set-depth", "fill-depth", "smooth-depth", "erase-depth"]
ShapeKind = Literal["line", "step", "region", "point"]
LevelBy = Literal["none", "points", "polynomial"]


class Parameter(TypedDict):
    """A parameter of a method.

    Attributes
    ----------
    group
        Heading; empty for parameters of the method itself.
    """

    name: str
    type: Kind
    choices: list[str] | None
    default: Value
    about: str
    group: str


class Method(TypedDict):
    """A method with its parameters.

    Attributes
    ----------
    knob
        The parameter that deserves a slider.
    """

    name: str
    about: str
    knob: str
    parameters: list[Parameter]


class FrameInfo(TypedDict):
    """A frame of the stack, in order of focus.

    Attributes
    ----------
    problem
        Why it is left out whatever the user says; empty if it is not.
    """

    id: int
    name: str
    included: bool
    focus: float | None
    problem: str


class MapInfo(TypedDict):
    """A map of a result.

    Attributes
    ----------
    range
        Values that the first and last colour stand for.
    """

    unit: str
    range: tuple[float, float]


class Stroke(TypedDict):
    """A change by hand, in pixels of the frames.

    Attributes
    ----------
    points
        Along the brush, or the corners of an outline.
    radius
        Of the brush; an outline has none.
    feather
        Pixels inside of the edge over which it fades in.
    frame
        Of "paint" the number of a frame; of "set-depth" the depth in frames.
    result
        Paint from this version.
    slab
        Paint from this slab.
    sigma
        Of the smoothing.
    """

    tool: StrokeTool
    points: list[Point]
    radius: NotRequired[float]
    feather: NotRequired[float]
    frame: NotRequired[float]
    result: NotRequired[int]
    slab: NotRequired[int]
    sigma: NotRequired[float]


class Slab(TypedDict):
    """Neighbouring frames, fused.

    Attributes
    ----------
    made
        Another number for other slabs.
    """

    file: str
    first: str
    last: str
    made: int


class Sketched(TypedDict):
    """What the sketch of a result said, to be compared with it."""

    sure: float
    range: tuple[float, float]


class ResultInfo(TypedDict):
    """A result, at preview size or in full.

    Attributes
    ----------
    saved
        Written, so that it can be measured and downloaded.
    opened
        Made earlier, and opened.
    files
        What was written.
    place
        Left, top, width and height that the maps cover, in pixels of the frames.
    sure
        Share of pixels with a confidence of at least 0.9.
    revision
        Grows with every change of the strokes.
    unsure
        Share of pixels with a confidence below 0.5, which are not measured.
    unknown
        Share of pixels without a depth.
    name
        What the user calls it; empty if nothing.
    pinned
        Never forgotten.
    made
        When, in seconds since 1970.
    frames
        Numbers of the frames it was made of, in order; empty if nobody knows.
    near
        Which depths are near: seen, or by convention.
    motion
        How far each frame was moved, and the standard error of that, in pixels.
    """

    version: int
    preview: bool
    saved: bool
    opened: bool
    files: list[str]
    width: int
    height: int
    place: Place
    unit: str
    method: str
    parameters: dict[str, Value]
    maps: dict[str, MapInfo]
    warnings: list[str]
    seconds: float | None
    sure: float
    revision: int
    strokes: list[Stroke]
    slabs: list[Slab]
    unsure: float
    unknown: float
    command: NotRequired[str]
    name: str
    pinned: bool
    made: float
    frames: list[int]
    sketched: Sketched | None
    near: Literal["small", "large"]
    near_seen: bool
    motion: list[tuple[float | None, float | None]] | None


class Busy(TypedDict):
    """What is being done."""

    version: int
    stage: str
    done: float
    total: float


class Mask(TypedDict):
    """Which pixels count.

    Attributes
    ----------
    outlines
        Whether the inside counts, and the corners.
    base
        Drawn over one that came with a result.
    """

    outlines: list[Outline]
    base: bool


class Product(TypedDict):
    """A file that can be downloaded.

    Attributes
    ----------
    made
        Made on request, of any result.
    """

    name: str
    about: str
    made: bool


class PixelSize(TypedDict):
    """Size of a pixel in the scene."""

    x: float
    y: float
    unit: str


class Level(TypedDict):
    """What is subtracted before measuring."""

    by: LevelBy
    degree: int
    points: list[Point]


class Shape(TypedDict):
    """Something to measure."""

    kind: ShapeKind
    points: list[Point]
    name: str
    width: int


class Measurements(TypedDict):
    """All that is measured."""

    varfocus_measurements: int
    level: Level
    shapes: list[Shape]


class QueueBusy(TypedDict):
    """How far a stack of the queue is.

    Attributes
    ----------
    full
        In full size; else its sketch is being made.
    """

    stage: str
    done: float
    total: float
    full: bool


class QueueEntry(TypedDict):
    """A stack that waits for its turn, or had it.

    Attributes
    ----------
    name
        Of the session that has its frames and results.
    method
        That it is reconstructed by.
    message
        Why it failed; else empty.
    """

    name: str
    title: str
    method: str
    state: Literal["waiting", "running", "done", "failed", "cancelled"]
    message: str
    busy: QueueBusy | None


class State(TypedDict):
    """Everything that the page needs to show the current state.

    Attributes
    ----------
    session
        Name of the folder where the work is kept.
    replaced
        Session whose frames were replaced, and which can still be had back; or empty.
    choices
        What the page remembered when it was last open.
    near
        Which depths are near, if the user has said.
    tile
        Side of a tile in pixels.
    title
        What files are named after.
    preview
        Width and height of frames at preview size.
    """

    varfocus: str
    tile: int
    methods: list[Method]
    formats: str
    palettes: list[str]
    products: list[Product]
    session: str
    replaced: str
    choices: dict[str, object] | None
    near: Literal["small", "large"] | None
    source: str
    title: str
    frames: list[FrameInfo]
    width: int
    height: int
    dtype: str
    unit: str
    pixel: PixelSize | None
    preview: tuple[int, int] | None
    mask: Mask | None
    results: list[ResultInfo]
    measurements: Measurements | None
    busy: Busy | None
    queue: list[QueueEntry]


class SessionInfo(TypedDict):
    """Work that was kept.

    Attributes
    ----------
    changed
        When last, in seconds since 1970.
    """

    name: str
    title: str
    frames: int
    results: int
    changed: float


class DifferenceInfo(TypedDict):
    """Depth of one result minus that of another.

    Attributes
    ----------
    map
        Name of the map; another one for other strokes on either.
    same
        Share of pixels where both are equal.
    known
        Pixels where both have a depth.
    """

    map: str
    unit: str
    range: tuple[float, float]
    same: float
    known: int


class Curve(TypedDict):
    """What the depth of one pixel rests on."""

    focus: list[float]
    contrast: list[float]
    model_focus: list[float]
    model: list[float]
    depth: float | None
    uncertainty: float | None
    confidence: float
    unit: str
    note: str


class Profile(TypedDict):
    """Height along a line.

    Attributes
    ----------
    x
        Column of each sample in the map; the middle of the first pixel is 0.
    y
        Row of each sample.
    """

    distance: list[float]
    height: list[float | None]
    x: list[float]
    y: list[float]
    distance_unit: str
    unit: str


class Measured(TypedDict):
    """What came out of a measurement, in words.

    Attributes
    ----------
    problem
        Why there is nothing; else empty.
    """

    name: str
    kind: ShapeKind
    rows: list[tuple[str, str]]
    problem: str
    profile: Profile | None


class Table(TypedDict):
    """What came out of all measurements.

    Attributes
    ----------
    level
        What was subtracted, in words.
    """

    measured: list[Measured]
    level: str


class StateEvent(TypedDict):
    """Something changed: ask for the state."""

    kind: Literal["state"]


class IdleEvent(TypedDict):
    """Nothing is being done any more."""

    kind: Literal["idle"]


class BusyEvent(TypedDict):
    """A reconstruction has begun."""

    kind: Literal["busy"]
    version: int
    stage: str
    done: float
    total: float


class ProgressEvent(TypedDict):
    """How far a job is."""

    kind: Literal["progress"]
    id: int
    stage: str
    done: float
    total: float


class ResultEvent(TypedDict):
    """A result is here; with a sketch come its maps, named in this order."""

    kind: Literal["result"]
    result: ResultInfo
    busy: Busy | None
    sketch: NotRequired[list[str]]


class SavedEvent(TypedDict):
    """The files of a result are written."""

    kind: Literal["saved"]
    version: int
    files: list[str]


class QueueEvent(TypedDict):
    """The queue has changed."""

    kind: Literal["queue"]
    queue: list[QueueEntry]


class FailedEvent(TypedDict):
    """Something could not be done.

    Attributes
    ----------
    version
        The result that will not come, if it was one.
    """

    kind: Literal["failed"]
    version: NotRequired[int]
    message: str


Event = (
    StateEvent
    | IdleEvent
    | BusyEvent
    | ProgressEvent
    | ResultEvent
    | SavedEvent
    | QueueEvent
    | FailedEvent
)
