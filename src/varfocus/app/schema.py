"""The parameters as the page needs them, read from the dataclasses of `varfocus.params`.

There is no second list: what is written there, types, defaults and explanations, is what the page
shows.
"""

from __future__ import annotations

import inspect
import re
import types
from dataclasses import fields
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from varfocus.params import COMMON_STAGES, STAGES, STAGES_OF_METHOD, Params

KNOBS = {"robust": "smoothness", "auto": "smoothness", "paper": "alpha", "classic": "window"}
"""The parameter of each method that deserves a slider."""


GROUPS = {
    "align": "Alignment",
    "fusion": "All-in-focus image",
    "area": "What counts",
    "sharpness": "Sharpness",
}
"""Headings of the stages that every method has."""

NOT_OFFERED = ("transforms_from", "mask", "retouch")
"""Parameters that name files of the server, which the page may not set."""


def methods() -> list[dict[str, Any]]:
    """Return every method with its parameters, as plain data.

    Returns
    -------
    list of dict
        ``name``, ``about``, ``knob`` and ``parameters``, each of which has ``name``, ``type``
        ("number", "whole" or "choice"), ``default``, ``choices``, ``about`` and ``group``, which is
        empty for those of the method itself.
    """
    hints = get_type_hints(Params)
    about = explanations(Params)["method"]
    return [
        {
            "name": method,
            "about": about,
            "knob": KNOBS[method],
            "parameters": [
                _describe(STAGES[name], field.name) | {"group": GROUPS.get(name, "")}
                for name in (*STAGES_OF_METHOD[method], *COMMON_STAGES)
                for field in fields(STAGES[name])
                if field.name not in NOT_OFFERED
            ],
        }
        for method in get_args(hints["method"])
    ]


def explanations(stage: type[Any], heading: str = "Parameters") -> dict[str, str]:
    """Return what the numpydoc docstring of a class says about each of its parameters."""
    text = inspect.getdoc(stage) or ""
    section = text.partition(f"{heading}\n----------\n")[2]
    found: dict[str, str] = {}
    for block in re.split(r"\n(?=\S)", section):
        names, _, words = block.partition("\n")
        for name in names.split(","):
            found[name.strip()] = " ".join(words.split())
    return found


def _describe(stage: type[Any], name: str) -> dict[str, Any]:
    kind, choices = _kind(get_type_hints(stage)[name])
    return {
        "name": name,
        "type": kind,
        "choices": choices,
        "default": getattr(stage(), name),
        "about": explanations(stage).get(name, ""),
    }


def _kind(hint: Any) -> tuple[str, list[str] | None]:
    """Return the type of an input field for a type hint."""
    if get_origin(hint) in (Union, types.UnionType):
        hint = next(part for part in get_args(hint) if part is not type(None))
    if get_origin(hint) is Literal:
        return "choice", list(get_args(hint))
    if hint is bool:
        return "switch", None
    return ("whole", None) if hint is int else ("number", None) if hint is float else ("text", None)
