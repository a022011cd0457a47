"""A manifest: a table of stacks, each with options of its own.

CSV has a heading line; JSON is a list of objects. ``stack`` names a folder, pattern or file,
relative to the manifest; ``name``, which may be left out, the folder of its results; every other
column is an option of ``varfocus depth``, written as on the command line or with underscores.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import fields, replace
from fractions import Fraction
from pathlib import Path, PurePosixPath
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from varfocus.batch.stacks import Stack
from varfocus.errors import InputError, ParameterError
from varfocus.files import parsed_json, place_of, read_text, why
from varfocus.io.calibration import Focus
from varfocus.job import Job
from varfocus.params import STAGES, Limits, Params

LIMIT_HINTS = get_type_hints(Limits)
FOCUS_HINTS = get_type_hints(Focus) | LIMIT_HINTS
FOCUS_HINTS.pop("limits")
PARAMETER_HINTS: dict[str, Any] = {"method": str} | {
    name: hint
    for stage in STAGES.values()
    for name, hint in get_type_hints(stage).items()
    if name in {f.name for f in fields(stage)}
}
OUTPUT_HINTS: dict[str, Any] = {"report": bool, "keep_gps": bool, "tiled_format": str}
HINTS = PARAMETER_HINTS | FOCUS_HINTS | OUTPUT_HINTS
"""Every option of a stack, and what its values are."""


def is_manifest(path: Path) -> bool:
    """Tell whether a file is a manifest by its name."""
    return path.suffix.lower() in (".csv", ".json") and not path.is_dir()


def read_manifest(path: Path, common: Job) -> list[Stack]:
    """Return the stacks that a manifest lists.

    Parameters
    ----------
    path : Path
        The manifest.
    common : Job
        Options of all stacks; those of a row take precedence.

    Returns
    -------
    list of Stack
        In its order.

    Raises
    ------
    InputError, ParameterError
        If it cannot be read, naming the row and what is wrong with it.
    """
    try:
        text = read_text(path)
    except (OSError, ValueError) as error:
        raise InputError(
            f"{path} cannot be read: {why(error)}",
            "expected a manifest: CSV with a heading line, or a JSON list",
        ) from error
    try:
        rows = _json_rows(path, text) if path.suffix.lower() == ".json" else _csv_rows(path, text)
    except csv.Error as error:  # a cell of more than 128 kB, say
        raise InputError(f"{path}: is not CSV ({error})", "expected one stack per row") from error
    stacks: dict[str, Stack] = {}
    for where, row in rows.items():
        stack = _stack(path, where, row, common)
        earlier = stacks.get(place_of(stack.name))
        if earlier is not None:
            raise InputError(
                f"{path}, {where}: the name {stack.name!r} is already used by {earlier.source}",
                "expected another name for every stack",
                "Add a column “name”.",
            )
        stacks[place_of(stack.name)] = stack
    if not stacks:
        raise InputError(f"{path}: lists no stack", "expected one stack per row")
    return list(stacks.values())


def _csv_rows(path: Path, text: str) -> dict[str, Mapping[str, Any]]:
    heading = text.splitlines()[0] if text.strip() else ""
    delimiter = next((mark for mark in ";\t" if mark in heading), ",")
    reader = csv.DictReader(text.splitlines(), delimiter=delimiter)
    if "stack" not in [name.strip() for name in reader.fieldnames or ()]:
        raise InputError(
            f"{path}, line 1: received the heading {heading!r}",
            "expected columns, one of them “stack”: the folder, pattern or file of each",
            "For example: stack,name,smoothness",
        )
    rows: dict[str, Mapping[str, Any]] = {}
    for row in reader:
        where = f"line {reader.line_num}"
        if None in row or None in row.values():
            raise InputError(
                f"{path}, {where}: received {_cells(row)} cells",
                f"expected {len(reader.fieldnames or ())}, as in the heading",
            )
        said = {name.strip(): cell.strip() for name, cell in row.items()}
        rows[where] = {name: cell for name, cell in said.items() if cell}
    return {where: row for where, row in rows.items() if row}


def _cells(row: Mapping[Any, Any]) -> int:
    return sum(value is not None for value in row.values()) + len(row.get(None, ())) - (None in row)


def _json_rows(path: Path, text: str) -> dict[str, Mapping[str, Any]]:
    try:
        data = parsed_json(text)
    except ValueError as error:
        raise InputError(f"{path}: is not JSON ({error})", "expected a list of stacks") from error
    if not isinstance(data, list) or not all(isinstance(row, dict) for row in data):
        raise InputError(
            f"{path}: received JSON of another kind",
            "expected a list of objects",
            'For example: [{"stack": "plate1/a", "smoothness": 2}]',
        )
    return {f"entry {k}": row for k, row in enumerate(data, start=1)}


def _stack(path: Path, where: str, row: Mapping[str, Any], common: Job) -> Stack:
    try:
        options = {str(k).replace("-", "_"): v for k, v in row.items() if v is not None}
        source, name = options.pop("stack", None), options.pop("name", None)
        if not isinstance(source, str) or not source:
            raise ParameterError("received no stack", "expected the folder or file of one")
        values = {k: _value(k, v, path.parent) for k, v in options.items()}
        return Stack(
            _folder(name, source), with_options(common, str(path.parent / source), **values)
        )
    except TypeError as error:
        raise ParameterError(f"{path}, {where}: {error}") from error
    except ParameterError as error:
        raise ParameterError(
            f"{path}, {where}: {error.received}", error.expected, error.remedy
        ) from error


def with_options(common: Job, *source: str, **values: Any) -> Job:
    """Return a job for the frames at `source`, with other values of some of the options."""
    said = {k: v for k, v in values.items() if k in FOCUS_HINTS}
    limits = {k: said.pop(k) for k in LIMIT_HINTS if k in said}
    focus = replace(common.focus, limits=replace(common.focus.limits, **limits), **said)
    parameters = common.params.changes()
    parameters |= {k: v for k, v in values.items() if k not in FOCUS_HINTS | OUTPUT_HINTS}
    return Job(
        source,
        Params.from_keywords(**parameters),
        focus,
        values.get("report", common.report),
        values.get("keep_gps", common.keep_gps),
        values.get("tiled_format", common.tiled_format),
    )


def _folder(name: object, source: str) -> str:
    if name is None:
        parts = [
            part for part in Path(source).parts if part not in (Path(source).anchor, "..", ".")
        ]
        plain = Path(*parts)
        name = (plain if plain.suffix == "" else plain.with_suffix("")).as_posix()
    given = PurePosixPath(str(name))
    if given.is_absolute() or ".." in given.parts or not given.parts or "*" in str(name):
        raise ParameterError(
            f"received the name {str(name)!r}",
            "expected a folder below the output, such as plate1/a",
        )
    return given.as_posix()


def _value(name: str, value: Any, folder: Path) -> Any:
    """Return a value in the type of its option, which refuses what cannot be converted."""
    hint = HINTS.get(name)
    kinds = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    if Path in kinds:
        return folder / str(value)
    if not isinstance(value, str):
        return value
    try:
        if int in kinds:
            return int(value)
        if float in kinds:
            return float(Fraction(value))
        if bool in kinds:
            return {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}[
                value.lower()
            ]
    except (KeyError, ValueError, ZeroDivisionError) as error:
        expected = (
            "a whole number" if int in kinds else "a number" if float in kinds else "yes or no"
        )
        raise ParameterError(f"received {name} = {value!r}", f"expected {expected}") from error
    return value
