"""Whether one depth explains all frames: the sharp picture, blurred again, against each."""

from varfocus.explain.fill import continued
from varfocus.explain.lens import Lens, learn_lens, unit_coordinate
from varfocus.explain.occlusion import Order, order_of
from varfocus.explain.overlooked import overlooked, unexplained
from varfocus.explain.reblur import (
    gate,
    gate_at,
    joined,
    likely_at,
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
    "Order",
    "continued",
    "gate",
    "gate_at",
    "joined",
    "learn_lens",
    "likely_at",
    "misfit",
    "noise_of",
    "order_of",
    "overlooked",
    "pictures",
    "reblur",
    "sharp_picture",
    "unexplained",
    "unit_coordinate",
    "vote",
    "wells",
]
