"""Directives of the documentation: code that is run, and the pictures it makes.

``run`` shows commands of a shell, or Python with ``run python``, runs them in the folder of the
page and shows what they print. Python of one page shares its names. What ends with an error is a
warning of the build, hence an error. ``:fold:`` hides code, ``:quiet:`` its output, ``:exit: 6``
expects that code. ``made`` is a figure whose file such a block has written.
"""

from __future__ import annotations

import contextlib
import io
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from docutils.parsers.rst.directives.images import Figure
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective
from sphinx.util.typing import ExtensionMetadata

LOGGER = logging.getLogger(__name__)
WORK = Path("build", "docs-work")
_names: dict[str, dict[str, Any]] = {}
"""Python's names, by page."""


def folder(app: Sphinx, page: str) -> Path:
    """Return where the blocks of a page are run."""
    return Path(app.srcdir).parent / WORK / page


def environment() -> dict[str, str]:
    """Return the variables that commands see: no colours, pictures without a screen."""
    here = Path(sys.executable).parent
    return os.environ | {
        "PATH": f"{here}{os.pathsep}{os.environ.get('PATH', '')}",
        "NO_COLOR": "1",
        "COLUMNS": "88",
        "MPLBACKEND": "agg",
    }


class Run(SphinxDirective):
    """Show code, run it, and show what it prints."""

    has_content = True
    optional_arguments = 1
    option_spec: ClassVar = {
        "exit": directives.nonnegative_int,
        "fold": directives.flag,
        "quiet": directives.flag,
    }

    def run(self) -> list[nodes.Node]:
        """Return the code and its output as blocks."""
        code, python = "\n".join(self.content), self.arguments == ["python"]
        place = folder(self.env.app, self.env.docname)
        place.mkdir(parents=True, exist_ok=True)
        status, printed = (self._python if python else self._shell)(code, place)
        if status != self.options.get("exit", 0):
            LOGGER.warning(
                "ended with %s:\n%s\n%s", status, code, printed, location=self.get_location()
            )
        shown = nodes.literal_block(code, code, language="python" if python else "sh")
        blocks: list[nodes.Node] = [shown]
        if "fold" in self.options:
            summary = "<details class='fold'><summary>The code of this figure</summary>"
            blocks = [nodes.raw("", summary, format="html"), shown]
            blocks.append(nodes.raw("", "</details>", format="html"))
        if printed.strip() and "quiet" not in self.options:
            text = "\n".join(line.rstrip() for line in printed.strip("\n").splitlines())
            blocks.append(nodes.literal_block(text, text, language="none", classes=["output"]))
        return blocks

    def _shell(self, code: str, place: Path) -> tuple[int, str]:
        done = subprocess.run(
            ["sh", "-e", "-c", code],
            cwd=place,
            env=environment(),
            capture_output=True,
            text=True,
            check=False,
        )
        expected = self.options.get("exit", 0)
        said = done.stdout if done.returncode == expected == 0 else done.stdout + done.stderr
        return done.returncode, said

    def _python(self, code: str, place: Path) -> tuple[int, str]:
        names = _names.setdefault(self.env.docname, {"__name__": "page"})
        printed, before = io.StringIO(), Path.cwd()
        try:
            os.chdir(place)
            with contextlib.redirect_stdout(printed):
                exec(compile(code, self.env.docname, "exec"), names)
        except Exception as error:  # reported as a warning of the build, with its place
            return 1, f"{printed.getvalue()}{type(error).__name__}: {error}"
        finally:
            os.chdir(before)
        return 0, printed.getvalue()


class Made(Figure):
    """A figure whose file was written by a block above it."""

    def run(self) -> list[nodes.Node]:
        """Return the figure, or a complaint if the file is not there."""
        env = self.state.document.settings.env
        path = folder(env.app, env.docname) / self.arguments[0]
        if not path.is_file():
            raise self.error(f"{self.arguments[0]} was not made")
        page = Path(env.doc2path(env.docname)).parent
        self.arguments[0] = Path(os.path.relpath(path, page)).as_posix()
        return super().run()


def begin(app: Sphinx, env: object, page: str) -> None:
    """Empty the folder of a page before it is read."""
    del env
    shutil.rmtree(folder(app, page), ignore_errors=True)
    _names.pop(page, None)


def setup(app: Sphinx) -> ExtensionMetadata:
    """Make the directives known to Sphinx."""
    app.add_directive("run", Run)
    app.add_directive("made", Made)
    app.connect("env-purge-doc", begin)
    return {"env_version": 2, "parallel_read_safe": True, "parallel_write_safe": True}
