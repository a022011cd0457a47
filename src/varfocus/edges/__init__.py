"""The edge stage: depth jumps where the objects end, by rendering what hides what."""

from varfocus.edges.colour import unveiled
from varfocus.edges.constants import GRID, MOST_LAYERS
from varfocus.edges.stage import PART_REACH, Sharpened, sharpen, sharpen_part
from varfocus.edges.survey import Occlusion, enough_frames, survey

__all__ = [
    "GRID",
    "MOST_LAYERS",
    "PART_REACH",
    "Occlusion",
    "Sharpened",
    "enough_frames",
    "sharpen",
    "sharpen_part",
    "survey",
    "unveiled",
]
