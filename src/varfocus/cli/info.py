"""``varfocus info``: what a stack consists of, without decoding it."""

from __future__ import annotations

from dataclasses import asdict

import numpy as np

from varfocus.cli.console import Narrator, Talk, TalkOptions, table
from varfocus.cli.source import FocusOptions, Frames, load
from varfocus.curve import largest_degree
from varfocus.io.calibration import Focus
from varfocus.params import CurveParams
from varfocus.stack import FocusStack


def info(
    source: Frames,
    /,
    *,
    focus: FocusOptions = Focus(),
    talk: TalkOptions = Talk(),
) -> None:
    """Show what a focus stack consists of, and in which order, without decoding it.

    Parameters
    ----------
    source
        A folder, a pattern such as "shots/*.jpg", several files, or one file that holds a
        stack.
    """
    narrator = Narrator(Talk(quiet=True))
    stack = load(source, focus, narrator)
    height, width = stack.shape
    pixels = width * height * stack.channels * stack.dtype.itemsize
    positions = [None] * len(stack) if stack.focus is None else stack.focus.tolist()
    facts = {
        "frames": len(stack),
        "width": width,
        "height": height,
        "channels": stack.channels,
        "dtype": str(stack.dtype),
        "decoded_megabytes": round(len(stack) * pixels / 1e6, 1),
        "unit": stack.unit,
        "focus_origin": stack.focus_origin,
        "pixel_size": None if stack.pixel_size is None else asdict(stack.pixel_size),
        "pixel_size_origin": stack.pixel_size_origin,
        "hints": list(stack.hints),
        "curve_degree": min(CurveParams().degree, largest_degree(len(stack))),
        "order": [
            {"name": name, "focus": position}
            for name, position in zip(stack.names, positions, strict=True)
        ],
    }
    colour = "colour" if stack.channels == 3 else "grey"
    step = "" if stack.focus is None else f", steps of {_steps(stack.focus)} {stack.unit}"
    lines = [
        f"{len(stack)} frames of {width} × {height}, {colour}, {stack.dtype}; "
        f"{facts['decoded_megabytes']} MB decoded",
        f"contrast curve of degree {facts['curve_degree']}{step}",
        *_calibration(stack),
        table(
            [
                (f"{k}", name, "" if z is None else f"{z:g} {stack.unit}")
                for k, (name, z) in enumerate(zip(stack.names, positions, strict=True))
            ]
        ),
    ]
    Narrator(talk).result("\n".join(lines), facts)


def _calibration(stack: FocusStack) -> list[str]:
    """Say which sizes would be used and where they come from."""
    depth = (
        f"depth in {stack.unit}, from {stack.focus_origin}"
        if stack.focus is not None
        else "depth in frames: neither options nor metadata give the focus distances"
    )
    size = (
        f"pixels of {stack.pixel_size}, from {stack.pixel_size_origin}"
        if stack.pixel_size is not None
        else "pixel size unknown"
    )
    return [depth, size, *stack.hints]


def _steps(focus: np.ndarray[tuple[int], np.dtype[np.float64]]) -> str:
    steps = np.abs(np.diff(focus))
    low, high = float(steps.min()), float(steps.max())
    return f"{low:.4g}" if high - low <= 1e-6 * high else f"{low:.4g} to {high:.4g}"
