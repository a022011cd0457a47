"""Write the types of `varfocus.app.wire` as TypeScript to standard output: ``make types``."""

from __future__ import annotations

import inspect
import sys
import types
from typing import (
    Any,
    Literal,
    NotRequired,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

from varfocus.app import wire
from varfocus.app.schema import explanations

PLAIN = {
    int: "number",
    float: "number",
    str: "string",
    bool: "boolean",
    type(None): "null",
    object: "unknown",
}
HEAD = "// Made by “make types” from src/varfocus/app/wire.py. Do not edit.\n"


def spelled(hint: Any) -> str:
    """Return a type of `varfocus.app.wire` in TypeScript."""
    if hint in PLAIN:
        return PLAIN[hint]
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Literal:
        return " | ".join(f'"{value}"' for value in arguments)
    inner = [spelled(argument) for argument in arguments]
    if origin in (Union, types.UnionType):
        return " | ".join(dict.fromkeys(inner))
    if origin is tuple:
        return f"[{', '.join(inner)}]"
    if origin is list:
        return f"({inner[0]})[]" if "|" in inner[0] else f"{inner[0]}[]"
    if origin is dict:
        return f"Record<{', '.join(inner)}>"
    return str(hint.__name__)


def interface(name: str, kind: Any) -> str:
    """Return one message as an interface."""
    notes = explanations(kind, "Attributes")
    lines = [
        f"/** {(inspect.getdoc(kind) or '').splitlines()[0]} */",
        f"export interface {name} {{",
    ]
    for field, hint in get_type_hints(kind, include_extras=True).items():
        optional = get_origin(hint) is NotRequired
        hint = get_args(hint)[0] if optional else hint
        if field in notes:
            lines.append(f"  /** {notes[field]} */")
        lines.append(f"  {field}{'?' if optional else ''}: {spelled(hint)};")
    return "\n".join([*lines, "}"])


def main() -> str:
    """Return the whole file."""
    parts = [HEAD]
    for name, kind in vars(wire).items():
        if is_typeddict(kind):
            parts.append(interface(name, kind) + "\n")
        elif get_origin(kind) in (Union, types.UnionType, Literal, tuple):
            parts.append(f"export type {name} = {spelled(kind)};\n")
    return "\n".join(parts)


if __name__ == "__main__":
    sys.stdout.write(main())
