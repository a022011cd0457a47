"""Pages that are written from the code: commands, modules, formats, and where each equation is.

They lie in ``docs/reference`` and ``docs/method`` and are not kept in git.
"""

from __future__ import annotations

import ast
import inspect
import pkgutil
import re
from importlib.util import find_spec
from pathlib import Path

from docstrings import CITATION, escape_bars
from sphinx.application import Sphinx
from sphinx.util.typing import ExtensionMetadata

import varfocus
from varfocus.cli import COMMANDS, EXAMPLES, build
from varfocus.io import formats

INNER = {"__main__", "app", "cli", "napari_plugin", "workers"}
"""Parts that nobody calls from Python."""


def command_page(name: str) -> str:
    """Return what ``varfocus NAME --help`` says, as Markdown."""
    text = build(name)[name].generate_docs(output_format="markdown")
    text = text.replace(f"# {name}\n", f"# varfocus {name}\n", 1)
    text = text.replace(f"```console\n{name} ", f"```console\nvarfocus {name} ", 1)
    text = re.sub(r"^\*\*(.+)\*\*:$", r"## \1", text, flags=re.MULTILINE)
    text = text.partition("\n## Examples")[0]
    if name in EXAMPLES:
        text += "\n## Examples\n\n```sh\n" + "\n".join(EXAMPLES[name]) + "\n```\n"
    return text


def modules() -> list[str]:
    """Return the names of all modules that the reference describes."""
    found = ["varfocus"]
    for module in pkgutil.walk_packages(varfocus.__path__, "varfocus."):
        first, last = module.name.split(".")[1], module.name.rpartition(".")[2]
        if first not in INNER and not last.startswith("_"):
            found.append(module.name)
    return found


def module_page(name: str) -> str:
    """Return the page of one module."""
    title = f"``{name}``"
    below = [other for other in modules() if other.rpartition(".")[0] == name]
    lines = [title, "=" * len(title), "", f".. automodule:: {name}", "   :members:", ""]
    if below:
        lines += [".. toctree::", "   :maxdepth: 1", "", *(f"   {other}" for other in below), ""]
    return "\n".join(lines)


PARTS = {
    "contrast": "How sharp is every pixel of every frame?",
    "curve": "What does its contrast over focus say about its depth?",
    "explain": "Which depth explains all frames?",
    "energy": "What makes a good depth map?",
    "minimise": "Which depth map is the best one?",
    "methods": "The three methods, each telling its story",
    "edges": "Where one thing hides another",
    "depth": "From frames to heights, and how sure they are",
    "fuse": "One picture with everything in focus",
    "align": "Frames brought to one",
    "surface": "The depth map as a surface",
    "simulation": "Scenes whose depth is known",
}
"""The parts that compute something, in the order of the method."""


def docstring(module: str) -> str:
    """Return what a module says about itself, without importing it."""
    spec = find_spec(module)
    assert spec is not None, module
    assert spec.origin is not None, module
    tree = ast.parse(Path(spec.origin).read_text(encoding="utf-8"))
    return inspect.cleandoc(ast.get_docstring(tree) or "")


def explanation(module: str) -> list[str]:
    """Return a module's docstring up to its references, as lines of reStructuredText."""
    text = re.split(r"^\w+\n-+$", docstring(module), maxsplit=1, flags=re.MULTILINE)[0]
    text = CITATION.sub("", text)
    return escape_bars(text.strip().splitlines())


def code_page() -> str:
    """Return the page that leads from every file to its equation, and back."""
    lines = [
        "The method, file by file",
        "========================",
        "",
        "Every file that computes something, in the order of the method: what it does, with its",
        "formulas, what it offers, and its source. Written from the code when these pages are",
        "built, so it says what the code says.",
        "",
    ]
    for part, question in PARTS.items():
        lines += [question, "-" * len(question), ""]
        for module in (name for name in modules() if name.startswith(f"varfocus.{part}.")):
            source = f"../_modules/{module.replace('.', '/')}.html"
            lines += [f":py:mod:`{module}` · `source <{source}>`__", ""]
            lines += [f"    {line}".rstrip() for line in explanation(module)]
            lines += [""]
    lines += ["The same, fast", "--------------", ""]
    lines += [
        "Kernels in C++ do what the array code above defines; tests hold the two together.",
        "",
    ]
    engine = Path(varfocus.__path__[0], "engine", "cpp", "kernels")
    for path in sorted(engine.glob("*.cpp")):
        about = re.match(r"((?://.*\n)+)", path.read_text(encoding="utf-8"))
        words = re.sub(r"^//\s?", "", about[1] if about else "", flags=re.MULTILINE)
        first = re.sub(r"([`*|_])", r"\\\1", " ".join(words.partition("\n\n")[0].split()))
        place = f"../../src/varfocus/engine/cpp/kernels/{path.name}"
        lines += [f":download:`{path.name} <{place}>`", f"    {first}", ""]
    return "\n".join(lines)


def formats_page() -> str:
    """Return the table of formats."""
    return f"""# What it reads

By content, never by name, and without decoding more than the frame at hand.

{formats.markdown()}

Where a file holds several channels, times or series and none is chosen, varfocus does not guess:
the error lists them. In a folder, pictures take precedence over RAW files, and both over
recordings; arrays are read only when named. {{doc}}`../how-to/extend` says how to add a format.
"""


def keep(path: Path, text: str) -> None:
    """Write a file unless it says the same already, so that Sphinx does not read it again."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.is_file() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def write(app: Sphinx) -> None:
    """Write all pages, and remove those of what no longer exists."""
    place = Path(app.srcdir) / "reference"
    pages = {place / "commands" / f"{name}.md": command_page(name) for name in COMMANDS}
    pages |= {
        place / "formats.md": formats_page(),
        place.parent / "method" / "code.rst": code_page(),
    }
    pages |= {place / "modules" / f"{name}.rst": module_page(name) for name in modules()}
    for path, text in pages.items():
        keep(path, text)
    for folder in ("commands", "modules"):
        for path in (place / folder).iterdir():
            if path not in pages:
                path.unlink()


def setup(app: Sphinx) -> ExtensionMetadata:
    """Write the pages before Sphinx looks for them."""
    app.connect("builder-inited", write, priority=10)
    return {"parallel_read_safe": True}
