"""OME-XML: the axes of the images in a TIFF, where each plane is, and what sizes they have.

Only the part that varfocus needs of https://docs.openmicroscopy.org/ome-model/.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from varfocus.io.border import damaged, library, unsupported
from varfocus.io.contents import Calibration, across, evenly
from varfocus.io.limits import in_force
from varfocus.io.selection import Choice, Series
from varfocus.units import Length, PixelSize, unit_name

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

_CHANNELS_AND_TIMES = 64
"""How many times as many planes as frames a file may claim."""
_DEFAULT_UNIT = "µm"


@dataclass(frozen=True)
class OmeImage:
    """One image of an OME-TIFF.

    Parameters
    ----------
    series : Series
        Its axes.
    pages : mapping of (int, int, int) to int
        Number of the page that holds focus step, channel and time.
    step, pixel_size
        PhysicalSizeZ, X and Y where they are given and usable.
    positions : mapping of (int, int, int) to Length
        PositionZ of the planes that have one.
    """

    series: Series
    pages: Mapping[tuple[int, int, int], int]
    step: Length | None
    pixel_size: PixelSize | None
    positions: Mapping[tuple[int, int, int], Length]

    def page(self, z: int, channel: int, time: int) -> int:
        """Return the number of the page with this plane."""
        try:
            return self.pages[z, channel, time]
        except KeyError:
            raise unsupported(
                f"has no plane for slice {z}, channel {channel}, time {time}",
                "expected all planes of the stack in this one file",
            ) from None

    def calibration(self, choice: Choice) -> Calibration:
        """Return what the image says about the sizes of a stack in it."""
        n = len(choice.planes)
        focus, unit, origin = evenly(n, self.step), "", "OME PhysicalSizeZ"
        if focus and self.step is not None:
            unit = self.step.unit
        if not focus:
            focus, unit, origin = *self._positions(choice), "OME PositionZ"
        if not (choice.over_focus and focus):
            focus, unit, origin = (), "", ""
        sized = self.pixel_size is not None
        return Calibration(
            focus, unit, origin, self.pixel_size, "OME PhysicalSizeX, Y" if sized else ""
        )

    def _positions(self, choice: Choice) -> tuple[tuple[float, ...], str]:
        """Return PositionZ of all planes if they are in order, else nothing."""
        found = [self.positions.get((z, choice.channel, t)) for z, t in choice.planes]
        known = [at for at in found if at is not None]
        if len(known) < len(found):
            return (), ""
        unit = known[0].unit
        z = [at.to(unit) for at in known]
        steps = [b - a for a, b in itertools.pairwise(z)]
        monotone = all(d > 0 for d in steps) or all(d < 0 for d in steps)
        return (tuple(z), unit) if monotone else ((), "")


def is_ome(description: str) -> bool:
    """Tell whether a TIFF's description is OME-XML."""
    return re.search(r"^\s*<(?:.{0,4096}<)?(?:\w+:)?OME\b", description, re.DOTALL) is not None


def read_ome(description: str, samples: int, filename: str) -> list[OmeImage]:
    """Return the images that OME-XML describes.

    Parameters
    ----------
    description : str
        The XML.
    samples : int
        Channels stored within the first page: RGB pages count as one channel.
    filename : str
        Name of the file, to tell its planes from those in its siblings.
    """
    from xml.etree import ElementTree

    if "<!DOCTYPE" in description or "<!ENTITY" in description:
        raise damaged("has OME-XML with a document type, which it never has")
    with library("OME-XML"):
        root = ElementTree.fromstring(description)
    images = [
        _image(image, pixels, samples, filename)
        for image in _children(root, "Image")
        for pixels in _children(image, "Pixels")
    ]
    if not images:
        raise unsupported(
            "has OME-XML without images, as the parts of larger data sets do",
            "expected the file that describes its own images",
        )
    return images


def _image(image: Element, pixels: Element, samples: int, filename: str) -> OmeImage:
    sizes = {axis: _count(pixels.get(f"Size{axis}", "1")) for axis in "ZCT"}
    channels = _children(pixels, "Channel")
    samples = _count(channels[0].get("SamplesPerPixel", str(samples))) if channels else samples
    sizes["C"] = max(sizes["C"] // samples, 1)
    if sizes["Z"] * sizes["C"] * sizes["T"] > _CHANNELS_AND_TIMES * in_force().max_frames:
        raise damaged("claims more planes than any file has")
    names = [channel.get("Name", "") for channel in channels]
    names = names if len(names) == sizes["C"] else [""] * sizes["C"]
    x, y, z = (_size(pixels, axis) for axis in "XYZ")
    pixel_size = across(x, y)
    positions = {}
    for plane in _children(pixels, "Plane"):
        at = _length(plane.get("PositionZ"), plane.get("PositionZUnit"))
        if at is not None:
            where = tuple(_count(plane.get(f"The{axis}", "0"), 0) for axis in "ZCT")
            positions[where[0], where[1], where[2]] = at
    return OmeImage(
        Series(image.get("Name", ""), sizes["Z"], sizes["T"], tuple(names)),
        _pages(pixels, sizes, filename),
        z,
        pixel_size,
        positions,
    )


def _pages(
    pixels: Element, sizes: dict[str, int], filename: str
) -> dict[tuple[int, int, int], int]:
    """Return the page of each plane, from the TiffData elements."""
    order = pixels.get("DimensionOrder", "XYZCT")[2:]
    if sorted(order) != ["C", "T", "Z"]:
        raise damaged(f"has planes in the order {order!r}")
    total = sizes["Z"] * sizes["C"] * sizes["T"]
    blocks = _children(pixels, "TiffData")
    files = {_file(block) for block in blocks}
    pages: dict[tuple[int, int, int], int] = {}
    for block in blocks:
        # One name is this file's, whatever it was renamed to; several are a set of files.
        if len(files) > 1 and _file(block) != filename:
            continue
        given = block.get("IFD")
        rest = total - len(pages) if given is None else 1
        count = _count(block.get("PlaneCount", str(rest)), 0)
        page = _count(given or "0", 0)
        at = [_count(block.get(f"First{axis}", "0"), 0) for axis in order]
        linear = at[0] + sizes[order[0]] * (at[1] + sizes[order[1]] * at[2])
        for k in range(min(count, max(total - linear, 0))):
            place, left = {}, linear + k
            for axis in order:
                left, place[axis] = divmod(left, sizes[axis])
            pages[place["Z"], place["C"], place["T"]] = page + k
    return pages


def _file(block: Element) -> str:
    return next((uuid.get("FileName", "") for uuid in _children(block, "UUID")), "")


def _children(element: Element, name: str) -> list[Element]:
    return [child for child in element if child.tag.rpartition("}")[2] == name]


def _size(pixels: Element, axis: str) -> Length | None:
    name = f"PhysicalSize{axis}"
    return _length(pixels.get(name), pixels.get(f"{name}Unit"))


def _length(number: str | None, unit: str | None) -> Length | None:
    """Return a length if the file gives a usable one: “reference frame” and pixels are not."""
    known = unit_name(_DEFAULT_UNIT if unit is None else unit)
    try:
        value = float(number or "nan")
    except ValueError:
        return None
    return Length(value, known) if known and abs(value) < float("inf") else None


def _count(text: str, least: int = 1) -> int:
    if not (text.isdecimal() and len(text) < 10 and int(text) >= least):
        raise damaged(f"has OME-XML with the count {text[:20]!r}")
    return int(text)
