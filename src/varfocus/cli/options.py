"""The options that commands share: groups of parameters, and all that make a stack's `Job`."""

from __future__ import annotations

import shlex
import sys
from dataclasses import dataclass
from typing import Annotated

from cyclopts import Group, Parameter

from varfocus.cli.source import FocusOptions
from varfocus.export.result_files import TiledFormat
from varfocus.io.calibration import Focus
from varfocus.job import Job
from varfocus.params import (
    DEFAULT_METHOD,
    AlignParams,
    AreaParams,
    ClassicParams,
    ContrastParams,
    CurveParams,
    FuseParams,
    Method,
    Params,
    Resources,
    RetouchParams,
    RobustParams,
    SharpnessParams,
    SolverParams,
    StartParams,
)


def _group(title: str, place: float) -> Group:
    return Group(title, sort_key=place)


FUSION_GROUP = _group("All-in-focus image", 6)
AreaOptions = Annotated[AreaParams, Parameter(name="*", group=_group("What counts", 1.2))]
AlignOptions = Annotated[
    AlignParams, Parameter(name="*", negative=(), group=_group("Alignment", 1.5))
]
SHARPNESS = Parameter(name="*", group=_group("Sharpness", 1.7))
ROBUST = Parameter(name="*", group=_group("Method “robust”", 2))
CONTRAST = Parameter(name="*", group=_group("Method “paper”: contrast", 3))
MINIMISATION = Parameter(name="*", group=_group("Method “paper”: minimisation", 4))
CLASSIC = Parameter(name="*", group=_group("Method “classic”", 5))
FuseOptions = Annotated[FuseParams, Parameter(name="*", group=FUSION_GROUP)]
RetouchOptions = Annotated[RetouchParams, Parameter(name="*", group=_group("Retouching", 6.5))]
KeepGps = Annotated[bool, Parameter(negative=(), group=FUSION_GROUP)]
ResourceOptions = Annotated[Resources, Parameter(name="*", group=_group("Resources", 7))]


@Parameter(name="*")
@dataclass(frozen=True)
class JobOptions:
    """How a stack is to be reconstructed.

    Parameters
    ----------
    method
        "paper" is the variational method of Moeller et al.; "classic" the windowed maximum of
        contrast; "robust" is the most accurate and needs no tuning, but more time and memory;
        "auto" is "robust", in tiles where memory is short.
    report
        Write report.html: pictures, contrast curves and parameters on one page.
    tiled_format
        How maps are written if the frames do not fit into memory and are processed in tiles:
        "tiff" for tiled BigTIFF, "zarr" for OME-Zarr, both with coarser copies.
    focus, area, align, sharpness, robust, contrast, curve, start, solve, classic, fusion, strokes
        Groups of options, each described with its own.
    keep_gps
        Keep in fused.png where the frames were taken; the rest of EXIF is always kept.
    """

    method: Method = DEFAULT_METHOD
    report: bool = True
    tiled_format: TiledFormat = "tiff"
    focus: FocusOptions = Focus()
    area: AreaOptions = AreaParams()
    align: AlignOptions = AlignParams()
    sharpness: Annotated[SharpnessParams, SHARPNESS] = SharpnessParams()
    robust: Annotated[RobustParams, ROBUST] = RobustParams()
    contrast: Annotated[ContrastParams, CONTRAST] = ContrastParams()
    curve: Annotated[CurveParams, CONTRAST] = CurveParams()
    start: Annotated[StartParams, MINIMISATION] = StartParams()
    solve: Annotated[SolverParams, MINIMISATION] = SolverParams()
    classic: Annotated[ClassicParams, CLASSIC] = ClassicParams()
    fusion: FuseOptions = FuseParams()
    strokes: RetouchOptions = RetouchParams()
    keep_gps: KeepGps = False

    def job(self, source: tuple[str, ...] = (), params: Params | None = None) -> Job:
        """Return the job that is asked for.

        Parameters
        ----------
        source : tuple of str
            Where the frames are.
        params : Params, optional
            Parameters, in place of those given here.
        """
        return Job(
            source,
            params or self.params(),
            self.focus,
            self.report,
            self.keep_gps,
            self.tiled_format,
        )

    def params(self) -> Params:
        """Return the parameters of the reconstruction."""
        return Params(
            self.method,
            self.contrast,
            self.curve,
            self.start,
            self.solve,
            self.classic,
            self.robust,
            self.align,
            self.fusion,
            self.area,
            self.sharpness,
            self.strokes,
        )


def called_as() -> str:
    """Return the command line of this process, for the record."""
    return shlex.join(["varfocus", *sys.argv[1:]])
