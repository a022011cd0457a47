"""What a batch would do, determined without doing it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from varfocus import units
from varfocus.batch.finished import finished
from varfocus.batch.stacks import Stack
from varfocus.errors import VarfocusError
from varfocus.job import keep_apart, to_command
from varfocus.params import Resources


def planned_rows(
    stacks: Sequence[Stack], output: Path, resources: Resources, overwrite: bool
) -> list[dict[str, Any]]:
    """Return what would happen to each stack.

    Parameters
    ----------
    stacks : sequence of Stack
        The batch.
    output : Path
        Folder of the results.
    resources : Resources
        Memory that a stack may take.
    overwrite : bool
        Whether results may be replaced.

    Returns
    -------
    list of dict
        ``name``, ``source``, ``command``; ``frames``, ``width``, ``height``, ``method`` and
        ``memory``, None where it cannot be read; ``plan``: what would happen, in words.
    """
    return [_row(stack, output, resources, overwrite) for stack in stacks]


def _row(stack: Stack, output: Path, resources: Resources, overwrite: bool) -> dict[str, Any]:
    row: dict[str, Any] = {
        "name": stack.name,
        "source": stack.source,
        "command": to_command(stack.job, str(output / stack.name)),
    }
    row |= dict.fromkeys(("frames", "width", "height", "method", "memory"))
    try:
        frames = stack.job.open()
        height, width = frames.shape
        row |= {"frames": len(frames), "width": width, "height": height}
        planned = stack.job.plan(frames, resources)
        row |= {"method": planned.params.method, "memory": units.size_words(planned.memory)}
        keep_apart(output / stack.name, frames)
        there = finished(output / stack.name, stack.job, frames, overwrite=overwrite)
    except VarfocusError as error:
        return row | {"plan": f"would fail: {error}"}
    return row | {"plan": "finished already" if there else "would be done"}
