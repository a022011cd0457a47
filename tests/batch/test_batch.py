"""Many stacks: found, done, reported, continued; here and on a cluster that loses its workers."""

from __future__ import annotations

import contextlib
import csv
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import psutil
import pytest
import tifffile
from PIL import Image

from command_line import files_below, varfocus, write_pictures
from processes import PATIENCE, running, wait_until
from varfocus import batch, simulate
from varfocus.batch import pool as pools
from varfocus.batch.dispatch import locked
from varfocus.batch.manifest import read_manifest
from varfocus.batch.stacks import Stack, find
from varfocus.batch.task import RetryPolicy, task_for
from varfocus.batch.watch import arrivals
from varfocus.errors import InputError, NoFramesError, OutputError, ParameterError
from varfocus.job import Job, to_command


@pytest.fixture(scope="module")
def images() -> np.ndarray:
    return simulate("cone", shape=(24, 31), n=7).frames


def write_stacks(root: Path, images: np.ndarray, n: int) -> tuple[set[str], set[str]]:
    """Write folders and multi-page files, every sixth damaged; return names of good and bad."""
    good, bad = set(), set()
    for k in range(n):
        shifted = np.roll(images, k, axis=2)
        if k % 2:
            name = f"files/z{k:03d}"
            path = root / f"{name}.tif"
            path.parent.mkdir(parents=True, exist_ok=True)
            tifffile.imwrite(path, shifted, photometric="minisblack")
        else:
            name = f"folders/well{k:03d}"
            write_pictures(root / name, shifted, "f")
            path = root / name / "f3.png"
        if k % 6 in (2, 5):
            path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
        (bad if k % 6 in (2, 5) else good).add(name)
    return good, bad


@pytest.fixture(scope="module")
def plate(tmp_path_factory, images):
    """Six stacks of which two are damaged."""
    root = tmp_path_factory.mktemp("plate")
    return root, *write_stacks(root, images, 6)


@pytest.fixture(scope="module")
def done(plate, tmp_path_factory):
    """The results of one worker on them, and what it reported."""
    output = tmp_path_factory.mktemp("done") / "out"
    summary = batch.run(plate[0], output, workers=1, report=False)
    return output, summary


def products(folder: Path) -> dict[str, bytes]:
    """Return every file of every result, byte by byte, but not the summary, which tells times."""
    return {
        name: (folder / name).read_bytes()
        for name in files_below(folder)
        if not name.startswith(("summary.", ".varfocus"))
    }


def results(folder: Path) -> set[str]:
    """Return the names of the stacks that are finished."""
    found = set()
    for place, below, files in os.walk(folder):  # which does not mind that folders are moved
        below[:] = [name for name in below if not name.startswith(".")]
        if "run.json" in files:
            found.add(str(Path(place).relative_to(folder)))
    return found


# Finding


def names(*roots, output="nowhere") -> list[str]:
    return [name for _, name in find(roots, Path(output)).places]


def test_what_simulate_writes_is_one_stack_with_its_focus_positions(tmp_path, capsys):
    for name in ("cone", "plane"):
        said = varfocus(
            capsys, "simulate", name, "-o", tmp_path / "in" / name, "--frames", 5, "--size", 40, 32
        )
        assert said.code == 0, said.err
    assert names(tmp_path / "in") == ["cone", "plane"]
    assert names(tmp_path / "in" / "cone") == ["cone"]
    said = varfocus(capsys, "batch", tmp_path / "in", "-o", tmp_path / "out", "--dry-run", "--json")
    rows = json.loads(said.out)["stacks"]
    assert [row["frames"] for row in rows] == [5, 5]
    assert all("--focus-distances" in row["command"] for row in rows)
    summary = batch.run(
        tmp_path / "in", tmp_path / "out", workers=1, report=False, method="classic"
    )
    assert not summary.failures
    record = json.loads((tmp_path / "out" / "cone" / "run.json").read_text(encoding="utf-8"))
    assert record["depth"]["unit"] == "m"


def test_a_step_that_is_given_overrules_the_simulation(tmp_path, capsys):
    varfocus(capsys, "simulate", "cone", "-o", tmp_path / "in", "--frames", 3, "--size", 40, 32)
    said = varfocus(
        capsys, "batch", tmp_path / "in", "-o", tmp_path / "out", "--dry-run", "--json",
        "--z-step", "2um",
    )  # fmt: skip
    (row,) = json.loads(said.out)["stacks"]
    assert "--focus-distances" not in row["command"]


def test_folders_of_frames_and_files_with_pages_are_stacks(tmp_path, images):
    write_stacks(tmp_path, images, 4)
    (tmp_path / "files" / "overview.png").write_bytes(
        (tmp_path / "folders" / "well000" / "f0.png").read_bytes()
    )
    (tmp_path / "notes.txt").write_text("not an image")
    (tmp_path / ".hidden").mkdir()
    shutil.copytree(tmp_path / "folders" / "well000", tmp_path / ".hidden" / "x")
    found = find([tmp_path], tmp_path / "out")
    assert [name for _, name in found.places] == [
        "files/z001",
        "files/z003",
        "folders/well000",
        "folders/well002",
    ]
    assert found.passed_over == [f"{tmp_path / 'files'}: 1 single picture"]


def test_results_and_the_output_folder_are_not_searched(tmp_path, images):
    write_stacks(tmp_path, images, 1)
    for place in ("out/a", "earlier"):
        shutil.copytree(tmp_path / "folders" / "well000", tmp_path / place)
    (tmp_path / "earlier" / "run.json").write_text("{}")
    found = find([tmp_path], tmp_path / "out")
    assert [name for _, name in found.places] == ["folders/well000"]
    assert "holds results" in found.passed_over[0]


def test_patterns_name_stacks_from_their_fixed_part_on(tmp_path, images):
    write_stacks(tmp_path, images, 4)
    assert names(tmp_path / "*" / "z*.tif") == ["files/z001", "files/z003"]
    # also where only one matches, so that a batch goes on when the second comes
    assert names(tmp_path / "*" / "z001*") == ["files/z001"]
    assert names(tmp_path / "folders" / "well000") == ["well000"]
    assert names(tmp_path / "files", tmp_path / "folders")[0] == "files/z001"
    with pytest.raises(NoFramesError, match="matches nothing"):
        names(tmp_path / "*.nd2")


def test_names_that_collide_keep_their_suffix(tmp_path, images):
    for suffix in ("tif", "TIFF"):
        tifffile.imwrite(tmp_path / f"a.{suffix}", images, photometric="minisblack")
    assert sorted(names(tmp_path)) in (["a", "a.TIFF"], ["a", "a.tif"])


def test_zarr_stores_are_stacks(tmp_path, images):
    zarr = pytest.importorskip("zarr")
    for name in ("a.zarr", "deep/b.zarr"):
        zarr.save(tmp_path / "in" / name, images)
    assert names(tmp_path / "in") == ["a", "deep/b"]


def test_nothing_found_says_what_was_passed_over(tmp_path, images):
    Image.fromarray(images[0]).save(tmp_path / "one.png")
    with pytest.raises(NoFramesError, match="1 single picture"):
        names(tmp_path)


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no such names")
def test_names_need_not_be_text(tmp_path, images, capsys):
    path = tmp_path / "in" / os.fsdecode(b"z\xff.tif")
    path.parent.mkdir()
    tifffile.imwrite(path, images, photometric="minisblack")
    said = varfocus(capsys, "batch", path.parent, "-o", tmp_path / "out", "--no-report")
    assert said.code == 0, said.err
    told = json.loads((tmp_path / "out" / "summary.json").read_text())["stacks"]
    assert [Path(entry["source"]) for entry in told] == [path]
    assert (tmp_path / "out" / path.stem / "run.json").is_file()


# Manifests


def test_a_manifest_gives_every_stack_its_options(tmp_path):
    path = tmp_path / "plan.csv"
    path.write_text(
        "stack;name;smoothness;z-step;align;report\na;first;1/2;2um;none;no\nb/z.tif;;;;;\n"
    )
    first, second = read_manifest(path, Job((), report=True))
    assert (first.name, first.source) == ("first", str(tmp_path / "a"))
    assert first.job.asked() == {
        "smoothness": 0.5,
        "z_step": "2um",
        "align": "none",
        "report": False,
    }
    assert (second.name, second.job.asked()) == ("b/z", {})


def test_a_json_manifest_says_the_same(tmp_path):
    path = tmp_path / "plan.json"
    path.write_text(json.dumps([{"stack": "a", "alpha": 0.25}, {"stack": "c", "auto_order": True}]))
    first, second = read_manifest(path, Job(()))
    assert first.job.params.method == "paper"
    assert to_command(first.job, "a").endswith("-o a --method paper --alpha 0.25")
    assert second.job.params.align.auto_order


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("stack,smoothness\na,1\nb,two\n", "line 3: received smoothness = 'two'"),
        ("stack,smoothness\na,-1\n", "line 2: received smoothness = -1.0"),
        ("stack,smothness\na,1\n", "Did you mean 'smoothness'?"),
        ("stack,smoothness\na,1,2\n", "line 2: received 3 cells"),
        ("stack,name\na,../b\n", "line 2: received the name '../b'"),
        ("stack,name\na,x\nb,X\n", "line 3: the name 'X' is already used by"),
        ("stack,name\na,é\nb,e\u0301\n", "line 3: the name 'e\u0301' is already used by"),
        ("path,smoothness\na,1\n", "line 1: received the heading"),
        ("stack\n", "lists no stack"),
        ("", "line 1"),
    ],
)
def test_a_wrong_manifest_names_the_row(tmp_path, text, words):
    path = tmp_path / "plan.csv"
    path.write_text(text)
    with pytest.raises((InputError, ParameterError)) as error:
        read_manifest(path, Job(()))
    assert words in str(error.value)
    assert str(path) in str(error.value)


# A batch on this machine


def test_the_good_are_done_and_the_bad_reported(plate, done):
    _, good, bad = plate
    output, summary = done
    assert results(output) == good
    assert {entry["name"] for entry in summary.failures} == bad
    assert summary.counts == {"done": len(good), "kept": 0, "failed": len(bad), "waiting": 0}
    assert not [name for name in files_below(output) if name.endswith(".part")]


def test_a_failure_has_the_words_of_the_command_line(plate, done, tmp_path, capsys):
    for entry in done[1].failures:
        said = varfocus(capsys, "depth", entry["source"], "-o", tmp_path / "x")
        words = said.err[said.err.index("error: ") + 7 :].rstrip().replace("\n       ", "\n")
        assert entry["message"] == words
        assert entry["exit_code"] == said.code == 3


def test_results_are_those_of_varfocus_depth(plate, done, tmp_path, capsys):
    name = sorted(plate[1])[0]
    entry = next(entry for entry in done[1].entries if entry["name"] == name)
    varfocus(capsys, "depth", entry["source"], "-o", tmp_path / "x", "--no-report")
    alone, in_batch = products(tmp_path / "x"), products(done[0] / name)
    assert alone.keys() == in_batch.keys()
    differ = {file for file in alone if alone[file] != in_batch[file]}
    assert differ == {"run.json"}  # command and time, and nothing else:
    records = [json.loads(files["run.json"]) for files in (alone, in_batch)]
    for record in records:
        del record["command"], record["seconds"]
    assert records[0] == records[1]


def test_the_recorded_command_repeats_the_result(plate, done, tmp_path, capsys, monkeypatch):
    name = sorted(plate[1])[-1]
    record = json.loads((done[0] / name / "run.json").read_text())
    monkeypatch.chdir(tmp_path)
    assert varfocus(capsys, *record["command"].split()[1:]).code == 0
    assert (tmp_path / name / "depth.tif").read_bytes() == (
        done[0] / name / "depth.tif"
    ).read_bytes()


def test_any_number_of_workers_gives_the_same_bytes(plate, done, tmp_path):
    batch.run(plate[0], tmp_path / "out", workers=3, threads=2, max_memory="3GB", report=False)
    assert products(tmp_path / "out") == products(done[0])


def test_the_summary_tells_everything(plate, done):
    output, summary = done
    with (output / "summary.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    data = json.loads((output / "summary.json").read_text())
    assert [row["name"] for row in rows] == [entry["name"] for entry in data["stacks"]]
    assert {row["status"] for row in rows} == {"done", "failed"}
    assert data["counts"] == summary.counts
    page = (output / "summary.html").read_text()
    assert page.count("data:image/jpeg") == page.count("data:image/png") == len(plate[1])
    assert "http" not in page.replace("http-equiv", "")
    for name in plate[1]:
        assert f'href="{name}/preview.png"' in page  # no reports were asked for
    for name in plate[2]:
        assert name in page


@pytest.fixture
def again(done, tmp_path):
    """A copy of the results, as an interrupted batch left them."""
    shutil.copytree(done[0], tmp_path / "out")
    return tmp_path / "out"


def times(folder: Path) -> dict[str, int]:
    return {str(p): p.stat().st_mtime_ns for p in folder.rglob("*.tif")}


def test_the_same_command_goes_on_where_it_was(plate, done, again, capsys):
    lost = sorted(plate[1])[0]
    shutil.rmtree(again / lost)
    leftover = (again / lost).with_name(".old.123.part")
    leftover.mkdir()
    before = times(again)
    said = varfocus(capsys, "batch", plate[0], "-o", again, "--workers", 2, "--no-report")
    assert said.code == 6
    assert said.out.startswith(f"1 done, {len(plate[1]) - 1} finished earlier, 2 failed.")
    assert before.items() <= times(again).items()
    assert products(again) == products(done[0])
    assert not leftover.exists()
    seconds = {e["name"]: e["seconds"] for e in done[1].entries}
    for entry in json.loads((again / "summary.json").read_text())["stacks"]:
        if entry["status"] == "kept":
            assert entry["seconds"] == seconds[entry["name"]]


def test_other_options_or_frames_are_noticed(plate, again, tmp_path, capsys):
    root = tmp_path / "moved"  # where frames are does not matter
    shutil.copytree(plate[0], root)
    changed, *others = sorted(plate[1] - {n for n in plate[1] if n.startswith("files")})
    frame = root / changed / "f0.png"
    Image.fromarray(255 - np.asarray(Image.open(frame))).save(frame)
    before = times(again)
    command = ("batch", root / "folders", "-o", again / "folders", "--no-report", "--workers", 1)
    said = varfocus(capsys, *command, "--json")
    told = {entry["name"]: entry for entry in json.loads(said.out)["stacks"]}
    assert said.code == 6
    assert "have changed since" in told[Path(changed).name]["message"]
    assert [told[Path(name).name]["status"] for name in others] == ["kept"] * len(others)
    said = varfocus(capsys, *command, "--method", "classic")
    assert "method = None, now 'classic'" in said.err
    assert times(again) == before
    said = varfocus(capsys, *command, "--overwrite", "--json")
    told = {entry["name"]: entry["status"] for entry in json.loads(said.out)["stacks"]}
    assert told[Path(changed).name] == "done"
    assert [told[Path(name).name] for name in others] == ["kept"] * len(others)


def test_the_plan_is_told_and_nothing_done(plate, again, capsys):
    lost = sorted(plate[1])[0]
    shutil.rmtree(again / lost)
    before = files_below(again)
    said = varfocus(capsys, "batch", plate[0], "-o", again, "--dry-run", "--json", "--no-report")
    plans = {row["name"]: row["plan"] for row in json.loads(said.out)["stacks"]}
    assert said.code == 0
    assert plans[lost] == "would be done"
    assert {plans[name] for name in plate[1] - {lost}} == {"finished already"}
    assert all(plans[name].startswith("would fail: ") for name in plate[2])
    assert files_below(again) == before
    table = varfocus(capsys, "batch", plate[0], "-o", again, "--dry-run").out.splitlines()
    assert len(table) == 1 + len(plans)


def test_two_batches_do_not_share_an_output(tmp_path, plate, capsys):
    with locked(tmp_path / "out"):
        said = varfocus(capsys, "batch", plate[0], "-o", tmp_path / "out")
    assert said.code == 2
    assert "another varfocus batch is writing" in said.err


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--retries", "-1"], "expected 0 or more"),
        (["--workers", "0"], "expected 1 or more"),
        (["--time-limit", "0"], "above 0"),
        (["--frames", "5"], "without --watch"),
        (["--cluster", "here"], "expected “local”"),
        (["--max-memory", "much"], "expected one such as 4GB"),
    ],
)
def test_wrong_options_are_refused(plate, tmp_path, capsys, options, words):
    said = varfocus(capsys, "batch", plate[0], "-o", tmp_path / "out", *options)
    assert said.code == 2
    assert words in said.err
    assert "Traceback" not in said.err


def test_results_do_not_go_where_stacks_are_searched(plate, capsys):
    said = varfocus(capsys, "batch", plate[0], "-o", plate[0])
    assert said.code == 2
    assert "expected another folder" in said.err


def test_too_little_memory_is_one_failed_stack_each(plate, tmp_path, capsys):
    said = varfocus(capsys, "batch", plate[0], "-o", tmp_path / "out", "--max-memory", "1kB")
    assert said.code == 6
    assert "need about" in said.err
    assert "tried again" not in said.err
    assert results(tmp_path / "out") == set()


def test_what_a_killed_batch_left_half_written_is_removed(plate, tmp_path):
    output = tmp_path / "out"
    (output / ".stack.0123.part").mkdir(parents=True)
    (output / ".summary.json.0123.part").write_text("{")
    name = sorted(plate[1])[-1]
    batch.run([plate[0] / name], output, workers=1, report=False)
    assert not [left for left in files_below(output) if ".part" in left]
    assert not list(output.glob(".*.part"))


# Processes that die, hang, or take too much


@pytest.fixture
def task(plate, tmp_path):
    name = sorted(plate[1])[-1]
    stack = Stack(name, Job((str(plate[0] / name),)))
    return task_for(
        stack,
        tmp_path / "out",
        max_memory="2GB",
        retry=RetryPolicy(time_limit=None),
        overwrite=False,
        thumbnails=False,
    )


def working() -> list[int]:
    """Return the processes of ours that do stacks; other tests may have left others."""
    found = []
    for child in psutil.Process().children():
        with contextlib.suppress(psutil.Error):
            if "varfocus.batch.process" in child.cmdline():
                found.append(child.pid)
    return found


def disturbed(task, disturb=None, **limits):
    """Do a task while its process is disturbed as soon as it says its first word."""
    pool, pids = pools.Pool(10**9, 1, 1), []

    def progress(stage, done, total):
        if stage and not pids:
            pids.extend(working())
            if disturb is not None:
                os.kill(pids[0], disturb)

    try:
        return pools.run_task({**task, **limits}, pool, progress)
    finally:
        pool.close()


def test_a_process_that_dies_is_a_lost_attempt(task):
    outcome = disturbed(task, signal.SIGKILL)
    assert outcome["status"] == "lost"
    assert "SIGKILL" in outcome["message"]
    assert not [name for name in files_below(Path(task["output"]).parents[1]) if "part" in name]


def test_what_a_dead_worker_left_of_the_same_task_is_in_nobodys_way(task):
    part = Path(task["part"])
    part.mkdir(parents=True)
    (part / "depth.tif").write_bytes(b"half")
    assert disturbed(task)["status"] == "done"
    assert (Path(task["output"]) / "run.json").is_file()
    assert not part.exists()


def test_a_process_that_freezes_is_ended_at_the_time_limit(task):
    outcome = disturbed(task, signal.SIGSTOP, time_limit=3)
    assert outcome["status"] == "lost"
    assert "not finished within 3 s" in outcome["message"]
    assert working() == []


def test_a_silent_process_is_taken_for_hung(task, monkeypatch):
    monkeypatch.setattr(pools, "LONGEST_SILENCE", 2.0)
    assert "no sign of life" in disturbed(task, signal.SIGSTOP)["message"]


def test_a_process_that_takes_too_much_memory_is_ended(task, monkeypatch):
    monkeypatch.setattr(pools, "SPARE_BYTES", 10**6)
    outcome = disturbed(task, most_bytes=10**7)
    assert outcome["status"] == "lost"
    assert "--max-memory" in outcome["message"]


def test_stacks_wait_for_memory_and_share_the_processors():
    pool = pools.Pool(budget=100, size=4)
    with pool.reserved(60):
        pool.stopped.set()
        with pytest.raises(pools.Stopped), pool.reserved(60):
            raise AssertionError("there was no room")
        pool.stopped.clear()
        with pool.reserved(40) as threads:
            assert threads >= 1
    with pool.reserved(1000) as threads:  # too large for the budget: alone, with all processors
        assert threads == len(os.sched_getaffinity(0))


# The batch itself is interrupted


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_an_interrupted_batch_leaves_whole_results_and_goes_on(plate, done, tmp_path, how):
    output = tmp_path / "out"
    arguments = ("batch", plate[0], "-o", output, "--workers", 1, "--no-report")
    with running(*arguments) as process:
        wait_until(lambda: len(results(output)) >= 2, "two results", process)
        children = psutil.Process(process.pid).children()
        process.send_signal(how)
        said = process.communicate(timeout=PATIENCE)[0]
    wait_until(lambda: not any(child.is_running() for child in children), "no process left")
    first = times(output)
    assert first
    assert products(output).items() <= products(done[0]).items() or how == signal.SIGKILL
    if how == signal.SIGINT:
        assert process.returncode == 130
        assert "The same command continues from here." in said
        assert "Traceback" not in said
    summary = batch.run(plate[0], output, workers=1, report=False)
    assert first.items() <= times(output).items() or how == signal.SIGKILL
    assert summary.counts["kept"] >= 2
    assert products(output) == products(done[0])


# A cluster


@contextmanager
def cluster(folder: Path):
    """Start a scheduler and two workers, each a process of its own, on this machine."""
    pytest.importorskip("distributed")
    from distributed import Client

    environment = os.environ | {"DASK_DISTRIBUTED__LOGGING__DISTRIBUTED": "critical"}
    dask = [sys.executable, "-m", "dask"]
    address_file = folder / "scheduler.json"
    scheduler = [
        *dask, "scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--no-show",
        "--scheduler-file", address_file,
    ]  # fmt: skip
    worker = [
        *dask, "worker", "--scheduler-file", address_file, "--nthreads", "1", "--no-dashboard",
        "--host", "127.0.0.1", "--memory-limit", "3GB", "--local-directory", folder,
    ]  # fmt: skip
    started = []
    try:
        for command in (scheduler, worker, worker):
            with (folder / f"log{len(started)}.txt").open("wb") as log:
                process = subprocess.Popen(
                    [str(word) for word in command], stdout=log, stderr=log, env=environment
                )
            started.append(process)
        wait_until(address_file.exists, "a scheduler")
        with Client(scheduler_file=str(address_file), timeout=PATIENCE) as client:
            client.wait_for_workers(2, timeout=PATIENCE)
            yield client
    finally:
        for process in started:
            family = [process, *psutil.Process(process.pid).children(recursive=True)]
            for member in family:
                member.kill()
            process.wait()


@pytest.mark.parametrize("n", [12, pytest.param(200, marks=pytest.mark.slow)])
def test_a_cluster_that_loses_workers_gives_the_same_bytes(tmp_path, images, n):
    good, bad = write_stacks(tmp_path / "in", images, n)
    here, there = tmp_path / "here", tmp_path / "there"
    with cluster(tmp_path) as client:
        address = client.scheduler.address
        pids = list(client.run(os.getpid).values())
        with running(
            *("batch", "in", "-o", there, "--cluster", address),
            *("--lost-after", 5, "--retries", 5),
            cwd=tmp_path,
        ) as process:
            wait_until(lambda: len(results(there)) >= n // 6, "first results", process)
            os.kill(pids[0], signal.SIGKILL)
            wait_until(lambda: len(results(there)) >= n // 4, "further results", process)
            os.kill(pids[1], signal.SIGSTOP)
            said = process.communicate(timeout=PATIENCE + 3 * n)[0]
        os.kill(pids[1], signal.SIGCONT)
        assert process.returncode == 6, said
        assert "gave no sign of life" in said
    assert results(there) == good
    summary = json.loads((there / "summary.json").read_text())
    assert {e["name"] for e in summary["stacks"] if e["status"] == "failed"} == bad
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path)
        local = batch.run("in", here, workers=2)
    assert local.counts["done"] == len(good)
    # A worker that was frozen in the middle of a stack, and killed when it woke up, leaves what it
    # was writing under a hidden name; nothing of it has a final one.
    left = {name for name in products(there) if ".part/" in name}
    assert all(re.search(r"(^|/)\.[^/]*\.part/", name) for name in left)
    assert {n: b for n, b in products(there).items() if n not in left} == products(here)


def test_a_scheduler_that_is_not_there_is_said_so(plate, tmp_path, capsys, monkeypatch):
    pytest.importorskip("distributed")
    monkeypatch.setattr("varfocus.batch.cluster.CONNECT_SECONDS", 1)
    said = varfocus(
        capsys, "batch", plate[0], "-o", tmp_path / "out", "--cluster", "tcp://127.0.0.1:9"
    )
    assert said.code == 2
    assert "no Dask scheduler answers at tcp://127.0.0.1:9" in said.err
    assert "Traceback" not in said.err


def test_without_dask_the_extra_is_named(plate, tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    said = varfocus(
        capsys, "batch", plate[0], "-o", tmp_path / "o", "--cluster", "tcp://127.0.0.1:9"
    )
    assert said.code == 2
    assert "varfocus[cluster]" in said.err


# Watching


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_a_stack_is_taken_when_it_has_settled(tmp_path, images):
    root, clock = tmp_path / "in", Clock()
    coming = arrivals(root, tmp_path / "out", 10.0, None, Job(()), clock=clock)

    def after(seconds: float) -> set[str]:
        """Return what is taken at a look after so many seconds."""
        clock.now += seconds
        taken = set()
        while (path := next(coming)) is not None:
            taken.add(path.name)
        return taken

    assert after(0) == set()  # the folder is not there yet
    folder = root / "a"
    folder.mkdir(parents=True)
    for j, frame in enumerate(images[:4]):
        Image.fromarray(frame).save(folder / f"{j}.png")
    assert after(5) == set()
    assert after(9) == set()
    Image.fromarray(images[4]).save(folder / "4.png")  # one more: it waits anew
    assert after(5) == set()
    assert after(9) == set()
    assert after(2) == {"a"}
    assert after(20) == set()  # once is enough
    whole = tmp_path / "whole.tif"
    tifffile.imwrite(whole, images, photometric="minisblack")
    content = whole.read_bytes()
    (root / "z.tif").write_bytes(content[: len(content) // 2])  # half-written
    assert after(5) == set()
    (root / "z.tif").write_bytes(content)
    assert after(5) == set()
    assert after(11) == {"z.tif"}
    Image.fromarray(images[5]).save(folder / "5.png")  # changed since: taken again
    assert after(5) == set()
    assert after(11) == {"a"}


def test_the_expected_number_of_frames_is_waited_for(tmp_path, images):
    root, clock = tmp_path / "in", Clock()
    coming = arrivals(root, tmp_path / "out", 0.0, 7, Job(()), clock=clock)
    root.mkdir()
    taken = []
    for n in (5, 7):
        tifffile.imwrite(root / "z.tif", images[:n], photometric="minisblack")
        for _ in range(3):
            clock.now += 5
            taken += [n for path in iter(lambda: next(coming), None)]
    assert taken == [7]


def test_watching_does_what_comes_and_survives_a_restart(tmp_path, images):
    root, output = tmp_path / "in", tmp_path / "out"
    root.mkdir()
    arguments = ("batch", root, "-o", output, "--watch", "--settle", 0.5, "--no-report")
    for name in ("a", "b"):
        with running(*arguments) as process:
            tifffile.imwrite(root / f"{name}.tif", images, photometric="minisblack")
            wait_until(lambda name=name: name in results(output), "a result", process)
            process.send_signal(signal.SIGINT)
            said = process.communicate(timeout=PATIENCE)[0]
        assert process.returncode == 0, said
    assert results(output) == {"a", "b"}
    assert not [name for name in files_below(output) if name.endswith(".part")]


def test_a_stack_that_was_not_complete_is_done_when_it_is(tmp_path, images):
    root, output = tmp_path / "in", tmp_path / "out"
    root.mkdir()
    tifffile.imwrite(tmp_path / "z.tif", images, photometric="minisblack")
    content = (tmp_path / "z.tif").read_bytes()
    (root / "z.tif").write_bytes(content[: len(content) // 2])  # and the instrument pauses
    arguments = ("batch", root, "-o", output, "--watch", "--settle", 0.2, "--no-report", "--json")

    def counts() -> dict[str, int]:
        path = output / "summary.json"
        return json.loads(path.read_text())["counts"] if path.exists() else {}

    with running(*arguments) as process:
        wait_until(lambda: counts().get("failed"), "failure", process)
        (root / "z.tif").write_bytes(content)
        wait_until(lambda: counts().get("done"), "result", process)
        process.send_signal(signal.SIGTERM)  # as polite as Ctrl-C
        said = process.communicate(timeout=PATIENCE)[0]
    assert process.returncode == 0, said
    assert counts()["failed"] == 0


def test_watching_wants_one_folder(plate, tmp_path, capsys):
    said = varfocus(capsys, "batch", plate[0], plate[0], "-o", tmp_path / "out", "--watch")
    assert said.code == 2
    with pytest.raises(OutputError):
        batch.run(plate[0], plate[0])
