"""ImageJ's note in a TIFF: the axes of its hyperstack and its calibration.

Pages run over channels first, then focus, then time.
"""

from __future__ import annotations

import math
import re
from typing import Any

from varfocus.io.contents import Calibration, across, evenly
from varfocus.io.selection import Choice, Series, nameless
from varfocus.units import Length, unit_name


def is_imagej(description: str) -> bool:
    """Tell whether a TIFF's description is ImageJ's."""
    return description.startswith("ImageJ=")


def images(description: str) -> int:
    """Return how many images ImageJ says the file has, 1 if it says nothing."""
    return _count(description, "images")


def series(description: str) -> Series:
    """Return the axes of the hyperstack."""
    channels, slices, times = (_count(description, key) for key in ("channels", "slices", "frames"))
    return Series("", slices, times, nameless(channels))


def page(axes: Series, z: int, channel: int, time: int) -> int:
    """Return the number of the page with this plane."""
    return channel + len(axes.channels) * (z + axes.steps * time)


def calibration(description: str, resolution: tuple[Any, Any], choice: Choice) -> Calibration:
    """Return what the note says about the sizes of a stack.

    Parameters
    ----------
    description : str
        The note.
    resolution : tuple
        The tags XResolution and YResolution: pixels per unit, as fractions.
    choice : Choice
        The stack.
    """
    unit = unit_name(_text(description, "unit"))
    if unit is None:
        return Calibration()
    x = _size(resolution[0], unit)
    y = _size(resolution[1], unit_name(_text(description, "yunit")) or unit)
    pixel_size = across(x, y)
    step = _number(description, "spacing")
    z_unit = unit_name(_text(description, "zunit")) or unit
    focus: tuple[float, ...] = ()
    if step is not None and choice.over_focus:
        focus = evenly(len(choice.planes), Length(step, z_unit))
    return Calibration(
        focus,
        z_unit if focus else "",
        "ImageJ spacing" if focus else "",
        pixel_size,
        "ImageJ resolution" if pixel_size else "",
    )


def _size(resolution: Any, unit: str) -> Length | None:
    """Return the size of a pixel from pixels per unit, if that makes sense."""
    try:
        numerator, denominator = (float(part) for part in resolution)
    except (TypeError, ValueError):
        return None
    if numerator <= 0 or denominator <= 0:
        return None
    return Length(denominator / numerator, unit)


def _text(description: str, key: str) -> str:
    found = re.search(rf"^{key}=(.*)$", description, re.MULTILINE)
    return found[1].strip() if found and is_imagej(description) else ""


def _number(description: str, key: str) -> float | None:
    try:
        value = float(_text(description, key))
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _count(description: str, key: str) -> int:
    text = _text(description, key)
    return int(text) if re.fullmatch(r"[0-9]{1,9}", text) and int(text) > 0 else 1
