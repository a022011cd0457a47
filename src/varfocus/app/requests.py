"""What the page asks for, checked: whatever a request names or counts is looked at here."""

from __future__ import annotations

import json
import math
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast, get_args

from starlette.requests import Request

from varfocus.app.uploads import Mode
from varfocus.errors import InputError, ParameterError, TooLargeError
from varfocus.export.products import PictureShape, Shape

MAX_UPLOAD = 4 << 30
"""Bytes of one uploaded file."""

SPARE_DISK = 512 << 20
"""Bytes that an upload must leave free."""

LONGEST_NAME = 120
"""Letters in the name of a result or a stack."""

MAX_REQUEST = 1 << 20
"""Bytes of a JSON request."""

LARGEST_PLACE = 1e6
"""Pixels beyond which nothing is drawn."""

PRINT = "print.stl"
"""The surface as a closed body."""


def product_options(name: str, given: Mapping[str, str]) -> tuple[Shape, PictureShape]:
    """Return how a file is to be made, from what an address asks for."""
    look = PictureShape(whole(given["quality"], "quality")) if "quality" in given else None
    if name != PRINT:
        return Shape(), look or PictureShape()
    size = _millimetres(given["size"], "size") if "size" in given else None
    base = _millimetres(given["base"], "base") if "base" in given else Shape().base
    return Shape(solid=True, base=base, print_size=size), look or PictureShape()


def _millimetres(text: str, name: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not 0.0 < number < 1e6:
        raise ParameterError(f"received {name} = {text!r}", "expected millimetres")
    return number


async def body_of(request: Request, most: int = MAX_REQUEST) -> dict[str, Any]:
    """Return the JSON object that a request holds."""
    text = b""
    async for chunk in request.stream():
        text += chunk
        if len(text) > most:
            size = most >> 20
            raise TooLargeError(
                f"received a request of more than {size} MB", "expected a small one"
            )
    try:
        body = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ParameterError(f"received no JSON: {error}", "expected a JSON object") from error
    if not isinstance(body, dict):
        raise ParameterError("received JSON that is not an object", "expected a JSON object")
    return body


def parameters_of(body: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters that a request gives."""
    parameters = body.get("parameters")
    if not isinstance(parameters, dict):
        raise ParameterError("received no parameters", "expected an object of parameters")
    return parameters


def printable(name: Any) -> str:
    """Return what a user calls something as it can be shown; empty if it is no text."""
    letters = name if isinstance(name, str) else ""
    return "".join(letter for letter in letters if letter.isprintable()).strip()[:LONGEST_NAME]


def announced(request: Request) -> int:
    """Return how many bytes a request says it has; what it really has is counted as it comes."""
    text = request.headers.get("content-length", "")
    return int(text) if text.isdecimal() and len(text) < 19 else 0


def check_room(name: str, folder: Path, size: int, more: int | None = None) -> None:
    """Refuse an upload that is too large in all, or whose next bytes would fill the disk."""
    free = shutil.disk_usage(folder).free - SPARE_DISK
    if size > MAX_UPLOAD or (size if more is None else more) > free:
        raise TooLargeError(
            f"{name}: {size >> 20} MB, with {max(free, 0) >> 20} MB of disk space to spare",
            f"expected a file that fits, of {MAX_UPLOAD >> 20} MB at most",
            "Give the folder on the command line: varfocus app FOLDER.",
        )


def mode_of(given: Any) -> Mode:
    """Return what is to happen to the frames that are open."""
    for mode in get_args(Mode):
        if given == mode:
            return cast(Mode, mode)
    raise ParameterError(f"received the mode {given!r}", "expected add, replace or new")


def whole(text: str, name: str) -> int:
    """Return a whole number that is given as text."""
    try:
        return int(text)
    except ValueError as error:
        raise ParameterError(f"received {name} = {text!r}", "expected a whole number") from error


def whole_list(body: dict[str, Any], key: str) -> list[int]:
    """Return the whole numbers that a request lists."""
    values = body.get(key)
    if not isinstance(values, list) or not all(isinstance(v, int) for v in values):
        raise ParameterError(f"received no list {key!r}", "expected whole numbers")
    return values


def is_outline(outline: Any) -> bool:
    """Tell whether something is a pair of a truth value and at least three points."""
    return (
        isinstance(outline, list)
        and len(outline) == 2
        and isinstance(outline[0], bool)
        and isinstance(outline[1], list)
        and len(outline[1]) >= 3
        and all(isinstance(point, list) and len(point) == 2 for point in outline[1])
        and all(
            isinstance(v, int | float) and abs(v) < LARGEST_PLACE for p in outline[1] for v in p
        )
    )


def display_name(name: str) -> str:
    """Return a file's name as it can be shown: no folders, no control characters, not too long."""
    last = re.split(r"[/\\]", name)[-1]
    printable = "".join(letter for letter in last if letter.isprintable())[:200].strip()
    if not printable or printable in (".", ".."):
        raise InputError(f"received a file named {name!r}", "expected a name")
    return printable
