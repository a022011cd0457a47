"""Focus positions from a text file."""

from __future__ import annotations

import csv
import re
from pathlib import Path
from typing import NamedTuple

from varfocus.errors import FocusPositionsError
from varfocus.files import read_text, why
from varfocus.units import unit_name


class Positions(NamedTuple):
    """What a file says about the focus."""

    values: list[float]
    """One position per frame."""
    unit: str | None
    """Their unit, if the heading of their column ends in one: ``distance_m``, ``z (um)``."""


def read_positions(path: Path) -> Positions:
    """Read one focus position per frame.

    Parameters
    ----------
    path : Path
        One number per line, or a heading line and the position in the last column; columns are
        separated by commas, semicolons or tabs.

    Returns
    -------
    Positions
        In the order of the file.

    Raises
    ------
    FocusPositionsError
        If it cannot be read that way.
    """
    try:
        text = read_text(path)
    except (OSError, ValueError) as error:
        raise FocusPositionsError(
            f"{path} cannot be read: {why(error)}",
            "expected a text file with one focus distance per frame",
        ) from error
    try:
        return _parsed(path, text)
    except csv.Error as error:  # a cell of more than 128 kB, say
        raise FocusPositionsError(
            f"{path}: is not CSV ({error})", "expected one focus distance per line"
        ) from error


def _parsed(path: Path, text: str) -> Positions:
    delimiter = next((mark for mark in ";\t" if mark in text), ",")
    reader = csv.reader(text.splitlines(), delimiter=delimiter)
    values: list[float] = []
    heading: list[str] | None = None
    for row in reader:
        if not any(cell.strip() for cell in row):
            continue
        value: float | None
        try:
            value = float(row[-1])
        except ValueError:
            value = None
        if value is None and heading is None and not values:
            heading = row
        elif value is None or len(row) != len(heading or [""]):
            raise FocusPositionsError(
                f"{path}, line {reader.line_num}: received {delimiter.join(row)!r}",
                "expected one number per line with a decimal point, or a heading line and the "
                "focus distance in the last column",
                "Write 0.5 rather than 0,5, and name the columns in the first line.",
            )
        else:
            values.append(value)
    return Positions(values, _unit(heading[-1]) if heading else None)


def _unit(heading: str) -> str | None:
    bracketed = re.search(r"[(\[]([^()\[\]]+)[)\]]$", heading.rstrip())
    if bracketed:
        return bracketed.group(1).strip()
    return unit_name(heading.rpartition("_")[2].strip()) if "_" in heading else None
