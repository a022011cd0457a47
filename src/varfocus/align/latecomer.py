r"""A frame that took no part in an alignment, brought to its reference.

Two frames of similar focus that did take part are registered with it. With M the map from the
reference to the first of them, and R the one from that to the frame, both in pixels,

.. math:: x' = R\,M\,x,

and the gains are those of the first times what the three found. Where the three do not tell how
the frame lies, it lies like the first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from varfocus.align.alignment import Alignment, WarpedFrame
from varfocus.align.stage import align
from varfocus.params import AlignParams
from varfocus.progress import Progress, silent
from varfocus.stack import FocusStack, Frame


def brought(
    frame: Frame,
    stack: FocusStack,
    alignment: Alignment,
    nearest: Sequence[int],
    params: AlignParams,
    progress: Progress = silent,
) -> Frame:
    """Return a frame as the reference of an aligned stack would see it.

    Parameters
    ----------
    frame : Frame
        Of the size of the others.
    stack : FocusStack
        The frames that were aligned, as given.
    alignment : Alignment
        How they were.
    nearest : sequence of int
        Numbers in `stack`, those of the most similar focus first.
    params : AlignParams
        How frames may move.
    progress : callable
        Listener.

    Returns
    -------
    Frame
        Covers what the reference covers, all of it; `frame` itself if nothing is to be done.
    """
    first, *others = [k for k in nearest if k not in alignment.left_out]
    frames = [stack.frames[first], frame, *(stack.frames[k] for k in others[:1])]
    three = replace(stack, frames=frames, files=(), focus=None)
    # Maps of an earlier run have none for this frame.
    how = replace(params, reference=0, border="crop", auto_order=False, transforms_from=None)
    _, found = align(three, how, progress)
    matrix, gains = alignment.matrices[first], alignment.gains[first]
    if 1 not in found.left_out:
        matrix, gains = found.matrices[1] @ matrix, found.gains[1] * gains
    if np.array_equal(matrix, np.eye(3)) and (gains == 1.0).all():
        return frame
    return WarpedFrame(frame, matrix, alignment.size, gains)
