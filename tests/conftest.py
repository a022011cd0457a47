"""Shared by all tests: reproducible randomness, real data where it is at hand."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import side_by_side  # isort: skip  # noqa: F401  before NumPy, which reads what it sets
import numpy as np
import pytest
from hypothesis import settings

settings.register_profile("varfocus", deadline=None, derandomize=True, max_examples=40)
settings.load_profile("varfocus")

# A job in the background has Ctrl-C switched off, and so would the commands that tests interrupt.
signal.signal(signal.SIGINT, signal.default_int_handler)

DATA = Path(os.environ.get("VARFOCUS_DATA", Path(__file__).parents[2] / "shared" / "data"))


@pytest.fixture(scope="session", autouse=True)
def own_sessions(tmp_path_factory: pytest.TempPathFactory) -> None:
    """The page keeps its work somewhere of its own, not where the user's is."""
    os.environ["XDG_STATE_HOME"] = str(tmp_path_factory.mktemp("state"))


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(1408)


@pytest.fixture
def real_data():
    """Return a function that gives the path of real data, or skips with the reason."""

    def find(name: str) -> Path:
        path = DATA / name
        if not path.exists():
            pytest.skip(f"{name} is not in {DATA}; set VARFOCUS_DATA to the folder that has it")
        return path

    return find
