"""Every kernel against the array code that defines it, with every instruction set there is."""

import pytest

from varfocus import engine


def pytest_generate_tests(metafunc):
    """Run every test of this folder once per instruction set of this machine."""
    if engine.available:
        if "instruction_set" not in metafunc.fixturenames:
            metafunc.fixturenames.append("instruction_set")
        metafunc.parametrize(
            "instruction_set", engine.instruction_sets(), indirect=True, scope="session"
        )


@pytest.fixture(scope="session")
def instruction_set(request):
    with engine.use_instruction_set(request.param):
        yield request.param


def pytest_collection_modifyitems(items):
    if engine.available:
        return
    skip = pytest.mark.skip(reason=f"the native engine is not built: {engine.reason}")
    for item in items:
        if "tests/engine" in str(item.path) and "array_code" not in item.name:
            item.add_marker(skip)
