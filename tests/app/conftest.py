"""A browser for the tests of a module, and a page without one that keeps sessions."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Browser, Playwright, sync_playwright
from starlette.testclient import TestClient

from page_browser import launched
from page_client import client_of
from varfocus.app import server
from varfocus.app.sessions import Shelf
from varfocus.simulation import simulate


@pytest.fixture(scope="module")
def playwright() -> Iterator[Playwright]:
    with sync_playwright() as playwright:
        yield playwright


@pytest.fixture(scope="module")
def browser(playwright: Playwright) -> Iterator[Browser]:
    browser = launched(playwright, "--use-angle=swiftshader", "--enable-unsafe-swiftshader")
    yield browser
    browser.close()


@pytest.fixture(scope="session")
def frames() -> list[np.ndarray]:
    return list(simulate("steps", shape=(40, 56), n=5).frames)


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(server, "static_folder", lambda: tmp_path)
    return tmp_path / "sessions"


@pytest.fixture
def client(root: Path) -> Iterator[TestClient]:
    with client_of(server.Page(shelf=Shelf(root))) as client:
        yield client
