"""How large a frame and a stack may be.

A few hundred bytes can claim gigapixels, so headers are held against these numbers before
anything is decoded.
"""

from __future__ import annotations

MAX_PIXELS = 2**29
"""Pixels in one frame that is decoded whole: about 23 000 × 23 000."""

MAX_MOSAIC_PIXELS = 2**34
"""Pixels in one frame that can be decoded in parts: about 131 000 × 131 000."""

MAX_SIDE = 2**17
"""Pixels along one side of a frame."""

MAX_FRAMES = 2**14
"""Frames in one stack."""
