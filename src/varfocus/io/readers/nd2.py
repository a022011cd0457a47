"""Nikon's ND2, by the library nd2."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from varfocus.errors import MissingExtraError
from varfocus.io.border import damaged, library, unsupported
from varfocus.io.contents import Calibration, Contents, across, evenly
from varfocus.io.header import Header
from varfocus.io.planes import finished, headers_of
from varfocus.io.selection import Choice, Selection, Series, choose, nameless
from varfocus.units import Length

_AXES = {"P", "T", "Z", "C", "Y", "X", "S"}


def look(path: Path, selection: Selection) -> Contents:
    """Return the frames of the chosen stack; positions are series."""
    with library("nd2"), _opened(path) as file:
        sizes = dict(file.sizes)
        dtype, names = file.dtype, _channel_names(file, sizes.get("C", 1))
        loops = [dict(loop) for loop in file.loop_indices] or [{}]
        volume = file.metadata.channels[0].volume if file.metadata.channels else None
    strange = [f"{axis} ({n})" for axis, n in sizes.items() if axis not in _AXES and n > 1]
    if strange:
        raise unsupported(f"has axes that are not known: {', '.join(strange)}", "expected P T Z C")
    one = Series("", sizes.get("Z", 1), sizes.get("T", 1), names)
    choice = choose([one] * len(nameless(sizes.get("P", 1))), selection)
    pages = []
    for z, t in choice.planes:
        place = {"P": choice.series, "Z": z, "T": t}
        found = [k for k, loop in enumerate(loops) if _fits(loop, place)]
        if not found:
            raise damaged(f"has no picture for slice {z}, time {t}")
        pages.append(found[0])
    shape = [sizes[axis] for axis in ("Y", "X", "S") if axis in sizes]
    headers = headers_of(len(pages), shape, dtype)
    read = partial(_read, path, pages, choice.channel if len(names) > 1 else None)
    return Contents(headers, read, _calibration(volume, choice))


def _read(path: Path, pages: list[int], channel: int | None, header: Header) -> NDArray[Any]:
    with library("nd2"), _opened(path) as file:
        frame = file.read_frame(pages[header.page])
        if channel is not None:
            frame = frame[channel]
        return finished(frame.copy())  # the file is mapped, and closed here


def _fits(loop: dict[str, int], place: dict[str, int]) -> bool:
    return all(loop.get(axis, 0) == number for axis, number in place.items())


def _channel_names(file: Any, n: int) -> tuple[str, ...]:
    names = [channel.channel.name or "" for channel in file.metadata.channels or []]
    return tuple(names) if len(names) == n else nameless(n)


def _calibration(volume: Any, choice: Choice) -> Calibration:
    """Return the sizes in micrometres, of those axes that the microscope calibrated."""
    if volume is None:
        return Calibration()
    x, y, z = (
        Length(float(size), "um") if known and size > 0 else None
        for size, known in zip(volume.axesCalibration, volume.axesCalibrated, strict=True)
    )
    focus = evenly(len(choice.planes), z) if choice.over_focus else ()
    size = across(x, y)
    return Calibration(
        focus,
        "um" if focus else "",
        "ND2 z-calibration" if focus else "",
        size,
        "ND2 calibration" if size else "",
    )


def _opened(path: Path) -> Any:
    try:
        import nd2
    except ImportError as error:
        raise MissingExtraError("ND2 files", "nd2", "microscopy") from error
    return nd2.ND2File(path)
