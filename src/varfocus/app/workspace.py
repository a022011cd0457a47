"""What one page works on: a session, and the two processes that work on it.

Changes are answered at preview size by one process and then in full by the other, so that a long
reconstruction never keeps the slider waiting. Which session is open is decided in
`varfocus.app.opening`; reconstructions are in `varfocus.app.solving`, strokes and slabs in
`varfocus.app.retouching`, questions about results in `varfocus.app.looking`.
"""

from __future__ import annotations

import asyncio
import itertools
import shutil
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from varfocus.align import Alignment
from varfocus.app.frames import usable
from varfocus.app.jobs import Known, LoadPreviews, Probe, ShowFrame, Solve
from varfocus.app.looking import Looking
from varfocus.app.opening import Opening
from varfocus.app.queue import JobQueue, Report, SupersededError
from varfocus.app.retouching import Retouching
from varfocus.app.session import Near, Session
from varfocus.app.sessions import Shelf
from varfocus.app.solving import Solving
from varfocus.app.tiles import level_count, read_tile
from varfocus.errors import InputError, ParameterError
from varfocus.export import MASK, images
from varfocus.io.frames import Found
from varfocus.io.mask import Outline, drawn_mask, read_mask
from varfocus.io.selection import UNSAID, Selection
from varfocus.stack import FocusStack

KEEP_AFTER = 0.3
"""Seconds after a change until it is written: several come together."""

NUMBERS = itertools.count(time.time_ns() // 1_000_000)
"""Numbers of frames, results and jobs. They are part of addresses that browsers keep: none is ever
used again, by no workspace."""


class Workspace:
    """A session and the workers on it.

    Parameters
    ----------
    publish : callable
        Called, in the event loop, with whatever the page should know, as plain data.
    shelf : Shelf, optional
        Where sessions are kept; by default nowhere: they go with the workspace.

    Attributes
    ----------
    session : Session
        What is open.
    made : dict of int to Solve
        How results were made, by version.
    alignments : dict of int to Alignment or None
        How the frames of results were aligned, by version.
    """

    session: Session

    def __init__(
        self, publish: Callable[[dict[str, Any]], None], shelf: Shelf | None = None
    ) -> None:
        self._temporary = None if shelf is not None else Path(tempfile.mkdtemp(prefix="varfocus-"))
        self.shelf = shelf or Shelf(self._temporary or Path())
        self.publish = publish
        self._keeping: asyncio.TimerHandle | None = None
        self._showing: dict[Path, asyncio.Future[Report]] = {}
        self._futures: dict[int, asyncio.Future[Report]] = {}
        loop = asyncio.get_running_loop()

        def report(message: Report) -> None:
            loop.call_soon_threadsafe(self._hear, message)

        self.quick, self.thorough = JobQueue(report), JobQueue(report, background=True)
        self.looking = Looking(self)
        self.solving = Solving(self)
        self.retouching = Retouching(self)
        self.opening = Opening(self)
        self.opening.occupy(self.shelf.new())

    def close(self) -> None:
        """End the workers, and leave the session."""
        self.quick.stop()
        self.thorough.stop()
        self.opening.close()
        if self._temporary is not None:
            shutil.rmtree(self._temporary, ignore_errors=True)

    def work_on(self, session: Session) -> None:
        """Know this session, and nothing of any other."""
        self.session = session
        self.made: dict[int, Solve] = {}
        self.alignments: dict[int, Alignment | None] = {}
        self.preview_size: tuple[int, int] | None = None
        self.solving.clear()
        self.retouching.clear()

    # What the page and the disk are told

    def keep(self) -> None:
        """Write the session soon."""
        if self._keeping is None or self._keeping.cancelled():
            loop = asyncio.get_running_loop()
            self._keeping = loop.call_later(KEEP_AFTER, self.keep_now)

    def keep_now(self) -> None:
        """Write the session."""
        if self._keeping is not None:
            self._keeping.cancel()
        self._keeping = None
        self.session.keep()

    def tell(self) -> None:
        """Tell the page that something has changed, and write the session."""
        self.publish({"kind": "state"})
        self.keep()

    def changed(self, version: int, **about: Any) -> None:
        """Note that something is another of a result, and tell the page."""
        if version in self.session.results:
            self.session.results[version] |= about
            self.tell()

    def complain(self, message: str) -> None:
        """Tell the page what went wrong."""
        self.publish({"kind": "failed", "message": message})

    # Frames

    def arrange(self, order: Sequence[int], excluded: Sequence[int]) -> None:
        """Put the frames into another order and leave some out.

        Parameters
        ----------
        order : sequence of int
            Every frame's number, beginning with the frame focused at one end.
        excluded : sequence of int
            Those that are not used.
        """
        by_id = {frame.id: frame for frame in self.session.frames}
        if sorted(order) != sorted(by_id):
            raise ParameterError("received an order of other frames", "expected every frame once")
        out = set(excluded)
        self.session.frames = [replace(by_id[i], included=i not in out) for i in order]
        self.tell()

    def load(self) -> None:
        """Read all frames at preview size, for the strip."""
        everything = usable(self.session.frames)
        ids = tuple(f.id for f, _ in everything)
        stack = FocusStack([frame for _, frame in everything])
        folder = self.session.folder / "frames"
        self.quick.send(LoadPreviews(self.number(), stack, ids, folder))
        self.tell()

    async def draw_mask(self, outlines: Sequence[Outline], keep_base: bool) -> None:
        """Set which pixels count by outlines drawn one over the other.

        Parameters
        ----------
        outlines : sequence of (bool, points)
            As for `varfocus.io.mask.drawn_mask`.
        keep_base : bool
            Draw them over the mask that came with a result, if one did.
        """
        if not self.session.frames:
            raise InputError("received a mask without frames", "expected frames first")
        shape = self.session.shape
        base = self.session.base_mask if keep_base else None
        path = base
        if outlines:
            path = self.session.folder / "masks" / str(self.number()) / MASK
            await asyncio.to_thread(_write_mask, path, shape, outlines, base)
        self.session.outlines, self.session.base_mask, self.session.mask = (
            list(outlines),
            base,
            path,
        )
        self.tell()

    async def frame_folder(self, frame_id: int) -> Path:
        """Return where the tiles of a frame lie, decoding it first if need be."""
        folder = self.session.folder / "frames" / str(frame_id) / "levels"
        position, shape = self.position(frame_id), self.session.shape
        stack = FocusStack([frame for _, frame in usable(self.session.frames)])
        await self.tiled(folder, shape, lambda n: ShowFrame(n, stack, position, folder))
        return folder

    def position(self, frame_id: int) -> int:
        """Return which of the usable frames has a number."""
        ids = [f.id for f, _ in usable(self.session.frames)]
        if frame_id not in ids:
            raise InputError(f"received frame {frame_id}", "expected one of the frames")
        return ids.index(frame_id)

    async def tiled(self, folder: Path, shape: tuple[int, int], job: Callable[[int], Any]) -> None:
        """Have the tiles of a picture written, unless they are; one job for all of them.

        Parameters
        ----------
        folder : Path
            Where they lie.
        shape : (int, int)
            Height and width of the picture.
        job : callable
            Returns the job that writes them, under the number given.
        """
        # The coarsest level comes last: one that was interrupted has the finest alone.
        if (folder / f"{level_count(*shape) - 1}.npy").exists():
            return
        if folder not in self._showing:
            showing = asyncio.ensure_future(self.done(job(self.number())))
            self._showing[folder] = showing
            showing.add_done_callback(lambda _: self._showing.pop(folder, None))
        await asyncio.shield(self._showing[folder])

    async def done(self, job: Any, *, thorough: bool = False) -> Report:
        """Have a worker do something, and wait for it."""
        future: asyncio.Future[Report] = asyncio.get_running_loop().create_future()
        self._futures[job.id] = future
        (self.thorough if thorough else self.quick).send(job)
        return await future

    def number(self) -> int:
        """Return a number that was never used."""
        return next(NUMBERS)

    async def looked_at(self, path: Path, selection: Selection = UNSAID) -> Found:
        """Return what is in a file; whatever else is cancelled meanwhile, it is looked at."""
        while True:
            with suppress(SupersededError):
                found: Found = (await self.done(Probe(self.number(), path, selection)))["found"]
                return found

    # Results

    def folder_of(self, version: int) -> Path:
        """Return where the maps of a result in full size lie."""
        return self.session.folder / "results" / str(version) / "full"

    def map_folder(self, version: int, name: str) -> Path:
        """Return where a map of a result in full size lies, as it is now."""
        return self.retouching.map_folder(version, name, self.folder_of(version))

    def map_tile(
        self, version: int, preview: bool, name: str, level: int, column: int, row: int
    ) -> bytes | None:
        """Return a tile of a map or of the all-in-focus image; None if there is no such tile."""
        about = self.session.results.get(version)
        if about is None or about["preview"] != preview:
            return None
        if not preview:
            return read_tile(self.map_folder(version, name), level, column, row)
        maps = self.solving.sketch(version) or {}
        first = (level, column, row) == (0, 0, 0)  # a sketch is smaller than a tile
        return maps[name].tobytes() if first and name in maps else None

    def saved_folder(self, version: int) -> Path:
        """Return where a result in full size lies, as ``varfocus depth`` would write it."""
        if version not in self.session.results or not self.session.results[version]["saved"]:
            raise InputError(
                "received a request for a result that is not there yet",
                "expected one in full size, written",
                "Wait until the reconstruction has finished.",
            )
        return self.files_of(version)

    def files_of(self, version: int) -> Path:
        """Return where the files of a result lie, as it was last written."""
        return self.retouching.files(version) or self._untouched(version)

    def _untouched(self, version: int) -> Path:
        """Return the files of a result without strokes."""
        return self.session.saved.get(version, self.folder_of(version) / "result")

    def known(self, version: int) -> Known:
        """Return a result in full size with its frames.

        Raises
        ------
        InputError
            If it is not there, or its frames are not.
        """
        about, solved = self.session.results.get(version), self.made.get(version)
        if about is None or solved is None or about["preview"]:
            raise InputError(
                f"received version {version}, a result without its frames or not in full size",
                "expected one in full size, with its frames",
                "Wait until the reconstruction has finished.",
            )
        alignment = self.alignments.get(version)
        return Known(version, solved, alignment, self._untouched(version), self.folder_of(version))

    def command_of(self, version: int) -> str:
        """Return the command that repeats a result."""
        return str(self.session.results.get(version, {}).get("command", ""))

    def set_near(self, near: Near) -> None:
        """Say which depths are near; measurements and surfaces count from there at once."""
        self.session.near = near
        self.tell()

    def edit(self, version: int, change: dict[str, Any]) -> None:
        """Name a result, pin it so that it is never forgotten, delete it, or take that back."""
        if version not in self.session.results:
            raise InputError(f"received result {version}", "expected one of those listed")
        self.session.results[version] |= change
        self.tell()

    def choose(self, choices: dict[str, Any]) -> None:
        """Keep what the page remembers, for the next time."""
        self.session.choices = choices
        self.keep()

    # What the workers say

    def _hear(self, message: Report) -> None:
        """Act on what a worker says."""
        number, kind = message["id"], message["kind"]
        if kind == "failed":
            message = message | {"message": self.session.named(message["message"])}
        if number in self._futures and kind != "progress":
            deliver(self._futures.pop(number), message)
        elif kind == "done" and "damaged" in message:
            self._know_previews(message)
        else:
            self.solving.hear(message)

    def _know_previews(self, message: Report) -> None:
        """Know that the frames were read, and which of them cannot be."""
        session = self.session
        self.preview_size = message["width"], message["height"]
        found = {number: session.named(why) for number, why in message["damaged"].items()}
        session.frames = [
            replace(f, problem=found[f.id]) if f.id in found else f for f in session.frames
        ]
        self.publish({"kind": "state"})

    def state(self) -> dict[str, Any]:
        """Return everything the page needs to show the current state."""
        session = self.session
        frames = [
            {
                "id": f.id,
                "name": f.name,
                "included": f.included and not f.problem,
                "focus": f.focus,
                "problem": f.problem,
            }
            for f in session.frames
        ]
        first = next((frame for _, frame in usable(session.frames)), None)
        shown = session.results[max(session.results)] if session.results else None
        height, width = first.shape[:2] if first is not None else (0, 0)
        if first is None and shown is not None:
            height, width = shown["height"], shown["width"]
        mask = None
        if session.mask is not None:
            mask = {"outlines": session.outlines, "base": session.base_mask is not None}
        return {
            "session": session.folder.name,
            "replaced": "" if self.opening.replaced is None else self.opening.replaced.name,
            "choices": session.choices,
            "near": session.near,
            "source": session.name or (session.source[0] if len(session.source) == 1 else ""),
            "title": session.file_title,
            "mask": mask,
            "frames": frames,
            "width": width,
            "height": height,
            "dtype": "" if first is None else str(first.dtype),
            "unit": session.unit,
            "pixel": None if session.pixel is None else asdict(session.pixel),
            "preview": self.preview_size,
            "results": [r for _, r in sorted(session.results.items()) if not r["deleted"]],
            "measurements": session.measurements,
            "busy": self.solving.busy,
        }


def _write_mask(
    path: Path, shape: tuple[int, int], outlines: Sequence[Outline], base: Path | None
) -> None:
    """Write outlines as a picture of what counts."""
    before = None if base is None else read_mask(base, shape)
    counts = drawn_mask(shape, outlines, before)
    path.parent.mkdir(parents=True)
    path.write_bytes(images.picture(np.where(counts, np.uint8(255), np.uint8(0)))[1])


def deliver(future: asyncio.Future[Report], message: Report) -> None:
    """Hand what a worker says to whoever waits for it."""
    if future.done():
        return
    if message["kind"] == "failed":
        future.set_exception(InputError(*message["message"].split("\n", 2)))
    elif message["kind"] == "dropped":
        future.set_exception(SupersededError())
    else:
        future.set_result(message)
