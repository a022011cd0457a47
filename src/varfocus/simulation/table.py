"""The demo scene: objects on a wooden table, seen from above at an angle.

A slanted table top with a plain sheet of paper on it, a tilted card, a ball, a round badge and a
wire in front: every kind of surface a depth map should get right, and one it cannot know. The
objects stand on the table: none is farther away than the table top behind it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import ndimage

from varfocus.simulation.canvas import Canvas, depth_at, soft
from varfocus.simulation.scene import Layer
from varfocus.simulation.texture import band_noise, make_texture, tinted

Array = NDArray[np.float32]

_LUMA = np.array([0.299, 0.587, 0.114], dtype=np.float32)


def table(canvas: Canvas) -> list[Layer]:
    """Build the demo scene."""
    layers = [_wire(canvas), _badge(canvas), _ball(canvas), _card(canvas), _top(canvas)]
    if canvas.colour:
        return layers
    return [Layer(layer.texture @ _LUMA, layer.depth, layer.mask) for layer in layers]


def _seed(canvas: Canvas, number: int) -> int:
    return 1000 * canvas.seed + number


def _mix(below: Array, above: ArrayLike, alpha: Array) -> Array:
    """Lay a colour, shape (3,) or (H, W, 3), over a picture with opacity (H, W)."""
    mixed: Array = below + alpha[..., None] * (np.asarray(above, dtype=np.float32) - below)
    return mixed


def _top(canvas: Canvas) -> Layer:
    """Lay planks that run away from the viewer, shadows, and a plain sheet of paper."""
    rng = np.random.default_rng(_seed(canvas, 1))
    # On the table, x = (u − ½)/w with w growing from the horizon down: planks converge.
    across = 7.0 * (canvas.u - 0.45) / (0.55 + 0.75 * canvas.v)
    plank = np.floor(across).astype(int)
    tone = rng.uniform(-0.07, 0.07, 64)[np.clip(plank + 32, 0, 63)].astype(np.float32)
    grain = 0.13 * _fibres(canvas, across, rng) + 0.07 * _speckle(canvas, rng) + tone
    wood = tinted(np.clip(0.5 + grain, 0.05, 0.95).astype(np.float32), (0.72, 0.47, 0.27), 0.97)
    seam = np.abs(across - np.rint(across)) * canvas.shape[1] / 7.0 * (0.55 + 0.75 * canvas.v)
    wood = _mix(wood, (0.16, 0.09, 0.05), 0.85 * soft(seam - 0.9))
    for u, v, wide, high in ((0.70, 0.65, 0.23, 0.075), (0.30, 0.57, 0.27, 0.05)):
        x, y = canvas.offset(u, v)
        radius = np.hypot(x / (wide * canvas.unit), y / (high * canvas.unit))
        wood *= (1 - 0.6 * np.exp(-(radius**2.5)))[..., None]
    paper = canvas.card(0.73, 0.855, 0.40, 0.19, -0.16)
    wood = _mix(wood, (0.93, 0.90, 0.82), paper)
    return Layer(np.clip(wood, 0, 1, dtype=np.float32), canvas.plane(0.53, 0.0, -0.84))


def _fibres(canvas: Canvas, across: Array, rng: np.random.Generator) -> Array:
    """Streaks along the planks: noise on the table, stretched away from the viewer; (H, W)."""
    height, width = canvas.shape
    noise = band_noise((height // 6 + 8, 2 * width), 0.8, rng)
    rows = np.broadcast_to(canvas.v * height / 6 + 2, canvas.shape)
    streaks: Array = ndimage.map_coordinates(
        noise, [rows, across * width / 7 + width], order=1, mode="mirror"
    )
    return streaks


def _speckle(canvas: Canvas, rng: np.random.Generator) -> Array:
    """Fine noise in three bands, shape (H, W)."""
    bands = [band_noise(canvas.shape, scale, rng) for scale in (0.7, 1.2, 2.4)]
    total: Array = np.sum(bands, axis=0) / np.float32(np.sqrt(3))
    return total


def _card(canvas: Canvas) -> Layer:
    """Stand a printed card on the table, its right edge farther away than its left."""
    angle, u, v, wide, high = -0.06, 0.28, 0.36, 0.46, 0.42
    x, y = canvas.offset(u, v, angle)
    x, y = x / (wide * canvas.unit) + 0.5, y / (high * canvas.unit) + 0.5
    inks = np.array(
        [[0.16, 0.42, 0.55], [0.93, 0.75, 0.33], [0.86, 0.36, 0.27], [0.35, 0.6, 0.45]],
        dtype=np.float32,
    )
    tile = np.floor(4 * x).astype(int) + 2 * np.floor(3 * y).astype(int)
    grey = make_texture(canvas.shape, _seed(canvas, 2))
    # Colours meet within a pixel: hard corners of tiles would be sharper than any camera.
    fields = ndimage.gaussian_filter(inks[tile % 4], (0.6, 0.6, 0))
    sheet = tinted(0.28 + 0.62 * grey, fields)
    rim = np.minimum(np.minimum(x, 1 - x) * wide, np.minimum(y, 1 - y) * high) * canvas.unit
    edge = soft(rim - 0.028 * canvas.unit)
    sheet = _mix(sheet, (0.95, 0.94, 0.9), edge)
    return Layer(sheet, canvas.plane(0.5, 0.45, -0.1), canvas.card(u, v, wide, high, angle))


def _ball(canvas: Canvas) -> Layer:
    """Put a speckled ball on the table, lit from the upper left."""
    u, v, radius = 0.70, 0.47, 0.19
    x, y = canvas.offset(u, v)
    x, y = x / (radius * canvas.unit), y / (radius * canvas.unit)
    # Outside the ball the depth of its rim continues, for the blurred edge.
    bulge = np.sqrt(np.maximum(1 - x**2 - y**2, 0))
    light = 0.35 + 0.75 * np.clip(-0.45 * x - 0.6 * y + 0.66 * bulge, 0, 1)
    grey = make_texture(canvas.shape, _seed(canvas, 3))
    skin = tinted(0.25 + 0.65 * grey, (0.93, 0.49, 0.16)) * light[..., None]
    spot = np.exp(-((x + 0.38) ** 2 + (y + 0.45) ** 2) / 0.03)
    skin = _mix(skin.astype(np.float32), (1, 1, 1), (0.55 * spot).astype(np.float32))
    depth = depth_at(0.38 - 0.2 * bulge)
    return Layer(np.clip(skin, 0, 1, dtype=np.float32), depth, canvas.disc(u, v, radius))


def _badge(canvas: Canvas) -> Layer:
    """Stand a round badge with rings on the table, facing the camera."""
    u, v, radius = 0.27, 0.73, 0.145
    x, y = canvas.offset(u, v)
    r = np.hypot(x, y) / (radius * canvas.unit)
    grey = make_texture(canvas.shape, _seed(canvas, 4))
    face = tinted(0.3 + 0.6 * grey, (0.20, 0.55, 0.52))
    for inner, outer in ((0.42, 0.58), (0.86, 1.1)):
        ring = soft(np.maximum(inner - r, r - outer) * radius * canvas.unit)
        face = _mix(face, (0.96, 0.9, 0.75), ring)
    star = soft((r - 0.2) * radius * canvas.unit)
    face = _mix(face, (0.85, 0.25, 0.25), star)
    return Layer(face, float(depth_at(0.2)), canvas.disc(u, v, radius))


def _wire(canvas: Canvas) -> Layer:
    """Hang a striped cord in front of everything."""
    curve = (0.07 + 1.15 * (canvas.u - 0.52) ** 2 + 0.05 * np.sin(9 * canvas.u)).astype(np.float32)
    width = max(0.014 * canvas.unit, 2.0)
    along = np.cumsum(np.hypot(1, np.gradient(curve[0] * canvas.shape[0])))
    twist = along[None, :] + (canvas.v - curve) * canvas.shape[0]
    dark = (0.5 + 0.5 * np.sin(twist * 2 * np.pi / 7.0)).astype(np.float32)
    cord = _mix(
        np.full((*canvas.shape, 3), (0.95, 0.93, 0.88), dtype=np.float32),
        (0.12, 0.16, 0.42),
        dark,
    )
    return Layer(cord, canvas.plane(0.06, 0.04), canvas.wire(curve, width))
