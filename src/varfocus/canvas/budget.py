"""How much memory there is, and how to stay within it."""

from __future__ import annotations

import sys
from pathlib import Path

import psutil

SHARE_OF_FREE = 0.6
"""What a job may take of the free memory when no limit is given."""


def available_bytes() -> int:
    """Return the memory that is available without swapping, within the container's limit if any."""
    free = int(psutil.virtual_memory().available)
    try:
        limit = int(Path("/sys/fs/cgroup/memory.max").read_text())
        used = int(Path("/sys/fs/cgroup/memory.current").read_text())
    except (OSError, ValueError):  # no container, or none with a known limit
        return free
    return min(free, max(limit - used, 0))


def hold_process_within(limit: int) -> None:
    """Let this process allocate so many bytes beyond what it has; then allocations fail.

    A `MemoryError` is one failed job; a system without memory stops everything. Linux only, where
    private memory can be limited without limiting mapped files.

    Parameters
    ----------
    limit : int
        Bytes.
    """
    if not sys.platform.startswith("linux"):
        return
    import resource

    ceiling = resource.getrlimit(resource.RLIMIT_DATA)[1]
    wanted = int(psutil.Process().memory_info().data) + limit
    if ceiling != resource.RLIM_INFINITY:
        wanted = min(wanted, ceiling)
    resource.setrlimit(resource.RLIMIT_DATA, (wanted, ceiling))


def allowed_bytes(limit: int | None) -> int:
    """Return what a job may take: the given limit, or 60 % of what is free."""
    return int(SHARE_OF_FREE * available_bytes()) if limit is None else limit
