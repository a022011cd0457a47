"""What a reconstruction returns."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from varfocus import export
from varfocus.align import Alignment
from varfocus.bugs import guarded
from varfocus.canvas import Canvas, Whole
from varfocus.canvas.halving import sampled
from varfocus.depth import SURE
from varfocus.errors import InputError, ParameterError
from varfocus.export import TiledFormat, figures
from varfocus.export.atomic import prepare_folder
from varfocus.export.display import Displayed, curve_plot, summary
from varfocus.export.evidence import Place, Witness, contrast_curves, telling_places
from varfocus.export.report import Findings, report_page
from varfocus.export.saved import SavedResult, check_channel
from varfocus.fuse import Fused, fuse
from varfocus.geometry import Rectangle
from varfocus.io.metadata import read_metadata
from varfocus.minimise import Trace
from varfocus.params import FuseParams, Params
from varfocus.plan import Plan
from varfocus.products import Given, Products, Retouched
from varfocus.progress import Progress, silent
from varfocus.ranges import Range, whole
from varfocus.ranges import path as as_path
from varfocus.retouch import Retouch
from varfocus.stack import FRAMES, FocusStack
from varfocus.text import shown
from varfocus.units import PixelSize

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, repr=False)
class Result(Displayed):
    """Depth and everything that belongs to it.

    `depth`, `confidence`, `uncertainty`, `fused` and `source` are made when they are first read;
    the frames are decoded once more for `fused` and `source`.

    Attributes
    ----------
    products : Products
        Makes, or holds, what is listed next.
    depth : ndarray of shape (H, W), float32
        In `unit`; NaN where unknown.
    index : ndarray of shape (H, W), float32
        The same as a fractional 0-based number of a frame of `stack`, where frames that were left
        out do not count.
    confidence : ndarray of shape (H, W), float32
        Estimated probability that the depth is right to within one frame.
    fused : ndarray of shape (H, W) or (H, W, 3)
        All-in-focus image in the dtype of the frames.
    source : ndarray of shape (H, W), uint16
        Number of the frame that most of the fine detail of `fused` comes from.
    trace : Trace or None
        How the minimisation went; None for methods without one.
    stack : FocusStack
        What it was made from: the aligned frames.
    params : Params
        Every parameter as it was used.
    warnings : tuple of str
        What was adjusted or looks doubtful.
    seconds : float
        How long it took.
    uncertainty : ndarray of shape (H, W), float32, or None
        Standard error of the depth in `unit` where it is not grossly wrong (how likely that is,
        `confidence` says); None for methods that do not know it.
    known : ndarray of shape (H, W), bool, or None
        False where the evidence for the depth does not exceed noise; None for methods that cannot
        tell.
    findings : dict or None
        What the method found out about the stack, such as the focus coordinate.
    alignment : Alignment or None
        How the frames were aligned; None if they were not looked at.
    original : FocusStack or None
        The frames as given, where `stack` has them aligned.
    counts : ndarray, bool, or None
        Which pixels of the frames as given count; None for all.
    canvas : Canvas
        Where the maps live; by default in memory. If it is on disk, they are mapped from there.
    plan : Plan or None
        How it was made.
    retouch : Retouch or None
        Strokes that were applied, see `retouched`.
    told : mapping or None
        Record of the run that the maps were read back from, see `Result.of_saved`.
    """

    products: Products
    index: NDArray[np.float32]
    trace: Trace | None
    stack: FocusStack
    params: Params
    warnings: tuple[str, ...]
    seconds: float
    known: NDArray[np.bool_] | None = None
    findings: dict[str, object] | None = None
    alignment: Alignment | None = None
    original: FocusStack | None = None
    counts: NDArray[np.bool_] | None = None
    canvas: Canvas | None = None
    plan: Plan | None = None
    retouch: Retouch | None = None
    told: Mapping[str, Any] | None = None

    @classmethod
    def of_saved(
        cls, saved: SavedResult, original: FocusStack, alignment: Alignment | None
    ) -> Result:
        """Return a result that was saved, with its frames, to go on with it.

        Parameters
        ----------
        saved : SavedResult
            From `varfocus.load_result`.
        original : FocusStack
            Its frames as they were given.
        alignment : Alignment or None
            How they were aligned, from `varfocus.align.alignment.read_record`.
        """
        params = Params.from_keywords(**saved.record["parameters"])
        alignment = alignment or Alignment.untouched(original, "")
        stack = alignment.apply(original, params.area.box)
        # The index counts all frames; those left out then are left out now.
        index = np.interp(saved.index, alignment.ranks, np.arange(len(stack)))
        products = Given(
            saved.depth, saved.confidence, saved.fused, saved.source, saved.uncertainty
        )
        return cls(
            products=products,
            index=index.astype(np.float32),
            trace=None,
            stack=stack,
            params=params,
            warnings=tuple(saved.record["warnings"]),
            seconds=float(saved.record["seconds"] or 0.0),
            findings=saved.record.get("findings"),
            alignment=alignment,
            original=original,
            told=saved.record,
        )

    @property
    @guarded
    def depth(self) -> NDArray[np.float32]:
        """Depth in `unit`, shape ``(H, W)``; NaN where unknown."""
        return self.products.depth

    @property
    @guarded
    def confidence(self) -> NDArray[np.float32]:
        """Estimated probability that the depth is right to within one frame."""
        return self.products.confidence

    @property
    @guarded
    def uncertainty(self) -> NDArray[np.float32] | None:
        """Standard error of the depth in `unit`; None for methods that do not know it."""
        return self.products.uncertainty

    @property
    @guarded
    def fused(self) -> NDArray[Any]:
        """All-in-focus image in the dtype of the frames."""
        return self.products.fused

    @property
    @guarded
    def source(self) -> NDArray[np.uint16]:
        """Number of the frame that most of the fine detail of `fused` comes from."""
        return self.products.source

    @property
    @guarded
    def moving(self) -> NDArray[np.bool_] | None:
        """Where something moved, with ``moving="one-frame"``; otherwise None."""
        return self.products.moving

    @property
    def extent(self) -> Rectangle:
        """Which part of the frames as given the result covers."""
        if self.alignment is None:
            return self.params.area.box or Rectangle.whole(self.index.shape)
        return self.alignment.extent(self.params.area.box)

    @property
    def unit(self) -> str:
        """Unit of the depth; ``"frames"`` when no focus positions are known."""
        return depth_unit(self.stack)

    @property
    def direction(self) -> str:
        """Which way the depth grows, in words."""
        return direction(self.stack)

    @property
    def pixel_size(self) -> PixelSize | None:
        """Size of a pixel in the scene; None where it is unknown."""
        return self.stack.pixel_size

    @guarded
    def retouched(self, retouch: Retouch | None, *, consume: bool = False) -> Result:
        """Return the result with these strokes on it, instead of those it has.

        Parameters
        ----------
        retouch : Retouch or None
            Strokes, in pixels of the frames as given; None for the result as it was made.
        consume : bool
            Where strokes are only added, change the maps of this result instead of copies of
            them; it must not be used any more.

        Returns
        -------
        Result
            Maps and image are made when they are first read; this one stays as it is.

        Raises
        ------
        ParameterError
            If the strokes were drawn on other frames.
        """
        if not isinstance(retouch, Retouch | None):
            raise ParameterError(f"received retouch = {shown(retouch)}", "expected a Retouch")
        base, index = self.products, self.index
        if isinstance(base, Retouched):
            index, base = base.base_index, base.base
        if retouch is None or not retouch.strokes:
            return replace(self, products=base, index=index, retouch=None)
        original = self.original or self.stack
        retouch.check_size(original.shape)
        numbered = any(not isinstance(s.frame, str | None) for s in retouch.strokes)
        if numbered and retouch.frames != len(original):
            raise ParameterError(
                f"received strokes drawn on {retouch.frames} frames that name some by number",
                f"expected {len(original)} frames, as given here",
            )
        alignment = self.alignment or Alignment.untouched(original, "")
        ranks = alignment.ranks
        products = Retouched(
            base,
            index,
            retouch,
            self.stack,
            original.names,
            [alignment.order[int(rank)] for rank in ranks],
            ranks,
            alignment.depths(self.stack),
            self.extent,
            self._canvas,
        )
        if consume and isinstance(self.products, Retouched):
            products.take_over(self.products)
        if any(stroke.on_depth for stroke in retouch.strokes):
            index = products.index
        return replace(self, products=products, index=index, retouch=retouch)

    @property
    def origin(self) -> tuple[int, int]:
        """Column and row of the frames as given at which the maps begin."""
        return self.extent.left, self.extent.top

    @property
    def frame_count(self) -> int:
        """How many frames there were."""
        return len(self.original or self.stack)

    @property
    def method(self) -> str:
        """How the depth was found."""
        return self.params.method

    @property
    def notes(self) -> tuple[str, ...]:
        """What was adjusted or looks doubtful: `warnings`."""
        return self.warnings

    def __repr__(self) -> str:
        return summary(self, "Result", self.index.shape)

    @guarded
    def show_curve(self, x: int, y: int, axes: Axes | None = None) -> Axes:
        """Draw what the depth of a pixel rests on: contrast over focus, model, depth chosen.

        Parameters
        ----------
        x, y : int
            Column and row in the maps.
        axes : matplotlib.axes.Axes, optional
            Where to draw; by default in a new figure.

        Returns
        -------
        matplotlib.axes.Axes
            What was drawn on.

        Examples
        --------
        >>> import matplotlib
        >>> matplotlib.use("agg")
        >>> import varfocus
        >>> result = varfocus.reconstruct(varfocus.simulate("cone", shape=(48, 64)).stack)
        >>> result.show_curve(32, 24).get_xlabel()
        'focus (m)'
        """
        stack, alignment = self.stack, self.alignment
        depths = stack.depths if alignment is None else alignment.depths(stack)
        return curve_plot(self.curve(x, y), depths, self.unit, axes)

    @property
    def height(self) -> NDArray[np.float32]:
        """Height towards the lens in `unit`: the depth, or its negative where it is a distance."""
        return self.depth if self.stack.inverted else -self.depth

    @property
    def frame_distance(self) -> float:
        """Median distance of neighbouring frames in `unit`."""
        focus = self.stack.focus
        return 1.0 if focus is None else float(np.median(np.abs(np.diff(focus))))

    @guarded
    def fuse_channel(
        self, stack: FocusStack, fusion: FuseParams | None = None, progress: Progress = silent
    ) -> Fused:
        """Fuse another channel or exposure of the same scene with the depth of this result.

        Parameters
        ----------
        stack : FocusStack
            As many frames of the same size; they are aligned as those of the result were.
        fusion : FuseParams, optional
            How far the depth is trusted; by default as for this result.
        progress : callable
            Listener.

        Returns
        -------
        Fused
            Image and source map.

        Raises
        ------
        MixedFramesError
            If the frames are not as many, or not of the same size.
        """
        given = self.original or self.stack
        check_channel(stack, len(given), given.shape, "the depth")
        if self.alignment is not None:
            stack = self.alignment.apply(stack, self.params.area.box)
        return fuse(stack, self.index, fusion or self.params.fusion, progress)

    @guarded
    def curve(self, x: int, y: int) -> Witness:
        """Return the contrast of a pixel in every frame, and the model of it, as numbers.

        Parameters
        ----------
        x, y : int
            Column and row in the maps.

        Returns
        -------
        Witness
            ``contrast`` over the frames, ``model`` and the chosen ``index``.
        """
        height, width = self.index.shape
        x, y = whole("x", x, Range(0, width - 1)), whole("y", y, Range(0, height - 1))
        place = Place("", x, y)
        return contrast_curves(self.stack, self.params, self.index, [place], self.findings)[0]

    @guarded
    def save(
        self,
        folder: str | Path,
        *,
        overwrite: bool = False,
        command: str = "",
        asked: Mapping[str, Any] | None = None,
        timed: bool = True,
        report: bool = True,
        keep_gps: bool = False,
        tiled_format: TiledFormat = "tiff",
    ) -> dict[str, Path]:
        """Write all products into a folder.

        ``depth.tif`` (float32, opens calibrated in Fiji), ``confidence.tif``, ``uncertainty.tif``
        where the method knows it, ``fused.png`` (or ``fused.tif`` for floating-point frames),
        ``source.tif`` (frame numbers from 0), ``preview.png``, ``report.html``, ``mask.png`` where
        a mask was given, ``moving.png`` where moving subjects were asked for, and last ``run.json``
        with every parameter: its presence means that the folder is complete. Maps that do not fit
        into memory become tiled files instead.

        Parameters
        ----------
        folder : path
            Created if missing.
        overwrite : bool
            Replace files of an earlier run.
        command : str
            The command that asked for it, for the record.
        asked : mapping, optional
            The options that differ from their defaults, for the record.
        timed : bool
            Record the time it took; without it, equal results are equal files.
        report : bool
            Write ``report.html`` too, for which the frames are read once more.
        keep_gps : bool
            Keep in the fused image where the frames were taken; the rest of the first frame's
            EXIF, and its colour profile, are always kept.
        tiled_format : {"tiff", "zarr"}
            Format of maps that do not fit into memory: tiled BigTIFF, or OME-Zarr.

        Returns
        -------
        dict of str to Path
            What was written, by product.

        Raises
        ------
        OutputError
            If the folder cannot be written, or holds results already.
        """
        written = self.write(
            folder,
            overwrite=overwrite,
            command=command,
            asked=asked,
            timed=timed,
            report=report,
            keep_gps=keep_gps,
            tiled_format=tiled_format,
        )
        return dict(written.files)

    def write(
        self,
        folder: str | Path,
        *,
        overwrite: bool = False,
        command: str = "",
        asked: Mapping[str, Any] | None = None,
        timed: bool = True,
        report: bool = True,
        keep_gps: bool = False,
        tiled_format: TiledFormat = "tiff",
    ) -> Written:
        """Do what `save` does, and return it with its record and pictures."""
        place, canvas = as_path("folder", folder), self._canvas
        tiled = None if canvas.side is None else tiled_format
        prepare_folder(place, export.file_names(self.stack.dtype, tiled).values(), overwrite)
        record = self.record(command, asked, timed)
        if tiled is not None and self.plan is not None:
            about = {"side": canvas.side, "format": tiled, "reason": self.plan.words}
            record["tiles"] = about
        told = read_metadata(self.original or self.stack, keep_gps)
        maps = export.Maps(
            self.depth,
            self.confidence,
            self.fused,
            self.source,
            self.uncertainty,
            self.unit,
            self.pixel_size,
            told.exif,
            told.icc,
        )
        export.remove_stale(place)
        files, shown = export.write_maps(place, maps, canvas, tiled_format)
        page = self.report(record, shown) if report else None
        preview = figures.preview(shown["depth"], self.unit)
        files |= export.write_about(place, record, preview, page, self.counts, self.moving)
        ordered = {product: files[product] for product in export.RESULT_FILES if product in files}
        return Written(ordered, record, self.alignment, shown["depth"], shown["fused"])

    @property
    def _canvas(self) -> Canvas:
        height, width = self.index.shape
        return self.canvas or Whole((height, width))

    def report(
        self, record: dict[str, Any], shown: Mapping[str, NDArray[Any]] | None = None
    ) -> bytes:
        """Return the report on this result as one self-contained HTML page.

        Parameters
        ----------
        record : dict
            From `record`.
        shown : mapping of str to ndarray, optional
            Depth, confidence and fused image to look at, if these are coarser than the result's.

        Returns
        -------
        bytes
            The page. Contrast curves are left out if the frames cannot be read any more.
        """
        maps = shown or {
            "depth": self.depth,
            "confidence": self.confidence,
            "fused": self.fused,
        }
        size = self.pixel_size
        factor = max(round(self.depth.shape[0] / maps["depth"].shape[0]), 1)
        if size is not None and factor > 1:
            size = PixelSize(factor * size.x, factor * size.y, size.unit)
        return report_page(
            Findings(
                record=record,
                depth=maps["depth"],
                confidence=maps["confidence"],
                fused=maps["fused"],
                witnesses=self._witnesses(maps["confidence"], factor),
                trace=self.trace,
                pixel_size=size,
            )
        )

    def _witnesses(self, confidence: NDArray[np.float32], factor: int) -> list[Witness]:
        """Return contrast curves at chosen pixels, placed in maps that are smaller by a factor."""
        seen = sampled(self.index, factor)
        seen = seen[: confidence.shape[0], : confidence.shape[1]]
        places = telling_places(seen, confidence[: seen.shape[0], : seen.shape[1]])
        fine = [
            replace(
                place,
                x=min(factor * place.x + factor // 2, self.index.shape[1] - 1),
                y=min(factor * place.y + factor // 2, self.index.shape[0] - 1),
            )
            for place in places
        ]
        try:
            found = contrast_curves(self.stack, self.params, self.index, fine, self.findings)
        except InputError:
            return []
        return [replace(one, place=place) for one, place in zip(found, places, strict=True)]

    def record(
        self, command: str = "", asked: Mapping[str, Any] | None = None, timed: bool = True
    ) -> dict[str, Any]:
        """Return what run.json says, as plain data."""
        original, about = self.original or self.stack, self._figures()
        made = run_record(self.stack, self.params, self.extent, about, command, asked)
        if self.told is not None:
            changed = ("command", "asked", "parameters", "depth", "confidence", "uncertainty")
            made = dict(self.told) | {key: made[key] for key in changed}
            return made | {"retouch": None if self.retouch is None else self.retouch.as_data()}
        return made | {
            "input": export.describe_input(original),
            "alignment": None if self.alignment is None else self.alignment.record(original.names),
            "findings": self.findings,
            "solver": None if self.trace is None else self.trace.summary(),
            "retouch": None if self.retouch is None else self.retouch.as_data(),
            "warnings": list(self.warnings),
            "seconds": round(self.seconds, 3) if timed else None,
        }

    def _figures(self) -> Figures:
        """Return what run.json says about the maps, computed a block at a time."""
        canvas = self._canvas
        low, high, unknown, confidence, sure, counting = math.inf, -math.inf, 0, 0.0, 0, 0
        for depth, likely in canvas.blocks(self.depth, self.confidence):
            finite = depth[np.isfinite(depth)]
            unknown += depth.size - finite.size
            if finite.size:
                low, high = min(low, float(finite.min())), max(high, float(finite.max()))
            confidence += float(likely.mean()) * likely.size
            sure += int(np.count_nonzero(likely >= SURE))
            counting += int(np.count_nonzero(likely > 0))
        some = unknown < self.depth.size
        undetermined = None
        if self.known is not None:
            undetermined = sum(int((~known).sum()) for (known,) in canvas.blocks(self.known))
        return Figures(
            minimum=low if some else None,
            maximum=high if some else None,
            unknown=unknown,
            mean_confidence=confidence / self.depth.size,
            sure=sure / counting if counting else 0.0,
            median_uncertainty=None
            if self.uncertainty is None
            else canvas.median(self.uncertainty),
            undetermined=undetermined,
        )


@dataclass(frozen=True)
class Written:
    """What a run has left in a folder.

    Attributes
    ----------
    files : mapping of str to Path
        By product, as `Result.save` returns them.
    record : dict
        What run.json says.
    alignment : Alignment or None
        What was done to the frames.
    depth, fused : ndarray
        To look at; coarser than what was written if that is large.
    """

    files: Mapping[str, Path]
    record: dict[str, Any]
    alignment: Alignment | None
    depth: NDArray[np.float32]
    fused: NDArray[Any]


@dataclass(frozen=True)
class Figures:
    """What run.json says about the maps: depth in its unit, pixel counts, and the sure share."""

    minimum: float | None
    maximum: float | None
    unknown: int
    mean_confidence: float
    sure: float
    median_uncertainty: float | None
    undetermined: int | None


def run_record(
    stack: FocusStack,
    params: Params,
    extent: Rectangle,
    figures: Figures,
    command: str = "",
    asked: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return what run.json says about any run, with empty places for input and alignment.

    Parameters
    ----------
    stack : FocusStack
        The aligned frames.
    params : Params
        As they were used.
    extent : Rectangle
        What the maps cover of the frames.
    figures : Figures
        About the maps.
    command : str
        What asked for it.
    asked : mapping, optional
        Options that were given, by name.
    """
    return {
        **export.describe_software(),
        "command": command,
        "asked": dict(asked or {}),
        "parameters": params.as_keywords(),
        "input": None,
        "extent": extent._asdict(),
        "alignment": None,
        "depth": {
            "unit": depth_unit(stack),
            "direction": direction(stack),
            "minimum": figures.minimum,
            "maximum": figures.maximum,
            "unknown_pixels": figures.unknown,
        },
        "confidence": {"mean": figures.mean_confidence, "sure": figures.sure},
        "uncertainty": None
        if figures.median_uncertainty is None
        else {"median": figures.median_uncertainty},
        "undetermined_pixels": figures.undetermined,
    }


def depth_unit(stack: FocusStack) -> str:
    """Return the unit of the depth; ``"frames"`` when no focus positions are known."""
    return stack.unit if stack.focus is not None else FRAMES


def direction(stack: FocusStack) -> str:
    """Return which way the depth grows, in words."""
    depths = stack.depths
    ends = ("first", "last") if depths is None or depths[-1] > depths[0] else ("last", "first")
    return f"grows from the {ends[0]} frame's focus to the {ends[1]} one's"
