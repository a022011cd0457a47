"""What one page works on: frames, results, and the two processes that make them.

Everything lies in a private temporary folder that is removed at the end. Changes are answered at
preview size by one process and then in full by the other, so that a long reconstruction never
keeps the slider waiting.
"""

from __future__ import annotations

import asyncio
import itertools
import shutil
import tempfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from natsort import natsorted, ns
from numpy.typing import NDArray

from varfocus.align import Alignment
from varfocus.align.alignment import read_record
from varfocus.app.jobs import (
    Curve,
    Drop,
    LoadPreviews,
    MakeProduct,
    Measure,
    OpenResult,
    Probe,
    Save,
    ShowFrame,
    Solve,
)
from varfocus.app.queue import JobQueue, Report
from varfocus.app.schema import NOT_OFFERED
from varfocus.app.tiles import read_tile
from varfocus.errors import InputError, ParameterError, VarfocusError
from varfocus.export import MASK, images
from varfocus.export.saved import SavedResult
from varfocus.io import read_stack
from varfocus.io.calibration import Focus
from varfocus.io.frames import Found
from varfocus.io.mask import Outline, drawn_mask, read_mask
from varfocus.job import Job, to_command
from varfocus.params import Params
from varfocus.stack import FRAMES, FocusStack, Frame
from varfocus.units import PixelSize

KEPT_RESULTS = 8
"""Results that stay available for comparison."""


class SupersededError(InputError):
    """A request that was overtaken by a newer one; nobody waits for its answer any more."""


@dataclass(frozen=True)
class PageFrame:
    """A frame as the page knows it.

    Attributes
    ----------
    id : int
        Its number, which never changes.
    name : str
        What people call it.
    frame : Frame
        Properties and pixels.
    path : Path or None
        The file it came from, if that was the user's own.
    focus : float or None
        Its focus position.
    included : bool
        Whether it is used.
    """

    id: int
    name: str
    frame: Frame
    path: Path | None
    focus: float | None
    included: bool = True


class Workspace:
    """Frames, results and workers of one page.

    Parameters
    ----------
    publish : callable
        Called, in the event loop, with whatever the page should know, as plain data.
    """

    def __init__(self, publish: Callable[[dict[str, Any]], None]) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="varfocus-"))
        self._publish = publish
        self._numbers = itertools.count(1)
        self._frames: list[PageFrame] = []
        self._unit, self._inverted = FRAMES, False
        self._source: Sequence[str] = ()
        self._focus: Focus | None = Focus()
        self._opened: list[int] = []
        self._pixel: PixelSize | None = None
        self._recipe = ""
        self._outlines: list[Outline] = []
        self._base_mask: Path | None = None
        self._mask: Path | None = None
        self._results: dict[int, dict[str, Any]] = {}
        self._sketch: tuple[int, dict[str, NDArray[Any]]] | None = None
        self._alignments: dict[int, Alignment | None] = {}
        self._asked: dict[int, Solve] = {}
        self._made: dict[int, Solve] = {}
        self._saved: dict[int, Path] = {}
        self._futures: dict[int, asyncio.Future[Report]] = {}
        self._wanted = 0
        self._busy: dict[str, Any] | None = None
        self._preview_size: tuple[int, int] | None = None
        loop = asyncio.get_running_loop()

        def report(message: Report) -> None:
            loop.call_soon_threadsafe(self._hear, message)

        self._quick, self._thorough = JobQueue(report), JobQueue(report, background=True)

    def close(self) -> None:
        """End the workers and remove every trace."""
        self._quick.stop()
        self._thorough.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    # Frames

    def open(
        self,
        stack: FocusStack,
        source: Sequence[str] = (),
        focus: Focus | None = Focus(),
        recipe: str = "",
    ) -> None:
        """Work on these frames from now on.

        Parameters
        ----------
        stack : FocusStack
            Frames.
        source : sequence of str
            What the user called them on the command line.
        focus : Focus or None
            Options given for them there; None if no option describes them.
        recipe : str
            Command that makes the frames in the folder that `source` names, if it is not there.
        """
        self.clear()
        files: Sequence[Path | None] = stack.files or [None] * len(stack)
        paths = files if len(files) == len(stack) else [files[0]] * len(stack)
        positions = [None] * len(stack) if stack.focus is None else stack.focus.tolist()
        self._frames = [
            PageFrame(next(self._numbers), frame.name, frame, path, position)
            for frame, path, position in zip(stack.frames, paths, positions, strict=True)
        ]
        self._unit, self._inverted, self._pixel = stack.unit, stack.inverted, stack.pixel_size
        self._source, self._focus, self._recipe = source, focus, recipe
        self._opened = [frame.id for frame in self._frames]
        self._load()

    def open_result(self, saved: SavedResult) -> None:
        """Show a result that was saved before, with its frames if they are still there."""
        files = [Path(file["path"]) for file in saved.record["input"]["files"]]
        if files and all(path.is_file() for path in files):
            names = [str(path) for path in files]
            stack = read_stack(names[0] if len(names) == 1 else names)
            focus = saved.record["input"]["focus"]
            if focus is None:
                self.open(stack, names)
            else:
                self.open(stack.with_focus(focus, saved.unit), names, focus=None)
        version = self._wanted = next(self._numbers)
        self._saved[version] = saved.folder
        if self._frames:
            stack, ids = self.stack()
            with suppress(ParameterError):  # a focus measure that was a function draws no curves
                params = Params.from_keywords(**saved.record["parameters"])
                made = Solve(version, stack, ids, params, saved.folder, preview=False)
                self._made[version] = made
            with suppress(ParameterError):  # the frames may have been replaced since
                self._alignments[version] = read_record(saved.folder, stack)
            if (saved.folder / MASK).is_file():
                self._mask = self._base_mask = saved.folder / MASK
        self._busy = {"version": version, "stage": "reading", "done": 0, "total": 1}
        folder = self.folder / "results" / str(version) / "full"
        self._thorough.send(OpenResult(version, saved.folder, folder))

    async def add(self, path: Path, name: str) -> None:
        """Add an uploaded file, at the place that its name gives it.

        Raises
        ------
        InputError
            If it is not an image, or unlike the others; names the file as the user does.
        """
        try:
            found: Found = (await self.done(Probe(next(self._numbers), path)))["found"]
        except VarfocusError as error:
            words = [str(part).replace(str(path), name) for part in error.args]
            raise InputError(*words) from error
        sizes = found.calibration
        if not self._frames:  # a microscope's file knows its scale
            self._pixel = sizes.pixel_size
            self._unit = sizes.unit if sizes.focus else FRAMES
        several = len(found.frames) > 1
        new = [
            PageFrame(
                next(self._numbers),
                f"{name}[{k}]" if several else name,
                frame,
                None,
                float(sizes.focus[k]) if sizes.focus else None,
            )
            for k, frame in enumerate(found.frames)
        ]
        self._frames = natsorted([*self._frames, *new], key=lambda f: f.name, alg=ns.IGNORECASE)
        self._source, self._focus, self._recipe = (), Focus(), ""
        self._opened = [frame.id for frame in self._frames]

    def added(self) -> None:
        """Note that all files of an upload have arrived."""
        if len(self._included()) >= 3:
            self._load()
        self._publish({"kind": "state"})

    def clear(self) -> None:
        """Forget frames and results."""
        self.cancel()
        self._frames, self._results, self._preview_size = [], {}, None
        self._unit, self._inverted, self._wanted, self._pixel = FRAMES, False, 0, None
        self._source, self._focus, self._opened, self._recipe = (), Focus(), [], ""
        self._sketch = self._mask = self._base_mask = None
        self._outlines = []

    def arrange(self, order: Sequence[int], excluded: Sequence[int]) -> None:
        """Put the frames into another order and leave some out.

        Parameters
        ----------
        order : sequence of int
            Every frame's number, beginning with the frame focused at one end.
        excluded : sequence of int
            Those that are not used.
        """
        by_id = {frame.id: frame for frame in self._frames}
        if sorted(order) != sorted(by_id):
            raise ParameterError("received an order of other frames", "expected every frame once")
        out = set(excluded)
        self._frames = [replace(by_id[i], included=i not in out) for i in order]
        self._publish({"kind": "state"})

    def stack(self) -> tuple[FocusStack, tuple[int, ...]]:
        """Return the frames that are used, and their numbers."""
        chosen = self._included()
        known = bool(chosen) and all(f.focus is not None for f in chosen)
        stack = FocusStack(
            [f.frame for f in chosen],
            np.array([f.focus for f in chosen], np.float64) if known else None,
            self._unit if known else FRAMES,
            tuple(f.path for f in chosen if f.path is not None),
            pixel_size=self._pixel,
            inverted=self._inverted,
        )
        return stack, tuple(f.id for f in chosen)

    def _included(self) -> list[PageFrame]:
        return [frame for frame in self._frames if frame.included]

    def _load(self) -> None:
        stack, ids = self.stack()
        job = LoadPreviews(next(self._numbers), stack, ids, self.folder / "frames")
        self._quick.send(job)
        self._publish({"kind": "state"})

    async def draw_mask(self, outlines: Sequence[Outline], keep_base: bool) -> None:
        """Set which pixels count by outlines drawn one over the other.

        Parameters
        ----------
        outlines : sequence of (bool, points)
            As for `varfocus.io.mask.drawn_mask`.
        keep_base : bool
            Draw them over the mask that came with a result, if one did.
        """
        if not self._frames:
            raise InputError("received a mask without frames", "expected frames first")
        shape = self._frames[0].frame.shape[:2]
        base = self._base_mask if keep_base else None
        path = base
        if outlines:
            path = self.folder / "masks" / str(next(self._numbers)) / MASK
            await asyncio.to_thread(_write_mask, path, (shape[0], shape[1]), outlines, base)
        self._outlines, self._base_mask, self._mask = list(outlines), base, path
        self._publish({"kind": "state"})

    async def frame_folder(self, frame_id: int) -> Path:
        """Return where the tiles of a frame lie, decoding it first if need be."""
        folder = self.folder / "frames" / str(frame_id) / "levels"
        if not (folder / "0.npy").exists():
            position = next((k for k, f in enumerate(self._frames) if f.id == frame_id), None)
            if position is None:
                raise InputError(f"received frame {frame_id}", "expected one of the frames")
            everything = FocusStack([f.frame for f in self._frames])
            await self.done(ShowFrame(next(self._numbers), everything, position, folder))
        return folder

    async def done(self, job: Any, *, thorough: bool = False) -> Report:
        """Have a worker do something, and wait for it."""
        future: asyncio.Future[Report] = asyncio.get_running_loop().create_future()
        self._futures[job.id] = future
        (self._thorough if thorough else self._quick).send(job)
        return await future

    # Results

    def solve(self, keywords: dict[str, Any], settled: bool) -> int:
        """Reconstruct with these parameters; what was being done before is dropped.

        Parameters
        ----------
        keywords : dict
            As for `varfocus.params.Params.from_keywords`.
        settled : bool
            False while a slider is still moving: only the preview is made.

        Returns
        -------
        int
            Version of the result to come.
        """
        for name in NOT_OFFERED:
            if name in keywords:
                raise ParameterError(f"received {name} from the page", "expected no names of files")
        params = Params.from_keywords(**keywords, mask=MASK if self._mask else None)
        stack, ids = self.stack()
        if params.area.box is not None:
            stack.cropped(params.area.box)  # refused here if it does not fit
        version = self._wanted = next(self._numbers)
        folder = self.folder / "results" / str(version)
        job = Solve(version, stack, ids, params, folder / "full", preview=True, mask=self._mask)
        self._asked = {version: job} if settled else {}
        self._made[version] = job
        self._busy = {"version": version, "stage": "starting", "done": 0, "total": 1}
        self._thorough.send(Drop(next(self._numbers)))
        self._quick.send(job)
        self._publish({"kind": "busy", **self._busy})
        return version

    def cancel(self) -> None:
        """Stop whatever is being reconstructed, at once."""
        if self._busy is not None:
            self._busy, self._asked = None, {}
            self._wanted = 0
            self._thorough.restart()
            self._quick.restart()
            self._publish({"kind": "idle"})

    def command(self, params: Params) -> str:
        """Return the command that does the same as the page; empty if there is none.

        Two, one per line, where the frames are simulated.
        """
        named = self._frames_on_command_line()
        if named is None:
            return ""
        source, focus = named
        command = to_command(Job(tuple(source), params, focus), "result")
        return "\n".join(filter(None, (self._recipe, command)))

    def _frames_on_command_line(self) -> tuple[Sequence[str], Focus] | None:
        """Return how a command names the frames, and the options that describe them.

        None if no command can: where positions are known, or one file holds all frames, only
        the whole stack can be named, in its order or, without steps counted from the first frame,
        reversed.
        """
        focus = self._focus
        if focus is None:
            return None
        ids = [frame.id for frame in self._included()]
        source = list(self._source) or [f.name.partition("[")[0] for f in self._frames]
        if ids == self._opened:
            return list(dict.fromkeys(source)), focus
        if ids == self._opened[::-1] and self._source and focus.z_step is None:
            return source, replace(focus, reverse=not focus.reverse)
        files = [str(frame.path or frame.name) for frame in self._included()]
        if self._recipe:
            files = [f"{source[0]}/{frame.name}" for frame in self._included()]
        if any(frame.focus is not None for frame in self._included()) or len(set(files)) < len(ids):
            return None
        return files, replace(focus, reverse=False)

    def _folder(self, version: int) -> Path:
        """Return where the maps of a result in full size lie."""
        return self.folder / "results" / str(version) / "full"

    def sketch(self, version: int) -> dict[str, NDArray[Any]] | None:
        """Return maps and all-in-focus image of the newest result at preview size."""
        return self._sketch[1] if self._sketch is not None and self._sketch[0] == version else None

    def map_tile(
        self, version: int, preview: bool, name: str, level: int, column: int, row: int
    ) -> bytes | None:
        """Return a tile of a map or of the all-in-focus image; None if there is no such tile."""
        about = self._results.get(version)
        if about is None or about["preview"] != preview:
            return None
        if not preview:
            return read_tile(self._folder(version) / name, level, column, row)
        maps = self.sketch(version) or {}
        first = (level, column, row) == (0, 0, 0)  # a sketch is smaller than a tile
        return maps[name].tobytes() if first and name in maps else None

    def _value(self, version: int, name: str, x: int, y: int) -> float | None:
        """Return the value of a map at a pixel of the frames; None where it is unknown."""
        about = self._results[version]
        if name not in about["maps"]:
            return None
        left, top, width, height = about["place"]
        maps = self.sketch(version) if about["preview"] else None
        if maps is not None:
            values = maps[name]
        else:
            path = self._folder(version) / name / "0.npy"
            values = np.load(path, mmap_mode="r", allow_pickle=False)
        i, j = (y - top) * values.shape[0] // height, (x - left) * values.shape[1] // width
        value = float(values[i, j])
        return value if np.isfinite(value) else None

    def saved_folder(self, version: int) -> Path:
        """Return where a result in full size lies, as ``varfocus depth`` would write it."""
        if version not in self._results or not self._results[version]["saved"]:
            raise InputError(
                "received a request for a result that is not there yet",
                "expected one in full size, written",
                "Wait until the reconstruction has finished.",
            )
        return self._saved.get(version, self._folder(version) / "result")

    async def curve(self, version: int, x: int, y: int) -> Report:
        """Return what the depth of one pixel rests on."""
        about, asked = self._results.get(version), self._made.get(version)
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
            next(self._numbers),
            replace(asked, preview=about["preview"]),
            self._alignments.get(version),
            about["findings"],
            x,
            y,
            index or 0.0,
        )
        shown = {"depth": depth, "uncertainty": uncertainty, "confidence": confidence or 0.0}
        return await self.done(job) | shown

    async def measure(self, version: int, kind: str, shapes: list[list[float]]) -> Report:
        """Measure a line, a step or a region of a result."""
        corners = tuple((s[0], s[1], s[2], s[3]) for s in shapes)
        job = Measure(next(self._numbers), self.saved_folder(version), kind, corners)
        return await self.done(job)

    async def product(self, version: int, suffix: str) -> Path:
        """Return a file for another program, made on the first request."""
        source = self.saved_folder(version)
        target = self._folder(version) / f"depth{suffix}"
        if not target.exists():
            await self.done(MakeProduct(next(self._numbers), source, target), thorough=True)
        return target

    def _hear(self, message: Report) -> None:
        """Act on what a worker says."""
        number, kind = message["id"], message["kind"]
        if number in self._futures and kind != "progress":
            self._answer(self._futures.pop(number), message)
        elif kind == "progress":
            self._advance(message)
        elif number != self._wanted:
            if kind == "done" and message.get("saved") in self._results:
                version = message["saved"]
                files = _names(self._folder(version) / "result")
                self._results[version] |= {"saved": True, "files": files}
                self._publish({"kind": "saved", "version": version, "files": files})
            elif kind == "done" and "height" in message and "maps" not in message:
                self._preview_size = message["width"], message["height"]
                self._publish({"kind": "state"})
            elif kind == "failed" and number not in self._made:  # an older change no longer matters
                self._publish({"kind": "failed", "message": message["message"]})
        elif kind == "failed":
            self._busy = None
            self._publish({"kind": "failed", "version": number, "message": message["message"]})
        elif kind == "done":
            self._finish(message)

    @staticmethod
    def _answer(future: asyncio.Future[Report], message: Report) -> None:
        if future.done():
            return
        if message["kind"] == "failed":
            future.set_exception(InputError(message["message"]))
        elif message["kind"] == "dropped":
            words = ("received a newer request of this kind", "expected one at a time")
            future.set_exception(SupersededError(*words))
        else:
            future.set_result(message)

    def _advance(self, message: Report) -> None:
        if message["id"] == self._wanted and self._busy is not None:
            self._busy |= {key: message[key] for key in ("stage", "done", "total")}
        self._publish({key: message[key] for key in ("kind", "id", "stage", "done", "total")})

    def _finish(self, message: Report) -> None:
        version = message["id"]
        asked = self._asked.get(version)
        preview = version not in self._saved and (asked is None or asked.preview)
        kept_here = ("id", "kind", "sketch", "alignment")
        about = {key: value for key, value in message.items() if key not in kept_here}
        if "alignment" in message:
            self._alignments[version] = message["alignment"]
        self._sketch = (version, message["sketch"]) if preview else None
        opened = version in self._saved
        about |= {"version": version, "preview": preview, "saved": opened, "opened": opened}
        about["files"] = _names(self._saved[version]) if opened else []
        self._results[version] = about
        self._forget_old()
        self._busy = None
        if asked is not None:
            about["command"] = self.command(asked.params)
            full = replace(asked, preview=False)
            if preview:
                self._busy = {"version": version, "stage": "in full size", "done": 0, "total": 1}
                self._asked[version] = full
                self._thorough.send(full)
            else:
                number = next(self._numbers)
                self._thorough.send(Save(number, version, full.folder / "result", about["command"]))
        self._publish({"kind": "result", "result": about, "busy": self._busy})

    def _forget_old(self) -> None:
        """Keep the newest results, and of previews only the newest."""
        newest = max(self._results)
        old = [v for v, result in self._results.items() if result["preview"] and v != newest]
        old += sorted(set(self._results) - set(old))[:-KEPT_RESULTS]
        for version in old:
            del self._results[version]
            self._made.pop(version, None)
            self._alignments.pop(version, None)
            shutil.rmtree(self.folder / "results" / str(version), ignore_errors=True)

    def state(self) -> dict[str, Any]:
        """Return everything the page needs to show the current state."""
        frames = [
            {"id": f.id, "name": f.name, "included": f.included, "focus": f.focus}
            for f in self._frames
        ]
        first = self._frames[0].frame if self._frames else None
        shown = self._results[max(self._results)] if self._results else None
        height, width = first.shape[:2] if first is not None else (0, 0)
        if first is None and shown is not None:
            height, width = shown["height"], shown["width"]
        mask = None
        if self._mask is not None:
            mask = {"outlines": self._outlines, "base": self._base_mask is not None}
        return {
            "source": self._source[0] if len(self._source) == 1 else "",
            "mask": mask,
            "frames": frames,
            "width": width,
            "height": height,
            "dtype": "" if first is None else str(first.dtype),
            "unit": self._unit,
            "pixel": None if self._pixel is None else asdict(self._pixel),
            "preview": self._preview_size,
            "results": [self._results[v] for v in sorted(self._results)],
            "busy": self._busy,
        }


def _write_mask(
    path: Path, shape: tuple[int, int], outlines: Sequence[Outline], base: Path | None
) -> None:
    """Write outlines as a picture of what counts."""
    before = None if base is None else read_mask(base, shape)
    counts = drawn_mask(shape, outlines, before)
    path.parent.mkdir(parents=True)
    path.write_bytes(images.picture(np.where(counts, np.uint8(255), np.uint8(0)))[1])


def _names(folder: Path) -> list[str]:
    """Return the names of the files of a result."""
    return sorted(path.name for path in folder.iterdir() if path.is_file())
