"""Reconstructions of the page: what is asked for, how far it is, and what has come of it.

A change is answered by a sketch from the quick worker, and in full by the thorough one when it has
settled; whatever was being done before is dropped, but a result that is there is always written.
"""

from __future__ import annotations

import asyncio
import shutil
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from varfocus.app.jobs import Drop, OpenResult, Save, Solve
from varfocus.app.queue import Report
from varfocus.app.schema import NOT_OFFERED
from varfocus.app.session import FEWEST, names_in
from varfocus.errors import ParameterError
from varfocus.export import MASK
from varfocus.params import Params

if TYPE_CHECKING:
    from varfocus.app.workspace import Workspace

KEPT_RESULTS = 24
"""Results that stay available; those that are pinned always do."""

KEPT_WITHOUT_ROOM = 8
"""Results that stay where the disk is nearly full."""

ROOM = 8 << 30
"""Bytes of free disk below which it is."""

UNNAMED = {"name": "", "pinned": False, "deleted": False}
"""What the user says about a result, before anything is said."""


class Solving:
    """The reconstructions of a page.

    Parameters
    ----------
    workspace : Workspace
        Whose frames, workers and results.

    Attributes
    ----------
    busy : dict or None
        What is being done: version, stage, done and total.
    """

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self.busy: dict[str, Any] | None = None
        self._asked: dict[int, Solve] = {}
        self.clear()

    def clear(self) -> None:
        """Expect nothing any more."""
        self._sketch: tuple[int, dict[str, NDArray[Any]]] | None = None
        self._wanted = 0

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
        workspace, session = self._workspace, self._workspace.session
        for name in NOT_OFFERED:
            if name in keywords:
                raise ParameterError(f"received {name} from the page", "expected no names of files")
        params = Params.from_keywords(**keywords, mask=MASK if session.mask else None)
        stack, ids = session.stack()
        if params.area.box is not None:
            stack.cropped(params.area.box)  # refused here if it does not fit
        version = self._wanted = workspace.number()
        folder = session.folder / "results" / str(version)
        job = Solve(version, stack, ids, params, folder / "full", preview=True, mask=session.mask)
        self._asked = {version: job} if settled else {}
        workspace.made[version] = job
        self.busy = {"version": version, "stage": "starting", "done": 0, "total": 1}
        workspace.thorough.send(Drop(workspace.number()))
        workspace.quick.send(job)
        workspace.publish({"kind": "busy", **self.busy})
        return version

    def cancel(self) -> None:
        """Stop whatever is being reconstructed, at once; what there is already is still written."""
        workspace = self._workspace
        if self.busy is not None:
            writing = self.busy["stage"] == "writing"
            self.busy, self._asked = None, {}
            self._wanted = 0
            if not writing:
                workspace.thorough.restart()
            workspace.quick.restart()
            # Behind what the workers said before they ended: progress heard later stays for ever.
            asyncio.get_running_loop().call_soon(workspace.publish, {"kind": "idle"})
            if workspace.preview_size is None and len(workspace.session.included()) >= FEWEST:
                workspace.load()  # frames that were being read were dropped as well

    def show_result(self, job: OpenResult) -> None:
        """Show a result that was made elsewhere."""
        self._wanted = job.id
        self.busy = {"version": job.id, "stage": "reading", "done": 0, "total": 1}
        self._workspace.thorough.send(job)

    def sketch(self, version: int) -> dict[str, NDArray[Any]] | None:
        """Return maps and all-in-focus image of the newest result at preview size."""
        return self._sketch[1] if self._sketch is not None and self._sketch[0] == version else None

    def hear(self, message: Report) -> None:
        """Act on what a worker says of a reconstruction."""
        workspace = self._workspace
        number, kind = message["id"], message["kind"]
        if kind == "progress":
            self._advance(message)
        elif kind == "done" and message.get("saved") in workspace.session.results:
            self._written(message["saved"])
        elif kind == "done" and number == self._wanted:
            self._finish(message)
        elif kind == "failed" and number == self._wanted:
            self.busy = None
            workspace.publish({"kind": "failed", "version": number, "message": message["message"]})
        elif kind == "failed" and number not in workspace.made:  # an older change matters no more
            if self.busy is not None and self.busy["stage"] == "writing":
                self.busy = None
            workspace.publish({"kind": "failed", "message": message["message"]})

    def _written(self, version: int) -> None:
        """Know that the files of a result are there."""
        workspace = self._workspace
        files = names_in(workspace.folder_of(version) / "result")
        workspace.session.results[version] |= {"saved": True, "files": files}
        if self.busy is not None and self.busy["version"] == version:
            self.busy = None
        workspace.publish({"kind": "saved", "version": version, "files": files})
        workspace.keep()

    def _advance(self, message: Report) -> None:
        if message["id"] == self._wanted and self.busy is not None:
            self.busy |= {key: message[key] for key in ("stage", "done", "total")}
        self._workspace.publish(
            {key: message[key] for key in ("kind", "id", "stage", "done", "total")}
        )

    def _finish(self, message: Report) -> None:
        workspace, session = self._workspace, self._workspace.session
        version = message["id"]
        asked = self._asked.get(version)
        preview = version not in session.saved and (asked is None or asked.preview)
        kept_here = ("id", "kind", "sketch", "alignment")
        about = {key: value for key, value in message.items() if key not in kept_here}
        if "alignment" in message:
            workspace.alignments[version] = message["alignment"]
        self._sketch = (version, message["sketch"]) if preview else None
        opened = version in session.saved
        about |= {"version": version, "preview": preview, "saved": opened, "opened": opened}
        before = session.results.get(version, {})
        made = workspace.made.get(version)
        about |= {key: before.get(key, value) for key, value in UNNAMED.items()}
        about |= {"made": time.time(), "frames": [] if made is None else list(made.ids)}
        about |= {"sketched": before.get("sketched")}
        if preview:
            about["sketched"] = {"sure": about["sure"], "range": about["maps"]["depth"]["range"]}
        about["files"] = names_in(session.saved[version]) if opened else []
        about |= workspace.retouching.about(version)
        session.results[version] = about
        self._forget_old()
        self.busy = None
        if asked is not None:
            about["command"] = session.command(asked.params)
            full = replace(asked, preview=False)
            if preview:
                self.busy = {"version": version, "stage": "in full size", "done": 0, "total": 1}
                self._asked[version] = full
                workspace.thorough.send(full)
            else:
                number = workspace.number()
                self.busy = {"version": version, "stage": "writing", "done": 0, "total": 1}
                workspace.thorough.send(
                    Save(number, version, full.folder / "result", about["command"])
                )
                workspace.retouching.carry(version)
        workspace.publish({"kind": "result", "result": about, "busy": self.busy})
        if opened:
            workspace.keep()

    def _forget_old(self) -> None:
        """Keep the newest results, and of previews only the newest."""
        workspace, session = self._workspace, self._workspace.session
        newest = max(session.results)
        old = [v for v, result in session.results.items() if result["preview"] and v != newest]
        loose = [v for v, r in session.results.items() if not r["preview"] and not r["pinned"]]
        roomy = shutil.disk_usage(session.folder).free >= ROOM
        old += sorted(loose)[: -(KEPT_RESULTS if roomy else KEPT_WITHOUT_ROOM)]
        for version in old:
            del session.results[version]
            workspace.made.pop(version, None)
            workspace.alignments.pop(version, None)
            shutil.rmtree(session.folder / "results" / str(version), ignore_errors=True)
