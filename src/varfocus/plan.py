"""One decision before a job begins: which method, as a whole or in tiles, how much memory and disk.

Made once by whoever begins a job (``varfocus depth``, ``fuse`` and ``batch``, the page, Python)
and obeyed from there on, so that the same stack and memory give the same result everywhere.

Memory is estimated in bytes per pixel. ``paper``: a fixed number, whatever the number of frames,
because frames go through one by one. ``classic``: 4 bytes per pixel and frame more, because it
keeps the focus volume. ``robust`` keeps contrast at two scales, 2 bytes each per pixel and frame,
and two volumes of depth labels, of which bands of rows suffice; its edge stage holds up to 16
frames. Array code needs twice the contrast, and 16 bytes per pixel and label for volumes that it
holds whole.

What does not fit as a whole is processed in tiles, with the same result: maps then lie on
disk.
Some minimisers see the whole image at once; what they take must fit into memory even so.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

from varfocus import edges, engine, units
from varfocus.canvas.budget import allowed_bytes
from varfocus.canvas.tiles import GRID
from varfocus.curve.coordinate import label_count
from varfocus.errors import ParameterError, TooLargeError
from varfocus.methods import detail, prepared, second_look, smoothness, veto
from varfocus.minimise.banded_search import WINDOW, band_count, band_disk_bytes, volume_bytes
from varfocus.params import (
    COMMON_STAGES,
    DEFAULT_LIMITS,
    AlignParams,
    Limits,
    Params,
    Resources,
    RobustParams,
)
from varfocus.stack import DECODED_AHEAD, FocusStack

BYTES_PER_PIXEL = {"paper": 130, "classic": 60, "robust": 190}
"""Working memory of each method beyond the frames."""

ARRAY_CODE_BYTES, TGV_BYTES = 90, 260
"""What any other energy than the paper's needs beyond that, per pixel, and TGV."""

ROF_BYTES = 60
"""What the total-variation denoising of ``classic`` takes per pixel."""

EDGE_BYTES, EDGE_TILE_BYTES = 48, 128
"""What the edge stage needs per pixel of the whole image, or of a tile, beside its frames and
un-mixed colours: of the whole image it looks at the surroundings of jumps only."""

FUSION_BYTES = (46, 26)
"""Working memory of the fusion per pixel, and per pixel and channel."""

WINDOW_BYTES = 230
"""Bytes per pixel of a tile that the refinement, and the maps around it, take."""

LOOK_MAP_BYTES = 16
"""Bytes per pixel of the maps that the second look leaves."""

OVERHEAD = 300_000_000
"""Bytes that the process takes beside its tiles."""

MOST_HELD = 256_000_000
"""Bytes of frames that are kept from the first time they are decoded until the picture is fused:
no more, because a result that nobody fuses keeps them."""

ALIGNING_FRAMES = 5
"""Frames that must fit into memory for the stack to be aligned."""

LARGEST_PICTURE = int((veto.MOST_MAGNIFIED * veto.REFERENCE_SIZE) ** 2)
"""Largest frame that is registered, in pixels. Beyond that, registration on shrunk frames is less
exact than the stage of a microscope, and would move frames that are aligned."""

SIDES = (4096, 3072, 2048, 1536, 1024, 512)
"""Sides of tiles that are tried, in pixels."""

FUSION_REACH = 192
"""Pixels around a pixel that its colour depends on: five levels of a pyramid."""

REMEDIES = "Scale or crop the frames, free some memory, or raise --max-memory."


@dataclass(frozen=True)
class Plan:
    """How a stack will be processed.

    Attributes
    ----------
    params : Params
        Parameters with a definite method, and with what does not fit left out.
    side : int or None
        Side of the tiles in pixels; None if the image is worked on as a whole.
    room : int
        Bytes that the volumes of ``robust`` may take.
    memory : int
        Bytes of memory that it will take at most.
    disk : int
        Bytes of temporary disk space that are needed.
    aligns : bool
        False if frames that do not fit into memory are assumed to be aligned.
    holds : bool
        Whether aligned frames are kept once they are decoded: if they are few, and the edge stage
        would hold them anyway.
    warnings : tuple of str
        What differs from what was asked for, in words.
    words : str
        Why in tiles, and how, in one line; empty for whole images.
    """

    params: Params
    side: int | None
    room: int
    memory: int
    disk: int = 0
    aligns: bool = True
    holds: bool = False
    warnings: tuple[str, ...] = ()
    words: str = ""


def plan(
    stack: FocusStack,
    params: Params,
    resources: Resources = Resources(),
    limits: Limits = DEFAULT_LIMITS,
) -> Plan:
    """Decide how a stack is processed.

    As a whole if it fits; else in tiles, with the same result; else, because tiles have a least
    size, with less: ``robust`` without its edge stage, or, where the method was left open,
    ``paper``.

    Parameters
    ----------
    stack : FocusStack
        Frames as given.
    params : Params
        Parameters as asked for.
    resources : Resources
        Memory that may be used.
    limits : Limits
        How large a frame may be that is decoded whole.

    Returns
    -------
    Plan
        To be handed to `varfocus.pipeline.run`.

    Raises
    ------
    TooLargeError
        If it cannot be done within the memory.
    ParameterError
        If frames are to be aligned of which not even a few fit.
    """
    limit = None if resources.max_memory is None else units.parse_size(resources.max_memory)
    allowed = allowed_bytes(limit)
    wanted = replace(params, method="robust") if params.method == "auto" else params
    part = counting(stack, params)
    decoded = math.prod((part if stack.windowed else stack).shape)
    decodable = decoded <= limits.max_pixels
    if decodable and needed_bytes(part, wanted) <= allowed:
        return _whole(part, wanted, allowed)
    try:
        return in_tiles(stack, wanted, allowed)
    except TooLargeError as error:
        refusal = error
    for lesser, note in _lesser(part, params, wanted, allowed):
        if decodable and needed_bytes(part, lesser) <= allowed:
            return replace(_whole(part, lesser, allowed), warnings=(note,))
    if needed_bytes(part, wanted) > OVERHEAD:
        raise refusal
    raise _too_large(part, wanted, limit)  # so small that tiles would not help


def admit(stack: FocusStack, params: Params, limit: int | None) -> None:
    """Refuse a job that works on the whole image and would not fit.

    Parameters
    ----------
    stack : FocusStack
        Frames.
    params : Params
        Gives the method.
    limit : int or None
        Bytes it may take; None allows 60 % of what is free.

    Raises
    ------
    TooLargeError
        With the numbers, and what to do.
    """
    if needed_bytes(stack, params) > allowed_bytes(limit):
        raise _too_large(stack, params, limit)


def _too_large(stack: FocusStack, params: Params, limit: int | None) -> TooLargeError:
    why = "60 % of the free memory" if limit is None else "the given limit"
    return TooLargeError(
        f"{_told(stack)} need about {units.size_words(needed_bytes(stack, params))}",
        f"expected at most {units.size_words(allowed_bytes(limit))}, {why}",
        REMEDIES,
    )


def counting(stack: FocusStack, params: Params) -> FocusStack:
    """Return the part of the frames that was asked for."""
    return stack if params.area.box is None else stack.cropped(params.area.box)


def _whole(stack: FocusStack, params: Params, allowed: int) -> Plan:
    fixed = _fixed_bytes(stack, params)
    room, memory = allowed - fixed, fixed
    if params.method == "robust":
        memory += max(_volumes(stack, room), _look(stack, params))
    holds = params.method == "robust" and params.robust.edges == "auto"
    holds &= len(stack) <= edges.MOST_LAYERS
    holds &= len(stack) * math.prod(stack.shape) * _pixel_bytes(stack) <= MOST_HELD
    return Plan(params, None, room, memory, holds=holds)


def _lesser(
    stack: FocusStack, asked: Params, wanted: Params, allowed: int
) -> Iterator[tuple[Params, str]]:
    """Yield what may be done instead, and what to say about it."""
    if wanted.method != "robust":
        return
    may_use = f"may use {units.size_words(allowed)}"
    if wanted.robust.edges == "auto":
        needed = units.size_words(needed_bytes(stack, wanted))
        yield (
            replace(wanted, robust=replace(wanted.robust, edges="off")),
            f"the edge stage would need {needed} in all and {may_use}; it was left out, and depth "
            "jumps are less accurate. Smaller frames or more memory (--max-memory) allow it.",
        )
    if asked.method == "auto":
        plain = replace(wanted, robust=replace(wanted.robust, edges="off"))
        note = (
            f"the method “robust” would need {units.size_words(needed_bytes(stack, plain))} and "
            f"{may_use}; “paper” was used instead, which is less accurate. "
            "Smaller frames or more memory (--max-memory) allow “robust”."
        )
        if asked.robust != RobustParams():
            note += " The parameters of “robust” that were given had no effect."
        kept = {name: getattr(asked, name) for name in COMMON_STAGES}
        yield Params("paper", **kept), note


def needed_bytes(stack: FocusStack, params: Params) -> int:
    """Return an upper estimate of the least that a reconstruction as a whole takes.

    Parameters
    ----------
    stack : FocusStack
        Frames.
    params : Params
        Gives the method; "auto" means robust.

    Returns
    -------
    int
        Bytes beyond what is held already.
    """
    if params.method == "auto":
        params = replace(params, method="robust")
    fixed = _fixed_bytes(stack, params)
    if params.method != "robust":
        return fixed
    return fixed + max(_volumes(stack, 0), _look(stack, params))


def room_for_volumes(stack: FocusStack, params: Params, limit: int | None) -> int:
    """Return the bytes that the robust method's volumes may take within a limit."""
    return max(allowed_bytes(limit) - _fixed_bytes(stack, params), 0)


def _fixed_bytes(stack: FocusStack, params: Params) -> int:
    """Return what is needed whatever the bands: images of all kinds, and contrast per frame."""
    per_frame = _pixel_bytes(stack)
    volume = 0 if params.method == "paper" else 4 * len(stack)
    if params.method == "robust" and not engine.in_use():
        volume = 8 * len(stack)
    if params.method == "robust" and params.robust.reblur == "auto":
        volume += LOOK_MAP_BYTES
    if params.method == "robust" and params.robust.edges == "auto":
        volume += EDGE_BYTES + min(len(stack), edges.MOST_LAYERS) * per_frame + 4 * stack.channels
    if params.method == "paper":
        volume = _energy_bytes(params)
    # The fused image, once in float32 and once in its own type.
    fused = stack.channels * 4 + per_frame
    ahead = (DECODED_AHEAD + 1) * per_frame
    # Depth is finished when the fusion begins.
    working = max(BYTES_PER_PIXEL[params.method] + volume, _fusing(stack))
    return math.prod(stack.shape) * (working + fused + ahead)


def _look(stack: FocusStack, params: Params) -> int:
    """Return what the second look takes, which is over before volumes are made."""
    if params.robust.reblur == "off":
        return 0
    labels = label_count(len(stack))
    return second_look.look_bytes(stack.shape, len(stack), stack.channels, labels)


def _told(stack: FocusStack) -> str:
    return f"{len(stack)} frames of {stack.shape[1]}×{stack.shape[0]}"


def _pixel_bytes(stack: FocusStack) -> int:
    return stack.channels * stack.dtype.itemsize


def _fusing(stack: FocusStack) -> int:
    return FUSION_BYTES[0] + FUSION_BYTES[1] * stack.channels


def _energy_bytes(params: Params) -> int:
    """Return what other energies than the paper's need beyond it, per pixel."""
    if params.solve.regulariser == "tgv":
        return TGV_BYTES
    return 0 if params.solve.regulariser == "tv" and not params.solve.bregman else ARRAY_CODE_BYTES


def _volumes(stack: FocusStack, room: int, on_disk: bool = False) -> int:
    """Return what the robust method's volumes take within `room`, or at least."""
    labels = label_count(len(stack))
    if not engine.in_use():  # cost, its aggregate, and the sideways paths of either
        return 16 * labels * math.prod(stack.shape)
    bands = band_count(stack.shape, len(stack), labels, room, on_disk)
    return volume_bytes(stack.shape, len(stack), labels, bands, on_disk)


def in_tiles(stack: FocusStack, params: Params, allowed: int) -> Plan:
    """Plan to process a stack in tiles within `allowed` bytes, whether it must be or not.

    Parameters
    ----------
    stack : FocusStack
        Frames as given.
    params : Params
        With a definite method.
    allowed : int
        Bytes of memory.

    Returns
    -------
    Plan
        With tiles as large as fit.

    Raises
    ------
    TooLargeError
        If not even the smallest tiles, or what sees the whole image, would fit.
    """
    usable = allowed - OVERHEAD
    part = counting(stack, params)
    needed, told = needed_bytes(part, params), _told(part)
    if not engine.in_use() or (params.method == "robust" and not prepared.in_tiles(params.robust)):
        raise TooLargeError(
            f"{told} need about {units.size_words(needed)}",
            f"expected at most {units.size_words(allowed)}: without its compiled kernels varfocus "
            "does not work in tiles",
            REMEDIES,
        )
    at_once = math.prod(part.shape) * _solver_bytes(params)
    if at_once > usable:
        raise TooLargeError(
            f"{told} need about {units.size_words(at_once + OVERHEAD)} even in tiles: the "
            "minimisation sees the whole image at once",
            f"expected at most {units.size_words(allowed)}",
            f"{REMEDIES} The method “robust” has no such step.",
        )
    whole_frames = 0 if stack.windowed else 3 * math.prod(stack.shape) * _pixel_bytes(stack)
    if params.area.mask is not None:
        whole_frames = max(whole_frames, 4 * math.prod(stack.shape))
    band = 0
    if params.method == "robust":
        band = max(_volumes(part, 0, on_disk=True), _look(part, params))
    least = max(tile_bytes(part, params, SIDES[-1]), band, whole_frames)
    if least > usable:
        raise TooLargeError(
            f"{told} need about {units.size_words(least + OVERHEAD)} even in tiles",
            f"expected at most {units.size_words(allowed)}",
            "Raise --max-memory"
            + ("." if stack.windowed else ", or convert the frames to tiled TIFF or Zarr."),
        )
    aligns = _to_align(stack, params.align, usable)
    side = next(s for s in SIDES if tile_bytes(part, params, s) <= usable)
    disk = disk_bytes(part, params, usable, unpacked=aligns or not stack.windowed)
    words = (
        f"{told} would need {units.size_words(needed)} of memory and may use "
        f"{units.size_words(allowed)}: they are processed in tiles of {side}×{side}, with "
        f"{units.size_words(disk)} of temporary disk space"
    )
    # Tiles and bands are made as large as fits.
    return Plan(params, side, usable, allowed, disk, aligns, words=words)


def _to_align(stack: FocusStack, params: AlignParams, usable: int) -> bool:
    """Tell whether frames are to be aligned, and can be: each is then decoded whole.

    Raises
    ------
    ParameterError
        If it was asked for, and they cannot.
    """
    asked = params.align not in ("auto", "none") or params.transforms_from is not None
    if params.align == "none" and not asked and not params.auto_order:
        return False
    size = math.prod(stack.shape)
    frame = size * _pixel_bytes(stack)
    if ALIGNING_FRAMES * frame <= usable and size <= DEFAULT_LIMITS.max_pixels:
        return asked or params.auto_order or size <= LARGEST_PICTURE
    if asked or params.auto_order:
        raise ParameterError(
            f"received a request to align frames of {units.size_words(frame)} each",
            f"expected {ALIGNING_FRAMES} of them to fit into {units.size_words(usable)}",
            "Align them before they are stitched, or raise --max-memory.",
        )
    return False


def _solver_bytes(params: Params) -> int:
    """Return what the steps take that see the whole image at once, per pixel."""
    if params.method == "robust":
        return 0
    if params.method == "paper":
        return BYTES_PER_PIXEL["paper"] + _energy_bytes(params)
    return ROF_BYTES if params.classic.tv_weight else 0


def tile_bytes(stack: FocusStack, params: Params, side: int) -> int:
    """Return what a tile of a side takes at most, with its surroundings.

    Parameters
    ----------
    stack : FocusStack
        Frames.
    params : Params
        With a definite method.
    side : int
        In pixels.
    """
    n, per_frame = len(stack), _pixel_bytes(stack)
    reach = FUSION_REACH + params.fusion.front
    edge_bytes = 0
    if params.method == "robust":
        windows = veto.veto_windows(math.prod(stack.shape))
        reach = max(reach, sum(windows) // 2, smoothness.LIGHT_REACH, detail.REACH)
        if params.robust.edges == "auto":
            layers = min(n, edges.MOST_LAYERS) * per_frame
            per_pixel = EDGE_TILE_BYTES + layers + 8 * stack.channels
            edge_bytes = (side + 2 * edges.PART_REACH + edges.GRID) ** 2 * per_pixel
        measuring = 8 * n + 3 * per_frame + 40
    elif params.method == "paper":
        reach = max(reach, params.start.start_window // 2 + 1)
        measuring = 4 * (params.curve.degree + 1) + 3 * per_frame + 80
    else:
        support = params.classic.window // 2 + params.classic.guided
        reach = max(reach, support, params.classic.median // 2)
        measuring = 8 * n + 3 * per_frame + 80
    fusing = _fusing(stack) + 60 + 4 * per_frame
    per_pixel = max(measuring, WINDOW_BYTES if params.method == "robust" else 0, fusing)
    return int(max((side + 2 * reach + GRID) ** 2 * per_pixel, edge_bytes))


def disk_bytes(stack: FocusStack, params: Params, room: int, unpacked: bool) -> int:
    """Return the disk space that working in tiles takes.

    Parameters
    ----------
    stack : FocusStack
        Frames.
    params : Params
        With a definite method.
    room : int
        Bytes that a band of rows may take.
    unpacked : bool
        Whether the frames are decoded into scratch files first.

    Returns
    -------
    int
        Bytes: maps in between, and the result with its coarser levels.
    """
    n, size = len(stack), math.prod(stack.shape)
    between = 0
    if params.method == "robust":
        labels = label_count(n)
        bands = band_count(stack.shape, n, labels, room, on_disk=True)
        between = band_disk_bytes(stack.shape, labels, bands)
        maps = 4 * n + 2 * WINDOW + 6 + 4 * (24 + len(smoothness.STRENGTHS) + 2)
        if params.robust.edges == "auto":
            maps += 6 + 4 * stack.channels
    elif params.method == "paper":
        maps = 4 * (params.curve.degree + 1) + 8
    else:
        maps = 4 * n + 8
    results = 3 * (22 + _pixel_bytes(stack))  # with coarser levels, and written
    frames = n * _pixel_bytes(stack) if unpacked else 0
    return between + size * (maps + results + frames)


def admit_pass(stack: FocusStack, limit: int | None) -> None:
    """Refuse frames of which not even a few fit, for work that goes through them one by one.

    Parameters
    ----------
    stack : FocusStack
        Frames.
    limit : int or None
        Bytes it may take; None allows 60 % of what is free.

    Raises
    ------
    TooLargeError
        With the numbers, and what to do.
    """
    (height, width), channels = stack.shape, stack.channels
    per_frame = (DECODED_AHEAD + 2) * _pixel_bytes(stack)
    working = _fusing(stack) + 4 * channels
    needed, allowed = height * width * (per_frame + working), allowed_bytes(limit)
    if needed > allowed:
        raise TooLargeError(
            f"frames of {width}×{height} need about {units.size_words(needed)}, one after the "
            "other",
            f"expected at most {units.size_words(allowed)}",
            REMEDIES,
        )
