"""What a reconstruction gives back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from varfocus import export
from varfocus.align import Alignment
from varfocus.depth import sure_share
from varfocus.errors import InputError
from varfocus.export.evidence import contrast_curves, telling_places
from varfocus.export.report import Findings, report_page
from varfocus.geometry import Rectangle
from varfocus.io.metadata import read_metadata
from varfocus.minimise import Trace
from varfocus.params import Params
from varfocus.stack import FRAMES, FocusStack
from varfocus.units import PixelSize


@dataclass(frozen=True)
class Result:
    """Depth and everything that belongs to it.

    Attributes
    ----------
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
        False where no more than noise speaks for the depth; None for methods that cannot tell.
    findings : dict or None
        What the method found out about the stack, such as the focus coordinate.
    alignment : Alignment or None
        How the frames were aligned; None if they were not looked at.
    original : FocusStack or None
        The frames as given, where `stack` has them aligned.
    counts : ndarray, bool, or None
        Which pixels of the frames as given count; None for all.
    """

    depth: NDArray[np.float32]
    index: NDArray[np.float32]
    confidence: NDArray[np.float32]
    fused: NDArray[Any]
    source: NDArray[np.uint16]
    trace: Trace | None
    stack: FocusStack
    params: Params
    warnings: tuple[str, ...]
    seconds: float
    uncertainty: NDArray[np.float32] | None = None
    known: NDArray[np.bool_] | None = None
    findings: dict[str, object] | None = None
    alignment: Alignment | None = None
    original: FocusStack | None = None
    counts: NDArray[np.bool_] | None = None

    @property
    def extent(self) -> Rectangle:
        """Which part of the frames as given the result covers."""
        if self.alignment is None:
            return self.params.area.box or Rectangle.whole(self.depth.shape)
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
    ) -> dict[str, Path]:
        """Write all products into a folder.

        ``depth.tif`` (float32, opens calibrated in Fiji), ``confidence.tif``, ``uncertainty.tif``
        where the method knows it, ``fused.png`` (or ``fused.tif`` for floating-point frames),
        ``source.tif`` (frame numbers from 0), ``preview.png``, ``report.html``, ``mask.png`` where
        a mask was given, and last ``run.json`` with every parameter: its presence means that the
        folder is complete.

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
            Put the time it took on record; without it, equal results are equal files.
        report : bool
            Write ``report.html`` too, for which the frames are read once more.
        keep_gps : bool
            Let the fused image tell where the frames were taken; the rest of the first frame's
            EXIF, and its colour profile, are always kept.

        Returns
        -------
        dict of str to Path
            What was written, by product.

        Raises
        ------
        OutputError
            If the folder cannot be written, or holds results already.
        """
        record = self.record(command, asked, timed)
        about = read_metadata(self.stack, keep_gps)
        return export.write_result(
            Path(folder),
            depth=self.depth,
            confidence=self.confidence,
            uncertainty=self.uncertainty,
            fused=self.fused,
            source=self.source,
            unit=self.unit,
            pixel_size=self.pixel_size,
            record=record,
            report=self.report(record) if report else None,
            overwrite=overwrite,
            exif=about.exif,
            icc=about.icc,
            mask=self.counts,
        )

    def report(self, record: dict[str, Any]) -> bytes:
        """Return the report on this result as one self-contained HTML page.

        Parameters
        ----------
        record : dict
            From `record`.

        Returns
        -------
        bytes
            The page. Contrast curves are left out if the frames cannot be read any more.
        """
        try:
            witnesses = contrast_curves(
                self.stack,
                self.params,
                self.index,
                telling_places(self.index, self.confidence),
                self.findings,
            )
        except InputError:
            witnesses = []
        return report_page(
            Findings(
                record=record,
                depth=self.depth,
                confidence=self.confidence,
                fused=self.fused,
                witnesses=witnesses,
                trace=self.trace,
                pixel_size=self.pixel_size,
            )
        )

    def record(
        self, command: str = "", asked: Mapping[str, Any] | None = None, timed: bool = True
    ) -> dict[str, Any]:
        """Return what run.json says, as plain data."""
        finite = self.depth[np.isfinite(self.depth)]
        original = self.original or self.stack
        figures = Figures(
            minimum=float(finite.min()) if finite.size else None,
            maximum=float(finite.max()) if finite.size else None,
            unknown=int(self.depth.size - finite.size),
            mean_confidence=float(self.confidence.mean()),
            sure=sure_share(self.confidence),
            median_uncertainty=None
            if self.uncertainty is None
            else float(np.median(self.uncertainty)),
            undetermined=None if self.known is None else int((~self.known).sum()),
        )
        return run_record(self.stack, self.params, self.extent, figures, command, asked) | {
            "input": export.describe_input(original),
            "alignment": None if self.alignment is None else self.alignment.record(original.names),
            "findings": self.findings,
            "solver": None if self.trace is None else self.trace.summary(),
            "warnings": list(self.warnings),
            "seconds": round(self.seconds, 3) if timed else None,
        }


@dataclass(frozen=True)
class Figures:
    """What run.json tells of the maps: depth in its unit, numbers of pixels, and the sure share."""

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
    """Return what run.json says of every kind of run, and an empty place for input and alignment.

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
