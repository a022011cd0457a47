"""What the contrast of a pixel over all frames says about its depth.

The paper's answer is a polynomial (`polynomial`, fitted in one pass over the frames by
`frame_pass`); the robust method's is a likelihood of templates (`likelihood`), first by a formula
(`templates`), then as the stack shows them (`peaks`), on a focus axis that makes peaks symmetric
(`coordinate`).
"""

from varfocus.curve import coordinate, likelihood, peaks, templates
from varfocus.curve.polynomial import (
    X_MAX,
    CurveFit,
    argmax,
    derivative,
    evaluate,
    fit,
    fit_matrix,
    focus_axis,
    index_to_x,
    largest_degree,
    x_to_index,
)

__all__ = [
    "X_MAX",
    "CurveFit",
    "argmax",
    "coordinate",
    "derivative",
    "evaluate",
    "fit",
    "fit_matrix",
    "focus_axis",
    "index_to_x",
    "largest_degree",
    "likelihood",
    "peaks",
    "templates",
    "x_to_index",
]
