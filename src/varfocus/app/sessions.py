"""Where the work on stacks is kept as it goes: a private folder for each, and the key to the page.

A session is a folder with ``session.json`` (frames by reference, settings, results), copies of
frames that were uploaded, and the results. It outlives the server, and whatever ends it. All of it
can be read by the user alone.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from varfocus.errors import InputError
from varfocus.files import read_json

RECORD = "session.json"
DOOR = "door.json"
KEPT_DAYS = 30
"""Days after which a session that nobody opened is removed."""


def default_root() -> Path:
    """Return where sessions lie on this system."""
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Application Support"
    else:
        base = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state")
    return base / "varfocus" / "sessions"


def write_private(path: Path, content: Any) -> None:
    """Write plain data to a file that the user alone can read, all or nothing."""
    part = path.with_name(f".{path.name}.part")
    handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        json.dump(content, file)
    part.replace(path)


def read_private(path: Path) -> dict[str, Any] | None:
    """Return what `write_private` wrote; None if there is nothing of use."""
    try:
        content = read_json(path)
    except (OSError, ValueError):
        return None
    return content if isinstance(content, dict) else None


@dataclass(frozen=True)
class Door:
    """Where the page was last: a tab that is still open finds it there again.

    Attributes
    ----------
    port : int
        On 127.0.0.1.
    token : str
        The secret that its cookie holds.
    """

    port: int
    token: str


class Shelf:
    """All sessions of a user.

    Parameters
    ----------
    root : Path
        The folder; made, for the user alone, if it is missing.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        root.mkdir(mode=0o700, parents=True, exist_ok=True)
        if hasattr(os, "geteuid"):
            root.chmod(0o700)
        self._forget_old()

    def door(self) -> Door | None:
        """Return where the page was last; None if nobody else but the user may know."""
        path = self.root / DOOR
        known = read_private(path)
        if known is None or (hasattr(os, "geteuid") and path.stat().st_mode & 0o077):
            return None
        port, token = known.get("port"), known.get("token")
        if not isinstance(port, int) or not isinstance(token, str) or len(token) < 43:
            return None
        return Door(port, token)

    def remember(self, door: Door) -> None:
        """Note where the page is now."""
        write_private(self.root / DOOR, {"port": door.port, "token": door.token})

    def new(self) -> Path:
        """Return an empty folder for a session."""
        folder = self.root / f"{time.strftime('%Y%m%d-%H%M%S')}-{secrets.token_hex(3)}"
        folder.mkdir(mode=0o700)
        return folder

    def find(self, name: str) -> Path:
        """Return the folder of a session.

        Raises
        ------
        InputError
            If there is none of that name.
        """
        if name not in {folder.name for folder, _ in self._all()}:
            raise InputError(f"received the session {name[:80]!r}", "expected one of those listed")
        return self.root / name

    def record(self, folder: Path) -> dict[str, Any]:
        """Return what is known of a session; empty if nothing is."""
        return read_private(folder / RECORD) or {}

    def listed(self) -> list[dict[str, Any]]:
        """Return the sessions that have frames, newest first, as plain data."""
        found = [
            {
                "name": folder.name,
                "title": str(record.get("title", folder.name)),
                "frames": len(record["frames"]),
                "results": len(record.get("results", [])),
                "changed": float(record.get("changed", 0.0)),
            }
            for folder, record in self._all()
            if record.get("frames") or record.get("results")
        ]
        return sorted(found, key=lambda one: one["changed"], reverse=True)

    def same_frames(self, given: dict[str, Any]) -> Path | None:
        """Return the newest session that was begun with the same words on the command line."""
        same = [
            (float(record.get("changed", 0.0)), folder)
            for folder, record in self._all()
            if record.get("given") == given
        ]
        return max(same)[1] if same else None

    def remove(self, folder: Path) -> None:
        """Delete a session, unless another server has it open."""
        if (lock := locked(folder)) is not None:
            shutil.rmtree(folder, ignore_errors=True)
            lock.release(force=True)
            Path(lock.lock_file).unlink(missing_ok=True)

    def _all(self) -> Iterator[tuple[Path, dict[str, Any]]]:
        for path in sorted(self.root.glob(f"*/{RECORD}")):
            if (record := read_private(path)) is not None and not path.parent.is_symlink():
                yield path.parent, record

    def _forget_old(self) -> None:
        oldest = time.time() - KEPT_DAYS * 86400
        for folder, record in self._all():
            if float(record.get("changed", 0.0)) < oldest:
                self.remove(folder)


def locked(folder: Path) -> FileLock | None:
    """Return the lock of a session, taken; None if another server has it."""
    lock = FileLock(folder.with_name(f".{folder.name}.lock"))
    try:
        lock.acquire(timeout=0)
    except Timeout:
        return None
    return lock
