"""Ready-made layered scenes by name: arrangements of surfaces, nearest first."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from varfocus.simulation.canvas import Canvas, depth_at, soft
from varfocus.simulation.scene import Layer
from varfocus.simulation.table import table

Array = NDArray[np.float32]

BACKGROUND = 11
"""Number of the background's texture: the last of the six inks, which no other layer has."""

PLAIN_SHARE = 0.3
"""Share of the picture without texture in the scene "textureless"."""


def steps(canvas: Canvas) -> list[Layer]:
    """Build stairs of four treads that rise towards the camera, and a tower on the far floor."""
    jitter = canvas.rng.uniform(-0.04, 0.04, (5, 2))
    layers = [
        Layer(
            canvas.paint(0),
            float(depth_at(0.06)),
            canvas.card(0.8 + jitter[4, 0], 0.24 + jitter[4, 1], 0.34, 0.3),
        )
    ]
    for k, position in enumerate((0.22, 0.38, 0.54, 0.7)):
        left, top = 0.14 + 0.2 * k + jitter[k, 0], 0.76 - 0.17 * k + jitter[k, 1]
        # Each tread shows to the right of and above the nearer one in front of it.
        x, y = canvas.u - left - 0.14, top - canvas.v
        distance = np.maximum(x * canvas.shape[1], y * canvas.shape[0])
        layers.append(Layer(canvas.paint(k + 1), float(depth_at(position)), soft(distance)))
    layers.append(Layer(canvas.paint(BACKGROUND), float(depth_at(0.92))))
    return layers


def slants(canvas: Canvas) -> list[Layer]:
    """Build three slanted cards over a slanted ground."""
    turn = canvas.rng.uniform(-0.25, 0.25, 3)
    return [
        Layer(
            canvas.paint(0), canvas.plane(0.2, 0.5, 0), canvas.card(0.3, 0.68, 0.5, 0.34, turn[0])
        ),
        Layer(
            canvas.paint(1),
            canvas.plane(0.42, 0.25, -0.7),
            canvas.card(0.7, 0.46, 0.42, 0.6, 0.3 + turn[1]),
        ),
        Layer(
            canvas.paint(2),
            canvas.plane(0.35, -0.8, 0.3),
            canvas.card(0.3, 0.27, 0.5, 0.26, turn[2] - 0.3),
        ),
        Layer(canvas.paint(BACKGROUND), canvas.plane(0.75, 0.1, -0.4)),
    ]


def discs(canvas: Canvas) -> list[Layer]:
    """Build seven discs, each at another depth, over a far background."""
    rng = canvas.rng
    positions = np.linspace(0.05, 0.75, 7) + rng.uniform(-0.04, 0.04, 7)
    # One disc per cell of a jittered 4×2 grid, so that most stay visible.
    cells = rng.permutation(8)[:7]
    layers = []
    for k, (cell, position) in enumerate(zip(cells, positions, strict=True)):
        u = (cell % 4 + 0.5 + rng.uniform(-0.3, 0.3)) / 4
        v = (cell // 4 + 0.5 + rng.uniform(-0.25, 0.25)) / 2
        mask = canvas.disc(u, v, rng.uniform(0.1, 0.21))
        layers.append(Layer(canvas.paint(k + k // 5), float(depth_at(position)), mask))
    layers.append(Layer(canvas.paint(BACKGROUND), float(depth_at(0.92))))
    return layers


def wire(canvas: Canvas) -> list[Layer]:
    """Build five thin wires, straight and wavy, over a slanted background."""
    rng = canvas.rng
    layers = []
    for k, position in enumerate(np.linspace(0.05, 0.4, 5)):
        middle, slope = 0.14 + 0.18 * k, rng.uniform(-0.35, 0.35)
        wave = 0.05 * np.sin(2 * np.pi * (2 * canvas.u + rng.uniform())) if k % 2 else 0.0
        curve = (middle + slope * (canvas.u - 0.5) + wave).astype(np.float32)
        mask = canvas.wire(curve, (2.0, 3.0, 4.0, 2.5, 5.0)[k])
        depth = canvas.plane(float(position) + 0.05, 0.1 * rng.uniform(-1, 1))
        layers.append(Layer(canvas.paint(k), depth, mask))
    layers.append(Layer(canvas.paint(BACKGROUND), canvas.plane(0.75, 0.15, -0.35)))
    return layers


def textureless(canvas: Canvas) -> list[Layer]:
    """Build cards, a disc and a floor of which 30 % is plain: one brightness per layer."""
    layers = [
        Layer(canvas.paint(0), float(depth_at(0.08)), canvas.disc(0.28, 0.66, 0.23)),
        Layer(canvas.paint(1), float(depth_at(0.34)), canvas.card(0.68, 0.36, 0.62, 0.4, 0.15)),
        Layer(canvas.paint(2), canvas.plane(0.6, 0.3), canvas.card(0.45, 0.5, 0.95, 0.62, -0.1)),
        Layer(canvas.paint(BACKGROUND), canvas.plane(0.87, 0.0, -0.15)),
    ]
    patches = _patches(canvas)
    return [Layer(_blanked(la.texture, patches), la.depth, la.mask) for la in layers]


def _patches(canvas: Canvas) -> NDArray[np.bool_]:
    """Smooth blobs that cover `PLAIN_SHARE` of the picture."""
    noise = canvas.rng.standard_normal(canvas.shape)
    field = ndimage.gaussian_filter(noise, max(canvas.unit / 14, 1.0))
    patches: NDArray[np.bool_] = field > np.quantile(field, 1 - PLAIN_SHARE)
    return patches


def _blanked(sheet: Array, patches: NDArray[np.bool_]) -> Array:
    plain = sheet.copy()
    plain[patches] = sheet.mean(axis=(0, 1))
    return plain


BUILDERS: dict[str, Callable[[Canvas], list[Layer]]] = {
    "steps": steps,
    "slants": slants,
    "discs": discs,
    "wire": wire,
    "textureless": textureless,
    "table": table,
}

SCENES = tuple(BUILDERS)
"""Names of the layered scenes."""
