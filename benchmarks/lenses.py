"""Evaluate on pictures seen by other lenses and on the light-field benchmark; write their docs.

    python benchmarks/lenses.py DATA [options of varfocus evaluate]

DATA may hold rgbd/ (pictures with disparity) and lightfield/ (scenes of the 4-D light-field data
set, or stacks of them); what is missing is left out. Writes the tables in docs/lenses.md, of the
splits dev and test, and docs/lightfield.md. `--crop 256` takes some minutes of processor time.
"""

from __future__ import annotations

import itertools
import sys
import tempfile
from pathlib import Path

from PIL import Image

from varfocus.cli import main as varfocus

DOCS = Path(__file__).parents[1] / "docs"
START, END = "<!-- measured -->", "<!-- end of measured -->"
SHOWN = 3
"""Depth maps, of the worst stacks, that go into the docs."""

WIDTH = 1400


def measured(title: str, command: list[str]) -> tuple[str, Path]:
    """Run varfocus evaluate, and return the Markdown of its summary and its folder."""
    folder = Path(tempfile.mkdtemp())
    if code := varfocus(["evaluate", *command, "-o", str(folder), "--overwrite"]):
        sys.exit(code)
    name = "lightfield" if "--benchmark" in command else "evaluation"
    text = (folder / f"{name}.md").read_text(encoding="utf-8")
    _, _, body = text.partition("\n")
    return f"## {title}\n\n{body.strip()}\n", folder


def tables(text: str, *first: str) -> str:
    """Return the tables whose headings begin so, with the paragraph before each."""
    blocks = text.split("\n\n")
    kept = [blocks[0]]
    for before, block in itertools.pairwise(blocks):
        if block.startswith(tuple(f"| {words} |" for words in first)):
            kept += [block] if before.startswith(("|", "#")) else [before, block]
    return "\n\n".join(kept) + "\n"


def pictures(folder: Path, prefix: str) -> str:
    """Copy the depth maps of the worst stacks into the docs, and return links to them."""
    names = [
        line.partition("](")[2].rstrip(")")
        for line in (folder / "depth_maps.md").read_text(encoding="utf-8").splitlines()
        if line.startswith("![")
    ]
    links = []
    for number, name in enumerate(names[:SHOWN], start=1):
        file = f"{prefix}_{number}.jpg"
        image = Image.open(folder / name).convert("RGB")
        image.thumbnail((WIDTH, WIDTH))
        image.save(DOCS / "images" / file, quality=85)
        scene = Path(name).stem.removeprefix("depth_")
        links.append(f"![{scene}: depth, and error below it](images/{file})\n\n*{scene}*")
    return "\n\n".join(links) + "\n"


def replaced(page: Path, content: str) -> None:
    """Put what was measured between the marks of a page."""
    text = page.read_text(encoding="utf-8")
    before, after = text.partition(START)[0], text.partition(END)[2]
    page.write_text(f"{before}{START}\n{content.strip()}\n{END}{after}", encoding="utf-8")


def main() -> None:
    """Measure what is there."""
    data, options = Path(sys.argv[1]), sys.argv[2:]
    told = " ".join(["DATA", *without(options, "--keep")])
    made = f"Written by `python benchmarks/lenses.py {told}`.\n"
    if (data / "rgbd").is_dir():
        parts = [made]
        for split in ("test", "dev"):
            command = ["--pictures", str(data / "rgbd"), "--split", split, *options]
            text, folder = measured(f"Split {split}", command)
            parts.append(
                tables(text, "goal", "method", "scene | method | ghosts: pixels, squared error")
            )
            if split == "test":
                parts.append(f"The {SHOWN} worst:\n\n{pictures(folder, 'lenses')}")
        replaced(DOCS / "lenses.md", "\n".join(parts))
    if (data / "lightfield").is_dir():
        command = [
            "--benchmark",
            "lightfield",
            str(data / "lightfield"),
            *without(options, "--crop"),
        ]
        text, _ = measured("Table", command)
        replaced(DOCS / "lightfield.md", f"{made}\n{tables(text, 'method', 'scene')}")


def without(options: list[str], name: str) -> list[str]:
    """Return the options without one of them and its value."""
    if name not in options:
        return options
    at = options.index(name)
    return options[:at] + options[at + 2 :]


if __name__ == "__main__":
    main()
