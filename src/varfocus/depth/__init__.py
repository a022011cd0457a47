"""From the minimiser's answer to numbers a user can use: physical depth and its confidence."""

from varfocus.depth.physical import (
    FLATNESS_WINDOW,
    RIVAL_DISTANCE,
    SURE,
    confidence,
    curve_margin,
    flatness,
    index_to_depth,
    margin,
    physical_error,
    sure_share,
)

__all__ = [
    "FLATNESS_WINDOW",
    "RIVAL_DISTANCE",
    "SURE",
    "confidence",
    "curve_margin",
    "flatness",
    "index_to_depth",
    "margin",
    "physical_error",
    "sure_share",
]
