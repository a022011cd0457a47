"""Will the job fit? Estimated before it starts, in bytes per pixel.

``paper``: a fixed number of bytes per pixel, whatever the number of frames, because frames go
through one by one. ``classic``: 4 bytes per pixel and frame more, for it keeps the focus volume.
``robust`` keeps contrast at two scales, 2 bytes each per pixel and frame, and two volumes of depth
labels, of which bands of rows suffice; its edge stage holds up to 16 frames. Array code needs twice
the contrast, and 16 bytes per pixel and label for volumes that it holds whole.
"""

from __future__ import annotations

from varfocus import engine
from varfocus.canvas.budget import allowed_bytes
from varfocus.curve.coordinate import label_count
from varfocus.edges import MOST_LAYERS
from varfocus.errors import TooLargeError
from varfocus.methods.robust import band_count
from varfocus.params import Params
from varfocus.stack import DECODED_AHEAD, FocusStack
from varfocus.units import size_words

BYTES_PER_PIXEL = {"paper": 130, "classic": 60, "robust": 90}
"""Working memory of each method beyond the frames."""

ARRAY_CODE_BYTES, TGV_BYTES = 90, 260
"""What any other energy than the paper's needs beyond that, per pixel, and TGV with any method."""
EDGE_BYTES = 40
"""What the edge stage needs beyond that, per pixel; with its frames and un-mixed colours."""

FUSION_BYTES = (46, 26)
"""Working memory of the fusion per pixel, and per pixel and channel."""


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
    fixed = _fixed_bytes(stack, params)
    return fixed + (_least_volumes(stack) if params.method == "robust" else 0)


def room_for_volumes(stack: FocusStack, params: Params, limit: int | None) -> int:
    """Return the bytes that the robust method's volumes may take within a limit."""
    return max(allowed_bytes(limit) - _fixed_bytes(stack, params), 0)


def _fixed_bytes(stack: FocusStack, params: Params) -> int:
    """Return what is needed whatever the bands: images of all kinds, and contrast per frame."""
    height, width = stack.shape
    per_frame = stack.channels * stack.dtype.itemsize
    volume = 0 if params.method == "paper" else 4 * len(stack)
    if params.method == "robust" and not engine.in_use():
        volume = 8 * len(stack)
    if params.method == "robust" and params.robust.tgv:
        volume += TGV_BYTES
    if params.method == "robust" and params.robust.edges == "auto":
        volume += EDGE_BYTES + min(len(stack), MOST_LAYERS) * per_frame + 4 * stack.channels
    if params.method == "paper" and (params.solve.regulariser != "tv" or params.solve.bregman):
        volume = TGV_BYTES if params.solve.regulariser == "tgv" else ARRAY_CODE_BYTES
    # The fused image, once in float32 and once in its own type.
    fused = stack.channels * 4 + per_frame
    ahead = (DECODED_AHEAD + 1) * per_frame
    fusing = FUSION_BYTES[0] + FUSION_BYTES[1] * stack.channels
    # Depth is done with when the fusion begins.
    working = max(BYTES_PER_PIXEL[params.method] + volume, fusing)
    return height * width * (working + fused + ahead)


def _least_volumes(stack: FocusStack) -> int:
    """Return what the robust method's volumes take at least."""
    labels = label_count(len(stack))
    if not engine.in_use():  # cost, its aggregate, and the sideways paths of either
        return 16 * labels * stack.shape[0] * stack.shape[1]
    from varfocus.minimise.banded_search import volume_bytes

    return volume_bytes(stack.shape, labels, band_count(stack.shape, labels, room=0))


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
    if params.method == "robust":
        remedies += " varfocus depth, or reconstruct_into in Python, works in tiles."
    else:
        remedies += " The method “robust” works in tiles."
    raise TooLargeError(
        f"{len(stack)} frames of {width}×{height} need about {size_words(needed)}",
        f"expected at most {size_words(allowed)}, {why}",
        remedies,
    )


def admit_pass(stack: FocusStack, limit: int | None) -> None:
    """Refuse frames of which not even a few fit, for work that goes through them one by one.

    Parameters
    ----------
    stack, limit
        As for `admit`.

    Raises
    ------
    TooLargeError
        With the numbers, and what to do.
    """
    (height, width), channels = stack.shape, stack.channels
    per_frame = (DECODED_AHEAD + 2) * channels * stack.dtype.itemsize
    working = FUSION_BYTES[0] + (FUSION_BYTES[1] + 4) * channels
    needed, allowed = height * width * (per_frame + working), allowed_bytes(limit)
    if needed > allowed:
        raise TooLargeError(
            f"frames of {width}×{height} need about {size_words(needed)}, one after the other",
            f"expected at most {size_words(allowed)}",
            "Scale or crop the frames, free some memory, or raise --max-memory.",
        )
