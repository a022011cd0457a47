"""How sharp each pixel of each frame is."""

from varfocus.contrast.measures import (
    PLAIN_SHARE,
    box_mean,
    gaussian,
    gradient_energy,
    jump_weight,
    mlap,
    normaliser,
)
from varfocus.contrast.peak import PeakSearch
from varfocus.contrast.scales import SCALES, Scales, TwoScales, two_scales

__all__ = [
    "PLAIN_SHARE",
    "SCALES",
    "PeakSearch",
    "Scales",
    "TwoScales",
    "box_mean",
    "gaussian",
    "gradient_energy",
    "jump_weight",
    "mlap",
    "normaliser",
    "two_scales",
]
