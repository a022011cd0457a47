"""Work on the page is kept as it goes: frames by reference, settings, results; for its user."""

from __future__ import annotations

import io
import json
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import tifffile
from starlette.testclient import TestClient

from command_line import write_pictures
from page_client import ORIGIN, client_of, finished_result, post
from processes import wait_until
from varfocus.app import retouching, server
from varfocus.app.sessions import KEPT_DAYS, RECORD, Door, Shelf, write_private
from varfocus.export import images
from varfocus.io import read_stack
from varfocus.simulation import simulate

CLASSIC = {"parameters": {"method": "classic", "window": 5, "align": "none"}, "settled": True}


def upload(client: TestClient, name: str, content: bytes | np.ndarray, mode: str = "add"):
    if isinstance(content, np.ndarray):
        content = images.picture(content)[1]
    return client.put(f"/api/upload?name={name}&mode={mode}", content=content, headers=ORIGIN)


def upload_all(client: TestClient, frames, mode: str = "add", prefix: str = "shot") -> int:
    for k, frame in enumerate(frames):
        assert upload(client, f"{prefix}{k}.png", frame, mode).status_code == 200
    return post(client, "uploaded", mode=mode).json()["frames"]


def state(client: TestClient) -> dict:
    return client.get("/api/state").json()


def test_work_is_there_again_after_the_server_ended(root: Path, frames) -> None:
    with client_of(server.Page(shelf=Shelf(root))) as client:
        upload_all(client, frames)
        ids = [f["id"] for f in state(client)["frames"]]
        post(client, "arrange", order=ids, excluded=[ids[1]])
        post(client, "solve", **CLASSIC)
        before = finished_result(client)
        post(client, f"results/{before['version']}", name="the good one", pinned=True)
        post(client, "choices", pixel=[3, 4], shapes=[[1, 2, 30, 20]])
        session = state(client)["session"]
        depth = client.get(f"/api/results/{before['version']}/depth/full/0/0/0").content
        curve = client.get(f"/api/results/{before['version']}/curve?x=9&y=9").json()
    with client_of(server.Page(shelf=Shelf(root))) as client:
        (kept,) = client.get("/api/sessions").json()
        assert (kept["name"], kept["frames"], kept["results"]) == (session, 5, 1)
        assert post(client, f"sessions/{session}/open").status_code == 200
        after = state(client)
        assert [f["id"] for f in after["frames"]] == ids
        assert [f["included"] for f in after["frames"]] == [True, False, True, True, True]
        assert after["choices"] == {"pixel": [3, 4], "shapes": [[1, 2, 30, 20]]}
        (result,) = after["results"]
        assert (result["name"], result["pinned"]) == ("the good one", True)
        version = result["version"]
        assert client.get(f"/api/results/{version}/depth/full/0/0/0").content == depth
        assert client.get(f"/api/results/{version}/curve?x=9&y=9").json() == curve
        assert client.get(f"/api/results/{version}/products/depth.tif").status_code == 200
        line = {"kind": "line", "points": [[5, 5], [40, 30]]}
        body = {"varfocus_measurements": 1, "shapes": [line]}
        assert post(client, f"results/{version}/measure", **body).status_code == 200


def test_what_the_command_line_gives_again_goes_on_where_it_was(
    root: Path, frames, tmp_path: Path
) -> None:
    shots = write_pictures(tmp_path / "shots", frames, "shot")
    source = [str(shots)]
    with client_of(server.Page(read_stack(source[0]), source, shelf=Shelf(root))) as client:
        post(client, "solve", **CLASSIC)
        version = finished_result(client)["version"]
        command = state(client)["results"][0]["command"]
    with client_of(server.Page(read_stack(source[0]), source, shelf=Shelf(root))) as client:
        (result,) = state(client)["results"]
        assert (result["version"], result["command"]) == (version, command)
        post(client, "solve", **CLASSIC)
        assert finished_result(client, after=version)["command"] == command
    (shots / "shot2.png").write_bytes(images.picture(frames[0])[1])  # another picture
    with client_of(server.Page(read_stack(source[0]), source, shelf=Shelf(root))) as client:
        assert state(client)["results"] == []


def test_a_file_that_is_gone_is_named_and_the_rest_goes_on(
    root: Path, frames, tmp_path: Path
) -> None:
    shots = write_pictures(tmp_path / "shots", frames, "shot")
    stack = read_stack(str(shots))
    with client_of(server.Page(stack, [str(shots)], shelf=Shelf(root))) as client:
        session = state(client)["session"]
    (shots / "shot3.png").unlink()
    with client_of(server.Page(shelf=Shelf(root))) as client:
        post(client, f"sessions/{session}/open")
        problems = {f["name"]: f["problem"] for f in state(client)["frames"]}
        assert [name for name, problem in problems.items() if problem] == ["shot3.png"]
        assert "shot3.png" in problems["shot3.png"]
        post(client, "solve", **CLASSIC)
        assert len(finished_result(client)["frames"]) == 4


def test_files_of_no_use_change_nothing(client: TestClient, frames) -> None:
    upload_all(client, frames)
    before = state(client)
    for mode in ("replace", "new", "add"):
        answer = upload(client, "notes.txt", b"no picture", mode)
        assert answer.status_code == 400
        lines = answer.json()["message"].split("\n")
        assert lines[0].startswith("notes.txt: is not an image")
        assert len(lines) == 3
        assert post(client, "uploaded", mode=mode).json() == {"frames": 0}
        assert state(client)["frames"] == before["frames"]
        assert state(client)["session"] == before["session"]


def test_a_replaced_stack_can_be_had_back_until_it_goes_for_good(
    client: TestClient, frames, root: Path
) -> None:
    upload_all(client, frames)
    first = state(client)["session"]
    upload_all(client, frames[::-1], "replace", "other")
    now = state(client)
    assert now["session"] != first
    assert now["replaced"] == first
    assert [f["name"] for f in now["frames"]] == [f"other{k}.png" for k in range(5)]
    assert post(client, f"sessions/{first}/open").status_code == 200  # undo
    assert [f["name"] for f in state(client)["frames"]] == [f"shot{k}.png" for k in range(5)]
    upload_all(client, frames, "replace", "third")
    assert list((root / first / "uploads").iterdir())
    upload_all(client, frames, "replace", "fourth")
    assert not (root / first).exists()  # with its uploads
    assert (root / now["session"]).exists()  # what undo left was kept


def test_a_new_stack_leaves_the_old_one_and_one_of_them_can_be_deleted(
    client: TestClient, frames, root: Path
) -> None:
    upload_all(client, frames)
    first = state(client)["session"]
    upload_all(client, frames, "new", "other")
    assert [one["name"] for one in client.get("/api/sessions").json()] == [first]
    assert post(client, f"sessions/{first}/forget").status_code == 200
    assert client.get("/api/sessions").json() == []
    assert not (root / first).exists()
    for wrong in (first, "..", "%2e%2e", "x" * 500, ".hidden"):
        assert post(client, f"sessions/{wrong}/open").status_code in (400, 404, 405)


def test_frames_that_do_not_fit_are_marked_named_and_left_out(client: TestClient, frames) -> None:
    for k, frame in enumerate(frames):
        upload(client, f"shot{k}.png", frame)
    upload(client, "large.png", np.zeros((50, 56, 3), np.uint8))
    answer = upload(client, "broken one.png", b"\x89PNG\r\n\x1a\nbroken")
    assert "broken one.png" in answer.json()["message"]
    assert post(client, "uploaded").json() == {"frames": 6}
    problems = {f["name"]: f["problem"] for f in state(client)["frames"] if f["problem"]}
    assert set(problems) == {"large.png", "broken one.png"}
    assert "56×50" in problems["large.png"]
    assert "large.png" in problems["large.png"]
    post(client, "solve", **CLASSIC)
    result = finished_result(client)
    assert len(result["frames"]) == 5
    run = client.get(f"/api/results/{result['version']}/products/run.json").json()
    assert run["input"]["frames"] == [f"shot{k}.png" for k in range(5)]  # the user's names


def test_a_frame_that_only_its_pixels_spoil_is_marked_and_the_rest_goes_on(
    client: TestClient, frames
) -> None:
    """Its header is fine, and its pixels are no numbers: all frames stayed unseen."""
    for k, frame in enumerate(frames):
        values = frame.astype(np.float32)
        values[3, 4] = np.nan if k == 1 else 0.5
        file = io.BytesIO()
        tifffile.imwrite(file, values, photometric="rgb")
        assert upload(client, f"shot{k}.tif", file.getvalue()).status_code == 200
    post(client, "uploaded", mode="add")
    wait_until(lambda: state(client)["preview"], "frames at preview size")
    problems = [frame["problem"] for frame in state(client)["frames"]]
    assert [bool(problem) for problem in problems] == [False, True, False, False, False]
    assert problems[1].startswith("shot1.tif: ")
    post(client, "solve", **CLASSIC)
    assert len(finished_result(client)["frames"]) == 4


def test_all_tiles_of_a_frame_come_however_many_are_asked_for_at_once(
    client: TestClient, rng
) -> None:
    frames = rng.integers(0, 255, (3, 600, 1100), np.uint8)
    upload_all(client, frames)
    frame = state(client)["frames"][1]["id"]
    spots = [(0, c, r) for c in range(3) for r in range(2)] + [(2, 0, 0), (1, 0, 0)]

    def status(spot: tuple[int, int, int]) -> int:
        return client.get("/api/frames/{}/{}/{}/{}".format(frame, *spot)).status_code

    with ThreadPoolExecutor(len(spots)) as pool:
        assert set(pool.map(status, spots)) == {200}


def test_frames_that_were_being_read_when_all_was_cancelled_are_read_again(
    client: TestClient,
) -> None:
    """Without that no frame was ever shown: strip and panes stayed empty."""
    frames = [np.random.default_rng(k).integers(0, 255, (900, 900), np.uint8) for k in range(8)]
    upload_all(client, frames)
    post(client, "solve", **CLASSIC)
    post(client, "cancel")  # long before eight frames are read
    wait_until(lambda: state(client)["preview"], "frames at preview size")


def test_sessions_that_are_opened_at_the_same_time_are_both_kept(
    client: TestClient, frames
) -> None:
    """The one that was still being opened was empty, and was deleted as such."""
    names = []
    for prefix in ("first", "second"):
        upload_all(client, frames, "new", prefix)
        names.append(state(client)["session"])
    post(client, "clear")
    with ThreadPoolExecutor(4) as pool:
        answers = pool.map(lambda name: post(client, f"sessions/{name}/open"), 2 * names)
        assert {answer.status_code for answer in answers} <= {200, 400}  # 400: being opened
    post(client, "clear")
    listed = {one["name"]: one["frames"] for one in client.get("/api/sessions").json()}
    assert listed == dict.fromkeys(names, 5)
    for name in names:
        post(client, f"sessions/{name}/open")
        assert [frame["problem"] for frame in state(client)["frames"]] == [""] * 5


def test_results_are_named_compared_deleted_and_had_back(client: TestClient, frames) -> None:
    upload_all(client, frames)
    post(client, "solve", **CLASSIC)
    first = finished_result(client)["version"]
    wide = CLASSIC | {"parameters": CLASSIC["parameters"] | {"window": 9, "crop": "4,6,40,30"}}
    post(client, "solve", **wide)
    second = finished_result(client, after=first)["version"]

    def depth(version: int) -> np.ndarray:
        content = client.get(f"/api/results/{version}/products/depth.tif").content
        import tifffile

        return tifffile.imread(io.BytesIO(content))

    about = client.get(f"/api/results/{first}/minus/{second}").json()
    tile = client.get(f"/api/results/{first}/{about['map']}/full/0/0/0").content
    shown = np.frombuffer(tile, np.float32).reshape(40, 56)
    expected = np.full((40, 56), np.nan, np.float32)
    expected[6:36, 4:44] = depth(first)[6:36, 4:44] - depth(second)
    np.testing.assert_array_equal(shown, expected)
    assert about["range"][0] == -about["range"][1]
    assert about["known"] == np.isfinite(expected).sum()
    assert client.get(f"/api/results/{first}/minus/1").status_code == 400

    assert post(client, f"results/{first}", name="  left\n ").status_code == 200
    assert post(client, f"results/{first}", deleted=True).status_code == 200
    assert [r["version"] for r in state(client)["results"]] == [second]
    assert post(client, f"results/{first}", deleted=False).status_code == 200
    assert [r["name"] for r in state(client)["results"]] == ["left", ""]
    for wrong in ({}, {"name": 5}, {"pinned": "yes"}):
        assert post(client, f"results/{first}", **wrong).status_code == 400


def test_strokes_that_were_just_drawn_survive_a_crash(
    root: Path, frames, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever was killed before the files were written lost the strokes, and the result, too."""
    box = [[10, 10], [40, 10], [40, 30], [10, 30]]
    stroke = {"tool": "set-depth", "frame": 2.0, "points": box}
    monkeypatch.setattr(retouching, "SAVED_AFTER", 1e6)  # never
    with client_of(server.Page(shelf=Shelf(root))) as client:
        upload_all(client, frames)
        post(client, "solve", **CLASSIC)
        version, session = finished_result(client)["version"], state(client)["session"]
        assert post(client, f"results/{version}/retouch", strokes=[stroke]).is_success
        record = root / session / RECORD
        wait_until(lambda: "set-depth" in record.read_text(), "record")
        left = record.read_bytes()
    record.write_bytes(left)  # whatever was written on leaving
    monkeypatch.setattr(retouching, "SAVED_AFTER", 0.0)
    with client_of(server.Page(shelf=Shelf(root))) as client:
        post(client, f"sessions/{session}/open")

        def drawn_again() -> dict | None:
            result = state(client)["results"][0]
            return result if result["strokes"] and result["saved"] else None

        assert wait_until(drawn_again, "strokes")["strokes"] == [stroke]
        depth = client.get(f"/api/results/{version}/depth/full/0/0/0").content
        np.testing.assert_array_equal(
            np.frombuffer(depth, np.float32).reshape(40, 56)[10:30, 10:40], 2.0
        )


def test_a_result_is_written_even_if_the_next_is_asked_for_or_all_is_cancelled(
    client: TestClient,
) -> None:
    """It stayed in the list without files, and was gone after a restart."""
    frames = simulate("steps", shape=(300, 400), n=5).frames
    upload_all(client, list(frames))
    for interrupt in ("solve", "cancel"):
        before = max((r["version"] for r in state(client)["results"]), default=0)
        post(client, "solve", **CLASSIC)

        def writing(after: int = before) -> int | None:
            there = [r["version"] for r in state(client)["results"] if not r["preview"]]
            return max(there) if there and max(there) > after else None

        version = wait_until(writing, "result in full size")
        post(client, interrupt, **(CLASSIC | {"settled": False} if interrupt == "solve" else {}))

        def written(version: int = version) -> bool:
            return any(r["version"] == version and r["saved"] for r in state(client)["results"])

        wait_until(written, f"files in spite of {interrupt}")


def test_near_and_far_are_exchanged_in_measurements_and_models(client: TestClient, frames) -> None:
    trimesh = pytest.importorskip("trimesh")
    upload_all(client, frames)
    post(client, "solve", **CLASSIC)
    result = finished_result(client)
    shape = {"kind": "line", "points": [[5, 5], [50, 35]]}
    line = {"varfocus_measurements": 1, "shapes": [shape]}

    def heights() -> np.ndarray:
        answer = post(client, f"results/{result['version']}/measure", **line).json()
        return np.array(answer["measured"][0]["profile"]["height"], np.float64)

    def mesh() -> np.ndarray:
        content = client.get(f"/api/results/{result['version']}/products/points.ply").content
        return trimesh.load(trimesh.util.wrap_as_stream(content), file_type="ply").vertices

    before, model = heights(), mesh()
    assert result["near"] == "small"
    assert post(client, "near", near="large").status_code == 200
    assert state(client)["near"] == "large"
    np.testing.assert_allclose(heights(), -before)
    assert not np.allclose(np.ptp(mesh() - model, axis=0)[2], 0)
    assert post(client, "near", near="up").status_code == 400


def test_only_the_user_can_read_any_of_it(root: Path, frames) -> None:
    shelf = Shelf(root)
    shelf.remember(Door(1234, "t" * 43))
    with client_of(server.Page(shelf=shelf)) as client:
        upload_all(client, frames)
        record = wait_until(lambda: list(root.glob(f"*/{RECORD}")), "record")[0]
    for path in (root, root / "door.json", record.parent, record):
        assert path.stat().st_mode & 0o077 == 0, path
    assert shelf.door() == Door(1234, "t" * 43)
    (root / "door.json").chmod(0o644)  # others may know it: not to be used any more
    assert shelf.door() is None


@pytest.mark.parametrize("content", ["", "[]", "{", '{"port": "x"}', '{"port": 1, "token": "a"}'])
def test_a_door_that_is_none_is_not_used(root: Path, content: str) -> None:
    shelf = Shelf(root)
    (root / "door.json").write_text(content)
    (root / "door.json").chmod(0o600)
    assert shelf.door() is None


def test_work_that_nobody_opened_for_long_is_removed(root: Path) -> None:
    shelf = Shelf(root)
    for days in (1, KEPT_DAYS + 1):
        folder = shelf.new()
        write_private(folder / RECORD, {"changed": time.time() - 86400 * days, "frames": [1]})
    assert len(Shelf(root).listed()) == 1


def test_a_session_that_is_open_elsewhere_is_refused(root: Path, frames) -> None:
    with client_of(server.Page(shelf=Shelf(root))) as client:
        upload_all(client, frames)
        session = state(client)["session"]
        wait_until(lambda: (root / session / RECORD).exists(), "record")
        with client_of(server.Page(shelf=Shelf(root))) as other:
            answer = post(other, f"sessions/{session}/open")
            assert answer.status_code == 400
            assert "another" in answer.json()["message"]
            assert state(other)["frames"] == []
            assert post(other, f"sessions/{session}/forget").status_code == 200
        assert (root / session).exists()


def test_a_record_that_is_damaged_is_not_listed(root: Path) -> None:
    shelf = Shelf(root)
    (shelf.new() / RECORD).write_text("{")
    (shelf.new() / RECORD).write_text(json.dumps([1, 2]))
    assert shelf.listed() == []
