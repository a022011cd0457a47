"""What those who do the work tell the one who conducts it."""

from __future__ import annotations

from dataclasses import dataclass
from queue import SimpleQueue
from typing import Any, NamedTuple, Protocol, TypeAlias


class Ticket(NamedTuple):
    """An attempt at a stack."""

    number: int
    """Of the stack, from 0."""
    attempt: int
    """From 0."""


@dataclass(frozen=True)
class Step:
    """A stack makes progress."""

    ticket: Ticket
    stage: str
    done: int
    total: int


@dataclass(frozen=True)
class Outcome:
    """An attempt came to its end."""

    ticket: Ticket
    outcome: dict[str, Any]


Events: TypeAlias = "SimpleQueue[Step | Outcome]"


class Runner(Protocol):
    """Those who do the work, here or on a cluster."""

    capacity: int
    """Orders that may be under way; may change."""

    def submit(self, ticket: Ticket, order: dict[str, Any]) -> None:
        """Have an order carried out; its `Outcome` will come."""

    def tend(self) -> None:
        """Look after the workers; called a few times a second."""

    def close(self) -> None:
        """Drop what is under way."""
