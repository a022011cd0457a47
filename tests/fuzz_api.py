"""Random stacks × random parameters × random types, through every way in.

    python tests/fuzz_api.py --cases 5000

Case k of a seed is always the same. What may come of it is a result that keeps its promises (depth,
index and confidence finite and within their bounds, the picture within the range of the frames,
the same bytes with any number of threads) or one of `varfocus.errors` in words; no other exception,
no warning from inside, no file that is half there, and no process that dies.
"""

from __future__ import annotations

import contextlib
import dataclasses
import importlib
import io
import json
import math
import shutil
import sys
import tempfile
import typing
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin

import numpy as np
import tifffile
from numpy.typing import NDArray
from PIL import Image

import varfocus
from fuzzing import main, work_through
from varfocus.errors import InternalError, VarfocusError, VarfocusWarning
from varfocus.export.products import PRODUCTS, Calibration, Shape, make_product
from varfocus.io.calibration import Focus
from varfocus.methods.second_look import LEAST_SIDE
from varfocus.params import COMMON_STAGES, STAGES, STAGES_OF_METHOD, Limits, Resources
from varfocus.ranges import Range, hints_of
from varfocus.retouch import Retouch
from varfocus.retouch.strokes import TOOLS
from varfocus.surface.measure import height_parameters, level, profile

SECONDS = 300
"""Time for one case, on a machine that may be busy with other things."""

SLOW = {"iterations": 12, "bregman": 1, "front": 9, "threads": 3}
"""Parameters that only prolong the work, and how large they get here."""

METHODS = ("robust", "paper", "classic", "auto")


class Dice(np.random.Generator):
    """Random numbers of one case: half of the cases are wild, the others all but reasonable."""

    def __init__(self, seed: int, k: int) -> None:
        super().__init__(np.random.PCG64([seed, k]))
        self.wild = self.random() < 0.5

    def odd(self, share: float) -> bool:
        """Tell whether to do something unreasonable, in this share of the wild cases."""
        return self.wild and self.random() < share


ODD: tuple[Any, ...] = (
    *(None, True, False, math.nan, math.inf, -math.inf, 0, -1, 1e300, -1e300, 1e-300, 10**400),
    *(2**31, 2**63, -(2**63), "", "x", "1", "\0", "\x1b[2J", "9" * 5000, b"1", [], [1], {}, (1, 2)),
    *(1j, object, print, np.zeros(2), np.array(1), np.float16(2), np.int8(3), np.bool_(True)),
)
"""Values of any type, for any parameter."""

PLAIN = tuple(v for v in ODD if isinstance(v, bool | int | float | str | list | dict | None))
"""Those that a document can hold."""


def pick(rng: Dice, choices: Any) -> Any:
    """Return one of several, whatever they are."""
    return choices[int(rng.integers(len(choices)))]


def value_for(rng: Dice, name: str, hint: Any) -> Any:
    """Return a value for a parameter: mostly one it takes, often at a bound, sometimes anything."""
    if rng.odd(0.1):
        return pick(rng, ODD)
    within = get_args(hint)[1] if get_origin(hint) is Annotated else None
    inner = get_args(hint)[0] if within is not None else hint
    kinds = [inner, *get_args(inner)] if get_origin(inner) is not Literal else [inner]
    if type(None) in kinds and rng.random() < 0.2:
        return None
    if isinstance(within, Range):
        high = min(within.high, SLOW.get(name, within.high), 1e30)
        draw = rng.random()
        if draw < 0.1:
            return within.low
        if draw < 0.2:
            return within.high if name not in SLOW else high
        if rng.odd(0.1):
            return pick(rng, (within.low - 1, within.high * 2, -within.high))
        if draw < 0.3 and within.zero:
            return 0
        low = max(float(within.low), 1e-12)
        number = math.exp(rng.uniform(math.log(low), math.log(max(high, low))))
        if rng.random() < 0.5:  # near what is usual
            number = float(np.clip(rng.uniform(0.0, 20.0), within.low, high))
        if int not in kinds:
            return number if rng.random() < 0.8 else np.float32(number)
        whole = int(number) | 1 if within.odd else int(number)
        return whole if rng.random() < 0.8 else np.int64(whole)
    for kind in kinds:
        if get_origin(kind) is Literal:
            return pick(rng, get_args(kind))
    if bool in kinds:
        return bool(rng.random() < 0.5)
    if name in ("crop", "mask", "channel", "series", "focal_length") and not rng.wild:
        return None
    if name == "unit":
        return pick(rng, ("mm", "um", "V"))
    if not rng.wild:
        return {"z_step": "2um", "pixel_size": "0.5um"}.get(name, "1GB")
    return pick(rng, ("1GB", "2um", "0.5 mm", "-1e-3m", "1e12m", "0", "a", "µm", "3,1,2,2"))


def parameters(rng: Dice) -> tuple[str, dict[str, Any]]:
    """Return a method and some of its parameters."""
    method = str(pick(rng, METHODS))
    stages = [*STAGES_OF_METHOD[method], *COMMON_STAGES]
    if rng.odd(0.06):
        stages = list(STAGES)
    hints = {n: h for stage in stages for n, h in hints_of(STAGES[stage]).items()}
    names = rng.permutation(sorted(hints))[: int(rng.integers(0, 6))]
    values = {str(name): value_for(rng, str(name), hints[str(name)]) for name in names}
    for name in ("iterations",):
        if name in hints and name not in values:
            values[name] = int(rng.integers(1, SLOW[name]))
    values.pop("mask", None)
    values.pop("transforms_from", None)
    if not rng.wild:
        values.pop("retouch", None)
    if rng.random() < 0.1:
        corner = rng.integers(0, 3, 2) if rng.wild else (0, 0)
        box = *corner, *(rng.integers(1, 4, 2) if rng.wild else (1, 1))
        values["crop"] = ",".join(str(int(n)) for n in box)
    if rng.odd(0.02):
        values["no_such_parameter"] = 1
    return method, values


def frames(rng: Dice) -> Any:
    """Return a stack of any kind, most of them tiny."""
    n = int(pick(rng, (3, 3, 4, 5, 6, 7, 9, 12)))
    n = int(pick(rng, (1, 2))) if rng.odd(0.05) else n
    sides = (1, 2, 3, 4, 5, 7, 8, 9, 13, 16, 17, 24)
    shape: tuple[int, ...] = (n, int(pick(rng, sides)), int(pick(rng, sides)))
    if rng.random() < 0.03:
        shape = (n, *map(int, rng.permutation([1 + int(rng.integers(3)), 1500])))
    elif rng.random() < 0.15:  # large enough for a second look
        shape = (n, *map(int, rng.integers(LEAST_SIDE, 2 * LEAST_SIDE, 2)))
    if rng.random() < 0.3:
        shape = (*shape, int(pick(rng, (1, 2, 3, 3, 3, 4, 5 if rng.wild else 3))))
    kind = pick(rng, ("noise", "focus", "focus", "spot", "steps", "ramp", "still"))
    kind = "constant" if rng.random() < 0.03 else kind
    images = rng.random(shape)
    if kind == "focus":  # texture that is sharpest in one frame
        z = np.arange(n).reshape(-1, *(1,) * (len(shape) - 1))
        depth = rng.uniform(0, n - 1) + rng.normal(0, 0.2, shape[1:])
        images = 0.5 + (images[:1] - 0.5) * np.exp(-((z - depth) ** 2)) + rng.normal(0, 0.01, shape)
    elif kind == "constant":
        images = np.full(shape, rng.random())
    elif kind == "spot":
        images = np.zeros(shape)
        images[tuple(int(rng.integers(s)) for s in shape)] = 1.0
    elif kind == "steps":
        images = np.rint(images)
    elif kind == "ramp":
        images = np.cumsum(images, axis=int(rng.integers(len(shape)))) / max(shape)
    elif kind == "still":
        images = np.broadcast_to(images[:1], shape)
    return typed(rng, np.clip(images, 0, 1))


def typed(rng: Dice, images: NDArray[np.float64]) -> Any:
    """Return images in a number type and memory layout of any kind."""
    dtype = pick(rng, ("u1", "u1", "u2", ">u2", "f4", "f4", "f8", "f2", "?"))
    dtype = pick(rng, ("i4", "c8", "U1", "O")) if rng.odd(0.05) else dtype
    if dtype in ("u1", "u2", ">u2"):
        stack = np.rint(images * np.iinfo(dtype).max).astype(dtype)
    elif dtype in ("f4", "f8"):
        scale = pick(rng, (1.0, 1.0, 255.0, -1.0, 1e-20, 1e-6, 1e6, 1e14))
        scale = pick(rng, (1e15, 1e30, 1e-40, 0.0)) if rng.odd(0.2) else scale
        offset = pick(rng, (0.0, 0.0, -0.5, 100.0)) * (1.0 if rng.odd(0.2) else scale)
        with np.errstate(over="ignore"):
            stack = (images * scale + offset).astype(dtype)
        if rng.odd(0.1):
            stack.flat[int(rng.integers(stack.size))] = pick(rng, (np.nan, np.inf, -np.inf))
    elif dtype == "?":
        stack = images > 0.5
    else:
        stack = images.astype(dtype)
    layout = rng.random()
    if layout < 0.1:
        return np.asfortranarray(stack)
    if layout < 0.2:
        return stack[::-1]
    if layout < 0.25 and (rng.wild or stack.dtype.kind == "f"):
        return stack.tolist()  # of integers, whose type is lost
    return stack


def focus_for(rng: Dice, n: int) -> Any:
    """Return focus positions, most of them good, or None."""
    if rng.random() < 0.5:
        return None
    if rng.odd(0.1):
        return pick(rng, (3, "abc", [1], [[1, 2]], [None] * n, ["a"] * n, [10**400] * n, {}))
    steps = np.cumsum(rng.uniform(0.1, 2.0, n))
    scale = pick(rng, (1.0, 1.0, -1.0, 1e-9, 1e9, 1e-11, 1e10))
    scale = pick(rng, (1e-13, 1e12, 1e13, 1e-300, 1e300, 1e30)) if rng.odd(0.3) else scale
    offset = pick(rng, (0.0, 0.0, 1.0, -5.0, 1e3 if rng.wild else 0.0, 1e8 if rng.wild else 0.0))
    return (steps + offset) * scale


def strokes_for(rng: Dice, n: int, shape: tuple[int, ...]) -> dict[str, Any]:
    """Return a document of strokes, most of them good."""
    height, width = shape[:2]
    strokes = []
    for _ in range(int(rng.integers(1, 4))):
        tool = str(pick(rng, [*TOOLS]))
        points = rng.uniform(-3, 3 + max(height, width), (int(rng.integers(3, 6)), 2))
        stroke: dict[str, Any] = {"tool": tool, "points": points.tolist()}
        if rng.random() < 0.5:
            stroke["radius"] = float(pick(rng, (0.1, 0.5, 2.0, 9.0, 1e5)))
        if rng.random() < 0.5:
            stroke["feather"] = float(pick(rng, (0.0, 1.0, 5.0, 1e5)))
        if tool in ("paint", "set-depth"):
            stroke["frame"] = int(rng.integers(0, n))
        if tool == "smooth-depth":
            stroke["sigma"] = float(pick(rng, (0.1, 1.0, 7.0, 200.0)))
        if rng.odd(0.3):
            key = str(pick(rng, [*stroke, "frame", "sigma", "picture", "\x1b"]))
            stroke[key] = pick(rng, (*PLAIN, [[0, 10**400]] * 3, [[0]], "\0", 1e9))
        strokes.append(stroke)
    document = {"varfocus_retouch": 1, "width": width, "height": height, "frames": n}
    document["strokes"] = strokes  # type: ignore[assignment]
    if rng.odd(0.2):
        document[str(pick(rng, [*document]))] = pick(rng, PLAIN)
    return document


def check_error(error: VarfocusError) -> str:
    """Make sure that an error is one of ours, in words that can be printed."""
    assert not isinstance(error, InternalError), Path(error.trace).read_text()
    lines = str(error).splitlines()
    assert 1 <= len(lines) <= 3, lines
    assert all(line.isprintable() and len(line) < 2000 for line in lines), lines
    return type(error).__name__


def check_result(result: Any) -> None:
    """Make sure that a result keeps its promises."""
    n = len(result.stack)
    index, depth, confidence, fused = result.index, result.depth, result.confidence, result.fused
    assert index.shape == depth.shape == confidence.shape == fused.shape[:2]
    assert np.isfinite(index).all()
    assert (index >= 0).all(), index.min()
    assert (index <= n - 1).all(), index.max()
    assert not np.isinf(depth).any()
    unknown = np.isnan(depth)
    masked = result.alignment is not None and result.alignment.masked
    erased = result.retouch is not None
    assert masked or erased or result.params.robust.unknown == "nan" or not unknown.any()
    assert np.isfinite(confidence).all()
    assert (confidence >= 0).all()
    assert (confidence <= 1).all()
    positions = result.stack.depths
    if positions is not None and result.retouch is None:  # a plane may be continued beyond
        slack = 1e-5 * np.abs(positions).max()
        assert depth[~unknown].size == 0 or (
            depth[~unknown].min() >= positions.min() - slack
            and depth[~unknown].max() <= positions.max() + slack
        )
    sigma = result.uncertainty
    assert sigma is None or (not np.isinf(sigma).any() and not (sigma < 0).any())
    frames = np.stack([result.stack.read(k) for k in range(n)])
    assert fused.dtype == frames.dtype
    low, high = float(frames.min()), float(frames.max())
    slack = 1e-5 * max(abs(low), abs(high), 1e-30) if fused.dtype == np.float32 else 0
    assert float(fused.min()) >= low - slack, (fused.min(), low)
    assert float(fused.max()) <= high + slack, (fused.max(), high)


def same(a: Any, b: Any) -> None:
    """Make sure that two results have the same bytes."""
    for name in ("index", "depth", "confidence", "fused", "source"):
        assert getattr(a, name).tobytes() == getattr(b, name).tobytes(), name


# The ways in


def by_python(rng: Dice, folder: Path) -> str:
    """Reconstruct an array; sometimes twice, or into a folder that is then used."""
    images = frames(rng)
    n = len(images)
    method, values = parameters(rng)
    focus = focus_for(rng, n)
    unit = None if focus is None else pick(rng, (None, "mm", "um", "parsec", "a b"))
    unit = pick(rng, ("<b>", "", 3, "mm")) if rng.odd(0.1) else unit
    resources = {}
    if rng.random() < 0.1:
        document = json.dumps(strokes_for(rng, n, np.shape(images)[1:3]))
        (folder / "strokes.json").write_text(document)
        values["retouch"] = str(folder / "strokes.json")
    if rng.random() < 0.1:
        resources["max_memory"] = pick(rng, ("1GB", "1MB", "20MB"))
    if rng.odd(0.05):
        resources["max_memory"] = pick(rng, ("1B", "x", 3, "9" * 99))
    try:
        result = varfocus.reconstruct(
            images, method, focus=focus, unit=unit, threads=1, **resources, **values
        )
        check_result(result)
    except VarfocusError as error:
        return check_error(error)
    draw = rng.random()
    if draw < 0.1:
        document = strokes_for(rng, result.frame_count, np.shape(images)[1:3])
        try:
            check_result(result.retouched(Retouch.from_data(document)))
        except VarfocusError as error:
            return check_error(error)
        return "retouched"
    if draw < 0.3:
        again = varfocus.reconstruct(images, method, focus=focus, unit=unit, threads=3, **values)
        if "max_memory" not in resources:
            same(result, again)
        return "twice"
    if draw < 0.5:
        try:
            result.save(folder / "out", overwrite=bool(rng.random() < 0.5))
        except VarfocusError as error:
            return check_error(error)
        check_saved(rng, folder / "out")
        return "saved"
    return "result"


def check_saved(rng: Dice, folder: Path) -> None:
    """Make sure that a folder of results can be used for everything."""
    json.loads((folder / "run.json").read_text(encoding="utf-8"))
    saved = varfocus.load_result(folder)
    assert not np.isinf(saved.depth).any()
    kind = pick(rng, [*PRODUCTS])
    shape = {n: value_for(rng, n, hint) for n, hint in hints_of(Shape).items()}
    try:
        make_product(saved, folder / f"made{kind}", Calibration(), Shape(**shape))
        flat = level(saved.height, int(rng.integers(0, 4)))
        height_parameters(flat, saved.uncertainty, 1.0)
        profile(saved.height, (0, 0), (saved.depth.shape[1] - 1.0, 0), width=1)
    except VarfocusError as error:
        check_error(error)


def by_command(rng: Dice, folder: Path) -> str:
    """Write frames, and give them to a command with random flags."""
    from varfocus.cli import main as command

    images = np.asarray(frames(rng))
    shots = folder / "shots"
    shots.mkdir()
    names = pick(rng, ("f{}", "fr<b>{}", "é{}", "a\x1b{}", "=f{}"))
    try:
        for k, image in enumerate(images):
            path = shots / names.format(k)
            if image.dtype == np.uint8 and (image.ndim == 2 or image.shape[2] == 3):
                Image.fromarray(image).save(path.with_suffix(".png"))
            else:
                tifffile.imwrite(path.with_suffix(".tif"), image)
    except (ValueError, TypeError, KeyError):  # not for files
        return "unwritable"
    method, values = parameters(rng)
    options = {"method": method, **values}
    if rng.random() < 0.3:
        hints = hints_of(Focus) | hints_of(Limits) | hints_of(Resources)
        names_ = rng.permutation(sorted(set(hints) - {"limits", "focus_distances"}))[:2]
        options |= {str(name): value_for(rng, str(name), hints[str(name)]) for name in names_}
    if rng.random() < 0.3:
        table = folder / "z.csv"
        numbers = focus_for(rng, len(images))
        heading = pick(rng, ("", "z (mm)\n", "z_um\n"))
        heading = pick(rng, ("z (<b>)\n", "z (\x1b)\n", "a,b\n")) if rng.odd(0.3) else heading
        with contextlib.suppress(TypeError):
            table.write_text(heading + "".join(f"{z}\n" for z in numbers))
            options["focus_distances"] = table
    words = ["depth", str(shots), "-o", str(folder / "out"), "-q"]
    for name, value in options.items():
        flag = name.replace("_", "-")
        if isinstance(value, bool):
            words.append(f"--{flag}")
        elif value is not None:
            text = str(value).replace("\0", "")  # which no command line can hold
            words.append(f"--{flag}={text}")
    if rng.odd(0.3):
        words.append(str(pick(rng, ("--no-report", "--json", "--overwrite", "--nonsense", "--"))))
    code, said = spoken(command, words)
    out = folder / "out"
    left = sorted(p.name for p in out.iterdir()) if out.is_dir() else []
    assert not [name for name in left if name.endswith(".part")], left
    if code == 0:
        check_saved(rng, out)
    else:
        assert code in (2, 3, 4, 5), (code, said, words)
        assert "error: " in said, said
        assert "run.json" not in left, left
    return f"code {code}"


COMMANDS: dict[str, tuple[str, ...]] = {
    "fuse": (".png", ".tif", ".jpg", ""),
    "align": ("",),
    "info": (),
    "measure": (),
    "export": tuple(PRODUCTS),
    "animate": (".webp", ".gif", ".png", ".jpg"),
    "compare": (".png",),
    "simulate": ("",),
    "batch": ("",),
}
"""Commands that take little time with a small stack or result, and what they write."""

HARMFUL = ("watch", "cluster", "workers", "dry_run", "json", "quiet", "lost_after", "time_limit")
"""Parameters that wait, ask others, start processes, or change how the outcome is told."""

NUMBERS = (0, 1, 2, 3, 5, 0.5, 7.25, 30, 90, 1e3, -1, -2.5, 1e-9, 1e300, math.nan, math.inf, 2**63)


def any_command(rng: Dice, folder: Path) -> str:
    """Give a small stack, or a result of it, to any of the other commands with random flags."""
    from varfocus.cli import main as command

    images = (rng.random((4, *map(int, rng.integers(1, 20, 2)))) * 255).astype(np.uint8)
    shots, result = folder / "shots", folder / "result"
    shots.mkdir()
    for k, image in enumerate(images):
        Image.fromarray(image).save(shots / f"{k}.png")
    with contextlib.suppress(VarfocusError):  # one pixel has no contrast
        varfocus.reconstruct(images, "classic", focus=[1, 2, 3, 4], unit="um").save(result)
    (folder / "text").write_text(str(pick(rng, ("1\n2\n3\n4\n", "{}", "[]", "stack\nshots\n"))))
    places = [shots, result, folder / "text", folder / "missing", shots / "0.png", folder]
    name = str(pick(rng, [*COMMANDS]))
    first = result if name in ("measure", "export", "animate") else shots
    first = pick(rng, places) if rng.odd(0.2) else first
    if name == "simulate":
        first = Path(str(pick(rng, ("cone", "steps", "wire", "x"))))
    suffixes = COMMANDS[name]
    if rng.odd(0.3):
        suffixes = (*PRODUCTS, ".webp", ".gif", ".jpg", ".png", ".tif", ".csv", ".dng", "")
    words = [name, str(first)]
    if suffixes:
        words += ["-o", str(folder / f"made{pick(rng, suffixes)}")]
    if name == "batch":
        words.append("--dry-run")
    function = importlib.import_module(f"varfocus.cli.{name}").__dict__[name]
    hints = flags_of(function)
    few = rng.permutation(sorted(hints))[: int(rng.integers(0, 5 if rng.wild else 3))]
    for flag in map(str, few):
        words += flag_words(rng, flag, hints[flag], places)
    if name == "simulate":  # whatever else is asked for, not for hours
        words += ["--size", "20", "17", "--frames", "4"]
    code, said = spoken(command, words)
    assert code in (0, 2, 3, 4, 5), (code, said, words)
    assert not list(folder.rglob("*.part")), words
    assert code == 0 or "error: " in said, said
    return f"{name}: {'done' if code == 0 else 'refused'}"


def flags_of(function: Any) -> dict[str, Any]:
    """Return the flags of a command with their types; those of groups of parameters too."""
    found: dict[str, Any] = {}
    for name, hint in typing.get_type_hints(function, include_extras=True).items():
        kind = get_args(hint)[0] if get_origin(hint) is Annotated else hint
        if dataclasses.is_dataclass(kind):
            found |= flags_of(kind)
        elif name not in ("return", "output", "source", "result", "name", "limits", "size"):
            found[name] = hint if get_args(hint) and isinstance(get_args(hint)[1], Range) else kind
    return {name: hint for name, hint in found.items() if name not in HARMFUL}


def flag_words(rng: Dice, name: str, hint: Any, places: list[Path]) -> list[str]:
    """Return a flag of the command line with values for it."""
    flag = "--" + {"level_degree": "level"}.get(name, name).replace("_", "-")
    kinds = (hint, *get_args(hint))
    if Path in kinds or name in ("mask", "transforms_from", "retouch"):
        return [flag, str(pick(rng, places))]
    if name in ("frames", "slab_size", "slab_overlap", "width", "level_degree", "quality", "seed"):
        return [f"{flag}={pick(rng, (*range(5), 7, *NUMBERS) if rng.wild else range(1, 5))}"]
    box = [",".join(str(int(n)) for n in rng.integers(-1 if rng.wild else 0, 9, 4))] * 3
    if name in ("region", "line", "crop"):
        return [flag, box[0]]
    if name in ("step", "level_points"):
        corners = [text.rpartition(",")[0].rpartition(",")[0] for text in box]
        return [flag, *(box[:2] if name == "step" else corners)]
    if get_origin(hint) is not Annotated and {int, float} & set(kinds):
        return [f"{flag}={pick(rng, NUMBERS)}"]
    value = value_for(rng, name, hint)
    if isinstance(value, bool):
        return [flag] if value else []
    return [] if value is None else [f"{flag}={str(value).replace(chr(0), '')}"]


def spoken(command: Callable[[list[str]], int], words: list[str]) -> tuple[int, str]:
    """Run a command in this process; return its code and what it said, which must be harmless."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stderr(err), contextlib.redirect_stdout(out):
        code = command(words)
    said = out.getvalue() + err.getvalue()
    assert "Traceback" not in said, said
    assert all(c.isprintable() or c == "\n" for c in said), ascii(said)
    return code, said


def by_simulation(rng: Dice, folder: Path) -> str:
    """Simulate something, with arguments of any kind."""
    del folder
    from varfocus.simulation import SCENES, SHAPES

    sides = (1, 2, 3, 8, 16, 31)
    given: dict[str, Any] = {
        "shape": pick(rng, ((8, 9), (pick(rng, sides), pick(rng, sides)), None, (2,), "ab")),
        "n": pick(rng, (3, 5, 1, 2.5, "3", None)),
        "seed": pick(rng, (0, 1, -1, 2**63, None)),
        "noise": pick(rng, (0.0, 0.05, 3, 1e300, math.nan, -1)),
        "kappa": pick(rng, (None, None, 0.0, 1.0, 1e300, "x")),
        "focus": focus_for(rng, 5) if rng.random() < 0.2 else None,
        "dtype": pick(rng, ("uint8", "uint16", "float32", "int8", None)),
        "spacing": pick(rng, (None, "distance", "dioptre", "x")),
    }
    names = rng.permutation(sorted(given))[: int(rng.integers(1, 4))]
    some = {"shape": (16, 17), "n": 4} | {str(name): given[str(name)] for name in names}
    some["shape"] = (16, 17) if some["shape"] is None else some["shape"]
    try:
        made = varfocus.simulate(pick(rng, (*SHAPES, *SCENES, "x", 3, [])), **some)
    except VarfocusError as error:
        return check_error(error)
    assert np.isfinite(np.asarray(made.frames, np.float64)).all()
    assert np.isfinite(made.focus).all()
    return "result"


WAYS = ((0.5, by_python), (0.22, by_command), (0.18, any_command), (0.1, by_simulation))


def attempt(seed: int, k: int) -> tuple[str, str]:
    """Do one case; an exception is a finding."""
    rng = Dice(seed, k)
    draw = rng.random()
    for share, way in WAYS:  # noqa: B007
        draw -= share
        if draw < 0:
            break
    folder = Path(tempfile.mkdtemp(prefix="varfocus-fuzz-"))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)
            warnings.simplefilter("ignore", VarfocusWarning)
            return way.__name__, way(rng, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def serve(seed: int, start: int, stop: int) -> None:
    """Work through cases and print what became of each."""
    work_through(start, stop, lambda k: attempt(seed, k), SECONDS)


if __name__ == "__main__":
    sys.exit(main(5_000, __file__, serve, __doc__))
