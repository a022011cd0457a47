"""Where the pixels of a result live: in memory, or in tiles on disk; and the memory there is."""

from varfocus.canvas.canvas import Canvas, InTiles, Whole
from varfocus.canvas.scratch import Scratch
from varfocus.canvas.tiles import Tile

__all__ = ["Canvas", "InTiles", "Scratch", "Tile", "Whole"]
