"""What became of every stack: summary.csv, summary.json and summary.html, updated along the way."""

from __future__ import annotations

import csv
import io
import os
import time
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import quote

from varfocus.export import as_json, describe_software
from varfocus.export.atomic import write_atomically
from varfocus.export.page import fact_cells, html_page
from varfocus.files import read_json
from varfocus.text import cell, escaped

FILES = ("summary.csv", "summary.json", "summary.html")

SHOWN_RESULTS = 500
"""Results beyond this many are in the tables only: pages with more pictures are slow to open."""

WRITE_EVERY = 2.0
"""Seconds between two updates at least."""

SHARE_OF_TIME = 0.05
"""Share of the time that updates may take."""

COLUMNS = (
    "name",
    "status",
    "source",
    "seconds",
    "attempts",
    "frames",
    "width",
    "height",
    "method",
    "unit",
    "minimum",
    "maximum",
    "unknown_pixels",
    "confidence",
    "warnings",
    "exit_code",
    "message",
)
"""What is recorded of every stack; empty where nothing is known."""


class Summary:
    """What became of the stacks of a batch so far.

    Parameters
    ----------
    output : Path
        Folder of the batch.
    total : int or None
        How many stacks there are; None if more may come.
    command : str
        The command that asked for it.
    """

    def __init__(self, output: Path, total: int | None, command: str = "") -> None:
        self._output, self.total, self._command = output, total, command
        self._entries: dict[int, dict[str, Any]] = {}
        self._numbers: dict[str, int] = {}
        self._counts = dict.fromkeys(("done", "kept", "failed"), 0)
        self._pictures: dict[int, list[str]] = {}
        self._earlier = _seconds_of_earlier(output / "summary.json")
        self._began = time.monotonic()
        self._due = 0.0

    @property
    def entries(self) -> list[dict[str, Any]]:
        """What became of each stack, in their order; its keys are `COLUMNS`."""
        return [self._entries[number] for number in sorted(self._entries)]

    @property
    def counts(self) -> dict[str, int]:
        """How many stacks are done, were kept from an earlier run, failed, and are waiting."""
        if self.total is None:
            return dict(self._counts)
        return self._counts | {"waiting": self.total - len(self._entries)}

    @property
    def failures(self) -> list[dict[str, Any]]:
        """The stacks that failed."""
        return [entry for entry in self.entries if entry["status"] == "failed"]

    def add(self, number: int, name: str, source: str, outcome: dict[str, Any]) -> dict[str, Any]:
        """Record an outcome of `varfocus.batch.process`, and return its entry.

        A stack that was done again because it had changed has one entry: the last.
        """
        told = {**outcome, **outcome.get("facts", {}), "name": name, "source": source}
        entry = {column: told.get(column) for column in COLUMNS}
        if entry["status"] == "kept":
            entry["seconds"] = self._earlier.get(name)
        number = self._numbers.setdefault(name, number)
        if number in self._entries:
            self._counts[self._entries[number]["status"]] -= 1
        self._entries[number] = entry
        self._counts[outcome["status"]] += 1
        if outcome.get("thumbnails") and len(self._pictures) < SHOWN_RESULTS:
            self._pictures[number] = outcome["thumbnails"]
        return entry

    @property
    def wants_pictures(self) -> bool:
        """Whether there is room for more thumbnails."""
        return len(self._pictures) < SHOWN_RESULTS

    def write(self, now: bool = False) -> None:
        """Write all three files, if it is time to.

        Parameters
        ----------
        now : bool
            Do not wait.
        """
        began = time.monotonic()
        if began < self._due and not now:
            return
        contents = self._csv(), as_json(self.as_data()), self._page()
        for name, content in zip(FILES, contents, strict=True):
            write_atomically(self._output / name, content)
        ended = time.monotonic()
        self._due = ended + max(WRITE_EVERY, (ended - began) / SHARE_OF_TIME)

    def as_data(self) -> dict[str, Any]:
        """Return what summary.json says."""
        return {
            **describe_software(),
            "command": self._command,
            "seconds": round(time.monotonic() - self._began, 3),
            "counts": self.counts,
            "stacks": self.entries,
        }

    def _csv(self) -> bytes:
        text = io.StringIO()
        table = csv.DictWriter(text, COLUMNS, lineterminator="\n")
        table.writeheader()
        for entry in self.entries:
            warnings = " | ".join(entry["warnings"] or ())
            row = {**entry, "warnings": warnings}
            table.writerow({column: cell(value) for column, value in row.items()})
        return text.getvalue().encode(errors="backslashreplace")

    def _page(self) -> bytes:
        style = files("varfocus.export").joinpath("report.css").read_text(encoding="utf-8")
        own = files("varfocus.batch").joinpath("summary.css").read_text(encoding="utf-8")
        counts = self.counts
        total = sum(counts.values())
        title = f"{total} stack{'s' * (total != 1)}"
        body = f"""<header>
<div class="brand">varfocus batch</div>
<h1>{title}</h1>
<p class="lead">{escaped(in_words(counts))}</p>
{self._facts()}
</header>
<main>
{_failures(self.failures)}
{self._gallery()}
</main>
<footer>Made by varfocus {escaped(describe_software()["varfocus"])}. All stacks are in
summary.csv and summary.json; each has a folder of its own beside this page.</footer>"""
        return html_page(f"{title} · varfocus", style + own, body)

    def _facts(self) -> str:
        finished = [e for e in self.entries if e["status"] != "failed"]
        facts = [(word.capitalize(), f"{n}", "") for word, n in self.counts.items() if n]
        times = [e["seconds"] for e in finished if e["seconds"] is not None]
        if times:
            facts.append(("Time per stack", f"{sum(times) / len(times):.3g}", "s"))
        if finished:
            mean = sum(e["confidence"] for e in finished) / len(finished)
            facts.append(("Confidence", f"{mean:.2f}", "mean"))
        warned = sum(bool(e["warnings"]) for e in finished)
        if warned:
            facts.append(("With warnings", f"{warned}", ""))
        return fact_cells(facts)

    def _gallery(self) -> str:
        numbers = [n for n in sorted(self._entries) if self._entries[n]["status"] != "failed"]
        if not numbers:
            return ""
        cards = "".join(
            _card(self._output, self._entries[n], self._pictures.get(n, ()))
            for n in numbers[:SHOWN_RESULTS]
        )
        more = len(numbers) - SHOWN_RESULTS
        rest = f'<p class="soft">… and {more} more, in the tables.</p>' if more > 0 else ""
        return f'<h2>Results</h2><div class="gallery">{cards}</div>{rest}'


def in_words(counts: dict[str, int]) -> str:
    """Return the counts of a summary as a sentence."""
    words = [
        f"{counts['done']} done",
        f"{counts['kept']} finished earlier" if counts["kept"] else "",
        f"{counts['failed']} failed" if counts["failed"] else "",
        f"{counts['waiting']} not done yet" if counts.get("waiting") else "",
    ]
    return ", ".join(word for word in words if word) + "."


def result_words(entry: dict[str, Any]) -> str:
    """Return in a few words how well a stack went."""
    words = []
    if entry["seconds"] is not None:
        words.append(f"{entry['seconds']:.1f} s")
    if entry["confidence"] is not None:
        words.append(f"confidence {entry['confidence']:.2f}")
    if entry["warnings"]:
        n = len(entry["warnings"])
        words.append(f"{n} warning{'s' * (n != 1)}")
    return ", ".join(words)


def _failures(entries: list[dict[str, Any]]) -> str:
    if not entries:
        return ""
    rows = "".join(
        f"<tr><th scope='row'>{escaped(entry['name'])}</th>"
        f"<td><pre>{escaped(entry['message'])}</pre></td></tr>"
        for entry in entries[:SHOWN_RESULTS]
    )
    more = len(entries) - SHOWN_RESULTS
    rest = f'<p class="soft">… and {more} more, in the tables.</p>' if more > 0 else ""
    return f"""<h2>Failed</h2>
<p class="soft">The same command tries these again, and leaves the others as they are.</p>
<table class="failures">{rows}</table>{rest}"""


def _card(output: Path, entry: dict[str, Any], pictures: list[str] | tuple[()]) -> str:
    report = (output / entry["name"] / "report.html").is_file()
    link = quote(os.fsencode(f"{entry['name']}/{'report.html' if report else 'preview.png'}"))
    name = escaped(entry["name"])
    shown = "".join(
        f'<img src="{uri}" loading="lazy" alt="{what} of {name}">'
        for uri, what in zip(pictures, ("All-in-focus image", "Depth"), strict=False)
    )
    span = ""
    if entry["minimum"] is not None:
        span = f"{entry['minimum']:.4g} … {entry['maximum']:.4g} {entry['unit']}, "
    size = f"{entry['frames']} frames of {entry['width']}×{entry['height']}"
    warnings = "".join(f"<li>{escaped(text)}</li>" for text in entry["warnings"] or ())
    notes = f"<ul>{warnings}</ul>" if warnings else ""
    return f"""<figure class="card">
<a class="thumbs" href="{escaped(link)}">{shown}</a>
<figcaption><b><a href="{escaped(link)}">{name}</a></b><br>{escaped(span + size)}<br>
{escaped(result_words(entry))}{notes}</figcaption></figure>"""


def _seconds_of_earlier(path: Path) -> dict[str, float]:
    """Return how long each stack took in an earlier run, as far as its summary says."""
    try:
        stacks = read_json(path)["stacks"]
        return {entry["name"]: entry["seconds"] for entry in stacks if entry["seconds"]}
    except (OSError, ValueError, KeyError, TypeError):
        return {}
