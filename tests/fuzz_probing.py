"""Coverage-guided fuzzing (atheris) of the code that looks at files before they are decoded.

    python tests/fuzz_probing.py --seconds 600

Starts from the samples of `fuzzing.corpus`. Only our own refusals may come out of it; anything else
ends the run with exit code 77 and leaves the file that did it.
"""

from __future__ import annotations

import argparse
import inspect
import io
import sys
import tempfile
from pathlib import Path

BUILT_IN = ("PNG", "JPEG", "BMP", "TIFF", "TIFF stack", "NPY")
"""Formats that are looked at in our own code, from an open file."""


def main() -> int:
    """Fuzz for some time."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=600)
    given = parser.parse_args()
    try:
        import atheris
    except ImportError:
        print("atheris is not installed (pip install atheris): probing was NOT fuzzed by coverage")
        return 0
    from fuzzing import corpus
    from varfocus.io.border import RefusedError
    from varfocus.io.formats import identify
    from varfocus.io.readers import bmp, jpeg, npy, png, tiff
    from varfocus.io.selection import UNSAID

    # Function by function, for the hook on imports does not see an editable installation.
    for name in [name for name in sys.modules if name.startswith("varfocus.io.")]:
        for function in vars(sys.modules[name]).values():
            if inspect.isfunction(function) and function.__module__ == name:
                atheris.instrument_func(function)

    stacks = {"TIFF": tiff.contents, "NPY": npy.contents}
    pictures = {"PNG": png.probe, "JPEG": jpeg.probe, "BMP": bmp.probe}

    def probe(data: bytes) -> None:
        file = io.BytesIO(data)
        found = identify(file)
        kind = found.name if found else ""
        file.seek(0)
        try:
            if kind in stacks:
                stacks[kind](file, Path("case"), UNSAID)
            elif kind in pictures:
                pictures[kind](file)
        except RefusedError as refusal:
            if not (refusal.received and refusal.expected):
                raise AssertionError("a refusal without words") from refusal

    with tempfile.TemporaryDirectory() as folder:
        seeds = Path(folder)
        for kind, files in corpus(seeds).items():
            for k, data in enumerate(files if kind in BUILT_IN else []):
                (seeds / f"{kind.replace(' ', '-')}{k}").write_bytes(data)
        options = [f"-max_total_time={given.seconds}", "-max_len=20000", "-rss_limit_mb=2048"]
        options += ["-timeout=20", "-print_final_stats=1"]
        atheris.Setup([sys.argv[0], *options, str(seeds)], probe)
        atheris.Fuzz()  # ends the process itself
    return 0


if __name__ == "__main__":
    sys.exit(main())
