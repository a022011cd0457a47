"""The macro and the script for ImageJ: the macro is run where ImageJ and a virtual screen exist."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import tifffile

from varfocus.simulation import simulate

ROOT = Path(__file__).parents[2] / "integrations" / "imagej"
MACRO = ROOT / "varfocus.ijm"
IMAGEJ = Path(os.environ.get("VARFOCUS_IMAGEJ", "/usr/share/java/ij.jar"))


def test_the_script_is_python_that_jython_knows():
    text = (ROOT / "Depth_from_Focus_varfocus.py").read_text(encoding="utf-8")
    parameters = re.findall(r"^#@ \w+ \(.*\) (\w+)$", text, re.M)
    assert parameters == ["imp", "program", "step", "unit", "options"]
    tree = ast.parse(text)
    modern = (ast.JoinedStr, ast.NamedExpr, ast.AnnAssign, ast.AsyncFunctionDef, ast.Nonlocal)
    assert not [node for node in ast.walk(tree) if isinstance(node, modern)]
    assert text.isascii()


def test_brackets_of_the_macro_are_in_order():
    """ImageJ has no checker; what it stumbles over most is caught here."""
    text = re.sub(r"//.*", "", MACRO.read_text(encoding="utf-8"))
    text = re.sub(r'"(?:\\.|[^"\\])*"', '""', text)
    open_, pairs = [], {")": "(", "]": "[", "}": "{"}
    for letter in text:
        if letter in "([{":
            open_.append(letter)
        elif letter in pairs:
            assert open_.pop() == pairs[letter]
    assert not open_


@pytest.fixture
def imagej():
    """Return a function that runs a macro, and returns what it wrote into a file."""
    java, screen = shutil.which("java"), shutil.which("xvfb-run")
    if not IMAGEJ.is_file() or java is None or screen is None:
        pytest.skip("needs ImageJ (VARFOCUS_IMAGEJ names its jar), Java and xvfb-run")

    def run(macro: Path, environment) -> None:
        subprocess.run(
            [screen, "--auto-servernum", java, "-jar", str(IMAGEJ), "-batch", str(macro)],
            env=environment, check=True, timeout=90, capture_output=True,
        )  # fmt: skip

    return run


@pytest.mark.parametrize("over", ["focus", "time", "channels"])
def test_the_macro_opens_calibrated_results(over, imagej, tmp_path):
    frames = simulate("plane", shape=(48, 64), n=5, noise=0).frames
    data, axes = frames, {"focus": "ZYX", "time": "TYX", "channels": "ZCYX"}[over]
    if over == "channels":
        data = np.stack([np.zeros_like(frames), frames], axis=1)
    tifffile.imwrite(
        tmp_path / "in.tif", data, imagej=True, resolution=(2, 2),
        metadata={"axes": axes, "spacing": 3.0, "unit": "um"},
    )  # fmt: skip
    program = tmp_path / "varfocus program"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m varfocus "$@"\n')
    program.chmod(0o755)
    (tmp_path / "tmp").mkdir()
    test = tmp_path / "test.ijm"
    test.write_text(
        f"""
open("{tmp_path}/in.tif");
if ("{over}" == "channels") Stack.setPosition(2, 1, 1);
runMacro("{MACRO}", "program=[{program}] options=[--method classic]");
told = "";
names = newArray("depth", "confidence", "fused");
for (i = 0; i < 3; i++) {{
    selectWindow(names[i] + " of in.tif");
    getVoxelSize(x, y, z, unit);
    getStatistics(area, mean, least, most);
    told += names[i] + " " + x + " " + unit + " " + least + " " + most + " " + getWidth() + "\\n";
}}
selectWindow("in.tif"); // still there
File.saveString(told, "{tmp_path}/told.txt");
""",
        encoding="utf-8",
    )
    environment = os.environ | {"JAVA_TOOL_OPTIONS": f"-Djava.io.tmpdir={tmp_path / 'tmp'}"}
    imagej(test, environment)
    told = dict(
        line.split(" ", 1) for line in (tmp_path / "told.txt").read_text("utf-8").splitlines()
    )
    x, unit, least, most, width = told["depth"].split()
    assert (float(x), width) == (0.5, "64")
    assert unit in ("um", "µm", "micron", "microns")
    assert 0.0 <= float(least) < float(most) <= 12.0  # five slices, 3 µm apart
    assert float(most) > 6.0
    assert float(told["confidence"].split()[3]) <= 1.0
    made = next((tmp_path / "tmp").glob("varfocus-*/result/depth.tif"))
    np.testing.assert_allclose(np.nanmax(tifffile.imread(made)), float(most), rtol=1e-3)
