"""Numbers of bytes as people write and read them."""

from __future__ import annotations

import re

from varfocus.errors import ParameterError

_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
_UNITS |= {f"{unit}i": 2 ** (10 * power) for power, unit in enumerate("kmgt", start=1)}


def parse_size(size: str) -> int:
    """Return the bytes that a text such as ``4GB``, ``500 MB`` or ``2GiB`` stands for.

    Raises
    ------
    ParameterError
        If it is not a size.
    """
    match = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]*)?)\s*([kmgt]?i?)b?\s*", size, re.IGNORECASE)
    unit = _UNITS.get(match.group(2).lower()) if match else None
    if match is None or unit is None or float(match.group(1)) == 0:
        raise ParameterError(
            f"received a size of {size!r}", "expected one such as 4GB, 500MB or 2GiB"
        )
    return int(float(match.group(1)) * unit)


def size_words(size: float) -> str:
    """Return a number of bytes for people: 1.2 GB."""
    for unit in ("bytes", "kB", "MB", "GB"):
        if size < 1000:
            return f"{size:.3g} {unit}"
        size /= 1000
    return f"{size:.3g} TB"
