"""The recipes of CONTRIBUTING.md, followed: code runs as it stands, and what is named exists."""

import ast
import importlib
import json
import re
import sys
import types
from pathlib import Path
from typing import get_args

import numpy as np
import pytest
from scipy.optimize import minimize

import varfocus
from varfocus.cli import COMMANDS
from varfocus.contrast import MEASURES, reach, unregister
from varfocus.energy import QuadraticTerm
from varfocus.energy.operators import ScreenedPoisson
from varfocus.errors import TooLargeError, UnreadableFrameError
from varfocus.io import formats, read_stack
from varfocus.minimise import MINIMISERS, REGULARISERS, linearised_admm
from varfocus.params import Params, Regulariser, Solver, SolverParams

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
RECIPES = dict(re.findall(r"^### (.+?)\n(.*?)(?=^##|\Z)", TEXT, re.MULTILINE | re.DOTALL))
PROSE = re.sub(r"^```.*?^```", "", TEXT, flags=re.MULTILINE | re.DOTALL)
QUOTED = sorted(set(re.findall(r"`([^`\n]+)`", PROSE)))

A_PATH = re.compile(r"[\w.]+(/[\w.]*)+|\w+\.(md|toml)")
A_NAME = re.compile(r"varfocus(\.\w+)+(\(.*\))?")


def followed(recipe, request):
    """Run the code of a recipe as a module of its own."""
    (code,) = re.findall(r"^```python\n(.*?)^```", RECIPES[recipe], re.MULTILINE | re.DOTALL)
    name = f"recipe_{re.sub(r'[^a-z]', '_', recipe.lower())}"
    module = types.ModuleType(name)
    sys.modules[name] = module
    request.addfinalizer(lambda: sys.modules.pop(name))
    exec(compile(code, f"CONTRIBUTING.md, {recipe}", "exec"), vars(module))
    return module


def test_the_recipes_are_there():
    assert list(RECIPES) == [
        "A focus measure",
        "A file format",
        "A regulariser",
        "A new kernel",
        "Changing the page",
        "Fixing an edge artefact",
    ]


@pytest.mark.parametrize("quoted", [q for q in QUOTED if A_PATH.fullmatch(q.partition("::")[0])])
def test_files_and_what_is_in_them_exist(quoted):
    path, _, name = quoted.partition("::")
    place = ROOT / path
    assert place.exists(), f"CONTRIBUTING.md names {path}"
    if name:
        text = place.read_text(encoding="utf-8")
        found = defined(text) if place.suffix == ".py" else set(re.findall(r"\w+", text))
        assert name in found, f"CONTRIBUTING.md names {name} in {path}"


def defined(code):
    """Return the names that a file defines or imports, methods included."""
    names = set()
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, ast.alias):
            names.add(node.asname or node.name)
    return names


@pytest.mark.parametrize("quoted", [q for q in QUOTED if A_NAME.fullmatch(q)])
def test_names_can_be_imported(quoted):
    parts = quoted.partition("(")[0].split(".")
    found, rest = varfocus, parts[1:]
    for k, part in enumerate(rest):
        if not hasattr(found, part):
            importlib.import_module(".".join(parts[: k + 2]))
        found = getattr(found, part)


def test_commands_exist():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z]+):", makefile, re.MULTILINE))
    scripts = json.loads((ROOT / "web" / "package.json").read_text(encoding="utf-8"))["scripts"]
    asked = set(re.findall(r"`make ([a-z]+)`", PROSE)) | set(re.findall(r"^make (\w+)", TEXT, re.M))
    assert asked
    assert asked <= targets
    assert set(re.findall(r"`npm run (\w+)`", PROSE)) <= set(scripts)
    assert set(re.findall(r"`varfocus (\w+)", PROSE)) <= set(COMMANDS)
    for script in re.findall(r"`python ([\w/]+\.py)", PROSE):
        assert (ROOT / script).is_file()


def test_flags_exist():
    names = set(Params.from_keywords("robust").as_keywords()) | {"help"}
    for flag in re.findall(r"`--([a-z-]+)", PROSE):
        assert flag.replace("-", "_") in names


def test_every_word_in_quotes_that_looks_like_a_place_was_looked_up():
    """So that a path of another form does not slip through."""
    for quoted in QUOTED:
        if "::" in quoted or re.search(r"\.(py|cpp|hpp|ts|css|html|pyi)$", quoted):
            known = A_PATH.fullmatch(quoted.partition("::")[0]) or quoted.startswith("python ")
            assert known or quoted in ("bind_*.cpp", "file::name"), quoted
    assert list((ROOT / "src/varfocus/engine/cpp").glob("bind_*.cpp"))


def test_a_focus_measure(request, rng):
    module = followed("A focus measure", request)
    request.addfinalizer(lambda: unregister("absolute-gradient"))
    measure = module.absolute_gradient
    image = rng.random((16, 18, 3))
    by_hand = np.zeros((16, 18))
    padded = np.pad(image, ((1, 1), (1, 1), (0, 0)), mode="edge")
    by_hand += np.abs(padded[1:-1, 2:] - padded[1:-1, :-2]).sum(axis=2)
    by_hand += np.abs(padded[2:, 1:-1] - padded[:-2, 1:-1]).sum(axis=2)
    np.testing.assert_allclose(measure(image), by_hand, atol=1e-13)
    assert reach(lambda plane: measure(plane)) == MEASURES["absolute-gradient"].reach == 1
    scene = varfocus.simulate("cone", shape=(48, 60), n=9, noise=0.0)
    for method in ("robust", "classic"):
        found = varfocus.reconstruct(
            scene.frames, method, measure="absolute-gradient", align="none"
        )
        assert found.params.sharpness.measure == "absolute-gradient"
        assert np.median(np.abs(found.index - scene.truth_index)) < 0.5


def test_a_file_format(request, tmp_path, rng):
    frames = rng.integers(0, 256, (3, 5, 7), np.uint8)
    for k, frame in enumerate(frames):
        (tmp_path / f"{k}.pgm").write_bytes(b"P5\n7 5\n255\n" + frame.tobytes())
    first = tmp_path / "0.pgm"
    with pytest.raises(UnreadableFrameError, match="not an image"):
        read_stack(first)
    followed("A file format", request)
    request.addfinalizer(lambda: formats.unregister("PGM"))
    stack = read_stack(tmp_path)
    np.testing.assert_array_equal(list(stack), frames)
    assert stack.frames[0].format == "PGM"
    assert "PGM" in formats.readable()
    assert "| PGM | 8 bit, grey |" in formats.markdown()
    first.write_bytes(first.read_bytes()[:-1])
    with pytest.raises(UnreadableFrameError, match=r"0\.pgm: ends early, 1 bytes"):
        read_stack(tmp_path)
    with pytest.raises(UnreadableFrameError, match=r"0\.pgm"):
        stack.read(0)
    first.write_bytes(b"P5\n999999 999999\n255\n")
    with pytest.raises(TooLargeError, match=r"0\.pgm"):
        read_stack(tmp_path)
    first.write_bytes(b"no image at all")  # but it calls itself one
    with pytest.raises(UnreadableFrameError, match=r"0\.pgm"):
        read_stack(tmp_path)


def test_a_regulariser(request, rng):
    quadratic = followed("A regulariser", request).Quadratic()
    for z in rng.normal(0, 1.5, (5, 2)):

        def objective(g, z=z):
            return 0.7 * quadratic.value(g.reshape(2, 1, 1)) + 0.5 * np.sum((g - z) ** 2)

        best = minimize(objective, z).x
        found = quadratic.prox(z.reshape(2, 1, 1), 0.7).ravel()
        np.testing.assert_allclose(found, best, atol=1e-5)
    f = rng.random((12, 14))
    params = SolverParams(alpha=2.0, solver="admm", iterations=400, growth=1.0, tau=0.5)
    solution = linearised_admm(QuadraticTerm(f), f, params, regulariser=quadratic)
    exact = ScreenedPoisson(f).solve(f, 2.0)  # (1 + α KᵀK) d = f
    np.testing.assert_allclose(solution.d, exact, atol=1e-3)
    assert set(REGULARISERS) == set(get_args(Regulariser))
    assert set(MINIMISERS) == set(get_args(Solver))
