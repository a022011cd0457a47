"""The all-in-focus image."""

from varfocus.fuse.blend import Fused, fuse, level_count, pick

__all__ = ["Fused", "fuse", "level_count", "pick"]
