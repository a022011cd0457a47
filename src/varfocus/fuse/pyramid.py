"""Half and twice the size of an image: the steps of a Laplacian pyramid.

With R for `reduce` and E for `expand`,

    G_0 = I,  G_{l+1} = R G_l,  L_l = G_l − E G_{l+1},  I = L_0 + E(L_1 + E(… + E G_n)).

Along an axis of even length two pixels share the coarser one in their middle, R = [1, 3, 3, 1]/8;
along one of odd length every other pixel stays where it is, R = [1, 4, 6, 4, 1]/16. E is twice the
transpose of R. Either way a mirrored image has a mirrored pyramid, whatever its size. Borders are
replicated.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from varfocus import engine

Array = NDArray[np.float32]


def reduce(image: Array) -> Array:
    """Return an image of shape (H, W) or (H, W, C) at half its size, odd sides rounded up."""
    if engine.accepts(image):
        small = engine.reduce(image if image.ndim == 3 else image[..., None])
        return small if image.ndim == 3 else small[..., 0]
    return _reduced(_reduced(image, 0), 1)


def expand(image: Array, shape: tuple[int, ...]) -> Array:
    """Return an image that `reduce` made at the height and width it came from."""
    return _expanded(_expanded(image, shape[0], 0), shape[1], 1)


def add_expanded(fine: Array, coarse: Array, sign: float = 1.0) -> None:
    """Add ``sign · expand(coarse)`` to an image (H, W, C) in place."""
    if engine.accepts(fine, coarse):
        engine.add_expanded(fine, coarse, sign)
    else:
        fine += np.float32(sign) * expand(coarse, fine.shape)


def _reduced(image: Array, axis: int) -> Array:
    lines = np.moveaxis(image, axis, 0)
    pad = np.concatenate([lines[:1], lines[:1], lines, lines[-1:], lines[-1:]])
    if len(lines) % 2:
        far, near, middle = pad[:-4:2] + pad[4::2], pad[1:-3:2] + pad[3:-1:2], pad[2:-2:2]
        result = np.float32(1 / 16) * far + np.float32(0.25) * near + np.float32(0.375) * middle
    else:
        far, near = pad[1:-3:2] + pad[4::2], pad[2:-2:2] + pad[3:-1:2]
        result = np.float32(0.125) * far + np.float32(0.375) * near
    return np.moveaxis(result, 0, axis)


def _expanded(image: Array, size: int, axis: int) -> Array:
    lines = np.moveaxis(image, axis, 0)
    pad = np.concatenate([lines[:1], lines, lines[-1:]])
    before, here, after = pad[:-2], pad[1:-1], pad[2:]
    result = np.empty((size, *lines.shape[1:]), np.float32)
    if size % 2:
        result[::2] = np.float32(0.125) * (before + after) + np.float32(0.75) * here
        result[1::2] = np.float32(0.5) * (here + after)[:-1]
    else:
        result[::2] = np.float32(0.75) * here + np.float32(0.25) * before
        result[1::2] = np.float32(0.75) * here + np.float32(0.25) * after
    return np.moveaxis(result, 0, axis)
