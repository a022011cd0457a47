"""Which end of a stack is near, in words, where occlusion tells."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def direction_in_words(findings: Mapping[str, Any] | None) -> str:
    """Return which end is near and how to turn the stack around; empty if nobody knows.

    Parameters
    ----------
    findings : mapping or None
        Of a run: the edge stage leaves ``edges.nearest_frame``, "first" or "last", where surfaces
        hide one another in a way that only one of the two explains.
    """
    edges = (findings or {}).get("edges")
    end = edges.get("nearest_frame") if isinstance(edges, Mapping) else None
    if end not in ("first", "last"):
        return ""
    return (
        f"Where surfaces hide one another, the {end} frame shows the nearest; --reverse takes the "
        "frames in the opposite order."
    )
