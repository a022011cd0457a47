"""What one page works on: frames, results, and the two processes that make them.

Everything lies in the folder of a session, `varfocus.app.sessions`, and is kept as it goes. Changes
are answered at preview size by one process and then in full by the other, so that a long
reconstruction never keeps the slider waiting.
"""

from __future__ import annotations

import asyncio
import itertools
import re
import shutil
import tempfile
import time
import zlib
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from filelock import FileLock
from natsort import natsorted, ns
from numpy.typing import NDArray

from varfocus.align import Alignment
from varfocus.align.alignment import read_record
from varfocus.app.frames import NamedFrame, PageFrame, marked, usable
from varfocus.app.jobs import (
    Curve,
    Difference,
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
from varfocus.app.retouching import Known, Retouching
from varfocus.app.schema import NOT_OFFERED
from varfocus.app.sessions import RECORD, Shelf, locked, write_private
from varfocus.app.tiles import level_count, read_tile
from varfocus.errors import InputError, ParameterError, VarfocusError
from varfocus.export import MASK, RUN_RECORD, images
from varfocus.export.products import PictureShape, Shape
from varfocus.export.saved import SavedResult
from varfocus.io import read_stack
from varfocus.io.calibration import Focus, numbers_of, open_stack, words_of
from varfocus.io.frames import Found
from varfocus.io.mask import Outline, drawn_mask, read_mask
from varfocus.io.selection import Selection
from varfocus.job import Job, to_command
from varfocus.params import Params
from varfocus.stack import FRAMES, FocusStack, Frame
from varfocus.surface.measurements import Measurements
from varfocus.units import PixelSize

KEPT_RESULTS = 24
"""Results that stay available; those that are pinned always do."""

KEPT_WITHOUT_ROOM = 8
"""Results that stay where the disk is nearly full."""

ROOM = 8 << 30
"""Bytes of free disk below which it is."""

FEWEST = 3
"""Frames that make a stack."""

KEEP_AFTER = 0.3
"""Seconds after a change until it is written: several come together."""

Mode = Literal["add", "replace", "new"]
"""What happens to the frames that are open when others come: they stay and the others join them,
they go, or they are kept as a session of their own."""

Near = Literal["small", "large"]
"""Which depths are near."""


UNNAMED = {"name": "", "pinned": False, "deleted": False}
"""What the user says about a result, before anything is said."""


class SupersededError(InputError):
    """A request that was overtaken by a newer one; nobody waits for its answer any more."""


class Workspace:
    """Frames, results and workers of one page.

    Parameters
    ----------
    publish : callable
        Called, in the event loop, with whatever the page should know, as plain data.
    shelf : Shelf, optional
        Where sessions are kept; by default nowhere: they go with the workspace.
    """

    def __init__(
        self, publish: Callable[[dict[str, Any]], None], shelf: Shelf | None = None
    ) -> None:
        self._temporary = None if shelf is not None else Path(tempfile.mkdtemp(prefix="varfocus-"))
        self.shelf = shelf or Shelf(self._temporary or Path())
        self._publish = publish
        # Numbers are part of addresses that browsers keep: none is ever used again.
        self._numbers = itertools.count(time.time_ns() // 1_000_000)
        self._staging: dict[Mode, Path] = {}
        self._staged: list[PageFrame] = []
        self._sizes: tuple[PixelSize | None, str] = (None, FRAMES)
        self._replaced: Path | None = None
        self._keeping: asyncio.TimerHandle | None = None
        self._showing: dict[int, asyncio.Future[Report]] = {}
        self.choices: dict[str, Any] | None = None
        self._near: Near | None = None
        self._given: dict[str, Any] | None = None
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
        self._measurements: dict[str, Any] | None = None
        self.retouching = Retouching(self)
        self._occupy(self.shelf.new())

    def close(self) -> None:
        """End the workers; the session stays, if there is one, and what was replaced goes."""
        self._quick.stop()
        self._thorough.stop()
        self._leave("new")
        self._forget_replaced()
        for folder in self._staging.values():
            shutil.rmtree(folder, ignore_errors=True)
        if self._temporary is not None:
            shutil.rmtree(self._temporary, ignore_errors=True)

    # Sessions

    def _occupy(self, folder: Path) -> None:
        """Work in a session's folder, which is then nobody else's."""
        self._lock = _lock_of(folder)
        self.folder = folder

    def _leave(self, mode: Mode) -> None:
        """End the work on a session: keep it, or hold it back until it is certain that it goes."""
        if self._keeping is not None:
            self._keeping.cancel()
        self._keep_now()
        for version in [v for v, result in self._results.items() if result["deleted"]]:
            shutil.rmtree(self.folder / "results" / str(version), ignore_errors=True)
        self._lock.release(force=True)
        if not self._frames and not self._results:
            self.shelf.remove(self.folder)
        elif mode == "replace":
            self._forget_replaced()
            self._replaced = self.folder

    def _forget_replaced(self) -> None:
        if self._replaced is not None:
            self.shelf.remove(self._replaced)
        self._replaced = None

    def keep(self) -> None:
        """Write the session soon."""
        if self._keeping is None or self._keeping.cancelled():
            loop = asyncio.get_running_loop()
            self._keeping = loop.call_later(KEEP_AFTER, self._keep_now)

    def _keep_now(self) -> None:
        self._keeping = None
        if self._frames or self._results:
            write_private(self.folder / RECORD, self._record())

    def _changed(self) -> None:
        """Tell the page, and write the session."""
        self._publish({"kind": "state"})
        self.keep()

    def _record(self) -> dict[str, Any]:
        """Return the session as plain data; frames by reference."""

        def placed(path: Path | None) -> str | None:
            if path is None:
                return None
            inside = path.is_relative_to(self.folder)
            return str(path.relative_to(self.folder) if inside else path.absolute())

        return {
            "title": self._title(),
            "changed": time.time(),
            "given": self._given,
            "frames": [
                {
                    "id": f.id,
                    "name": f.name,
                    "file": placed(f.stored),
                    "own": f.path is not None,
                    "page": f.page,
                    "focus": f.focus,
                    "included": f.included,
                    "problem": f.problem if f.frame is None else "",
                    "stamp": stamp_of(f.path),
                }
                for f in self._frames
            ],
            "unit": self._unit,
            "inverted": self._inverted,
            "pixel": None if self._pixel is None else asdict(self._pixel),
            "source": list(self._source),
            "options": None if self._focus is None else options_of(self._focus),
            "recipe": self._recipe,
            "opened": self._opened,
            "mask": placed(self._mask),
            "base_mask": placed(self._base_mask),
            "outlines": self._outlines,
            "near": self._near,
            "choices": self.choices,
            "results": [
                result | {"folder": placed(self._saved.get(version))}
                for version, result in self._results.items()
                if result["saved"] and not result["deleted"]
            ],
        }

    def _title(self) -> str:
        """Return what to call the session in front of people."""
        if self._recipe:
            return "example"
        if len(self._source) == 1:
            return "/".join(Path(self._source[0]).parts[-2:])
        names = [frame.name for frame in self._frames]
        return " … ".join(dict.fromkeys([names[0], names[-1]])) if names else "result"

    async def reopen(self, name: str) -> None:
        """Go on with a session that was kept; the one that is open stays, too."""
        folder = self.shelf.find(name)
        if folder == self.folder:
            return
        record = self.shelf.record(folder)
        lock = _lock_of(folder)  # before anything is left
        self.cancel()
        if folder == self._replaced:
            self._replaced = None
        self._leave("new")
        self._reset()
        self.folder, self._lock = folder, lock
        await self._restore(record)
        self._changed()

    async def _restore(self, record: dict[str, Any]) -> None:
        """Take over what `_record` wrote; files that are gone are marked."""
        chosen = _focus_of(record["options"]) or Focus()
        selection = Selection(chosen.channel, chosen.time, chosen.series)
        found: dict[str, Found | str] = {}
        named = await self._given_again(record["given"], chosen)
        frames = []
        for about in record["frames"]:
            file, name, frame, problem = about["file"], about["name"], None, about["problem"]
            path = None if file is None else self.folder / file
            if name in named:
                frame = named[name]
            elif path is not None and not problem:
                if file not in found:
                    found[file] = await self._looked_at(path, name, selection)
                answer = found[file]
                if isinstance(answer, str):
                    problem = answer
                elif about["page"] < len(answer.frames):
                    frame = answer.frames[about["page"]]
                else:
                    problem = f"{name} is not in its file any more: left out"
            own = path if about["own"] else None
            shown = frame if frame is None or own is not None else NamedFrame(frame, name)
            focus, included = about["focus"], about["included"]
            frames.append(
                PageFrame(
                    about["id"], name, shown, own, focus, included, problem, path, about["page"]
                )
            )
        self._frames = marked(frames)
        self._take_over(record)
        if len(self._included()) >= FEWEST:
            self._load()

    @staticmethod
    async def _given_again(given: dict[str, Any] | None, focus: Focus) -> dict[str, Frame]:
        """Return the frames of the command line by name, with all that its options do to them."""
        if given is None:
            return {}
        try:
            stack = await asyncio.to_thread(open_stack, given["source"], focus)
        except VarfocusError:  # some are gone: those that are left are looked at one by one
            return {}
        return dict(zip(stack.names, stack.frames, strict=True))

    def _take_over(self, record: dict[str, Any]) -> None:
        """Take over settings and results of a session, for the frames that are open."""
        pixel = record["pixel"]
        self._unit, self._inverted = record["unit"], record["inverted"]
        self._pixel = None if pixel is None else PixelSize(**pixel)
        self._source, self._recipe = record["source"], record["recipe"]
        self._focus = _focus_of(record["options"])
        self._opened, self._given = record["opened"], record["given"]
        self._near, self.choices = record["near"], record["choices"]
        masks = (record["mask"], record["base_mask"])
        self._mask, self._base_mask = (
            self.folder / file if file and (self.folder / file).is_file() else None
            for file in masks
        )
        self._outlines = [
            (counts, [(x, y) for x, y in points]) for counts, points in record["outlines"]
        ]
        for about in record["results"]:
            version, folder = about["version"], about.pop("folder")
            if folder is not None:
                self._saved[version] = Path(folder)
            self._results[version] = about
            self.retouching.restore(version, about, self._folder(version))
            if not (self.saved_folder(version) / RUN_RECORD).is_file():
                del self._results[version]
            else:
                self._remake(version, about)

    def _remake(self, version: int, about: dict[str, Any]) -> None:
        """Know again how a result was made, so that its pixels can be asked about."""
        by_id = {f.id: (f, frame) for f, frame in usable(self._frames)}
        if not about["frames"] or not all(i in by_id for i in about["frames"]):
            return
        with suppress(VarfocusError):  # everything but curves works without
            stack = self._stack([by_id[i] for i in about["frames"]])
            ids, folder = tuple(about["frames"]), self._folder(version)
            params = Params.from_keywords(**about["parameters"])
            self._made[version] = Solve(version, stack, ids, params, folder, preview=False)
            self._alignments[version] = read_record(self.saved_folder(version), stack)

    async def _looked_at(self, path: Path, name: str, selection: Selection) -> Found | str:
        """Return what is in a file, or why that cannot be said."""
        if not path.is_file():
            return f"{name} is not there any more: left out"
        try:
            answer = await self.done(Probe(next(self._numbers), path, selection))
        except VarfocusError as error:
            return str(error).replace(str(path), name)
        found: Found = answer["found"]
        return found

    # Frames

    async def begin(self, stack: FocusStack, source: Sequence[str], focus: Focus) -> None:
        """Work on the frames of the command line; on with what was done with them before."""
        sources = [str(Path(one).absolute()) for one in source]
        given = {"source": sources, "options": options_of(focus)}
        folder = self.shelf.same_frames(given)
        if folder is not None:
            known = [f for f in self.shelf.record(folder)["frames"] if f["own"]]
            here = {
                (str(path), *(stamp_of(path) or ()))
                for path in (file.absolute() for file in stack.files)
            }
            if here and here == {(f["file"], *(f["stamp"] or ())) for f in known}:
                with suppress(VarfocusError):  # open in another varfocus
                    await self.reopen(folder.name)
                    return
        self.open(stack, source, focus)
        self._given = given

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
        if self._frames or self._results:
            self.clear("replace")
        files: Sequence[Path | None] = stack.files or [None] * len(stack)
        paths = files if len(files) == len(stack) else [files[0]] * len(stack)
        positions = [None] * len(stack) if stack.focus is None else stack.focus.tolist()
        self._frames = [
            PageFrame(
                next(self._numbers),
                frame.name,
                frame,
                path,
                position,
                stored=path,
                page=getattr(frame, "page", 0),
            )
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

    def upload_folder(self, mode: Mode) -> Path:
        """Return where uploaded files go: into the session that they will belong to.

        Nothing happens to the frames that are open until `added` is called.
        """
        if mode == "add" or not (self._frames or self._results):
            folder = self.folder
        else:
            folder = self._staging.setdefault(mode, self.shelf.new())
        uploads = folder / "uploads"
        uploads.mkdir(exist_ok=True)
        return uploads

    async def add(self, path: Path, name: str) -> None:
        """Look at an uploaded file; it takes part when `added` is called.

        Raises
        ------
        InputError
            If it is not an image; names the file as the user does.
        """
        try:
            found: Found = (await self.done(Probe(next(self._numbers), path)))["found"]
        except VarfocusError as error:
            words = [str(part).replace(str(path), name) for part in error.args]
            problem = f"{' '.join(words)}"
            self._staged.append(
                PageFrame(next(self._numbers), name, None, None, None, problem=problem)
            )
            raise InputError(*words) from error
        sizes = found.calibration
        if all(one.frame is None for one in self._staged):  # a microscope's file knows its scale
            self._sizes = sizes.pixel_size, sizes.unit if sizes.focus else FRAMES
        several = len(found.frames) > 1
        for k, frame in enumerate(found.frames):
            called = f"{name}[{k}]" if several else name
            named = NamedFrame(frame, called)
            position = float(sizes.focus[k]) if sizes.focus else None
            new = PageFrame(next(self._numbers), called, named, None, position, stored=path, page=k)
            self._staged.append(new)

    def added(self, mode: Mode = "add") -> int:
        """Take the uploaded files in; none of the frames before is touched if none is of use.

        Parameters
        ----------
        mode : {"add", "replace", "new"}
            What happens to the frames that are open.

        Returns
        -------
        int
            How many frames are of use.
        """
        staged, self._staged = self._staged, []
        folder = self._staging.pop(mode, None)
        count = sum(one.frame is not None for one in staged)
        if not count:
            if folder is not None:
                shutil.rmtree(folder, ignore_errors=True)
            return 0
        if folder is not None:
            self.cancel()
            self._leave(mode)
            self._reset()
            self._occupy(folder)
        if not self._frames:
            self._pixel, self._unit = self._sizes
        together = [*self._frames, *staged]
        self._frames = marked(natsorted(together, key=lambda f: f.name, alg=ns.IGNORECASE))
        self._source, self._focus, self._recipe, self._given = (), Focus(), "", None
        self._opened = [frame.id for frame, _ in usable(self._frames)]
        if len(self._included()) >= FEWEST:
            self._load()
        self._changed()
        return count

    def drop_uploads(self, mode: Mode) -> None:
        """Forget files that were uploaded and are not wanted after all."""
        for one in self._staged:
            if one.stored is not None:
                one.stored.unlink(missing_ok=True)
        self._staged = []
        if (folder := self._staging.pop(mode, None)) is not None:
            shutil.rmtree(folder, ignore_errors=True)

    def clear(self, mode: Mode = "replace") -> None:
        """Begin a new session."""
        self.cancel()
        self._leave(mode)
        self._reset()
        self._occupy(self.shelf.new())
        self._changed()

    def _reset(self) -> None:
        """Know nothing of any frames or results."""
        self._staged = []
        self._frames, self._results, self._preview_size = [], {}, None
        self._unit, self._inverted, self._wanted, self._pixel = FRAMES, False, 0, None
        self._source, self._focus, self._opened, self._recipe = (), Focus(), [], ""
        self._sketch = self._mask = self._base_mask = self._given = None
        self._near = self.choices = None
        self._outlines = []
        self._measurements = None
        self.retouching.clear()
        self._made, self._saved, self._alignments = {}, {}, {}

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
        self._changed()

    def stack(self) -> tuple[FocusStack, tuple[int, ...]]:
        """Return the frames that are used, and their numbers."""
        chosen = self._included()
        return self._stack(chosen), tuple(f.id for f, _ in chosen)

    def _stack(self, chosen: Sequence[tuple[PageFrame, Frame]]) -> FocusStack:
        known = bool(chosen) and all(f.focus is not None for f, _ in chosen)
        return FocusStack(
            [frame for _, frame in chosen],
            np.array([f.focus for f, _ in chosen], np.float64) if known else None,
            self._unit if known else FRAMES,
            tuple(f.path for f, _ in chosen if f.path is not None),
            pixel_size=self._pixel,
            inverted=self._inverted,
        )

    def _included(self) -> list[tuple[PageFrame, Frame]]:
        return [pair for pair in usable(self._frames) if pair[0].included]

    def _load(self) -> None:
        everything = usable(self._frames)
        ids = tuple(f.id for f, _ in everything)
        stack = FocusStack([frame for _, frame in everything])
        self._quick.send(LoadPreviews(next(self._numbers), stack, ids, self.folder / "frames"))
        self._changed()

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
        shape = self._shape()
        base = self._base_mask if keep_base else None
        path = base
        if outlines:
            path = self.folder / "masks" / str(next(self._numbers)) / MASK
            await asyncio.to_thread(_write_mask, path, shape, outlines, base)
        self._outlines, self._base_mask, self._mask = list(outlines), base, path
        self._changed()

    def _shape(self) -> tuple[int, int]:
        """Return height and width of the frames; zeros if there are none."""
        height, width = next((frame.shape[:2] for _, frame in usable(self._frames)), (0, 0))
        return height, width

    async def frame_folder(self, frame_id: int) -> Path:
        """Return where the tiles of a frame lie, decoding it first if need be."""
        folder = self.folder / "frames" / str(frame_id) / "levels"
        everything = usable(self._frames)
        position = next((k for k, (f, _) in enumerate(everything) if f.id == frame_id), None)
        if position is None:
            raise InputError(f"received frame {frame_id}", "expected one of the frames")
        # The coarsest level comes last: one that was interrupted has the finest alone.
        coarsest = level_count(*everything[position][1].shape[:2]) - 1
        if (folder / f"{coarsest}.npy").exists():
            return folder
        if frame_id not in self._showing:  # one job for all tiles of a frame
            stack = FocusStack([frame for _, frame in everything])
            job = ShowFrame(next(self._numbers), stack, position, folder)
            showing = self._showing[frame_id] = asyncio.ensure_future(self.done(job))
            showing.add_done_callback(lambda _: self._showing.pop(frame_id, None))
        await asyncio.shield(self._showing[frame_id])
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
            if self._preview_size is None and len(self._included()) >= FEWEST:
                self._load()  # frames that were being read were dropped as well

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
        included = [frame for frame, _ in self._included()]
        ids = [frame.id for frame in included]
        source = list(self._source)
        source = source if self._source else [f.name.partition("[")[0] for f in included]
        if ids == self._opened:
            return list(dict.fromkeys(source)), focus
        if ids == self._opened[::-1] and self._source and focus.z_step is None:
            return source, replace(focus, reverse=not focus.reverse)
        if ids == [i for i in self._opened if i in ids]:  # in their order, some left out
            gone = set() if focus.leave_out is None else numbers_of(focus.leave_out)
            numbers = (k for k in itertools.count() if k not in gone)
            gone |= {k for i, k in zip(self._opened, numbers, strict=False) if i not in ids}
            return list(dict.fromkeys(source)), replace(focus, leave_out=words_of(gone))
        files = [str(frame.path or frame.name) for frame in included]
        if self._recipe:
            files = [f"{source[0]}/{frame.name}" for frame in included]
        if any(frame.focus is not None for frame in included) or len(set(files)) < len(ids):
            return None
        return files, replace(focus, reverse=False, by_name=False)

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
            folder = self.retouching.map_folder(version, name, self._folder(version))
            return read_tile(folder, level, column, row)
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
            folder = self.retouching.map_folder(version, name, self._folder(version))
            path = folder / "0.npy"
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
        return self.retouching.files(version) or self._untouched(version)

    def _untouched(self, version: int) -> Path:
        """Return the files of a result without strokes."""
        return self._saved.get(version, self._folder(version) / "result")

    def known(self, version: int) -> Known:
        """Return a result in full size with its frames.

        Raises
        ------
        InputError
            If it is not there, or its frames are not.
        """
        about, solved = self._results.get(version), self._made.get(version)
        if about is None or solved is None or about["preview"]:
            raise InputError(
                f"received version {version}, a result without its frames or not in full size",
                "expected one in full size, with its frames",
                "Wait until the reconstruction has finished.",
            )
        alignment = self._alignments.get(version)
        return Known(version, solved, alignment, self._untouched(version), self._folder(version))

    def number(self) -> int:
        """Return a number that was never used."""
        return next(self._numbers)

    def changed(self, version: int, **about: Any) -> None:
        """Note that something is another of a result, and tell the page."""
        if version in self._results:
            self._results[version] |= about
            self._changed()

    def command_of(self, version: int) -> str:
        """Return the command that repeats a result."""
        return str(self._results.get(version, {}).get("command", ""))

    def complain(self, message: str) -> None:
        """Tell the page what went wrong."""
        self._publish({"kind": "failed", "message": message})

    @property
    def title(self) -> str:
        """What the stack is called, for names of files."""
        return title_of(self._source, [frame.name for frame in self._frames])

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

    async def measure(self, version: int, wanted: Measurements) -> Report:
        """Measure what is listed on a result, and keep the list."""
        self._measurements = wanted.as_data()
        folder = self.saved_folder(version)
        job = Measure(next(self._numbers), folder, wanted, self._turned(version))
        return await self.done(job)

    async def measured_again(self, version: int) -> Report:
        """Measure on a result what was measured last."""
        wanted = self._measurements or Measurements().as_data()
        return await self.measure(version, Measurements.from_data(wanted))

    def _turned(self, version: int) -> bool:
        """Tell whether near and far are the other way round than the files of a result say."""
        about = self._results[version]
        usual = "large" if about["inverted"] else "small"
        return (self._near or about["near"]) != usual

    def set_near(self, near: Near) -> None:
        """Say which depths are near; measurements and surfaces count from there at once."""
        self._near = near
        self._changed()

    async def difference(self, version: int, other: int) -> Report:
        """Return depth of one result minus that of another, as a map of the first."""
        for one in (version, other):
            self.saved_folder(one)  # refused if it is not there
        target = self._folder(version) / f"minus-{other}"
        places = [tuple(self._results[one]["place"]) for one in (version, other)]
        folders = [self._folder(one) / "depth" for one in (version, other)]
        units = {self._results[one]["unit"] for one in (version, other)}
        if len(units) > 1:
            raise InputError(
                f"received depths in {' and '.join(sorted(units))}", "expected one unit"
            )
        job = Difference(next(self._numbers), folders[0], folders[1], places[0], places[1], target)
        return await self.done(job) | {"unit": units.pop()}

    def edit(self, version: int, change: dict[str, Any]) -> None:
        """Name a result, pin it so that it is never forgotten, delete it, or take that back."""
        if version not in self._results:
            raise InputError(f"received result {version}", "expected one of those listed")
        self._results[version] |= change
        self._changed()

    def choose(self, choices: dict[str, Any]) -> None:
        """Keep what the page remembers, for the next time."""
        self.choices = choices
        self.keep()

    async def product(
        self, version: int, name: str, shape: Shape = Shape(), look: PictureShape = PictureShape()
    ) -> Path:
        """Return a file for another program, made on the first request."""
        source = self.saved_folder(version)
        revision = self.retouching.about(version)["revision"]
        turned = self._turned(version)
        options = zlib.crc32(repr((shape, look, turned)).encode())
        target = self._folder(version) / f"made@{revision}-{options:08x}" / name
        if not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            job = MakeProduct(next(self._numbers), source, target, shape, look, turned)
            await self.done(job, thorough=True)
        return target

    def _hear(self, message: Report) -> None:
        """Act on what a worker says."""
        number, kind = message["id"], message["kind"]
        if kind == "failed":
            message = message | {"message": self._named(message["message"])}
        if number in self._futures and kind != "progress":
            self._answer(self._futures.pop(number), message)
        elif kind == "progress":
            self._advance(message)
        elif number != self._wanted:
            if kind == "done" and message.get("saved") in self._results:
                version = message["saved"]
                files = _names(self._folder(version) / "result")
                self._results[version] |= {"saved": True, "files": files}
                if self._busy is not None and self._busy["version"] == version:
                    self._busy = None
                self._publish({"kind": "saved", "version": version, "files": files})
                self.keep()
            elif kind == "done" and "height" in message and "maps" not in message:
                self._preview_size = message["width"], message["height"]
                self._publish({"kind": "state"})
            elif kind == "failed" and number not in self._made:  # an older change no longer matters
                if self._busy is not None and self._busy["stage"] == "writing":
                    self._busy = None
                self._publish({"kind": "failed", "message": message["message"]})
        elif kind == "failed":
            self._busy = None
            self._publish({"kind": "failed", "version": number, "message": message["message"]})
        elif kind == "done":
            self._finish(message)

    def _named(self, words: str) -> str:
        """Return words about files with the names that the user gave them."""
        for frame in self._frames:
            if frame.stored is not None and frame.path is None:
                words = words.replace(str(frame.stored), frame.name.partition("[")[0])
        return words

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
        before = self._results.get(version, {})
        made = self._made.get(version)
        about |= {key: before.get(key, value) for key, value in UNNAMED.items()}
        about |= {"made": time.time(), "frames": [] if made is None else list(made.ids)}
        about |= {"sketched": before.get("sketched")}
        if preview:
            about["sketched"] = {"sure": about["sure"], "range": about["maps"]["depth"]["range"]}
        about["files"] = _names(self._saved[version]) if opened else []
        about |= self.retouching.about(version)
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
                self._busy = {"version": version, "stage": "writing", "done": 0, "total": 1}
                self._thorough.send(Save(number, version, full.folder / "result", about["command"]))
                self.retouching.carry(version)
        self._publish({"kind": "result", "result": about, "busy": self._busy})
        if opened:
            self.keep()

    def _forget_old(self) -> None:
        """Keep the newest results, and of previews only the newest."""
        newest = max(self._results)
        old = [v for v, result in self._results.items() if result["preview"] and v != newest]
        loose = [v for v, r in self._results.items() if not r["preview"] and not r["pinned"]]
        roomy = shutil.disk_usage(self.folder).free >= ROOM
        old += sorted(loose)[: -(KEPT_RESULTS if roomy else KEPT_WITHOUT_ROOM)]
        for version in old:
            del self._results[version]
            self._made.pop(version, None)
            self._alignments.pop(version, None)
            shutil.rmtree(self.folder / "results" / str(version), ignore_errors=True)

    def state(self) -> dict[str, Any]:
        """Return everything the page needs to show the current state."""
        frames = [
            {
                "id": f.id,
                "name": f.name,
                "included": f.included and not f.problem,
                "focus": f.focus,
                "problem": f.problem,
            }
            for f in self._frames
        ]
        first = next((frame for _, frame in usable(self._frames)), None)
        shown = self._results[max(self._results)] if self._results else None
        height, width = first.shape[:2] if first is not None else (0, 0)
        if first is None and shown is not None:
            height, width = shown["height"], shown["width"]
        mask = None
        if self._mask is not None:
            mask = {"outlines": self._outlines, "base": self._base_mask is not None}
        return {
            "session": self.folder.name,
            "replaced": "" if self._replaced is None else self._replaced.name,
            "choices": self.choices,
            "near": self._near,
            "source": self._source[0] if len(self._source) == 1 else "",
            "title": self.title,
            "mask": mask,
            "frames": frames,
            "width": width,
            "height": height,
            "dtype": "" if first is None else str(first.dtype),
            "unit": self._unit,
            "pixel": None if self._pixel is None else asdict(self._pixel),
            "preview": self._preview_size,
            "results": [r for _, r in sorted(self._results.items()) if not r["deleted"]],
            "measurements": self._measurements,
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


def title_of(source: Sequence[str], names: Sequence[str]) -> str:
    """Return a word for a stack, for names of files: its folder, or what its frames begin with."""
    parts = [part for part in re.split(r"[/\\]", source[0]) if part] if source else []
    parts = [part for part in parts if "*" not in part and part != "frames"]
    if parts:
        word = Path(parts[-1]).stem
    else:
        alike = itertools.takewhile(lambda c: len(set(c)) == 1, zip(*names, strict=False))
        word = "".join(letters[0] for letters in alike).partition(".")[0]
        word = word.rstrip("0123456789") if len(names) > 1 else word
    return re.sub(r"[^\w.-]+", "-", word).strip("-._")[:60] or "varfocus"


def _lock_of(folder: Path) -> FileLock:
    """Take a session for this server alone."""
    lock = locked(folder)
    if lock is None:
        raise InputError(
            "this work is open in another varfocus", "expected one that is not", "Close it there."
        )
    return lock


def options_of(focus: Focus) -> dict[str, Any]:
    """Return the options of the command line that describe frames, as plain data."""
    names = {option.name for option in fields(Focus)} - {"limits"}
    said = {name: value for name, value in focus.asked().items() if name in names}
    return {name: str(v.absolute()) if isinstance(v, Path) else v for name, v in said.items()}


def _focus_of(options: dict[str, Any] | None) -> Focus | None:
    """Return what `options_of` made plain."""
    if options is None:
        return None
    files = ("focus_distances", "dark", "flat")
    said: dict[str, Any] = {k: Path(v) if k in files else v for k, v in options.items()}
    return Focus(**said)


def stamp_of(path: Path | None) -> list[int] | None:
    """Return size and time of a file, which show whether it is still the same."""
    try:
        return None if path is None else [path.stat().st_size, path.stat().st_mtime_ns]
    except OSError:
        return None


def _names(folder: Path) -> list[str]:
    """Return the names of the files of a result."""
    return sorted(path.name for path in folder.iterdir() if path.is_file())
