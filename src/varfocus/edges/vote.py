r"""Pixels beside depth jumps decide together which side they belong to.

`varfocus.edges.judge` says by how much the squared error of the rendered frames changes if a pixel
changes sides. A pixel of the background, sharp nowhere in the frames where the foreground is
sharp, fits either side there: so the near side must reduce the error by more than noise, and by a
share of what its other pixels gain. The votes of neighbours are averaged over a pixel or so; where
no pixel gains anything, all stay where they are.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from varfocus.canvas.tiles import Box, grown
from varfocus.edges.constants import FITTED, EdgeConstants
from varfocus.edges.judge import judge
from varfocus.edges.patches import Scene, cut_patch, on_threads, with_halo
from varfocus.edges.render import Float, convolved, kernel
from varfocus.edges.sides import Mask, Sides


def reach_of_votes(constants: EdgeConstants = FITTED) -> int:
    """Return the distance in pixels up to which other pixels influence a decision."""
    return (kernel(constants.nearby).size + kernel(constants.together).size) // 2


def vote(
    scene: Scene,
    sides: Sides,
    boxes: list[Box],
    rounds: int,
    shown: tuple[Float, Float] | None = None,
) -> Sides:
    """Test all pixels of some boxes this many times, and let them change sides.

    Parameters
    ----------
    scene : Scene
        Frames and depth.
    sides : Sides
        Jumps, and the present side of each pixel.
    boxes : list of tuples of two slices
        Where pixels are tested.
    rounds : int
        How often.
    shown : tuple of ndarrays of shape (H, W, C) and (H, W), float32, optional
        Receive the un-mixed colours of what the pixels show in the end, and the error per frame.

    Returns
    -------
    Sides
        The same jumps, with the sides that were voted for.
    """
    constants, shape = scene.constants, scene.blur.shape
    reach = reach_of_votes(constants)
    tau2, price = constants.robust * scene.noise, np.float32(constants.earned * scene.noise)
    change, least = np.zeros(shape, np.float32), np.ones(shape, np.float32)
    asks = np.zeros(shape, bool)

    def ask(box: Box) -> None:
        patch, inner = cut_patch(scene, sides, box)
        found, error, mixed = judge(patch, tau2, constants.sharp)
        change[box] = found[inner]
        least_of = np.maximum((patch.sigma <= constants.sharp).sum(axis=0), 1) * price
        least[box] = least_of[patch.near[inner]]
        asks[box] = sides.asks[box] & (patch.near < patch.far)[inner]
        if shown is not None:
            shown[0][box] = np.moveaxis(mixed, 0, 2)[inner]
            shown[1][box] = error[inner] / np.float32(len(patch.frames))

    todo = boxes
    for _ in range(rounds):
        on_threads(ask, todo)
        before, is_near = sides.is_near, sides.is_near.copy()
        for box in boxes:
            around = grown(box, shape, reach, grid=1)
            here = around.outer
            decided = decide(change[here], least[here], before[here], asks[here], constants)
            is_near[box] = decided[around.within]
        moved = is_near != before
        sides = replace(sides, is_near=is_near)
        # Where nobody moved, the judge would say the same again.
        todo = [box for box in boxes if moved[with_halo(box, sides).outer].any()]
    if shown is not None:
        on_threads(ask, todo)
    return sides


def decide(
    change: Float, least: Float, is_near: Mask, asks: Mask, constants: EdgeConstants = FITTED
) -> Mask:
    r"""Return which pixels are on the near side from now on.

    With D = E(near) − E(far), λ the least reduction, and V the average reduction by the near side
    around a pixel (each pixel at most `most_earned` λ), the vote of a pixel for the far side is

    .. math:: u = \operatorname{clip}\Bigl(\frac{D + t}{t}, -1, 1\Bigr), \quad
              t = \max(λ, \mathrm{share}\, V),

    its positive part multiplied by min(1, V/(`plenty` λ)).

    Parameters
    ----------
    change, least : ndarray of shape (H, W), float32
        D and λ.
    is_near, asks : ndarray of shape (H, W), bool
        The present side, and which pixels may change it.
    constants : EdgeConstants
        Weights.

    Returns
    -------
    ndarray of shape (H, W), bool
        The new side.
    """
    earners = (asks & is_near).astype(np.float32)
    gain = np.clip(-change, 0.0, constants.most_earned * least) * earners
    earned, count = convolved(np.stack([gain, earners]), kernel(constants.nearby))
    earned /= np.maximum(count, np.float32(1e-3))
    threshold = np.maximum(least, np.float32(constants.share) * earned)
    ballot = np.clip((change + threshold) / threshold, -1.0, 1.0)
    plenty = np.clip(earned / (constants.plenty * least), 0.0, 1.0)
    ballot = np.where(ballot > 0, ballot * plenty, ballot)
    present = np.where(is_near, np.float32(-1.0), np.float32(1.0))
    ballot = np.where(asks, ballot, np.float32(constants.sure) * present)
    ballot = convolved(ballot[None], kernel(constants.together))[0]
    ballot = ballot + np.float32(constants.stay) * present
    side: Mask = np.where(asks, ballot < 0, is_near)
    return side
