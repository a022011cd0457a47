"""The edge stage: depth jumps where the objects end, by rendering what hides what."""

from varfocus.edges.colour import unveiled
from varfocus.edges.stage import Sharpened, enough_frames, sharpen

__all__ = ["Sharpened", "enough_frames", "sharpen", "unveiled"]
