"""The edge stage: depth jumps where the objects end, by rendering what hides what."""

from varfocus.edges.colour import unveiled
from varfocus.edges.stage import MOST_LAYERS, Sharpened, enough_frames, sharpen

__all__ = ["MOST_LAYERS", "Sharpened", "enough_frames", "sharpen", "unveiled"]
