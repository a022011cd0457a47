"""The documentation, as far as it can be checked without Sphinx: links, names, code, gallery.

`make docs` does the rest: it runs every example and takes warnings for errors.
"""

from __future__ import annotations

import ast
import importlib
import re
import runpy
import tomllib
from pathlib import Path

import pytest
import yaml

import varfocus
from command_line import varfocus as command
from varfocus.cli import COMMANDS, build

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
EXAMPLES = sorted((DOCS / "gallery").glob("*.py"))
WRITTEN = (
    {"examples/index", "reference/formats", "method/code", "reference/modules/varfocus"}
    | {f"examples/{path.stem}" for path in EXAMPLES}
    | {f"reference/commands/{name}" for name in COMMANDS}
)
"""Pages that `make docs` writes."""
PAGES = {
    path.relative_to(DOCS).with_suffix("").as_posix(): path.read_text(encoding="utf-8")
    for suffix in ("md", "rst")
    for path in sorted(DOCS.rglob(f"*.{suffix}"))
    if not path.name.startswith("GALLERY")
}
PAGES = {
    name: text for name, text in PAGES.items() if name not in WRITTEN and "/modules/" not in name
}
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def prose(text: str) -> str:
    """Return a page without its blocks of code, but with directives."""
    return re.sub(
        r"^```(?!\{(?:made|image|figure|toctree|include))[^\n]*\n.*?^```$",
        "",
        text,
        flags=re.M | re.S,
    )


def absolute(page: str, target: str) -> str:
    """Return a target relative to docs/ that a page names relative to itself."""
    return (DOCS / page).parent.joinpath(target).resolve().relative_to(ROOT).as_posix()


def linked(page: str) -> list[str]:
    """Return the files and pages that a page leads to, relative to the repository."""
    text = prose(PAGES[page])
    targets = re.findall(r"\]\((?!https?:|#)([^)#\s]+)[^)]*\)", text)
    targets += re.findall(r"\{(?:doc|download)\}`(?:[^`<]*<)?([^`>]+)>?`", text)
    targets += re.findall(r"^:(?:link|img-top): (\S+)$", text, re.M)
    targets += re.findall(r"^```\{include\} (\S+)$", text, re.M)
    return [absolute(page, target) for target in targets]


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page):
    for target in linked(page):
        name = re.sub(r"\.(md|rst)$", "", target.removeprefix("docs/"))
        known = name in PAGES or name in WRITTEN or (ROOT / target).exists()
        assert known, f"docs/{page} leads to {target}"


def test_every_page_is_in_the_table_of_contents():
    listed = {"index"}
    for page, text in PAGES.items():
        for block in re.findall(r"^```\{toctree\}\n(.*?)^```$", text, re.M | re.S):
            for line in block.splitlines():
                entry = re.sub(r"^.*<(.+)>$", r"\1", line.strip())
                if not entry or entry.startswith(":"):
                    continue
                if "*" in entry:
                    folder = (DOCS / page).parent
                    while entry.startswith("../"):
                        folder, entry = folder.parent, entry.removeprefix("../")
                    matches = folder.glob(f"{entry}.md")
                    listed |= {m.relative_to(DOCS).with_suffix("").as_posix() for m in matches}
                else:
                    listed.add(absolute(page, entry).removeprefix("docs/"))
    assert set(PAGES) <= listed
    assert listed - WRITTEN <= set(PAGES)


@pytest.mark.parametrize("page", PAGES)
def test_python_on_a_page_is_python(page):
    for code in re.findall(r"^```(?:\{run\} )?python\n((?:(?!^```).*\n)*)", PAGES[page], re.M):
        ast.parse(re.sub(r"\A(:\w+:.*\n)+", "", code))


def exists(name: str) -> bool:
    """Tell whether a dotted name of varfocus can be reached."""
    found: object = varfocus
    parts = name.split(".")
    for k, part in enumerate(parts[1:], 2):
        if not hasattr(found, part):
            try:
                importlib.import_module(".".join(parts[:k]))
            except ImportError:
                return False
        found = getattr(found, part)
    return True


@pytest.mark.parametrize("page", PAGES)
def test_names_of_the_code_exist(page):
    text = PAGES[page]
    names = re.findall(r"\{py:\w+\}`([\w.]+)`", text)
    names += re.findall(r"^\.\. auto\w+:: (varfocus[\w.]*)$", text, re.M)
    names += re.findall(r"`(varfocus\.[\w.]+\w)`", prose(text))
    files = {path.name for path in (ROOT / "integrations").rglob("varfocus.*")}
    for name in set(names) - files:
        assert exists(name), f"docs/{page} names {name}"


def test_every_command_has_its_page():
    assert set(re.findall(r"^commands/(\w+)$", PAGES["reference/commands"], re.M)) == set(COMMANDS)


def test_the_gallery_is_a_gallery():
    assert len(EXAMPLES) >= 15
    for path in EXAMPLES:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        title, line, *_ = (ast.get_docstring(tree) or "").splitlines()
        assert len(line) == len(title), path.name
        assert set(line) == {"="}, path.name
        calls = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
        assert calls & {"subplots", "figure"}, f"{path.name} makes no picture"
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("varfocus"):
                for alias in node.names:
                    assert exists(f"{node.module}.{alias.name}"), f"{path.name}: {alias.name}"


@pytest.mark.parametrize("name", ["calibrated_heights", "every_step"])
def test_an_example_runs(name, capsys):
    runpy.run_path(str(ROOT / "examples" / f"{name}.py"))
    assert re.search(r"\d", capsys.readouterr().out)


def test_one_version_everywhere():
    version = PROJECT["project"]["version"]
    recipe = yaml.safe_load((ROOT / "packaging/conda/recipe.yaml").read_text(encoding="utf-8"))
    assert varfocus.__version__ == recipe["context"]["version"] == version


def test_the_recipe_asks_for_what_the_package_asks_for():
    recipe = yaml.safe_load((ROOT / "packaging/conda/recipe.yaml").read_text(encoding="utf-8"))
    called = {"lazy_loader": "lazy-loader", "matplotlib-base": "matplotlib"}

    def plain(requirement):
        name, _, least = requirement.replace(" ", "").partition(">=")
        return called.get(name, name), least

    extras = PROJECT["project"]["optional-dependencies"]
    asked = {plain(each) for each in PROJECT["project"]["dependencies"] + extras["app"]}
    wanted = {plain(each) for each in recipe["requirements"]["run"] if isinstance(each, str)}
    assert wanted - {("python", "")} == asked
    host = {plain(each) for each in recipe["requirements"]["host"]}
    assert host >= {plain(each) for each in PROJECT["build-system"]["requires"]}


def test_the_container_starts_the_page_as_nobody(capsys):
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    last = text.split("\nFROM ")[-1]
    assert re.search(r"^USER (?!root)", last, re.M)
    words = yaml.safe_load(re.findall(r"^CMD (\[.+\])$", last, re.M)[0])
    assert {"app", "--listen", "0.0.0.0"} <= set(words)
    build("app").parse_args(words, exit_on_error=False, print_error=False)
    for source in re.findall(r"^COPY (?!--from)(.+) \S+$", text, re.M):
        assert all((ROOT / each).exists() for each in source.split())
    wrong = command(capsys, "app", "--no-browser", "--listen", "192.0.2.1")
    assert wrong.code != 0


def test_wheels_are_built_for_every_python_and_published_without_a_password():
    settings = PROJECT["tool"]["cibuildwheel"]
    assert settings["build"] == [f"cp3{minor}-*" for minor in range(11, 15)]
    assert (ROOT / settings["test-command"].split("{project}/")[1]).is_file()
    workflow = yaml.safe_load((ROOT / ".github/workflows/wheels.yml").read_text(encoding="utf-8"))
    assert workflow["permissions"] == {"contents": "read"}
    publish = workflow["jobs"]["publish"]
    assert publish["permissions"] == {"id-token": "write"}
    assert set(publish["needs"]) == {"source", "wheels"}
    assert "password" not in str(publish)
