"""Which session the page works on: opened, left, kept, and opened again."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from filelock import FileLock
from natsort import natsorted, ns

from varfocus.align.alignment import read_record
from varfocus.app.frames import NamedFrame, PageFrame, marked, usable
from varfocus.app.jobs import OpenResult, Solve
from varfocus.app.session import FEWEST, Session, focus_of, names_in, options_of, stamp_of
from varfocus.app.sessions import RECORD, locked
from varfocus.app.uploads import Arrived, Uploads
from varfocus.errors import InputError, ParameterError, VarfocusError
from varfocus.export import MASK, RUN_RECORD
from varfocus.export.saved import SavedResult
from varfocus.io import read_stack
from varfocus.io.calibration import Focus, open_stack
from varfocus.io.frames import Found
from varfocus.io.selection import Selection
from varfocus.params import Params
from varfocus.stack import FocusStack, Frame

if TYPE_CHECKING:
    from varfocus.app.workspace import Workspace


class ElsewhereError(InputError):
    """A session that another workspace has open, of this server or of another."""


class Opening:
    """The session of a page.

    Parameters
    ----------
    workspace : Workspace
        Where its frames and results are worked on.
    """

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._lock: FileLock | None = None
        self.replaced: Path | None = None
        self.uploads = Uploads(workspace)

    def close(self) -> None:
        """Leave the session; it stays, if there is one, and what was replaced goes."""
        self.leave("new")
        self._forget_replaced()
        self.uploads.close()

    def occupy(self, folder: Path, lock: FileLock | None = None) -> None:
        """Work in a session's folder, which is then nobody else's."""
        self._lock = lock or _lock_of(folder)
        self._workspace.work_on(Session(folder))
        self.uploads.clear()

    def leave(self, mode: Literal["new", "replace"]) -> None:
        """End the work on a session: keep it, or hold it back until it is certain that it goes."""
        session = self._workspace.session
        self._workspace.keep_now()
        for version in [v for v, result in session.results.items() if result["deleted"]]:
            shutil.rmtree(session.folder / "results" / str(version), ignore_errors=True)
        if self._lock is not None:
            self._lock.release(force=True)
        if session.empty and not (session.folder / RECORD).exists():
            self._workspace.shelf.remove(session.folder)
        elif mode == "replace":
            self._forget_replaced()
            self.replaced = session.folder

    def _forget_replaced(self) -> None:
        if self.replaced is not None:
            self._workspace.shelf.remove(self.replaced)
        self.replaced = None

    def clear(self, mode: Literal["new", "replace"] = "replace") -> None:
        """Begin a new session."""
        self._workspace.solving.cancel()
        self.leave(mode)
        self.occupy(self._workspace.shelf.new())
        self._workspace.tell()

    # Frames

    async def begin(self, stack: FocusStack, source: Sequence[str], focus: Focus) -> None:
        """Work on the frames of the command line; on with what was done with them before."""
        shelf = self._workspace.shelf
        sources = [str(Path(one).absolute()) for one in source]
        given = {"source": sources, "options": options_of(focus)}
        folder = shelf.same_frames(given)
        if folder is not None:
            known = [f for f in shelf.record(folder)["frames"] if f["own"]]
            here = {
                (str(path), *(stamp_of(path) or ()))
                for path in (file.absolute() for file in stack.files)
            }
            if here and here == {(f["file"], *(f["stamp"] or ())) for f in known}:
                with suppress(VarfocusError):  # open in another varfocus
                    await self.reopen(folder.name)
                    return
        self.open(stack, source, focus)
        self._workspace.session.given = given

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
        if not self._workspace.session.empty:
            self.clear("replace")
        files: Sequence[Path | None] = stack.files or [None] * len(stack)
        paths = files if len(files) == len(stack) else [files[0]] * len(stack)
        positions = [None] * len(stack) if stack.focus is None else stack.focus.tolist()
        session = self._workspace.session
        session.frames = [
            PageFrame(
                self._workspace.number(),
                frame.name,
                frame,
                path,
                position,
                stored=path,
                page=getattr(frame, "page", 0),
            )
            for frame, path, position in zip(stack.frames, paths, positions, strict=True)
        ]
        session.unit, session.inverted = stack.unit, stack.inverted
        session.pixel = stack.pixel_size
        session.source, session.focus, session.recipe = source, focus, recipe
        session.opened = [frame.id for frame in session.frames]
        self._workspace.load()

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
        workspace, session = self._workspace, self._workspace.session
        version = workspace.number()
        session.saved[version] = saved.folder
        if session.frames:
            stack, ids = session.stack()
            with suppress(ParameterError):  # a focus measure that was a function draws no curves
                params = Params.from_keywords(**saved.record["parameters"])
                made = Solve(version, stack, ids, params, saved.folder, preview=False)
                workspace.made[version] = made
            with suppress(ParameterError):  # the frames may have been replaced since
                workspace.alignments[version] = read_record(saved.folder, stack)
            if (saved.folder / MASK).is_file():
                session.mask = session.base_mask = saved.folder / MASK
        workspace.solving.show_result(
            OpenResult(version, saved.folder, workspace.folder_of(version))
        )

    def added(self, mode: Literal["add", "replace", "new"], name: str = "") -> int:
        """Take the uploaded files in; none of the frames before is touched if none is of use.

        Parameters
        ----------
        mode : {"add", "replace", "new"}
            What happens to the frames that are open.
        name : str
            What the user calls a new stack.

        Returns
        -------
        int
            How many frames are of use.
        """
        arrived = self.uploads.taken(mode)
        if arrived is None:
            return 0
        workspace = self._workspace
        if arrived.own:
            workspace.solving.cancel()
            self.leave("replace" if mode == "replace" else "new")
            self.occupy(arrived.folder)
        if not workspace.session.frames:
            workspace.session.name = name
        join(workspace.session, arrived)
        if len(workspace.session.included()) >= FEWEST:
            workspace.load()
        workspace.tell()
        return arrived.of_use

    # What was kept

    async def reopen(self, name: str) -> None:
        """Go on with a session that was kept; the one that is open stays, too."""
        workspace = self._workspace
        folder = workspace.shelf.find(name)
        if folder == workspace.session.folder:
            return
        record = workspace.shelf.record(folder)
        lock = _lock_of(folder)
        try:
            frames = await self._frames_of(folder, record)
        except BaseException:
            lock.release(force=True)
            raise
        # From here on nothing is waited for: whatever else is opened finds all or nothing of it.
        workspace.solving.cancel()
        if folder == self.replaced:
            self.replaced = None
        self.leave("new")
        self.occupy(folder, lock)
        workspace.session.frames = frames
        workspace.session.take_over(record)
        for about in record["results"]:
            self._restore_result(about)
        if len(workspace.session.included()) >= FEWEST:
            workspace.load()
        workspace.tell()

    async def _frames_of(self, folder: Path, record: dict[str, Any]) -> list[PageFrame]:
        """Return the frames that a record refers to; files that are gone are marked."""
        chosen = focus_of(record["options"]) or Focus()
        selection = Selection(chosen.channel, chosen.time, chosen.series)
        found: dict[str, Found | str] = {}
        named = await _given_again(record["given"], chosen)
        frames = []
        for about in record["frames"]:
            file, name, frame, problem = about["file"], about["name"], None, about["problem"]
            path = None if file is None else folder / file
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
        return marked(frames)

    def _restore_result(self, about: dict[str, Any]) -> None:
        """Know a result again, and how it was made, so that its pixels can be asked about."""
        workspace, session = self._workspace, self._workspace.session
        version, folder = about["version"], about.pop("folder")
        if folder is not None:
            session.saved[version] = Path(folder)
        session.results[version] = about
        lost = workspace.retouching.restore(version, about, workspace.folder_of(version))
        files = workspace.files_of(version)
        if not (files / RUN_RECORD).is_file():  # it was still being written
            del session.results[version]
            return
        about |= {"saved": True, "files": names_in(files)}
        by_id = {f.id: (f, frame) for f, frame in usable(session.frames)}
        if not about["frames"] or not all(i in by_id for i in about["frames"]):
            return
        with suppress(VarfocusError):  # everything but curves works without
            stack = session.stack_of([by_id[i] for i in about["frames"]])
            ids, folder = tuple(about["frames"]), workspace.folder_of(version)
            params = Params.from_keywords(**about["parameters"])
            workspace.made[version] = Solve(version, stack, ids, params, folder, preview=False)
            workspace.alignments[version] = read_record(files, stack)
            if lost is not None:
                workspace.retouching.draw_soon(version, lost)

    async def _looked_at(self, path: Path, name: str, selection: Selection) -> Found | str:
        """Return what is in a file, or why that cannot be said."""
        if not path.is_file():
            return f"{name} is not there any more: left out"
        try:
            return await self._workspace.looked_at(path, selection)
        except VarfocusError as error:
            return str(error).replace(str(path), name)


async def _given_again(given: dict[str, Any] | None, focus: Focus) -> dict[str, Frame]:
    """Return the frames of the command line by name, with all that its options do to them."""
    if given is None:
        return {}
    try:
        stack = await asyncio.to_thread(open_stack, given["source"], focus)
    except VarfocusError:  # some are gone: those that are left are looked at one by one
        return {}
    return dict(zip(stack.names, stack.frames, strict=True))


def join(session: Session, arrived: Arrived) -> None:
    """Let files that have arrived take part in a session, in the order of their names."""
    if not session.frames:
        session.pixel, session.unit = arrived.pixel, arrived.unit
    together = [*session.frames, *arrived.frames]
    session.take_in(marked(natsorted(together, key=lambda f: f.name, alg=ns.IGNORECASE)))


def _lock_of(folder: Path) -> FileLock:
    """Take a session for one workspace alone."""
    lock = locked(folder)
    if lock is None:
        raise ElsewhereError(
            "this work is open in another varfocus", "expected one that is not", "Close it there."
        )
    return lock
