"""The report of an experiment, written as Markdown, HTML, CSV and PNG."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from varfocus.export.atomic import write_atomically
from varfocus.export.page import html_page
from varfocus.text import cell, escaped, in_markdown


@dataclass(frozen=True)
class Text:
    """A paragraph."""

    words: str

    def markdown(self) -> str:
        """Return the paragraph."""
        return self.words

    def html(self) -> str:
        """Return the paragraph as HTML."""
        return f"<p>{escaped(self.words)}</p>"


@dataclass(frozen=True)
class Table:
    """Rows of text under headings, also written as ``<name>.csv``."""

    name: str
    headings: Sequence[str]
    rows: Sequence[Sequence[str]]

    def markdown(self) -> str:
        """Return the table in Markdown."""
        lines = [self.headings, ["---"] * len(self.headings), *self.rows]
        return "\n".join("| " + " | ".join(line) + " |" for line in lines)

    def html(self) -> str:
        """Return the table in HTML."""

        def row(cells: Sequence[str], tag: str) -> str:
            return "<tr>" + "".join(f"<{tag}>{escaped(c)}</{tag}>" for c in cells) + "</tr>"

        body = "\n".join(row(cells, "td") for cells in self.rows)
        return f"<table>\n{row(self.headings, 'th')}\n{body}\n</table>"

    def csv(self) -> str:
        """Return the table as comma-separated values."""
        text = io.StringIO()
        lines = [[cell(word) for word in line] for line in (self.headings, *self.rows)]
        csv.writer(text, lineterminator="\n").writerows(lines)
        return text.getvalue()


@dataclass(frozen=True)
class Figure:
    """A picture, written as ``<name>.png``."""

    name: str
    png: bytes
    caption: str

    def markdown(self) -> str:
        """Return the picture and its caption in Markdown."""
        return f"![{self.caption}]({self.name}.png)\n\n*{self.caption}*"

    def html(self) -> str:
        """Return the picture and its caption in HTML."""
        caption = escaped(self.caption)
        return (
            f'<figure><img src="{self.name}.png" alt="{caption}">'
            f"<figcaption>{caption}</figcaption></figure>"
        )


Block: TypeAlias = Text | Table | Figure


@dataclass(frozen=True)
class Report:
    """One experiment.

    Attributes
    ----------
    name : str
        Its name on the command line, and of its Markdown file.
    title : str
        Heading.
    blocks : sequence of Text, Table or Figure
        Its content, in order.
    """

    name: str
    title: str
    blocks: Sequence[Block]


STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem;
       color: #222; background: #fff; }
img { max-width: 100%; }
figure { margin: 1.5rem 0; }
figcaption { color: #555; font-size: 0.9rem; }
table { border-collapse: collapse; margin: 1rem 0; }
th, td { padding: 0.25rem 0.8rem; border-bottom: 1px solid #ddd; text-align: right; }
th:first-child, td:first-child { text-align: left; }
"""


def write(reports: Sequence[Report], folder: Path, heading: str) -> list[Path]:
    """Write reports and an index page into a folder.

    Parameters
    ----------
    reports : sequence of Report
        The experiments.
    folder : Path
        Where to; must exist.
    heading : str
        Title of the index page.

    Returns
    -------
    list of Path
        Every file written, the index page first.
    """
    files: dict[str, bytes] = {}
    for report in reports:
        parts = [f"# {report.title}", *(block.markdown() for block in report.blocks)]
        files[f"{report.name}.md"] = in_markdown("\n\n".join(parts) + "\n").encode()
        for block in report.blocks:
            if isinstance(block, Table):
                files[f"{block.name}.csv"] = block.csv().encode()
            elif isinstance(block, Figure):
                files[f"{block.name}.png"] = block.png
    links = [f"- [{report.title}]({report.name}.md)" for report in reports]
    files["index.md"] = in_markdown("\n".join([f"# {heading}", "", *links]) + "\n").encode()
    files["index.html"] = _page(reports, heading)
    for name, content in files.items():
        write_atomically(folder / name, content)
    return [folder / "index.html", *(folder / name for name in files if name != "index.html")]


def _page(reports: Sequence[Report], heading: str) -> bytes:
    sections = [
        f'<section id="{report.name}">\n<h2>{escaped(report.title)}</h2>\n'
        + "\n".join(block.html() for block in report.blocks)
        + "\n</section>"
        for report in reports
    ]
    body = f"<h1>{escaped(heading)}</h1>\n" + "\n".join(sections)
    return html_page(heading, STYLE, body)
