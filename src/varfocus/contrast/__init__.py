"""How sharp each pixel of each frame is."""

from varfocus.contrast.focus_measures import (
    ring_difference,
    sum_modified_laplacian,
    tenengrad,
    wavelet,
)
from varfocus.contrast.guided import guided_mean
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
from varfocus.contrast.registry import (
    MEASURES,
    Measure,
    contrast_function,
    has_kernels,
    reach,
    register,
    unregister,
)
from varfocus.contrast.scales import SCALES, Scales, TwoScales, two_scales

__all__ = [
    "MEASURES",
    "PLAIN_SHARE",
    "SCALES",
    "Measure",
    "PeakSearch",
    "Scales",
    "TwoScales",
    "box_mean",
    "contrast_function",
    "gaussian",
    "gradient_energy",
    "guided_mean",
    "has_kernels",
    "jump_weight",
    "mlap",
    "normaliser",
    "reach",
    "register",
    "ring_difference",
    "sum_modified_laplacian",
    "tenengrad",
    "two_scales",
    "unregister",
    "wavelet",
]
