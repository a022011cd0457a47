"""Docstrings as Sphinx needs them: bars are bars, citations have a target, no type aliases."""

from __future__ import annotations

import re
from types import GenericAlias, UnionType
from typing import Any, get_origin

from sphinx.application import Sphinx
from sphinx.util.typing import ExtensionMetadata

LITERAL = re.compile(r"(``.*?``|:math:`.*?`)")
BAR = re.compile(r"(?<!\\)\|")
CITATION = re.compile(r" ?\[\d\]_")


def escape_bars(lines: list[str]) -> list[str]:
    """Return the lines with ``|Kd|`` as text: reStructuredText would take it for a substitution."""
    escaped, block = [], -1
    for line in lines:
        indent = len(line) - len(line.lstrip())
        if line.strip() and indent <= block:
            block = -1
        if block < 0 and re.match(r"\s*\.\. (math|code-block)::", line):
            block = indent
        if block < 0 and not line.lstrip().startswith(">>>"):
            parts = LITERAL.split(line)
            line = "".join(p if k % 2 else BAR.sub(r"\\|", p) for k, p in enumerate(parts))
        escaped.append(line)
    return escaped


def process(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Change a docstring before it is parsed."""
    del app, what, name, obj, options
    lines[:] = escape_bars(lines)
    if not any(line.lstrip().startswith(".. [") for line in lines):  # those are the module's
        lines[:] = [CITATION.sub("", line) for line in lines]


def skip(app: Sphinx, what: str, name: str, obj: Any, skipped: bool, options: Any) -> bool | None:
    """Leave out names for types, whose docstring is that of ``dict`` or ``tuple``."""
    del app, what, name, skipped, options
    alias = isinstance(obj, GenericAlias | UnionType) or get_origin(obj) is not None
    return True if alias else None


def setup(app: Sphinx) -> ExtensionMetadata:
    """Connect both."""
    app.setup_extension("sphinx.ext.autodoc")
    app.connect("autodoc-process-docstring", process, priority=900)  # after numpydoc
    app.connect("autodoc-skip-member", skip)
    return {"parallel_read_safe": True}
