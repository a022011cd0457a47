"""Which lens, noise and number of frames meets which scene, and what is kept apart for the end.

What a method was built with is no evidence for it. So scenes, seeds, apertures, numbers of frames
and blur are split: constants are fitted on `dev`, and `test` is looked at when all is done.
"""

from __future__ import annotations

import itertools
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal, TypeAlias, get_args

from varfocus.simulation import SCENES, Aperture, Camera, simulate
from varfocus.simulation.camera import Spacing
from varfocus.stack import FocusStack
from varfocus.studies.evaluation.case import Case, Scene

Split: TypeAlias = Literal["dev", "test"]
SPLITS: tuple[Split, ...] = get_args(Split)

Design: TypeAlias = Literal["square", "full", "one"]
"""How many of the combinations are made, see `recipes`."""

FIRST_SEED: dict[Split, int] = {"dev": 0, "test": 1_000_000}

PUBLIC: dict[Split, tuple[str, ...]] = {
    "dev": ("boardgames", "bull", "dishes", "greek", "medieval2", "motorcycle", "tsukuba"),
    "test": (
        *("kitchen", "museum", "poster", "tomb", "venus", "vinyl"),
        *("boxes", "cotton", "dino", "sideboard"),
    ),
}
"""Scenes of public data sets whose split was fixed before anything was fitted."""

GRAINS = (0.005, 0.01, 0.03)
"""Noise: standard deviation at mid-grey, as a share of white."""

QUALITY = 92
"""Of the stacks that are stored as JPEG."""


@dataclass(frozen=True)
class Choice:
    """What the stacks of a split are made of."""

    apertures: tuple[Aperture, ...]
    frames: tuple[int, ...]
    blurs: tuple[float, ...]


CHOICES: dict[Split, Choice] = {
    "dev": Choice(("disc", "gauss", "square"), (15, 8, 30), (4.0, 3.0)),
    "test": Choice(("hexagon", "bubble", "cats-eye"), (12, 10, 24), (4.5, 3.5)),
}
"""Apertures, numbers of frames, and σ in pixels of the far end when the near end is in focus."""


@dataclass(frozen=True)
class Recipe:
    """How a stack is taken.

    Attributes
    ----------
    camera : Camera
        Aperture, grain, JPEG.
    frames : int
        Number of frames.
    blur : float
        σ in pixels of the far end when the near end is in focus.
    spacing : {"dioptre", "distance"}
        Whether blur changes evenly from frame to frame, or the distance does.
    seed : int
        Of the noise.
    """

    camera: Camera
    frames: int
    blur: float
    spacing: Spacing = "dioptre"
    seed: int = 0

    @property
    def name(self) -> str:
        """Aperture, noise in per cent, frames, and what is unusual; fit for a file's name."""
        jpeg = "" if self.camera.jpeg is None else f"-jpeg{self.camera.jpeg}"
        uneven = "" if self.spacing == "dioptre" else "-uneven"
        noise = f"noise{100 * self.camera.grain:g}"
        return f"{self.camera.aperture}-{noise}-{self.frames}frames{jpeg}{uneven}"


def split_of(name: str) -> Split:
    """Return the split that a scene belongs to, by its name alone, the same on every machine."""
    for split, names in PUBLIC.items():
        if name.lower() in names:
            return split
    return SPLITS[zlib.crc32(name.lower().encode()) % 2]


def recipes(
    scene: int,
    split: Split,
    apertures: Sequence[Aperture] = (),
    grains: Sequence[float] = (),
    frames: Sequence[int] = (),
    design: Design = "square",
) -> list[Recipe]:
    """Return how the stacks of one scene are taken.

    Parameters
    ----------
    scene : int
        Number of the scene, which turns the design so that scenes differ.
    split : {"dev", "test"}
        Which apertures, numbers of frames and seeds.
    apertures, grains, frames : sequence, optional
        What to take instead of those.
    design : {"square", "full", "one"}
        "full": all combinations of aperture, noise and number of frames. "square": one stack per
        aperture, in which noise and number of frames go round (a Latin square), so that every pair
        of values meets in some scene. "one": a single stack, each time another.

    Returns
    -------
    list of Recipe
        Every fourth stack is stored as JPEG, every fifth has frames at even distances.
    """
    choice = CHOICES[split]
    lenses = tuple(apertures) or choice.apertures
    noises, counts = tuple(grains) or GRAINS, tuple(frames) or choice.frames
    if design == "full":
        stacks = list(itertools.product(lenses, noises, counts))
    elif design == "one":
        level, count = noises[(scene + scene // 3) % len(noises)], counts[scene // 2 % len(counts)]
        stacks = [(lenses[scene % len(lenses)], level, count)]
    else:
        stacks = [
            (lens, noises[(scene + k) % len(noises)], counts[(2 * scene + k) % len(counts)])
            for k, lens in enumerate(lenses)
        ]
    found = []
    for k, (aperture, grain, n) in enumerate(stacks):
        number = scene * len(stacks) + k
        camera = Camera(aperture=aperture, grain=grain)
        if number % 4 == 3:
            camera = replace(camera, jpeg=QUALITY)
        blur = choice.blurs[(scene + k) % len(choice.blurs)]
        spacing: Spacing = "distance" if number % 5 == 4 else "dioptre"
        found.append(Recipe(camera, n, blur, spacing, FIRST_SEED[split] + number))
    return found


def lens_scenes(
    shape: tuple[int, int],
    split: Split,
    apertures: Sequence[Aperture] = (),
    grains: Sequence[float] = (),
    frames: Sequence[int] = (),
    design: Design = "square",
) -> list[Scene]:
    """Return the built-in scenes with occlusion, seen by the lenses of a split.

    Parameters
    ----------
    shape : (int, int)
        Height and width in pixels.
    split, apertures, grains, frames, design
        See `recipes`.

    Returns
    -------
    list of Scene
        Of the group "pictures".
    """
    return [
        Scene(
            f"{name}-{recipe.name}",
            "pictures",
            partial(_seen, name, shape, recipe),
            seeded=False,
            noise=recipe.camera.grain,
        )
        for number, name in enumerate(SCENES)
        for recipe in recipes(number, split, apertures, grains, frames, design)
    ]


def _seen(name: str, shape: tuple[int, int], recipe: Recipe, _: int) -> Case:
    made = simulate(
        name,
        shape=shape,
        n=recipe.frames,
        seed=recipe.seed,
        noise=0.0,
        spacing=recipe.spacing,
        camera=recipe.camera,
    )
    return Case(FocusStack.from_array(made.frames), made.truth_index)
