"""A lens, ray by ray: what every point of the aperture sees, added up.

Renderers that blur layers and lay one over the other take the light of neighbouring layers for
independent. Where a slanted surface is cut into layers thinner than the blur, the near ones then
cover too much, and a defocused frame shows the surface displaced by up to a pixel or two. Here each
ray ends at the first surface it meets, so that a steady stack is steady to a few hundredths of a
pixel, whatever its defocus: only against such frames can an alignment be judged.
"""

from __future__ import annotations

import numpy as np
from scipy import ndimage


def focus_coordinate(place: np.ndarray | float, n: int, dioptre: float) -> np.ndarray:
    """Return frame numbers as focus in [0, 1], even in distance (0) or rather in dioptres."""
    t = np.asarray(place, float) / (n - 1)
    if dioptre == 0:
        return t
    return (1 / dioptre - 1 / (t + dioptre)) / (1 / dioptre - 1 / (1 + dioptre))


def aperture(kind: str, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return points of an aperture of radius 1, as many opposite each other, and their weights."""
    number = np.arange(count // 2) + 0.5
    turn = np.pi * (1 + np.sqrt(5)) * number * 2
    radius = np.sqrt(number / (count // 2))
    points = radius[:, None] * np.stack([np.cos(turn), np.sin(turn)], axis=1)
    weights = np.ones(len(points))
    if kind == "gauss":
        points *= 1.6
        weights = np.exp(-2.0 * (points**2).sum(axis=1))
    elif kind == "bubble":
        weights = 0.5 + radius**4
    elif kind in ("square", "hexagon"):
        sides = 2 if kind == "square" else 3
        angles = np.arange(sides) * np.pi / sides
        extent = np.abs(points @ np.stack([np.cos(angles), np.sin(angles)])).max(axis=1)
        points *= (radius / np.maximum(extent, 1e-9))[:, None]  # from the disc, ring by ring
    points = np.concatenate([points, -points])
    weights = np.concatenate([weights, weights])
    return points, weights / weights.sum()


def rays(
    rgb: np.ndarray, index: np.ndarray, n: int, blur: float, kind: str, dioptre: float
) -> np.ndarray:
    """Render a focus stack.

    Parameters
    ----------
    rgb : ndarray of shape (H, W, 3)
        Sharp colours in [0, 1], as seen from the centre of the aperture.
    index : ndarray of shape (H, W)
        Frame in focus at each pixel, 0 the nearest.
    n : int
        Number of frames.
    blur : float
        Radius of the blur in pixels over the whole range of focus.
    kind : {"disc", "gauss", "square", "hexagon", "bubble"}
        Shape of the aperture.
    dioptre : float
        As `focus_coordinate` takes it.

    Returns
    -------
    ndarray of shape (n, H, W, 3), uint8
        Frames without noise.
    """
    depth = focus_coordinate(index, n, dioptre).astype(np.float32)
    height, width = depth.shape
    y, x = np.mgrid[:height, :width].astype(np.float32)
    planes = [np.ascontiguousarray(rgb[..., c], np.float32) for c in range(3)]
    levels = np.linspace(depth.min(), depth.max(), 2 * int(np.ceil(blur)) + 2)[1:]
    frames = []
    for k in range(n):
        focus = float(focus_coordinate(k, n, dioptre))
        widest = blur * float(np.abs(focus - depth).max())
        points, weights = aperture(kind, max(16, 2 * int(widest**2 / 6)))
        seen = np.zeros((3, height, width), np.float32)
        for (a_x, a_y), weight in zip(blur * points, weights, strict=True):
            q_x, q_y = _met(depth, levels, focus, a_x, a_y, x, y)
            for c, plane in enumerate(planes):
                light = ndimage.map_coordinates(plane, [q_y, q_x], order=1, mode="nearest")
                seen[c] += np.float32(weight) * light
        frames.append(np.clip(np.moveaxis(seen, 0, 2) * 255 + 0.5, 0, 255).astype(np.uint8))
    return np.stack(frames)


def _met(depth, levels, focus, a_x, a_y, x, y) -> tuple[np.ndarray, np.ndarray]:
    """Return where the ray of each pixel through a point of the aperture meets a surface first."""
    height, width = depth.shape
    q_x, q_y = x.copy(), y.copy()
    left = np.ones(depth.shape, bool)
    for level in levels:
        shift = focus - level
        p_x = np.clip(x + np.float32(a_x * shift), 0, width - 1)
        p_y = np.clip(y + np.float32(a_y * shift), 0, height - 1)
        here = depth[np.rint(p_y).astype(np.intp), np.rint(p_x).astype(np.intp)]
        hit = left & (here <= level + 1e-6)
        q_x[hit], q_y[hit] = p_x[hit], p_y[hit]
        left &= ~hit
    for _ in range(2):  # on the surface itself, between two levels
        shift = focus - ndimage.map_coordinates(depth, [q_y, q_x], order=1, mode="nearest")
        p_x = np.clip(x + np.float32(a_x) * shift, 0, width - 1)
        p_y = np.clip(y + np.float32(a_y) * shift, 0, height - 1)
        near = np.hypot(p_x - q_x, p_y - q_y) < 1.0
        q_x, q_y = np.where(near, p_x, q_x), np.where(near, p_y, q_y)
    return q_x, q_y
