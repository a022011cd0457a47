"""Files that the page sends: looked at as they arrive, no part of anything until all are here."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from varfocus.app.frames import NamedFrame, PageFrame
from varfocus.errors import InputError, VarfocusError
from varfocus.stack import FRAMES
from varfocus.units import PixelSize

if TYPE_CHECKING:
    from varfocus.app.workspace import Workspace

Mode = Literal["add", "replace", "new", "queue"]
"""What happens to the frames that are open when others come: they stay and the others join them,
they go, they are kept as a session of their own, or nothing: the others wait for their turn."""


@dataclass
class Arrived:
    """Files that have arrived for one purpose.

    Attributes
    ----------
    folder : Path
        Of the session that they will belong to.
    own : bool
        Whether that session is a new one, of them alone.
    frames : list of PageFrame
        What is in them; also what cannot be read, with its problem.
    pixel : PixelSize or None
        Size of a pixel, as the first file says.
    unit : str
        Of focus positions, as the first file says.
    """

    folder: Path
    own: bool
    frames: list[PageFrame] = field(default_factory=list)
    pixel: PixelSize | None = None
    unit: str = FRAMES

    @property
    def of_use(self) -> int:
        """How many frames can be read."""
        return sum(one.frame is not None for one in self.frames)

    def forget(self) -> None:
        """Delete the files."""
        if self.own:
            shutil.rmtree(self.folder, ignore_errors=True)
        else:
            for one in self.frames:
                if one.stored is not None:
                    one.stored.unlink(missing_ok=True)


class Uploads:
    """What arrives, by what will happen to it.

    Parameters
    ----------
    workspace : Workspace
        Whose worker looks at the files.
    """

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._arrived: dict[Mode, Arrived] = {}

    def clear(self) -> None:
        """Forget what was to join the frames that are open; these are no longer open."""
        self._arrived = {mode: one for mode, one in self._arrived.items() if one.own}

    def close(self) -> None:
        """Delete whatever was never taken in."""
        for arrived in self._arrived.values():
            arrived.forget()

    def _of(self, mode: Mode) -> Arrived:
        session = self._workspace.session
        if mode not in self._arrived:
            own = mode == "queue" or not (mode == "add" or session.empty)
            folder = self._workspace.shelf.new() if own else session.folder
            self._arrived[mode] = Arrived(folder, own)
        return self._arrived[mode]

    def folder(self, mode: Mode) -> Path:
        """Return where files go: into the session that they will belong to."""
        uploads = self._of(mode).folder / "uploads"
        uploads.mkdir(exist_ok=True)
        return uploads

    async def add(self, mode: Mode, path: Path, name: str) -> None:
        """Look at a file.

        Raises
        ------
        InputError
            If it is not an image; names the file as the user does.
        """
        number, arrived = self._workspace.number, self._of(mode)
        try:
            found = await self._workspace.looked_at(path)
        except VarfocusError as error:
            words = [str(part).replace(str(path), name) for part in error.args]
            problem = "\n".join(filter(None, words))
            arrived.frames.append(PageFrame(number(), name, None, None, None, problem=problem))
            raise InputError(*words) from error
        sizes = found.calibration
        if not arrived.of_use:  # a microscope's file knows its scale
            arrived.pixel = sizes.pixel_size
            arrived.unit = sizes.unit if sizes.focus else FRAMES
        several = len(found.frames) > 1
        for k, frame in enumerate(found.frames):
            called = f"{name}[{k}]" if several else name
            named = NamedFrame(frame, called)
            position = float(sizes.focus[k]) if sizes.focus else None
            new = PageFrame(number(), called, named, None, position, stored=path, page=k)
            arrived.frames.append(new)

    def taken(self, mode: Mode) -> Arrived | None:
        """Hand over what has arrived; None, and it is deleted, if nothing of it is of use."""
        arrived = self._arrived.pop(mode, None)
        if arrived is not None and not arrived.of_use:
            if arrived.own:
                arrived.forget()
            return None
        return arrived

    def drop(self, mode: Mode) -> None:
        """Delete what is not wanted after all."""
        if (arrived := self._arrived.pop(mode, None)) is not None:
            arrived.forget()
