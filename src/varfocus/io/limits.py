"""The limits in force while files are inspected and decoded.

A few hundred bytes can claim gigapixels, so every header is checked against
`varfocus.params.Limits` before anything is decoded. Headers are made in many readers: the limits
reach them by context.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from varfocus.params import DEFAULT_LIMITS, Limits

_IN_FORCE = ContextVar("limits", default=DEFAULT_LIMITS)


def in_force() -> Limits:
    """Return the limits in force here."""
    return _IN_FORCE.get()


@contextmanager
def within(limits: Limits) -> Iterator[None]:
    """Put these limits in force inside the block."""
    before = _IN_FORCE.set(limits)
    try:
        yield
    finally:
        _IN_FORCE.reset(before)
