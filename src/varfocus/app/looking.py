"""What people ask about results: values, curves, measurements, differences, files."""

from __future__ import annotations

import shutil
import zlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from varfocus.app.jobs import Curve, Difference, MakeProduct, Measure
from varfocus.app.queue import Report, SupersededError
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
        maps = self._workspace.solving.sketch(version) if about["preview"] else None
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
        """Return depth of one result minus that of another, as a map of the first.

        Both as they are now, with their strokes: the name of the map tells which revisions it is
        made of. A stroke that takes a depth away while it is read has it made anew.
        """
        workspace = self._workspace
        while True:
            results = [workspace.session.results.get(one) for one in (version, other)]
            revisions = _revisions(results)
            try:
                return await self._subtracted(results)
            except SupersededError:
                raise
            except InputError:
                now = [workspace.session.results.get(one) for one in (version, other)]
                if _revisions(now) == revisions:
                    raise

    async def _subtracted(self, results: Sequence[dict[str, Any] | None]) -> Report:
        """Return depth of the first of two results minus that of the second."""
        workspace = self._workspace
        known = [result for result in results if result is not None and not result["preview"]]
        if len(known) < 2:
            raise InputError(
                "received a result that is not there, or not in full size",
                "expected two of those listed, in full size",
                "Wait until the reconstruction has finished.",
            )
        version, other = (result["version"] for result in known)
        first, second = (workspace.map_folder(one, "depth") for one in (version, other))
        units = {result["unit"] for result in known}
        if len(units) > 1:
            raise InputError(
                f"received depths in {' and '.join(sorted(units))}", "expected one unit"
            )
        name = "minus-{}-{}-{}".format(other, *_revisions(known))
        place, there = (tuple(result["place"]) for result in known)
        target = workspace.folder_of(version) / name
        job = Difference(workspace.number(), first, second, place, there, target)
        report = await workspace.done(job)
        for folder in target.parent.glob(f"minus-{other}-*"):
            if folder != target:  # of strokes that there were
                shutil.rmtree(folder, ignore_errors=True)
        return report | {"unit": units.pop(), "map": name}

    async def product(
        self, version: int, name: str, shape: Shape = Shape(), look: PictureShape = PictureShape()
    ) -> Path:
        """Return a file for another program, made on the first request."""
        workspace = self._workspace
        source = workspace.saved_folder(version)
        # Of these files: while strokes are being put on, the retouching counts one more.
        revision = workspace.session.results[version]["revision"]
        turned = self._turned(version)
        options = zlib.crc32(repr((shape, look, turned)).encode())
        target = workspace.folder_of(version) / f"made@{revision}-{options:08x}" / name
        if not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            job = MakeProduct(workspace.number(), source, target, shape, look, turned)
            await workspace.done(job, thorough=True)
        return target


def _revisions(results: Sequence[dict[str, Any] | None]) -> list[int]:
    """Return how often the strokes of each result have changed; −1 for one that is not there."""
    return [-1 if result is None else result["revision"] for result in results]
