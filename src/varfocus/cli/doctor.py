"""``varfocus doctor``: a check of the installation."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import platform

import numpy as np

import varfocus
from varfocus import engine
from varfocus.cli.console import Narrator, Talk, TalkOptions, table
from varfocus.errors import VarfocusError
from varfocus.io import formats

LIBRARIES = ("numpy", "scipy", "tifffile", "imagecodecs", "pillow", "matplotlib")


class DoctorError(VarfocusError):
    """The installation does not work."""


def doctor(*, talk: TalkOptions = Talk()) -> None:
    """Check that varfocus and what it needs are in order, by reconstructing a tiny known scene."""
    from varfocus.studies.metrics import rmse

    kernels = (
        f"native, {engine.instruction_set()} (this machine has "
        f"{', '.join(engine.instruction_sets())}), {engine.thread_count()} threads"
        if engine.available
        else f"array code only, some 15 times slower: {engine.reason}; "
        "install a C++ compiler and reinstall varfocus"
    )
    versions = {name: importlib.metadata.version(name) for name in LIBRARIES}
    extras = {
        extra: importlib.util.find_spec(name) is not None
        for extra, name in formats.extras().items()
    }
    scene = varfocus.simulate("cone", shape=(64, 64), noise=0.0)
    index = varfocus.reconstruct(scene.frames, "paper", alpha=1 / 16).index
    error = float(rmse(index, scene.truth_index))
    facts = {
        "varfocus": varfocus.__version__,
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "cores": os.cpu_count(),
        "native_engine": engine.available,
        "instruction_set": engine.instruction_set(),
        "instruction_sets": engine.instruction_sets(),
        "threads": engine.thread_count(),
        "libraries": versions,
        "extras": extras,
        "self_test_rmse_frames": round(error, 3),
    }
    rows = [
        ("varfocus", varfocus.__version__),
        ("python", f"{facts['python']} on {facts['system']}, {facts['cores']} cores"),
        ("engine", kernels),
        *versions.items(),
        *(
            (
                f"[{extra}]",
                "installed" if there else f'not installed: pip install "varfocus[{extra}]"',
            )
            for extra, there in extras.items()
        ),
        ("self-test", f"depth of a known cone found to {error:.2f} frames"),
    ]
    if not np.isfinite(error) or error > 2.0:
        raise DoctorError(
            f"the self-test found the depth of a known scene only to {error:.2f} frames",
            "expected an error below 2 frames",
            "Reinstall varfocus and its libraries: " + ", ".join(versions) + ".",
        )
    Narrator(talk).result(table(rows) + "\nEverything is in order.", facts)
