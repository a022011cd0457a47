"""Strokes, slabs, measurements and files of the page, request by request."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import trimesh
from starlette.testclient import TestClient

from command_line import read_png, repeated, write_pictures
from page_client import ORIGIN, STATIC, client_of, finished_result
from processes import wait_until
from varfocus.app import server
from varfocus.app.session import title_of
from varfocus.export.saved import load_result
from varfocus.io import read_stack
from varfocus.io.calibration import Focus, calibrated
from varfocus.simulation import simulate

BOX = [[10, 10], [40, 10], [40, 30], [10, 30]]
FOCUS = Focus(z_step="5um", pixel_size="2um")


@pytest.fixture(scope="module")
def shots(tmp_path_factory: pytest.TempPathFactory) -> Path:
    frames = simulate("steps", shape=(48, 64), n=6).frames
    return write_pictures(tmp_path_factory.mktemp("stack") / "chip", frames, "img")


@pytest.fixture(scope="module")
def page(shots: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[server.Page]:
    static = tmp_path_factory.mktemp("static")
    (static / "index.html").write_text(STATIC)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(server, "static_folder", lambda: static)
        yield server.Page(calibrated(read_stack(str(shots)), FOCUS), [str(shots)], FOCUS)


@pytest.fixture(scope="module")
def client(page: server.Page) -> Iterator[TestClient]:
    with client_of(page) as client:
        body = {"parameters": {"method": "classic", "align": "none"}}
        client.post("/api/solve", json=body, headers=ORIGIN)
        finished_result(client)
        yield client


def newest(client: TestClient) -> dict:
    return client.get("/api/state").json()["results"][-1]


def tile(client: TestClient, version: int, name: str) -> np.ndarray:
    answer = client.get(f"/api/results/{version}/{name}/full/0/0/0")
    assert answer.status_code == 200
    kind = np.uint8 if name == "fused" or name.startswith("slab") else np.float32
    return np.frombuffer(answer.content, kind).reshape(48, 64, *[4] * (kind == np.uint8))


def draw(client: TestClient, *strokes: dict) -> None:
    version = newest(client)["version"]
    path = f"/api/results/{version}/retouch"
    answer = client.post(path, json={"strokes": list(strokes)}, headers=ORIGIN)
    assert answer.status_code == 200, answer.text


def saved(client: TestClient) -> dict:
    def look() -> dict | None:
        result = newest(client)
        return result if result["saved"] else None

    return wait_until(look, "files of the retouched result")


def test_strokes_change_what_is_shown_saved_and_repeated(
    client: TestClient, shots: Path, tmp_path: Path
) -> None:
    before = newest(client)
    frames = client.get("/api/state").json()["frames"]
    plain = tile(client, before["version"], "fused")
    paint = {"tool": "paint", "frame": frames[5]["id"], "points": BOX}
    erase = {"tool": "erase-depth", "points": [[50, 20]], "radius": 6}
    draw(client, paint)
    draw(client, paint, erase)
    now = newest(client)
    assert now["version"] == before["version"]
    assert now["revision"] == before["revision"] + 2
    assert now["strokes"] == [paint, erase]
    shown = tile(client, now["version"], "fused")[..., :3]
    last = read_png(shots / "img5.png")
    np.testing.assert_array_equal(shown[10:30, 10:40], last[10:30, 10:40])
    np.testing.assert_array_equal(shown[32:], plain[32:, :, :3])
    assert np.isnan(tile(client, now["version"], "depth")[20, 50])
    result = saved(client)
    assert "--retouch strokes.json" in result["command"]
    products = f"/api/results/{result['version']}/products"
    answer = client.get(f"{products}/strokes.json")
    assert 'filename="chip-strokes.json"' in answer.headers["content-disposition"]
    (tmp_path / "strokes.json").write_bytes(answer.content)
    assert json.loads(answer.content)["strokes"][0]["frame"] == "img5.png"
    repeated(result["command"], tmp_path)
    for name in ("depth.tif", "fused.png", "confidence.tif", "source.tif"):
        content = client.get(f"{products}/{name}").content
        assert content == (tmp_path / "result" / name).read_bytes(), name
    # Undone, everything is as it was.
    draw(client)
    np.testing.assert_array_equal(tile(client, result["version"], "fused"), plain)
    assert newest(client)["saved"]
    assert "--retouch" not in newest(client)["command"]


def test_strokes_go_along_with_the_next_result_and_come_from_others(client: TestClient) -> None:
    first = newest(client)["version"]
    draw(client, {"tool": "set-depth", "frame": 2.0, "points": BOX})
    body = {"parameters": {"method": "classic", "align": "none", "window": 5}}
    client.post("/api/solve", json=body, headers=ORIGIN)

    def carried() -> dict | None:
        result = newest(client)
        return result if result["version"] > first and result.get("strokes") else None

    second = wait_until(carried, "strokes on the new result")
    depth = tile(client, second["version"], "depth")
    np.testing.assert_allclose(depth[10:30, 10:40], 10.0)
    draw(client, {"tool": "paint", "result": first, "points": BOX})
    other = tile(client, first, "fused")
    mine = tile(client, second["version"], "fused")
    np.testing.assert_array_equal(mine[10:30, 10:40], other[10:30, 10:40])
    draw(client)


def test_a_difference_is_that_of_the_retouched_depths(client: TestClient) -> None:
    second, first = (r["version"] for r in client.get("/api/state").json()["results"][-2:][::-1])

    def retouch(version: int, *strokes: dict) -> None:
        path = f"/api/results/{version}/retouch"
        assert client.post(path, json={"strokes": list(strokes)}, headers=ORIGIN).is_success

    def difference() -> np.ndarray:
        about = client.get(f"/api/results/{first}/minus/{second}").json()
        return tile(client, first, about["map"])

    retouch(first)
    plain = difference()
    retouch(first, {"tool": "set-depth", "frame": 4.0, "points": BOX})
    retouch(second, {"tool": "set-depth", "frame": 1.0, "points": BOX})
    by_hand = difference()  # at once: their files are not written yet
    np.testing.assert_allclose(by_hand[10:30, 10:40], 15.0)
    np.testing.assert_array_equal(by_hand[32:], plain[32:])
    shown = tile(client, first, "depth") - tile(client, second, "depth")
    np.testing.assert_array_equal(by_hand, shown)
    # Both are written, although the second was retouched before the first was.
    for version in (first, second):
        wait_until(lambda v=version: known(client, v)["saved"], "files of both")
    retouch(first)
    retouch(second)
    np.testing.assert_array_equal(difference(), plain)


def known(client: TestClient, version: int) -> dict:
    results = client.get("/api/state").json()["results"]
    return next(result for result in results if result["version"] == version)


def test_a_retouched_result_is_painted_from_as_it_is_shown(client: TestClient) -> None:
    second, first = (r["version"] for r in client.get("/api/state").json()["results"][-2:][::-1])
    last = client.get("/api/state").json()["frames"][-1]["id"]
    path = f"/api/results/{first}/retouch"
    stroke = {"tool": "paint", "frame": last, "points": BOX}
    assert client.post(path, json={"strokes": [stroke]}, headers=ORIGIN).is_success
    draw(client, {"tool": "paint", "result": first, "points": BOX})
    theirs, mine = (tile(client, version, "fused") for version in (first, second))
    np.testing.assert_array_equal(mine[10:30, 10:40], theirs[10:30, 10:40])
    draw(client)
    assert client.post(path, json={"strokes": []}, headers=ORIGIN).is_success


def test_slabs_are_made_shown_and_painted_from(client: TestClient) -> None:
    version = newest(client)["version"]
    path = f"/api/results/{version}/slabs"
    assert client.post(path, json={"size": 3, "overlap": 0}, headers=ORIGIN).status_code == 200
    slabs = newest(client)["slabs"]
    assert [(s["first"], s["last"]) for s in slabs] == [
        ("img0.png", "img2.png"),
        ("img3.png", "img5.png"),
    ]
    draw(client, {"tool": "paint", "slab": 1, "points": BOX})
    slab, shown = (tile(client, version, name) for name in ("slab-1", "fused"))
    np.testing.assert_array_equal(shown[10:30, 10:40], slab[10:30, 10:40])
    draw(client)
    for wrong in ({"size": 2, "overlap": 0}, {"size": 3, "overlap": 3}, {"size": "x"}, {}):
        assert client.post(path, json=wrong, headers=ORIGIN).status_code == 400


@pytest.mark.parametrize(
    "stroke",
    [
        {"tool": "paint", "points": BOX, "picture": "/etc/passwd"},
        {"tool": "paint", "points": BOX, "frame": 10**6},
        {"tool": "paint", "points": BOX, "frame": "img1.png"},
        {"tool": "paint", "points": BOX, "result": 10**6},
        {"tool": "paint", "points": BOX, "result": "1"},
        {"tool": "paint", "points": BOX, "slab": 99},
        {"tool": "erase-depth", "points": [[0, 0]]},
        {"tool": "run", "points": BOX},
        {},
    ],
)
def test_odd_strokes_are_refused_and_change_nothing(client: TestClient, stroke: dict) -> None:
    before = newest(client)
    path = f"/api/results/{before['version']}/retouch"
    answer = client.post(path, json={"strokes": [stroke]}, headers=ORIGIN)
    assert answer.status_code == 400
    assert "received" in answer.json()["message"]
    assert newest(client)["strokes"] == before["strokes"]
    assert client.post(path, json={"strokes": "x"}, headers=ORIGIN).status_code == 400


SHAPES = {
    "varfocus_measurements": 1,
    "level": {"by": "points", "points": [[5, 5], [60, 5], [5, 40]]},
    "shapes": [
        {"kind": "line", "points": [[4, 24], [60, 24]], "name": "across"},
        {"kind": "step", "points": [[4, 4], [12, 40], [52, 4], [60, 40]], "name": "edge"},
        {"kind": "point", "points": [[30, 20]], "name": "here"},
        {"kind": "region", "points": [[4, 4], [20, 20]], "name": "matt"},
    ],
}


def test_measurements_are_those_of_the_command_line(client: TestClient, tmp_path: Path) -> None:
    result = saved(client)
    path = f"/api/results/{result['version']}"
    answer = client.post(f"{path}/measure", json=SHAPES, headers=ORIGIN)
    assert answer.status_code == 200, answer.text
    told = answer.json()["measured"]
    assert [one["name"] for one in told] == ["across", "edge", "here", "matt"]
    assert len(told[0]["profile"]["height"]) == 57
    assert client.get("/api/state").json()["measurements"]["shapes"][3]["name"] == "matt"
    table = client.get(f"{path}/products/measurements.csv")
    assert 'filename="chip-measurements.csv"' in table.headers["content-disposition"]
    for name in result["files"]:
        (tmp_path / name).write_bytes(client.get(f"{path}/products/{name}").content)
    (tmp_path / "shapes.json").write_text(json.dumps(SHAPES))
    repeated(f"varfocus measure '{tmp_path}' --shapes '{tmp_path / 'shapes.json'}'", tmp_path)
    assert (tmp_path / "measurements.csv").read_bytes() == table.content
    profiles = client.get(f"{path}/products/profiles.csv").content
    assert (tmp_path / "measurements-profiles.csv").read_bytes() == profiles
    wrong = SHAPES | {"shapes": [{"kind": "arc", "points": []}]}
    assert client.post(f"{path}/measure", json=wrong, headers=ORIGIN).status_code == 400


def test_files_are_made_as_asked_and_named_after_the_stack(
    client: TestClient, tmp_path: Path
) -> None:
    result = saved(client)
    path = f"/api/results/{result['version']}/products"
    small, large = (client.get(f"{path}/picture.jpg?quality={q}") for q in (10, 95))
    assert small.status_code == large.status_code == 200
    assert len(small.content) < len(large.content)
    assert 'filename="chip-picture.jpg"' in small.headers["content-disposition"]
    (tmp_path / "print.stl").write_bytes(client.get(f"{path}/print.stl?size=64&base=3").content)
    body = trimesh.load(tmp_path / "print.stl")
    assert body.is_watertight
    assert body.extents[0] == pytest.approx(63, rel=1e-4)
    archive = zipfile.ZipFile(io.BytesIO(client.get(f"{path}/everything.zip").content))
    assert {"depth.tif", "run.json", "model.glb", "print.stl"} <= set(archive.namelist())
    for wrong in ("picture.jpg?quality=0", "picture.jpg?quality=x", "print.stl?size=nan",
                  "print.stl?base=-1"):  # fmt: skip
        answer = client.get(f"{path}/{wrong}")
        assert answer.status_code == 400, wrong
    assert client.get(f"{path}/secret.stl").status_code == 404


def test_frames_left_out_on_the_page_are_left_out_by_the_command_and_painted_from(
    client: TestClient, shots: Path, tmp_path: Path
) -> None:
    before = newest(client)["version"]
    ids = [f["id"] for f in client.get("/api/state").json()["frames"]]
    body = {"order": ids, "excluded": [ids[0], ids[3]]}
    client.post("/api/arrange", json=body, headers=ORIGIN)
    body = {"parameters": {"method": "classic", "align": "none"}}
    client.post("/api/solve", json=body, headers=ORIGIN)
    result = finished_result(client, before)
    assert "--leave-out 0,3" in result["command"]
    repeated(result["command"], tmp_path)
    content = client.get(f"/api/results/{result['version']}/products/depth.tif").content
    assert content == (tmp_path / "result" / "depth.tif").read_bytes()
    assert load_result(tmp_path / "result").record["input"]["focus"] == [5, 10, 20, 25]
    # What takes no part can be painted from nevertheless, and the command repeats that.
    plain = tile(client, result["version"], "fused")
    draw(client, {"tool": "paint", "frame": ids[3], "points": BOX})
    painted = tile(client, result["version"], "fused")[..., :3]
    left_out = read_png(shots / "img3.png")
    assert (plain[10:30, 10:40, :3] != left_out[10:30, 10:40]).any()
    np.testing.assert_array_equal(painted[10:30, 10:40], left_out[10:30, 10:40])
    np.testing.assert_array_equal(painted[32:], plain[32:, :, :3])
    result = saved(client)
    products = f"/api/results/{result['version']}/products"
    (tmp_path / "strokes.json").write_bytes(client.get(f"{products}/strokes.json").content)
    repeated(f"{result['command']} --overwrite", tmp_path)
    content = client.get(f"{products}/fused.png").content
    assert content == (tmp_path / "result" / "fused.png").read_bytes()
    draw(client)
    client.post("/api/arrange", json={"order": ids, "excluded": []}, headers=ORIGIN)


def test_a_frame_is_shown_beside_the_result_where_it_is_painted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sharp frames that only move, one of them left out: all are painted as they are shown."""
    (tmp_path / "index.html").write_text(STATIC)
    monkeypatch.setattr(server, "static_folder", lambda: tmp_path)
    coarse = np.random.default_rng(0).integers(0, 255, (24, 30), np.uint8)
    scene = np.kron(coarse, np.ones((6, 6), np.uint8))
    shifts = [(-5, 3), (4, -5), (0, 0), (5, 4), (-3, -4)]
    moved = [np.roll(scene, shift, (0, 1))[8:-8, 8:-8] for shift in shifts]
    shots = write_pictures(tmp_path / "moving", moved)
    with client_of(server.Page(read_stack(str(shots)), [str(shots)])) as client:
        ids = [f["id"] for f in client.get("/api/state").json()["frames"]]
        body = {"order": ids, "excluded": [ids[3]]}
        client.post("/api/arrange", json=body, headers=ORIGIN)
        body = {"parameters": {"method": "classic", "align": "shift"}}
        client.post("/api/solve", json=body, headers=ORIGIN)
        result = finished_result(client)
        left, top, width, height = result["place"]
        assert (width, height) != moved[0].shape[::-1]
        corners = [[left + 2, top + 2], [left + width - 2, top + 2]]
        corners += [[x, top + height - 2] for x, _ in reversed(corners)]
        for k in (1, 3):
            raw = client.get(f"/api/frames/{ids[k]}/0/0/0").content
            path = f"/api/results/{result['version']}/frames/{ids[k]}/0/0/0"
            beside = client.get(path).content
            assert beside != raw
            there = np.frombuffer(beside, np.uint8).reshape(*moved[0].shape, 4)
            draw(client, {"tool": "paint", "frame": ids[k], "points": corners})
            answer = client.get(f"/api/results/{result['version']}/fused/full/0/0/0")
            painted = np.frombuffer(answer.content, np.uint8).reshape(height, width, 4)
            inner = np.s_[top + 4 : top + height - 4, left + 4 : left + width - 4]
            np.testing.assert_array_equal(painted[4:-4, 4:-4], there[inner])


@pytest.mark.parametrize(
    ("source", "names", "title"),
    [
        (["shots/beetle/"], [], "beetle"),
        (["shots/beetle/*.jpg"], [], "beetle"),
        (["a/scan 3.tif"], [], "scan-3"),
        ([], ["IMG_0012.jpg", "IMG_0013.jpg"], "IMG"),
        ([], ["12.jpg", "13.jpg"], "varfocus"),
        ([], [], "varfocus"),
        (["example/frames"], [], "example"),
    ],
)
def test_a_stack_gives_its_files_a_name(source, names, title) -> None:
    assert title_of(source, names) == title
