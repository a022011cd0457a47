"""The constants of the edge stage, in one place.

`RENDER` holds what the picture of a patch is made with; the kernel is given it with every call.
`FITTED` holds what decides: ``benchmarks/fit_edges.py`` varies it on simulated scenes with known
depth and prints the values that fit best. Sizes that only say how the work is cut into pieces are
below; parts of an image give the results of the whole because of them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class RenderConstants:
    """How `varfocus.edges.render` makes pictures.

    Attributes
    ----------
    no_blur : float
        A smaller σ, in pixels, counts as no blur.
    reach : float
        Kernels end at this many σ.
    opaque : float
        Where less of the light behind a veil comes through, it is not un-mixed.
    continued : float
        σ in pixels of the Gaussian that continues a layer under what hides it.
    wider : float
        Weight of a Gaussian of twice that σ, which reaches where the first does not.
    faint : float
        Smallest weight that counts.
    covered : float
        Share of a pixel that must be covered by layers for their mean to count.
    """

    no_blur: float = 0.2
    reach: float = 3.0
    opaque: float = 0.35
    continued: float = 2.0
    wider: float = 0.01
    faint: float = 1e-4
    covered: float = 0.05


@dataclass(frozen=True)
class EdgeConstants:
    """What decides whether the stage runs, which pixels are tested, and to which side they go.

    Attributes
    ----------
    high : float
        A jump is at least this high, in pixels of blur σ: less would not be seen in the frames.
    steep : float
        It is at least this steep between next-but-one pixels, in the same unit.
    asked : float
        Distance in pixels from the present border up to which pixels are tested.
    ramp : float
        Distance in pixels from a jump at which a pixel may lie on its ramp, at neither depth.
    beside : float
        Distance in pixels up to which pixels may follow a rival depth of their neighbours.
    continues : float
        Distance in pixels from the border up to which the far side is continued under the near one.
    side_range : float
        Share of a jump's height, at either end, that belongs to that side: the depth of the side is
        its mean, and a pixel further in is on neither.
    layer_step : float
        Layers are frames at least this many pixels of blur σ apart.
    sharp : float
        Frames are used to test a layer if they blur it by at most this σ in pixels.
    robust : float
        τ² of the judge in units of the noise.
    occlusion : float
        The stage runs if rendering with occlusion leaves at most this share of the error without,
        noise apart;
    plausible, gained : float
        or at most this share, if what it takes away is at least so many times the noise;
    direction : float
        and at most this share of what is left with the other end as the near one.
    hopeless : float
        Where each of the highest jumps leaves more than this share of its error, no other is asked.
    earned : float
        By how much the near side must reduce the error, in units of the noise per frame that is
        used.
    most_earned : float
        Largest reduction that a pixel contributes to the average nearby, in units of that least
        one.
    share : float
        Least reduction for the near side, as a share of the average of its pixels nearby.
    plenty : float
        Where the average reduction by the near side is this many times the least, a pixel that
        gains nothing there belongs to the far side.
    nearby : float
        σ in pixels of that average.
    together : float
        σ in pixels over which neighbours decide together.
    stay : float
        Weight of the present side in the vote of a pixel.
    sure : float
        Weight of the present side of pixels that are not tested.
    explained : float
        Un-mixed colours are believed where the error, in units of the noise per frame, is below;
        and the rendering, where it is so on average nearby.
    unexplained : float
        Where that average is well above this, the rendering is not believed.
    """

    high: float = 0.6
    steep: float = 0.3
    asked: float = 3.0
    ramp: float = 3.0
    beside: float = 1.5
    continues: float = 8.0
    side_range: float = 0.25
    layer_step: float = 0.4
    sharp: float = 1.0
    robust: float = 36.0
    occlusion: float = 0.7
    plausible: float = 0.72
    gained: float = 1.5
    direction: float = 0.85
    hopeless: float = 0.85
    earned: float = 6.0
    most_earned: float = 20.0
    share: float = 0.25
    plenty: float = 6.0
    nearby: float = 3.0
    together: float = 0.7
    stay: float = 0.05
    sure: float = 0.5
    explained: float = 4.0
    unexplained: float = 6.0


RENDER = RenderConstants()
FITTED = EdgeConstants()

SAMPLES, FEW_SAMPLES = 4000, 1000
"""Pixels on which the blur is measured, or up to twice as many; and to ask the first tiles."""

SAMPLE_WINDOW = 128
"""Side in pixels of the windows in which it is measured in a large picture."""

FEW_WINDOW = 96
"""Side in pixels of those in which it is measured to ask the first tiles."""

CLEAR = 8
"""Distance in pixels from jumps at which a surface counts as alone."""

BLURS = np.concatenate([[0.0], np.geomspace(0.25, 16.0, 19)])
"""σ in pixels at which the picture is blurred to measure; linear between."""

RANGES = np.geomspace(0.5, 32.0, 61)
"""Candidates of the blur of one end of the stack when the other is in focus, in pixels."""

MOST_LAYERS = 16
"""Layers, and frames that are looked at, at most."""

SURE_LAYERS = 1
"""Sides that are fewer layers apart cannot be distinguished."""

TILE = 64
"""Side in pixels of the tiles whose tested pixels are judged together."""

HALO = (6, 24)
"""Least and most pixels around the tested pixels of a tile that are rendered with them."""

TRIAL_TILES = 24
"""Tiles on which the stage first tries whether, and from which end, surfaces hide one another."""

FIRST_TILES = 3
"""Tiles with the highest jumps among these, which are asked before the others."""

TRIAL_ROUNDS = 2
"""How often the pixels of these tiles are tested."""

ROUNDS = 3
"""How often all pixels are tested."""

JUMP_WINDOW = 3
"""Pixels on either side of a jump in which its two depths are looked for."""

FAR_ENOUGH = 32
"""Distance in pixels from a jump up to which it matters which one is closest."""

GRID = 256
"""Parts of an image begin at multiples of it: more room than they depend on in practice, for what
one tile hands on to the next from round to round."""
