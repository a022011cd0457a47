"""Strokes that wait for something, and what happens meanwhile."""

from __future__ import annotations

import asyncio
import itertools
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from varfocus.app.frames import PageFrame
from varfocus.app.jobs import ApplyStrokes, Known, LayFrame
from varfocus.app.queue import SupersededError
from varfocus.app.retouching import Retouching
from varfocus.app.workspace import Workspace
from varfocus.params import Params
from varfocus.simulation import simulate
from varfocus.stack import FocusStack

VERSION = 7
DOT: dict[str, Any] = {"tool": "paint", "points": [[9, 9]], "radius": 3}


class Desk:
    """A workspace of five frames, the third left out, that does what it is told when it is told."""

    def __init__(self, folder: Path) -> None:
        stack = simulate("steps", shape=(24, 32), n=5).stack
        frames = [
            PageFrame(k, f"{k}.png", frame, None, None) for k, frame in enumerate(stack.frames)
        ]
        used = FocusStack([frame for k, frame in enumerate(stack.frames) if k != 2])
        params = Params()
        solved = SimpleNamespace(stack=used, ids=(0, 1, 3, 4), params=params)
        self._known = Known(VERSION, solved, None, folder / "saved", folder)  # type: ignore[arg-type]
        self.session = SimpleNamespace(
            frames=frames, shape=(24, 32), results={VERSION: {}}, command=lambda _: ""
        )
        self._showing: dict[Path, Any] = {}
        self.numbers = itertools.count()
        self.jobs: list[Any] = []
        self.doing: asyncio.Queue[asyncio.Future[dict[str, Any]]] = asyncio.Queue()
        self.complaints: list[str] = []

    position, tiled = Workspace.position, Workspace.tiled

    def known(self, version: int) -> Known:
        return self._known

    def number(self) -> int:
        return next(self.numbers)

    def changed(self, version: int, **about: Any) -> None:
        self.session.results[version] |= about

    def complain(self, message: str) -> None:
        self.complaints.append(message)

    async def done(self, job: Any, *, thorough: bool = False) -> dict[str, Any]:
        self.jobs.append(job)
        future: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        await self.doing.put(future)
        return await future


APPLIED = {"changed": [], "maps": {}, "sure": 0, "unsure": 0, "unknown": 0}


def test_strokes_that_wait_for_a_frame_do_not_undo_newer_ones(tmp_path: Path) -> None:
    async def story() -> None:
        desk = Desk(tmp_path)
        retouching = Retouching(desk)  # type: ignore[arg-type]
        slow = asyncio.ensure_future(retouching.draw(VERSION, [DOT | {"frame": 2}]))
        laying = await desk.doing.get()
        quick = asyncio.ensure_future(retouching.draw(VERSION, [DOT | {"frame": 3}]))
        (await desk.doing.get()).set_result(APPLIED)
        await quick
        laying.set_result({})
        with pytest.raises(SupersededError):
            await slow
        assert [type(job) for job in desk.jobs] == [LayFrame, ApplyStrokes]
        assert retouching.about(VERSION)["strokes"] == [DOT | {"frame": 3}]
        retouching.clear()

    asyncio.run(story())


def test_strokes_are_drawn_also_if_a_reconstruction_is_cancelled_meanwhile(tmp_path: Path) -> None:
    async def story() -> None:
        desk = Desk(tmp_path)
        retouching = Retouching(desk)  # type: ignore[arg-type]
        drawing = asyncio.ensure_future(retouching.draw(VERSION, [DOT | {"frame": 2}]))
        dropped = SupersededError()
        for answer in (dropped, {}, dropped, APPLIED):  # the frame is laid, and the strokes drawn
            future = await desk.doing.get()
            if isinstance(answer, Exception):
                future.set_exception(answer)
            else:
                future.set_result(answer)
        await drawing
        assert [type(job) for job in desk.jobs] == [LayFrame] * 2 + [ApplyStrokes] * 2
        assert len({job.id for job in desk.jobs}) == 4
        assert retouching.about(VERSION)["strokes"] == [DOT | {"frame": 2}]
        retouching.clear()

    asyncio.run(story())


def test_strokes_whose_source_is_gone_do_not_keep_others_from_the_next_result(
    tmp_path: Path,
) -> None:
    async def story() -> None:
        desk = Desk(tmp_path)
        retouching = Retouching(desk)  # type: ignore[arg-type]
        kept = DOT | {"frame": 0}
        drawn = [kept, DOT | {"result": 5}, DOT | {"slab": 0}, DOT | {"frame": 99}]
        retouching._last = (0, 1, 3, 4), drawn
        retouching.carry(VERSION)
        (await desk.doing.get()).set_result(APPLIED)
        await asyncio.gather(*retouching._carrying)
        assert desk.complaints == []
        assert retouching.about(VERSION)["strokes"] == [kept]
        retouching.clear()

    asyncio.run(story())
