"""Text from outside, made harmless for where it goes: message, terminal, page or table.

Names of files and folders, units, channels, notes in files, manifests and records are written by
anybody. None of them is ever code, mark-up, a control sequence or a formula: whatever prints, or
writes for others to open, passes it through one of these functions.
"""

from __future__ import annotations

import html
import json
import re
from typing import Any

LONGEST_SHOWN = 120
"""Letters of a received value that an error repeats."""

_FORMULA = re.compile(r"[=+\-@\t\r]")
_TAG = re.compile(r"<(?=[A-Za-z/!?])")
_NUMBER = re.compile(r"[-+]?[0-9.]+(e[-+]?[0-9]+)?")


def harmless(text: str, lines: bool = False) -> str:
    r"""Return text in which what steers a terminal is written as an escape: \x1b, \u202e.

    Parameters
    ----------
    text : str
        Anything.
    lines : bool
        Leave line ends and tabs as they are, for text that has them of our making.

    Examples
    --------
    >>> harmless("a\nb\x1b[2J")
    'a\\nb\\x1b[2J'
    """
    kept = "\n\t" if lines else ""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in kept else ascii(c)[1:-1] for c in text)


def shown(value: object) -> str:
    """Return any value whatever for a message: on one line, printable, and not long."""
    try:
        text = harmless(" ".join(repr(value).split()))
    except Exception:  # such as an int of more than 4300 digits
        text = f"<{type(value).__name__}>"
    return text if len(text) <= LONGEST_SHOWN else text[: LONGEST_SHOWN - 1] + "…"


def escaped(text: object) -> str:
    """Return text for the content, or for a quoted attribute, of HTML, SVG or XML."""
    return html.escape(harmless(str(text), lines=True))


def in_markdown(text: str) -> str:
    """Return Markdown without the HTML that may be in it."""
    return _TAG.sub("&lt;", harmless(text, lines=True))


def as_json(data: Any, indent: int | None = 2) -> str:
    r"""Return plain data as JSON that is printable but for its line ends.

    A file's name may hold bytes that are not text: as ``\udcff``, which JSON reads back as it was.
    """
    text = json.dumps(data, indent=indent, ensure_ascii=False)
    if text.replace("\n", "").isprintable():
        return text
    # Outside of strings all is ASCII, so whatever cannot be printed stands in one.
    return "".join(c if c.isprintable() or c == "\n" else json.dumps(c)[1:-1] for c in text)


def json_in_html(data: Any) -> str:
    """Return plain data as JSON for a script element: no tag can end or open there."""
    marks = {ord(mark): f"\\u{ord(mark):04x}" for mark in "<>&\u2028\u2029"}
    return as_json(data, indent=None).translate(marks)


def cell(value: object) -> object:
    """Return what to write into a cell of a table: spreadsheets take a leading = for a formula."""
    if not isinstance(value, str):
        return value
    text = harmless(value, lines=True)
    return f"'{text}" if _FORMULA.match(text) and not _NUMBER.fullmatch(text) else text
