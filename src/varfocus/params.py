"""The parameters of every stage: one list for the Python API, the command line and run.json.

Field names are unique across stages, so each is reachable by keyword in `varfocus.reconstruct`
and as a flag of ``varfocus depth``.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias, get_args

from varfocus.errors import ParameterError
from varfocus.geometry import Rectangle
from varfocus.ranges import Checked, Range, one_of
from varfocus.text import shown
from varfocus.units import parse_size

Method: TypeAlias = Literal["auto", "robust", "paper", "classic"]
DEFAULT_METHOD: Method = "auto"
MeasureName: TypeAlias = Literal[
    "mlap", "ring-difference", "sum-modified-laplacian", "tenengrad", "wavelet"
]
if TYPE_CHECKING:
    FocusMeasure: TypeAlias = MeasureName | str | Callable[[Any], Any]
else:  # offered by the command line and the page; registered names and functions are accepted, too
    FocusMeasure = MeasureName
DEFAULT_MEASURE: MeasureName = "mlap"
MEASURE_NAMES: set[str] = set(get_args(MeasureName))
"""Names that `SharpnessParams` takes; `varfocus.contrast.register` adds to them."""
FUNCTION = "function:"
"""Prefix, in a record, of the name of a focus measure that was a function."""
Normalisation: TypeAlias = Literal["relative", "absolute", "none"]
Solver: TypeAlias = Literal["pyramid", "admm", "forward-backward", "penalty"]
Regulariser: TypeAlias = Literal["tv", "huber", "tgv", "weighted"]
Axis: TypeAlias = Literal["auto", "frames", "position", "reciprocal"]
Edges: TypeAlias = Literal["auto", "off"]
Reblur: TypeAlias = Literal["auto", "off"]
Unknown: TypeAlias = Literal["fill", "nan"]
AlignModel: TypeAlias = Literal["auto", "none", "shift", "similarity", "affine", "homography"]
Border: TypeAlias = Literal["crop", "mask"]
Moving: TypeAlias = Literal["blend", "one-frame"]
Exposure: TypeAlias = Literal["auto", "none"]

WEIGHT = Range(1e-9, 1e6, zero=True)
"""Of a term or of a threshold, where 0 leaves it out."""

MOST_FRAMES = 2**20

SETTLING = Range(0.01, 86_400.0)
"""Seconds without a change after which what others write is complete."""
STEP = Range(1e-9, 1e6)
"""Of a weight or step that must not vanish."""
GROWTH = Range(1.0, 10.0)
"""Factor per iteration."""
BLUR = Range(1e-3, 100.0)
"""σ of a Gaussian in pixels."""
WINDOW = Range(1, 2047, odd=True)
"""Side of a window in pixels."""
LONGEST_SIDE = 2**24
"""Pixels along a side of a frame that can be asked for at all."""


@dataclass(frozen=True)
class SharpnessParams:
    """How sharpness is measured, the same for every method.

    Parameters
    ----------
    measure
        Focus measure: "mlap", the modified Laplacian, is the fastest, and what all constants were
        fitted for; "sum-modified-laplacian" sums it over 5×5 pixels; "tenengrad" is the energy of
        the Sobel gradient; "ring-difference" compares a pixel with a ring around it, for noisy
        frames; "wavelet" sums the detail of two scales. In Python also a registered name, or
        a function of an image.
    """

    measure: FocusMeasure = DEFAULT_MEASURE

    def __post_init__(self) -> None:
        if callable(self.measure):
            return
        if isinstance(self.measure, str) and self.measure.startswith(FUNCTION):
            raise ParameterError(
                f"received measure = {self.measure!r}, a Python function of an earlier run",
                "expected a name: a record keeps the name of a function, not its code",
                "Repeat the run in Python: reconstruct(stack, measure=the_function, ...).",
            )
        name = one_of("measure", self.measure, tuple(sorted(MEASURE_NAMES)))
        object.__setattr__(self, "measure", name)


@dataclass(frozen=True)
class ContrastParams(Checked):
    """Contrast and its normalisation.

    Parameters
    ----------
    normalisation
        How contrast curves are scaled before α weighs them: "relative" to the stack's own median
        contrast (independent of exposure), "absolute" as in the paper's published code, or "none".
    epsilon
        Contrast below which a pixel counts little: in units of the stack's median peak contrast
        for "relative" (default 1), in image units for "absolute" (default 0.3).
    """

    normalisation: Normalisation = "relative"
    epsilon: Annotated[float | None, Range(1e-6, 1e6)] = None

    @property
    def resolved_epsilon(self) -> float:
        """The ε in force."""
        if self.epsilon is not None:
            return self.epsilon
        return {"relative": 1.0, "absolute": 0.3, "none": 0.0}[self.normalisation]


@dataclass(frozen=True)
class CurveParams(Checked):
    """The polynomial contrast curve.

    Parameters
    ----------
    degree
        Degree of the polynomial through each pixel's contrast; lowered, with a warning, where
        there are too few frames for it.
    """

    degree: Annotated[int, Range(2, 1000)] = 8


@dataclass(frozen=True)
class StartParams(Checked):
    """The first guess of the depth.

    Parameters
    ----------
    start_window
        Side in pixels of the window over which contrast is averaged for the first guess.
    start_blur
        Side in pixels of the mean filter that removes extremes from the first guess.
    """

    start_window: Annotated[int, WINDOW] = 15
    start_blur: Annotated[int, WINDOW] = 21


@dataclass(frozen=True)
class SolverParams(Checked):
    """The energy's weight and its minimisation.

    Parameters
    ----------
    alpha
        Weight α of the total variation: larger is smoother; 0 takes each pixel's own maximum.
    solver
        Minimiser: the paper's linearised ADMM on a small image and a primal-dual method from there
        to the full size (fast), the ADMM at full size, or one of the two schemes the paper
        compares it with.
    iterations
        Number of iterations. For "pyramid", 400 stands for its own schedule over all levels,
        and other numbers lengthen or shorten it; tolerance has no effect there.
    tau
        Step size τ of the linearisation. Forward–backward splitting needs a smaller one, about 2.
    lam
        Initial coupling λ of d and g.
    growth
        Factor by which λ grows in every iteration.
    tolerance
        Stop when the root-mean-square change per pixel of d and g falls below this; 0 never stops
        early. Since λ grows, a small change is no proof of a good minimum: look at the energy.
    regulariser
        What α weighs: total variation as in the paper, or a variant: "huber" and "tgv" leave
        no stairs on slopes, "weighted" prefers jumps at edges of the picture. All but "tv" run on
        the solver "admm", which then replaces "pyramid".
    huber_slope
        For "huber": slopes up to this, in units of the axis [−10, 10] per pixel, are smooth.
    tgv_ratio
        For "tgv": cost of a kink relative to that of a jump, in pixels.
    bregman
        Rounds of Bregman iteration after the first, which restore contrast that α has removed;
        choose α several times larger with them. They, too, run on the solver "admm".
    """

    alpha: Annotated[float, WEIGHT] = 0.125
    solver: Solver = "pyramid"
    iterations: Annotated[int, Range(1, 100_000)] = 400
    tau: Annotated[float, STEP] = 8.0
    lam: Annotated[float, STEP] = 1.0
    growth: Annotated[float, GROWTH] = 1.02
    tolerance: Annotated[float, WEIGHT] = 0.0
    regulariser: Regulariser = "tv"
    huber_slope: Annotated[float, WEIGHT] = 0.1
    tgv_ratio: Annotated[float, Range(1e-6, 1e6)] = 4.0
    bregman: Annotated[int, Range(0, 1000)] = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.regulariser != "tv" or self.bregman:
            if self.solver not in ("pyramid", "admm"):
                what = (
                    f"bregman = {self.bregman}"
                    if self.bregman
                    else f"regulariser = {self.regulariser!r}"
                )
                raise ParameterError(
                    f"received solver = {self.solver!r} with {what}",
                    "expected the solver 'admm': the others support plain total variation only",
                    "Leave the solver out.",
                )
            object.__setattr__(self, "solver", "admm")


@dataclass(frozen=True)
class ClassicParams(Checked):
    """The windowed maximum of contrast, as depth from focus is done without a variational model.

    Parameters
    ----------
    window
        Side in pixels of the window over which contrast is averaged.
    guided
        Side in pixels of a guided filter, which averages contrast further, but within the edges of
        the all-in-focus picture; 1 for none.
    guided_edge
        Standard deviation of the brightness in such a window, as a share of white, from which on it
        counts as an edge.
    median
        Side in pixels of the median filter on the depth map; 1 for none.
    tv_weight
        Weight of a total-variation denoising of the depth map, in frames; 0 for none.
    gauss_step
        Distance in frames of the two neighbours used for the 3-point Gaussian interpolation;
        by default 2, and 1 below 12 frames.
    """

    window: Annotated[int, WINDOW] = 9
    guided: Annotated[int, WINDOW] = 1
    guided_edge: Annotated[float, STEP] = 0.05
    median: Annotated[int, Range(1, 101, odd=True)] = 1
    tv_weight: Annotated[float, WEIGHT] = 0.0
    gauss_step: Annotated[int | None, Range(1, 2**14)] = None


@dataclass(frozen=True)
class RobustParams(Checked):
    """The robust method: one knob, `smoothness`, and constants that rarely need a change.

    Parameters
    ----------
    smoothness
        How strongly neighbours are made to agree: 1 suits most stacks, 2 is smoother, ½ keeps more
        detail and noise.
    coordinate
        Axis on which contrast peaks are symmetric: "position" for a microscope's z-steps,
        "reciprocal" for the distances of a camera (1/F), "frames" for neither; "auto" decides
        from the stack, and prefers known positions.
    unknown
        Depth of pixels that nothing in the stack determines: "fill" continues their neighbours,
        "nan" marks them.
    edges
        Whether pixels beside depth jumps are put on the side that explains the frames better:
        "auto" where the frames show that surfaces hide one another and there is memory for it,
        "off" never.
    reblur
        Whether depths must explain all frames, not only be those of the highest contrast: "auto"
        where the sharp picture, blurred again, contradicts the contrast, as beside strong edges;
        "off" never.
    support
        σ in pixels of the Gaussian over which contrast is averaged.
    coarse_blur
        σ in pixels of the Gaussian on the frames at the coarser of the two scales.
    slope_penalty
        Semi-global matching: cost of a slope of one peak width per pixel. Depth is measured in
        half widths of a contrast peak, so the number of frames does not matter.
    jump_penalty
        Semi-global matching: highest cost of any jump.
    cut
        Refinement: jumps of the start above this many peak widths are kept.
    """

    smoothness: Annotated[float, STEP] = 1.0
    coordinate: Axis = "auto"
    unknown: Unknown = "fill"
    edges: Edges = "auto"
    reblur: Reblur = "auto"
    support: Annotated[float, BLUR] = 1.25
    coarse_blur: Annotated[float, BLUR] = 1.0
    slope_penalty: Annotated[float, STEP] = 1.8
    jump_penalty: Annotated[float, STEP] = 1.5
    cut: Annotated[float, WEIGHT] = 0.7


@dataclass(frozen=True)
class FuseParams(Checked):
    """How the all-in-focus image is composed.

    Parameters
    ----------
    sharper
        How many times as sharp another frame must be as the one that the depth points to, to be
        used instead; this rescues thin objects that the depth map misses. 0: never, except for the
        few pixels beside a jump.
    front
        Pixels by which near objects are extended over what lies behind them, the first frame being
        the nearest: for opaque objects whose outlines show the background.
    moving
        What moved while the frames were taken: "blend" composes it like the rest, which may show it
        twice; "one-frame" finds it, marks it in moving.png and takes it from one and the same
        frame. Not for images that are processed in tiles.
    """

    sharper: Annotated[float, Range(1.0, 1e6, zero=True)] = 1.5
    front: Annotated[int, Range(0, 1000)] = 0
    moving: Moving = "blend"


@dataclass(frozen=True)
class AlignParams(Checked):
    """Alignment of the frames, the same for every method.

    Parameters
    ----------
    align
        How frames may move: "auto" finds shift, rotation and scale, and leaves an aligned stack
        as it is; "none" never moves frames; or the kind of map: "shift", "similarity" (shift,
        rotation, scale), "affine", "homography".
    reference
        Number, from 0, of the frame that the others are brought to; by default the middle one.
    border
        What not all frames show is cut off ("crop"), or kept and marked as unknown ("mask").
    exposure
        "auto" gives all frames the brightness and white balance of the reference where these
        change by more than 1 %; "none" leaves them.
    auto_order
        Put frames that are out of order into the order of focus.
    transforms_from
        Use the maps of an earlier run: its run.json or its folder.
    """

    align: AlignModel = "auto"
    reference: Annotated[int | None, Range(0, 2**20)] = None
    border: Border = "crop"
    exposure: Exposure = "auto"
    auto_order: bool = False
    transforms_from: str | None = None


@dataclass(frozen=True)
class AreaParams(Checked):
    """Which part of the frames counts, the same for every method.

    Parameters
    ----------
    crop
        Rectangle of the frames to reconstruct, as x,y,width,height in pixels. Frames are aligned
        as a whole; everything after that sees the rectangle only, and takes less time and memory.
    mask
        Picture of the size of the frames, black where nothing counts: depth is unknown there.
    """

    crop: str | None = None
    mask: str | None = None

    def __post_init__(self) -> None:
        if self.crop is not None:
            object.__setattr__(self, "crop", str(_rectangle(self.crop)))
        super().__post_init__()

    @property
    def box(self) -> Rectangle | None:
        """`crop`; None for all of the frames."""
        return None if self.crop is None else _rectangle(self.crop)


@dataclass(frozen=True)
class RetouchParams(Checked):
    """What was changed by hand, the same for every method.

    Parameters
    ----------
    retouch
        File of strokes to apply to the result, or the run.json of a retouched one: painted from
        frames into the all-in-focus image, and depth that was set, filled, smoothed or erased.
    """

    retouch: str | None = None


@dataclass(frozen=True)
class Params(Checked):
    """All parameters of one reconstruction.

    Parameters
    ----------
    method
        "robust": templates, semi-global start, Huber-TV; "paper": Moeller et al.'s variational
        method; "classic": windowed maximum of contrast; "auto": the method whose parameters are
        given, else robust; paper, with a warning, where robust does not fit even in tiles.
    contrast, curve, start, solve, classic, robust, align, fusion, area, sharpness, strokes
        Parameters of the stages.
    """

    method: Method = DEFAULT_METHOD
    contrast: ContrastParams = field(default_factory=ContrastParams)
    curve: CurveParams = field(default_factory=CurveParams)
    start: StartParams = field(default_factory=StartParams)
    solve: SolverParams = field(default_factory=SolverParams)
    classic: ClassicParams = field(default_factory=ClassicParams)
    robust: RobustParams = field(default_factory=RobustParams)
    align: AlignParams = field(default_factory=AlignParams)
    fusion: FuseParams = field(default_factory=FuseParams)
    area: AreaParams = field(default_factory=AreaParams)
    sharpness: SharpnessParams = field(default_factory=SharpnessParams)
    strokes: RetouchParams = field(default_factory=RetouchParams)

    def __post_init__(self) -> None:
        super().__post_init__()
        given = {name: self._changed(name) for name in STAGES}
        if self.method == "auto":
            implied = [
                m for m in ("paper", "classic") if any(given[n] for n in STAGES_OF_METHOD[m])
            ]
            if len(implied) == 1:
                object.__setattr__(self, "method", implied[0])
        for name in set(STAGES) - set(STAGES_OF_METHOD[self.method]) - set(COMMON_STAGES):
            if given[name]:
                owner = next(m for m, stages in STAGES_OF_METHOD.items() if name in stages)
                raise ParameterError(
                    f"received {', '.join(given[name])} with method {self.method!r}",
                    f"expected parameters of that method; {given[name][0]!r} belongs to {owner!r}",
                    f"Leave it out, or choose method {owner!r}.",
                )

    def _changed(self, stage: str) -> list[str]:
        """Return the names of the parameters of a stage that are not at their defaults."""
        given, default = getattr(self, stage), STAGES[stage]()
        names = [f.name for f in fields(given)]
        return [name for name in names if getattr(given, name) != getattr(default, name)]

    def changes(self) -> dict[str, Any]:
        """Return the parameters that are not at their defaults, by name, as plain data."""
        found: dict[str, Any] = {}
        if self.method != DEFAULT_METHOD:
            found["method"] = self.method
        for stage in STAGES:
            found |= {key: _plain(getattr(self, stage), key) for key in self._changed(stage)}
        return found

    @classmethod
    def from_keywords(cls, method: str = DEFAULT_METHOD, /, **values: Any) -> Params:
        """Sort flat keywords into their stages.

        Parameters
        ----------
        method : str
            Method; may be among the keywords instead.
        **values
            Any field of any stage.

        Returns
        -------
        Params
            Validated parameters.

        Raises
        ------
        ParameterError
            If a keyword is unknown or a value is out of range.
        """
        method = values.pop("method", method)
        owner = {f.name: name for name, stage in STAGES.items() for f in fields(stage)}
        for key in values:
            if key not in owner:
                close = difflib.get_close_matches(key, owner, n=1)
                raise ParameterError(
                    f"received an unknown parameter {key!r}",
                    "expected one of " + ", ".join(sorted(owner)),
                    f"Did you mean {close[0]!r}?" if close else "",
                )
        stages = {
            name: stage(**{key: value for key, value in values.items() if owner[key] == name})
            for name, stage in STAGES.items()
        }
        return cls(method=method, **stages)  # type: ignore[arg-type]

    def as_keywords(self) -> dict[str, Any]:
        """Return what `from_keywords` needs to make the same parameters again, as plain data.

        A focus measure that is a function is there by its name, which `from_keywords` refuses.
        """
        flat: dict[str, Any] = {"method": self.method}
        for name in (*STAGES_OF_METHOD[self.method], *COMMON_STAGES):
            stage = getattr(self, name)
            flat |= {f.name: _plain(stage, f.name) for f in fields(stage)}
        return flat


@dataclass(frozen=True)
class Resources(Checked):
    """What a run may use; this does not affect the result.

    Parameters
    ----------
    threads
        Number of threads; by default the environment variable VARFOCUS_THREADS, or all cores.
    max_memory
        Memory that may be used beyond the frames in memory, such as 4GB; by default 60 % of what
        is free. What does not fit is processed in tiles, with the same result, or refused
        before it starts.
    """

    threads: Annotated[int | None, Range(1, 1024)] = None
    max_memory: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.max_memory is not None:
            parse_size(self.max_memory)


@dataclass(frozen=True)
class Limits(Checked):
    """How large files may be: what they claim is checked against this before anything is decoded.

    Parameters
    ----------
    max_side
        Pixels along one side of a frame.
    max_pixels
        Pixels in one frame, unless its file can be decoded in parts.
    max_frames
        Frames in one stack.
    max_file_size
        Size of one file, such as 200GB.
    """

    max_side: Annotated[int, Range(1, LONGEST_SIDE)] = 2**17
    max_pixels: Annotated[int, Range(1, 2**40)] = 2**29
    max_frames: Annotated[int, Range(1, MOST_FRAMES)] = 2**14
    max_file_size: str = "1TB"

    def __post_init__(self) -> None:
        super().__post_init__()
        parse_size(self.max_file_size)

    @property
    def file_bytes(self) -> int:
        """`max_file_size` in bytes."""
        return parse_size(self.max_file_size)


STAGES: Mapping[str, type[Any]] = {
    "contrast": ContrastParams,
    "curve": CurveParams,
    "start": StartParams,
    "solve": SolverParams,
    "classic": ClassicParams,
    "robust": RobustParams,
    "align": AlignParams,
    "fusion": FuseParams,
    "area": AreaParams,
    "sharpness": SharpnessParams,
    "strokes": RetouchParams,
}
COMMON_STAGES = ("align", "fusion", "area", "sharpness", "strokes")
"""Stages that every method has."""

STAGES_OF_METHOD: Mapping[str, tuple[str, ...]] = {
    "paper": ("contrast", "curve", "start", "solve"),
    "classic": ("classic",),
    "robust": ("robust",),
    "auto": ("robust",),
}


def _plain(stage: object, name: str) -> Any:
    """Return a parameter as plain data for JSON; of a function, its qualified name."""
    value = getattr(stage, name)
    if not callable(value):
        return value
    kind = value if hasattr(value, "__qualname__") else type(value)
    return f"{FUNCTION}{kind.__module__}.{kind.__qualname__}"


def _rectangle(value: object) -> Rectangle:
    """Return a rectangle written as ``x,y,width,height``."""
    parts = value.split(",") if isinstance(value, str) else value
    try:
        left, top, width, height = (int(part) for part in parts)  # type: ignore[attr-defined]
    except (TypeError, ValueError, OverflowError):
        left, top, width, height = 0, 0, 0, 0
    if min(left, top) < 0 or min(width, height) < 1 or max(left, top, width, height) > LONGEST_SIDE:
        raise ParameterError(
            f"received crop = {shown(value)}",
            "expected x,y,width,height in whole pixels, from the upper left corner",
            "Such as 100,50,800,600.",
        )
    return Rectangle(left, top, width, height)


DEFAULT_LIMITS = Limits()
"""Limits that hold by default."""
