"""Stacks that wait for their turn: reconstructed one after the other, each a session of its own.

What is to be done with a stack lies in the folder of its session, beside its record, so that it
outlives the server as the session does. The work is that of a page which nobody looks at: a
`Workspace` that opens one session after the other.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from varfocus.app.opening import ElsewhereError, join
from varfocus.app.schema import NOT_OFFERED
from varfocus.app.session import Session
from varfocus.app.sessions import Shelf, read_private, write_private
from varfocus.app.uploads import Arrived
from varfocus.app.workspace import Workspace
from varfocus.bugs import ours
from varfocus.errors import InputError, ParameterError
from varfocus.params import Params

QUEUED = "queued.json"
"""What is to be done with a stack."""

LOOK_EVERY = 0.2
"""Seconds between two looks whether the page has finished its own work."""

State = Literal["waiting", "done", "failed", "cancelled"]
"""What has become of a stack; one that is worked on is still waiting, should the server end."""


@dataclass
class Running:
    """The stack that is being worked on.

    Attributes
    ----------
    name : str
        Of its session.
    over : asyncio.Future
        What becomes of it.
    busy : dict
        How far it is: stage, done, total, and whether that is in full size.
    """

    name: str
    over: asyncio.Future[tuple[State, str]]
    busy: dict[str, Any] = field(
        default_factory=lambda: {"stage": "starting", "done": 0, "total": 1, "full": False}
    )


class Line:
    """The stacks of a shelf that wait.

    Parameters
    ----------
    shelf : Shelf
        Where their sessions are.
    publish : callable
        Called with all entries, as plain data, whenever one has changed.
    elsewhere : callable
        Whether the page itself has work to do, which goes first.
    """

    def __init__(
        self,
        shelf: Shelf,
        publish: Callable[[list[dict[str, Any]]], None],
        elsewhere: Callable[[], bool],
    ) -> None:
        self._shelf, self._publish, self._elsewhere = shelf, publish, elsewhere
        self._running: Running | None = None
        self._workspace: Workspace | None = None
        self._task: asyncio.Task[None] | None = None
        self._entries = {path.parent.name: e for path in self._files() if (e := read_private(path))}
        self._wake()

    def _files(self) -> list[Path]:
        return sorted(self._shelf.root.glob(f"*/{QUEUED}"))

    async def close(self) -> None:
        """Stop; what is not finished begins anew the next time."""
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task

    # What people do with it

    def add(self, arrived: Arrived, name: str, parameters: dict[str, Any]) -> int:
        """Let files that have arrived wait as a stack.

        Parameters
        ----------
        arrived : Arrived
            The files, in a session of their own.
        name : str
            What the user calls them.
        parameters : dict
            As for `varfocus.params.Params.from_keywords`.

        Returns
        -------
        int
            How many frames are of use.
        """
        if set(parameters) & set(NOT_OFFERED):
            raise ParameterError("received names of files from the page", "expected none")
        Params.from_keywords(**parameters)  # refused here rather than in an hour
        session = Session(arrived.folder, name)
        join(session, arrived)
        session.keep()
        last = max((entry["order"] for entry in self._entries.values()), default=0)
        entry = {"order": last + 1, "parameters": parameters, "state": "waiting", "message": ""}
        self._write(arrived.folder.name, entry | {"title": session.title})
        self._wake()
        return arrived.of_use

    def told(self) -> list[dict[str, Any]]:
        """Return all entries in their order, as plain data."""
        found = []
        for name, entry in self._in_order():
            running = self._running is not None and self._running.name == name
            found.append(
                {
                    "name": name,
                    "title": entry["title"],
                    "method": entry["parameters"].get("method", ""),
                    "state": "running" if running else entry["state"],
                    "message": entry["message"],
                    "busy": self._running.busy if self._running and running else None,
                }
            )
        return found

    def move(self, name: str, by: int) -> None:
        """Put an entry before or behind its neighbour."""
        names = [one for one, _ in self._in_order()]
        here = names.index(self._known(name))
        there = min(max(here + by, 0), len(names) - 1)
        names.insert(there, names.pop(here))
        for k, one in enumerate(names):
            if self._entries[one]["order"] != k:
                self._write(one, self._entries[one] | {"order": k}, quietly=True)
        self._tell()

    def cancel(self, name: str) -> None:
        """Stop the work on an entry, at once; or let one that waits not have its turn."""
        entry = self._entries[self._known(name)]
        if self._running is not None and self._running.name == name:
            if self._workspace is not None:
                self._workspace.solving.cancel()
            self._end("cancelled")
        elif entry["state"] == "waiting":
            self._write(name, entry | {"state": "cancelled"})

    def again(self, name: str) -> None:
        """Let an entry wait again."""
        self._write(self._known(name), self._entries[name] | {"state": "waiting", "message": ""})
        self._wake()

    def remove(self, name: str) -> None:
        """Forget that an entry is or was to be done; its session, and its results, stay."""
        self.cancel(name)
        del self._entries[name]
        (self._shelf.root / name / QUEUED).unlink(missing_ok=True)
        self._tell()

    async def let_go(self, name: str, *, deleted: bool = False) -> None:
        """Leave a session to the page, where it is opened by hand, or deleted."""
        if name in self._entries and (deleted or self._entries[name]["state"] == "waiting"):
            self.remove(name)
        while self._running is not None and self._running.name == name:
            await asyncio.sleep(LOOK_EVERY / 10)

    def _known(self, name: str) -> str:
        if name not in self._entries:
            raise InputError(f"received the stack {name[:80]!r}", "expected one of those that wait")
        return name

    # The work

    def _in_order(self) -> list[tuple[str, dict[str, Any]]]:
        return sorted(self._entries.items(), key=lambda item: item[1]["order"])

    def _write(self, name: str, entry: dict[str, Any], *, quietly: bool = False) -> None:
        self._entries[name] = entry
        with contextlib.suppress(FileNotFoundError):  # the session was deleted meanwhile
            write_private(self._shelf.root / name / QUEUED, entry)
        if not quietly:
            self._tell()

    def _tell(self) -> None:
        self._publish(self.told())

    def _wake(self) -> None:
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._work())

    def _next(self, but: set[str]) -> str | None:
        waiting = (n for n, e in self._in_order() if e["state"] == "waiting" and n not in but)
        return next(waiting, None)

    async def _work(self) -> None:
        """Do one after the other until none waits; those that are open elsewhere are left."""
        busy_elsewhere: set[str] = set()
        try:
            while self._next(busy_elsewhere) is not None:
                while self._elsewhere():
                    await asyncio.sleep(LOOK_EVERY)
                name = self._next(busy_elsewhere)
                if name is not None and not await self._one(name):
                    busy_elsewhere.add(name)
        finally:
            self._running = None
            if self._workspace is not None:
                self._workspace.close()
            self._workspace = None

    async def _one(self, name: str) -> bool:
        """Reconstruct one stack; False if it is open elsewhere."""
        entry = read_private(self._shelf.root / name / QUEUED)
        if entry is None or entry["state"] != "waiting":  # deleted, or another server has done it
            self._entries.pop(name)
            if entry is not None:
                self._entries[name] = entry
            self._tell()
            return True
        loop = asyncio.get_running_loop()
        self._running = running = Running(name, loop.create_future())
        self._tell()
        if self._workspace is None:
            self._workspace = Workspace(self._hear, self._shelf)
        workspace = self._workspace
        try:
            await workspace.opening.reopen(name)
            if not running.over.done():  # else it was cancelled while it was opened
                workspace.solving.solve(self._entries[name]["parameters"], settled=True)
        except ElsewhereError:
            self._running = None
            self._tell()
            return False
        except Exception as error:  # of a record by another version, say: the next stack goes on
            self._end("failed", str(ours(error)))
        state, message = await running.over
        workspace.opening.clear("new")  # anybody may open it from now on
        self._running = None
        if name in self._entries:
            self._write(name, self._entries[name] | {"state": state, "message": message})
        return True

    def _hear(self, event: dict[str, Any]) -> None:
        """Act on what would be told to a page."""
        running = self._running
        if running is None:
            return
        kind = event["kind"]
        if kind == "progress" and self._workspace is not None and self._workspace.solving.busy:
            running.busy |= {key: event[key] for key in ("stage", "done", "total")}
            self._tell()
        elif kind == "result":
            running.busy["full"] = True
        elif kind == "saved":
            self._end("done")
        elif kind == "failed":
            self._end("failed", event["message"])

    def _end(self, state: State, message: str = "") -> None:
        if self._running is not None and not self._running.over.done():
            self._running.over.set_result((state, message))
