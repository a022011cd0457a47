"""What the user says about a stack: which frames, where each was focused, how large a pixel is."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from varfocus import clean
from varfocus.errors import MixedFramesError, ParameterError
from varfocus.io import read_stack
from varfocus.io.discover import natural_order
from varfocus.io.frames import probe_files
from varfocus.io.lens import distance_from_dioptre, distance_from_travel
from varfocus.io.positions import read_positions
from varfocus.params import DEFAULT_LIMITS, Limits
from varfocus.ranges import Checked, Range, Text
from varfocus.stack import FocusStack, describe
from varfocus.units import PixelSize, convert, parse_length, unit_name

FocusIn = Literal["distance", "dioptre", "lens-travel"]
NAME = Text(200)
"""Of a channel, a series or a unit."""

HotPixels: TypeAlias = Literal["keep", "remove"]


@dataclass(frozen=True)
class Focus(Checked):
    """Which frames are meant, where they were focused, and how large a pixel is.

    Parameters
    ----------
    reverse
        Take the frames in the opposite order.
    leave_out
        Frames that are not used, by number from 0 in the order shown, such as 0,5-7. Steps and
        distances are given for all frames nevertheless.
    by_name
        Sort files that are listed by their names, img2 before img10, as those of a folder are. For
        programs that pass on a selection in any order.
    channel
        Channel, by name or number from 0, of a file with several.
    time
        Time point, from 0, of a file with several.
    series
        Image, position or scene, by name or number from 0, of a file with several.
    z_step
        Constant distance between frames with its unit, such as 2um; depth is then physical. By
        default taken from OME or ImageJ metadata.
    focus_distances
        Text or CSV file with one focus distance per frame, in the order of the frames.
    unit
        Unit of the numbers in that file; without a file, the unit of the depth.
    focus_in
        What those numbers are: distances, dioptres (1/m), or the travel of the lens from its focus
        at infinity. The latter two are converted to metres by the thin-lens formula.
    focal_length
        Focal length of the lens, such as 50mm; needed only for its travel.
    pixel_size
        Size of a pixel in the scene, such as 0.5um. By default taken from the metadata.
    invert
        Return heights above the farthest focus position, towards the lens; for focus distances that
        count away from the lens.
    hot_pixels
        "remove" finds pixels of the sensor that are too bright or too dark in every frame, and
        replaces them by their neighbours. The frames must come from the camera unaligned.
    dark
        Picture taken with the lens capped: pixels that are bright in it are replaced.
    flat
        Picture of an even, bright surface out of focus: frames are divided by it, which removes
        the shadows of dust on the sensor, and vignetting.
    limits
        Sizes beyond which files are refused.
    """

    reverse: bool = False
    leave_out: str | None = None
    by_name: bool = False
    channel: Annotated[str | None, NAME] = None
    time: Annotated[int | None, Range(0, 2**20)] = None
    series: Annotated[str | None, NAME] = None
    z_step: str | None = None
    focus_distances: Path | None = None
    unit: Annotated[str | None, NAME] = None
    focus_in: FocusIn = "distance"
    focal_length: str | None = None
    pixel_size: str | None = None
    invert: bool = False
    hot_pixels: HotPixels = "keep"
    dark: Path | None = None
    flat: Path | None = None
    limits: Limits = DEFAULT_LIMITS

    def asked(self) -> dict[str, Any]:
        """Return the options that differ from their defaults, by name."""
        said = _changes(self)
        said.pop("limits", None)
        return said | _changes(self.limits)


def _changes(options: Focus | Limits) -> dict[str, Any]:
    given = {option.name: getattr(options, option.name) for option in fields(options)}
    return {o.name: given[o.name] for o in fields(options) if given[o.name] != o.default}


def open_stack(source: Sequence[str], focus: Focus) -> FocusStack:
    """Open the frames a user named, with the options that describe them.

    Parameters
    ----------
    source : sequence of str
        One folder, glob or file that holds a stack, or several files.
    focus : Focus
        Order and positions.

    Returns
    -------
    FocusStack
        The frames, not yet decoded.
    """
    if focus.by_name:
        source = [str(path) for path in natural_order(map(Path, source))]
    stack = read_stack(
        source[0] if len(source) == 1 else list(source),
        reverse=focus.reverse,
        channel=focus.channel,
        time=focus.time,
        series=focus.series,
        limits=focus.limits,
    )
    stack = calibrated(_cleaned(stack, focus), focus)
    return stack if focus.leave_out is None else stack.without(numbers_of(focus.leave_out))


def _cleaned(stack: FocusStack, focus: Focus) -> FocusStack:
    """Return the stack without the faults of its sensor, if so asked."""
    if focus.hot_pixels == "keep" and focus.dark is None and focus.flat is None:
        return stack
    dark = None if focus.dark is None else clean.dark_outliers(_reference(focus.dark, stack))
    flat = None if focus.flat is None else clean.relative_flat(_reference(focus.flat, stack))
    return clean.Sensor(stack, focus.hot_pixels == "remove", dark, flat).cleaned()


def _reference(path: Path, stack: FocusStack) -> NDArray[np.float32]:
    """Return a picture that belongs to the frames, on their scale."""
    frame = probe_files([Path(path)]).frames[0]
    if frame.shape != stack.frames[0].shape or frame.dtype != stack.dtype:
        raise MixedFramesError(
            f"{path} is {describe(frame)}, but the frames are {describe(stack.frames[0])}",
            "expected a picture by the same camera with the same settings",
        )
    return stack.as_unit(frame.read())


def numbers_of(text: str) -> set[int]:
    """Return the numbers that a text such as ``0,5-7`` stands for.

    Raises
    ------
    ParameterError
        If it stands for none.
    """
    found: set[int] = set()
    for part in text.split(","):
        ends = re.fullmatch(r"\s*([0-9]{1,6})\s*(?:-\s*([0-9]{1,6})\s*)?", part)
        first, last = (int(n) for n in (ends[1], ends[2] or ends[1])) if ends else (1, 0)
        if last < first:
            raise ParameterError(
                f"received --leave-out {text}",
                "expected numbers of frames from 0, and ranges of them",
                "Such as 0,5-7.",
            )
        found |= set(range(first, last + 1))
    return found


def words_of(numbers: Collection[int]) -> str:
    """Return the text that `numbers_of` understands, as short as it can be."""
    parts: list[list[int]] = []
    for number in sorted(numbers):
        if parts and number == parts[-1][-1] + 1:
            parts[-1].append(number)
        else:
            parts.append([number])
    return ",".join(f"{p[0]}-{p[-1]}" if len(p) > 1 else str(p[0]) for p in parts)


def calibrated(stack: FocusStack, focus: Focus) -> FocusStack:
    """Return the stack with what the user said about it, which is trusted more than its files."""
    stack = _with_positions(stack, focus)
    if focus.pixel_size is not None:
        size = parse_length(focus.pixel_size, "--pixel-size")
        stack = stack.with_pixel_size(PixelSize(size.value, size.value, size.unit), "--pixel-size")
    return replace(stack, inverted=focus.invert)


def _with_positions(stack: FocusStack, focus: Focus) -> FocusStack:
    if focus.z_step is not None and focus.focus_distances is not None:
        raise ParameterError(
            "received both --z-step and --focus-distances", "expected only one of them"
        )
    if focus.focus_distances is not None:
        numbers, heading_unit = read_positions(focus.focus_distances)
        positions = numbers[::-1] if focus.reverse else numbers
        return _at(stack, positions, focus.unit or heading_unit, focus)
    if focus.focus_in != "distance":
        raise ParameterError(
            f"received --focus-in {focus.focus_in} without --focus-distances",
            "expected one number per frame: steps alone do not determine a distance",
        )
    if focus.z_step is not None:
        step = parse_length(focus.z_step, "--z-step")
        if step.value == 0:
            raise ParameterError(
                f"received --z-step {focus.z_step!r}", "expected a step, such as 2um, that is not 0"
            )
        stack = stack.with_focus(step.value * np.arange(len(stack)), step.unit, "--z-step")
    return stack.with_focus(None, focus.unit)


def _at(stack: FocusStack, numbers: list[float], unit: str | None, focus: Focus) -> FocusStack:
    """Place the frames where the numbers in the user's file say, whatever they measure."""
    origin = "--focus-distances"
    if focus.focus_in == "distance":
        return stack.with_focus(numbers, unit, origin)
    if focus.focus_in == "dioptre":
        stack = stack.with_focus(distance_from_dioptre(numbers), "m", f"{origin} in dioptre")
        return stack.with_focus(None, focus.unit)
    length = unit_name(unit or "")
    if length is None or focus.focal_length is None:
        raise ParameterError(
            f"received lens travel {'in ' + unit if unit else 'without unit'}, and "
            f"{focus.focal_length or 'no'} focal length",
            "expected both, to compute distances from the travel",
            "For example --unit mm --focal-length 50mm.",
        )
    f = parse_length(focus.focal_length, "--focal-length")
    distances = distance_from_travel(numbers, f.to(length))
    return stack.with_focus(
        convert(distances, length, "m"), "m", f"{origin} in lens travel, f = {f}"
    )
