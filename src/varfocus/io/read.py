"""From a place on disk to a focus stack."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from numpy.typing import ArrayLike

from varfocus.bugs import guarded
from varfocus.errors import FocusPositionsError
from varfocus.io.discover import Source, find_files
from varfocus.io.frames import FileFrame, probe_files
from varfocus.io.limits import within
from varfocus.io.selection import Selection
from varfocus.params import DEFAULT_LIMITS, Limits
from varfocus.stack import FocusStack


@guarded
def read_stack(
    source: Source,
    *,
    reverse: bool = False,
    focus: ArrayLike | None = None,
    unit: str | None = None,
    channel: str | int | None = None,
    time: int | None = None,
    series: str | int | None = None,
    limits: Limits = DEFAULT_LIMITS,
) -> FocusStack:
    """Open a focus stack; frames are decoded when they are asked for.

    Parameters
    ----------
    source : str, path or list of these
        A folder, of which all images are taken (sub-folders, hidden files and files that are not
        images are skipped, and so are camera RAW files and videos where there are other images); a
        pattern such as ``"shots/*.png"``; a list of files, in the order of focus; or one file that
        holds a stack: TIFF, OME-TIFF, video, ND2, CZI, LIF, Zarr, NPY, NPZ. Folders and patterns
        are sorted as people count: img2 before img10. Files are recognised by content.
    reverse : bool
        Put the last frame first.
    focus : array_like of shape (n,), optional
        Focus position of each file, in the order of the files: `reverse` turns both around.
    unit : str, optional
        Unit of `focus`, such as "mm".
    channel, time, series : str or int, optional
        Which stack is meant, by name or 0-based number, where a file holds several.
    limits : Limits
        How large files, frames and stack may be; nothing beyond is decoded.

    Returns
    -------
    FocusStack
        Its ``frames`` are `varfocus.io.FileFrame`, which also know path, page and format.

    Raises
    ------
    InputError
        If nothing is found, a file cannot be read, or the frames do not belong together.
    TooLargeError
        If a frame or the stack exceeds the limits.
    ParameterError
        If `source` does not name files.

    Examples
    --------
    >>> stack = read_stack("shots/*.tif")  # doctest: +SKIP
    >>> stack.names[0], stack.shape, stack.dtype  # doctest: +SKIP
    ('img1.tif', (1080, 1920), dtype('uint16'))
    """
    with within(limits):
        found = probe_files(find_files(source), Selection(channel, time, series))
    sizes = found.calibration
    stack = FocusStack(
        found.frames,
        files=tuple(frame.path for frame in found.frames),
        pixel_size=sizes.pixel_size,
        pixel_size_origin=sizes.pixel_size_origin,
        hints=_hints(found.frames),
    )
    if focus is None and sizes.focus:
        try:
            stack = stack.with_focus(sizes.focus, sizes.unit, sizes.focus_origin)
        except FocusPositionsError as error:  # the frames are good without them
            note = f"{sizes.focus_origin} is not used: {error.received}"
            stack = replace(stack, hints=(*stack.hints, note))
    stack = stack.with_focus(focus, unit)
    return stack.reversed() if reverse else stack


def _hints(frames: Sequence[FileFrame]) -> tuple[str, ...]:
    """Return what cameras recorded about focus, which is too coarse to be used unasked."""
    noted = [frame.header.subject_distance for frame in frames]
    distances = [distance for distance in noted if distance is not None]
    if not distances:
        return ()
    which = "all" if len(distances) == len(frames) else f"{len(distances)} of {len(frames)}"
    return (
        f"EXIF subject distance of {which} frames: {distances[0]:g} … {distances[-1]:g} m; not "
        "used, as cameras round it coarsely (give it with --focus-distances if it is right)",
    )
