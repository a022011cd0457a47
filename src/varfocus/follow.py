"""Live stacking: a preview after every frame that a camera writes, and the files when it is done.

Folders are polled, which also works on network drives. A file is complete when neither its size nor
its time has changed from one look to the next. Previews are made of small copies of the frames,
each of which is decoded once.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from varfocus.align.warp import shrink
from varfocus.errors import FocusPositionsError, NoFramesError
from varfocus.export.figures import Panel, panels
from varfocus.io.calibration import Focus, calibrated
from varfocus.io.discover import find_files
from varfocus.io.read import read_stack
from varfocus.params import AlignParams, AreaParams, Params, Resources
from varfocus.pipeline import run
from varfocus.stack import FocusStack

LIVE = "live.png"
"""The preview, in the folder of the results."""

LEAST = 3
"""Frames of a stack."""

LOOK_EVERY = 0.5
"""Seconds between two looks."""

PREVIEW_PIXELS = 250_000
"""Frames of a preview are shrunk by a whole factor to at most this many pixels."""


def arriving(
    folder: Path,
    *,
    frames: int | None = None,
    settle: float = 15.0,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> Iterator[list[Path]]:
    """Yield the complete frames in a folder whenever there are more, until there are all.

    Parameters
    ----------
    folder : Path
        Where they are written; it need not exist yet.
    frames : int, optional
        How many there will be; by default that is not known.
    settle : float
        Seconds without a change after which a stack of at least three frames is complete, if
        `frames` is None.
    clock, sleep : callable
        The time in seconds, and how to wait.

    Yields
    ------
    list of Path
        All complete frames in natural order, from the third on. The last is the whole stack.
    """
    before: dict[Path, tuple[int, int]] = {}
    yielded, changed = 0, clock()
    while True:
        now = _states(folder)
        if now != before:
            changed = clock()
        complete = [path for path, state in now.items() if before.get(path) == state]
        before = now
        if len(complete) > yielded and len(complete) >= LEAST:
            yielded = len(complete)
            yield complete
            if frames is not None and yielded >= frames:
                return
        elif frames is None and yielded == len(now) >= LEAST and clock() - changed >= settle:
            return
        sleep(LOOK_EVERY)


def _states(folder: Path) -> dict[Path, tuple[int, int]]:
    """Return size and time of every frame in a folder."""
    try:
        states = {path: path.stat() for path in find_files(folder) if path != folder}
    except (NoFramesError, OSError):  # nothing yet, or a file that was just renamed
        return {}
    return {path: (state.st_size, state.st_mtime_ns) for path, state in states.items()}


class Live:
    """Makes previews of a stack that grows.

    Parameters
    ----------
    params : Params
        How the stack will be reconstructed; previews are sketches of that.
    focus : Focus
        What the user says about the frames.
    resources : Resources
        What a preview may use.
    """

    def __init__(self, params: Params, focus: Focus, resources: Resources = Resources()) -> None:
        align = params.align
        if align.transforms_from is not None:
            align = AlignParams()
        # Crop and mask count pixels of the whole frames.
        self._params = replace(params, area=AreaParams(), align=align)
        self._focus, self._resources = focus, resources
        self._small: dict[Path, NDArray[Any]] = {}

    def preview(self, files: Sequence[Path]) -> bytes:
        """Return a PNG of all-in-focus image and depth of the frames so far.

        Parameters
        ----------
        files : sequence of Path
            Complete frames.

        Returns
        -------
        bytes
            The PNG. Depth is in frames while there are fewer frames than focus positions.

        Raises
        ------
        VarfocusError
            If these frames make no stack.
        """
        focus = self._focus
        stack = read_stack(
            list(files),
            reverse=focus.reverse,
            channel=focus.channel,
            time=focus.time,
            series=focus.series,
            limits=focus.limits,
        )
        factor = max(1, int(np.ceil(np.sqrt(stack.shape[0] * stack.shape[1] / PREVIEW_PIXELS))))
        for frame, path in zip(stack.frames, stack.files, strict=True):
            if path not in self._small:
                self._small[path] = shrink(frame.read(), factor, stack.scale)
        small = FocusStack.from_array(np.stack([self._small[path] for path in stack.files]))
        try:
            small = calibrated(small, replace(focus, pixel_size=None))
        except FocusPositionsError:  # as many as there will be frames
            small = replace(small, inverted=focus.invert)
        result = run(small, self._params, resources=self._resources, sketch=True)
        title = f"all in focus, {len(stack)} frames"
        pictures = [Panel(title, result.fused, photo=True), Panel("depth", result.depth)]
        return panels(pictures, result.unit, columns=2)
