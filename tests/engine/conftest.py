"""Every kernel against the array code that defines it."""

import pytest

from varfocus import engine


def pytest_collection_modifyitems(items):
    if engine.available:
        return
    skip = pytest.mark.skip(reason=f"the native engine is not built: {engine.reason}")
    for item in items:
        if "tests/engine" in str(item.path) and "array_code" not in item.name:
            item.add_marker(skip)
