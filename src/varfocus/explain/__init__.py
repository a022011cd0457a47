"""Whether one depth explains all frames: the sharp picture, blurred again, against each."""

from varfocus.explain.fill import continued
from varfocus.explain.lens import Lens, learn_lens, unit_coordinate
from varfocus.explain.occlusion import leaning
from varfocus.explain.reblur import (
    gate,
    gate_at,
    joined,
    misfit,
    noise_of,
    pictures,
    reblur,
    sharp_picture,
    wells,
)
from varfocus.explain.vote import vote

__all__ = [
    "Lens",
    "continued",
    "gate",
    "gate_at",
    "joined",
    "leaning",
    "learn_lens",
    "misfit",
    "noise_of",
    "pictures",
    "reblur",
    "sharp_picture",
    "unit_coordinate",
    "vote",
    "wells",
]
