"""Two views of a result, one for each eye, as one picture.

Both are `varfocus.surface.animation.tilted`: the left eye sees near points farther to the right
than the right eye does. The middle of the range of heights lies in the plane of the picture.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from varfocus.surface.animation import tilted, unit_relief

Picture: TypeAlias = NDArray[np.uint8]
Layout: TypeAlias = Literal["anaglyph", "parallel", "crossed"]

LUMINANCE = np.array([0.299, 0.587, 0.114], np.float32)
"""Shares of red, green and blue in brightness (ITU-R BT.601)."""


def stereo(
    picture: Picture, height: NDArray[np.float32], *, swing: float, layout: Layout
) -> Picture:
    """Return a picture that shows its depth to two eyes.

    Parameters
    ----------
    picture : ndarray of shape (H, W, 3), uint8
        All-in-focus image.
    height : ndarray of shape (H, W), float32
        Height towards the viewer in any unit; unknown pixels take that of the nearest known one.
    swing : float
        By how much each eye sees the highest and lowest points shifted, as a share of the width.
    layout : {"anaglyph", "parallel", "crossed"}
        "anaglyph" for glasses red on the left and cyan on the right; "parallel": the view of the
        left eye on the left; "crossed": on the right, for those who squint.

    Returns
    -------
    ndarray of shape (H, W', 3), uint8
        Without the columns at the sides that one eye does not see; two such side by side for pairs.
    """
    relief = unit_relief(height)
    shift = swing * picture.shape[1]
    margin = min(int(np.ceil(shift)), (picture.shape[1] - 1) // 2)
    inside = slice(margin, picture.shape[1] - margin)
    left, right = (tilted(picture, relief, side * shift)[:, inside] for side in (1.0, -1.0))
    if layout == "anaglyph":
        return anaglyph(left, right)
    return np.concatenate([left, right] if layout == "parallel" else [right, left], axis=1)


def anaglyph(left: Picture, right: Picture) -> Picture:
    """Return two views in one: red is the brightness of the left, green and blue of the right.

    Brightness instead of the left's own red: a red object would be bright for one eye and black for
    the other, which hurts.
    """
    mixed = right.copy()
    mixed[..., 0] = np.rint(left.astype(np.float32) @ LUMINANCE).astype(np.uint8)
    return mixed
