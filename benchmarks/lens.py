"""A lens, ray by ray: what every point of the aperture sees, added up.

Renderers that blur layers and lay one over the other take the light of neighbouring layers for
independent. Where a slanted surface is cut into layers thinner than the blur, the near ones then
cover too much, and a defocused frame shows the surface displaced by up to a pixel or two. Here each
ray ends at the first surface it meets, so that a steady stack is steady to a few hundredths of a
pixel, whatever its defocus: only against such frames can an alignment be judged.
"""

from __future__ import annotations

import numpy as np


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
    levels = np.linspace(depth.min(), depth.max(), 2 * int(np.ceil(blur)) + 2)[1:]
    planes = np.ascontiguousarray(np.moveaxis(rgb, 2, 0), np.float32)
    frames = []
    for k in range(n):
        focus = float(focus_coordinate(k, n, dioptre))
        widest = blur * float(np.abs(focus - depth).max())
        points, weights = aperture(kind, max(16, 2 * int(widest**2 / 6)))
        reach = int(np.ceil(widest * np.abs(points).max())) + 1
        padded = np.pad(depth, reach, mode="edge")
        seen = np.zeros_like(planes)
        for point, weight in zip(blur * points, weights, strict=True):
            met = _met(depth, padded, levels, focus, point)
            for c, plane in enumerate(planes):
                seen[c] += np.float32(weight) * _between(plane, *met)
        frames.append(np.clip(np.moveaxis(seen, 0, 2) * 255 + 0.5, 0, 255).astype(np.uint8))
    return np.stack(frames)


def _met(
    depth: np.ndarray, padded: np.ndarray, levels: np.ndarray, focus: float, point: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return where (x, y) the ray of each pixel through a point of the aperture meets a surface.

    All rays through one point shift by the same amount at one level: a level is a shifted view.
    """
    height, width = depth.shape
    reach = (padded.shape[0] - height) // 2
    y, x = np.ogrid[:height, :width]
    shift = np.zeros(depth.shape, np.float32)
    left = np.ones(depth.shape, bool)
    for level in levels:
        column, row = (round(float(a * (focus - level))) + reach for a in point)
        hit = padded[row : row + height, column : column + width] <= level + 1e-6
        hit &= left
        shift[hit] = focus - level
        left ^= hit
        if not left.any():
            break

    def at(shift: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        a_x, a_y = point.astype(np.float32)
        return np.clip(x + a_x * shift, 0, width - 1), np.clip(y + a_y * shift, 0, height - 1)

    q_x, q_y = at(shift)
    for _ in range(2):  # on the surface itself, between two levels
        p_x, p_y = at(np.float32(focus) - _between(depth, q_x, q_y))
        near = np.hypot(p_x - q_x, p_y - q_y) < 1.0
        q_x, q_y = np.where(near, p_x, q_x), np.where(near, p_y, q_y)
    return q_x, q_y


def _between(image: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return an image at positions between its pixels, linearly."""
    height, width = image.shape
    left = np.minimum(x.astype(np.int32), width - 2)
    top = np.minimum(y.astype(np.int32), height - 2)
    right, down = (x - left).astype(np.float32), (y - top).astype(np.float32)
    first = top * width + left
    flat = image.ravel()
    above = flat[first] * (1 - right) + flat[first + 1] * right
    below = flat[first + width] * (1 - right) + flat[first + width + 1] * right
    return above * (1 - down) + below * down
