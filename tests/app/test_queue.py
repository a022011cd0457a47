"""Several stacks, one after the other: each a session of its own, whatever happens."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from starlette.testclient import TestClient

from page_client import ORIGIN, client_of, finished_result, post
from processes import wait_until
from varfocus.app import server
from varfocus.app.line import QUEUED
from varfocus.app.sessions import Shelf, locked
from varfocus.export import images
from varfocus.simulation import simulate

CLASSIC = {"method": "classic", "window": 5, "align": "none"}
SLOW = {"method": "robust", "align": "none"}


@pytest.fixture(scope="module")
def large() -> list[np.ndarray]:
    """Frames that take a while to reconstruct, but not to make: twice the same picture."""
    return list(np.tile(simulate("steps", shape=(240, 320), n=8).frames, (1, 1, 2, 1)))


def send(client: TestClient, frames, mode: str = "queue", **body):
    """Send frames as one stack, and return the answer."""
    for k, frame in enumerate(frames):
        address = f"/api/upload?name=shot{k}.png&mode={mode}"
        content = images.picture(frame)[1] if isinstance(frame, np.ndarray) else frame
        client.put(address, content=content, headers=ORIGIN)
    return post(client, "uploaded", mode=mode, **body)


def queue(client: TestClient) -> list[dict]:
    return client.get("/api/state").json()["queue"]


def states(client: TestClient) -> dict[str, str]:
    return {entry["title"]: entry["state"] for entry in queue(client)}


def entry(client: TestClient, title: str) -> dict:
    return next(one for one in queue(client) if one["title"] == title)


def test_each_stack_is_reconstructed_and_kept_as_a_session(client: TestClient, frames) -> None:
    for title, window in (("beetle", 3), ("moss", 7)):
        answer = send(client, frames, name=title, parameters=CLASSIC | {"window": window})
        assert answer.json() == {"frames": 5}
    assert client.get("/api/state").json()["frames"] == []  # nothing happens to what is open
    wait_until(lambda: states(client) == {"beetle": "done", "moss": "done"}, "both stacks")
    post(client, f"sessions/{entry(client, 'moss')['name']}/open")
    state = client.get("/api/state").json()
    assert state["title"] == "moss"
    (result,) = state["results"]
    assert result["saved"]
    assert result["parameters"]["window"] == 7
    assert states(client) == {"beetle": "done", "moss": "done"}  # done, and still listed
    post(client, f"queue/{entry(client, 'beetle')['name']}", do="remove")
    assert states(client) == {"moss": "done"}
    assert "beetle" in {one["title"] for one in client.get("/api/sessions").json()}


def test_the_page_goes_first_and_the_order_can_be_changed(client: TestClient, frames) -> None:
    send(client, frames, mode="add")
    for title in ("one", "two", "three"):
        send(client, frames, name=title, parameters=SLOW)
    last = entry(client, "three")["name"]
    post(client, f"queue/{last}", do="move", by=-1)
    assert [one["title"] for one in queue(client)] == ["one", "three", "two"]
    post(client, f"queue/{last}", do="move", by=-1)
    post(client, f"queue/{last}", do="move", by=-1)  # it is first already
    assert [one["title"] for one in queue(client)] == ["three", "one", "two"]


def test_one_that_runs_and_one_that_waits_are_cancelled_and_done_again(
    client: TestClient, frames, large
) -> None:
    send(client, large, name="large", parameters=SLOW)
    send(client, frames, name="small", parameters=CLASSIC)
    wait_until(lambda: states(client)["large"] == "running", "work on the first")
    post(client, f"queue/{entry(client, 'large')['name']}", do="cancel")
    wait_until(lambda: states(client) == {"large": "cancelled", "small": "done"}, "the second")
    kept = {one["title"]: one["results"] for one in client.get("/api/sessions").json()}
    assert kept == {"large": 0, "small": 1}
    send(client, large, name="other", parameters=SLOW)
    send(client, frames, name="never", parameters=CLASSIC)
    post(client, f"queue/{entry(client, 'never')['name']}", do="cancel")
    assert states(client)["never"] == "cancelled"
    post(client, f"queue/{entry(client, 'other')['name']}", do="remove")
    post(client, f"queue/{entry(client, 'never')['name']}", do="again")
    wait_until(lambda: states(client)["never"] == "done", "the one that was done again")


def test_what_waits_is_done_after_the_server_was_started_again(root: Path, frames, large) -> None:
    with client_of(server.Page(shelf=Shelf(root))) as client:
        send(client, large, name="large", parameters=SLOW)
        send(client, frames, name="small", parameters=CLASSIC)
        wait_until(lambda: states(client)["large"] == "running", "work on the first")
    with client_of(server.Page(shelf=Shelf(root))) as client:
        assert [one["title"] for one in queue(client)] == ["large", "small"]
        wait_until(lambda: set(states(client).values()) == {"done"}, "both stacks")
    with client_of(server.Page(shelf=Shelf(root))) as client:
        assert states(client) == {"large": "done", "small": "done"}


def test_one_that_fails_says_why_and_the_next_goes_on(client: TestClient, frames) -> None:
    send(client, frames[:2], name="two frames", parameters=CLASSIC)
    send(client, frames, name="good", parameters=CLASSIC)
    wait_until(lambda: states(client)["good"] == "done", "the good one")
    failed = entry(client, "two frames")
    assert failed["state"] == "failed"
    assert "3" in failed["message"]


def test_files_of_no_use_and_wrong_settings_are_refused_at_once(
    client: TestClient, root: Path, frames
) -> None:
    assert send(client, [b"no picture"], parameters=CLASSIC).json() == {"frames": 0}
    for wrong in ({"method": "no such"}, {"method": "classic", "mask": "/etc/passwd"}):
        assert send(client, frames, parameters=wrong).status_code == 400
    assert send(client, frames).status_code == 400  # no settings at all
    assert queue(client) == []
    assert not list(root.glob("*/uploads/*"))  # nor is anything of them kept
    assert post(client, "queue/nobody", do="cancel").status_code == 400
    assert post(client, "queue/nobody", do="dance").status_code == 400


def test_one_that_is_opened_by_hand_is_taken_out(client: TestClient, frames, large) -> None:
    send(client, large, name="large", parameters=SLOW)
    send(client, frames, name="mine", parameters=CLASSIC)
    for title in ("mine", "large"):  # one that waits, and one that is being worked on
        assert post(client, f"sessions/{entry(client, title)['name']}/open").status_code == 200
        assert title not in states(client)
        assert client.get("/api/state").json()["title"] == title
    post(client, "clear")


def test_one_that_is_open_elsewhere_is_left_to_whom_it_is_open(root: Path, frames) -> None:
    with client_of(server.Page(shelf=Shelf(root))) as client:
        send(client, frames, name="there", parameters=CLASSIC)
        wait_until(lambda: states(client) == {"there": "done"}, "the stack")
        post(client, f"queue/{entry(client, 'there')['name']}", do="again")
        wait_until(lambda: states(client) == {"there": "done"}, "the stack, again")
        name = entry(client, "there")["name"]
    path = root / name / QUEUED
    path.write_text(path.read_text().replace('"done"', '"waiting"'))
    lock = locked(root / name)
    assert lock is not None
    with client_of(server.Page(shelf=Shelf(root))) as client:
        send(client, frames, name="here", parameters=CLASSIC)
        wait_until(lambda: states(client)["here"] == "done", "the other stack")
        assert states(client)["there"] == "waiting"
    lock.release()


def test_the_page_can_work_while_others_wait(client: TestClient, frames, large) -> None:
    send(client, large, name="large", parameters=SLOW)
    send(client, frames, mode="add")
    post(client, "solve", parameters=CLASSIC, settled=True)
    assert finished_result(client)["method"] == "classic"
    wait_until(lambda: states(client) == {"large": "done"}, "the one that waited")
