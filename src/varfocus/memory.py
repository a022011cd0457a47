"""Will the job fit? Estimated before it starts, in bytes per pixel.

``paper``: a fixed number of bytes per pixel, whatever the number of frames, because frames go
through one by one. ``classic``: 4 bytes per pixel and frame more, for it keeps the focus volume.
``robust``: that, and later 16 bytes per pixel and depth label.
"""

from __future__ import annotations

import re
from pathlib import Path

import psutil

from varfocus.coordinate import label_count
from varfocus.errors import ParameterError, TooLargeError
from varfocus.params import Params
from varfocus.stack import DECODED_AHEAD, FocusStack

BYTES_PER_PIXEL = {"paper": 130, "classic": 60, "robust": 120}
"""Working memory of each method beyond the frames."""

ARRAY_CODE_BYTES, TGV_BYTES = 90, 260
"""What the method “paper” needs beyond that, per pixel, for any other energy than the paper's, and
for TGV."""

SHARE_OF_FREE = 0.6
"""What a job may take of the free memory when no limit is given."""

_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
_UNITS |= {f"{unit}i": 2 ** (10 * power) for power, unit in enumerate("kmgt", start=1)}


def parse_size(size: str) -> int:
    """Return the bytes that a text such as ``4GB``, ``500 MB`` or ``2GiB`` stands for.

    Raises
    ------
    ParameterError
        If it is not a size.
    """
    match = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]*)?)\s*([kmgt]?i?)b?\s*", size, re.IGNORECASE)
    unit = _UNITS.get(match.group(2).lower()) if match else None
    if match is None or unit is None or float(match.group(1)) == 0:
        raise ParameterError(
            f"received a memory limit of {size!r}", "expected a size such as 4GB, 500MB or 2GiB"
        )
    return int(float(match.group(1)) * unit)


def size_words(size: float) -> str:
    """Return a number of bytes for people: 1.2 GB."""
    for unit in ("bytes", "kB", "MB", "GB"):
        if size < 1000:
            return f"{size:.3g} {unit}"
        size /= 1000
    return f"{size:.3g} TB"


def available_bytes() -> int:
    """Return the memory that can be had without swapping, within the container's limit if any."""
    free = int(psutil.virtual_memory().available)
    try:
        limit = int(Path("/sys/fs/cgroup/memory.max").read_text())
        used = int(Path("/sys/fs/cgroup/memory.current").read_text())
    except (OSError, ValueError):  # no container, or none that tells
        return free
    return min(free, max(limit - used, 0))


def allowed_bytes(limit: int | None) -> int:
    """Return what a job may take: the given limit, or 60 % of what is free."""
    return int(SHARE_OF_FREE * available_bytes()) if limit is None else limit


def needed_bytes(stack: FocusStack, params: Params) -> int:
    """Return an upper estimate of what a reconstruction takes beyond what is held already.

    Parameters
    ----------
    stack : FocusStack
        Frames.
    params : Params
        Tells the method.

    Returns
    -------
    int
        Bytes.
    """
    height, width = stack.shape
    per_frame = stack.channels * stack.dtype.itemsize
    volume = 0 if params.method == "paper" else 4 * len(stack)
    if params.method == "robust":  # cost, its aggregate, and the sideways paths of either
        volume = max(volume, 16 * label_count(len(stack)))
    if params.method == "paper" and (params.solve.regulariser != "tv" or params.solve.bregman):
        volume = TGV_BYTES if params.solve.regulariser == "tgv" else ARRAY_CODE_BYTES
    # The fused image, once in float32 and once in its own type.
    fused = stack.channels * 4 + per_frame
    ahead = (DECODED_AHEAD + 1) * per_frame
    return height * width * (BYTES_PER_PIXEL[params.method] + volume + fused + ahead)


def admit(stack: FocusStack, params: Params, limit: int | None) -> None:
    """Refuse a job that would not fit, before it starts.

    Parameters
    ----------
    stack, params
        As for `needed_bytes`.
    limit : int or None
        Bytes it may take; None allows 60 % of what is free.

    Raises
    ------
    TooLargeError
        With the numbers, and what to do.
    """
    needed, allowed = needed_bytes(stack, params), allowed_bytes(limit)
    if needed <= allowed:
        return
    height, width = stack.shape
    why = "the given limit" if limit is not None else "60 % of the free memory"
    remedies = "Scale or crop the frames, free some memory, or raise --max-memory."
    if params.method != "paper":
        remedies += " The method “paper” needs less."
    raise TooLargeError(
        f"{len(stack)} frames of {width}×{height} need about {size_words(needed)}",
        f"expected at most {size_words(allowed)}, {why}",
        remedies,
    )
