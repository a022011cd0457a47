"""Work in a thread, with a progress bar and a button that cancels it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, TypeVar

from magicgui.widgets import Container, Label, ProgressBar, PushButton
from napari.qt.threading import create_worker
from napari.utils.notifications import show_error
from qtpy.QtCore import QObject, Signal

from varfocus.errors import VarfocusError
from varfocus.progress import Progress, throttled

T = TypeVar("T")


class _CancelledError(Exception):
    """The user does not want the result any more."""


class _Reporter(QObject):
    """Carries progress from the thread that works to the one that draws."""

    step = Signal(str, int, int)


class Work(Container):
    """A button that starts work, one that cancels it, and how far it is.

    Parameters
    ----------
    text : str
        What the first button says.
    prepare : callable
        Called in the drawing thread when it is pressed; returns the work, which is called in
        another one as ``work(progress)``.
    finish : callable
        Called in the drawing thread with what the work returned.
    """

    def __init__(
        self, text: str, prepare: Callable[[], Callable[[Progress], T]], finish: Callable[[T], None]
    ) -> None:
        self.start = PushButton(text=text)
        self.cancel = PushButton(text="Cancel", enabled=False)
        self.bar = ProgressBar(value=0, max=1, label="")
        self.stage = Label(value="", label="")
        super().__init__(
            widgets=[
                Container(widgets=[self.start, self.cancel], layout="horizontal", labels=False),
                self.bar,
                self.stage,
            ],
            labels=False,
        )
        self.bar.visible = False
        self._prepare, self._finish = prepare, finish
        self._stop = threading.Event()
        self._reporter = _Reporter()
        self._reporter.step.connect(self._advance)
        self.start.changed.connect(self._begin)
        self.cancel.changed.connect(self._stop.set)
        self.worker: Any = None

    def _begin(self) -> None:
        try:
            work = self._prepare()
        except VarfocusError as error:
            show_error(str(error))
            return
        self._stop.clear()
        report = throttled(self._reporter.step.emit, 0.1)

        def progress(stage: str, done: int, total: int) -> None:
            if self._stop.is_set():
                raise _CancelledError
            report(stage, done, total)

        self._busy(True)
        self.worker = create_worker(_caught, work, progress, _start_thread=False)
        self.worker.returned.connect(self._deliver)
        self.worker.finished.connect(lambda: self._busy(False))
        self.worker.start()

    def _busy(self, busy: bool) -> None:
        self.start.enabled, self.cancel.enabled, self.bar.visible = not busy, busy, busy
        if not busy:
            self.stage.value = ""

    def _advance(self, stage: str, done: int, total: int) -> None:
        self.stage.value = stage
        self.bar.max, self.bar.value = max(total, 1), done

    def _deliver(self, outcome: Any) -> None:
        if isinstance(outcome, VarfocusError):
            show_error(str(outcome))
        elif outcome is not None:
            self._finish(outcome)


def _caught(work: Callable[[Progress], T], progress: Progress) -> T | VarfocusError | None:
    """Return what the work returns, what is wrong with its input, or None if it was cancelled."""
    try:
        return work(progress)
    except _CancelledError:
        return None
    except VarfocusError as error:
        return error
