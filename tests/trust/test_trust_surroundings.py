"""Surroundings that few think of: streams that are closed, broken or full, odd terminals."""

import os
import signal
import subprocess
import sys
import time

import pytest

from command_line import RESULTS, files_below, varfocus_process, write_pictures
from varfocus import simulate

OPTIONS = ("--method", "classic", "--no-report")


@pytest.fixture(scope="module")
def shots(tmp_path_factory):
    frames = simulate("cone", shape=(24, 32), n=4).frames
    return write_pictures(tmp_path_factory.mktemp("shots"), frames)


def without_reader():
    """Return the writing end of a pipe that nobody reads."""
    reading, writing = os.pipe()
    os.close(reading)
    return writing


def full():
    return os.open("/dev/full", os.O_WRONLY)


def run(arguments, streams, closed=(), **environment):
    """Run a command with some of its streams replaced, others closed; return its exit code."""
    opened = {name: make() for name, make in streams.items()}
    ordinary = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.DEVNULL)
    try:
        return subprocess.run(
            [sys.executable, "-m", "varfocus", *map(str, arguments)],
            **(ordinary | opened),
            env=os.environ | environment,
            preexec_fn=lambda: [os.close(number) for number in closed],
            timeout=100,
            check=False,
        ).returncode
    finally:
        for handle in opened.values():
            os.close(handle)


@pytest.mark.parametrize("buffered", ["", "1"], ids=["buffered", "unbuffered"])
@pytest.mark.parametrize(
    ("streams", "closed"),
    [
        ({}, (0,)),
        ({}, (1,)),
        ({}, (0, 1, 2)),
        ({"stdout": without_reader}, ()),
        ({"stdout": without_reader, "stderr": without_reader}, ()),
        ({"stderr": full}, ()),
    ],
    ids=["no stdin", "no stdout", "no streams", "broken stdout", "both broken", "full stderr"],
)
def test_work_does_not_depend_on_who_listens(streams, closed, buffered, shots, tmp_path):
    """As under cron, in `varfocus … 2>&1 | head -1`, or after the terminal was closed."""
    if "stderr" in streams and streams["stderr"] is full and not os.path.exists("/dev/full"):  # noqa: PTH110
        pytest.skip("there is no /dev/full")
    out = tmp_path / "out"
    code = run(("depth", shots, "-o", out, *OPTIONS), streams, closed, PYTHONUNBUFFERED=buffered)
    assert code == 0
    assert files_below(out) == RESULTS - {"report.html"}
    missing = run(("info", tmp_path / "missing"), streams, closed, PYTHONUNBUFFERED=buffered)
    assert missing == 3


def test_a_result_that_cannot_be_told_is_an_error(shots):
    if not os.path.exists("/dev/full"):  # noqa: PTH110
        pytest.skip("there is no /dev/full")
    assert run(("info", shots), {"stdout": full}) == 4


@pytest.mark.parametrize("columns", ["0", "1", "2", "7", "x", "-5"])
def test_help_on_a_terminal_of_any_width(columns):
    """In one or two columns rich breaks words for ever, and takes all memory."""
    said = varfocus_process("depth", "--help", COLUMNS=columns, timeout=60)
    assert said.code == 0, said.err
    assert "--output" in said.out


@pytest.mark.parametrize("command", ["depth", "fuse", "align", "animate"])
def test_an_empty_name_is_not_the_working_directory(command, shots, tmp_path):
    """A variable of a script may be unset: -o "$OUT"."""
    said = varfocus_process(command, shots, "-o", "", cwd=tmp_path)
    assert said.code == 2, said
    assert not files_below(tmp_path)


def test_figures_do_not_depend_on_a_backend(shots, tmp_path):
    """A notebook sets this variable for commands that are called from a cell."""
    out = tmp_path / "out"
    backend = "module://no_such_package.backend_inline"
    said = varfocus_process("depth", shots, "-o", out, "--method", "classic", MPLBACKEND=backend)
    assert said.code == 0, said.err
    assert files_below(out) == RESULTS


def test_a_closed_terminal_ends_nothing_that_was_told_to_ignore_it(shots, tmp_path):
    """As nohup asks for."""
    out = tmp_path / "out"
    process = subprocess.Popen(
        [sys.executable, "-m", "varfocus", "depth", str(shots), "-o", str(out), *OPTIONS],
        preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    while process.poll() is None and not out.exists():
        process.send_signal(signal.SIGHUP)
        time.sleep(0.01)
    assert process.wait(60) == 0
    assert (out / "run.json").exists()
