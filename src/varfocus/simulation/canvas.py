"""Drawing aids for scenes: soft-edged masks, slanted planes and something to print on them.

Depth is written as a position s ∈ [0, 1] between the nearest and the farthest focus distance,
even in dioptres: 1/z = 1/near + s (1/far − 1/near). Perspective makes 1/z, hence s, of a slanted
plane an affine function of the picture, and the blur between two surfaces is proportional to
their difference in s.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from varfocus.simulation.checks import centre_crop
from varfocus.simulation.texture import make_texture

NEAR, FAR = 0.4, 0.9
"""Focus range of the layered scenes in metres."""

MAX_BLUR = 7.0
"""σ in pixels of the far end in the frame focused at the near end, and the reverse."""

SCENE_KAPPA = MAX_BLUR / (1 / NEAR - 1 / FAR)
"""Camera constant of the layered scenes in px·m, about 5."""

Array = NDArray[np.float32]


def depth_at(position: NDArray[np.floating] | float) -> Array:
    """Return the distance in metres at position s, any shape."""
    inverse = 1 / NEAR + np.asarray(position, dtype=np.float64) * (1 / FAR - 1 / NEAR)
    return (1 / inverse).astype(np.float32)


@dataclass(frozen=True, eq=False)
class Canvas:
    """The picture plane of one scene.

    Parameters
    ----------
    shape : (int, int)
        Height and width in pixels.
    seed : int
        Seed of textures and of the arrangement.
    colour : bool
        Whether textures have three channels.
    picture : ndarray of float32, optional
        Texture to use instead of the built-in one.
    """

    shape: tuple[int, int]
    seed: int = 0
    colour: bool = True
    picture: Array | None = None

    @cached_property
    def rng(self) -> np.random.Generator:
        """Random numbers for the arrangement."""
        return np.random.default_rng([self.seed, 0x7363656E65])

    @cached_property
    def v(self) -> Array:
        """Vertical coordinate of the pixel centres, 0 at the top, 1 at the bottom; (H, 1)."""
        return _centres(self.shape[0])[:, None]

    @cached_property
    def u(self) -> Array:
        """Horizontal coordinate of the pixel centres, 0 left, 1 right; (1, W)."""
        return _centres(self.shape[1])[None, :]

    @property
    def unit(self) -> float:
        """Length that radii and widths are fractions of: the shorter side in pixels."""
        return float(min(self.shape))

    def paint(self, number: int) -> Array:
        """Return the texture of layer `number`, shape (H, W) or (H, W, 3).

        A given picture is turned over for each further layer, so that neighbours differ.
        """
        if self.picture is None:
            return make_texture(self.shape, 1000 * self.seed + number, self.colour, number)
        sheet = centre_crop(self.picture, self.shape)
        steps = (-1 if number & 1 else 1, -1 if number & 2 else 1)
        return np.ascontiguousarray(sheet[:: steps[0], :: steps[1]])

    def plane(self, centre: float, du: float = 0.0, dv: float = 0.0) -> Array:
        """Return the depth of a plane in metres: s = centre + du (u − ½) + dv (v − ½).

        Positions are limited to [0.02, 0.98], so that no surface leaves the focus range.
        """
        position = centre + du * (self.u - 0.5) + dv * (self.v - 0.5)
        return depth_at(np.clip(np.broadcast_to(position, self.shape), 0.02, 0.98))

    def offset(self, u: float, v: float, angle: float = 0.0) -> tuple[Array, Array]:
        """Return pixel offsets from (u, v) along axes turned by `angle` radians; (H, W) each."""
        dx, dy = (self.u - u) * self.shape[1], (self.v - v) * self.shape[0]
        c, s = float(np.cos(angle)), float(np.sin(angle))
        return c * dx + s * dy, c * dy - s * dx

    def disc(self, u: float, v: float, radius: float) -> Array:
        """Return the mask of a disc; `radius` as a fraction of `unit`."""
        x, y = self.offset(u, v)
        return soft(np.hypot(x, y) - radius * self.unit)

    def card(self, u: float, v: float, wide: float, high: float, angle: float = 0.0) -> Array:
        """Return the mask of a turned rectangle; sides as fractions of `unit`."""
        x, y = self.offset(u, v, angle)
        return soft(np.maximum(np.abs(x) - wide / 2 * self.unit, np.abs(y) - high / 2 * self.unit))

    def wire(self, v: Array, width: float) -> Array:
        """Return the mask of a wire along the curve v(u), shape (1, W), `width` in pixels."""
        y = v[0] * self.shape[0]
        # The distance to a sloping line is shorter than the vertical one.
        slant = np.hypot(1, np.gradient(y)).astype(np.float32)
        return soft(np.abs(self.v * self.shape[0] - y) / slant - width / 2)


def soft(distance: NDArray[np.floating]) -> Array:
    """Return the opacity of an edge one pixel wide from the signed distance in pixels."""
    opacity: Array = np.clip(0.5 - distance, 0, 1).astype(np.float32)
    return opacity


def _centres(count: int) -> Array:
    return ((np.arange(count) + 0.5) / count).astype(np.float32)
