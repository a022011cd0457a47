"""Paths that lead astray, limits of the system, and what nobody foresaw."""

import errno
import json
import os
import re
import resource
import signal
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

import varfocus
from command_line import RESULTS, files_below, write_pictures
from command_line import varfocus as command
from varfocus import bugs, engine, pipeline, products, steps
from varfocus import result as result_module
from varfocus.batch.manifest import read_manifest
from varfocus.batch.stacks import find
from varfocus.errors import (
    InternalError,
    ParameterError,
    TooLargeError,
    VarfocusError,
    VarfocusWarning,
)
from varfocus.export import strokes as strokes_module
from varfocus.files import MOST_TEXT, open_regular, read_text
from varfocus.io.positions import read_positions
from varfocus.job import Job
from varfocus.retouch import Retouch, Stroke

pytestmark = pytest.mark.skipif(os.name == "nt", reason="links, pipes and limits of POSIX")
QUICK = ("--method", "classic", "--no-report")


@pytest.fixture(scope="module")
def scene():
    return varfocus.simulate("cone", shape=(24, 30), n=5)


@pytest.fixture
def frames(scene, tmp_path):
    return write_pictures(tmp_path / "frames", scene.frames)


@pytest.fixture(scope="module")
def result(scene, tmp_path_factory):
    folder = tmp_path_factory.mktemp("made") / "out"
    varfocus.reconstruct(scene.stack, "classic").save(folder)
    return folder


def said_ours(done, *codes):
    assert done.code in codes, done.err
    assert "Traceback" not in done.err
    assert "bug" not in done.err
    assert "error: " in done.err


def test_an_output_that_leads_in_circles(frames, tmp_path, capsys):
    loop = tmp_path / "loop"
    loop.symlink_to(tmp_path / "back")
    (tmp_path / "back").symlink_to(loop)
    for place in (loop, loop / "below", tmp_path / "back"):
        said_ours(command(capsys, "depth", frames, "-o", place, *QUICK), 2)
        said_ours(command(capsys, "batch", frames, "-o", place, *QUICK), 2, 3)
        said_ours(command(capsys, "fuse", frames, "-o", place / "a.png"), 2)
        said_ours(command(capsys, "align", frames, "-o", place), 2)
        said_ours(command(capsys, "simulate", "cone", "-o", place), 2)
        said_ours(command(capsys, "depth", place, "-o", tmp_path / "out", *QUICK), 3)
        said_ours(command(capsys, "measure", place), 3)


@pytest.mark.parametrize("name", sorted(RESULTS | {"uncertainty.tif", "fused.tif", "depth.zarr"}))
@pytest.mark.parametrize("kind", ["link to a folder", "link to nothing", "folder", "pipe"])
def test_what_stands_where_a_result_goes(frames, tmp_path, capsys, name, kind):
    """Links are replaced, never followed; a folder of other things is refused, not removed."""
    other, out = tmp_path / "other", tmp_path / "out"
    other.mkdir()
    (other / "precious.txt").write_text("precious")
    out.mkdir()
    if kind == "link to a folder":
        (out / name).symlink_to(other)
    elif kind == "link to nothing":
        (out / name).symlink_to(tmp_path / "nothing")
    elif kind == "pipe":
        os.mkfifo(out / name)
    else:
        (out / name).mkdir()
        (out / name / "precious.txt").write_text("precious")
    done = command(capsys, "depth", frames, "-o", out, "--overwrite", "--method", "classic")
    assert (other / "precious.txt").read_text() == "precious"
    assert not (tmp_path / "nothing").exists()
    if kind == "folder" and name != "depth.zarr":
        said_ours(done, 2)
        assert (out / name / "precious.txt").read_text() == "precious"
    else:
        assert done.code == 0, done.err
        assert not (out / name).is_symlink() or name not in RESULTS
        assert json.loads((out / "run.json").read_text())


SMALL_FILES = {
    "positions": "depth FRAMES -o OUT --focus-distances PATH",
    "parameters": "depth FRAMES -o OUT --params PATH",
    "transforms": "depth FRAMES -o OUT --transforms-from PATH",
    "mask": "depth FRAMES -o OUT --mask PATH",
    "strokes": "depth FRAMES -o OUT --retouch PATH",
    "manifest": "batch PATH -o OUT",
    "frames": "depth PATH -o OUT",
    "frames to come": "depth PATH -o OUT --follow",
    "dark frame": "depth FRAMES -o OUT --dark PATH",
    "flat field": "fuse FRAMES -o OUT/a.png --flat PATH",
    "strokes to fuse": "fuse FRAMES -o OUT/a.png --retouch PATH",
    "maps": "align FRAMES -o OUT --transforms-from PATH",
    "shapes": "measure RESULT --shapes PATH",
    "texture": "simulate cone --texture PATH -o OUT",
    "record": "measure FOLDER",
    "record to export": "export FOLDER -o OUT/a.png",
    "record to fuse": "fuse FRAMES -o OUT/a.png --apply-depth FOLDER",
    "record to repeat": "batch FRAMES -o ABOVE",
}


@pytest.fixture
def patience():
    """Interrupt what waits for ever, such as for the other end of a pipe."""

    def enough(*_):
        pytest.fail("it did not come to an end")

    before = signal.signal(signal.SIGALRM, enough)
    signal.alarm(100)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("kind", SMALL_FILES)
@pytest.mark.parametrize("what", ["pipe", "device", "huge"])
@pytest.mark.usefixtures("patience")
def test_only_files_of_a_reasonable_size_are_read(frames, result, tmp_path, capsys, kind, what):
    place = tmp_path / "a" / "frames"
    place.mkdir(parents=True)
    path = place / ("run.json" if kind.startswith("record") else "given.csv")
    if what == "pipe":
        os.mkfifo(path)
    elif what == "device":
        path.symlink_to("/dev/zero")
    else:
        with path.open("wb") as file:
            file.truncate(4 * 2**30)  # of zeros, which take no space
    names = {"FRAMES": frames, "OUT": tmp_path / "out", "PATH": path, "FOLDER": place}
    names["ABOVE"] = place.parent
    names["RESULT"] = result
    words = [
        re.sub("^[A-Z]+", lambda found: str(names[found[0]]), word)
        for word in SMALL_FILES[kind].split()
    ]
    said_ours(command(capsys, *words), 2, 3, 4, 6)


HARD = {
    "nested": "[" * 100_000,
    "brackets": "z" + "(" * 100_000 + "\n1\n",
    "one cell": "a" * 200_000 + ",b\n1,2\n",
    "zeros": "\0" * 1000,
    "bytes": b"\xff\xfe\xfa" * 100,
    "a number": "7",
    "a huge number": "9" * 5000,
    "no number": "[NaN, Infinity, -Infinity]",
    "empty": "",
    "empty list": "[]",
    "empty object": "{}",
}
TEXTS = ("positions", "parameters", "transforms", "strokes", "manifest", "shapes", "record")


@pytest.mark.parametrize("kind", TEXTS)
@pytest.mark.parametrize("content", HARD)
@pytest.mark.usefixtures("patience")
def test_text_that_is_hard_to_read(frames, result, tmp_path, capsys, kind, content):
    path = tmp_path / ("run.json" if kind == "record" else "given.json")
    text = HARD[content]
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    names = {"FRAMES": frames, "OUT": tmp_path / "out", "PATH": path, "FOLDER": tmp_path}
    names["RESULT"] = result
    words = [
        re.sub("^[A-Z]+", lambda found: str(names[found[0]]), word)
        for word in SMALL_FILES[kind].split()
    ]
    said_ours(command(capsys, *words), 2, 3)


def test_a_manifest_in_csv_that_is_hard_to_read(tmp_path, capsys):
    path = tmp_path / "given.csv"
    path.write_text("stack\n" + "a" * 200_000 + "\n")
    said_ours(command(capsys, "batch", path, "-o", tmp_path / "out"), 3)


def test_a_text_is_read_up_to_a_size(tmp_path):
    path = tmp_path / "text"
    path.write_bytes(b"\xef\xbb\xbfabc")
    assert read_text(path) == "abc"
    with pytest.raises(OSError, match="more than"):
        read_text(path, most=3)
    with pytest.raises(IsADirectoryError):
        open_regular(tmp_path)
    with path.open("wb") as file:
        file.truncate(MOST_TEXT + 1)
    for read in (read_positions, lambda p: read_manifest(p, Job(()))):
        with pytest.raises(VarfocusError, match="more than 256 MB"):
            read(path)


def test_links_to_itself_do_not_keep_a_search_busy(frames, tmp_path):
    for k in range(12):
        (frames / f"self{k}").symlink_to(frames)
        (tmp_path / f"up{k}").symlink_to(tmp_path)
    for root in (tmp_path, f"{tmp_path}/**", f"{tmp_path}/**/*", frames):
        found = find([str(root)], tmp_path / "out")
        assert len({place.resolve() for place, _ in found.places}) <= 6
        assert len(found.places) < 500


@pytest.mark.parametrize(
    ("limit", "value"),
    [("RLIMIT_NOFILE", 12), ("RLIMIT_NPROC", 0), ("RLIMIT_FSIZE", 4096), ("RLIMIT_AS", 700 << 20)],
)
def test_limits_of_the_system_are_said(frames, tmp_path, limit, value):
    """Whatever the system refuses, it is our error, and nothing half-written stays."""

    def hold():
        resource.setrlimit(getattr(resource, limit), (value, value))

    out = tmp_path / "out"
    script = "import sys; from varfocus.cli import main; import varfocus.job, varfocus.cli.depth"
    script += "\nimport resource\n"
    script += f"resource.setrlimit(resource.{limit}, ({value}, {value}))\n"
    script += "import signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
    script += "sys.exit(main(sys.argv[1:]))"
    done = subprocess.run(
        [sys.executable, "-c", script, "depth", str(frames), "-o", str(out), "--method", "classic"],
        capture_output=True,
        encoding="utf-8",
        timeout=300,
        check=False,
    )
    assert done.returncode in (0, 2, 3, 4), done.stderr
    assert "Traceback" not in done.stderr
    if done.returncode:
        assert "error: " in done.stderr
        assert "bug" not in done.stderr
        assert not [name for name in files_below(out) if name.endswith(".part")]
        assert "run.json" not in files_below(out)
    if limit == "RLIMIT_FSIZE":
        assert done.returncode == 2


def test_a_disk_that_is_full_at_the_report_says_that_the_result_is_incomplete(
    frames, tmp_path, capsys, monkeypatch
):
    from varfocus import export
    from varfocus.export import atomic

    def full(path, content):
        if path.name == "report.html":
            monkeypatch.setattr(atomic.os, "fsync", refuse)
        return whole(path, content)

    def refuse(_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    whole = atomic.write_atomically
    monkeypatch.setattr(export, "write_atomically", full)
    out = tmp_path / "out"
    done = command(capsys, "depth", frames, "-o", out, "--method", "classic")
    said_ours(done, 2)
    assert "No space left" in done.err
    assert "no run.json: it is not complete" in done.err
    assert "--overwrite" in done.err
    maps = {"depth.tif", "confidence.tif", "fused.png", "source.tif", "preview.png"}
    assert files_below(out) == maps


def broken(*_, **__):
    return np.zeros(3)[4]


@pytest.mark.parametrize("entry", ["reconstruct", "reconstruct_into"])
def test_a_bug_becomes_one_error_with_its_trace_in_a_file(entry, scene, tmp_path, monkeypatch):
    monkeypatch.setattr(pipeline, "estimate", _as_if_ours())
    place = [tmp_path / "out"] if entry == "reconstruct_into" else []
    with pytest.raises(InternalError, match="bug in varfocus: IndexError") as caught:
        getattr(varfocus, entry)(*place, scene.stack)
    trace = Path(caught.value.trace)
    assert "IndexError" in trace.read_text()
    assert trace.stat().st_mode & 0o077 == 0
    trace.unlink()
    assert caught.value.exit_code == 1
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


ON_DEMAND = {
    "depth": (engine, "use_threads", lambda result, _: result.depth),
    "confidence": (engine, "use_threads", lambda result, _: result.confidence),
    "uncertainty": (engine, "use_threads", lambda result, _: result.uncertainty),
    "fused": (products, "fuse", lambda result, _: result.fused),
    "source": (products, "fuse", lambda result, _: result.source),
    "moving": (products, "fuse", lambda result, _: result.moving),
    "retouched": (products, "retouch_depth", lambda result, strokes: result.retouched(strokes)),
    "curve": (result_module, "contrast_curves", lambda result, _: result.curve(1, 1)),
    "show_curve": (result_module, "contrast_curves", lambda result, _: result.show_curve(1, 1)),
    "fuse_channel": (result_module, "fuse", lambda result, _: result.fuse_channel(result.stack)),
}


@pytest.mark.parametrize("entry", ON_DEMAND)
def test_a_bug_in_what_is_made_later_is_the_same_error(entry, scene, monkeypatch):
    result = varfocus.reconstruct(scene.stack, align="none", moving="one-frame")
    height, width = result.index.shape
    erase = Stroke("erase-depth", ((0, 0), (9, 0), (9, 9)))
    strokes = Retouch(width, height, result.frame_count, (erase,))
    module, name, ask = ON_DEMAND[entry]
    monkeypatch.setattr(module, name, _as_if_ours())
    with pytest.raises(InternalError, match="bug in varfocus: IndexError") as caught:
        ask(result, strokes)
    Path(caught.value.trace).unlink()


STEPS = {
    "align_frames": (steps, "align", lambda frames: steps.align_frames(frames)),
    "focus_volume": (steps, "contrast_function", lambda frames: steps.focus_volume(frames)),
    "focus_index": (steps, "run", lambda frames: steps.focus_index(frames)),
    "fuse_frames": (steps, "fuse", lambda frames: steps.fuse_frames(frames, frames[0] * 0)),
    "to_depth": (steps.depth_module, "index_to_depth", lambda f: steps.to_depth(f[0] * 0, [1, 2])),
    "read_strokes": (strokes_module, "read_json", lambda _: varfocus.read_strokes("a.json")),
}


@pytest.mark.parametrize("entry", STEPS)
def test_a_bug_in_a_single_step_is_the_same_error(entry, scene, monkeypatch):
    module, name, ask = STEPS[entry]
    monkeypatch.setattr(module, name, _as_if_ours())
    with pytest.raises(InternalError, match="bug in varfocus: IndexError") as caught:
        ask(scene.frames)
    Path(caught.value.trace).unlink()


def _as_if_ours():
    """Return a function that looks as if it were part of varfocus."""
    here = {"__name__": "varfocus.pipeline", "__file__": pipeline.__file__, "np": np}
    exec("def broken(*_, **__):\n    return np.zeros(3)[4]", here)
    return here["broken"]


def test_a_bug_on_the_command_line(frames, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(pipeline, "estimate", broken)
    done = command(capsys, "depth", frames, "-o", tmp_path / "out")
    assert done.code == 1
    assert "This is a bug in varfocus: IndexError" in done.err
    assert "Traceback" not in done.err
    path = Path(done.err.split("with the file ")[1].split(".txt")[0] + ".txt")
    assert "Traceback" in path.read_text()
    path.unlink()
    assert not files_below(tmp_path / "out")


class CancelledError(Exception):
    """What a caller's own code raises."""


def cancel(*_):
    raise CancelledError


def test_what_the_caller_s_own_code_raises_passes(scene):
    def measure(_):
        raise CancelledError

    with pytest.raises(CancelledError):
        varfocus.reconstruct(scene.stack, progress=cancel)
    with pytest.raises(CancelledError):
        varfocus.reconstruct(scene.stack, measure=measure)
    with warnings.catch_warnings():
        warnings.simplefilter("error", VarfocusWarning)
        with pytest.raises(VarfocusWarning):
            varfocus.reconstruct(scene.frames, "paper", iterations=2)


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (MemoryError("x"), "ran out of memory"),
        (OSError(errno.EMFILE, "Too many open files"), "ulimit -n"),
        (OSError(errno.EFBIG, "File too large"), "ulimit -f"),
        (OSError(errno.ENOSPC, "No space left"), "Free some space"),
        (RuntimeError("can't start new thread"), "--threads 1"),
    ],
)
def test_what_the_system_refuses_is_too_large_for_its_limits(error, words):
    assert isinstance(bugs.ours(error), TooLargeError)
    assert words in str(bugs.ours(error))


def test_a_warning_names_the_line_of_the_caller(scene):
    with pytest.warns(VarfocusWarning, match="degree") as caught:
        varfocus.reconstruct(scene.frames, "paper", iterations=2)
    assert caught[0].filename == __file__


@pytest.mark.parametrize(
    "measure", [object, print, type, int, lambda _: None, lambda _: "a", lambda _: [["a"]], np.sum]
)
@pytest.mark.parametrize("method", ["robust", "paper", "classic"])
def test_a_focus_measure_that_is_none(scene, measure, method):
    with pytest.raises(VarfocusError, match="focus measure") as caught:
        varfocus.reconstruct(scene.frames, method, measure=measure)
    assert not isinstance(caught.value, InternalError)


@pytest.mark.parametrize(
    ("call", "names"),
    [
        (lambda: varfocus.simulate("cone", aperture="disc"), ("'aperture'", "camera")),
        (lambda: varfocus.reconstruct(), ("'stack'", "method")),
        (lambda: varfocus.read_stack("stack", True), ("positional", "reverse")),
    ],
)
def test_arguments_that_a_function_does_not_have_are_no_bug_of_ours(call, names):
    with pytest.raises(ParameterError) as caught:
        call()
    assert all(name in str(caught.value) for name in names)
