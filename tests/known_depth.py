"""Pictures and light fields of known depth, written as their users have them."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from varfocus.export import fields, images
from varfocus.simulation import make_texture
from varfocus.studies.evaluation.lightfield import DISPARITIES, shifted

SIZE = 44
NEAR, FAR = DISPARITIES[7], DISPARITIES[2]


def light_field(count: int = 5) -> tuple[np.ndarray, np.ndarray]:
    """A near square before a far plane, seen by count × count cameras: views and disparity."""
    wide = make_texture((SIZE + 40, SIZE + 40), 3, colour=True)
    patch = make_texture((SIZE + 40, SIZE + 40), 4, colour=True)
    mask = np.zeros((SIZE + 40, SIZE + 40, 1), np.float32)
    mask[33:53, 33:53] = 1.0
    views = np.empty((count, count, SIZE, SIZE, 3), np.float32)
    for v in range(count):
        for u in range(count):
            # A camera to the right sees near things farther left.
            at = [(FAR, wide), (NEAR, patch), (NEAR, mask)]
            back, front, cover = (
                shifted(shifted(t, -d * (u - count // 2), 1), -d * (v - count // 2), 0)
                for d, t in at
            )
            cover = np.clip(cover, 0, 1)
            views[v, u] = (cover * front + (1 - cover) * back)[20:-20, 20:-20]
    disparity = np.where(mask[20:-20, 20:-20, 0] > 0.5, NEAR, FAR).astype(np.float32)
    return np.rint(255 * np.clip(views, 0, 1)).astype(np.uint8), disparity


def write_light_field(folder: Path) -> Path:
    """Write `light_field` as the benchmark does."""
    folder.mkdir(parents=True)
    views, disparity = light_field()
    for k, view in enumerate(views.reshape(-1, SIZE, SIZE, 3)):
        (folder / f"input_Cam{k:03d}.png").write_bytes(images.picture(view)[1])
    (folder / "gt_disp_lowres.pfm").write_bytes(fields.pfm(disparity))
    (folder / "parameters.cfg").write_text("[extrinsics]\nnum_cams_x = 5\nnum_cams_y = 5\n")
    return folder


def write_picture(folder: Path, shape: tuple[int, int] = (48, 56)) -> Path:
    """Write a picture with a near rectangle, and its disparity."""
    rng = np.random.default_rng(0)
    folder.mkdir(parents=True)
    pixels = rng.integers(0, 255, (*shape, 3), np.uint8)
    (folder / "picture.png").write_bytes(images.picture(pixels)[1])
    disparity = np.full(shape, 1.0)
    disparity[12:30, 14:40] = 4.0
    np.savez(folder / "disparity.npz", d=disparity)
    return folder
