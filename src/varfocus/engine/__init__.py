"""The border to the C++ kernels: what the array code says, fast, on CPUs.

The lowest layer: `extension` loads the compiled module, `threads` says how many threads a kernel
may use and shares work out among them, `calls` and `edges` are the thin calls, `frames` tells which
frames the kernels take. If the extension was not built, ``available`` is False and callers use the
array code.
"""

from __future__ import annotations

from varfocus.engine.calls import (
    add_expanded,
    best_match,
    box_mean,
    cell_products,
    energy_terms,
    explained,
    fusion_level,
    halve,
    margin,
    parabolas,
    primal_dual,
    reduce,
    shrink,
    slope,
    tgv_iterate,
    warp,
)
from varfocus.engine.extension import (
    BATCH,
    COMPACT_LOWEST,
    LABEL_PADDING,
    LARGEST_FACTOR,
    MOST_THREADS,
    NO_LABEL,
    WIDEST_WINDOW,
    WINDOW,
    accepts,
    available,
    in_use,
    instruction_set,
    instruction_sets,
    kernels,
    reason,
    switched_off,
    use_instruction_set,
)
from varfocus.engine.threads import each, processors, side_by_side, thread_count, use_threads

__all__ = [
    "BATCH",
    "COMPACT_LOWEST",
    "LABEL_PADDING",
    "LARGEST_FACTOR",
    "MOST_THREADS",
    "NO_LABEL",
    "WIDEST_WINDOW",
    "WINDOW",
    "accepts",
    "add_expanded",
    "available",
    "best_match",
    "box_mean",
    "cell_products",
    "each",
    "energy_terms",
    "explained",
    "fusion_level",
    "halve",
    "in_use",
    "instruction_set",
    "instruction_sets",
    "kernels",
    "margin",
    "parabolas",
    "primal_dual",
    "processors",
    "reason",
    "reduce",
    "shrink",
    "side_by_side",
    "slope",
    "switched_off",
    "tgv_iterate",
    "thread_count",
    "use_instruction_set",
    "use_threads",
    "warp",
]
