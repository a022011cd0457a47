"""The edge stage: depth jumps where the objects end, by rendering what hides what."""

from varfocus.edges.colour import unveiled
from varfocus.edges.stage import (
    GRID,
    MOST_LAYERS,
    PART_REACH,
    Sharpened,
    enough_frames,
    sharpen,
    sharpen_part,
    survey,
)

__all__ = [
    "GRID",
    "MOST_LAYERS",
    "PART_REACH",
    "Sharpened",
    "enough_frames",
    "sharpen",
    "sharpen_part",
    "survey",
    "unveiled",
]
