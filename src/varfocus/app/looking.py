"""What people ask about results: values, curves, measurements, differences, files."""

from __future__ import annotations

import zlib
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from varfocus.app.jobs import Curve, Difference, MakeProduct, Measure
from varfocus.app.queue import Report
from varfocus.errors import InputError, ParameterError
from varfocus.export.products import PictureShape, Shape
from varfocus.surface.measurements import Measurements

if TYPE_CHECKING:
    from varfocus.app.workspace import Workspace


class Looking:
    """Questions about the results of a page.

    Parameters
    ----------
    workspace : Workspace
        Whose results.
    """

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    def _value(self, version: int, name: str, x: int, y: int) -> float | None:
        """Return the value of a map at a pixel of the frames; None where it is unknown."""
        about = self._workspace.session.results[version]
        if name not in about["maps"]:
            return None
        left, top, width, height = about["place"]
        maps = self._workspace.sketch(version) if about["preview"] else None
        if maps is not None:
            values = maps[name]
        else:
            path = self._workspace.map_folder(version, name) / "0.npy"
            values = np.load(path, mmap_mode="r", allow_pickle=False)
        i, j = (y - top) * values.shape[0] // height, (x - left) * values.shape[1] // width
        value = float(values[i, j])
        return value if np.isfinite(value) else None

    async def curve(self, version: int, x: int, y: int) -> Report:
        """Return what the depth of one pixel rests on."""
        workspace = self._workspace
        about, asked = workspace.session.results.get(version), workspace.made.get(version)
        if about is None or asked is None:
            raise InputError(
                "received a result without its frames",
                "expected the frames at the place that its run.json names",
                "Contrast curves need the frames; everything else works without them.",
            )
        left, top, width, height = about["place"]
        if not (left <= x < left + width and top <= y < top + height):
            raise ParameterError(
                f"received the pixel {x}, {y}",
                f"expected one inside {width} × {height} at {left}, {top}",
            )
        names = ("index", "depth", "uncertainty", "confidence")
        index, depth, uncertainty, confidence = (self._value(version, n, x, y) for n in names)
        job = Curve(
            workspace.number(),
            replace(asked, preview=about["preview"]),
            workspace.alignments.get(version),
            about["findings"],
            x,
            y,
            index or 0.0,
        )
        shown = {"depth": depth, "uncertainty": uncertainty, "confidence": confidence or 0.0}
        return await workspace.done(job) | shown

    async def measure(self, version: int, wanted: Measurements) -> Report:
        """Measure what is listed on a result, and keep the list."""
        workspace = self._workspace
        workspace.session.measurements = wanted.as_data()
        folder = workspace.saved_folder(version)
        return await workspace.done(
            Measure(workspace.number(), folder, wanted, self._turned(version))
        )

    async def measured_again(self, version: int) -> Report:
        """Measure on a result what was measured last."""
        wanted = self._workspace.session.measurements or Measurements().as_data()
        return await self.measure(version, Measurements.from_data(wanted))

    def _turned(self, version: int) -> bool:
        """Tell whether near and far are the other way round than the files of a result say."""
        session = self._workspace.session
        about = session.results[version]
        usual = "large" if about["inverted"] else "small"
        return (session.near or about["near"]) != usual

    async def difference(self, version: int, other: int) -> Report:
        """Return depth of one result minus that of another, as a map of the first."""
        workspace = self._workspace
        for one in (version, other):
            workspace.saved_folder(one)  # refused if it is not there
        results = [workspace.session.results[one] for one in (version, other)]
        first, second = (workspace.folder_of(one) / "depth" for one in (version, other))
        units = {result["unit"] for result in results}
        if len(units) > 1:
            raise InputError(
                f"received depths in {' and '.join(sorted(units))}", "expected one unit"
            )
        target = workspace.folder_of(version) / f"minus-{other}"
        places = [tuple(result["place"]) for result in results]
        job = Difference(workspace.number(), first, second, places[0], places[1], target)
        return await workspace.done(job) | {"unit": units.pop()}

    async def product(
        self, version: int, name: str, shape: Shape = Shape(), look: PictureShape = PictureShape()
    ) -> Path:
        """Return a file for another program, made on the first request."""
        workspace = self._workspace
        source = workspace.saved_folder(version)
        revision = workspace.retouching.about(version)["revision"]
        turned = self._turned(version)
        options = zlib.crc32(repr((shape, look, turned)).encode())
        target = workspace.folder_of(version) / f"made@{revision}-{options:08x}" / name
        if not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            job = MakeProduct(workspace.number(), source, target, shape, look, turned)
            await workspace.done(job, thorough=True)
        return target
