"""What all experiments are given."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from numpy.typing import NDArray

from varfocus.params import ContrastParams
from varfocus.progress import Progress, silent

PUBLISHED_CONTRAST = ContrastParams(normalisation="absolute", epsilon=0.3)
"""The normalisation of the paper's published code."""

PUBLISHED: Mapping[str, Any] = {**asdict(PUBLISHED_CONTRAST), "solver": "admm"}
"""The paper's own normalisation and literal solver; its tables' α assumes both."""


@dataclass(frozen=True)
class Setting:
    """How the experiments are to be run.

    Attributes
    ----------
    quick : bool
        Smaller images and fewer repetitions: a few minutes instead of many.
    texture : ndarray of shape (H, W) or None
        Texture of the simulated surfaces, such as the one of Pertuz's simulator; None takes the
        built-in one.
    progress : callable
        Listener.
    """

    quick: bool = False
    texture: NDArray[Any] | None = None
    progress: Progress = silent

    @property
    def size(self) -> tuple[int, int]:
        """Size of the simulated surfaces in pixels."""
        return (180, 180) if self.quick else (360, 360)

    @property
    def alpha_scale(self) -> float:
        """The same scene at half the width needs half the weight."""
        return self.size[1] / 360

    @property
    def texture_words(self) -> str:
        """Which texture is used, in words."""
        return "the built-in texture" if self.texture is None else "the given texture"

    def step(self, experiment: str, done: int, total: int) -> None:
        """Report progress of an experiment."""
        self.progress(experiment, done, total)
