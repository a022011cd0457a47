"""Attacks on the page: each rule of its server is broken on purpose, and holds.

Most go to the real server, as ``varfocus app`` starts it, byte by byte over a socket: that is where
an attacker would stand. `test_app.py` tests the same guard from within.
"""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import inspect
import json
import os
import secrets
import shutil
import signal
import socket
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from urllib.parse import quote

import numpy as np
import pytest
from starlette.testclient import TestClient

from page_client import HOST, ORIGIN, STATIC, TOKEN, stranger_to
from processes import page_served, wait_until
from varfocus.app import guard, jobs, queue, requests, server
from varfocus.cli import app as app_command
from varfocus.errors import OutputError, TooLargeError
from varfocus.export import images
from varfocus.simulation import simulate

POSTS = ["example", "clear", "uploaded", "arrange", "solve", "cancel", "results/1/measure"]
POSTS += ["choices", "near", "mask", "results/1", "sessions/x/open", "sessions/x/forget"]
POSTS += ["results/1/retouch", "results/1/slabs"]
GETS = ["state", "palettes", "frames/1/preview", "frames/1/0/0/0", "results/1/curve?x=1&y=1"]
GETS += ["results/1/depth/full/0/0/0", "results/1/products/depth.tif"]
GETS += ["sessions", "results/1/minus/2"]


# From within: one guarded application without network


@pytest.fixture(scope="module")
def serving(tmp_path_factory) -> Iterator[TestClient]:
    """One application for all tests; its workers take a second to start."""
    folder = tmp_path_factory.mktemp("page")
    static = folder / "static"
    static.mkdir()
    (static / "index.html").write_text(STATIC)
    (folder / "secret.txt").write_text("secret")
    (static / "link.txt").symlink_to(folder / "secret.txt")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(server, "static_folder", lambda: static)
        page = server.Page()
        with stranger_to(page, raise_server_exceptions=False) as client:
            client.workspace = page.workspace
            yield client


@pytest.fixture
def stranger(serving: TestClient) -> TestClient:
    serving.cookies.clear()
    return serving


@pytest.fixture
def client(stranger: TestClient) -> TestClient:
    assert stranger.get(f"/?token={TOKEN}").status_code == 200
    assert stranger.post("/api/clear", headers=ORIGIN).status_code == 200
    for path in stranger.workspace.session.folder.rglob("uploads/*"):
        path.unlink()
    return stranger


def test_every_route_asks_for_the_token(stranger: TestClient) -> None:
    for path in GETS:
        assert stranger.get(f"/api/{path}").status_code == 403, path
    for path in POSTS:
        assert stranger.post(f"/api/{path}", json={}, headers=ORIGIN).status_code == 403, path
    assert stranger.put("/api/upload?name=a", content=b"a", headers=ORIGIN).status_code == 403
    for path in ("/", "/index.html", "/assets/x.js", "/nothing"):
        assert stranger.get(path).status_code == 403, path


def test_every_route_that_changes_something_asks_for_the_origin(client: TestClient) -> None:
    foreign = [
        "http://evil.example",
        f"https://{HOST}",
        "http://127.0.0.1",
        "http://localhost:8123",
    ]
    for origin in (None, "null", *foreign, f"http://{HOST}.evil.example", f"http://{HOST}/"):
        headers = {} if origin is None else {"origin": origin}
        for path in POSTS:
            assert client.post(f"/api/{path}", json={}, headers=headers).status_code == 403, origin
        answer = client.put("/api/upload?name=a", content=b"a", headers=headers)
        assert answer.status_code == 403, origin


def test_every_route_asks_for_the_host(client: TestClient) -> None:
    for host in ("evil.example", "evil.example:8123", "127.0.0.1", "127.0.0.1:80", "[::1]:8123",
                 "127.0.0.1:8123.evil.example", "0.0.0.0:8123", "localhost", ""):  # fmt: skip
        for path in GETS:
            assert client.get(f"/api/{path}", headers={"host": host}).status_code == 421, host


@pytest.mark.parametrize("site", ["cross-site", "same-site", "", "Same-Origin", "nonsense"])
def test_fetches_of_other_sites_are_refused(client: TestClient, site: str) -> None:
    assert client.get("/api/state", headers={"sec-fetch-site": site}).status_code == 403
    headers = ORIGIN | {"sec-fetch-site": site}
    assert client.post("/api/cancel", json={}, headers=headers).status_code == 403


def test_no_navigation_changes_anything(client: TestClient) -> None:
    headers = ORIGIN | {"sec-fetch-site": "none"}
    assert client.post("/api/cancel", json={}, headers=headers).status_code == 403
    for path in POSTS:
        assert client.get(f"/api/{path}").status_code in (404, 405), path


TOKENS = ["", "t", TOKEN[:-1], TOKEN + "t", TOKEN.upper(), "ｔ" * 43, "é", "\0", "t" * 10_000]


@pytest.mark.parametrize("given", TOKENS, ids=lambda t: ascii(t)[:20])
def test_wrong_tokens(stranger: TestClient, given: str) -> None:
    assert stranger.get("/?token=" + quote(given)).status_code in (403, 414)
    cookie = f"varfocus-8123={quote(given)}"
    assert stranger.get("/api/state", headers={"cookie": cookie}).status_code == 403


@pytest.mark.parametrize(
    "cookie",
    ["varfocus-8123", "varfocus-8123=;", f"varfocus-9={TOKEN}", "a=b; " * 1000, "=", "\x7f", "é=é",
     f"varfocus-8123=x; varfocus-8123={TOKEN}x", f"Varfocus-8123={TOKEN}"],
)  # fmt: skip
def test_wrong_cookies(stranger: TestClient, cookie: str) -> None:
    headers = {"cookie": cookie.encode("latin-1")}
    assert stranger.get("/api/state", headers=headers).status_code == 403


def test_the_token_does_nothing_but_open_the_page(stranger: TestClient) -> None:
    assert stranger.get(f"/api/state?token={TOKEN}").status_code == 403
    answer = stranger.post(f"/?token={TOKEN}", headers=ORIGIN)
    assert answer.status_code == 403
    assert "set-cookie" not in answer.headers


def test_tokens_are_32_random_bytes_compared_in_constant_time(monkeypatch) -> None:
    tokens = {guard.new_token() for _ in range(100)}
    assert len(tokens) == 100
    assert all(len(token) == 43 for token in tokens)  # 32 bytes in base 64
    source = inspect.getsource(guard.Guard)
    assert source.count("secrets.compare_digest(") == 2
    assert "== self._token" not in source
    assert secrets is guard.secrets


def test_the_cookie_is_for_this_server_alone(stranger: TestClient) -> None:
    answer = stranger.get(f"/?token={TOKEN}", follow_redirects=False)
    words = {word.strip().lower() for word in answer.headers["set-cookie"].split(";")}
    assert {"httponly", "samesite=strict", "path=/"} <= words
    assert not any(word.startswith(("domain", "expires", "max-age")) for word in words)
    assert TOKEN not in answer.text
    assert TOKEN not in answer.headers["location"]


def test_the_policy_allows_nothing_inline_and_no_other_host() -> None:
    policy = dict(rule.split(" ", 1) for rule in guard.CONTENT_POLICY.split("; "))
    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == policy["style-src"] == policy["connect-src"] == "'self'"
    for rule in ("base-uri", "form-action", "frame-ancestors"):
        assert policy[rule] == "'none'"
    for word in ("unsafe", "http", "*", "wss", "eval"):
        assert word not in guard.CONTENT_POLICY


def test_refusals_and_errors_carry_the_policy_too(client: TestClient) -> None:
    answers = [
        client.get("/api/state", headers={"host": "evil.example"}),
        client.get("/api/state", headers={"origin": "http://evil.example"}),
        client.get("/nothing"),
        client.post("/api/solve", content=b"{", headers=ORIGIN),
    ]
    assert [answer.status_code for answer in answers] == [421, 403, 404, 400]
    for answer in answers:
        for name, value in guard.HEADERS.items():
            assert answer.headers[name] == value
        assert answer.headers["cache-control"] == "no-store"
        assert "access-control-allow-origin" not in answer.headers


PATHS = [
    "/../secret.txt", "/..%2fsecret.txt", "/%2e%2e/secret.txt", "/%2e%2e%2fsecret.txt",
    "/..%5csecret.txt", "/....//secret.txt", "/%2fetc%2fpasswd", "/etc/passwd",
    "/%00", "/index.html%00.png", "/link.txt", "/static/../../secret.txt", "/%252e%252e/secret.txt",
    "/..;/secret.txt", "/C:/secret.txt", "/file:///etc/passwd", "/.%0d%0a./secret.txt",
]  # fmt: skip


@pytest.mark.parametrize("path", PATHS)
def test_path_tricks_and_links_find_nothing(client: TestClient, path: str) -> None:
    answer = client.get(path)
    assert answer.status_code in (400, 404, 405), answer.text
    assert "secret" not in answer.text
    assert "root:" not in answer.text


NUMBERS = ["0", "-1", "1.5", "1e9", "9" * 30, "9" * 5000, "0x1", "..", "%2e%2e", "NaN", "١"]


@pytest.mark.parametrize("number", NUMBERS, ids=lambda n: n[:10])
def test_numbers_in_paths(client: TestClient, number: str) -> None:
    for path in (
        f"frames/{number}/preview",
        f"frames/1/{number}/0/0",
        f"results/{number}/curve?x=0&y=0",
        f"results/{number}/depth/full/0/0/0",
        f"results/{number}/products/depth.tif",
        f"results/1/curve?x={number}&y={number}",
    ):
        assert client.get(f"/api/{path}").status_code in (400, 404, 414), path


BODIES = [
    b"", b"null", b"[]", b'"text"', b"{", b"\xff\xfe", b"[" * 100_000, b'{"a":' * 50_000,
    b'{"parameters": 1}', b'{"parameters": {"cls": 1}}', b'{"parameters": {"self": 1}}',
    b'{"parameters": {"method": []}}', b'{"parameters": {"method": {"a": 1}}}',
    b'{"parameters": {"smoothness": NaN}}', b'{"parameters": {"smoothness": "1"}}',
    b'{"parameters": {"smoothness": 1e999}}', b'{"parameters": {"transforms_from": "/etc/passwd"}}',
    b'{"order": [1e999], "excluded": []}', b'{"order": [null], "excluded": {}}',
    b'{"order": [true], "excluded": [99]}', b'{"kind": "line", "shapes": [[0, 0, 1]]}',
    b'{"kind": ["line"], "shapes": [[NaN, 0, 1, 1]]}', b'{"kind": "line", "shapes": "aaaa"}',
    b'{"parameters": {"degree": ' + b"9" * 4000 + b"}}",
    b'{"parameters": {"degree": ' + b"9" * 9000 + b"}}",
]  # fmt: skip


@pytest.mark.parametrize("body", BODIES, ids=lambda b: ascii(b[:24]))
def test_bodies_of_nonsense_are_answered_in_words(client: TestClient, body: bytes) -> None:
    for path in ("solve", "arrange", "results/1/measure", "results/1/retouch", "results/1/slabs"):
        answer = client.post(f"/api/{path}", content=body, headers=ORIGIN)
        assert answer.status_code == 400, (path, answer.text)
        assert answer.json()["message"]
    assert client.get("/api/state").status_code == 200


def test_a_request_of_megabytes_is_refused_while_it_streams(client: TestClient) -> None:
    def endless():
        for _ in range(100):
            yield b" " * (1 << 16)

    answer = client.post("/api/solve", content=endless(), headers=ORIGIN)
    assert answer.status_code == 413


@pytest.fixture
def png() -> bytes:
    return images.picture(simulate("cone", shape=(24, 31), n=3).frames[0])[1]


@pytest.mark.parametrize(
    "name",
    ["../../evil.png", "/etc/evil.png", "..\\evil.png", "evil\0.png", "\u202egnp.live", "a" * 5000,
     "con", "-rf", "$(touch x).png", "<img src=x onerror=alert(1)>.png"],
    ids=ascii,
)  # fmt: skip
def test_the_server_makes_its_own_file_names(client, png, name, tmp_path) -> None:
    folder = client.workspace.session.folder
    answer = client.put(f"/api/upload?name={quote(name)}", content=png, headers=ORIGIN)
    assert answer.status_code == 200, answer.text
    made = [path for path in folder.rglob("*") if path.is_file()]
    (path,) = made
    assert path.parent == folder / "uploads"
    assert path.name.isdecimal()
    assert client.post("/api/uploaded", json={}, headers=ORIGIN).json() == {"frames": 1}
    (shown,) = client.get("/api/state").json()["frames"]
    assert len(shown["name"]) <= 200
    assert not set("/\\\0") & set(shown["name"])
    assert shown["name"].isprintable()


def test_uploads_are_counted_and_leave_nothing(client, png, monkeypatch) -> None:
    folder = client.workspace.session.folder
    monkeypatch.setattr(requests, "MAX_UPLOAD", 1000)
    for content in (bytes(1001), (bytes(100) for _ in range(11))):  # announced, and not
        answer = client.put("/api/upload?name=a.png", content=content, headers=ORIGIN)
        assert answer.status_code == 413
        assert "varfocus app FOLDER" in answer.json()["message"]
    assert not [path for path in folder.rglob("*") if path.is_file()]


def test_an_upload_never_fills_the_disk(client, png, monkeypatch) -> None:
    """Space is asked for with every piece, as several uploads may run at once."""
    asked = []

    class Usage:
        free = requests.SPARE_DISK + 300

    monkeypatch.setattr(requests.shutil, "disk_usage", lambda _: asked.append(1) or Usage)
    put = partial(client.put, "/api/upload?name=a", headers=ORIGIN)
    assert put(content=bytes(300)).status_code == 400  # no image, but room for it
    assert len(asked) >= 2
    Usage.free -= 1
    for content in (bytes(300), (bytes(100) for _ in range(3))):
        assert put(content=content).status_code == 413
    Usage.free = 0
    assert put(content=b"a").status_code == 413


def test_products_do_not_follow_links_out_of_their_folder(client, tmp_path, monkeypatch) -> None:
    folder = tmp_path / "result"
    folder.mkdir()
    (folder / "depth.tif").write_bytes(b"mine")
    (tmp_path / "secret.txt").write_text("secret")
    (folder / "run.json").symlink_to(tmp_path / "secret.txt")
    (folder / "sub").mkdir()
    monkeypatch.setattr(client.workspace, "saved_folder", lambda _: folder)
    assert client.get("/api/results/1/products/depth.tif").content == b"mine"
    for name in (
        "run.json",
        "sub",
        "..",
        "%2e%2e",
        "..%2fsecret.txt",
        "secret.txt",
        "%2fetc%2fpasswd",
    ):
        answer = client.get(f"/api/results/1/products/{name}")
        assert answer.status_code in (404, 405), name
        assert "secret" not in answer.text


# The workers


class Endless:
    """A job that says nothing, for ever."""

    id, newest = 7, ""

    def run(self, bench, progress):
        time.sleep(600)


class Crash:
    """A job whose decoder overwrites memory it does not own, as far as the system can tell."""

    id, newest = 8, ""

    def run(self, bench, progress):
        os.kill(os.getpid(), signal.SIGSEGV)


class Killed(Crash):
    """A job that the system kills for lack of memory."""

    def run(self, bench, progress):
        os.kill(os.getpid(), signal.SIGKILL)


class Greedy:
    """A job that asks for more memory than there is."""

    id, newest = 9, ""

    def run(self, bench, progress):
        held = []
        while True:  # never touched, so that no other program is short of it
            held.append(np.empty(1 << 30, np.uint8))


class Fine:
    """A job that simply works."""

    id, newest = 10, ""

    def run(self, bench, progress):
        return {"fine": True}


@pytest.fixture
def reports():
    return []


def heard(reports: list, wanted: int) -> list:
    return wait_until(lambda: len(reports) >= wanted and reports, f"report number {wanted}")


@pytest.mark.parametrize(
    ("job", "words"),
    [(Crash(), "ended unexpectedly"), (Killed(), "ended unexpectedly"), (Greedy(), "memory")],
    ids=["crash", "killed", "memory"],
)
def test_what_a_job_does_harms_that_job_alone(reports, job, words, monkeypatch) -> None:
    one = queue.JobQueue(reports.append)
    try:
        one.send(job)
        (failed,) = heard(reports, 1)
        assert (failed["id"], failed["kind"]) == (job.id, "failed")
        assert words in failed["message"]
        one.send(Fine())
        assert heard(reports, 2)[1] == {"id": 10, "kind": "done", "fine": True}
    finally:
        one.stop()


def test_a_silent_job_is_given_up(reports) -> None:
    one = queue.JobQueue(reports.append, most_silent=3.0)
    try:
        one.send(Fine())  # begun, so that only silence is measured
        heard(reports, 1)
        one.send(Endless())
        failed = heard(reports, 2)[1]
        assert (failed["id"], failed["kind"]) == (7, "failed")
        assert "no sign of life for 3 s" in failed["message"]
    finally:
        one.stop()


def test_the_queue_is_bounded_and_sending_never_waits(reports) -> None:
    one = queue.JobQueue(reports.append)
    try:
        for _ in range(2):
            for k in range(queue.MOST_WAITING):
                job = Endless()
                job.id, job.bulk = k, bytes(100_000)  # more than a pipe holds
                one.send(job)
            with pytest.raises(TooLargeError, match="64 others wait"):
                one.send(Fine())
            one.restart()
            assert len(reports) == queue.MOST_WAITING
            assert {report["kind"] for report in reports} == {"dropped"}
            reports.clear()
    finally:
        one.stop()


def test_a_worker_that_dies_idle_is_replaced(reports) -> None:
    one = queue.JobQueue(reports.append)
    try:
        one.send(Fine())
        heard(reports, 1)
        one._worker.kill()
        one.send(Fine())
        assert len(heard(reports, 2)) == 2
    finally:
        one.stop()


def test_uploads_are_looked_at_in_the_worker(client, png, monkeypatch) -> None:
    """A file that crashes a decoder is one refused upload."""
    monkeypatch.setattr("varfocus.app.workspace.Probe", lambda number, *_: _crash(number))
    answer = client.put("/api/upload?name=a.png", content=png, headers=ORIGIN)
    assert answer.status_code == 400
    assert "ended unexpectedly" in answer.json()["message"]
    monkeypatch.setattr("varfocus.app.workspace.Probe", jobs.Probe)
    assert client.put("/api/upload?name=a.png", content=png, headers=ORIGIN).status_code == 200


def _crash(number: int) -> Crash:
    job = Crash()
    job.id = number
    return job


# From without: the real server


@pytest.fixture(scope="module")
def address(tmp_path_factory) -> Iterator[tuple[str, int, str]]:
    """Start ``varfocus app`` and yield host, port and token."""
    static = tmp_path_factory.mktemp("static")
    (static / "index.html").write_text(STATIC)
    with page_served(static=static) as url:
        host, _, rest = url.removeprefix("http://").partition(":")
        port, _, token = rest.partition("/?token=")
        yield host, int(port), token


def cookie_of(address) -> str:
    host, port, token = address
    with contextlib.closing(http.client.HTTPConnection(host, port, timeout=30)) as connection:
        connection.request("GET", f"/?token={token}")
        answer = connection.getresponse()
        answer.read()
    assert answer.status == 303
    return answer.headers["set-cookie"].partition(";")[0]


def ask(address, text: str, seconds: float = 20) -> bytes:
    """Send bytes and return the answer, whatever it is."""
    with socket.create_connection(address[:2], seconds) as line:
        line.settimeout(seconds)
        with contextlib.suppress(OSError):
            line.sendall(text.encode("latin-1"))
        answer = b""
        with contextlib.suppress(OSError):
            while piece := line.recv(65536):
                answer += piece
                if b"\r\n\r\n" in answer:
                    break
        return answer


def status(answer: bytes) -> int:
    return int(answer.split(b" ", 2)[1]) if answer.startswith(b"HTTP/") else 0


def is_alive(address) -> bool:
    host, port, _ = address
    text = f"GET /api/state HTTP/1.1\r\nhost: {host}:{port}\r\ncookie: {cookie_of(address)}\r\n\r\n"
    return status(ask(address, text)) == 200


def test_it_listens_on_the_loopback_address_only(address) -> None:
    host, port, _ = address
    assert host == "127.0.0.1"
    listening = Path("/proc/net/tcp").read_text().splitlines()[1:]
    mine = [line.split()[1] for line in listening if line.split()[1].endswith(f":{port:04X}")
            and line.split()[3] == "0A"]  # fmt: skip
    assert mine == [f"0100007F:{port:04X}"]
    six = Path("/proc/net/tcp6")
    assert not six.exists() or f":{port:04X} " not in six.read_text()


def test_a_port_is_not_shared(address) -> None:
    _, port, _ = address
    with pytest.raises(OutputError, match=f"port {port} cannot be used"):
        app_command._listen("127.0.0.1", port)


def test_an_address_of_another_machine_is_refused() -> None:
    with pytest.raises(OutputError, match=r"on 192\.0\.2\.1"):  # reserved for documentation
        app_command._listen("192.0.2.1", 0)


REQUESTS = {
    "no host": "GET / HTTP/1.1\r\n\r\n",
    "HTTP/1.0 without host": "GET / HTTP/1.0\r\n\r\n",
    "another host": "GET / HTTP/1.1\r\nhost: evil.example\r\n\r\n",
    "two hosts": "GET / HTTP/1.1\r\nhost: {host}\r\nhost: evil.example\r\n\r\n",
    "address as target": "GET http://evil.example/ HTTP/1.1\r\nhost: evil.example\r\n\r\n",
    "proxy request": "CONNECT evil.example:443 HTTP/1.1\r\nhost: evil.example:443\r\n\r\n",
    "no token": "GET / HTTP/1.1\r\nhost: {host}\r\n\r\n",
    "raw dots": "GET /../../../../etc/passwd HTTP/1.1\r\nhost: {host}\r\ncookie: {cookie}\r\n\r\n",
    "coded dots": "GET /%2e%2e/%2e%2e/etc/passwd HTTP/1.1\r\nhost: {host}\r\n"
    "cookie: {cookie}\r\n\r\n",
    "folded header": "GET / HTTP/1.1\r\nhost: {host}\r\nx: a\r\n b\r\n\r\n",
    "long head": "GET / HTTP/1.1\r\nhost: {host}\r\nx: " + "a" * 500_000 + "\r\n\r\n",
    "long target": "GET /" + "a" * 500_000 + " HTTP/1.1\r\nhost: {host}\r\n\r\n",
    "many headers": "GET / HTTP/1.1\r\nhost: {host}\r\n" + "x: a\r\n" * 50_000 + "\r\n",
    "two lengths": "POST /api/clear HTTP/1.1\r\nhost: {host}\r\norigin: http://{host}\r\ncookie: "
    "{cookie}\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\naaaaa",
    "length below nothing": "POST /api/clear HTTP/1.1\r\nhost: {host}\r\n"
    "content-length: -1\r\n\r\n",
    "length and pieces": "POST /api/clear HTTP/1.1\r\nhost: {host}\r\ncontent-length: 4\r\n"
    "transfer-encoding: chunked\r\n\r\n0\r\n\r\n",
    "noise": "\x16\x03\x01\x02\x00\x01\x00" * 20 + "\r\n\r\n",
    "websocket without origin": "GET /api/events HTTP/1.1\r\nhost: {host}\r\ncookie: {cookie}\r\n"
    "upgrade: websocket\r\nconnection: upgrade\r\nsec-websocket-version: 13\r\n"
    "sec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n",
    "websocket of another site": "GET /api/events HTTP/1.1\r\nhost: {host}\r\ncookie: {cookie}\r\n"
    "origin: http://evil.example\r\nupgrade: websocket\r\nconnection: upgrade\r\n"
    "sec-websocket-version: 13\r\nsec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n",
    "websocket without token": "GET /api/events HTTP/1.1\r\nhost: {host}\r\norigin: http://{host}\r\n"
    "upgrade: websocket\r\nconnection: upgrade\r\nsec-websocket-version: 13\r\n"
    "sec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n",
}


@pytest.mark.parametrize("name", REQUESTS)
def test_requests_over_the_wire(address, name) -> None:
    host, port, _ = address
    text = REQUESTS[name].replace("{host}", f"{host}:{port}")
    text = text.replace("{cookie}", cookie_of(address))
    answer = ask(address, text)
    assert status(answer) in (0, 400, 403, 404, 405, 413, 414, 421, 431), answer[:200]
    assert b"root:" not in answer
    assert is_alive(address)


def upload(address, length: str, sent: int) -> bytes:
    host, port, _ = address
    head = (
        f"PUT /api/upload?name=a.png HTTP/1.1\r\nhost: {host}:{port}\r\n"
        f"origin: http://{host}:{port}\r\ncookie: {cookie_of(address)}\r\n{length}\r\n\r\n"
    )
    with socket.create_connection((host, port), 20) as line:
        line.sendall(head.encode())
        with contextlib.suppress(OSError):
            for _ in range(sent):
                line.sendall(b"\0" * 1024)
            line.shutdown(socket.SHUT_WR)
            line.settimeout(20)
            return line.recv(65536)
    return b""


def test_an_upload_that_lies_about_its_length(address) -> None:
    assert status(upload(address, f"content-length: {10**15}", 1)) == 413  # before it is read
    assert status(upload(address, "content-length: 100000", 1)) in (0, 400)  # ends early
    assert status(upload(address, "content-length: 10", 1)) in (0, 400)  # goes on
    assert is_alive(address)


def test_slow_clients_keep_nobody_waiting(address) -> None:
    host, port, _ = address
    lines = []
    try:
        for k in range(150):
            line = socket.create_connection((host, port), 20)
            line.sendall(b"GET / HTTP/1.1\r\nhost: " if k % 2 else b"PUT /api/upload HTTP/1.1\r\n")
            lines.append(line)
        assert is_alive(address)
    finally:
        for line in lines:
            line.close()
    assert is_alive(address)


def test_websocket_messages_of_megabytes_end_the_connection(address) -> None:
    from websockets.asyncio.client import connect
    from websockets.exceptions import ConnectionClosed

    host, port, _ = address
    headers = {"cookie": cookie_of(address)}
    where = f"ws://{host}:{port}/api/events"

    async def talk(message) -> None:
        async with connect(where, origin=f"http://{host}:{port}", additional_headers=headers) as ws:
            with contextlib.suppress(ConnectionClosed):
                await ws.send(message)
            await asyncio.wait_for(ws.wait_closed(), 20)

    asyncio.run(talk("a" * (1 << 20)))
    asyncio.run(talk(b"\0" * 100))
    assert is_alive(address)


def test_other_users_of_the_machine_learn_no_token(address) -> None:
    """Neither from the list of processes nor from a folder that they may read."""
    _, _, token = address
    for process in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            assert token.encode() not in process.read_bytes()


def test_the_browser_is_given_no_token_on_its_command_line(tmp_path, monkeypatch) -> None:
    opened = []
    monkeypatch.setattr(app_command.webbrowser, "open", opened.append)
    with app_command.doorway("http://127.0.0.1:1/?token=abc") as url:
        app_command.webbrowser.open(url)
        path = Path(url.removeprefix("file://"))
        assert "abc" not in url
        assert "token=abc" in path.read_text()
        assert path.stat().st_mode & 0o077 == 0
        assert path.parent.stat().st_mode & 0o077 == 0
    assert not path.exists()
    assert opened == [url]


def test_the_report_of_state_names_no_folder_of_the_machine(client, png) -> None:
    client.put("/api/upload?name=a.png", content=png, headers=ORIGIN)
    assert "/tmp" not in json.dumps(client.get("/api/state").json())


def test_a_browser_comes_in_by_the_private_file(address) -> None:
    """The strict cookie must follow from the file to the page."""
    browser = shutil.which("chromium") or os.environ.get("VARFOCUS_CHROMIUM")
    playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright")
    if not browser:
        pytest.skip("no Chromium: the way from the private file was NOT tested")
    host, port, token = address
    with playwright.sync_playwright() as started:
        chromium = started.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        page = chromium.new_page()
        with app_command.doorway(f"http://{host}:{port}/?token={token}") as url:
            page.goto(url)
            page.wait_for_url(f"http://{host}:{port}/", timeout=60_000)
            playwright.expect(page).to_have_title("varfocus", timeout=60_000)
        chromium.close()
