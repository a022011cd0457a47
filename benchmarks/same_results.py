"""Tell whether a change of the code has changed results: fingerprint them before, compare after.

    python benchmarks/same_results.py write before.json      # before the change
    python benchmarks/same_results.py compare before.json    # after it; exit code 1 on differences

Small simulated stacks go through the command line, the Python API and the page's server, and
through nothing else: what lies behind these may move. Of every product the decoded pixels are
hashed, not the file, and the numbers of run.json are kept as they are. The arrays themselves go
into an .npz beside the .json, so that a difference can be told in numbers. What is said in words,
such as warnings, is listed apart and may differ.

``--only CASE …`` does some of the cases, and ``list`` instead of ``write`` names them. Results are
compared to the last bit: write and compare on the same machine, with the same versions of NumPy and
SciPy. The page must have been built (``make page``). Takes 2 minutes of processor time.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import hashlib
import http.client
import io
import json
import os
import platform
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
import zipfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import quote, urlsplit

import imagecodecs
import numpy as np
import tifffile
from numpy.typing import NDArray
from scipy import ndimage

import varfocus

Array: TypeAlias = NDArray[Any]

SHAPE = (112, 144)
"""Height and width in pixels of most stacks; frames of less than 128 are not aligned."""

PATIENCE = 600.0
"""Seconds after which a command, or the page, is given up."""

MAPS = ("depth", "confidence", "uncertainty", "fused", "source", "preview", "mask")
"""Products of a result folder that are pictures."""

RESULTS = (
    "parameters",
    "extent",
    "alignment",
    "depth",
    "confidence",
    "uncertainty",
    "undetermined_pixels",
    "findings",
    "solver",
    "warnings",
    "tiles",
)
"""What run.json says of the result, rather than of input, software and time."""

INPUT = ("width", "height", "channels", "dtype", "focus", "unit", "inverted", "pixel_size")
"""What run.json says of the frames that has to do with the result."""

WORDS = ("warnings", "reason", "direction", "left_out", "message")
"""Entries that are prose."""

LIBRARIES = ("numpy", "scipy", "tifffile", "imagecodecs", "pillow", "matplotlib", "zarr")
"""Libraries whose versions may change results or pictures."""


# What a case leaves


@dataclass
class Found:
    """What one case has left.

    Attributes
    ----------
    folder : Path
        Where it may write.
    arrays : dict of str to ndarray
        Products by name.
    numbers, words : dict
        What else was said, by name; words are prose.
    error : str
        Why the case stopped; empty if it did not.
    """

    folder: Path
    arrays: dict[str, Array] = field(default_factory=dict)
    numbers: dict[str, Any] = field(default_factory=dict)
    words: dict[str, Any] = field(default_factory=dict)
    error: str = ""

    def note(self, said: Any, under: str) -> None:
        """Keep plain data under a name, entry by entry."""
        if isinstance(said, dict):
            for key, value in said.items():
                self.note(value, f"{under}.{key}" if under else key)
        elif isinstance(said, list) and any(isinstance(value, list | dict) for value in said):
            for k, value in enumerate(said):
                self.note(value, f"{under}.{k}")
        else:
            kept = self.words if under.rpartition(".")[2] in WORDS else self.numbers
            kept[under] = said

    def read_folder(self, folder: Path, under: str = "") -> None:
        """Keep a result folder: every map, and the numbers of run.json."""
        names = sorted(path.name for path in folder.iterdir())
        prefix = f"{under}/" if under else ""
        self.numbers[f"{prefix}files"] = names
        for name in names:
            product = name.partition(".")[0]
            if product in MAPS:
                self.arrays[prefix + product] = read_picture(folder / name)
        record = json.loads((folder / "run.json").read_text(encoding="utf-8"))
        told = {key: record[key] for key in RESULTS if key in record}
        told["input"] = {key: record["input"].get(key) for key in INPUT}
        self.note(told, f"{prefix}run")

    def take(self, result: varfocus.Result, under: str = "") -> None:
        """Keep a result of the Python API: what it saves, and what it only holds."""
        folder = self.folder / (under or "result")
        result.save(folder, report=False)
        self.read_folder(folder, under)
        prefix = f"{under}/" if under else ""
        self.arrays[f"{prefix}index"] = result.index
        if result.known is not None:
            self.arrays[f"{prefix}known"] = result.known

    def take_in(self, other: Found, under: str) -> None:
        """Keep all that another has found."""
        for name in ("arrays", "numbers", "words"):
            kept = getattr(self, name)
            kept |= {f"{under}/{key}": value for key, value in getattr(other, name).items()}

    def summary(self, seconds: float) -> dict[str, Any]:
        """Return what the .json keeps."""
        return {
            "seconds": round(seconds, 1),
            "error": self.error,
            "arrays": {name: fingerprint(array) for name, array in self.arrays.items()},
            "numbers": self.numbers,
            "words": self.words,
        }


def fingerprint(array: Array) -> dict[str, Any]:
    """Return shape, type and hash of an array."""
    array = np.ascontiguousarray(array)
    return {
        "shape": list(array.shape),
        "dtype": str(array.dtype),
        "sha256": hashlib.sha256(array.tobytes()).hexdigest(),
    }


def read_picture(path: Path) -> Array:
    """Return the pixels of a map or picture, in all their bits."""
    if path.suffix == ".zarr":
        import zarr

        return np.asarray(zarr.open_group(path, mode="r")["0"])
    if path.suffix == ".tif":
        return np.asarray(tifffile.imread(path))
    return np.asarray(imagecodecs.png_decode(path.read_bytes()))


# Going in through the doors that everybody uses


def command(*words: object, **environment: str) -> str:
    """Run a command of varfocus, and return what it printed."""
    done = subprocess.run(
        [sys.executable, "-m", "varfocus", *map(str, words)],
        capture_output=True,
        encoding="utf-8",
        timeout=PATIENCE,
        env=clean_environment() | environment,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"varfocus {words[0]}: exit code {done.returncode}\n{done.stderr}")
    return done.stdout


def clean_environment() -> dict[str, str]:
    """Return the environment without what would change how varfocus runs."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith("VARFOCUS_")}
    return kept | {"PYTHONIOENCODING": "utf-8", "TMPDIR": str(Path("tmp").resolve())}


def depth(found: Found, source: object, *options: object, **environment: str) -> Path:
    """Run ``varfocus depth`` without a report, keep what it wrote, and return its folder."""
    folder = found.folder / "result"
    command("depth", source, "-o", folder, "--no-report", "--quiet", *options, **environment)
    found.read_folder(folder)
    return folder


def reconstruct(found: Found, frames: Array, method: str, **options: Any) -> None:
    """Run `varfocus.reconstruct`, and keep its result."""
    found.take(varfocus.reconstruct(frames, method, **options))


class Page:
    """A running ``varfocus app``, as a browser sees it.

    Parameters
    ----------
    address : str
        What the command printed: address and token.
    """

    def __init__(self, address: str) -> None:
        parts = urlsplit(address)
        self._host, self._cookie = parts.netloc, ""
        answer, _ = self._ask("GET", f"{parts.path}?{parts.query}")
        self._cookie = answer.headers["set-cookie"].partition(";")[0]

    def _ask(
        self, method: str, path: str, body: bytes | None = None
    ) -> tuple[http.client.HTTPResponse, bytes]:
        connection = http.client.HTTPConnection(self._host, timeout=PATIENCE)
        headers = {"origin": f"http://{self._host}", "cookie": self._cookie}
        with contextlib.closing(connection):
            connection.request(method, path, body, headers)
            answer = connection.getresponse()
            content = answer.read()
        if answer.status >= 400:
            raise RuntimeError(f"{method} {path}: {answer.status} {content[:500]!r}")
        return answer, content

    def get(self, path: str) -> bytes:
        """Return what lies at an address."""
        return self._ask("GET", path)[1]

    def post(self, path: str, **body: Any) -> Any:
        """Ask for something to be done, and return the answer."""
        return json.loads(self._ask("POST", path, json.dumps(body).encode())[1])

    def upload(self, paths: Iterable[Path]) -> None:
        """Give the page its frames."""
        for path in paths:
            self._ask("PUT", f"/api/upload?name={quote(path.name)}", path.read_bytes())
        self.post("/api/uploaded")

    def solve(self, settled: bool = True, **parameters: Any) -> dict[str, Any]:
        """Reconstruct, wait for it, and return what the page says of the result."""
        wanted = self.post("/api/solve", parameters=parameters, settled=settled)["version"]
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            state = json.loads(self.get("/api/state"))
            results = [about for about in state["results"] if about["version"] == wanted]
            if state["busy"] is None and not results:
                raise RuntimeError("the page gave up on a reconstruction")
            if state["busy"] is None and (results[0]["saved"] or not settled):
                about: dict[str, Any] = results[0]
                return about
            time.sleep(0.1)
        raise RuntimeError(f"no result within {PATIENCE:.0f} s")

    def keep_maps(self, found: Found, about: dict[str, Any], under: str) -> None:
        """Keep every map of a result, as it is sent to be drawn."""
        kind = "preview" if about["preview"] else "full"
        for name in (*about["maps"], "fused"):
            content = self.get(f"/api/results/{about['version']}/{name}/{kind}/0/0/0")
            pixels = np.frombuffer(content, np.uint8 if name == "fused" else np.float32)
            # A preview is smaller than the place it is drawn at: its shape is not told here.
            shape = (-1,) if about["preview"] else (about["height"], about["width"])
            if name == "fused":
                shape = (*shape, 4)
            found.arrays[f"{under}/{name}"] = pixels.reshape(shape)
        told = ("width", "height", "place", "unit", "parameters", "findings", "warnings")
        found.note({key: about[key] for key in told}, under)


@contextlib.contextmanager
def served() -> Iterator[Page]:
    """Run the page's server."""
    with Path("page.log").open("w+", encoding="utf-8") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "varfocus", "app", "--no-browser"],
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            env=clean_environment(),
        )
        assert process.stdout is not None
        try:
            address = process.stdout.readline().strip()
            if not address:
                process.wait(PATIENCE)
                log.seek(0)
                raise RuntimeError(f"varfocus app: {log.read()}")
            yield Page(address)
        finally:
            process.send_signal(signal.SIGINT)
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            process.stdout.close()


# The stacks


def simulated(name: str, n: int, seed: int, **options: Any) -> Array:
    """Return the frames of a simulated stack."""
    options = {"shape": SHAPE} | options
    frames: Array = varfocus.simulate(name, n=n, seed=seed, **options).frames
    return frames


@cache
def cone() -> Array:
    """Return a smooth surface in grey, 8 bit."""
    return simulated("cone", 9, 1)


@cache
def steps() -> Array:
    """Return a scene with occlusion in colour, 8 bit."""
    return simulated("steps", 7, 2, colour=True)


@cache
def cosine() -> Array:
    """Return a smooth surface in grey, 16 bit."""
    return simulated("cosine", 15, 3, dtype="uint16")


@cache
def slants() -> Array:
    """Return a scene with occlusion in colour, float32."""
    return simulated("slants", 7, 2, dtype="float32", colour=True)


@cache
def bare() -> Array:
    """Return a scene of which part shows nothing."""
    return simulated("textureless", 7, 2, colour=False)


@cache
def moved() -> Array:
    """Return a colour stack whose frames are shifted, turned, scaled and of uneven brightness."""
    steady = simulated("steps", 7, 4, shape=(176, 192), noise=0.02).astype(np.float64)
    rng, cut = np.random.default_rng(7), 20
    middle = (np.array(steady.shape[1:3]) - 1) / 2
    frames = np.empty_like(steady)
    for k, frame in enumerate(steady):
        angle, scale = np.deg2rad(rng.normal(0.0, 0.4)), 1.0 + 0.006 * (k - len(steady) // 2)
        turn = scale * np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
        offset = middle - turn @ middle + rng.normal(0.0, 2.0, 2)
        gain = rng.uniform(0.95, 1.05)
        for channel in range(3):
            frames[k, ..., channel] = gain * ndimage.affine_transform(
                frame[..., channel], turn, offset, order=3, mode="reflect"
            )
    return np.rint(np.clip(frames[:, cut:-cut, cut:-cut], 0, 255)).astype(np.uint8)


def folder_of(frames: Callable[[], Array]) -> Path:
    """Return a folder with the frames as PNG, written on the first request."""
    folder = Path("stacks") / frames.__name__
    if not folder.exists():
        folder.mkdir(parents=True)
        for k, frame in enumerate(frames()):
            (folder / f"frame_{k:02d}.png").write_bytes(imagecodecs.png_encode(frame))
    return folder


def strip_file(path: Path, names: Iterable[str]) -> Path:
    """Write scenes side by side as a TIFF that is decoded in parts, wider than a tile of 512."""
    scenes = [simulated(name, 7, 2, shape=(72, 272), colour=False) for name in names]
    path.parent.mkdir(parents=True, exist_ok=True)
    tifffile.imwrite(path, np.concatenate(scenes, axis=2), tile=(64, 64), photometric="minisblack")
    return path


# The cases

CASES: dict[str, Callable[[Found], None]] = {}


def case(work: Callable[[Found], None]) -> Callable[[Found], None]:
    """Add a function to the cases."""
    CASES[work.__name__.replace("_", "-")] = work
    return work


@case
def stacks(found: Found) -> None:
    """Simulate the frames that the other cases start from, and some by ``varfocus simulate``."""
    for make in (cone, steps, cosine, slants, bare, moved):
        found.arrays[make.__name__] = make()
    options = ["--size", 128, 96, "--frames", 7, "--seed", 5, "--dtype", "uint16", "--quiet"]
    command("simulate", "table", "-o", found.folder, *options)
    frames = sorted((found.folder / "frames").iterdir())
    found.arrays["table"] = np.stack([read_picture(path) for path in frames])
    for name in ("truth_index.tif", "truth_depth.tif", "sharp.png"):
        found.arrays[f"table {name}"] = read_picture(found.folder / name)
    found.arrays["table focus.csv"] = np.loadtxt(found.folder / "focus.csv", skiprows=1)


@case
def grey_8_bit(found: Found) -> None:
    """Defaults, with the report."""
    folder = found.folder / "result"
    command("depth", folder_of(cone), "-o", folder, "--quiet")
    found.read_folder(folder)


@case
def colour_8_bit(found: Found) -> None:
    """Defaults, on a scene with occlusion."""
    depth(found, folder_of(steps))


@case
def grey_16_bit(found: Found) -> None:
    """Read a multi-page TIFF of ImageJ that knows its calibration."""
    path = found.folder / "stack.tif"
    path.parent.mkdir(parents=True)
    about = {"axes": "ZYX", "spacing": 1.5, "unit": "um"}
    tifffile.imwrite(path, cosine(), imagej=True, metadata=about, resolution=(2.0, 2.0))
    depth(found, path)


@case
def colour_16_bit(found: Found) -> None:
    """Take an array in colour, from Python."""
    frames = simulated("table", 7, 5, dtype="uint16")
    reconstruct(found, frames, "paper", alpha=0.25)


@case
def float32(found: Found) -> None:
    """Take an array, from Python."""
    reconstruct(found, slants(), "auto")


@case
def moved_frames(found: Found) -> None:
    """Frames that must be aligned."""
    depth(found, folder_of(moved))


@case
def moved_frames_with_border(found: Found) -> None:
    """Keep what not all frames show, and let the frames be sheared, towards another reference."""
    reconstruct(
        found, moved(), "classic", align="affine", border="mask", reference=1, exposure="none"
    )


@case
def masked(found: Found) -> None:
    """Part of the frames does not count."""
    rows, columns = np.mgrid[: SHAPE[0], : SHAPE[1]]
    counts = np.hypot(rows - 50, columns - 80) < 45
    mask = found.folder / "mask.png"
    mask.parent.mkdir(parents=True)
    mask.write_bytes(imagecodecs.png_encode(np.where(counts, np.uint8(255), np.uint8(0))))
    depth(found, folder_of(cone), "--mask", mask)


@case
def cropped(found: Found) -> None:
    """Take a rectangle of frames that must be aligned."""
    depth(found, folder_of(moved), "--crop", "24,30,96,80")


@case
def reordered(found: Found) -> None:
    """Frames out of order, put right; far to near."""
    folder = found.folder / "frames"
    folder.mkdir(parents=True)
    frames = moved()[::-1]
    for k, frame in enumerate(frames[[0, 1, 4, 3, 2, 5, 6]]):
        (folder / f"{k}.png").write_bytes(imagecodecs.png_encode(frame))
    depth(found, folder, "--auto-order", "--method", "classic", "--reverse")


@case
def short_of_memory(found: Found) -> None:
    """Leave out the edge stage, or take the method “paper”, for want of memory."""
    for memory in ("9MB", "8MB"):
        one = Found(found.folder / memory)
        depth(one, folder_of(steps), "--max-memory", memory, "--smoothness", 2)
        found.take_in(one, memory)


@case
def in_tiles_tiff(found: Found) -> None:
    """More pixels than may be decoded at once, and memory for the smallest tiles only."""
    path = strip_file(found.folder / "strip.tif", ("steps", "discs"))
    depth(found, path, "--max-pixels", 4096, "--max-memory", "640MB", "--align", "none")


@case
def in_tiles_zarr(found: Found) -> None:
    """Do so without the edge stage, and write OME-Zarr."""
    path = strip_file(found.folder / "strip.tif", ("cone", "textureless"))
    options = ["--align", "none", "--edges", "off", "--unknown", "nan", "--tiled-format", "zarr"]
    depth(found, path, "--max-pixels", 4096, "--max-memory", "445MB", *options)


@case
def paper_pyramid(found: Found) -> None:
    """Minimise the paper's energy by the default solver."""
    depth(found, folder_of(steps), "--method", "paper", "--alpha", "1/16")


@case
def paper_admm(found: Found) -> None:
    """Minimise the paper's energy by the paper's solver, on as many frames as its curves want."""
    reconstruct(found, cosine(), "paper", solver="admm")


@case
def paper_regularisers(found: Found) -> None:
    """Other regularisers, and Bregman iteration."""
    for name, options in {
        "huber": {"regulariser": "huber"},
        "tgv": {"regulariser": "tgv"},
        "weighted": {"regulariser": "weighted", "normalisation": "absolute"},
        "bregman": {"bregman": 1, "alpha": 0.5},
    }.items():
        found.take(varfocus.reconstruct(cone(), "paper", iterations=60, **options), name)


@case
def paper_other_solvers(found: Found) -> None:
    """Minimise by the two schemes that the paper compares its own with."""
    for name, options in {"forward-backward": {"tau": 2.0}, "penalty": {}}.items():
        made = varfocus.reconstruct(cone(), "paper", solver=name, iterations=60, **options)
        found.take(made, name)


@case
def classic(found: Found) -> None:
    """Take the windowed maximum of contrast, with all that may follow it."""
    options = ["--window", 11, "--median", 5, "--tv-weight", 0.2, "--front", 1, "--sharper", 2]
    depth(found, folder_of(steps), "--method", "classic", *options)


@case
def robust_without_edges(found: Found) -> None:
    """No edge stage, where the scene would have one."""
    reconstruct(found, steps(), "robust", edges="off")


@case
def robust_unknown_as_nan(found: Found) -> None:
    """Pixels that nothing determines are marked."""
    reconstruct(found, bare(), "robust", unknown="nan")


@case
def calibrated(found: Found) -> None:
    """Depth in micrometres, measured and exported."""
    options = ["--z-step", "2um", "--pixel-size", "0.5um"]
    folder = depth(found, folder_of(cone), *options)
    found.arrays["index from depth"] = varfocus.load_result(folder).index
    told = command(
        *("measure", folder, "--json", "--level", 2, "--line", "10,20,130,90", "--width", 3),
        *("--step", "10,10,40,40", "80,50,40,40", "-o", found.folder / "profile.csv"),
    )
    measured = json.loads(told)
    del measured["profile"]  # names of files
    found.note(measured, "measured")
    with (found.folder / "profile.csv").open(encoding="utf-8") as file:
        found.arrays["profile"] = np.array([*csv.reader(file)][1:], np.float64)
    names = [f"part.{suffix}" for suffix in EXPORTED]
    command("export", folder, "--quiet", "-o", *(found.folder / name for name in names))
    for suffix, read in EXPORTED.items():
        content = (found.folder / f"part.{suffix}").read_bytes()
        for name, array in read(content).items():
            found.arrays[f"export {suffix}{name}"] = array


@case
def calibrated_camera(found: Found) -> None:
    """Distances of a camera from a file, with heights instead of depth."""
    folder = found.folder / "scene"
    options = ["--size", SHAPE[1], SHAPE[0], "--frames", 7, "--seed", 2, "--quiet"]
    command("simulate", "slants", "-o", folder, *options)
    known = ["--focus-distances", folder / "focus.csv", "--unit", "m", "--invert"]
    depth(found, folder / "frames", *known, "--coordinate", "reciprocal")


@case
def into_a_folder(found: Found) -> None:
    """`varfocus.reconstruct_into` from `varfocus.read_stack`, with two threads."""
    stack = varfocus.read_stack(folder_of(steps))
    focus = [0.0, 1.0, 2.5, 3.0, 4.5, 5.0, 6.0]
    folder = found.folder / "result"
    varfocus.reconstruct_into(folder, stack, "paper", focus=focus, unit="mm", threads=2)
    found.read_folder(folder)


@case
def fuse(found: Found) -> None:
    """``varfocus fuse``, by itself and with the depth of an earlier run."""
    first = found.folder / "result"
    options = ["--method", "classic", "--no-report", "--quiet"]
    command("depth", folder_of(moved), "-o", first, *options)
    for name, options in {
        "fused": ["--front", 2, "--method", "paper"],
        "given": ["--apply-depth", first],
    }.items():
        files = [found.folder / f"{name}.png", found.folder / f"{name}.tif"]
        written = ["-o", files[0], "--source-map", files[1]]
        command("fuse", folder_of(moved), *written, "--quiet", *options)
        found.arrays[f"{name} image"], found.arrays[f"{name} source"] = map(read_picture, files)


@case
def align(found: Found) -> None:
    """``varfocus align``, and its maps used again."""
    for name, options in {
        "shift": ["--align", "shift", "--border", "mask"],
        "homography": ["--align", "homography"],
        "again": ["--transforms-from", found.folder / "homography"],
    }.items():
        folder = found.folder / name
        command("align", folder_of(moved), "-o", folder, "--quiet", *options)
        frames = [read_picture(path) for path in sorted(folder.glob("*.png"))]
        found.arrays[name] = np.stack(frames)
        record = json.loads((folder / "run.json").read_text(encoding="utf-8"))
        found.note({key: record[key] for key in ("alignment", "warnings")}, name)


@case
def batch(found: Found) -> None:
    """Two stacks, one after the other."""
    root, output = found.folder / "in", found.folder / "out"
    for make in (cone, steps):
        (root / make.__name__).mkdir(parents=True)
        for path in folder_of(make).iterdir():
            (root / make.__name__ / path.name).write_bytes(path.read_bytes())
    command("batch", root, "-o", output, "--workers", 1, "--no-report", "--quiet")
    for make in (cone, steps):
        found.read_folder(output / make.__name__, make.__name__)
    with (output / "summary.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            told = {key: value for key, value in row.items() if key not in ("seconds", "source")}
            found.note(told, f"summary.{row['name']}")


@case
def comparison(found: Found) -> None:
    """``varfocus compare``."""
    path = found.folder / "comparison.png"
    options = ["--alpha", "1/8", "--tv-weight", 0.3]
    told = command("compare", folder_of(cone), "-o", path, "--json", *options)
    found.arrays["picture"] = read_picture(path)
    found.words["maps"] = json.loads(told)["maps"]


@case
def page(found: Found) -> None:
    """Go through the page: a sketch, results one after the other, curves, a line, a mask."""
    with served() as browser:
        browser.upload(sorted(folder_of(steps).iterdir()))
        sketch = browser.solve(settled=False, smoothness=1.5)
        browser.keep_maps(found, sketch, "sketch")
        for name, options in {
            "first": {},
            "smoother": {"smoothness": 2.0},  # goes on from what the first has left
        }.items():
            about = browser.solve(**options)
            browser.keep_maps(found, about, name)
            here = f"/api/results/{about['version']}"
            found.note(json.loads(browser.get(f"{here}/curve?x=70&y=60")), f"{name}.curve")
        line = browser.post(f"{here}/measure", kind="line", shapes=[[10, 10, 120, 90]])
        found.note(line, "line")
        content = browser.get(f"{here}/products/depth.tif")
        found.arrays["smoother/depth.tif"] = np.asarray(tifffile.imread(io.BytesIO(content)))
        outline = [[10, 10], [120, 20], [100, 100], [20, 90]]
        browser.post("/api/mask", outlines=[[True, outline]])
        about = browser.solve(method="classic", crop="20,10,90,80")
        browser.keep_maps(found, about, "masked")


@case
def threads(found: Found) -> None:
    """See that one thread and two give the same, from alignment to fusion."""
    part = ["--crop", "24,30,96,80"]
    for name, options in {"robust": part, "paper": [*part, "--method", "paper"]}.items():
        kept = []
        for count in ("1", "2"):
            one = Found(found.folder / name / count)
            depth(one, folder_of(moved), *options, VARFOCUS_THREADS=count)
            kept.append(one)
            found.take_in(one, f"{name}, {count}")
        apart = [
            key
            for key, array in kept[0].arrays.items()
            if fingerprint(array) != fingerprint(kept[1].arrays[key])
        ]
        if apart or kept[0].numbers != kept[1].numbers:
            raise RuntimeError(f"{name}: threads change {', '.join(apart) or 'run.json'}")


# Files for other programs: what is in them but for notes


def _npz(content: bytes) -> dict[str, Array]:
    with np.load(io.BytesIO(content)) as file:
        return {f" {name}": file[name] for name in file.files if file[name].dtype.kind in "fui"}


def _pfm(content: bytes) -> dict[str, Array]:
    return {"": np.frombuffer(content.split(b"\n", 3)[3], np.float32)}


def _stl(content: bytes) -> dict[str, Array]:
    triangle = np.dtype([("corners", "<f4", (4, 3)), ("attribute", "<u2")])
    return {"": np.frombuffer(content[84:], triangle)["corners"]}


def _obj(content: bytes) -> dict[str, Array]:
    lines = content.decode().replace("/", " ").splitlines()
    kinds = {
        kind: [line.split()[1:] for line in lines if line[:2] == kind] for kind in ("v ", "f ")
    }
    return {f" {kind[0]}": np.array(rows, np.float64) for kind, rows in kinds.items()}


def _ply(content: bytes) -> dict[str, Array]:
    return {"": np.frombuffer(content.partition(b"end_header\n")[2], np.uint8)}


def _glb(content: bytes) -> dict[str, Array]:
    said = int.from_bytes(content[12:16], "little")
    return {"": np.frombuffer(content[20 + said + 8 :], np.uint8)}


def _gsf(content: bytes) -> dict[str, Array]:
    return {"": np.frombuffer(content[-4 * SHAPE[0] * SHAPE[1] :], "<f4").reshape(SHAPE)}


def _x3p(content: bytes) -> dict[str, Array]:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".bin"))
        return {"": np.frombuffer(archive.read(name), np.uint8)}


def _exr(content: bytes) -> dict[str, Array]:
    import OpenEXR

    path = Path("read.exr")
    path.write_bytes(content)
    with OpenEXR.File(str(path), separate_channels=True) as file:
        return {f" {name}": np.array(part.pixels) for name, part in file.channels().items()}


EXPORTED: dict[str, Callable[[bytes], dict[str, Array]]] = {
    "npz": _npz,
    "png": lambda content: {"": np.asarray(imagecodecs.png_decode(content))},
    "pfm": _pfm,
    "exr": _exr,
    "stl": _stl,
    "obj": _obj,
    "ply": _ply,
    "glb": _glb,
    "gsf": _gsf,
    "x3p": _x3p,
}
"""What is exported, and how it is read back."""


# All of it


def run(names: Iterable[str]) -> Iterator[tuple[str, Found, float]]:
    """Do cases in a temporary folder; yield what each has left, and the seconds it took."""
    with tempfile.TemporaryDirectory(prefix="same-results-") as place, contextlib.chdir(place):
        Path("tmp").mkdir()
        for name in names:
            found, began = Found(Path(name)), time.perf_counter()
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    CASES[name](found)
            except Exception as error:  # the other cases are worth their while all the same
                last = traceback.extract_tb(error.__traceback__)[-1]
                found.error = f"{type(error).__name__}: {error} ({last.name}, line {last.lineno})"
            yield name, found, time.perf_counter() - began


def about_this() -> dict[str, str]:
    """Return what results may depend on beside the code."""
    libraries = {name: version(name) for name in LIBRARIES}
    return {"machine": processor(), "python": platform.python_version(), **libraries}


def processor() -> str:
    """Return the name of the processor, for its instructions decide how sums are rounded."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def write(path: Path, names: Iterable[str]) -> int:
    """Write what all cases leave; return the exit code."""
    cases, arrays, began = {}, {}, time.perf_counter()
    for name, found, seconds in run(names):
        cases[name] = found.summary(seconds)
        arrays |= {f"{name}/{product}": array for product, array in found.arrays.items()}
        print(f"{name:28}{seconds:7.1f} s  {len(found.arrays):3d} arrays  {found.error}".rstrip())
        sys.stdout.flush()
    text = json.dumps({"about": about_this(), "cases": cases}, indent=1, ensure_ascii=False)
    path.write_text(text + "\n", encoding="utf-8")
    np.savez_compressed(path.with_suffix(".npz"), **arrays)
    failed = [name for name, entry in cases.items() if entry["error"]]
    seconds = time.perf_counter() - began
    print(f"{len(cases)} cases, {len(arrays)} arrays, {seconds:.0f} s; {path}")
    print(f"FAILED: {', '.join(failed)}" if failed else "none failed")
    return 1 if failed else 0


def compare(path: Path, names: Iterable[str]) -> int:
    """Do the cases again, print what differs from before, and return the exit code."""
    before = json.loads(path.read_text(encoding="utf-8"))
    for key, value in about_this().items():
        if before["about"].get(key) != value:
            print(f"note: {key} was {before['about'].get(key)} and is {value}")
    for name in sorted(set(before["cases"]) ^ set(CASES)):
        print(f"note: {name} is a case only {'now' if name in CASES else 'before'}")
    known = [name for name in names if name in before["cases"]]
    kept = path.with_suffix(".npz")
    began, equal, different, reworded = time.perf_counter(), 0, 0, 0
    with np.load(kept) if kept.exists() else contextlib.nullcontext({}) as arrays:
        for name, found, seconds in run(known):
            rows = differences(name, before["cases"][name], found, arrays)
            for product, verdict, detail in rows:
                print(f"{name:28}{product:32}{verdict:10} {detail}".rstrip())
                equal += verdict == "equal"
                reworded += verdict == "reworded"
                different += verdict not in ("equal", "reworded")
            print(f"{name:28}{'':32}{seconds:.1f} s", flush=True)
    seconds = time.perf_counter() - began
    print(f"{equal} equal, {different} DIFFERENT, {reworded} reworded; {seconds:.0f} s")
    return 1 if different else 0


def differences(
    name: str, before: dict[str, Any], found: Found, arrays: Any
) -> Iterator[tuple[str, str, str]]:
    """Yield what became of every product of a case: its name, a verdict, and by how much."""
    if before["error"] or found.error:
        yield "", "FAILED", f"before: {before['error'] or 'no'}; now: {found.error or 'no'}"
    after = {product: fingerprint(array) for product, array in found.arrays.items()}
    for product in {**before["arrays"], **after}:
        if product not in after:
            yield product, "MISSING", ""
        elif product not in before["arrays"]:
            yield product, "NEW", ""
        elif after[product] == before["arrays"][product]:
            yield product, "equal", ""
        else:
            key = f"{name}/{product}"
            detail = distance(arrays[key], found.arrays[product]) if key in arrays else ""
            yield product, "DIFFERENT", detail
    # As they come back from a file: tuples are lists there.
    now = json.loads(json.dumps({"numbers": found.numbers, "words": found.words}))
    for kind, verdict in {"numbers": "DIFFERENT", "words": "reworded"}.items():
        entries = {**before[kind], **now[kind]}
        apart = [key for key in entries if not same(before[kind], now[kind], key)]
        for key in apart:
            yield key, verdict, f"{before[kind].get(key)!r} → {now[kind].get(key)!r}"
        if entries and not apart:
            yield f"{len(entries)} {kind}", "equal", ""


def same(before: dict[str, Any], now: dict[str, Any], key: str) -> bool:
    """Tell whether two records have the same entry; NaN is the same as NaN."""
    if key not in before or key not in now:
        return False
    return repr(before[key]) == repr(now[key])


def distance(before: Array, now: Array) -> str:
    """Say how far two arrays are apart."""
    if (before.shape, before.dtype) != (now.shape, now.dtype):
        return f"{before.shape} {before.dtype} → {now.shape} {now.dtype}"
    a, b = before.astype(np.float64), now.astype(np.float64)
    either = np.isnan(a) | np.isnan(b)
    apart = np.where(either, 0.0, np.abs(np.where(either, 0.0, a) - np.where(either, 0.0, b)))
    text = f"max |Δ| = {apart.max(initial=0.0):.3g}, {(apart > 0).sum()} of {a.size} values"
    turned = int((np.isnan(a) != np.isnan(b)).sum())
    return text + (f", {turned} more to or from NaN" if turned else "")


def main() -> int:
    """Do what the command line asks for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["write", "compare", "list"])
    parser.add_argument("file", type=Path, nargs="?", default=Path("before.json"))
    parser.add_argument("--only", nargs="+", choices=[*CASES], metavar="CASE")
    given = parser.parse_args()
    # A job in the background has Ctrl-C switched off, and so would the page that ends by it.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if given.what == "list":
        for name, work in CASES.items():
            print(f"{name:28}{(work.__doc__ or '').splitlines()[0]}")
        return 0
    path = given.file.resolve()
    print(f"varfocus in {Path(varfocus.__file__).parent}")
    return {"write": write, "compare": compare}[given.what](path, given.only or [*CASES])


if __name__ == "__main__":
    sys.exit(main())
