"""Strokes and slabs of the page's results: what is asked for, and what has become of it.

A result keeps its version when it is retouched; its maps are written anew under a revision, so
that whatever was fetched of an earlier one stays true. Strokes begin at the result as it was made.
"""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from varfocus.app.frames import usable
from varfocus.app.jobs import ApplyStrokes, Known, LayFrame, MakeSlabs, SaveTouched
from varfocus.app.jobs.strokes import TOLD, laid_frame, revised, slab_folder
from varfocus.app.queue import SupersededError
from varfocus.app.session import names_in
from varfocus.errors import InputError, ParameterError, VarfocusError
from varfocus.export.strokes import read_strokes
from varfocus.fuse import slab_ranges
from varfocus.params import RetouchParams
from varfocus.retouch import Retouch

if TYPE_CHECKING:
    from varfocus.app.workspace import Workspace

T = TypeVar("T")

STROKES = "strokes.json"
"""What the strokes are called where they are downloaded, and in the command that repeats them."""

SAVED_AFTER = 1.0
"""Seconds after the last stroke until the files are written anew."""


class Retouching:
    """Strokes and slabs of the results of a page.

    Parameters
    ----------
    workspace : Workspace
        Whose results.
    """

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self.clear()

    def clear(self) -> None:
        """Forget everything."""
        self._drawn: dict[int, list[dict[str, Any]]] = {}
        self._documents: dict[int, Retouch] = {}
        self._revisions: dict[int, int] = {}
        self._places: dict[int, dict[str, Path]] = {}
        self._files: dict[int, Path] = {}
        self._slabs: dict[int, list[dict[str, Any]]] = {}
        self._saving: dict[int, asyncio.TimerHandle] = {}
        self._carrying: set[asyncio.Task[None]] = set()
        self._last: tuple[tuple[int, ...], list[dict[str, Any]]] = ((), [])

    def about(self, version: int) -> dict[str, Any]:
        """Return what the page must know of the strokes and slabs of a result."""
        return {
            "revision": self._revisions.get(version, 0),
            "strokes": self._drawn.get(version, []),
            "slabs": self._slabs.get(version, []),
        }

    def restore(
        self, version: int, about: dict[str, Any], folder: Path
    ) -> list[dict[str, Any]] | None:
        """Know again the strokes and slabs of a result that was kept, its maps in `folder`.

        Returns
        -------
        list of dict or None
            Strokes whose files were not written any more: they are to be drawn again.
        """
        if about.get("slabs") and slab_folder(folder).is_dir():
            self._slabs[version] = about["slabs"]
        revision, strokes = about.get("revision", 0), about.get("strokes", [])
        files = folder / f"result@{revision}"
        try:
            document = read_strokes(files) if strokes else None
        except VarfocusError:  # the files were not written any more
            document = None
        self._revisions[version] = revision
        if document is None:
            about |= self.about(version)
            return strokes or None
        self._drawn[version], self._documents[version] = strokes, document
        self._files[version] = files
        places = {path.name.partition("@")[0]: path for path in folder.glob(f"*@{revision}")}
        self._places[version] = {name: path for name, path in places.items() if name != "result"}
        return None

    def map_folder(self, version: int, name: str, folder: Path) -> Path:
        """Return where a map of a result lies as it is now, `folder` being where its maps are."""
        kind, _, number = name.partition("-")
        if kind == "slab":
            return slab_folder(folder) / number
        return self._places.get(version, {}).get(name, folder / name)

    def files(self, version: int) -> Path | None:
        """Return the files of a retouched result; None if it has no strokes."""
        return self._files.get(version)

    def document(self, version: int) -> bytes:
        """Return the strokes of a result as a file."""
        document = self._documents.get(version)
        if document is None:
            raise InputError("received a result without strokes", "expected a retouched one")
        return (json.dumps(document.as_data(), indent=1) + "\n").encode()

    async def draw(self, version: int, drawn: list[dict[str, Any]]) -> None:
        """Put strokes onto a result, instead of those it has.

        Parameters
        ----------
        version : int
            Which result.
        drawn : list of dict
            As `varfocus.retouch.Stroke` has them, but for what the page calls otherwise: "frame"
            of "paint" is the page's number of a frame, also of one that was left out, and "result"
            or "slab" a number instead of a picture.
        """
        known = self._workspace.known(version)
        revision = self._revisions.get(version, 0) + 1
        self._revisions[version] = revision
        for stroke in drawn:
            if isinstance(stroke.get("result"), int):
                await self._written(stroke["result"])
            elif stroke.get("tool") == "paint" and stroke.get("frame") not in [None, *_used(known)]:
                lay = partial(self.frame_folder, version, _whole(stroke["frame"]))
                await self._again(version, revision, lay)
        if self._revisions.get(version) != revision:  # other strokes came while that was waited for
            raise SupersededError
        retouch = self._translated(known, drawn)
        about = await self._again(
            version,
            revision,
            lambda: self._workspace.done(
                ApplyStrokes(self._workspace.number(), known, retouch, revision), thorough=True
            ),
        )
        old = self._places.get(version, {})
        self._places[version] = {
            name: revised(known.folder, name, revision) for name in about["changed"]
        }
        self._drawn[version], self._documents[version] = drawn, retouch
        self._last = known.solved.ids, drawn
        if not retouch.strokes:
            del self._documents[version]
            self._files.pop(version, None)
        params = known.solved.params
        if retouch.strokes:
            params = replace(params, strokes=RetouchParams(STROKES))
        self._workspace.changed(
            version,
            saved=not retouch.strokes,
            command=self._workspace.session.command(params),
            **{key: about[key] for key in TOLD},
            **self.about(version),
        )
        for folder in old.values():
            shutil.rmtree(folder, ignore_errors=True)
        if version in self._saving:
            self._saving.pop(version).cancel()
        if retouch.strokes:
            self._saving[version] = asyncio.get_running_loop().call_later(
                SAVED_AFTER, lambda: self._in_background(self._written(version))
            )

    async def _again(self, version: int, revision: int, ask: Callable[[], Awaitable[T]]) -> T:
        """Ask again if a reconstruction that was cancelled took it along, not if it is old."""
        while True:
            try:
                return await ask()
            except SupersededError:
                if self._revisions.get(version) != revision:
                    raise

    def _in_background(self, work: Coroutine[Any, Any, None]) -> None:
        """Begin something that nobody waits for; the page is told if it fails."""

        async def told() -> None:
            try:
                await work
            except SupersededError:  # by what somebody does wait for
                pass
            except VarfocusError as error:
                self._workspace.complain(str(error))

        task = asyncio.ensure_future(told())
        self._carrying.add(task)
        task.add_done_callback(self._carrying.discard)

    async def _written(self, version: int) -> None:
        """Have the files of a retouched result written, if they are not as it is now."""
        while version in self._documents:
            known, retouch = self._workspace.known(version), self._documents[version]
            # What the page was told last belongs to these strokes; others may be on their way.
            revision = self._workspace.session.results[version]["revision"]
            target = known.folder / f"result@{revision}"
            before = self._files.get(version)
            if before == target:
                return
            command = self._workspace.command_of(version)
            job = SaveTouched(self._workspace.number(), known, retouch, target, command)
            try:
                report = await self._workspace.done(job, thorough=True)
            except SupersededError:  # all that was being done was cancelled, and this with it
                continue
            if self._documents.get(version) is not retouch:
                shutil.rmtree(target, ignore_errors=True)
            elif report["written"]:
                self._files[version] = target
                self._workspace.changed(version, saved=True, files=names_in(target))
                if before is not None and not self._painted_from(before):
                    shutil.rmtree(before, ignore_errors=True)

    async def frame_folder(self, version: int, frame_id: int) -> Path:
        """Return where the tiles of a frame lie as a result sees it, aligned.

        Parameters
        ----------
        version : int
            Which result.
        frame_id : int
            The page's number of the frame, also of one that the result was not made of.
        """
        workspace, known = self._workspace, self._workspace.known(version)
        used, ids = frame_id in _used(known), known.solved.ids
        if used and (known.alignment is None or known.alignment.stays(ids.index(frame_id))):
            return await workspace.frame_folder(frame_id)
        place, frames = workspace.position(frame_id), usable(workspace.session.frames)
        far = {f.id: abs(k - place) for k, (f, _) in enumerate(frames)}
        nearest = tuple(sorted(range(len(ids)), key=lambda k: far.get(ids[k], len(frames))))
        frame, picture = frames[place][1], None if used else laid_frame(known, frame_id)
        folder = laid_frame(known, frame_id).with_suffix("")
        await workspace.tiled(
            folder,
            workspace.session.shape,
            lambda number: LayFrame(number, known, frame, nearest, picture, folder),
        )
        return folder

    def _painted_from(self, folder: Path) -> bool:
        """Tell whether a stroke on any result paints from the files in a folder."""
        strokes = (stroke for document in self._documents.values() for stroke in document.strokes)
        return any(stroke.picture == str(folder) for stroke in strokes)

    def carry(self, version: int) -> None:
        """Put the strokes of the result before onto a new one, as far as they still fit."""
        ids, drawn = self._last
        workspace = self._workspace
        same = ids == workspace.known(version).solved.ids
        frames = {f.id for f, _ in usable(workspace.session.frames)}

        def fits(stroke: dict[str, Any]) -> bool:
            if stroke.get("tool") == "set-depth":
                return same  # otherwise frame numbers mean other frames
            if "result" in stroke:
                return stroke["result"] in workspace.session.results
            if "slab" in stroke:
                return False  # it is of another depth
            return "frame" not in stroke or stroke["frame"] in frames

        drawn = [stroke for stroke in drawn if fits(stroke)]
        if drawn:
            self.draw_soon(version, drawn)

    def draw_soon(self, version: int, drawn: list[dict[str, Any]]) -> None:
        """Put strokes onto a result while nobody waits for it."""
        self._in_background(self.draw(version, drawn))

    async def slabs(self, version: int, size: int, overlap: int) -> None:
        """Make the slabs of a result."""
        known = self._workspace.known(version)
        slab_ranges(len(known.solved.stack), size, overlap)
        job = MakeSlabs(self._workspace.number(), known, size, overlap)
        found = await self._workspace.done(job, thorough=True)
        revision = self._workspace.number()  # tiles of earlier slabs have another address
        self._slabs[version] = [slab | {"made": revision} for slab in found["slabs"]]
        self._workspace.changed(version, **self.about(version))

    def _translated(self, known: Known, drawn: list[dict[str, Any]]) -> Retouch:
        """Return what the page has drawn in terms of frames and files."""
        stack, ids = known.solved.stack, known.solved.ids
        names = stack.names
        strokes = []
        for one in drawn:
            stroke = dict(one)
            if "picture" in stroke:
                raise ParameterError("received a picture from the page", "expected no file names")
            if stroke.get("tool") == "paint" and "frame" in stroke:
                frame_id = _whole(stroke.pop("frame"))
                if frame_id in _used(known):
                    k = ids.index(frame_id)
                    stroke["frame"] = names[k] if names.count(names[k]) == 1 else k
                else:
                    stroke["picture"] = str(laid_frame(known, frame_id))
            elif stroke.get("tool") == "set-depth" and known.alignment is not None:
                ranks, index = known.alignment.ranks, stroke.get("frame")
                if isinstance(index, int | float):
                    stroke["frame"] = float(np.interp(index, np.arange(ranks.size), ranks))
            if "result" in stroke:
                other = self._workspace.known(_whole(stroke.pop("result")))
                stroke["picture"] = str(self._files.get(other.version, other.saved))
            elif "slab" in stroke:
                slabs, k = self._slabs.get(known.version, []), _whole(stroke.pop("slab"))
                if not 0 <= k < len(slabs):
                    raise ParameterError(f"received slab {k}", f"expected 0 to {len(slabs) - 1}")
                stroke["picture"] = str(slab_folder(known.folder) / slabs[k]["file"])
            strokes.append(stroke)
        height, width = stack.shape
        document = {"varfocus_retouch": 1, "width": width, "height": height}
        return Retouch.from_data(document | {"frames": len(stack), "strokes": strokes})


def _used(known: Known) -> list[int]:
    """Return the page's numbers of the frames that a result shows."""
    left_out = {} if known.alignment is None else known.alignment.left_out
    return [frame_id for k, frame_id in enumerate(known.solved.ids) if k not in left_out]


def _whole(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise ParameterError(f"received {value!r}", "expected a whole number")
    return value
