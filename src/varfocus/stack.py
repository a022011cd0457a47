"""A focus stack: frames that are decoded when asked for, and where each was focused.

Properties come before pixels: shape and dtype of every frame are known, and known to agree,
before the first frame is decoded.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol, cast, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from varfocus.arrays import real_numbers
from varfocus.errors import (
    FocusPositionsError,
    InputError,
    MixedFramesError,
    NotFiniteError,
    ParameterError,
    TooFewFramesError,
    UnreadableFrameError,
)
from varfocus.geometry import Rectangle
from varfocus.units import LENGTHS, METRES, PixelSize, checked_unit, convert

FINEST_STEP = 2.0**-22
"""Smallest step of the focus relative to the largest position: 4 steps of a float32 there."""

FRAMES = "frames"
"""The unit of depth when no focus positions are known."""

LARGEST_VALUE = 1e15
"""Of floating-point pixels."""

ORDINARY = 2.0**-10, 2.0**17
"""Floating-point pixels of these sizes are taken as they are."""

LOOKED_AT = 2**24
"""Pixels of a frame that are decoded at a time to find its largest value."""

DECODED_AHEAD = 2
"""Frames that are decoded on threads while an earlier one is worked on."""


class Frame(Protocol):
    """One frame: its properties now, its pixels on demand."""

    @property
    def name(self) -> str:
        """What to call the frame in front of people."""

    @property
    def shape(self) -> tuple[int, ...]:
        """``(H, W)`` or ``(H, W, 3)``, as `read` will return it."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype that `read` will return: uint8, uint16 or float32."""

    def read(self) -> NDArray[Any]:
        """Decode the pixels."""


@runtime_checkable
class WindowedFrame(Frame, Protocol):
    """A frame of which a part can be had without decoding the rest."""

    @property
    def windowed(self) -> bool:
        """False if the file can only be decoded as a whole."""

    def read_window(self, rows: slice, columns: slice) -> NDArray[Any]:
        """Decode these rows and columns, slices with a start and a stop within the frame."""


class FrameOver:
    """What a frame that is made of another has of it, unless it says otherwise."""

    frame: Frame

    @property
    def name(self) -> str:
        """Name of the frame."""
        return self.frame.name

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the frame."""
        return self.frame.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """Number type of the frame."""
        return self.frame.dtype


class SamePixels(FrameOver):
    """A frame with the pixels of another: what that can decode in parts, it can."""

    @property
    def windowed(self) -> bool:
        """Whether parts can be decoded without the rest."""
        return isinstance(self.frame, WindowedFrame) and self.frame.windowed

    def read(self) -> NDArray[Any]:
        """Decode the pixels."""
        return self.frame.read()

    def read_window(self, rows: slice, columns: slice) -> NDArray[Any]:
        """Decode some rows and columns."""
        if isinstance(self.frame, WindowedFrame):
            return self.frame.read_window(rows, columns)
        return self.frame.read()[rows, columns].copy()  # the rest is given back at once


@dataclass(frozen=True)
class FrameWindow(SamePixels):
    """A part of a frame, decoded without the rest where its file allows."""

    frame: Frame
    rows: slice
    columns: slice

    @property
    def shape(self) -> tuple[int, ...]:
        """Height and width of the part, and channels."""
        sides = (self.rows.stop - self.rows.start, self.columns.stop - self.columns.start)
        return (*sides, *self.frame.shape[2:])

    def read(self) -> NDArray[Any]:
        """Decode the part."""
        return super().read_window(self.rows, self.columns)

    def read_window(self, rows: slice, columns: slice) -> NDArray[Any]:
        """Decode a part of the part."""
        top, left = self.rows.start, self.columns.start
        return super().read_window(
            slice(top + rows.start, top + rows.stop),
            slice(left + columns.start, left + columns.stop),
        )


@dataclass(frozen=True)
class ArrayFrame:
    """A frame that is already in memory."""

    name: str
    pixels: NDArray[Any]

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the pixels."""
        return self.pixels.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """Number type of the pixels."""
        return self.pixels.dtype

    @property
    def windowed(self) -> bool:
        """Any part of an array can be had."""
        return True

    def read(self) -> NDArray[Any]:
        """Return the pixels."""
        return self.pixels

    def read_window(self, rows: slice, columns: slice) -> NDArray[Any]:
        """Return some of the pixels."""
        return self.pixels[rows, columns]


@dataclass
class HeldFrame(FrameOver):
    """A frame that is decoded once, and kept until it is let go: from then on, no more."""

    frame: Frame
    pixels: NDArray[Any] | None = None
    keeps: bool = True

    @property
    def windowed(self) -> bool:
        """Any part of an array can be had."""
        return True

    def read(self) -> NDArray[Any]:
        """Return the pixels, decoded the first time."""
        pixels = self.pixels
        if pixels is None:
            pixels = self.frame.read()
            self.pixels = pixels if self.keeps else None
        return pixels

    def read_window(self, rows: slice, columns: slice) -> NDArray[Any]:
        """Return some of the pixels."""
        return self.read()[rows, columns]


@dataclass(frozen=True, repr=False)
class FocusStack:
    """Frames of one scene, each focused at a different distance.

    Parameters
    ----------
    frames : sequence of Frame
        At least three, in the order of focus: two cannot show where focus is best.
    focus : array_like of shape (n,), optional
        Focus position or distance of each frame, strictly increasing or decreasing.
    unit : str
        Unit of `focus` and therefore of the depth; ``"frames"`` when `focus` is None.
    files : sequence of Path
        Where the frames came from, for the record.
    pixel_size : PixelSize, optional
        Size of a pixel in the scene, across the optical axis.
    focus_origin, pixel_size_origin : str
        Their source: "given", "OME PhysicalSizeZ", …; empty where nothing is known.
    hints : sequence of str
        What the files say about focus that is not trusted enough to be used.
    inverted : bool
        Count depth from the largest focus position downwards: where positions are distances from
        the lens, depth is then the height above the farthest one.

    Raises
    ------
    TooFewFramesError, MixedFramesError, FocusPositionsError
        If the frames do not make a stack.
    """

    frames: Sequence[Frame]
    focus: NDArray[np.float64] | None = None
    unit: str = FRAMES
    files: Sequence[Path] = field(default=())
    pixel_size: PixelSize | None = None
    focus_origin: str = ""
    pixel_size_origin: str = ""
    hints: Sequence[str] = ()
    inverted: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "frames", tuple(self.frames))
        _check_frames(self.frames)
        if self.focus is not None:
            object.__setattr__(self, "focus", _checked_focus(self.focus, len(self.frames)))
            object.__setattr__(self, "unit", checked_unit(self.unit))

    @classmethod
    def from_array(
        cls, images: ArrayLike, focus: ArrayLike | None = None, unit: str | None = None
    ) -> FocusStack:
        """Make a stack of an array in memory.

        Parameters
        ----------
        images : array_like of shape (n, H, W) or (n, H, W, C)
            C of 1, 3 or 4; a fourth channel is alpha and is ignored. Any of uint8, uint16, float.
        focus : array_like of shape (n,), optional
            Focus position of each frame.
        unit : str, optional
            Unit of `focus`.

        Returns
        -------
        FocusStack
            Frames are views of `images` where dtype and channels allow.
        """
        if isinstance(images, str | Path):
            raise InputError(
                f"received the path {str(images)!r}",
                "expected an array of frames",
                "Read the files first: varfocus.read_stack(path).",
            )
        if isinstance(images, Iterator):
            raise InputError(
                f"received a {type(images).__name__}, which may have no end",
                "expected an array or a list of frames",
                "Make a list of it: list(frames).",
            )
        parts = images if isinstance(images, list | tuple) else (images,)
        if any(np.ma.is_masked(part) for part in parts):
            raise InputError(
                "received frames with masked pixels",
                "expected a number for every pixel of every frame",
                "Fill them, for example by the mean of their neighbours; leave out what does not "
                "count in all frames by a mask: mask=path.",
            )
        try:
            array = np.asarray(images)
        except ValueError as error:
            raise InputError(
                f"received frames that do not form an array: {error}",
                "expected frames of equal size",
            ) from error
        if array.ndim not in (3, 4) or (array.ndim == 4 and array.shape[-1] not in (1, 2, 3, 4)):
            raise InputError(
                f"received an array of shape {array.shape}",
                "expected (frames, height, width) or (frames, height, width, channels) "
                "with 1 to 4 channels",
                "Put the frames on the first axis and the channels on the last.",
            )
        array = supported_dtype(array, "the array")
        if array.ndim == 4:  # else the last axis is the width, however narrow
            array = without_alpha(array)
        frames = [ArrayFrame(f"frame {k}", pixels) for k, pixels in enumerate(array)]
        return cls(frames).with_focus(focus, unit)

    def __repr__(self) -> str:
        about = "no focus positions"
        if self.focus is not None:
            about = f"focus from {self.focus[0]:g} to {self.focus[-1]:g} {self.unit}"
        return f"<FocusStack: {len(self)} frames, {describe(self.frames[0])}, {about}>"

    def __len__(self) -> int:
        return len(self.frames)

    def __iter__(self) -> Iterator[NDArray[Any]]:
        return (self.read(k) for k in range(len(self)))

    @property
    def shape(self) -> tuple[int, int]:
        """Height and width of every frame."""
        height, width = self.frames[0].shape[:2]
        return height, width

    @property
    def channels(self) -> int:
        """1 for grey, 3 for colour."""
        return 1 if len(self.frames[0].shape) == 2 else self.frames[0].shape[2]

    @property
    def dtype(self) -> np.dtype[Any]:
        """Number type of every frame."""
        return self.frames[0].dtype

    @cached_property
    def scale(self) -> float:
        """Factor that maps pixel values to [0, 1].

        1 for floating-point frames, unless their numbers are so large or small that contrast, of
        which the kernels keep 2⁻⁴⁰ to 2²⁴, would leave its range: then the power of 2 that brings
        the middle frame to [½, 1).
        """
        if np.issubdtype(self.dtype, np.integer):
            return 1.0 / float(np.iinfo(self.dtype).max)
        largest = self._largest(len(self) // 2)
        if largest == 0.0 or ORDINARY[0] <= largest <= ORDINARY[1]:
            return 1.0
        return math.ldexp(1.0, min(-math.frexp(largest)[1], 100))  # a float32 itself

    def _largest(self, k: int) -> float:
        """Return the largest absolute value of a frame, decoded in parts where that is possible."""
        frame, (height, width) = self.frames[k], self.shape
        if height * width > LOOKED_AT and isinstance(frame, WindowedFrame) and frame.windowed:
            step, across = max(LOOKED_AT // width, 1), slice(0, width)
            rows = [slice(top, min(top + step, height)) for top in range(0, height, step)]
            parts = (frame.read_window(some, across) for some in rows)
            return max(float(max(part.max(), -part.min())) for part in parts)
        middle = self.read(k)
        return float(max(middle.max(), -middle.min()))

    @property
    def depths(self) -> NDArray[np.float64] | None:
        """Depth of each frame in `unit`, shape ``(n,)``; None for the frame numbers themselves."""
        if not self.inverted:
            return self.focus
        positions = np.arange(len(self), dtype=np.float64) if self.focus is None else self.focus
        return float(positions.max()) - positions

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the frames, in order."""
        return tuple(frame.name for frame in self.frames)

    def read(self, k: int) -> NDArray[Any]:
        """Decode frame `k` as stored and check that it is what its header says.

        Parameters
        ----------
        k : int
            0-based frame number.

        Returns
        -------
        ndarray of shape (H, W) or (H, W, 3)
            Pixels in the stack's dtype.
        """
        frame = self.frames[k]
        pixels = frame.read()
        if pixels.shape != frame.shape or pixels.dtype != frame.dtype:
            raise UnreadableFrameError(
                f"{frame.name}: decoded to {pixels.shape} {pixels.dtype}",
                f"expected {frame.shape} {frame.dtype}, as its header says",
                "The file is damaged or changed while it was read; copy it again.",
            )
        if np.issubdtype(pixels.dtype, np.floating) and not np.isfinite(pixels).all():
            bad = int(pixels.size - np.isfinite(pixels).sum())
            raise NotFiniteError(
                f"{frame.name}: {bad} of {pixels.size} values are NaN or infinite",
                "expected finite numbers",
                "Replace them, for example by the mean of their neighbours, or leave the frame "
                "out.",
            )
        if np.issubdtype(pixels.dtype, np.floating):
            largest = float(max(pixels.max(), -pixels.min()))
            if largest > LARGEST_VALUE:  # contrast is of the fourth order in places
                raise InputError(
                    f"{frame.name}: values up to {largest:.3g}",
                    f"expected none beyond {LARGEST_VALUE:g}, so that their contrast is a number",
                    "Divide all frames by the same number.",
                )
        return pixels

    def read_unit(self, k: int) -> NDArray[np.float32]:
        """Decode frame `k` as float32, integers mapped to [0, 1]."""
        return self.as_unit(self.read(k))

    def as_unit(self, pixels: NDArray[Any]) -> NDArray[np.float32]:
        """Return decoded pixels of this stack as float32, integers mapped to [0, 1]."""
        return pixels.astype(np.float32) * np.float32(self.scale)

    def ahead(self, workers: int = DECODED_AHEAD) -> Iterator[NDArray[Any]]:
        """Decode the frames in order, on threads, a few ahead of the caller.

        Parameters
        ----------
        workers : int
            Threads, and frames that may wait decoded. Frames in memory need none.

        Yields
        ------
        ndarray of shape (H, W) or (H, W, 3)
            As `read` returns them.
        """
        if all(isinstance(frame, ArrayFrame) for frame in self.frames):
            yield from self
            return
        pending: deque[Future[NDArray[Any]]] = deque()
        with ThreadPoolExecutor(workers, thread_name_prefix="varfocus-decode") as pool:
            try:
                for k in range(len(self)):
                    pending.append(pool.submit(copy_context().run, self.read, k))
                    if len(pending) > workers:
                        yield pending.popleft().result()
                while pending:
                    yield pending.popleft().result()
            finally:  # the caller may stop half-way
                for future in pending:
                    future.cancel()

    def held(self) -> FocusStack:
        """Return the same stack, whose frames are decoded once and kept until `let_go`."""
        if all(isinstance(frame, ArrayFrame) for frame in self.frames):
            return self
        return replace(self, frames=[HeldFrame(frame) for frame in self.frames])

    def let_go(self) -> None:
        """Give back the memory of held frames; they are decoded again whenever they are read."""
        for frame in self.frames:
            if isinstance(frame, HeldFrame):
                frame.keeps, frame.pixels = False, None

    def reversed(self) -> FocusStack:
        """Return the same stack with the last frame first."""
        return replace(
            self,
            frames=self.frames[::-1],
            files=tuple(self.files)[::-1],
            focus=None if self.focus is None else self.focus[::-1],
        )

    def with_focus(
        self, focus: ArrayLike | None, unit: str | None = None, origin: str = "given"
    ) -> FocusStack:
        """Return the same frames with these focus positions.

        Parameters
        ----------
        focus : array_like of shape (n,) or None
            One position per frame; None keeps those that the stack has.
        unit : str, optional
            Unit of the positions; without positions, the one to convert to.
        origin : str Source of the positions.

        Returns
        -------
        FocusStack
            The stack with the new positions.
        """
        unit = None if unit is None else checked_unit(unit)
        if focus is None and unit is None:
            return self
        if focus is None and self.focus is None:
            raise FocusPositionsError(
                f"received the unit {unit!r} without focus positions",
                "expected one focus position per frame, to which the unit belongs",
                "Give the positions too, or leave the unit out: depth is then in frames.",
            )
        if focus is None:
            return self._in_unit(unit or self.unit)
        positions = _checked_focus(focus, len(self))
        return replace(self, focus=positions, unit=unit or "units", focus_origin=origin)

    def _in_unit(self, unit: str) -> FocusStack:
        assert self.focus is not None
        if self.unit in METRES and unit in METRES:
            return replace(self, focus=convert(self.focus, self.unit, unit), unit=unit)
        return replace(self, unit=unit)  # one of them is only a name, without a known length

    def without(self, numbers: Collection[int]) -> FocusStack:
        """Return the stack without some of its frames.

        Parameters
        ----------
        numbers : collection of int
            Which, from 0.

        Raises
        ------
        ParameterError
            If there are no such frames.
        """
        odd = sorted(set(numbers) - set(range(len(self))))
        if odd:
            raise ParameterError(
                f"received frame {odd[0]} to leave out",
                f"expected frames from 0 to {len(self) - 1}",
            )
        kept = [k for k in range(len(self)) if k not in numbers]
        files = tuple(self.files)
        return replace(
            self,
            frames=[self.frames[k] for k in kept],
            files=tuple(files[k] for k in kept) if len(files) == len(self) else files,
            focus=None if self.focus is None else self.focus[kept],
        )

    def cropped(self, box: tuple[int, int, int, int]) -> FocusStack:
        """Return a rectangle of every frame.

        Parameters
        ----------
        box : Rectangle or tuple of int
            Left, top, width and height in pixels.

        Raises
        ------
        ParameterError
            If it does not lie inside the frames.
        """
        box = Rectangle(*box)
        if not box.lies_in(self.shape):
            height, width = self.shape
            raise ParameterError(
                f"received crop = {box} for frames of {width}×{height}",
                "expected x,y,width,height of a rectangle inside the frames",
            )
        rows, columns = box.window
        return replace(self, frames=[FrameWindow(frame, rows, columns) for frame in self.frames])

    @property
    def windowed(self) -> bool:
        """Whether parts of all frames can be decoded without the rest."""
        kinds = {type(frame): frame for frame in self.frames}.values()
        if not all(
            isinstance(frame, WindowedFrame) for frame in kinds
        ):  # takes long to ask of each
            return False
        return all(cast(WindowedFrame, frame).windowed for frame in self.frames)

    def window(self, rows: slice, columns: slice) -> FocusStack:
        """Return a part of the scene as a stack of its own, decoded when it is read.

        Parameters
        ----------
        rows, columns : slice
            With a start and a stop within the frames, and no step.

        Returns
        -------
        FocusStack
            With the `scale` of the whole; the stack itself if that is all of it.
        """
        if (rows, columns) == Rectangle.whole(self.shape).window:
            return self
        part = replace(self, frames=[FrameWindow(frame, rows, columns) for frame in self.frames])
        part.__dict__["scale"] = self.scale  # a cached property: parts go together
        return part

    def with_pixel_size(self, size: PixelSize, origin: str = "given") -> FocusStack:
        """Return the same frames with this pixel size, and its source."""
        return replace(self, pixel_size=size, pixel_size_origin=origin)


def without_alpha(pixels: NDArray[Any]) -> NDArray[Any]:
    """Drop an alpha channel and a lone grey axis from ``(..., H, W, C)`` pixels."""
    if pixels.ndim >= 3 and pixels.shape[-1] in (1, 2):
        return pixels[..., 0]
    if pixels.ndim >= 3 and pixels.shape[-1] == 4:
        return pixels[..., :3]
    return pixels


def supported_dtype(pixels: NDArray[Any], name: str) -> NDArray[Any]:
    """Return the pixels as uint8, uint16 or float32 without losing a bit of an image.

    Raises
    ------
    InputError
        If the dtype is none of bool, uint8, uint16, float16, float32, float64.
    """
    if pixels.dtype == np.bool_:
        return pixels.astype(np.uint8) * np.uint8(255)
    native = pixels.dtype.newbyteorder("=")
    if native in (np.uint8, np.uint16):
        return pixels.astype(native, copy=False)
    if np.issubdtype(pixels.dtype, np.floating):
        return pixels.astype(np.float32, copy=False)
    raise InputError(
        f"{name}: received pixels of type {pixels.dtype}",
        "expected uint8, uint16 or floating point",
        "Convert the frames, for example to 16-bit TIFF.",
    )


def _check_frames(frames: Sequence[Frame]) -> None:
    if len(frames) < 3:
        raise TooFewFramesError(
            f"received {len(frames)} frame{'' if len(frames) == 1 else 's'}: "
            + (", ".join(frame.name for frame in frames) or "none"),
            "expected a focus stack: at least 3 frames of one scene, focused differently",
            "Give the folder with all frames, or a multi-page file.",
        )
    first = frames[0]
    if not all(first.shape):
        raise InputError(f"received frames of {describe(first)}", "expected at least one pixel")
    for frame in frames[1:]:
        if frame.shape != first.shape or frame.dtype != first.dtype:
            raise MixedFramesError(
                f"{frame.name} is {describe(frame)}, but {first.name} is {describe(first)}",
                "expected frames of equal size, channels and number type",
                "Export all frames with the same settings, or leave out the odd one.",
            )


def describe(frame: Frame) -> str:
    """Return size, channels and type of a frame in words."""
    height, width = frame.shape[:2]
    colour = "colour" if len(frame.shape) == 3 else "grey"
    return f"{width}×{height} {colour} {frame.dtype}"


def _checked_focus(focus: ArrayLike, n: int) -> NDArray[np.float64]:
    try:
        positions = real_numbers(focus)
    except (TypeError, ValueError, OverflowError) as error:
        raise FocusPositionsError(
            f"received focus positions that are not numbers ({error})",
            "expected one number per frame",
        ) from error
    if positions.shape != (n,):
        raise FocusPositionsError(
            f"received focus positions of shape {positions.shape} for {n} frames",
            "expected one number per frame",
        )
    if not np.isfinite(positions).all():
        raise FocusPositionsError(
            "received focus positions that are NaN or infinite", "expected finite numbers"
        )
    largest = float(np.abs(positions).max())
    if largest not in LENGTHS:
        raise FocusPositionsError(
            f"received focus positions up to {largest:g}",
            f"expected a largest one of {LENGTHS.low:g} to {LENGTHS.high:g}",
            "Give them in another unit.",
        )
    steps = np.diff(positions)
    if not ((steps > 0).all() or (steps < 0).all()):
        k = int(np.flatnonzero(steps * np.sign(positions[-1] - positions[0]) <= 0)[0])
        raise FocusPositionsError(
            f"focus positions of frames {k} and {k + 1} are {positions[k]:g} and "
            f"{positions[k + 1]:g}",
            "expected positions that strictly increase, or strictly decrease, over the stack",
            "Sort the frames by focus, and drop frames with equal positions.",
        )
    k = int(np.abs(steps).argmin())
    if abs(steps[k]) < FINEST_STEP * largest:
        raise FocusPositionsError(
            f"focus positions of frames {k} and {k + 1} differ by {abs(steps[k]):g}, and the "
            f"largest position is {largest:g}",
            "expected steps that are not lost beside it in the 24 bits of a depth map",
            "Count positions from the first frame.",
        )
    return positions
