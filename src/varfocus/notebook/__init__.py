"""``varfocus.widget``: look at frames, reconstruct, and probe pixels in a notebook cell."""

from __future__ import annotations

from typing import TYPE_CHECKING

from numpy.typing import ArrayLike

from varfocus.bugs import guarded
from varfocus.errors import MissingExtraError
from varfocus.stack import FocusStack

if TYPE_CHECKING:
    from varfocus.notebook.viewer import Viewer


@guarded
def widget(stack: FocusStack | ArrayLike) -> Viewer:
    """Return a viewer of a stack for a notebook cell; needs the extra "notebook".

    Frames, all-in-focus image, depth, confidence and uncertainty in one pane; a click shows the
    contrast curve of a pixel; *Reconstruct* runs in the background and can be cancelled.

    Parameters
    ----------
    stack : FocusStack or array_like
        From `varfocus.read_stack`, or an array of shape ``(n, H, W)`` or ``(n, H, W, 3)``.

    Returns
    -------
    Viewer
        A widget. ``.run(smoothness=2)`` reconstructs and waits, ``.result`` is what came out last.

    Examples
    --------
    >>> import varfocus
    >>> view = varfocus.widget(varfocus.simulate("cone", shape=(48, 64)).stack)
    >>> view.run(method="classic")
    >>> view.result
    <Result: 64×48 pixels from 15 frames, depth in m, method 'classic'>
    """
    try:
        from varfocus.notebook.viewer import Viewer
    except ImportError as error:
        raise MissingExtraError("viewers in a notebook", "anywidget", "notebook") from error
    if not isinstance(stack, FocusStack):
        stack = FocusStack.from_array(stack)
    return Viewer(stack)
