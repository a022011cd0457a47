"""Stacks to measure with: a textured, wavy surface, blurred frame by frame, tiled to any size.

Or a scene of the simulation, in which surfaces hide one another; or one whose frames contradict
their contrast, so that the second look changes something.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.ndimage import gaussian_filter

from varfocus.simulation import Camera, render_picture, simulate

TILE = 480
BLUR_STEP = 0.25


@dataclass(frozen=True)
class Workload:
    """Number of frames, size and type of a stack, and the simulated scene if it shows one."""

    n: int
    height: int
    width: int
    channels: int = 3
    dtype: str = "uint8"
    scene: str = ""

    @property
    def name(self) -> str:
        """What to call it in a table."""
        colour = f"×{self.channels}" if self.channels > 1 else ""
        return f"{self.n}×{self.width}×{self.height}{colour} {self.dtype} {self.scene}".strip()

    @property
    def pixels(self) -> int:
        """Pixels of one frame."""
        return self.height * self.width

    def stack(self) -> np.ndarray:
        """Make the frames, ``(n, H, W)`` or ``(n, H, W, C)``, without large temporaries."""
        if self.scene == "ghosts":
            return _ghosts((self.height, self.width), self.n)
        if self.scene:
            shape = (self.height, self.width)
            return simulate(self.scene, shape=shape, n=self.n, seed=3).frames
        rng = np.random.default_rng(33)
        rows, columns = min(TILE, self.height), min(TILE, self.width)
        texture = gaussian_filter(rng.random((rows, columns, self.channels)), (0.7, 0.7, 0))
        texture = (texture - texture.min()) / np.ptp(texture)
        levels = np.arange(0.0, 4.01, BLUR_STEP)
        blurred = np.stack([gaussian_filter(texture, (s, s, 0)) for s in levels])
        y, x = np.mgrid[:rows, :columns] / TILE
        surface = 0.5 + 0.35 * np.sin(7 * x) * np.cos(5 * y)
        full = np.iinfo(self.dtype).max
        stack = np.empty((self.n, self.height, self.width, self.channels), self.dtype)
        for k in range(self.n):
            sigma = 8.0 * np.abs(k / (self.n - 1) - surface)
            level = np.minimum(np.rint(sigma / BLUR_STEP).astype(int), len(levels) - 1)
            tile = np.take_along_axis(blurred, level[None, ..., None], axis=0)[0]
            tile = np.clip(tile + 0.004 * rng.standard_normal(tile.shape), 0, 1)
            tile = np.rint(full * tile).astype(self.dtype)
            for top in range(0, self.height, rows):
                for left in range(0, self.width, columns):
                    part = stack[k, top : top + rows, left : left + columns]
                    part[...] = tile[: part.shape[0], : part.shape[1]]
        return stack if self.channels > 1 else stack[..., 0]


def _ghosts(shape: tuple[int, int], n: int) -> np.ndarray:
    """Show a textured card beside a plain wall with dark stripes, through a round aperture.

    The rims of blurred stripes have contrast on the wall where nothing is in focus.
    """
    height, width = shape
    near = width // 2
    picture = np.full(shape, 0.4, np.float32)
    for column in range(near + 56, width - 16, 88):
        picture[:, column : column + 12] = 0.05
    coarse = np.random.default_rng(1).random((height // 4 + 1, near // 4 + 1))
    picture[:, :near] = np.kron(coarse, np.ones((4, 4)))[:height, :near]
    depth = np.full(shape, 0.45, np.float32)
    depth[:, :near] = 0.08
    camera = Camera(aperture="disc", grain=0.004)
    focus = 1.0 / np.linspace(1 / 0.065, 1 / 0.9, n)
    return render_picture(
        picture, depth, focus=focus, noise=0.0, max_blur=12.0, camera=camera
    ).frames


PAPER = Workload(33, 480, 640)
OCCLUDED = Workload(33, 480, 640, scene="table")
GHOSTS = Workload(33, 480, 640, 1, scene="ghosts")
LARGE = (
    Workload(373, 540, 960),
    Workload(100, 2048, 2048, 1, "uint16"),
    Workload(10, 3648, 5472),
)
