"""Live stacking: which files count, when a stack is complete, and what is shown of it."""

from __future__ import annotations

import io
import threading
import time

import numpy as np
from PIL import Image

from command_line import files_below, varfocus, write_pictures
from varfocus.follow import LIVE, Live, arriving
from varfocus.io.calibration import Focus
from varfocus.params import Params
from varfocus.simulation import simulate


class Camera:
    """Does something at every look, and lets time pass."""

    def __init__(self, *deeds):
        self.deeds, self.now = list(deeds), 0.0

    def clock(self):
        return self.now

    def sleep(self, seconds):
        self.now += seconds
        if self.deeds:
            self.deeds.pop(0)()


def looked(folder, camera, **options):
    found = arriving(folder, clock=camera.clock, sleep=camera.sleep, **options)
    return [[path.name for path in files] for files in found]


def test_a_stack_grows_and_settles(tmp_path):
    scene = simulate("cone", shape=(16, 16), n=5).frames
    folder = tmp_path / "incoming"
    deeds = [lambda n=n: write_pictures(folder, scene[:n]) for n in (1, 2, 3, 4)]
    camera = Camera(*deeds)
    seen = looked(folder, camera, settle=5.0)
    assert seen[-1] == ["0.png", "1.png", "2.png", "3.png"]
    assert [len(files) for files in seen] == [3, 4] or [len(files) for files in seen] == [4]
    assert camera.now >= 5.0


def test_the_number_of_frames_ends_it(tmp_path):
    write_pictures(tmp_path, simulate("cone", shape=(16, 16), n=4).frames)
    camera = Camera()
    assert [len(files) for files in looked(tmp_path, camera, frames=4)] == [4]
    assert camera.now < 5.0


def test_a_file_that_still_grows_does_not_count(tmp_path):
    write_pictures(tmp_path, simulate("cone", shape=(16, 16), n=4).frames)
    late = tmp_path / "3.png"
    content = late.read_bytes()

    def grow(k):
        return lambda: late.write_bytes(content[: 40 + k])

    camera = Camera(*(grow(k) for k in range(6)), lambda: late.write_bytes(content))
    sizes = [len(files) for files in looked(tmp_path, camera, settle=3.0)]
    assert sizes == [3, 4]


def test_a_preview_decodes_every_frame_once(tmp_path, monkeypatch):
    folder = write_pictures(tmp_path, simulate("cone", shape=(40, 56), n=5).frames)
    files = [folder / f"{k}.png" for k in range(5)]
    live = Live(Params("classic"), Focus())
    with Image.open(io.BytesIO(live.preview(files[:3]))) as image:
        first = np.asarray(image)
    for path in files[:3]:
        path.with_suffix(".gone").write_bytes(path.read_bytes())
    from varfocus.io.frames import FileFrame

    read, decoded = FileFrame.read, []
    monkeypatch.setattr(
        FileFrame, "read", lambda frame: (decoded.append(frame.name), read(frame))[1]
    )
    with Image.open(io.BytesIO(live.preview(files))) as image:
        second = np.asarray(image)
    assert sorted(decoded) == ["3.png", "4.png"]
    assert first.shape == second.shape
    assert (first != second).any()


def test_from_a_growing_folder_to_a_result(tmp_path, capsys):
    frames = simulate("cone", shape=(40, 56), n=5).frames
    folder = tmp_path / "incoming"

    def shoot():
        for n in (3, 5):
            write_pictures(folder, frames[:n])
            time.sleep(0.1)

    thread = threading.Thread(target=shoot)
    thread.start()
    said = varfocus(
        capsys, "depth", folder, "-o", tmp_path / "out", "--follow", "--frames", 5,
        "--method", "classic", "--z-step", "2um",
    )  # fmt: skip
    thread.join()
    assert said.code == 0, said.err
    assert f"5 frames: {tmp_path / 'out' / LIVE}" in said.err.replace("\n", "")
    found = files_below(tmp_path / "out")
    assert "run.json" in found
    assert LIVE not in found


def test_what_makes_no_sense_is_refused(tmp_path, capsys):
    folder = write_pictures(tmp_path / "in", simulate("cone", shape=(16, 16), n=4).frames)
    cases = [
        (folder, "-o", tmp_path / "out", "--frames", 4),
        (folder, "-o", tmp_path / "out", "--follow", "--frames", 2),
        (folder, "-o", folder, "--follow"),
        (folder / "0.png", "-o", tmp_path / "out", "--follow"),
        (folder, "-o", tmp_path / "out", "--follow", "--settle", 0),
    ]
    for words in cases:
        said = varfocus(capsys, "depth", *words)
        assert said.code == 2, (words, said.err)
        assert "expected" in said.err
