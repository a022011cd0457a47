"""The built-in scenes: Table 1's shapes, layered scenes, and variants that must not matter."""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from varfocus.depth import index_to_depth
from varfocus.errors import UsageError
from varfocus.simulation import SCENES, SHAPES, canvas, shapes, simulate
from varfocus.simulation.camera import focus_distances
from varfocus.simulation.simulation import index_of_depth
from varfocus.stack import FocusStack
from varfocus.studies.evaluation.case import Case, Group, Map, Scene, unchanged

FRAMES = 15
NOISE_LEVELS = {"": 0.05, "-noisy": 1.0}
"""Pertuz's noise level, by the part of a scene's name."""

VARIED = ("cosine", "steps")
"""Scenes, one smooth and one with jumps, of which variants are made."""


@dataclass(frozen=True)
class Sizes:
    """Height and width of the scenes in pixels, and numbers of frames that are few and many."""

    shapes: tuple[int, int]
    layers: tuple[int, int]
    variants: tuple[int, int]
    frame_counts: tuple[int, int]


FULL = Sizes((360, 360), (256, 320), (160, 160), (8, 373))
QUICK = Sizes((128, 128), (128, 160), (96, 96), (8, 61))

Turn = tuple[Callable[[NDArray[Any]], NDArray[Any]], Callable[[Map], Map]]
"""What is done to the frames ``(n, H, W[, 3])``, and how a depth map is turned back."""


def unit_floats(frames: NDArray[Any]) -> NDArray[np.float32]:
    """Return 8-bit frames as float32 in [0, 1]."""
    return frames.astype(np.float32) / np.float32(255.0)


TURNS: dict[str, Turn] = {
    "gain-255": (lambda f: unit_floats(f) * np.float32(255.0), unchanged),
    "gain-quarter": (lambda f: unit_floats(f) * np.float32(0.25), unchanged),
    "16-bit": (lambda f: f.astype(np.uint16) * np.uint16(257), unchanged),
    "reversed": (lambda f: f[::-1], lambda d: np.float32(FRAMES - 1) - d),
    "mirrored": (lambda f: f[:, :, ::-1], lambda d: d[:, ::-1]),
    "upside-down": (lambda f: f[:, ::-1], lambda d: d[::-1]),
    "transposed": (lambda f: np.swapaxes(f, 1, 2), lambda d: d.T),
}
"""Changes of the frames after which the depth must be the same. Each map is its own inverse."""


def built_in(sizes: Sizes, texture: NDArray[Any] | None = None) -> list[Scene]:
    """Return every built-in scene.

    Parameters
    ----------
    sizes : Sizes
        `FULL` or `QUICK`.
    texture : ndarray of shape (H, W), optional
        Texture of Table 1's shapes; by default the built-in one.

    Returns
    -------
    list of Scene
        A variant comes after the scene it is made of.
    """
    return [*_shapes(sizes, texture), *_layers(sizes), *_variants(sizes)]


def _shapes(sizes: Sizes, texture: NDArray[Any] | None) -> Iterator[Scene]:
    for words, noise in NOISE_LEVELS.items():
        for name in SHAPES:
            for known in (True, False):
                group: Group = "noisy" if words else "known" if known else "unknown"
                make = partial(_shape, name, sizes.shapes, noise, texture, known)
                yield Scene(f"{name}{words}-{'known' if known else 'unknown'}", group, make)


def _shape(
    name: str,
    shape: tuple[int, int],
    noise: float,
    texture: NDArray[Any] | None,
    known: bool,
    seed: int,
) -> Case:
    """Make one of Table 1's shapes; errors are in centimetres as in the paper."""
    made = simulate(name, shape=shape, noise=noise, texture=texture, seed=seed)
    stack = made.stack if known else FocusStack.from_array(made.frames)
    return Case(stack, made.truth_index, 100.0 * made.focus, "cm")


def _layers(sizes: Sizes) -> Iterator[Scene]:
    for name in SCENES:
        yield Scene(name, "jumps", partial(_layered, name, sizes.layers))


def _layered(name: str, shape: tuple[int, int], seed: int) -> Case:
    made = simulate(name, shape=shape, seed=seed)
    return Case(FocusStack.from_array(made.frames), made.truth_index)


def _variants(sizes: Sizes) -> Iterator[Scene]:
    for name in VARIED:
        plain = f"{name}-{FRAMES}-frames"
        make = partial(_counted, name, sizes.variants, FRAMES)
        yield Scene(plain, "variant", make)
        for n in sizes.frame_counts:
            other = partial(_counted, name, sizes.variants, n)
            undo = partial(_recounted, _focus(name, n), _focus(name, FRAMES))
            yield Scene(f"{name}-{n}-frames", "variant", other, plain=plain, undo=undo)
        for words, turn in TURNS.items():
            yield Scene(
                f"{name}-{words}",
                "variant",
                partial(_turned, make, turn),
                plain=plain,
                undo=turn[1],
                swept=False,
            )


def _counted(name: str, shape: tuple[int, int], n: int, seed: int) -> Case:
    """Make a scene with n frames; errors are as if there were 15, so that they compare."""
    made = simulate(name, shape=shape, focus=_focus(name, n), seed=seed)
    positions = np.linspace(0.0, FRAMES - 1.0, n)
    stack = FocusStack.from_array(made.frames)
    return Case(stack, made.truth_index, positions, f"frames of {FRAMES}")


def _focus(name: str, n: int) -> NDArray[np.float64]:
    """Return n focus distances over the depth of a scene, in its own spacing."""
    if name in SHAPES:
        return focus_distances(shapes.NEAR, shapes.FAR, n, "distance")
    return focus_distances(canvas.NEAR, canvas.FAR, n, "dioptre")


def _recounted(focus: NDArray[np.float64], wanted: NDArray[np.float64], index: Map) -> Map:
    """Return frame numbers of one series of focus distances as those of another."""
    return index_of_depth(index_to_depth(index, focus), wanted)


def _turned(make: Callable[[int], Case], turn: Turn, seed: int) -> Case:
    case = make(seed)
    change, undo = turn
    stack = FocusStack.from_array(change(np.stack(list(case.stack))))
    return replace(case, stack=stack, truth=undo(case.truth))


def chosen(scenes: Sequence[Scene], patterns: Sequence[str]) -> list[Scene]:
    """Return the scenes that match a pattern, and those they are variants of.

    Parameters
    ----------
    scenes : sequence of Scene
        To choose from.
    patterns : sequence of str
        Names, or patterns such as ``cone*``; none at all chooses every scene.

    Returns
    -------
    list of Scene
        In their order.

    Raises
    ------
    UsageError
        If a pattern matches nothing.
    """
    if not patterns:
        return list(scenes)
    wanted: set[str] = set()
    for pattern in patterns:
        hits = [scene for scene in scenes if fnmatch.fnmatchcase(scene.name, pattern)]
        if not hits:
            raise UsageError(
                f"received --scenes {pattern}, which matches no scene",
                "expected names or patterns such as cone* of "
                + ", ".join(scene.name for scene in scenes),
            )
        wanted |= {scene.name for scene in hits} | {s.plain for s in hits if s.plain}
    return [scene for scene in scenes if scene.name in wanted]
