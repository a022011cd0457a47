"""Running the command line, in this process or in one of its own, and looking at what it left."""

from __future__ import annotations

import contextlib
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
import tifffile
from PIL import Image

from varfocus.cli import main

RESULTS = {
    "depth.tif",
    "confidence.tif",
    "fused.png",
    "source.tif",
    "preview.png",
    "report.html",
    "run.json",
}
"""What every run leaves."""


class Outcome(NamedTuple):
    """What a command did."""

    code: int
    out: str
    err: str


def varfocus(capsys, *arguments) -> Outcome:
    """Run a command in this process."""
    capsys.readouterr()
    try:
        code = main([str(argument) for argument in arguments])
    except SystemExit as stop:
        code = stop.code
    return Outcome(code, *capsys.readouterr())


def varfocus_process(*arguments, cwd=None, timeout=400, **environment) -> Outcome:
    """Run a command as a user does."""
    done = subprocess.run(
        [sys.executable, "-m", "varfocus", *map(str, arguments)],
        capture_output=True,
        encoding="utf-8",
        cwd=cwd,
        timeout=timeout,
        env=os.environ | {"PYTHONIOENCODING": "utf-8"} | environment,
        check=False,
    )
    return Outcome(done.returncode, done.stdout, done.stderr)


def repeated(command: str, folder: Path) -> None:
    """Run the commands that the page shows in a folder, in this process and without reports."""
    for line in command.splitlines():
        program, *words = shlex.split(line)
        assert program == "varfocus"
        report = ["--no-report"] if words[0] == "depth" else []
        with contextlib.chdir(folder):
            assert main([*words, *report]) == 0, line


def files_below(folder: Path) -> set[str]:
    """Return every file below a folder, hidden and temporary ones too."""
    return {str(p.relative_to(folder)) for p in folder.rglob("*") if not p.is_dir()}


def read_png(path) -> np.ndarray:
    with Image.open(path) as image:
        return np.asarray(image)


def write_pictures(folder: Path, images, prefix: str = "") -> Path:
    """Write frames as PNG, numbered from 0 behind a prefix."""
    folder.mkdir(parents=True, exist_ok=True)
    for k, image in enumerate(images):
        Image.fromarray(image).save(folder / f"{prefix}{k}.png")
    return folder


def write_frames(folder: Path, images) -> Path:
    """Write frames as TIFF, which takes any number type."""
    folder.mkdir(parents=True)
    for k, image in enumerate(images):
        tifffile.imwrite(folder / f"frame_{k:02d}.tif", image)
    return folder
