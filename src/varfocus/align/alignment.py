"""What alignment found out about a stack, how it is applied, and how it is kept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from varfocus.align.models import displacement
from varfocus.align.warp import warp
from varfocus.errors import ParameterError
from varfocus.files import read_json
from varfocus.geometry import Rectangle
from varfocus.stack import FocusStack, Frame

RECORD = "run.json"


@dataclass(frozen=True)
class WarpedFrame:
    """A frame that is resampled, once, when it is read."""

    frame: Frame
    matrix: NDArray[np.float64]
    size: tuple[int, int]
    gains: NDArray[np.float64]

    @property
    def name(self) -> str:
        """Name of the frame it is made of."""
        return self.frame.name

    @property
    def shape(self) -> tuple[int, ...]:
        """``(H, W)`` or ``(H, W, 3)`` of the warped frame."""
        return (*self.size, *self.frame.shape[2:])

    @property
    def dtype(self) -> np.dtype[Any]:
        """Number type of the frame it is made of."""
        return self.frame.dtype

    def read(self) -> NDArray[Any]:
        """Decode and resample the pixels."""
        return warp(self.frame.read(), self.matrix, self.size, gains=self.gains)


@dataclass(frozen=True, eq=False)
class Alignment:
    """Where each frame lies on the reference, how bright it is, and which frames take part.

    Frames are numbered as they were given, from 0.

    Attributes
    ----------
    model : str
        Kind of the maps; "none" if the frames stay where they are.
    reason : str
        Why, in words.
    size : (int, int)
        Height and width of the frames as given.
    reference : int
        The frame that all others are brought to.
    matrices : ndarray of shape (n, 3, 3)
        Map pixels (x, y, 1) of the reference to pixels of each frame.
    gains : ndarray of shape (n, channels)
        Factors on the pixel values of each frame.
    order : tuple of int
        All frames in the order of focus.
    left_out : mapping of int to str
        Frames that do not take part, and why.
    crop : Rectangle
        Part of the reference that all frames show.
    masked : bool
        Keep the size of the frames, and mark what not all of them show instead of cropping.
    correlations : ndarray of shape (n,)
        Best correlation of each frame with one of its neighbours; NaN where not looked at.
    motions, errors, doubts : ndarray of shape (n,)
        How far each frame was found from the reference, its standard error, and what defocus alone
        may have caused, in pixels, root mean square over the frame; NaN where not looked at.
        Frames are moved only if they say so together.
    order_ratio : float
        Length of the shortest path through all frames relative to the order given.
    warnings : tuple of str
        What is doubtful.
    """

    model: str
    reason: str
    size: tuple[int, int]
    reference: int
    matrices: NDArray[np.float64]
    gains: NDArray[np.float64]
    order: tuple[int, ...]
    left_out: Mapping[int, str]
    crop: Rectangle
    masked: bool = False
    correlations: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
    motions: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
    errors: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
    doubts: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
    order_ratio: float = 1.0
    warnings: tuple[str, ...] = ()

    @classmethod
    def untouched(cls, stack: FocusStack, reason: str, *warnings: str) -> Alignment:
        """Return the alignment that changes nothing."""
        n = len(stack)
        return cls(
            model="none",
            reason=reason,
            size=stack.shape,
            reference=n // 2,
            matrices=np.tile(np.eye(3), (n, 1, 1)),
            gains=np.ones((n, stack.channels)),
            order=tuple(range(n)),
            left_out={},
            crop=Rectangle.whole(stack.shape),
            correlations=np.full(n, np.nan),
            motions=np.full(n, np.nan),
            errors=np.full(n, np.nan),
            doubts=np.full(n, np.nan),
            warnings=warnings,
        )

    @property
    def ranks(self) -> NDArray[np.float64]:
        """Position in the order of focus of each frame that takes part."""
        kept = [rank for rank, k in enumerate(self.order) if k not in self.left_out]
        return np.array(kept, np.float64)

    @property
    def positions(self) -> NDArray[np.float64] | None:
        """Frame numbers that depth in frames is counted in; None if no frame was left out."""
        return self.ranks if self.left_out else None

    def depths(self, stack: FocusStack) -> NDArray[np.float64] | None:
        """Return the depth of each frame of the aligned stack; None for plain frame numbers.

        Where no focus positions are known, frames keep their numbers when others are left out.
        """
        ranks = self.positions
        if stack.focus is not None or ranks is None:
            return stack.depths
        return float(ranks.max()) - ranks if stack.inverted else ranks

    def stays(self, k: int) -> bool:
        """Tell whether frame `k` is used as it is: neither moved nor made brighter."""
        return np.array_equal(self.matrices[k], np.eye(3)) and bool((self.gains[k] == 1.0).all())

    def motion(self, k: int) -> float:
        """Return the root-mean-square motion in pixels, over the frame, of frame `k`."""
        return float(np.sqrt((displacement(self.matrices[k], self.size) ** 2).mean()))

    @property
    def largest_displacement(self) -> float:
        """Largest distance in pixels by which any point of a frame in use is moved."""
        used = [k for k in self.order if k not in self.left_out]
        return max(float(displacement(self.matrices[k], self.size).max()) for k in used)

    def extent(self, within: tuple[int, int, int, int] | None = None) -> Rectangle:
        """Return the part of the reference that the aligned frames cover.

        Parameters
        ----------
        within : Rectangle or tuple of int, optional
            Left, top, width and height in the reference; no more than this.

        Raises
        ------
        ParameterError
            If not all frames show any of it.
        """
        own = Rectangle.whole(self.size) if self.masked else self.crop
        if within is None:
            return own
        within = Rectangle(*within)
        common = own.common(within)
        if 0 in common.shape:
            raise ParameterError(
                f"received crop = {within}",
                f"expected a rectangle that all frames show once they are aligned: inside {own}",
            )
        return common

    def apply(
        self, stack: FocusStack, within: tuple[int, int, int, int] | None = None
    ) -> FocusStack:
        """Return the aligned stack; frames are resampled when they are read.

        Parameters
        ----------
        stack : FocusStack
            As many frames of the same size as the alignment was made for.
        within : Rectangle or tuple of int, optional
            Left, top, width and height of the part of the reference that is wanted.

        Returns
        -------
        FocusStack
            `stack` itself if nothing is to be done. Frames that stay as they are are the same
            objects.
        """
        whole = Rectangle.whole(self.size)
        crop = self.extent(within)
        origin = np.eye(3)
        origin[:2, 2] = crop.left, crop.top
        frames: list[Frame] = []
        kept = self.ranks.astype(int)
        used = [self.order[rank] for rank in kept]
        for k in used:
            matrix = self.matrices[k] @ origin
            still = self.stays(k)
            if still and crop == whole:
                frames.append(stack.frames[k])
            elif still and self.model == "none":
                frames.append(stack.cropped(crop).frames[k])
            else:
                frames.append(WarpedFrame(stack.frames[k], matrix, crop.shape, self.gains[k]))
        if len(frames) == len(stack) and all(
            a is b for a, b in zip(frames, stack.frames, strict=True)
        ):
            return stack
        return replace(
            stack,
            frames=frames,
            files=tuple(stack.files[k] for k in used) if stack.files else (),
            focus=None if stack.focus is None else stack.focus[kept],
        )

    def seen_by_all(self, shape: tuple[int, int]) -> NDArray[np.bool_] | None:
        """Return which pixels of the aligned stack all frames show; None if that is all."""
        if not self.masked:
            return None
        seen = np.zeros(shape, bool)
        seen[self.crop.window] = True
        return seen

    def summary(self) -> str:
        """Return what was done, in a sentence or two for people."""
        moved = "frames left in place" if self.model == "none" else f"aligned ({self.model})"
        text = f"Alignment: {moved}; {self.reason}."
        flicker = float(np.abs(self.gains - 1.0).max())
        if flicker > 0.0:
            text += f" Light equalised by up to {flicker:.1%}."
        if self.model != "none" and not self.masked:
            left, top, width, height = self.crop
            text += f" Cropped to {width}×{height} at ({left}, {top})."
        return text

    def table(self, names: tuple[str, ...]) -> str:
        """Return how far each frame was found from the reference, as lines of text."""
        width = max(len("frame"), *(len(name) for name in names))
        lines = [
            f"{'frame':<{width}}  {'moved px':>8}  {'± px':>6}  {'defocus px':>10}  {'scale %':>8}"
        ]
        for k, name in enumerate(names):
            scale = 100.0 * (np.sqrt(abs(np.linalg.det(self.matrices[k][:2, :2]))) - 1.0)
            about = "left out" if k in self.left_out else "reference" * (k == self.reference)
            cells = [
                f"{name:<{width}}",
                _cell(self.motions[k], 8),
                _cell(self.errors[k], 6),
                _cell(self.doubts[k], 10),
                f"{scale:8.3f}",
                about,
            ]
            lines.append("  ".join(cells).rstrip())
        return "\n".join(lines)

    def record(self, names: tuple[str, ...]) -> dict[str, Any]:
        """Return it as plain data for run.json, with the names of the frames as given."""
        return {
            "model": self.model,
            "reason": self.reason,
            "input_size": {"width": self.size[1], "height": self.size[0]},
            "reference": self.reference,
            "largest_displacement_px": round(self.largest_displacement, 3),
            "crop": self.crop._asdict(),
            "masked": self.masked,
            "order": list(self.order),
            "order_ratio": round(self.order_ratio, 4),
            "frames": [
                {
                    "name": name,
                    "matrix": self.matrices[k].tolist(),
                    "gains": self.gains[k].tolist(),
                    "correlation": _rounded(self.correlations[k], 4),
                    "motion_px": _rounded(self.motions[k], 3),
                    "standard_error_px": _rounded(self.errors[k], 3),
                    "defocus_px": _rounded(self.doubts[k], 3),
                    "left_out": self.left_out.get(k),
                }
                for k, name in enumerate(names)
            ],
        }


def _cell(value: float, width: int) -> str:
    return f"{value:{width}.2f}" if np.isfinite(value) else "?".rjust(width)


def _rounded(value: float, digits: int) -> float | None:
    return round(float(value), digits) if np.isfinite(value) else None


def read_record(place: str | Path, stack: FocusStack) -> Alignment:
    """Read the alignment of an earlier run, to use it for another stack of the same scene.

    Parameters
    ----------
    place : path
        A run.json, or the folder that has it.
    stack : FocusStack
        The stack it shall be used for.

    Returns
    -------
    Alignment
        With all gains 1: another stack has its own light.

    Raises
    ------
    ParameterError
        If there is none, or it does not fit the stack.
    """
    path = Path(place) / RECORD if Path(place).is_dir() else Path(place)
    try:
        data = read_json(path)["alignment"]
        frames = data["frames"]
        size = (int(data["input_size"]["height"]), int(data["input_size"]["width"]))
        matrices = np.array([frame["matrix"] for frame in frames], np.float64)
        found = Alignment(
            model=str(data["model"]),
            reason=f"maps of {path}",
            size=size,
            reference=int(data["reference"]),
            matrices=matrices,
            gains=np.ones((len(frames), stack.channels)),
            order=tuple(int(k) for k in data["order"]),
            left_out={k: f["left_out"] for k, f in enumerate(frames) if f["left_out"]},
            crop=Rectangle(**{name: int(data["crop"][name]) for name in Rectangle._fields}),
            masked=bool(data["masked"]),
            correlations=np.full(len(frames), np.nan),
            motions=np.full(len(frames), np.nan),
            errors=np.full(len(frames), np.nan),
            doubts=np.full(len(frames), np.nan),
        )
        sound = matrices.shape == (len(frames), 3, 3) and np.isfinite(matrices).all()
        if not (
            sound and found.crop.lies_in(size) and 0 <= found.reference < len(frames)
        ) or sorted(found.order) != list(range(len(frames))):
            raise ValueError("its numbers are damaged")
    except (OSError, ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
        raise ParameterError(
            f"{path} cannot be used: {getattr(error, 'strerror', None) or error}",
            "expected the run.json of an earlier run with alignment",
        ) from error
    if len(frames) != len(stack) or size != stack.shape:
        raise ParameterError(
            f"{path} was made for {len(frames)} frames of {size[1]}×{size[0]}",
            f"expected maps for {len(stack)} frames of {stack.shape[1]}×{stack.shape[0]}",
            "Frames must be as many and as large as in the run the maps come from.",
        )
    return found
