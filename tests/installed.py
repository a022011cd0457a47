"""Try varfocus as it was installed: the engine, a small scene, and the page with all of its files.

`make wheel` and the builders of wheels run this in an environment that has varfocus[app] and
nothing else: no compiler, no Node.js, no source tree on the path.

python tests/installed.py
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from http.cookiejar import CookieJar
from pathlib import Path
from urllib.parse import urljoin
from urllib.request import HTTPCookieProcessor, build_opener

SOURCE = Path(__file__).resolve().parents[1] / "src"
PROGRAM = [sys.executable, "-m", "varfocus"]
RESULTS = {"depth.tif", "confidence.tif", "fused.png", "preview.png", "report.html", "run.json"}


def called(*arguments: str) -> str:
    """Run a command of varfocus and return what it says."""
    asked = subprocess.run(
        [*PROGRAM, *arguments], capture_output=True, text=True, encoding="utf-8", check=False
    )
    if asked.returncode:
        raise SystemExit(f"varfocus {' '.join(arguments)}: {asked.returncode}\n{asked.stderr}")
    return asked.stdout


def try_package() -> None:
    """The package is the installed one, and its engine is compiled."""
    import varfocus
    from varfocus import engine

    place = Path(varfocus.__file__).resolve()
    assert SOURCE not in place.parents, f"{place} is not an installed package"
    assert engine.available, "the wheel holds no compiled engine"
    print(f"varfocus {varfocus.__version__} in {place.parent}")


def try_scene(folder: Path) -> None:
    """A small scene is simulated, reconstructed, and right where it says that it is sure."""
    import numpy as np
    import tifffile

    scene, out = folder / "scene", folder / "out"
    called("simulate", "steps", "--size", "120", "96", "--frames", "9", "-o", str(scene))
    called("depth", str(scene / "frames"), "-o", str(out))
    assert {path.name for path in out.iterdir()} >= RESULTS
    report = (out / "report.html").read_text(encoding="utf-8")
    assert 'id="viewer"' in report, "the report's viewer was not built"
    record = json.loads((out / "run.json").read_text(encoding="utf-8"))
    assert record["parameters"]["method"] == "robust"
    truth = tifffile.imread(scene / "truth_index.tif")
    error = np.abs(tifffile.imread(out / "depth.tif") - truth)
    sure = tifffile.imread(out / "confidence.tif") >= 0.9
    right = float(np.mean(error[sure] < 1))
    assert right > 0.9
    print(f"depth of 9 frames: {right:.1%} of the {sure.mean():.0%} sure pixels are right")


def try_page(folder: Path) -> None:
    """The page is served with the token alone, and every file that it names is there."""
    from varfocus.app.server import static_folder

    static = static_folder()
    command = [*PROGRAM, "app", "--no-browser", str(folder / "scene" / "frames")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            address = server.stdout.readline().strip()
            assert address.startswith("http://127.0.0.1:"), "the page does not start"
            visitor = build_opener(HTTPCookieProcessor(CookieJar()))
            page = visitor.open(address, timeout=60).read().decode()
            assert "<title>varfocus" in page
            named = re.findall(r'(?:src|href)="(/[^"]+)"', page)
            named += [f"/{file.relative_to(static).as_posix()}" for file in static.glob("assets/*")]
            answers = {name: visitor.open(urljoin(address, name), timeout=60) for name in named}
            sizes = {name: len(answer.read()) for name, answer in answers.items()}
            assert {Path(name).suffix for name in sizes} >= {".js", ".css", ".svg"}
            assert all(sizes.values())
            state = json.load(visitor.open(urljoin(address, "/api/state"), timeout=60))
            assert state, "the page's server says nothing"
        finally:
            server.terminate()
    print(f"page: {len(sizes)} files, {sum(sizes.values()) / 1e6:.1f} MB")


def main() -> None:
    """Try everything in a folder of its own."""
    with tempfile.TemporaryDirectory() as place:
        os.chdir(place)
        try_package()
        try_scene(Path(place))
        try_page(Path(place))
        os.chdir(SOURCE.anchor)


if __name__ == "__main__":
    main()
