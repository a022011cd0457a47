"""A scene with ghosts: strong edges beside a plain wall, seen through a round aperture."""

import numpy as np

from varfocus.simulation import Camera, Simulation, render_picture


def ghostly_scene(shape: tuple[int, int] = (96, 128), n: int = 11) -> Simulation:
    """A textured card half-way across a plain wall, on which there are a few dark stripes.

    No part of the card has the colour of the wall: of such a part nothing tells where it ends.
    """
    rng = np.random.default_rng(1)
    height, width = shape
    picture = np.full(shape, 0.4, np.float32)
    for column in range(width // 2 + 14, width - 4, 22):
        picture[:, column : column + 3] = 0.05
    near = width // 2
    coarse = rng.random((height // 4 + 1, near // 4 + 1))
    coarse = np.where(coarse < 0.4, 0.7 * coarse, 0.52 + 0.8 * (coarse - 0.4))
    picture[:, :near] = np.kron(coarse, np.ones((4, 4)))[:height, :near]
    depth = np.full(shape, 0.45, np.float32)
    depth[:, :near] = 0.08
    camera = Camera(aperture="disc", grain=0.004)
    focus = 1.0 / np.linspace(1 / 0.065, 1 / 0.9, n)
    return render_picture(picture, depth, focus=focus, noise=0.0, max_blur=5.0, camera=camera)
