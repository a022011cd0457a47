"""Interruptions at any moment: whole files under final names or none, and the record last."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from command_line import RESULTS, files_below, varfocus_process, write_pictures
from varfocus import simulate
from varfocus.export import atomic

OPTIONS = ("--method", "classic", "--threads", "1")


@pytest.fixture(scope="module")
def shots(tmp_path_factory):
    frames = simulate("cone", shape=(120, 160), n=5).frames
    return write_pictures(tmp_path_factory.mktemp("shots"), frames)


@pytest.fixture(scope="module")
def whole(shots, tmp_path_factory):
    """Two complete results of different parameters, and the seconds that one took."""
    results, began = [], time.monotonic()
    for window in (9, 21):
        folder = tmp_path_factory.mktemp("whole") / "out"
        said = varfocus_process("depth", shots, "-o", folder, *OPTIONS, "--window", window)
        assert said.code == 0, said.err
        results.append(folder)
    return *results, (time.monotonic() - began) / 2


def start(*arguments) -> subprocess.Popen:
    return subprocess.Popen(
        [sys.executable, "-m", "varfocus", *map(str, arguments)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        # Under nohup the tests ignore a closed terminal, and so would what they start.
        preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL),
    )


def wait_for_moment(process, is_time, moment: random.Random, seconds: float) -> str:
    """Wait for a random time; or until something has happened, and a little longer."""
    if moment.random() < 0.35:
        pause = moment.uniform(0, 1.2 * seconds)
        time.sleep(pause)
        return f"{pause:.3f} s after the start"
    while process.poll() is None and not is_time():
        time.sleep(0.0005)
    pause = moment.choice((0.0, moment.uniform(0, 0.02), moment.uniform(0, 0.3)))
    time.sleep(pause)
    return f"{pause:.3f} s after it began to write"


def final_names(out: Path) -> set[str]:
    """Return the files that do not have a temporary name."""
    names = files_below(out) if out.is_dir() else set()
    return {name for name in names if not name.endswith(".part")}


def is_same(path: Path, other: Path) -> bool:
    if path.name == "run.json":
        # A new record names the run that made it; the parameters tell which one that was.
        mine, theirs = (json.loads(p.read_text(encoding="utf-8")) for p in (path, other))
        return mine["parameters"] == theirs["parameters"]
    if path.name == "report.html":
        return path.read_bytes().rstrip().endswith(b"</html>")
    return path.read_bytes() == other.read_bytes()


def assert_consistent(out: Path, candidates: list[Path], when: str) -> None:
    """Every file is that of one of the runs, whole; and with a record, all are of one run."""
    left = final_names(out)
    assert left <= RESULTS, when
    for name in left:
        assert any(is_same(out / name, run / name) for run in candidates), (when, name)
    if "run.json" in left:
        assert left == RESULTS, when
        assert any(all(is_same(out / n, run / n) for n in left) for run in candidates), when


def kill_at_random_moments(shots, whole, tmp_path, times: int, seed: int) -> set[int]:
    """Kill a run again and again, every other one over an older result, and look at its folder.

    Returns the numbers of files that were there.
    """
    old, new, seconds = whole
    moment, reached = random.Random(seed), set()
    command = ("depth", shots, *OPTIONS, "--window", 21, "--overwrite")
    for k in range(times):
        out, n, over = tmp_path / f"out{k}", moment.randrange(len(RESULTS) + 1), k % 2 == 1
        if over:
            shutil.copytree(old, out)

        def is_time(out=out, n=n, over=over) -> bool:
            return not (out / "run.json").exists() if over else len(final_names(out)) >= n

        process = start(*command, "-o", out)
        when = wait_for_moment(process, is_time, moment, seconds)
        process.kill()
        process.communicate()
        assert_consistent(out, [new, old] if over else [new], f"kill {k}, {when}")
        reached.add(len(final_names(out)))
        shutil.rmtree(out, ignore_errors=True)
    return reached


def test_killed_at_random_moments(shots, whole, tmp_path):
    kill_at_random_moments(shots, whole, tmp_path, times=4, seed=1)


@pytest.mark.slow
def test_killed_at_fifty_random_moments(shots, whole, tmp_path):
    reached = kill_at_random_moments(shots, whole, tmp_path, times=50, seed=50)
    assert len(reached) >= 4, "the moments were too much alike"


def test_after_a_kill_the_same_command_ends_with_the_same_bytes(shots, whole, tmp_path):
    _, new, _ = whole
    out = tmp_path / "out"
    process = start("depth", shots, "-o", out, *OPTIONS, "--window", 21)
    while process.poll() is None and not (out / "depth.tif").exists():
        time.sleep(0.001)
    process.kill()
    process.communicate()
    said = varfocus_process("depth", shots, "-o", out, *OPTIONS, "--window", 21, "--overwrite")
    assert said.code == 0, said.err
    for name in RESULTS:
        assert is_same(out / name, new / name), name


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
)
def test_asked_to_end(shots, whole, tmp_path, number, code):
    """Ctrl-C, a scheduler or a shutdown, a terminal that is closed: no temporary file stays."""
    _, new, _ = whole
    out = tmp_path / "out"
    process = start("depth", shots, "-o", out, *OPTIONS, "--window", 21)
    while process.poll() is None and not out.exists():  # made when the work begins
        time.sleep(0.001)
    process.send_signal(number)
    _, said = process.communicate(timeout=60)
    assert process.returncode == code, said
    assert b"nothing half-written was left behind" in said
    assert b"Traceback" not in said
    assert_consistent(out, [new], "signal")
    assert not [name for name in files_below(out) if name.endswith(".part")]


def test_what_a_killed_process_left_is_removed_later(tmp_path):
    old, fresh = tmp_path / ".depth.tif.abc.part", tmp_path / ".depth.tif.def.part"
    old.write_bytes(b"half")
    fresh.write_bytes(b"half")
    long_ago = time.time() - 2 * atomic.ABANDONED
    os.utime(old, (long_ago, long_ago))
    atomic.prepare_folder(tmp_path, ["depth.tif"], overwrite=False)
    assert not old.exists()
    assert fresh.exists(), "another process may be writing it"


# A full disk

LIMITED = (
    "import resource, signal, sys; resource.setrlimit(resource.RLIMIT_FSIZE, ({n}, {n})); "
    "from varfocus.cli import main; sys.exit(main(sys.argv[1:]))"
)
"""Files of at most n bytes, which fail as on a full disk."""


def limited(n: int, *arguments) -> subprocess.CompletedProcess:
    command = [sys.executable, "-c", LIMITED.format(n=n), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)


def assert_full(done, out: Path) -> None:
    assert done.returncode == 2, done.stderr
    assert "cannot be written" in done.stderr
    assert "free space" in done.stderr
    assert "Traceback" not in done.stderr
    assert "bug" not in done.stderr


def test_a_disk_that_fills_up(shots, whole, tmp_path):
    _, new, _ = whole
    n = (new / "depth.tif").stat().st_size  # all maps fit, and the source map, but not the report
    out = tmp_path / "out"
    done = limited(n, "depth", shots, "-o", out, *OPTIONS, "--window", 21)
    assert_full(done, out)
    assert_consistent(out, [new], f"{n} bytes")
    assert "run.json" not in files_below(out)
    assert all(not name.endswith(".part") for name in files_below(out))


@pytest.fixture
def small_disk(tmp_path):
    """Mount a file system of 160 kB, if that is allowed."""
    place = tmp_path / "disk"
    place.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=160k", "none", str(place)]
    try:
        subprocess.run(command, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("mounting is not allowed here; the limit on files is tested instead")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


def test_a_really_full_disk(shots, whole, small_disk):
    _, new, _ = whole
    out = small_disk / "out"
    done = varfocus_process("depth", shots, "-o", out, *OPTIONS, "--window", 21)
    assert done.code == 2, done.err
    assert "No space left on device" in done.err
    assert_consistent(out, [new], "full disk")
    assert "run.json" not in files_below(out)
    assert all(not name.endswith(".part") for name in files_below(out))


@pytest.mark.parametrize(
    "command",
    [
        ("simulate", "cone", "--size", "40", "30", "--frames", "3", "-o", "out"),
        ("fuse", "SHOTS", "-o", "out/fused.png"),
        ("align", "SHOTS", "-o", "out"),
        ("compare", "SHOTS", "-o", "out/comparison.png"),
        ("export", "RESULT", "-o", "out/a.glb"),
        ("animate", "RESULT", "-o", "out/a.webp"),
    ],
    ids=lambda command: command[0],
)
def test_every_command_writes_whole_files_or_none(shots, whole, tmp_path, command):
    places = {"SHOTS": shots, "RESULT": whole[0]}
    out = tmp_path / "out"
    out.mkdir()
    words = [places.get(w, w.replace("out", str(out)) if "out" in w else w) for w in command]
    done = limited(50, *words)
    assert_full(done, out)
    assert files_below(out) == set()


def test_nothing_is_written_but_atomically():
    """No writer of results goes past `varfocus.export.atomic`."""
    package = Path(atomic.__file__).parents[1]
    ways = ("write_bytes(", "write_text(", '.open("w', "np.save(", ".tofile(")
    allowed = {
        "app/jobs/frames.py",  # the page's private folder of a session
        "app/jobs/results.py",
        "app/jobs/strokes.py",
        "app/example.py",
        "app/tiles.py",
        "app/workspace.py",
        "workers/child.py",  # a word to the system, not a file
        "cli/app.py",  # temporary, too
        "studies/evaluation/memory.py",
    }
    found = {
        str(path.relative_to(package))
        for path in package.rglob("*.py")
        for line in path.read_text(encoding="utf-8").splitlines()
        if any(way in line for way in ways) and '"Save it again' not in line
    }
    assert found - allowed == set()
