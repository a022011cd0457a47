"""What a user gets by ``import varfocus``, and what it costs."""

import doctest
import importlib.metadata
import subprocess
import sys

import pytest

import varfocus
from varfocus import notebook, result, steps, units
from varfocus.export import display
from varfocus.simulation import entry

HEAVY = ["matplotlib", "tifffile", "imagecodecs", "PIL", "cyclopts", "rich", "scipy.ndimage"]


def loaded_after(code):
    """Return the modules that a fresh interpreter has loaded after this code."""
    done = subprocess.run(
        [sys.executable, "-c", f"{code}; import sys; print('\\n'.join(sys.modules))"],
        capture_output=True,
        text=True,
        check=True,
    )
    return set(done.stdout.split())


def test_importing_is_light():
    loaded = loaded_after("import varfocus; varfocus.__version__")
    assert "varfocus" in loaded
    assert loaded.isdisjoint(HEAVY)
    assert "numpy" not in loaded


def test_reconstructing_an_array_needs_no_file_or_picture_library():
    code = (
        "import numpy as np, varfocus; "
        "x = np.random.default_rng(0).random((15, 8, 9)); varfocus.reconstruct(x, iterations=2)"
    )
    loaded = loaded_after(code)
    assert "scipy.ndimage" in loaded
    assert loaded.isdisjoint({"matplotlib", "imagecodecs", "PIL", "cyclopts", "rich", "tifffile"})


def test_the_command_line_loads_no_pictures_to_say_its_version():
    loaded = loaded_after("from varfocus.cli import main; main(['--version'])")
    assert loaded.isdisjoint({"matplotlib", "imagecodecs", "scipy", "tifffile"})


def test_public_names_resolve():
    assert {"read_stack", "reconstruct", "simulate", "Result", "FocusStack"} <= set(
        varfocus.__all__
    )
    for name in varfocus.__all__:
        assert getattr(varfocus, name) is not None
        assert name in dir(varfocus)


def test_unknown_names_do_not():
    with pytest.raises(AttributeError, match="no_such_thing"):
        varfocus.no_such_thing  # noqa: B018


def test_the_version_is_that_of_the_installation():
    assert varfocus.__version__ == importlib.metadata.version("varfocus")


@pytest.mark.parametrize("module", [varfocus, entry, steps, notebook, display, result, units])
def test_the_examples_in_the_documentation_work(module):
    if module is notebook:
        pytest.importorskip("anywidget", reason="needs varfocus[notebook]")
    if module is display:
        pytest.importorskip("xarray", reason="needs varfocus[xarray]")
    tried = doctest.testmod(module)
    assert tried.attempted > 0
    assert tried.failed == 0
