"""Leica's LIF, by the library liffile."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from varfocus.errors import MissingExtraError
from varfocus.files import open_regular
from varfocus.io.border import library, unsupported
from varfocus.io.contents import Calibration, Contents, across, evenly
from varfocus.io.header import Header
from varfocus.io.planes import finished, headers_of
from varfocus.io.selection import Choice, Selection, Series, choose, nameless
from varfocus.units import Length, convert, unit_name

_DIMENSIONS = "./Data/Image/ImageDescription/Dimensions/DimensionDescription"
_IDS = {"1": "X", "2": "Y", "3": "Z"}


def sniff(head: bytes) -> bool:
    """Tell whether a file begins with the description that every LIF has."""
    return head[8:9] == b"\x2a"


def look(path: Path, selection: Selection) -> Contents:
    """Return the frames of the chosen stack; the images of a LIF are series."""
    with library("liffile"), _opened(path) as file:
        images = [image for image in file.images if not image.is_flim]
        if not images:
            raise unsupported("holds no image", "expected an image with focus steps")
        sizes = [dict(image.sizes) for image in images]
        series = [_series(image.name, axes) for image, axes in zip(images, sizes, strict=True)]
        choice = choose(series, selection)
        image, axes = images[choice.series], sizes[choice.series]
        strange = [f"{axis} ({n})" for axis, n in axes.items() if axis not in "CZTYXS" and n > 1]
        if strange or not {"Y", "X"} <= set(axes):
            raise unsupported(f"has an image over {', '.join(strange or axes)}")
        dtype, name = image.dtype, image.path
        lengths = _lengths(image)
    shape = [axes[axis] for axis in "YXS" if axis in axes]
    headers = headers_of(len(choice.planes), shape, dtype)
    return Contents(headers, partial(_read, path, name, choice), _calibration(lengths, choice))


def _read(path: Path, name: str, choice: Choice, header: Header) -> NDArray[Any]:
    z, t = choice.planes[header.page]
    place = {"C": choice.channel, "Z": z, "T": t}
    with library("liffile"), _opened(path) as file:
        image = next(image for image in file.images if image.path == name)
        return finished(image.frame(**{a: n for a, n in place.items() if a in image.sizes}))


def _series(name: str, axes: dict[str, int]) -> Series:
    return Series(name, axes.get("Z", 1), axes.get("T", 1), nameless(axes.get("C", 1)))


def _lengths(image: Any) -> dict[str, Length]:
    """Return the distance between neighbours along X, Y and Z, where the file gives it."""
    lengths = {}
    for dimension in image.xml_element.findall(_DIMENSIONS):
        axis = _IDS.get(dimension.get("DimID", ""))
        unit = unit_name(dimension.get("Unit", ""))
        try:  # the length reaches from the first to the last
            steps = int(dimension.get("NumberOfElements", "")) - 1
            step = float(dimension.get("Length", "")) / steps
        except (ValueError, ZeroDivisionError):
            continue
        if axis and unit and step and math.isfinite(step):
            lengths[axis] = Length(convert(step, unit, "um"), "um")
    return lengths


def _calibration(lengths: dict[str, Length], choice: Choice) -> Calibration:
    focus = evenly(len(choice.planes), lengths.get("Z")) if choice.over_focus else ()
    sides = (lengths.get(axis) for axis in "XY")
    size = across(*(side and Length(abs(side.value), side.unit) for side in sides))
    return Calibration(
        focus,
        "um" if focus else "",
        "LIF dimensions" if focus else "",
        size,
        "LIF dimensions" if size else "",
    )


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    try:
        import liffile
    except ImportError as error:
        raise MissingExtraError("LIF files", "liffile", "microscopy") from error
    # By the open file: given a name, the library goes by its suffix.
    with open_regular(path) as file, liffile.LifFile(file) as opened:
        yield opened
