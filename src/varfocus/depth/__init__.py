"""From the minimiser's answer to numbers a user can use: physical depth and its confidence."""

from varfocus.depth.physical import (
    FLATNESS_WINDOW,
    LOST,
    QUIET,
    RIVAL_DISTANCE,
    SURE,
    confidence,
    curve_margin,
    flatness,
    heard,
    index_to_depth,
    margin,
    physical_error,
    sure_share,
)

__all__ = [
    "FLATNESS_WINDOW",
    "LOST",
    "QUIET",
    "RIVAL_DISTANCE",
    "SURE",
    "confidence",
    "curve_margin",
    "flatness",
    "heard",
    "index_to_depth",
    "margin",
    "physical_error",
    "sure_share",
]
