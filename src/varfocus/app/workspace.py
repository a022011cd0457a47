"""What one page works on: a session, and the two processes that work on it.

Changes are answered at preview size by one process and then in full by the other, so that a long
reconstruction never keeps the slider waiting. Which session is open is decided in
`varfocus.app.opening`; strokes and slabs are in `varfocus.app.retouching`, questions about results
in `varfocus.app.looking`.
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
from numpy.typing import NDArray

from varfocus.align import Alignment
from varfocus.app.frames import usable
from varfocus.app.jobs import Drop, Known, LoadPreviews, OpenResult, Probe, Save, ShowFrame, Solve
from varfocus.app.looking import Looking
from varfocus.app.opening import Opening
from varfocus.app.queue import JobQueue, Report, SupersededError
from varfocus.app.retouching import Retouching
from varfocus.app.schema import NOT_OFFERED
from varfocus.app.session import FEWEST, Near, Session, names_in
from varfocus.app.sessions import Shelf
from varfocus.app.tiles import level_count, read_tile
from varfocus.errors import InputError, ParameterError
from varfocus.export import MASK, images
from varfocus.io.frames import Found
from varfocus.io.mask import Outline, drawn_mask, read_mask
from varfocus.io.selection import UNSAID, Selection
from varfocus.params import Params
from varfocus.stack import FocusStack

KEPT_RESULTS = 24
"""Results that stay available; those that are pinned always do."""

KEPT_WITHOUT_ROOM = 8
"""Results that stay where the disk is nearly full."""

ROOM = 8 << 30
"""Bytes of free disk below which it is."""

KEEP_AFTER = 0.3
"""Seconds after a change until it is written: several come together."""

NUMBERS = itertools.count(time.time_ns() // 1_000_000)
"""Numbers of frames, results and jobs. They are part of addresses that browsers keep: none is ever
used again, by no workspace."""

UNNAMED = {"name": "", "pinned": False, "deleted": False}
"""What the user says about a result, before anything is said."""


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
        self._publish = publish
        self._keeping: asyncio.TimerHandle | None = None
        self._showing: dict[int, asyncio.Future[Report]] = {}
        self._futures: dict[int, asyncio.Future[Report]] = {}
        self._asked: dict[int, Solve] = {}
        self._busy: dict[str, Any] | None = None
        loop = asyncio.get_running_loop()

        def report(message: Report) -> None:
            loop.call_soon_threadsafe(self._hear, message)

        self._quick, self._thorough = JobQueue(report), JobQueue(report, background=True)
        self.looking = Looking(self)
        self.retouching = Retouching(self)
        self.opening = Opening(self)
        self.opening.occupy(self.shelf.new())

    def close(self) -> None:
        """End the workers, and leave the session."""
        self._quick.stop()
        self._thorough.stop()
        self.opening.close()
        if self._temporary is not None:
            shutil.rmtree(self._temporary, ignore_errors=True)

    def work_on(self, session: Session) -> None:
        """Know this session, and nothing of any other."""
        self.session = session
        self.made: dict[int, Solve] = {}
        self.alignments: dict[int, Alignment | None] = {}
        self._sketch: tuple[int, dict[str, NDArray[Any]]] | None = None
        self._preview_size: tuple[int, int] | None = None
        self._wanted = 0
        self.retouching.clear()

    @property
    def busy(self) -> bool:
        """Whether a reconstruction goes on."""
        return self._busy is not None

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
        self._publish({"kind": "state"})
        self.keep()

    def changed(self, version: int, **about: Any) -> None:
        """Note that something is another of a result, and tell the page."""
        if version in self.session.results:
            self.session.results[version] |= about
            self.tell()

    def complain(self, message: str) -> None:
        """Tell the page what went wrong."""
        self._publish({"kind": "failed", "message": message})

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
        self._quick.send(LoadPreviews(self.number(), stack, ids, folder))
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
        everything = usable(self.session.frames)
        position = next((k for k, (f, _) in enumerate(everything) if f.id == frame_id), None)
        if position is None:
            raise InputError(f"received frame {frame_id}", "expected one of the frames")
        # The coarsest level comes last: one that was interrupted has the finest alone.
        coarsest = level_count(*everything[position][1].shape[:2]) - 1
        if (folder / f"{coarsest}.npy").exists():
            return folder
        if frame_id not in self._showing:  # one job for all tiles of a frame
            stack = FocusStack([frame for _, frame in everything])
            job = ShowFrame(self.number(), stack, position, folder)
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
        params = Params.from_keywords(**keywords, mask=MASK if self.session.mask else None)
        stack, ids = self.session.stack()
        if params.area.box is not None:
            stack.cropped(params.area.box)  # refused here if it does not fit
        version = self._wanted = self.number()
        folder = self.session.folder / "results" / str(version)
        job = Solve(
            version, stack, ids, params, folder / "full", preview=True, mask=self.session.mask
        )
        self._asked = {version: job} if settled else {}
        self.made[version] = job
        self._busy = {"version": version, "stage": "starting", "done": 0, "total": 1}
        self._thorough.send(Drop(self.number()))
        self._quick.send(job)
        self._publish({"kind": "busy", **self._busy})
        return version

    def cancel(self) -> None:
        """Stop whatever is being reconstructed, at once; what there is already is still written."""
        if self._busy is not None:
            writing = self._busy["stage"] == "writing"
            self._busy, self._asked = None, {}
            self._wanted = 0
            if not writing:
                self._thorough.restart()
            self._quick.restart()
            # Behind what the workers said before they ended: progress heard later stays for ever.
            asyncio.get_running_loop().call_soon(self._publish, {"kind": "idle"})
            if self._preview_size is None and len(self.session.included()) >= FEWEST:
                self.load()  # frames that were being read were dropped as well

    def show_result(self, job: OpenResult) -> None:
        """Show a result that was made elsewhere."""
        self._wanted = job.id
        self._busy = {"version": job.id, "stage": "reading", "done": 0, "total": 1}
        self._thorough.send(job)

    def folder_of(self, version: int) -> Path:
        """Return where the maps of a result in full size lie."""
        return self.session.folder / "results" / str(version) / "full"

    def map_folder(self, version: int, name: str) -> Path:
        """Return where a map of a result in full size lies, as it is now."""
        return self.retouching.map_folder(version, name, self.folder_of(version))

    def sketch(self, version: int) -> dict[str, NDArray[Any]] | None:
        """Return maps and all-in-focus image of the newest result at preview size."""
        return self._sketch[1] if self._sketch is not None and self._sketch[0] == version else None

    def map_tile(
        self, version: int, preview: bool, name: str, level: int, column: int, row: int
    ) -> bytes | None:
        """Return a tile of a map or of the all-in-focus image; None if there is no such tile."""
        about = self.session.results.get(version)
        if about is None or about["preview"] != preview:
            return None
        if not preview:
            return read_tile(self.map_folder(version, name), level, column, row)
        maps = self.sketch(version) or {}
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
        session = self.session
        number, kind = message["id"], message["kind"]
        if kind == "failed":
            message = message | {"message": self.session.named(message["message"])}
        if number in self._futures and kind != "progress":
            self._answer(self._futures.pop(number), message)
        elif kind == "progress":
            self._advance(message)
        elif number != self._wanted:
            if kind == "done" and message.get("saved") in self.session.results:
                version = message["saved"]
                files = names_in(self.folder_of(version) / "result")
                self.session.results[version] |= {"saved": True, "files": files}
                if self._busy is not None and self._busy["version"] == version:
                    self._busy = None
                self._publish({"kind": "saved", "version": version, "files": files})
                self.keep()
            elif kind == "done" and "damaged" in message:
                self._preview_size = message["width"], message["height"]
                found = {number: session.named(why) for number, why in message["damaged"].items()}
                session.frames = [
                    replace(f, problem=found[f.id]) if f.id in found else f for f in session.frames
                ]
                self._publish({"kind": "state"})
            elif kind == "failed" and number not in self.made:  # an older change no longer matters
                if self._busy is not None and self._busy["stage"] == "writing":
                    self._busy = None
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
            future.set_exception(InputError(*message["message"].split("\n", 2)))
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
        preview = version not in self.session.saved and (asked is None or asked.preview)
        kept_here = ("id", "kind", "sketch", "alignment")
        about = {key: value for key, value in message.items() if key not in kept_here}
        if "alignment" in message:
            self.alignments[version] = message["alignment"]
        self._sketch = (version, message["sketch"]) if preview else None
        opened = version in self.session.saved
        about |= {"version": version, "preview": preview, "saved": opened, "opened": opened}
        before = self.session.results.get(version, {})
        made = self.made.get(version)
        about |= {key: before.get(key, value) for key, value in UNNAMED.items()}
        about |= {"made": time.time(), "frames": [] if made is None else list(made.ids)}
        about |= {"sketched": before.get("sketched")}
        if preview:
            about["sketched"] = {"sure": about["sure"], "range": about["maps"]["depth"]["range"]}
        about["files"] = names_in(self.session.saved[version]) if opened else []
        about |= self.retouching.about(version)
        self.session.results[version] = about
        self._forget_old()
        self._busy = None
        if asked is not None:
            about["command"] = self.session.command(asked.params)
            full = replace(asked, preview=False)
            if preview:
                self._busy = {"version": version, "stage": "in full size", "done": 0, "total": 1}
                self._asked[version] = full
                self._thorough.send(full)
            else:
                number = self.number()
                self._busy = {"version": version, "stage": "writing", "done": 0, "total": 1}
                self._thorough.send(Save(number, version, full.folder / "result", about["command"]))
                self.retouching.carry(version)
        self._publish({"kind": "result", "result": about, "busy": self._busy})
        if opened:
            self.keep()

    def _forget_old(self) -> None:
        """Keep the newest results, and of previews only the newest."""
        newest = max(self.session.results)
        old = [v for v, result in self.session.results.items() if result["preview"] and v != newest]
        loose = [v for v, r in self.session.results.items() if not r["preview"] and not r["pinned"]]
        roomy = shutil.disk_usage(self.session.folder).free >= ROOM
        old += sorted(loose)[: -(KEPT_RESULTS if roomy else KEPT_WITHOUT_ROOM)]
        for version in old:
            del self.session.results[version]
            self.made.pop(version, None)
            self.alignments.pop(version, None)
            shutil.rmtree(self.session.folder / "results" / str(version), ignore_errors=True)

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
            "preview": self._preview_size,
            "results": [r for _, r in sorted(session.results.items()) if not r["deleted"]],
            "measurements": session.measurements,
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
