"""Retouching: strokes that change a result and not the frames, kept as numbers."""

from varfocus.retouch.apply import DepthMaps, retouch_depth, retouch_picture
from varfocus.retouch.strokes import TOOLS, Retouch, Stroke

__all__ = ["TOOLS", "DepthMaps", "Retouch", "Stroke", "retouch_depth", "retouch_picture"]
