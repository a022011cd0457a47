"""The page's application without a network: a client that holds its token."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from starlette.testclient import TestClient

from processes import wait_until
from varfocus.app import server

TOKEN = "t" * 43
HOST = "127.0.0.1:8123"
ORIGIN = {"origin": f"http://{HOST}"}
STATIC = "<title>varfocus</title>"
"""A page that need not be built."""


@contextmanager
def stranger_to(page: server.Page, **options) -> Iterator[TestClient]:
    """Give a client of the page's application that has shown no token yet."""
    application = server.application(page, TOKEN, (HOST, "localhost:8123"))
    with TestClient(application, base_url=f"http://{HOST}", **options) as client:
        yield client


@contextmanager
def client_of(page: server.Page) -> Iterator[TestClient]:
    """Give a client that may use the page."""
    with stranger_to(page) as client:
        client.get(f"/?token={TOKEN}")
        yield client


def finished_result(client: TestClient, after: int = 0) -> dict:
    """Wait until the page has a result newer than version `after`, saved, and nothing to do."""

    def newest() -> dict | None:
        state = client.get("/api/state").json()
        result = state["results"][-1] if state["results"] else {"saved": False, "version": 0}
        done = result["saved"] and state["busy"] is None and result["version"] > after
        return result if done else None

    return wait_until(newest, "result")


def post(client: TestClient, path: str, **body: Any) -> Any:
    """Ask the page's own server for something, as the page does."""
    return client.post(f"/api/{path}", json=body, headers=ORIGIN)
