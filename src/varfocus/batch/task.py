"""A task: all that a process needs to know to do one stack, as plain data."""

from __future__ import annotations

import os
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import varfocus
from varfocus.batch.stacks import Stack
from varfocus.errors import ParameterError
from varfocus.job import to_command
from varfocus.units import parse_size

PART = ".part"
"""Suffix of the hidden folders in which results are made."""


@dataclass(frozen=True)
class RetryPolicy:
    """How much is spent on a stack before it counts as failed.

    Parameters
    ----------
    retries
        How often a stack is tried again, elsewhere if possible, when its process or machine died,
        hung, took too long or used too much memory. Damaged frames are not tried again.
    time_limit
        Seconds that one stack may take; by default no limit while it makes progress.
    """

    retries: int = 2
    time_limit: float | None = None

    def __post_init__(self) -> None:
        if self.retries < 0:
            raise ParameterError(f"received retries = {self.retries}", "expected 0 or more")
        if self.time_limit is not None and not self.time_limit > 0:
            raise ParameterError(
                f"received time_limit = {self.time_limit}", "expected a number of seconds above 0"
            )


def task_for(
    stack: Stack,
    output: Path,
    *,
    max_memory: str,
    retry: RetryPolicy,
    overwrite: bool,
    thumbnails: bool,
) -> dict[str, Any]:
    """Return the task to do a stack.

    Parameters
    ----------
    stack : Stack
        What is to be done.
    output : Path
        Folder of the batch.
    max_memory : str
        What the stack may take; which method “auto” is depends on it, so it must not depend on
        the worker.
    retry : RetryPolicy
        When it is tried again, and for how long.
    overwrite : bool
        Replace a result that does not match.
    thumbnails : bool
        Return thumbnails, too.

    Returns
    -------
    dict
        Of a kilobyte or so. Paths are absolute: workers have their own current folder.
    """
    place = Path(os.path.abspath(output)) / stack.name  # noqa: PTH100 keeps links
    data = stack.job.as_data()
    return {
        "varfocus": varfocus.__version__,
        "name": stack.name,
        "job": data,
        "folder": str(Path.cwd()),
        "output": str(place),
        "part": str(place.with_name(f".{place.name}.{secrets.token_hex(4)}{PART}")),
        "command": to_command(stack.job, stack.name),
        "max_memory": max_memory,
        "most_bytes": parse_size(max_memory),
        "time_limit": retry.time_limit,
        "overwrite": overwrite,
        "thumbnails": thumbnails,
    }
