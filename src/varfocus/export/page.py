"""A self-contained HTML page: it loads nothing, and runs nothing but the scripts it was given."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Sequence

from varfocus.text import escaped


def fact_cells(facts: Iterable[tuple[str, str, str]]) -> str:
    """Return names, values and small print behind them as a list of definitions."""
    cells = "".join(
        f"<div><dt>{escaped(name)}</dt><dd>{escaped(value)} <small>{escaped(small)}</small></dd>"
        "</div>"
        for name, value, small in facts
    )
    return f'<dl class="facts">{cells}</dl>'


def html_page(title: str, style: str, body: str, scripts: Sequence[str] = ()) -> bytes:
    """Return a page with a policy that names its scripts by their digests.

    Even if foreign text ever got into the page as mark-up, no script in it would run.

    Parameters
    ----------
    title : str
        Shown by the browser; any text.
    style : str
        CSS.
    body : str
        HTML, in which every foreign text went through `varfocus.text.escaped`.
    scripts : sequence of str
        Scripts of our own, run after the body.

    Returns
    -------
    bytes
        The file.
    """
    # The first </script ends a script element, wherever it stands.
    sources = [script.replace("</", r"<\/") for script in scripts]
    digests = [base64.b64encode(hashlib.sha256(s.encode()).digest()).decode() for s in sources]
    allowed = " ".join(f"'sha256-{digest}'" for digest in digests) or "'none'"
    policy = (
        f"default-src 'none'; img-src 'self' data:; style-src 'unsafe-inline'; "
        f"script-src {allowed}; base-uri 'none'; form-action 'none'"
    )
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<title>{escaped(title)}</title>
<style>{style}</style>
</head>
<body>
{body}
{"".join(f"<script>{source}</script>" for source in sources)}
</body>
</html>
""".encode("utf-8", "backslashreplace")
