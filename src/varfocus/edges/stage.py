"""The edge stage: pixels beside depth jumps go to the side that explains the frames better.

`varfocus.edges.survey` decides whether surfaces hide one another at all, `varfocus.edges.patches`
cuts frames and depth into layers, `varfocus.edges.vote` moves the pixels. Before the jumps of the
depth map, pixels that prefer a nearer depth by themselves are tested: thin wires that their
neighbours outvoted.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from varfocus.canvas.tiles import Box
from varfocus.edges.constants import FITTED, HALO, RENDER, ROUNDS, EdgeConstants
from varfocus.edges.patches import as_scene, in_blur, occupied_tiles, tile_grid, to_frames
from varfocus.edges.render import Float, convolved, kernel
from varfocus.edges.sides import Mask, find_sides, hopeful
from varfocus.edges.survey import JUMP_REACH, Closed, Occlusion, survey
from varfocus.edges.vote import reach_of_votes, vote

PART_REACH = JUMP_REACH + (2 * ROUNDS + 1) * (HALO[1] + reach_of_votes())
"""Pixels around a part that its depth depends on: those that may move are tested twice, and what is
left unexplained is averaged."""


@dataclass(frozen=True)
class Sharpened:
    """What the edge stage returns.

    Attributes
    ----------
    index : ndarray of shape (H, W), float32
        Depth in frames.
    moved : ndarray of shape (H, W), bool
        Pixels whose depth the stage has changed.
    colour : ndarray of shape (H, W, C), float32
        Un-mixed colours in [0, 1], where `seen`.
    seen : ndarray of shape (H, W), bool
        Pixels on the far side of jumps whose un-mixed colours explain the frames.
    doubt : ndarray of shape (H, W), float32
        How little the rendering explains around a pixel beside a jump, 0 to 1: `doubt`.
    ratio : float
        Error with occlusion over error without, in the trial.
    near_first : bool
        Whether the first frame is the nearest.
    """

    index: Float
    moved: Mask
    colour: Float
    seen: Mask
    doubt: Float
    ratio: float
    near_first: bool

    def describe(self) -> dict[str, object]:
        """Return the findings, as plain data."""
        return {
            "nearest_frame": "first" if self.near_first else "last",
            "error_ratio": round(self.ratio, 3),
            "moved_pixels": int(self.moved.sum()),
        }


def sharpen(
    frames: list[NDArray[Any]],
    scale: float,
    index: Float,
    x: NDArray[np.float64],
    rival: Float | None = None,
    constants: EdgeConstants = FITTED,
) -> Sharpened | None:
    """Put the pixels beside depth jumps on the right side.

    Parameters
    ----------
    frames : list of n ndarrays of shape (H, W, C)
        Frames in any number type; those of `enough_frames` suffice.
    scale : float
        What maps them to [0, 1].
    index : ndarray of shape (H, W), float32
        Depth in these frames.
    x : ndarray of shape (n,)
        Focus coordinate of these frames, monotone.
    rival : ndarray of shape (H, W), float32, optional
        Another depth that a pixel by itself would prefer, or else the same: objects so thin that
        their neighbours outvote them.
    constants : EdgeConstants
        What decides.

    Returns
    -------
    Sharpened or None
        None if there are no jumps, or no signs of occlusion: the depth should stay as it is.
    """
    found = survey(
        lambda box: ([f[box] for f in frames], index[box]),
        index.shape,
        scale,
        x,
        constants=constants,
    )
    if isinstance(found, Closed):
        return None
    return sharpen_part(frames, scale, index, found, rival, constants)


def sharpen_part(
    frames: list[NDArray[Any]],
    scale: float,
    index: Float,
    found: Occlusion,
    rival: Float | None = None,
    constants: EdgeConstants = FITTED,
    grid: list[Box] | None = None,
) -> Sharpened:
    """Put the pixels beside depth jumps on the right side, in an image or a part of one.

    Parameters
    ----------
    frames, scale, index, rival, constants
        As for `sharpen`.
    found : Occlusion
        From `survey`.
    grid : list of tuples of two slices, optional
        Tiles of a part, from `varfocus.edges.patches.tile_grid`; by default those of an image.

    Returns
    -------
    Sharpened
        Right up to `PART_REACH` pixels from where the part was cut.
    """
    measured, near_first = found.blur, found.near_first
    grid = grid or tile_grid(index.shape)
    blur = in_blur(measured, index)
    scene = as_scene(frames, scale, blur, measured, near_first, constants)
    sides = found.jumps or find_sides(blur, constants)
    if sides is not None and not near_first:
        sides = sides.turned(np.float32(measured.position[-1]))
    start = scene.blur
    if rival is not None:
        other = in_blur(measured, rival)
        other = as_scene(frames, scale, other, measured, near_first, constants).blur
        hopes = hopeful(scene.blur, other, constants)
        hopes = vote(scene, hopes, occupied_tiles(hopes.asks, grid), ROUNDS)
        scene = replace(scene, blur=np.where(hopes.is_near, hopes.near, scene.blur))
        sides = find_sides(scene.blur, constants) or sides
    colour = np.zeros((*index.shape, frames[0].shape[2]), np.float32)
    seen, doubted = np.zeros(index.shape, bool), np.zeros(index.shape, np.float32)
    if sides is not None:
        boxes = occupied_tiles(sides.asks, grid)
        residue = np.zeros(index.shape, np.float32)
        sides = vote(scene, sides, boxes, ROUNDS, (colour, residue))
        blur = np.where(sides.is_near, sides.near, sides.far)
        scene = replace(scene, blur=np.where(sides.asks, blur, scene.blur))
        for box in boxes:
            seen[box] = sides.zone[box] & ~sides.is_near[box]
        doubted = doubt(residue, sides.asks, scene.noise, constants)
        # Where light would have to be negative, or more than white, the veil was another one.
        seen &= residue <= constants.explained * scene.noise
        seen &= ((colour > 0) & (colour < 1)).all(axis=2)
    moved = scene.blur != start
    depth = np.where(moved, to_frames(measured, scene.blur, near_first), index)
    return Sharpened(depth, moved, colour, seen, doubted, found.ratio, near_first)


def doubt(residue: Float, asks: Mask, noise: float, constants: EdgeConstants = FITTED) -> Float:
    r"""Return how little the rendering explains around each pixel.

    With e the mean error of a frame on tested pixels nearby, in units of the noise, ε = `explained`
    and κ = `unexplained`,

    .. math:: w = \frac{\max(e^2 - ε^2, 0)}{e^2 + κ^2}.

    Parameters
    ----------
    residue : ndarray of shape (H, W), float32
        Error per frame of the tested pixels.
    asks : ndarray of shape (H, W), bool
        Pixels that were tested.
    noise : float
        As `varfocus.edges.scale.BlurScale.noise`.
    constants : EdgeConstants
        ε, κ, and how far nearby is.

    Returns
    -------
    ndarray of shape (H, W), float32
        w, from 0 to 1; zero where no pixel nearby was tested.
    """
    tested = asks.astype(np.float32)
    sums = np.stack([residue * tested * np.float32(1.0 / noise), tested])
    error, count = convolved(sums, kernel(constants.nearby))
    known = count > np.float32(RENDER.faint)
    e = np.where(known, error / np.where(known, count, np.float32(1.0)), np.float32(0.0))
    beyond = np.maximum(e * e - np.float32(constants.explained**2), np.float32(0.0))
    share: Float = (beyond / (e * e + np.float32(constants.unexplained**2))).astype(np.float32)
    return share
