"""What the runner of a batch reports to the loop that dispatches it."""

from __future__ import annotations

from dataclasses import dataclass
from queue import SimpleQueue
from typing import Any, NamedTuple, Protocol, TypeAlias


class Attempt(NamedTuple):
    """An attempt at a stack."""

    stack: int
    """Number of the stack, from 0."""
    retry: int
    """How many attempts came before."""


@dataclass(frozen=True)
class Step:
    """A stack makes progress."""

    attempt: Attempt
    stage: str
    done: int
    total: int


@dataclass(frozen=True)
class Outcome:
    """An attempt has finished."""

    attempt: Attempt
    outcome: dict[str, Any]


Events: TypeAlias = "SimpleQueue[Step | Outcome]"


class Runner(Protocol):
    """Runs tasks, here or on a cluster."""

    capacity: int
    """Tasks that may be under way; may change."""

    def submit(self, attempt: Attempt, task: dict[str, Any]) -> None:
        """Have a task done; its `Outcome` will come."""

    def poll(self) -> None:
        """Check the workers; called a few times a second."""

    def close(self) -> None:
        """Drop what is under way."""
