"""The page's server: who may talk to it, what it serves, and that bad input is answered kindly."""

from __future__ import annotations

import asyncio
import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from starlette.testclient import TestClient
from starlette.websockets import WebSocketDisconnect

from command_line import repeated, write_pictures
from page_client import HOST, ORIGIN, STATIC, TOKEN, client_of, finished_result, stranger_to
from varfocus.app import example, requests, schema, server, tiles
from varfocus.app.guard import HEADERS
from varfocus.app.workspace import Workspace, deliver
from varfocus.errors import InputError
from varfocus.io import read_stack
from varfocus.io.calibration import Focus, calibrated
from varfocus.params import STAGES_OF_METHOD, Params
from varfocus.simulation import simulate


@pytest.fixture(scope="module")
def shots(tmp_path_factory: pytest.TempPathFactory) -> Path:
    frames = simulate("steps", shape=(48, 64), n=6).frames
    return write_pictures(tmp_path_factory.mktemp("shots"), frames, "img")


@pytest.fixture
def stranger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[TestClient]:
    (tmp_path / "index.html").write_text(STATIC)
    monkeypatch.setattr(server, "static_folder", lambda: tmp_path)
    with stranger_to(server.Page()) as client:
        yield client


@pytest.fixture
def client(stranger: TestClient) -> TestClient:
    assert stranger.get(f"/?token={TOKEN}").status_code == 200
    return stranger


# The guard


def test_the_token_opens_the_page_once_and_then_the_cookie_does(stranger: TestClient) -> None:
    answer = stranger.get(f"/?token={TOKEN}", follow_redirects=False)
    assert answer.status_code == 303
    assert answer.headers["location"] == "/"
    cookie = answer.headers["set-cookie"].lower()
    assert "varfocus-8123=" in cookie
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert stranger.get("/api/state").status_code == 200


@pytest.mark.parametrize("path", ["/", "/api/state", "/index.html", "/?token=wrong", "/?token="])
def test_without_the_token_nothing_is_served(stranger: TestClient, path: str) -> None:
    answer = stranger.get(path)
    assert answer.status_code == 403
    assert "token" in answer.text
    assert "varfocus</title>" not in answer.text


def test_a_wrong_cookie_is_refused(stranger: TestClient) -> None:
    stranger.cookies.set("varfocus-8123", "x" * 43)
    assert stranger.get("/api/state").status_code == 403


@pytest.mark.parametrize("host", ["evil.example:8123", "127.0.0.1", "127.0.0.1:9", "", "localhost"])
def test_another_name_is_refused_even_with_the_cookie(client: TestClient, host: str) -> None:
    assert client.get("/api/state", headers={"host": host}).status_code == 421
    assert client.get(f"/?token={TOKEN}", headers={"host": host}).status_code == 421


@pytest.mark.parametrize(
    "origin", ["http://evil.example", f"https://{HOST}", "null", "http://127.0.0.1"]
)
def test_another_origin_is_refused(client: TestClient, origin: str) -> None:
    assert client.get("/api/state", headers={"origin": origin}).status_code == 403
    assert client.post("/api/cancel", headers={"origin": origin}, json={}).status_code == 403


def test_what_changes_something_must_name_its_origin(client: TestClient) -> None:
    assert client.post("/api/cancel", json={}).status_code == 403
    assert client.post("/api/cancel", json={}, headers=ORIGIN).status_code == 200


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_requests_of_other_sites_are_refused(client: TestClient, site: str) -> None:
    assert client.get("/api/state", headers={"sec-fetch-site": site}).status_code == 403


def test_a_websocket_needs_origin_and_cookie(client: TestClient) -> None:
    for headers in ({}, {"origin": "http://evil.example"}):
        with (
            pytest.raises(WebSocketDisconnect),
            client.websocket_connect(f"ws://{HOST}/api/events", headers=headers),
        ):
            pass
    with client.websocket_connect(f"ws://{HOST}/api/events", headers=ORIGIN):
        pass
    client.cookies.clear()
    with (
        pytest.raises(WebSocketDisconnect),
        client.websocket_connect(f"ws://{HOST}/api/events", headers=ORIGIN),
    ):
        pass


def test_every_answer_carries_the_policy(client: TestClient) -> None:
    for path in ("/", "/api/state", "/nothing"):
        answer = client.get(path)
        for name, value in HEADERS.items():
            assert answer.headers[name] == value
    assert "unsafe" not in HEADERS["content-security-policy"]


@pytest.mark.parametrize(
    "path",
    ["/../pyproject.toml", "/%2e%2e/%2e%2e/etc/passwd", "/..%2f..%2fetc/passwd", "//etc/passwd"],
)
def test_path_tricks_find_nothing(client: TestClient, path: str) -> None:
    assert client.get(path).status_code in (404, 405)


# What it serves


def test_the_parameters_of_the_page_are_those_of_the_package() -> None:
    for method in schema.methods():
        given = {p["name"]: p["default"] for p in method["parameters"]}
        assert Params.from_keywords(method["name"], **given) == Params(method["name"])
        assert all(p["about"] for p in method["parameters"])
        assert method["knob"] in given
    assert {m["name"] for m in schema.methods()} == set(STAGES_OF_METHOD)


def upload(client: TestClient, path: Path, name: str | None = None):
    return client.put(
        f"/api/upload?name={name or path.name}", content=path.read_bytes(), headers=ORIGIN
    )


def upload_all(client: TestClient, folder: Path) -> None:
    for path in sorted(folder.iterdir()):
        upload(client, path)
    client.post("/api/uploaded", json={}, headers=ORIGIN)


def test_frames_become_a_result_with_maps_measurements_and_products(
    client: TestClient, shots: Path
) -> None:
    for path in sorted(shots.iterdir(), reverse=True):
        assert upload(client, path).status_code == 200
    client.post("/api/uploaded", json={}, headers=ORIGIN)
    state = client.get("/api/state").json()
    assert [f["name"] for f in state["frames"]] == [f"img{k}.png" for k in range(6)]
    body = {"parameters": {"method": "classic", "window": 5}, "settled": True}
    assert client.post("/api/solve", json=body, headers=ORIGIN).status_code == 200
    result = finished_result(client)
    assert (result["width"], result["height"], result["method"]) == (64, 48, "classic")
    assert "--window 5" in result["command"]

    version = result["version"]
    tile = client.get(f"/api/results/{version}/index/full/0/0/0").content
    index = np.frombuffer(tile, np.float32).reshape(48, 64)
    from varfocus import reconstruct

    expected = reconstruct(read_stack(str(shots)), "classic", window=5)
    np.testing.assert_array_equal(index, expected.index)
    assert len(client.get(f"/api/results/{version}/fused/full/0/0/0").content) == 48 * 64 * 4
    assert client.get(f"/api/results/{version}/secret/full/0/0/0").status_code == 404
    assert client.get(f"/api/results/{version}/depth/full/0/1/0").status_code == 404

    shapes = [
        {"kind": "line", "points": [[5, 5], [60, 40]]},
        {"kind": "region", "points": [[5, 5], [5, 5]]},
    ]
    line, empty = measured(client, version, *shapes)
    assert len(line["profile"]["distance"]) == len(line["profile"]["height"]) > 50
    assert "rectangle" in empty["problem"]

    glb = client.get(f"/api/results/{version}/products/model.glb")
    assert glb.content[:4] == b"glTF"
    tif = client.get(f"/api/results/{version}/products/depth.tif")
    assert tif.content[:2] in (b"II", b"MM")
    for name in ("..%2f..%2frun.json", "depth.exe", "x"):
        assert client.get(f"/api/results/{version}/products/{name}").status_code == 404

    frame = state["frames"][0]["id"]
    pixels = np.frombuffer(client.get(f"/api/frames/{frame}/0/0/0").content, np.uint8)
    first = read_stack(str(shots)).read(0)
    np.testing.assert_array_equal(pixels.reshape(48, 64, 4)[..., :3], first)


def test_a_frame_whose_tiles_were_interrupted_is_shown_all_the_same(tmp_path: Path) -> None:
    frames = simulate("steps", shape=(8, 600), n=3).frames  # two levels
    page = server.Page(read_stack(str(write_pictures(tmp_path / "wide", frames, "img"))))
    with client_of(page) as client:
        frame = client.get("/api/state").json()["frames"][0]["id"]
        levels = page.workspace.session.folder / "frames" / str(frame) / "levels"
        levels.mkdir(parents=True)
        np.save(levels / "0.npy", np.zeros((8, 600, 4), np.uint8))  # the process ended here
        coarse = client.get(f"/api/frames/{frame}/1/0/0")
        assert coarse.status_code == 200
        assert len(coarse.content) == 4 * 300 * 4


def measured(client: TestClient, version: int, *shapes: dict) -> list[dict]:
    """Measure, and return what the server says about each shape."""
    body = {"varfocus_measurements": 1, "shapes": list(shapes)}
    answer = client.post(f"/api/results/{version}/measure", json=body, headers=ORIGIN)
    assert answer.status_code == 200, answer.text
    return answer.json()["measured"]


def test_a_saved_result_opens_with_its_frames(
    shots: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from varfocus import load_result, reconstruct

    made = reconstruct(read_stack(str(shots)), "classic", window=5)
    made.save(tmp_path / "result")
    monkeypatch.setattr(server, "static_folder", lambda: tmp_path)
    page = server.Page(load_result(tmp_path / "result"))
    with client_of(page) as client:
        result = finished_result(client)
        version = result["version"]
        tile = client.get(f"/api/results/{version}/depth/full/0/0/0").content
        np.testing.assert_array_equal(np.frombuffer(tile, np.float32), made.depth.ravel())
        curve = client.get(f"/api/results/{version}/curve?x=20&y=30").json()
        assert curve["focus"] == list(range(6))
        assert curve["depth"] == made.depth[30, 20]
        assert client.get(f"/api/results/{version}/curve?x=64&y=0").status_code == 400
        assert client.get(f"/api/results/{version}/products/model.glb").content[:4] == b"glTF"
    assert not (tmp_path / "result" / "model.glb").exists()


def test_a_saved_result_of_a_function_opens_without_its_curves(
    shots: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A record has the name of a focus measure that was a function, and not what it does."""
    from varfocus import load_result, reconstruct
    from varfocus.contrast import gradient_energy

    made = reconstruct(read_stack(str(shots)), "classic", measure=gradient_energy)
    made.save(tmp_path / "result")
    monkeypatch.setattr(server, "static_folder", lambda: tmp_path)
    page = server.Page(load_result(tmp_path / "result"))
    with client_of(page) as client:
        version = finished_result(client)["version"]
        tile = client.get(f"/api/results/{version}/depth/full/0/0/0").content
        np.testing.assert_array_equal(np.frombuffer(tile, np.float32), made.depth.ravel())
        assert client.get(f"/api/results/{version}/curve?x=20&y=30").status_code < 500
        assert client.get("/api/state").json()["formats"].startswith("PNG, JPEG")


@pytest.mark.parametrize(
    ("said", "rearranged", "parameters"),
    [
        (Focus(z_step="2um", pixel_size="0.5um"), "", {"method": "classic", "window": 5}),
        (Focus(reverse=True, invert=True), "", {"sharper": 2.0, "align": "shift", "front": 1}),
        (Focus(), "reversed", {"method": "classic", "auto_order": True}),
        (Focus(), "left out", {"method": "classic", "border": "mask"}),
    ],
)
def test_the_command_repeats_the_result(
    shots: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    said: Focus,
    rearranged: str,
    parameters: dict[str, object],
) -> None:
    monkeypatch.setattr(server, "static_folder", lambda: tmp_path)
    stack = calibrated(read_stack(str(shots), reverse=said.reverse), said)
    page = server.Page(stack, [str(shots)], said)
    with client_of(page) as client:
        ids = [f["id"] for f in client.get("/api/state").json()["frames"]]
        arranged = {
            "order": ids[::-1] if rearranged == "reversed" else ids,
            "excluded": [ids[1]] if rearranged == "left out" else [],
        }
        client.post("/api/arrange", json=arranged, headers=ORIGIN)
        client.post("/api/solve", json={"parameters": parameters}, headers=ORIGIN)
        result = finished_result(client)
        depth = client.get(f"/api/results/{result['version']}/products/depth.tif").content
    repeated(result["command"], tmp_path)
    assert (tmp_path / "result" / "depth.tif").read_bytes() == depth


@pytest.fixture
def opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Open the page on frames or on a result."""
    monkeypatch.setattr(server, "static_folder", lambda: tmp_path)
    return lambda *content: client_of(server.Page(*content))


def maps_of(client: TestClient, result: dict, name: str) -> np.ndarray:
    tile = client.get(f"/api/results/{result['version']}/{name}/full/0/0/0").content
    return np.frombuffer(tile, np.float32).reshape(result["height"], result["width"])


OUTLINES = [
    [True, [[15, 10], [50, 10], [50, 40], [15, 40]]],
    [False, [[30, 20], [40, 20], [35, 30]]],
]


def test_a_rectangle_and_a_mask_go_from_the_page_to_the_command_line_and_back(
    shots: Path, tmp_path: Path, opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    from varfocus import load_result

    body = {"parameters": {"method": "classic", "crop": "10,8,44,30"}}
    with opened(read_stack(str(shots)), [str(shots)]) as client:
        drawn = client.post("/api/mask", json={"outlines": OUTLINES}, headers=ORIGIN)
        assert drawn.status_code == 200
        assert client.get("/api/state").json()["mask"] == {"outlines": OUTLINES, "base": False}
        client.post("/api/solve", json=body, headers=ORIGIN)
        result = finished_result(client)
        assert result["place"] == [10, 8, 44, 30]
        assert "mask.png" in result["files"]
        link = f"/api/results/{result['version']}/products/"
        (tmp_path / "mask.png").write_bytes(client.get(link + "mask.png").content)
        depth = client.get(link + "depth.tif").content
        values = maps_of(client, result, "depth")
        # Measured and probed in pixels of the frames.
        curve = client.get(f"/api/results/{result['version']}/curve?x=20&y=15").json()
        assert curve["depth"] == values[15 - 8, 20 - 10]
        assert client.get(f"/api/results/{result['version']}/curve?x=9&y=15").status_code == 400
        shape = {"kind": "line", "points": [[18.5, 12.5], [28.5, 12.5]]}
        (line,) = measured(client, result["version"], shape)
        along = line["profile"]["height"]
        confident = maps_of(client, result, "confidence")[4, 8:19] >= 0.5
        known = [z for z, sure in zip(along, confident, strict=True) if sure]
        np.testing.assert_allclose(known, -values[4, 8:19][confident], rtol=1e-6)
    assert np.isnan(values[25 - 8, 35 - 10])
    assert np.isnan(values[:2]).all()
    repeated(result["command"], tmp_path)
    assert (tmp_path / "result" / "depth.tif").read_bytes() == depth
    # The result of the command, opened on the page, goes on with the same rectangle and mask.
    with opened(load_result(tmp_path / "result")) as client:
        again = finished_result(client)
        assert again["place"] == [10, 8, 44, 30]
        assert again["opened"]
        assert again["parameters"]["crop"] == "10,8,44,30"
        np.testing.assert_array_equal(maps_of(client, again, "depth"), values)
        assert client.get("/api/state").json()["mask"] == {"outlines": [], "base": True}
        client.post("/api/solve", json=body, headers=ORIGIN)
        third = finished_result(client, after=again["version"])
        np.testing.assert_array_equal(maps_of(client, third, "depth"), values)
        client.post("/api/mask", json={"outlines": [], "base": False}, headers=ORIGIN)
        assert client.get("/api/state").json()["mask"] is None


def test_areas_that_are_none_are_refused(client: TestClient, shots: Path) -> None:
    upload_all(client, shots)
    for outlines in (
        None,
        [[True, [[1, 2], [3, 4]]]],
        [[1, [[1, 2], [3, 4], [5, 6]]]],
        [[True, [[1, 2], [3, 4], [5, "x"]]]],
        [[True, [[1, 2], [3, 4], [5, 1e9]]]],
        [[True, [[-9, -9], [-5, -9], [-5, -5]]]],
    ):
        answer = client.post("/api/mask", json={"outlines": outlines}, headers=ORIGIN)
        assert answer.status_code == 400
        assert "expected" in answer.json()["message"]
    body = {"parameters": {"crop": "60,0,10,10"}}
    answer = client.post("/api/solve", json=body, headers=ORIGIN)
    assert answer.status_code == 400
    assert "64×48" in answer.json()["message"]


def test_sketch_and_result_lie_where_the_frames_are(opened) -> None:
    """Aligned frames are cropped to what all show: the page must know where that is."""
    rng = np.random.default_rng(1)
    scene = simulate("slants", shape=(180, 230), n=6)
    shifts = rng.integers(-7, 8, (6, 2))
    shifts[3] = 0
    moved = [np.roll(f, s, (0, 1))[8:-8, 8:-8] for f, s in zip(scene.frames, shifts, strict=True)]
    from varfocus.pipeline import run
    from varfocus.stack import FocusStack

    stack = FocusStack.from_array(np.stack(moved))
    expected = run(stack, Params.from_keywords("classic", align="shift"))
    assert expected.extent[:2] != (0, 0)
    with opened(stack) as client:
        body = {"parameters": {"method": "classic", "align": "shift"}}
        client.post("/api/solve", json=body, headers=ORIGIN)
        result = finished_result(client)
        assert tuple(result["place"]) == expected.extent
        np.testing.assert_array_equal(maps_of(client, result, "index"), expected.index)
        # The curve of a pixel is that of the aligned frames.
        left, top, *_ = result["place"]
        x, y = 100, 90
        curve = client.get(f"/api/results/{result['version']}/curve?x={x}&y={y}").json()
        from varfocus.export.evidence import Place, contrast_curves

        place = Place("", x - left, y - top)
        (witness,) = contrast_curves(expected.stack, expected.params, expected.index, [place])
        np.testing.assert_allclose(curve["contrast"], witness.contrast, rtol=1e-5)


def test_a_sketch_comes_in_one_message_with_its_maps(client: TestClient, shots: Path) -> None:
    upload_all(client, shots)
    with client.websocket_connect(f"ws://{HOST}/api/events", headers=ORIGIN) as socket:
        body = {"parameters": {"method": "classic"}, "settled": False}
        version = client.post("/api/solve", json=body, headers=ORIGIN).json()["version"]
        while "bytes" not in (message := socket.receive()) or message["bytes"] is None:
            pass
    content = message["bytes"]
    length = int.from_bytes(content[:4], "little")
    event = json.loads(content[4 : 4 + length])
    about = event["result"]
    assert (about["version"], about["preview"], about["place"]) == (version, True, [0, 0, 64, 48])
    size = about["width"] * about["height"] * 4
    assert len(content) == 4 + length + len(event["sketch"]) * size
    assert (4 + length) % 4 == 0
    for k, name in enumerate(event["sketch"]):
        tile = client.get(f"/api/results/{version}/{name}/preview/0/0/0").content
        assert tile == content[4 + length + k * size :][:size]
    assert client.get(f"/api/results/{version}/depth/full/0/0/0").status_code == 404


def test_the_example_is_repeated_by_two_commands(
    client: TestClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(example, "SIZE", (120, 90))
    client.post("/api/example", json={}, headers=ORIGIN)
    ids = [f["id"] for f in client.get("/api/state").json()["frames"]]
    arranged = {"order": ids, "excluded": [ids[1]]}
    client.post("/api/arrange", json=arranged, headers=ORIGIN)
    body = {"parameters": {"method": "classic"}}
    client.post("/api/solve", json=body, headers=ORIGIN)
    result = finished_result(client)
    link = f"/api/results/{result['version']}/products/"
    made = {name: client.get(link + name).content for name in ("depth.tif", "fused.png")}
    assert len(result["command"].splitlines()) == 2
    repeated(result["command"], tmp_path)
    for name, content in made.items():
        assert (tmp_path / "result" / name).read_bytes() == content


def test_every_product_of_the_command_line_can_be_taken_away(
    client: TestClient, shots: Path
) -> None:
    upload_all(client, shots)
    client.post("/api/solve", json={"parameters": {}}, headers=ORIGIN)
    result = finished_result(client)
    names = {p["name"] for p in client.get("/api/state").json()["products"]}
    assert set(result["files"]) <= names
    assert {"fused.png", "uncertainty.tif", "report.html", "source.tif"} <= set(result["files"])
    for name in result["files"]:
        answer = client.get(f"/api/results/{result['version']}/products/{name}")
        assert answer.status_code == 200
        assert answer.content


def test_the_logic_of_the_page_in_its_own_tests() -> None:
    web = Path(__file__).parents[2] / "web"
    if shutil.which("npm") is None or not (web / "node_modules" / "vite").is_dir():
        pytest.skip("no Node.js or not installed (make page): the page's logic was NOT tested")
    finished = subprocess.run(
        ["npm", "test", "--silent"], cwd=web, capture_output=True, text=True, check=False
    )
    assert finished.returncode == 0, finished.stdout + finished.stderr
    assert "# fail 0" in finished.stdout
    assert "# pass 0" not in finished.stdout


def test_no_command_is_better_than_a_wrong_one(shots: Path, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(server, "static_folder", lambda: tmp_path)
    said = Focus(z_step="2um")
    page = server.Page(calibrated(read_stack(str(shots)), said), [str(shots)], said)
    with client_of(page) as client:
        ids = [f["id"] for f in client.get("/api/state").json()["frames"]]
        client.post("/api/arrange", json={"order": ids, "excluded": [ids[2]]}, headers=ORIGIN)
        assert "--leave-out 2" in page.workspace.session.command(Params("classic"))
        ids[0], ids[1] = ids[1], ids[0]
        client.post("/api/arrange", json={"order": ids, "excluded": []}, headers=ORIGIN)
        assert page.workspace.session.command(Params("classic")) == ""


def test_the_page_names_no_files_of_the_server(client: TestClient, shots: Path) -> None:
    offered = {p["name"]: p["group"] for m in schema.methods() for p in m["parameters"]}
    assert "transforms_from" not in offered
    assert offered["border"] == "Alignment"
    upload_all(client, shots)
    body = {"parameters": {"transforms_from": "/etc/passwd"}}
    answer = client.post("/api/solve", json=body, headers=ORIGIN)
    assert answer.status_code == 400
    assert "transforms_from" in answer.json()["message"]


def test_frames_are_reordered_and_left_out(client: TestClient, shots: Path) -> None:
    upload_all(client, shots)
    ids = [f["id"] for f in client.get("/api/state").json()["frames"]]
    body = {"order": ids[::-1], "excluded": [ids[2]]}
    assert client.post("/api/arrange", json=body, headers=ORIGIN).status_code == 200
    frames = client.get("/api/state").json()["frames"]
    assert [f["id"] for f in frames] == ids[::-1]
    assert [f["id"] for f in frames if not f["included"]] == [ids[2]]
    for wrong in ({"order": ids[:2], "excluded": []}, {"order": "x"}, []):
        assert client.post("/api/arrange", json=wrong, headers=ORIGIN).status_code == 400


def test_a_broken_upload_is_refused_by_its_own_name_and_leaves_nothing(
    client: TestClient, shots: Path, tmp_path: Path
) -> None:
    broken = tmp_path / "broken.png"
    broken.write_bytes(b"\x89PNG\r\n\x1a\nno")
    answer = upload(client, broken, "my%20shot.png")
    assert answer.status_code == 400
    assert "my shot.png" in answer.json()["message"]
    assert "varfocus-" not in answer.json()["message"]
    assert client.get("/api/state").json()["frames"] == []
    body = {"parameters": {"method": "classic"}}
    refused = client.post("/api/solve", json=body, headers=ORIGIN)
    assert refused.status_code == 400
    assert "at least 3 frames" in refused.json()["message"]


def test_too_large_an_upload_stops_while_it_streams(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(requests, "MAX_UPLOAD", 1000)
    answer = client.put("/api/upload?name=a.png", content=b"x" * 5000, headers=ORIGIN)
    assert answer.status_code == 413
    assert "fits" in answer.json()["message"]


def test_unknown_parameters_are_refused_in_words(client: TestClient, shots: Path) -> None:
    upload_all(client, shots)
    for parameters in ({"method": "magic"}, {"method": "paper", "alhpa": 1}, {"alpha": "x"}, "x"):
        answer = client.post("/api/solve", json={"parameters": parameters}, headers=ORIGIN)
        assert answer.status_code == 400
        assert answer.json()["message"].startswith("received")


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("a/b/../c.png", "c.png"),
        ("C:\\x\\y.tif", "y.tif"),
        ("a\x00\nb.png", "ab.png"),
        ("ä" * 300, "ä" * 200),
    ],
)
def test_names_are_shown_without_folders_or_control_characters(given: str, shown: str) -> None:
    assert requests.display_name(given) == shown


@pytest.mark.parametrize("given", ["", "..", "x/..", "\x00"])
def test_names_of_nothing_are_refused(given: str) -> None:
    with pytest.raises(InputError):
        requests.display_name(given)


def test_the_private_folder_is_gone_afterwards(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(server, "static_folder", lambda: tmp_path)
    page = server.Page()
    with client_of(page):
        folder = page.workspace.session.folder
        assert folder.stat().st_mode & 0o077 == 0
    assert not folder.exists()


def test_a_request_that_was_overtaken_has_a_status_of_its_own() -> None:
    """The page takes it for aborted; no words are shown."""

    async def answer() -> int:
        future = asyncio.get_running_loop().create_future()
        deliver(future, {"kind": "dropped"})
        return (await server._refused(None, future.exception())).status_code

    assert asyncio.run(answer()) == 409


def test_that_nothing_goes_on_is_said_after_all_that_the_workers_said() -> None:
    """A page that heard of progress afterwards showed it for ever."""

    async def told() -> list[str]:
        events: list[dict] = []
        workspace = Workspace(events.append)
        workspace.solving.busy = {"version": 1, "stage": "starting", "done": 0, "total": 1}
        late = {"id": 1, "kind": "progress", "stage": "contrast", "done": 1, "total": 9}
        asyncio.get_running_loop().call_soon(workspace._hear, late)  # said before the end
        workspace.solving.cancel()
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        workspace.close()
        return [event["kind"] for event in events]

    assert asyncio.run(told()) == ["progress", "idle"]


# Tiles


def test_levels_average_what_is_known(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    depth = rng.random((700, 1100)).astype(np.float32)
    depth[:4, :4] = np.nan
    depth[4, 4] = np.nan
    tiles.write_pyramid(tmp_path, depth)
    assert len(list(tmp_path.iterdir())) == tiles.level_count(700, 1100) == 3
    half = np.load(tmp_path / "1.npy")
    assert half.shape == (350, 550)
    assert np.isnan(half[:2, :2]).all()
    assert half[2, 2] == pytest.approx(np.nanmean(depth[4:6, 4:6]), rel=1e-6)
    np.testing.assert_allclose(
        half[10:, 10:], depth[20:, 20:].reshape(340, 2, 540, 2).mean((1, 3)), rtol=1e-5
    )
    tile = tiles.read_tile(tmp_path, 0, 2, 1)
    assert tile is not None
    np.testing.assert_array_equal(np.frombuffer(tile, np.float32), depth[512:, 1024:].ravel())
    assert tiles.read_tile(tmp_path, 0, 3, 0) is None
    assert tiles.read_tile(tmp_path, 0, -1, 0) is None
