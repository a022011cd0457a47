"""Geometric and photometric alignment: frames brought to one, in light and in place."""

from varfocus.align.alignment import Alignment, read_record
from varfocus.align.latecomer import brought
from varfocus.align.stage import align

__all__ = ["Alignment", "align", "brought", "read_record"]
