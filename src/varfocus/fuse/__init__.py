"""The all-in-focus image, and slabs of it."""

from varfocus.fuse.blend import Fused, fuse, level_count, pick
from varfocus.fuse.slabs import Slab, fuse_slabs, slab_ranges

__all__ = ["Fused", "Slab", "fuse", "fuse_slabs", "level_count", "pick", "slab_ranges"]
