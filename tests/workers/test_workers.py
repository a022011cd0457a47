"""Worker processes: what is said arrives, and whatever happens to one is noticed."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import psutil
import pytest
from parrot import __file__ as parrot_file

from processes import PATIENCE, wait_until
from varfocus.progress import throttled
from varfocus.workers import Limits, Lost, Watch, Worker


@contextlib.contextmanager
def parrot() -> Iterator[Worker]:
    worker = Worker("parrot")
    try:
        yield worker
    finally:
        worker.kill()


def answer(watch: Watch):
    heard = wait_until(lambda: [m for m in [watch.receive(0.1)] if m is not None], "answer")
    return heard[0]


def patient(worker: Worker, **limits: float) -> Watch:
    return Watch(worker, Limits(silence=limits.pop("silence", PATIENCE), **limits))


def test_messages_arrive_whole_and_in_order_whatever_their_size():
    with parrot() as worker:
        watch = patient(worker)
        sent = [np.arange(n) for n in (0, 1, 10**6, 3)]  # a pipe holds 64 kB
        for array in sent:
            worker.send(array)
        for array in sent:
            np.testing.assert_array_equal(answer(watch), array)


def test_what_waits_can_be_seen_without_waiting():
    with parrot() as worker:
        for message in ("count two", "a", "b"):
            worker.send(message)
        assert answer(patient(worker)) == ["a", "b"]


def test_sending_never_waits_for_a_busy_process():
    with parrot() as worker:
        worker.send("hang")
        for _ in range(20):
            worker.send(bytes(10**6))
        assert worker.alive


def test_a_process_that_ends_is_lost_with_what_it_printed():
    with parrot() as worker:
        worker.send("die")
        with pytest.raises(Lost, match="exit code 3") as lost:
            answer(patient(worker))
        assert lost.value.cause == "ended"
        assert "printed, not said" in lost.value.printed
        with pytest.raises(Lost):  # it stays lost
            answer(patient(worker))


def test_a_killed_process_is_lost_with_the_signal():
    with parrot() as worker:
        worker.send("here")
        assert answer(patient(worker)) == "here"
        os.kill(worker._process.pid, signal.SIGKILL)
        with pytest.raises(Lost, match="SIGKILL"):
            answer(patient(worker))


@pytest.mark.parametrize(
    ("cause", "limits"), [("silence", {"silence": 0.5}), ("time", {"seconds": 0.5})]
)
def test_a_process_that_hangs_is_lost(cause, limits):
    with parrot() as worker:
        worker.send("hang")
        with pytest.raises(Lost) as lost:
            answer(patient(worker, **limits))
        assert lost.value.cause == cause


def test_a_process_that_takes_too_much_memory_is_lost():
    with parrot() as worker:
        worker.send("here")
        assert answer(patient(worker)) == "here"
        watch = patient(worker, memory=worker.memory + 10**8)
        worker.send("grow")
        with pytest.raises(Lost) as lost:
            answer(watch)
        assert lost.value.cause == "memory"


def test_a_worker_does_not_outlive_its_supervisor():
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); from varfocus.workers import *; "
        "worker = Worker('parrot'); worker.send('here'); "
        "assert Watch(worker, Limits(silence=100)).receive(100) == 'here'; worker.send('hang'); "
        "print(worker._process.pid, flush=True); import time; time.sleep(600)"
    )
    command = [sys.executable, "-c", code, str(Path(parrot_file).parent)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as supervisor:
        child = psutil.Process(int(supervisor.stdout.readline()))
        supervisor.kill()
    child.wait(PATIENCE)


def test_nothing_is_imported_from_the_current_folder(tmp_path, monkeypatch):
    (tmp_path / "pickle.py").write_text("raise SystemExit('imported from a folder of frames')")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [place for place in sys.path if place])
    with parrot() as worker:
        worker.send("safe")
        assert answer(patient(worker)) == "safe"


def test_throttled_progress_keeps_the_beginning_and_the_end_of_every_stage():
    heard = []
    progress = throttled(lambda *told: heard.append(told), seconds=1e6)
    for stage in ("reading", "solving"):
        for done in range(101):
            progress(stage, done, 100)
    ends = [(stage, done, 100) for stage in ("reading", "solving") for done in (0, 100)]
    assert heard == ends


def test_a_worker_can_be_killed_by_several_threads_while_it_is_listened_to():
    raised = []

    def listen(worker: Worker) -> None:
        watch = patient(worker)
        try:
            while True:
                watch.receive(1.0)
        except Lost:
            worker.kill()
        except BaseException as error:
            raised.append(error)
            raise

    for k in range(20):
        worker = Worker("parrot")
        worker.send("hang" if k % 2 else "here")
        listener = threading.Thread(target=listen, args=(worker,))
        listener.start()
        time.sleep(0.005 * k)
        worker.kill()
        listener.join()
    assert raised == []
