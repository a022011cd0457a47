"""One plan: whoever begins a job, the same stack and memory lead to the same decision."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from varfocus import engine, plan, reconstruct, reconstruct_into
from varfocus.app.jobs import Bench, Solve
from varfocus.batch.dry_run import planned_rows
from varfocus.batch.stacks import Stack
from varfocus.canvas import budget
from varfocus.cli import depth as cli_depth
from varfocus.cli import fuse as cli_fuse
from varfocus.errors import TooLargeError, VarfocusError
from varfocus.job import Job
from varfocus.params import Params, Resources
from varfocus.progress import silent
from varfocus.stack import FocusStack
from varfocus.units import size_words

pytestmark = pytest.mark.skipif(not engine.in_use(), reason="tiles need the engine")


@dataclass(frozen=True)
class Unread:
    """A frame of which only the size matters."""

    name: str
    shape: tuple[int, ...]
    windowed: bool = False
    dtype = np.dtype(np.uint8)

    def read(self):
        raise AssertionError("a plan is made before any pixel is read")

    def read_window(self, rows, columns):
        return self.read()


def frames(n: int, height: int, width: int, channels: int = 3, windowed: bool = False):
    shape = (height, width) if channels == 1 else (height, width, channels)
    return FocusStack([Unread(f"{k}", shape, windowed) for k in range(n)])


CASES = [
    (frames(20, 3648, 5472), "4GB", "robust", True),
    (frames(20, 3648, 5472), "16GB", "robust", False),
    (frames(20, 3648, 5472), "1GB", "robust", True),
    (frames(10, 3648, 5472, 1), "4GB", "robust", True),
    (frames(10, 3648, 5472, 1), "8GB", "robust", False),
    (frames(12, 1000, 1500), "1GB", "robust", False),
    (frames(12, 1000, 1500), "300MB", "paper", False),
    (frames(100, 2000, 3000), "2GB", "robust", True),
    (frames(8, 30000, 30000, 1, True), "4GB", "robust", True),
    (frames(8, 30000, 30000, 1, True), "200MB", None, False),
]
"""Frames, memory, the method, and whether in tiles; None if it cannot be done."""


class PlannedError(Exception):
    """Carries the plan out of whoever asked for it."""


@pytest.fixture
def asked(monkeypatch):
    """Let whoever asks for a plan stop with it."""
    real = plan.plan

    def stop(*args, **options):
        raise PlannedError(real(*args, **options))

    for user in ("pipeline", "job", "cli.fuse"):
        monkeypatch.setattr(f"varfocus.{user}.plan", stop)


def plans(stack: FocusStack, folder: Path, monkeypatch) -> dict[str, object]:
    """Return what each way in decides, or the refusal in words."""
    for command in (cli_depth, cli_fuse):
        monkeypatch.setattr(command, "load", lambda *_: stack)
    job = Job(("shots",))
    ways = {
        "python": lambda: reconstruct(stack),
        "into": lambda: reconstruct_into(folder / "into", stack),
        "page": lambda: Solve(1, stack, (), Params(), folder / "page", False).run(Bench(), silent),
        "depth": lambda: cli_depth.depth(["shots"], output=folder / "depth"),
        "fuse": lambda: cli_fuse.fuse(["shots"], output=folder / "fused.png"),
        "batch": lambda: job.plan(stack, Resources()),
    }
    found: dict[str, object] = {}
    for name, way in ways.items():
        try:
            way()
        except PlannedError as made:
            found[name] = made.args[0]
        except VarfocusError as error:
            found[name] = str(error)
    return found


@pytest.mark.parametrize(("stack", "memory", "method", "tiled"), CASES)
def test_every_way_in_chooses_the_same(stack, memory, method, tiled, monkeypatch, asked, tmp_path):
    allowed = plan.units.parse_size(memory)
    monkeypatch.setattr(budget, "available_bytes", lambda: allowed)
    monkeypatch.setattr(budget, "SHARE_OF_FREE", 1.0)
    found = plans(stack, tmp_path, monkeypatch)
    assert len(found) == 6
    first = found["python"]
    assert all(other == first for other in found.values()), found
    if method is None:
        assert isinstance(first, str)
        assert "need about" in first
    else:
        assert (first.params.method, first.side is not None) == (method, tiled)
        assert first.memory <= allowed


def test_a_dry_run_tells_the_plan(monkeypatch, tmp_path):
    stack = frames(20, 3648, 5472)
    monkeypatch.setattr(Job, "open", lambda _: stack)
    monkeypatch.setattr("varfocus.batch.dry_run.finished", lambda *_, **__: None)
    (row,) = planned_rows([Stack("a", Job(("a",)))], tmp_path, Resources(max_memory="4GB"), False)
    made = plan.plan(stack, Params(), Resources(max_memory="4GB"))
    assert made.side is not None
    assert (row["method"], row["memory"]) == ("robust", size_words(made.memory))


def test_more_memory_never_makes_it_worse():
    """Less memory means bands, then tiles, then less accuracy, then no."""
    stack, kinds = frames(12, 1500, 2000), []
    for allowed in np.geomspace(5e7, 2e10, 40).astype(int):
        try:
            made = plan.plan(stack, Params(), Resources(max_memory=f"{allowed}B"))
        except TooLargeError:
            kinds.append(0)
            continue
        assert made.memory <= allowed
        lesser = made.params.method == "paper" or made.params.robust.edges == "off"
        kinds.append(1 if lesser else 2 if made.side else 3)
    assert kinds == sorted(kinds)
    assert set(kinds) >= {0, 2, 3}


@pytest.mark.parametrize("method", ["paper", "classic"])
def test_every_method_has_tiles(method):
    stack = frames(60, 4000, 6000)
    params = Params.from_keywords(method)
    needed = plan.needed_bytes(stack, params)
    made = plan.plan(stack, params, Resources(max_memory=f"{needed - 1}B"))
    assert made.side is not None
    assert made.params == params


def test_a_plan_says_what_it_does(monkeypatch):
    monkeypatch.setattr(engine, "in_use", lambda: False)
    with pytest.raises(TooLargeError, match="without its compiled kernels"):
        plan.plan(frames(20, 3648, 5472), Params("robust"), Resources(max_memory="1GB"))


def test_frames_that_may_not_be_decoded_whole_are_worked_through_in_tiles():
    stack, limits = frames(5, 1000, 1000, 1, True), SimpleNamespace(max_pixels=10**5)
    made = plan.plan(stack, Params(), Resources(max_memory="4GB"), limits)
    assert made.side is not None
    assert replace(made, words="").warnings == ()
