"""Every kernel against the array code that defines it."""

import pytest

from varfocus import native


def pytest_collection_modifyitems(items):
    if native.available:
        return
    skip = pytest.mark.skip(reason=f"the native engine is not built: {native.reason}")
    for item in items:
        if "tests/native" in str(item.path) and "array_code" not in item.name:
            item.add_marker(skip)
