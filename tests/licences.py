"""Licences of everything that varfocus installs, against a list of those that are allowed.

    python tests/licences.py

Then known vulnerabilities by pip-audit, where that is installed and the network allows.
"""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from importlib import metadata

from packaging.requirements import Requirement

ALLOWED = re.compile(
    r"\b(MIT|BSD|0BSD|Apache|ISC|PSF|Python Software Foundation|HPND|MIT-CMU|Unlicense|MPL|zlib|"
    r"Zlib|CC0|Historical Permission|Public Domain)\b",
    re.IGNORECASE,
)
"""Permissive licences, and the Mozilla one, which asks for its own files only."""

REFUSED = re.compile(r"\b(A?GPL|GNU (Affero )?General Public|SSPL|Commons Clause)", re.IGNORECASE)
WEAK = re.compile(r"\bLGPL|Lesser General Public", re.IGNORECASE)

KNOWN = {
    # Its metadata name the licences of the libraries inside its wheel, as well as its own.
    "imagecodecs": "BSD-3-Clause",
    "rawpy": "MIT; its wheel holds LibRaw under LGPL-2.1 or CDDL-1.0, linked dynamically",
    "av": "BSD-3-Clause; its wheel holds FFmpeg under LGPL-3.0, linked dynamically",
    "openexr": "BSD-3-Clause",
}
"""Looked up by hand, because the metadata say nothing or too much."""

EXTRAS = ("app", "exr", "microscopy", "notebook", "raw", "video", "xarray", "zarr")


def licence_of(name: str) -> str:
    """Return what a distribution says about its licence, on one line."""
    if name in KNOWN:
        return KNOWN[name]
    about = metadata.metadata(name)
    classifiers = [
        line.rpartition("::")[2].strip()
        for line in about.get_all("Classifier") or []
        if line.startswith("License ::")
    ]
    said = about.get("License-Expression") or "; ".join(classifiers) or about.get("License") or ""
    return " ".join(said.split())[:80]


def installed_with(name: str, extras: tuple[str, ...] = ()) -> set[str]:
    """Return everything that installing a distribution installs, as far as it is here."""
    found: set[str] = set()
    waiting = [(name, frozenset(extras))]
    seen = set()
    while waiting:
        one, wanted = waiting.pop()
        if (one, wanted) in seen:
            continue
        seen.add((one, wanted))
        try:
            requirements = metadata.requires(one) or []
        except metadata.PackageNotFoundError:
            continue
        found.add(one)
        for text in requirements:
            needed = Requirement(text)
            marker = needed.marker
            if marker is None or any(marker.evaluate({"extra": e}) for e in ("", *wanted)):
                waiting.append((_plain(needed.name), frozenset(needed.extras)))
    return found - {name}


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def verdicts() -> dict[str, tuple[str, bool]]:
    """Return licence and verdict of every dependency."""
    found = {}
    for name in sorted(installed_with("varfocus", EXTRAS)):
        licence = licence_of(name)
        fine = bool(ALLOWED.search(licence)) and not REFUSED.search(licence)
        fine = fine and (name in KNOWN or not WEAK.search(licence))
        found[name] = licence, fine
    return found


def main() -> int:
    """Print the list; fail if one is not allowed or known to be vulnerable."""
    found = verdicts()
    for name, (licence, fine) in found.items():
        print(f"{'ok ' if fine else 'NO '} {name:28} {licence or '?'}")
    bad = [name for name, (_, fine) in found.items() if not fine]
    print(f"{len(found)} dependencies, {len(bad)} not allowed")
    return 1 if bad else audit(sorted(found))


def audit(names: list[str]) -> int:
    """Ask pip-audit for known vulnerabilities of what is installed."""
    if importlib.util.find_spec("pip_audit") is None:
        print("pip-audit is not installed: vulnerabilities were NOT looked up")
        return 0
    command = [sys.executable, "-m", "pip_audit", "--progress-spinner", "off", "-r", "/dev/stdin"]
    pins = "".join(f"{name}=={metadata.version(name)}\n" for name in names)
    done = subprocess.run(
        [*command, "--no-deps", "--disable-pip"],
        input=pins,
        capture_output=True,
        text=True,
        check=False,
    )
    unknown = done.stdout.count("could not be audited")
    if unknown >= len(names) or "vulnerabilit" not in done.stdout + done.stderr:
        print("pip-audit got no answer: vulnerabilities were NOT looked up")
        return 0
    print(done.stdout + done.stderr)
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
