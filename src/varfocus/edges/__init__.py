"""The edge stage: depth jumps where the objects end, by rendering what hides what."""

from varfocus.edges.colour import unveiled
from varfocus.edges.consensus import CONSENSUS_REACH, consensus, uneven
from varfocus.edges.constants import GRID, MOST_LAYERS
from varfocus.edges.outline import OUTLINE_REACH, End, jump_height, near_end, outlined
from varfocus.edges.patches import tile_grid
from varfocus.edges.regions import REGION_REACH, Window, beside_jumps, regional, windows
from varfocus.edges.regions import ROUNDS as REGION_ROUNDS
from varfocus.edges.stage import PART_REACH, Sharpened, sharpen, sharpen_part
from varfocus.edges.survey import Closed, Occlusion, enough_frames, survey

__all__ = [
    "CONSENSUS_REACH",
    "GRID",
    "MOST_LAYERS",
    "OUTLINE_REACH",
    "PART_REACH",
    "REGION_REACH",
    "REGION_ROUNDS",
    "Closed",
    "End",
    "Occlusion",
    "Sharpened",
    "Window",
    "beside_jumps",
    "consensus",
    "enough_frames",
    "jump_height",
    "near_end",
    "outlined",
    "regional",
    "sharpen",
    "sharpen_part",
    "survey",
    "tile_grid",
    "uneven",
    "unveiled",
    "windows",
]
