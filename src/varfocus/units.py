"""Lengths with units: read what people and microscopes write, and convert.

Inside varfocus a unit has one spelling, in plain letters: m, cm, mm, um, nm, in. Depth may also
be in frames, or in a unit of which only the name is known.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from varfocus.errors import ParameterError
from varfocus.ranges import Range, real
from varfocus.text import shown

METRES = {"m": 1.0, "cm": 1e-2, "mm": 1e-3, "um": 1e-6, "nm": 1e-9, "in": 0.0254}
"""Metres in one of each unit."""

_PREFIXES = {"m": "", "cm": "centi", "mm": "milli", "um": "micro", "nm": "nano"}
_NAMES = {unit: unit for unit in METRES}
_NAMES |= {
    f"{prefix}{metre}": unit
    for unit, prefix in _PREFIXES.items()
    for metre in ("metre", "metres", "meter", "meters")
}
# The micro sign, the Greek letter, and how ImageJ escapes the former.
_NAMES |= dict.fromkeys(("µm", "μm", "\\u00b5m", "micron", "microns"), "um")
_NAMES |= dict.fromkeys(("inch", "inches"), "in")
_SIZE = re.compile(r"\s*([0-9]{1,18}(?:\.[0-9]*)?)\s*([kmgt]?i?)b?\s*", re.IGNORECASE)
_LENGTH = re.compile(r"([-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?)\s*(\S+)")

LENGTHS = Range(1e-12, 1e12)
"""Numbers of a length, whatever the unit: beyond, products of a few of them leave a float32."""
_UNIT = re.compile(r"[^\W_][\w /·.^*%°⁻-]{0,31}")

Number = TypeVar("Number", float, NDArray[np.float64])


def unit_name(text: str) -> str | None:
    """Return how varfocus spells a unit of length, or None if it is none.

    Examples
    --------
    >>> unit_name("µm"), unit_name("Micron"), unit_name("parsec")
    ('um', 'um', None)
    """
    return _NAMES.get(text.strip().lower())


def checked_unit(text: object) -> str:
    """Return how varfocus spells a unit, of length or not, or raise `ParameterError`.

    Names of units go into files, pages and tables that others open, so they have an alphabet.

    Examples
    --------
    >>> checked_unit("Micron"), checked_unit("mV/s")
    ('um', 'mV/s')
    """
    if not isinstance(text, str) or not (is_unit(text.strip()) or unit_name(text)):
        raise ParameterError(
            f"received the unit {shown(text)}",
            "expected a letter first, then letters, digits, spaces and / · . ^ * % ° -; 32 in all",
        )
    return unit_name(text) or text.strip()


def is_unit(text: object) -> bool:
    """Tell whether a text is the name of a unit, of length or not."""
    return isinstance(text, str) and bool(_UNIT.fullmatch(text))


def symbol(unit: str) -> str:
    """Return a unit as it is printed in figures: µm for um."""
    return {"um": "µm"}.get(unit, unit)


def convert(value: Number, unit: str, to: str) -> Number:
    """Return a length in another unit.

    Parameters
    ----------
    value : float or ndarray
        In `unit`.
    unit, to : str
        Keys of `METRES`.

    Examples
    --------
    >>> convert(2.0, "in", "mm")
    50.8
    """
    return value if unit == to else value * (METRES[unit] / METRES[to])


@dataclass(frozen=True)
class Length:
    """A number and its unit.

    Parameters
    ----------
    value : float
        Finite.
    unit : str
        One of `METRES`.
    """

    value: float
    unit: str

    def to(self, unit: str) -> float:
        """Return the number in another unit."""
        return convert(self.value, self.unit, unit)

    def __str__(self) -> str:
        return f"{self.value:g} {self.unit}"


@dataclass(frozen=True)
class PixelSize:
    """How large a pixel is in the scene.

    Parameters
    ----------
    x, y : float
        Distance between the centres of neighbouring columns and rows; positive.
    unit : str
        One of `METRES`.

    Raises
    ------
    ParameterError
        If a size is not positive or the unit is none of length.
    """

    x: float
    y: float
    unit: str

    def __post_init__(self) -> None:
        for axis in ("x", "y"):
            size = real("pixel size", getattr(self, axis), LENGTHS)
            object.__setattr__(self, axis, size)
        if not isinstance(self.unit, str) or self.unit not in METRES:
            raise ParameterError(
                f"received a pixel size in {shown(self.unit)}",
                f"expected one of {', '.join(METRES)}",
            )

    def to(self, unit: str) -> PixelSize:
        """Return the same size in another unit."""
        return PixelSize(convert(self.x, self.unit, unit), convert(self.y, self.unit, unit), unit)

    def __str__(self) -> str:
        size = f"{self.x:g}" if self.x == self.y else f"{self.x:g} × {self.y:g}"
        return f"{size} {self.unit}"


def parse_length(text: str, what: str = "a length") -> Length:
    """Return the length that a text such as ``2um``, ``0.5 mm`` or ``1e-3m`` stands for.

    Parameters
    ----------
    text : str
        A number and its unit.
    what : str
        What it is, for the message: ``"--z-step"``.

    Raises
    ------
    ParameterError
        If it is not a length.

    Examples
    --------
    >>> parse_length("2 µm")
    Length(value=2.0, unit='um')
    """
    match = _LENGTH.fullmatch(text.strip()) if isinstance(text, str) else None
    unit = unit_name(match.group(2)) if match else None
    value = float(match.group(1)) if match else math.nan
    if unit is None or not (value == 0 or abs(value) in LENGTHS):
        raise ParameterError(
            f"received {what} {shown(text)}",
            "expected a number and its unit, such as 2um, 0.5mm or 1e-3m",
            f"Units are {', '.join(METRES)}.",
        )
    return Length(value, unit)


MOST_BYTES = 2**60
"""Largest size that can be asked for: what a file can have."""
_BYTES = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
_BYTES |= {f"{unit}i": 2 ** (10 * power) for power, unit in enumerate("kmgt", start=1)}


def parse_size(size: str) -> int:
    """Return the bytes that a text such as ``4GB``, ``500 MB`` or ``2GiB`` stands for.

    Raises
    ------
    ParameterError
        If it is not a size.
    """
    match = _SIZE.fullmatch(size) if isinstance(size, str) else None
    unit = _BYTES.get(match.group(2).lower()) if match else None
    if match is None or unit is None or not 1 <= float(match.group(1)) * unit <= MOST_BYTES:
        raise ParameterError(
            f"received a size of {shown(size)}", "expected one such as 4GB, 500MB or 2GiB"
        )
    return int(float(match.group(1)) * unit)


def size_words(size: float) -> str:
    """Return a number of bytes for people: 1.2 GB."""
    for unit in ("bytes", "kB", "MB", "GB"):
        if size < 1000:
            return f"{size:.3g} {unit}"
        size /= 1000
    return f"{size:.3g} TB"
