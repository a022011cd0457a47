"""What an installation takes on disk: varfocus by itself, and what each extra adds.

python benchmarks/install_sizes.py dist/varfocus-*.whl

Prints the table of docs/install.md. Needs the package index, and some minutes.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
LEFT_OUT = {"dev", "docs", "napari", "torch"}


def called(*command: str) -> str:
    """Run a command and return what it prints."""
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def added(python: str, wheel: str, extra: str) -> list[str]:
    """Return what pip would install for an extra beside what is there, pinned."""
    with tempfile.NamedTemporaryFile(suffix=".json") as report:
        command = (python, "-m", "pip", "install", "--quiet", "--dry-run", "--report", report.name)
        called(*command, f"{wheel}[{extra}]")
        plan = json.loads(Path(report.name).read_text(encoding="utf-8"))["install"]
    found = [each["metadata"] for each in plan if each["metadata"]["name"] != "varfocus"]
    return [f"{each['name']}=={each['version']}" for each in found]


def size(folder: Path) -> float:
    """Return the size of all files below a folder in megabytes, without compiled bytecode."""
    files = (path for path in folder.rglob("*") if path.is_file() and path.suffix != ".pyc")
    return sum(path.stat().st_size for path in files) / 1e6


def main(wheel: str) -> None:
    """Print the table."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    print("| | packages | MB on disk |\n|---|---|---|")
    with tempfile.TemporaryDirectory() as place:
        called(sys.executable, "-m", "venv", "--without-pip", place)
        python = f"{place}/bin/python"
        pip = (sys.executable, "-m", "pip", "--python", python, "install", "--quiet")
        called(*pip, "--no-compile", wheel)
        (site,) = Path(place, "lib").glob("python*/site-packages")
        count = len(list(site.glob("*.dist-info")))
        own = size(site / "varfocus")
        print(f"| `varfocus` | {count} | {size(site):.0f}, of which varfocus {own:.0f} |")
        called(*pip, "pip")
        for extra in extras["optional-dependencies"]:
            if extra in LEFT_OUT:
                continue
            names = added(python, wheel, extra)
            with tempfile.TemporaryDirectory() as more:
                if names:
                    called(*pip, "--no-compile", "--no-deps", "--target", more, *names)
                print(f"| `varfocus[{extra}]` | + {len(names)} | + {size(Path(more)):.0f} |")


if __name__ == "__main__":
    main(sys.argv[1])
